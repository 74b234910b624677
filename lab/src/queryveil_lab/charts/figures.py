"""Figures: PNG, SVG, and an interactive page that needs no network. One look for all, readable in print.

No meaning by colour alone: series differ in dashes and shapes too. Figures may show queries, so everything that
goes into a page is escaped.
"""

from __future__ import annotations

import html
import json
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from queryveil import UsageError
from queryveil_lab.charts.marks import (
    COLOUR,
    COLOURS,
    DASHES,
    DRAWN,
    MOST_SERIES,
    NUMBER,
    SHAPE,
    SHAPES,
    as_printed,
    with_source_of,
)

FORMATS = ("png", "svg", "html")

_PNG_SCALE = 2.0
_WIDTH, _HEIGHT, _PANEL = 520, 320, 270
_TITLE_LINE, _SUBTITLE_LINE = 64, 92
"""Characters of a line above the figure."""
_PLAIN = ",.10~g"
"""Numbers without an exponent."""

_LONG = 10_000
"""From here on numbers are long, and an axis has fewer of them."""
LOW, HIGH = "low", "high"
"""Columns of a span: the ends of an interval."""

_LOOK: dict[str, Any] = {
    "background": "white",
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "padding": 12,
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelColor": "#222",
        "titleColor": "#222",
        "domainColor": "#444",
        "tickColor": "#444",
        "gridColor": "#e3e3e3",
        "labelOverlap": "greedy",
        "labelFlush": False,
    },
    "title": {
        "anchor": "start",
        "frame": "group",
        "fontSize": 16,
        "fontWeight": "bold",
        "subtitleFontSize": 12.5,
        "subtitleColor": "#444",
        "subtitlePadding": 6,
        "offset": 14,
    },
    "legend": {
        "labelFontSize": 12,
        "titleFontSize": 12.5,
        "titleFontWeight": "normal",
        "symbolSize": 90,
        "symbolStrokeWidth": 2,
        "labelLimit": 260,
        "titleLimit": 260,
        "orient": "bottom",
        "direction": "horizontal",
        "layout": {"bottom": {"anchor": "start", "direction": "vertical", "margin": 8}},
    },
    "header": {"labelFontSize": 13, "labelFontWeight": "bold", "titleFontSize": 12.5},
}

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class Scale:
    """One axis of a figure: its column, what it is called (with the unit), and how it is spaced."""

    column: str
    title: str
    log: bool = False
    ticks: tuple[float, ...] = ()
    format: str = ""
    top: float | None = None
    zero: bool = True
    """Whether the axis starts at 0."""
    steps: bool = False
    """Whether its values are steps, equally far apart."""
    labels: str = ""
    """A Vega expression for what stands at a tick, where that is not its value alone."""


@dataclass(frozen=True)
class Words:
    """The title says the answer; the subtitle says what was measured."""

    title: str
    subtitle: str = ""


def altair() -> Any:
    """The drawing library, or the way to get it."""
    try:
        import altair as alt
        import vl_convert  # noqa: F401 (needed to write what is drawn)
    except ImportError:
        raise UsageError("figures need altair and vl-convert", "install queryveil-lab again") from None
    return alt


def curves(
    lines: Sequence[Mapping[str, Any]],
    points: Sequence[Mapping[str, Any]],
    *,
    x: Scale,
    y: Scale,
    by: str,
    by_title: str,
    words: Words,
    panel: str | None = None,
    spans: Sequence[Mapping[str, Any]] = (),
    printed: Sequence[Mapping[str, Any]] = (),
    printed_in: str = "",
) -> Any:
    """Lines (what is expected) and points (what was measured), one dash, shape and colour for each series.

    With `panel`, one small chart for each value of that column, side by side. Spans are rows of lines with the
    columns `low` and `high`: a bar from one to the other. Printed rows are what a paper has for a series: filled
    marks in its colour and shape, joined by a thin line; `printed_in` names the paper in the legend.
    """
    alt = altair()
    source = _series_name(printed_in)
    with_source = with_source_of(printed, source, by, panel)
    drawn_as = {"line": lines, "point": points, "span": spans, "printed": with_source}
    rows: list[dict[str, Any]] = [{**row, DRAWN: how} for how, some in drawn_as.items() for row in some]
    rows = [{**row, by: _series_name(str(row[by]))} for row in rows]
    series = list(dict.fromkeys(row[by] for row in rows))
    if len(series) > MOST_SERIES:
        raise UsageError(
            f"a figure can tell {MOST_SERIES} series apart, not {len(series)}", "vary fewer values"
        )
    shown = [name for name in rows[0] if name != DRAWN]
    marks = {name: {COLOUR: COLOURS[at], SHAPE: SHAPES[at], NUMBER: at} for at, name in enumerate(series)}
    rows = [{**row, **marks[row[by]]} for row in rows]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            f"{_escape_field(x.column)}:{_scale_type(x)}",
            **_axis_options(alt, x, [row[x.column] for row in rows]),
        ),
        y=alt.Y(
            f"{_escape_field(y.column)}:{_scale_type(y)}",
            **_axis_options(alt, y, [row[y.column] for row in rows]),
        ),
        tooltip=[
            alt.Tooltip(f"{_escape_field(name)}:{_value_kind(rows, name)}", title=name) for name in shown
        ],
    )
    plain = {"scale": None, "legend": None}
    # The legend shows marks, and a stroke for a line that has none; without any points it shows the lines' dashes.
    with_points = {row[by] for row in rows if row[DRAWN] in ("point", "printed")}
    shapes = [SHAPES[at] if name in with_points else "stroke" for at, name in enumerate(series)]
    sample = {"symbolSize": 110} if with_points else {"symbolSize": 600, "symbolType": "stroke"}
    legend = alt.Legend(
        title=by_title, columns=4, symbolStrokeWidth=2, symbolFillColor="transparent", **sample
    )

    def told_apart(channel: Any, marks: Sequence[Any], *, shown: bool = True) -> Any:
        given = list(marks[: len(series)])
        if not shown:
            return channel(
                f"{NUMBER}:N", scale=alt.Scale(domain=list(range(len(series))), range=given), legend=None
            )
        return channel(
            f"{_escape_field(by)}:N", scale=alt.Scale(domain=series, range=given), legend=legend, sort=series
        )

    drawn = base.transform_filter(f"datum.{DRAWN} === 'line'").mark_line(strokeWidth=2)
    layers = [
        drawn.encode(
            told_apart(alt.Color, COLOURS),
            told_apart(alt.StrokeDash, DASHES, shown=not with_points),
        )
    ]
    if points:
        marked = base.transform_filter(f"datum.{DRAWN} === 'point'")
        marked = marked.mark_point(filled=False, size=60, strokeWidth=1.6, opacity=1)
        layers.append(marked.encode(told_apart(alt.Color, COLOURS), told_apart(alt.Shape, shapes)))
    if spans:
        barred = base.transform_filter(f"datum.{DRAWN} === 'span'").mark_rule(strokeWidth=1.6)
        ends = [row[end] for row in spans for end in (LOW, HIGH)]
        low = alt.Y(f"{LOW}:Q", **_axis_options(alt, y, ends))
        layers.append(barred.encode(y=low, y2=f"{HIGH}:Q", stroke=alt.Stroke(f"{COLOUR}:N", **plain)))
    if printed:
        layers += as_printed(alt, base, source)
    chart = alt.layer(*layers)
    if panel is None:
        return chart.properties(width=_WIDTH, height=_HEIGHT, title=_chart_title(words))
    order = list(dict.fromkeys(row[panel] for row in rows))
    small = chart.properties(width=_PANEL if len(order) > 1 else _WIDTH, height=_HEIGHT * 0.7)
    faceted = small.facet(facet=alt.Facet(f"{_escape_field(panel)}:N", title=None, sort=order), columns=2)
    return faceted.resolve_axis(x="independent").properties(title=_chart_title(words))


def ranks(
    rows: Sequence[Mapping[str, Any]], *, item: str, side: str, rank: str, words: Words, y_title: str
) -> Any:
    """Two rankings side by side: a line leads from an item's rank on the left to that on the right."""
    alt = altair()
    sides = list(dict.fromkeys(row[side] for row in rows))
    base = alt.Chart(alt.InlineData(values=list(rows))).encode(
        x=alt.X(
            f"{_escape_field(side)}:N",
            sort=sides,
            title=None,
            scale=alt.Scale(padding=0.5),
            axis=alt.Axis(orient="top", labelAngle=0, labelFontSize=13, domain=False, ticks=False),
        ),
        y=alt.Y(
            f"{_escape_field(rank)}:Q",
            title=y_title,
            scale=alt.Scale(reverse=True, nice=False, zero=False, padding=16),
            axis=alt.Axis(tickMinStep=1, grid=False, format="d"),
        ),
        tooltip=[alt.Tooltip(f"{_escape_field(name)}:N", title=name) for name in rows[0]],
    )
    layers = [
        base.mark_line(color=COLOURS[0], strokeWidth=1.5, opacity=0.7).encode(
            detail=f"{_escape_field(item)}:N"
        ),
        base.mark_point(color=COLOURS[0], filled=True, size=55),
    ]
    for place, align, shift in ((0, "right", -10), (-1, "left", 10)):
        ends = base.transform_filter(alt.FieldOneOfPredicate(field=_escape_field(side), oneOf=[sides[place]]))
        layers.append(
            ends.mark_text(align=align, dx=shift, fontSize=12, limit=110).encode(
                text=f"{_escape_field(item)}:N"
            )
        )
    return alt.layer(*layers).properties(
        width=_WIDTH, height=36 * max(row[rank] for row in rows), title=_chart_title(words)
    )


def bars(
    rows: Sequence[Mapping[str, Any]], *, item: str, value: str, panel: str, words: Words, x_title: str
) -> Any:
    """One bar with its number for each item, in one small chart for each value of `panel`.

    Numbers may be far apart and may be 0: their axis is linear up to 10 and logarithmic beyond.
    """
    alt = altair()
    items, panels = (list(dict.fromkeys(row[name] for row in rows)) for name in (item, panel))
    base = alt.Chart(alt.InlineData(values=list(rows))).encode(
        y=alt.Y(f"{_escape_field(item)}:N", sort=items, title=None),
        x=alt.X(
            f"{_escape_field(value)}:Q",
            title=x_title,
            scale=alt.Scale(type="symlog", constant=10),
            axis=alt.Axis(values=[0, 100, 10_000, 1_000_000], format=",d"),
        ),
        tooltip=[
            alt.Tooltip(f"{_escape_field(name)}:{_value_kind(rows, name)}", title=name) for name in rows[0]
        ],
    )
    numbers = base.mark_text(align="left", dx=3, fontSize=10).encode(
        text=alt.Text(f"{_escape_field(value)}:Q", format=",d")
    )
    small = alt.layer(base.mark_bar(color=COLOURS[0]), numbers).properties(
        width=_WIDTH // 3, height=13 * len(items)
    )
    chart = small.facet(facet=alt.Facet(f"{_escape_field(panel)}:N", title=None, sort=panels), columns=3)
    return chart.properties(title=_chart_title(words))


def save(chart: Any, folder: Path, name: str) -> list[Path]:
    """Write a chart as NAME.png, NAME.svg and NAME.html, and say where they are."""
    altair()
    import vl_convert

    spec = chart.to_dict()
    spec["config"] = _LOOK
    files = [folder / f"{name}.{ending}" for ending in FORMATS]
    files[0].write_bytes(vl_convert.vegalite_to_png(spec, scale=_PNG_SCALE))
    files[1].write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    files[2].write_text(page(spec), encoding="utf-8")
    return files


def page(spec: Mapping[str, Any]) -> str:
    """An interactive figure as one page, whatever text is in it: the browser may load nothing for it."""
    text = html.escape(title_of(spec))
    # A query may be '</script>'. No '<' is left for the browser to see, and JSON reads the same.
    inside = json.dumps(spec, allow_nan=False).replace("<", "\\u003c")
    options = json.dumps({"renderer": "svg", "ast": True, "mode": "vega-lite", "actions": {"export": True}})
    hidden = '"source": false, "compiled": false, "editor": false'
    options = options.replace('"export": true', f'"export": true, {hidden}')
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text}</title>\n<style>body {{ margin: 1rem; background: #fff; }} #figure {{ overflow-x: auto; }}"
        f"</style>\n<script>{_vega_bundle()}</script>\n</head>\n<body>\n"
        f'<main><div id="figure" role="img" aria-label="{text}"></div></main>\n'
        f'<script type="application/json" id="chart">{inside}</script>\n'
        f"<script>vegaEmbed('#figure', JSON.parse(document.getElementById('chart').textContent), {options});"
        "</script>\n</body>\n</html>\n"
    )


def title_of(spec: Mapping[str, Any]) -> str:
    """The title of a chart as one line."""
    title = spec.get("title", "Figure")
    text = title.get("text", "Figure") if isinstance(title, Mapping) else title
    return " ".join(text) if isinstance(text, list) else str(text)


@lru_cache(maxsize=1)
def _vega_bundle() -> str:
    """Vega and its parts as one script, from the installed package."""
    import vl_convert

    bundle: Any = vl_convert.javascript_bundle  # its type says that it needs an argument, which it does not
    program: str = bundle()
    return program.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _chart_title(words: Words) -> dict[str, Any]:
    """Title and subtitle, in lines that fit above the figure."""
    made: dict[str, Any] = {"text": wrapped(words.title, _TITLE_LINE)}
    return made | ({"subtitle": wrapped(words.subtitle, _SUBTITLE_LINE)} if words.subtitle else {})


_GLUE = "\ue000"
"""Stands for a space at which no line ends, while lines are made."""
_TOGETHER = re.compile(r"(?<=\d) (?=(?:%|[hds])(?:\W|$))|(?<=\b\w) (?== )|(?<= =) (?=\S)")
_SMALL = re.compile(r"\b(\d(?:\.\d+)?e[-+]?)0+(?=\d)")


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text: a number stays with its unit, a letter with its value, and 1e-05 is written 1e-5."""
    short = _SMALL.sub(r"\1", text)
    return [line.replace(_GLUE, " ") for line in textwrap.wrap(_TOGETHER.sub(_GLUE, short), width)]


def _axis_options(alt: Any, scale: Scale, values: Sequence[float]) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": scale.title, "grid": True}
    if scale.steps:
        return {"axis": alt.Axis(**axis, labelAngle=0), "title": scale.title}
    ticks = scale.ticks or (_tick_powers(values) if scale.log else ())
    if ticks:
        axis |= {"values": list(ticks), "labelOverlap": "greedy", "labelSeparation": 3}
    elif values and max(values) >= _LONG:
        axis["tickCount"] = 6
    if scale.labels:
        axis["labelExpr"] = scale.labels
    if scale.format or scale.log:
        axis["format"] = scale.format or _PLAIN
    made: dict[str, Any] = {"type": "log", "nice": False} if scale.log else {"nice": True, "zero": scale.zero}
    if scale.log and scale.ticks:
        made["domain"] = [min(*values, *scale.ticks), max(*values, *scale.ticks)]
        made["padding"] = 8
    elif scale.top is not None:
        made["domain"] = [0, scale.top]
    return {"axis": alt.Axis(**axis), "scale": alt.Scale(**made), "title": scale.title}


def _tick_powers(values: Sequence[float]) -> list[float]:
    """Powers of ten inside of what is drawn; of less than two of them, steps between."""
    above = [one for one in values if one > 0]
    if not above:
        return []
    low, high = min(above), max(above)
    for steps in ((1,), (1, 3), (1, 2, 5)):
        exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [step * 10.0**power for power in exponents for step in steps]
        inside = [one for one in found if low <= one * (1 + 1e-9) and one <= high * (1 + 1e-9)]
        if len(inside) > 2:
            return inside
    return inside


def _scale_type(scale: Scale) -> str:
    return "O" if scale.steps else "Q"


def _value_kind(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    return "Q" if isinstance(rows[0][name], int | float) and not isinstance(rows[0][name], bool) else "N"


def _series_name(text: str) -> str:
    """A name for a series: Vega writes it into a program, where a line separator is not allowed."""
    return "".join(one if one.isprintable() else " " for one in text)


def _escape_field(name: str) -> str:
    """A column's name where Vega would read dots and brackets as a path."""
    for special in ("\\", ".", "[", "]", ":"):
        name = name.replace(special, "\\" + special)
    return name
