"""Marks of a figure: what tells series apart, and what a paper printed beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# Okabe and Ito's colours, told apart by colour-blind readers; the order also steps in lightness for grey print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9", "#777777", "#882255")
DASHES: tuple[list[int], ...] = (
    [1, 0],
    [8, 3],
    [2, 2],
    [10, 3, 2, 3],
    [12, 3, 2, 3, 2, 3],
    [16, 4],
    [4, 6],
    [6, 2, 2, 2, 2, 2],
    [1, 3],
)
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
    "M-1,-0.4L1,-0.4M-1,0.4L1,0.4M-0.4,-1L-0.4,1M0.4,-1L0.4,1",
)
MOST_SERIES = len(COLOURS)
DRAWN, COLOUR, SHAPE = "queryveil_drawn", "queryveil_colour", "queryveil_shape"
PRINTED, JOINED = "queryveil_printed", "queryveil_joined"
_PAIR = 2
NUMBER = "queryveil_number"
"""Of a series: Vega merges legends of one domain, hidden ones too, and dashes would break the outlines of marks."""


def as_printed(alt: Any, base: Any, source: str) -> list[Any]:
    """What a paper has: filled marks, joined by a thin line, and one entry of their own in the legend."""
    plain = {"scale": None, "legend": None}
    own = base.transform_filter(f"datum.{DRAWN} === 'printed'")
    label = alt.Legend(
        title=None,
        symbolType="circle",
        symbolFillColor="#333",
        symbolStrokeColor="#333",
        symbolSize=70,
        labelLimit=520,
    )
    known = alt.Opacity(f"{PRINTED}:N", scale=alt.Scale(domain=[source], range=[1]), legend=label)
    joined = own.transform_filter(f"datum.{JOINED}").mark_line(strokeWidth=1, opacity=0.7)
    marked = own.mark_point(filled=True, size=70)
    return [
        joined.encode(stroke=alt.Stroke(f"{COLOUR}:N", **plain)),
        marked.encode(known, fill=alt.Fill(f"{COLOUR}:N", **plain), shape=alt.Shape(f"{SHAPE}:N", **plain)),
    ]


def with_source_of(
    printed: Sequence[Mapping[str, Any]], source: str, *apart: str | None
) -> list[Mapping[str, Any]]:
    """Printed rows with their legend; two points alone are not joined: nothing is known of what is between."""
    places = [tuple(row[name] for name in apart if name) for row in printed]
    return [
        {**row, PRINTED: source, JOINED: places.count(place) > _PAIR}
        for row, place in zip(printed, places, strict=True)
    ]
