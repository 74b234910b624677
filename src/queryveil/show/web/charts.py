"""Charts as Vega-Lite: titles that say what is shown, axes with units, colours that the stylesheet's themes share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from queryveil.show.web.shelf import ShelvedSeries

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""A name, which nobody asks for."""


def address(query: Mapping[str, str]) -> str:
    """A setting as it stands behind the question mark of an address."""
    return urlencode(dict(query))


def _chart(
    rows: Sequence[Mapping[str, Any]], title: str, mark: Any, encoding: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "$schema": _SCHEMA,
        "title": title,
        "width": "container",
        "height": 240,
        "data": {"values": list(rows)},
        "mark": mark,
        "encoding": dict(encoding),
        "params": [{"name": "zoom", "select": "interval", "bind": "scales"}],
    }


def over_epsilon(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many items would be published at several epsilons."""
    return _chart(
        rows,
        "Items published, by epsilon",
        {"type": "line", "point": {"size": 70}, "tooltip": True},
        {
            "x": {
                "field": "epsilon",
                "type": "quantitative",
                "scale": {"type": "log"},
                "title": "epsilon (privacy loss)",
            },
            "y": {"field": "published", "type": "quantitative", "title": "items published, about"},
            "tooltip": [
                {"field": "epsilon"},
                {"field": "published", "title": "items, about", "format": ",.0f"},
            ],
        },
    )


def spent_over_time(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What each source has spent, after each release."""
    return _chart(
        rows,
        "Epsilon spent so far",
        {"type": "line", "interpolate": "step-after", "point": {"size": 60}, "tooltip": True},
        {
            "x": {"field": "time", "type": "temporal", "title": "time (UTC)"},
            "y": {"field": "spent", "type": "quantitative", "title": "epsilon, as the ledger counts"},
            "color": {"field": "source", "type": "nominal", "title": "source"},
            "tooltip": [
                {"field": "source"},
                {"field": "method"},
                {"field": "spent", "title": "epsilon so far"},
            ],
        },
    )


def series_over_time(series: ShelvedSeries) -> dict[str, Any]:
    """How many rows each period of a series has."""
    return _chart(
        [{"period": one.name, "rows": one.rows} for one in series.periods],
        "Rows of each period",
        {"type": "bar", "tooltip": True},
        {
            "x": {"field": "period", "type": "ordinal", "title": "period"},
            "y": {"field": "rows", "type": "quantitative", "title": "rows"},
            "tooltip": [{"field": "period"}, {"field": "rows"}],
        },
    )
