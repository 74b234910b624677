"""What a suspicion is before and after: lines that rise, beside a diagonal that does not.

The left half has a line for each suspicion, from what it is to what it can become; dashed lines show what it stays
without a release. The right half has the same for every suspicion at once: the curve is the bound, the diagonal is no
release. On a narrow page the halves stand below each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from queryveil.display import svg
from queryveil.display.escaping import escape

STYLE = """
svg .up { fill: none; stroke: var(--first); stroke-width: 2.5; } svg .dot { fill: var(--first); }
svg .flat { fill: none; stroke: var(--soft); stroke-width: 1.3; stroke-dasharray: 4 4; }
svg .gain { fill: var(--first); fill-opacity: .12; }
svg text.big { font-size: 15px; font-weight: 700; } svg text.quiet { fill: var(--soft); font-size: 12px; }
"""
_HEIGHT, _TOP, _BOTTOM = 232, 34, 40
_WIDE, _NARROW, _HALF = 720, 340, 340
_GAP = 17
"""Between two labels, one below the other."""


@dataclass(frozen=True)
class Rise:
    """A suspicion before and after, as shares of one and in words."""

    before: float
    after: float
    said_before: str
    said_after: str


@dataclass(frozen=True, kw_only=True)
class Words:
    """The labels of the figure, and the figure in words."""

    described: str
    before: str
    after: str
    before_reading: str
    without: str
    no_release: str


def figure(name: str, title: str, rises: Sequence[Rise], words: Words, *, note: str = "") -> str:
    """The figure with its title; `name` is unique on the page."""
    text = words.described
    halves = (_lines(rises, words), _draw_curve(rises, words))
    beside = _translate(halves[0], 0, 0) + _translate(halves[1], 380, 0)
    below = _translate(halves[0], 0, 0) + _translate(halves[1], 0, _HEIGHT)
    both = (
        svg.drawing(name, "wide", (_WIDE, _HEIGHT), title, text, beside),
        svg.drawing(name, "narrow", (_NARROW, 2 * _HEIGHT), title, text, below),
    )
    return svg.caption("slopes", title, both, note)


def _translate(inside: str, across: int, down: int) -> str:
    return f'<g transform="translate({across} {down})">{inside}</g>'


def _up(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _lines(rises: Sequence[Rise], words: Words) -> str:
    left, right = 62, 218
    parts = [
        f'<text class="quiet" x="{left}" y="16" text-anchor="middle">{escape(words.before)}</text>',
        f'<text class="quiet" x="{right}" y="16" text-anchor="middle">{escape(words.after)}</text>',
        *(
            f'<line class="axis" x1="{at}" x2="{at}" y1="{_up(0):.1f}" y2="{_up(1):.1f}"/>'
            for at in (left, right)
        ),
    ]
    places = _spread_labels([_up(one.after) for one in rises])
    befores = _spread_labels([_up(one.before) for one in rises])
    for one, at, begins in zip(rises, places, befores, strict=True):
        low, high = _up(one.before), _up(one.after)
        parts += [
            f'<path class="flat" d="M{left} {low:.1f}L{right} {low:.1f}"/>',
            f'<path class="up" d="M{left} {low:.1f}L{right} {high:.1f}"/>',
            f'<circle class="dot" cx="{left}" cy="{low:.1f}" r="3.5"/>',
            f'<circle class="dot" cx="{right}" cy="{high:.1f}" r="3.5"/>',
            f'<text x="{left - 9}" y="{begins + 4:.1f}" text-anchor="end">{escape(one.said_before)}</text>',
        ]
        # Where all end at one place, one label is enough.
        if one is rises[0] or one.said_after != rises[0].said_after:
            parts.append(
                f'<text class="big" x="{right + 9}" y="{at + 5:.1f}">{escape(one.said_after)}</text>'
            )
    parts.append(f'<text class="quiet" x="{left}" y="{_HEIGHT - 10}">{escape(words.without)}</text>')
    return "".join(parts)


def _spread_labels(places: Sequence[float]) -> list[float]:
    """Labels where they belong, or a little further up or down, so that none covers another."""
    order = sorted(range(len(places)), key=lambda at: -places[at])
    found = list(places)
    for lower, upper in pairwise(order):
        found[upper] = min(found[upper], found[lower] - _GAP)
    return found


def _draw_curve(rises: Sequence[Rise], words: Words) -> str:
    left, right = 46, 312
    middle = next((one for one in rises if one.before == 0.5), rises[-1])
    odds = middle.after / (1 - middle.after) if middle.after < 1 else float("inf")

    def across(share: float) -> float:
        return left + share * (right - left)

    def bound(share: float) -> float:
        if odds == float("inf"):
            return 1.0
        return share * odds / (1 - share + share * odds)

    # Close together where the curve is steep.
    shares = [(step / 40) ** 2 for step in range(41)]
    points = [f"{across(one):.1f} {_up(bound(one)):.1f}" for one in shares]
    line = "L".join(points)
    if odds == float("inf"):
        line = f"{across(0):.1f} {_up(0):.1f}L{line}"
    parts = [f'<path class="gain" d="M{line}L{across(1):.1f} {_up(1):.1f}L{across(0):.1f} {_up(0):.1f}Z"/>']
    for share in (0, 0.5, 1):
        parts += [
            f'<line class="grid" x1="{left}" x2="{right}" y1="{_up(share):.1f}" y2="{_up(share):.1f}"/>',
            f'<text class="quiet" x="{left - 6}" y="{_up(share) + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>',
            f'<text class="quiet" x="{across(share):.1f}" y="{_up(0) + 16:.1f}" text-anchor="middle">'
            f"{100 * share:.0f} %</text>",
        ]
    parts += [
        f'<path class="flat" d="M{across(0):.1f} {_up(0):.1f}L{across(1):.1f} {_up(1):.1f}"/>',
        f'<path class="up" d="M{line}"/>',
        *(
            f'<circle class="dot" cx="{across(one.before):.1f}" cy="{_up(one.after):.1f}" r="3.5"/>'
            for one in rises
        ),
        f'<text class="quiet" x="{left}" y="16">{escape(words.after)}</text>',
        f'<text class="quiet" x="{right}" y="{_HEIGHT - 10}" text-anchor="end">{escape(words.before_reading)}</text>',
        f'<text class="quiet" x="{across(0.98):.1f}" y="{_up(0.72):.1f}" text-anchor="end">'
        f"{escape(words.no_release)}</text>",
    ]
    return "".join(parts)
