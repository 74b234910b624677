"""Figures as plain SVG: no library, no script, no network, and a text for those who cannot see them.

One kind of figure is enough for a report: curves over two axes, each of them linear or logarithmic. Series differ in
dashes and marks, not in colour alone. Each figure is drawn twice, for wide and for narrow pages, so that its letters
stay readable on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from queryveil.display.escaping import escape

STYLE = """
figure { margin: 1.2rem 0; break-inside: avoid; }
figcaption { font-weight: 600; margin-bottom: .4rem; }
figure p { margin: .2rem 0 0; }
svg { display: block; width: 100%; height: auto; }
svg.narrow { display: none; }
svg text { fill: var(--ink); font-size: 13px; }
svg .grid { stroke: var(--line); stroke-width: 1; } svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .s0, svg .s1, svg .s2 { fill: none; stroke-width: 2; }
svg .s0 { stroke: var(--first); } svg .s1 { stroke: var(--second); } svg .s2 { stroke: var(--third); }
svg .s1 path { stroke-dasharray: 8 4; } svg .s2 path { stroke-dasharray: 2 4; }
svg .mark { stroke-dasharray: none; fill: var(--paper); }
@media (max-width: 34rem) { svg.wide { display: none; } svg.narrow { display: block; } }
@media print { svg.wide { display: block; } svg.narrow { display: none; } }
"""

WIDE, _NARROW = (720, 340), (340, 300)
_MOST_MARKS = 30
_LEFT, _RIGHT, _TOP, _BOTTOM, _LINE = 68, 30, 34, 48, 20
_LABEL_GAP, _LINE_GAP = 60, 34
"""Room that a label needs beside and above the next; half of it fits beyond the right end: the longest is 100,000."""
_STEPS = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,))
MOST_SERIES = 3


@dataclass(frozen=True)
class Wording:
    """How a language writes what a figure says by itself."""

    localize: Callable[[str], str] = str
    """Writes digits of the English form, such as 1,234.5, as the language does."""
    million: str = "{number} M"
    against: str = "{y} against {x}."


@dataclass(frozen=True)
class Axis:
    """What is drawn along an axis, with its unit, and how it is spaced."""

    title: str
    log: bool = False
    top: float | None = None
    """The end of a linear axis; it begins at 0."""
    percent: bool = False
    wording: Wording = Wording()


@dataclass(frozen=True)
class Series:
    """A named curve; its points go from left to right."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class _Scale:
    """Where values lie between two places."""

    axis: Axis
    low: float
    high: float
    start: float
    end: float
    first: float
    last: float
    """The smallest and the largest value that is drawn."""

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, value
        if self.axis.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(value)
        return self.start + (self.end - self.start) * (at - low) / (high - low)

    def ticks(self, gap: float) -> list[float]:
        """Round values along the axis, whose labels have room beside each other."""
        if not self.axis.log:
            return _even_ticks(self.high)
        for steps in _STEPS:
            found = _log_ticks(self.low, self.high, steps)
            if len(found) > 1 and all(
                abs(self(one) - self(next_one)) >= gap for one, next_one in pairwise(found)
            ):
                return found
        if len(found) > 1:  # of many powers of ten, as many as fit
            return found[:: math.ceil(len(found) / max(2, int(abs(self.end - self.start) / gap)))]
        # One round value says nothing of a scale: the ends of what is drawn do.
        others = [self.last, *_log_ticks(self.low, self.high, _STEPS[0]), 2 * self.first]
        return [self.first, *[one for one in others if abs(self(one) - self(self.first)) >= gap][:1]]


def figure(name: str, title: str, series: Sequence[Series], x: Axis, y: Axis, *, note: str = "") -> str:
    """A figure with its title, drawn for wide and for narrow pages; `name` is unique on the page."""
    drawn = [one for one in series[:MOST_SERIES] if one.points]
    if not drawn:
        return ""
    described = _describe_series(drawn, x, y)
    both = []
    for kind, size in (("wide", WIDE), ("narrow", _NARROW)):
        height, inside = draw_curves(size, drawn, x, y)
        both.append(drawing(name, kind, (size[0], height), title, described, inside))
    return caption("", title, both, note)


def caption(kind: str, title: str, drawings: Iterable[str], note: str) -> str:
    """Return the drawings of one figure with its title above and a note below."""
    below = f'<p class="soft">{escape(note)}</p>' if note else ""
    named = f' class="{kind}"' if kind else ""
    return f"<figure{named}><figcaption>{escape(title)}</figcaption>{''.join(drawings)}{below}</figure>"


def drawing(name: str, kind: str, size: tuple[int, int], title: str, described: str, inside: str) -> str:
    """Return one SVG with its title and its description in words; `kind` is wide or narrow."""
    place = f"{name}-{kind}"
    return (
        f'<svg class="{kind}" viewBox="0 0 {size[0]} {size[1]}" role="img" aria-labelledby="{place}-t {place}-d">'
        f'<title id="{place}-t">{escape(title)}</title><desc id="{place}-d">{escape(described)}</desc>'
        f"{inside}</svg>"
    )


def draw_curves(size: tuple[int, int], series: Sequence[Series], x: Axis, y: Axis) -> tuple[int, str]:
    """Return the height that axes, curves, and legend take, and what is inside of their SVG."""
    width, height = size
    top = _TOP + (_LINE * len(series) if len(series) > 1 else 0)
    height += top - _TOP
    across = _scale(x, [px for one in series for px, _ in one.points], _LEFT, width - _RIGHT)
    up = _scale(y, [py for one in series for _, py in one.points], height - _BOTTOM, top)
    parts = _axes(across, up)
    for place, one in enumerate(series):
        points = [(across(px), up(py)) for px, py in one.points]
        parts.append(f'<g class="s{place}">{_curve(points, place)}</g>')
        if len(series) > 1:
            at = 14 + _LINE * place
            sample = _curve([(_LEFT, at), (_LEFT + 17, at), (_LEFT + 34, at)], place)
            parts.append(
                f'<g class="s{place}">{sample}</g><text x="{_LEFT + 44}" y="{at + 4}">{escape(one.name)}</text>'
            )
    return height, "".join(parts)


def _axes(across: _Scale, up: _Scale) -> list[str]:
    left, right, bottom, top = across.start, across.end, up.start, up.end
    parts = []
    for value in up.ticks(_LINE_GAP):
        at = up(value)
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>')
        label = _label(value, up.axis)
        parts.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
    for value in across.ticks(_LABEL_GAP):
        at = across(value)
        parts.append(f'<line class="axis" x1="{at:.1f}" x2="{at:.1f}" y1="{bottom}" y2="{bottom + 5}"/>')
        parts.append(
            f'<text x="{at:.1f}" y="{bottom + 19}" text-anchor="middle">{_label(value, across.axis)}</text>'
        )
    parts.append(f'<line class="axis" x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
    parts.append(f'<text x="{right}" y="{bottom + 40}" text-anchor="end">{escape(across.axis.title)}</text>')
    parts.append(f'<text x="2" y="{top - 16}">{escape(up.axis.title)}</text>')
    return parts


def _curve(points: Sequence[tuple[float, float]], place: int) -> str:
    path = "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
    marks = points if len(points) <= _MOST_MARKS else points[:: math.ceil(len(points) / _MOST_MARKS)]
    if len(points) == 3 and points[0][1] == points[2][1]:  # the sample in the legend has one mark
        marks = points[1:2]
    return f'<path d="{path}"/>' + "".join(_mark(px, py, place) for px, py in marks)


def _mark(px: float, py: float, place: int) -> str:
    if place == 0:
        return f'<circle class="mark" cx="{px:.1f}" cy="{py:.1f}" r="3"/>'
    if place == 1:
        return f'<rect class="mark" x="{px - 3:.1f}" y="{py - 3:.1f}" width="6" height="6"/>'
    return f'<polygon class="mark" points="{px:.1f},{py - 4:.1f} {px + 4:.1f},{py + 3:.1f} {px - 4:.1f},{py + 3:.1f}"/>'


def _scale(axis: Axis, values: Sequence[float], start: float, end: float) -> _Scale:
    if not axis.log:
        return _Scale(axis, 0.0, axis.top or _round_up(max(values)), start, end, min(values), max(values))
    low, high = min(values), max(values)
    # Some room at both ends, and never an axis of no length.
    span = max(high / low, 4.0) ** 0.04
    return _Scale(axis, low / span, max(high, 2 * low) * span, start, end, low, high)


def _log_ticks(low: float, high: float, steps: Sequence[int]) -> list[float]:
    """So many times powers of ten."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = (step * 10.0**power for power in powers for step in steps)
    return [one for one in found if low <= one <= high]


def _even_ticks(high: float) -> list[float]:
    step = 10.0 ** math.floor(math.log10(high)) if high > 0 else 1.0
    step = next(one for one in (step / 5, step / 2, step, 2 * step) if high / one <= 5.01)
    return [step * place for place in range(int(high / step + 1e-9) + 1)]


def _round_up(value: float) -> float:
    if value <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return float(unit * next(one for one in (1, 2, 5, 10) if one * unit >= value))


def _label(value: float, axis: Axis) -> str:
    localize = axis.wording.localize
    if axis.percent:
        return f"{localize(f'{100 * value:.3g}')} %"
    if value >= 1_000_000:
        millions = value / 1_000_000
        number = f"{millions:,.0f}" if millions >= 999.5 else f"{millions:.3g}"
        return axis.wording.million.format(number=localize(number))
    return localize(f"{value:,.0f}" if value >= 1 and value == round(value) else f"{value:.3g}")


def _describe_series(series: Sequence[Series], x: Axis, y: Axis) -> str:
    """The figure in words: where each curve begins, passes and ends."""
    said = []
    for one in series:
        places = sorted(
            {0, len(one.points) // 4, len(one.points) // 2, 3 * len(one.points) // 4, len(one.points) - 1}
        )
        points = [one.points[place] for place in places]
        steps = "; ".join(f"{_label(px, x)}: {_label(py, y)}" for px, py in points)
        said.append(f"{one.name}: {steps}")
    return f"{y.wording.against.format(y=y.title, x=x.title)} {'. '.join(said)}."


def at_least(counts: npt.NDArray[np.int64], most: int = 60) -> list[tuple[float, float]]:
    """How many of some counts are at least x, for x over their range: a curve that only falls.

    It shows the same as a histogram on logarithmic scales, with no bins to choose.
    """
    positive = np.sort(counts[counts > 0])
    if not len(positive):
        return []
    places = np.unique(positive)
    if len(places) > most:
        wanted = np.geomspace(places[0], places[-1], most)
        places = np.unique(places[np.searchsorted(places, wanted * (1 - 1e-12)).clip(max=len(places) - 1)])
    above = len(positive) - np.searchsorted(positive, places, side="left")
    return list(zip(places.tolist(), above.tolist(), strict=True))
