"""Figures that a notebook shows by itself: one SVG each, with its look inside, and nothing loaded for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from queryveil.display import svg
from queryveil.display.escaping import escape, shown

_PAPER, _INK = "#ffffff", "#1a1a1a"
_COLOURS = {
    "--ink": _INK,
    "--line": "#e3e3e3",
    "--soft": "#555555",
    "--first": "#0072B2",
    "--second": "#D55E00",
    "--third": "#009E73",
    "--paper": _PAPER,
}
_TITLE = 34
"""Room above a figure for its title."""
_ROW, _LABELS, _BARS, _NUMBERS = 24, 300, 380, 100
_MOST_BARS = 20


@dataclass(frozen=True)
class Picture:
    """A drawn figure. A notebook shows it; `save` writes it as an SVG file."""

    title: str
    """The answer that it gives."""
    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the figure to `path`, as SVG; a file that is there is replaced."""
        file = Path(path)
        file.write_text(self.svg, encoding="utf-8")
        return file


def curves(title: str, series: Sequence[svg.Series], x: svg.Axis, y: svg.Axis) -> Picture:
    """Curves over two axes, as reports have them."""
    drawn = [one for one in series[: svg.MOST_SERIES] if one.points]
    if not drawn:
        return Picture(
            title, _frame_svg(title, svg.WIDE[0], 20, '<text x="12" y="14">nothing to draw</text>', "")
        )
    height, inside = svg.draw_curves(svg.WIDE, drawn, x, y)
    return Picture(title, _frame_svg(title, svg.WIDE[0], height, inside, ""))


def bars(title: str, rows: Sequence[tuple[str, float, str]], unit: str) -> Picture:
    """A bar for each row: its name, its value from 0, and what is written beside it."""
    kept = rows[:_MOST_BARS]
    most = max((value for _, value, _ in kept), default=0) or 1
    parts = []
    for at, (name, value, label) in enumerate(kept):
        y = _ROW * at
        width = _BARS * max(value, 0) / most
        parts.append(
            f'<text x="{_LABELS - 10}" y="{y + 16}" text-anchor="end">{escape(shown(name, 26))}</text>'
            f'<rect class="bar" x="{_LABELS}" y="{y + 4}" width="{width:.1f}" height="{_ROW - 8}"/>'
            f'<text x="{_LABELS + width + 6:.1f}" y="{y + 16}">{escape(label)}</text>'
        )
    height = _ROW * len(kept) + 24
    parts.append(f'<text x="{_LABELS}" y="{height - 4}">{escape(unit)}</text>')
    return Picture(
        title, _frame_svg(title, _LABELS + _BARS + _NUMBERS, height, "".join(parts), " .bar{fill:#0072B2}")
    )


def _frame_svg(title: str, width: int, height: int, inside: str, more: str) -> str:
    """One SVG with its title and a look of its own, that no page around it changes or is changed by."""
    whole = height + _TITLE
    lines = [line.strip() for line in svg.STYLE.splitlines() if line.startswith("svg ")]
    look = " ".join(lines).replace("svg ", ".queryveil-picture ")
    for name, colour in _COLOURS.items():
        look = look.replace(f"var({name})", colour)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="queryveil-picture" viewBox="0 0 {width} {whole}" '
        f'width="{width}" height="{whole}" role="img" aria-label="{escape(title)}" font-family="sans-serif">'
        f"<style>{look}{more}</style>"
        f'<rect width="{width}" height="{whole}" fill="{_PAPER}"/>'
        f'<text x="4" y="20" style="font-weight:600;font-size:15px">{escape(title)}</text>'
        f'<g transform="translate(0 {_TITLE})">{inside}</g></svg>'
    )
