"""Which of a list are there: a square for each, full where it is there and empty where it is missing.

The first of the list stands at the top left; twenty stand in a row, ten on a narrow page. Full and empty differ in
shape as well as in colour: an empty square has a stroke through it.
"""

from __future__ import annotations

from collections.abc import Sequence

from queryveil.display import svg

STYLE = """
svg .there { fill: var(--first); stroke: var(--first); } svg .missing { fill: none; stroke: var(--second); }
.squares svg.narrow { display: none; }
@media (max-width: 34rem) { .squares svg.wide { display: none; } .squares svg.narrow { display: block; } }
"""
_SIDE, _STEP, _LEFT, _TOP = 22, 30, 44, 8


def figure(name: str, title: str, there: Sequence[bool], *, note: str = "") -> str:
    """The figure with its title; `name` is unique on the page."""
    missing = [str(place) for place, one in enumerate(there, start=1) if not one]
    text = f"Missing: place {', '.join(missing)}." if missing else "None is missing."
    both = [
        _draw_grid(name, kind, title, text, there, across) for kind, across in (("wide", 20), ("narrow", 10))
    ]
    return svg.caption("squares", title, both, note)


def _draw_grid(name: str, kind: str, title: str, text: str, there: Sequence[bool], across: int) -> str:
    rows = -(-len(there) // across)
    width, height = _LEFT + across * _STEP, 2 * _TOP + rows * _STEP
    marks = [_mark(place, one, across) for place, one in enumerate(there)]
    firsts = [
        f'<text x="{_LEFT - 10}" y="{_TOP + row * _STEP + 16}" text-anchor="end">{row * across + 1}</text>'
        for row in range(rows)
    ]
    return svg.drawing(name, kind, (width, height), title, text, "".join(firsts + marks))


def _mark(place: int, there: bool, across: int) -> str:
    left, top = _LEFT + place % across * _STEP, _TOP + place // across * _STEP
    square = f'x="{left}" y="{top}" width="{_SIDE}" height="{_SIDE}" rx="3"'
    if there:
        return f'<rect class="there" {square}/>'
    stroke = f"M{left + 5} {top + _SIDE - 5}L{left + _SIDE - 5} {top + 5}"
    return f'<rect class="missing" {square}/><path class="missing" d="{stroke}"/>'
