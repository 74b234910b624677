"""Figures of the workbench: epsilon against items, what sources spent over time, and the periods of a series."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from queryveil.display import svg
from queryveil.display.svg import Axis, Series

STYLE = svg.STYLE
"""Rules for the style sheet of pages with figures."""
_DAY = 86_400


def draw_items_over_epsilon(points: Sequence[tuple[float, float]]) -> Markup:
    """Draw how many items would be published at several epsilons."""
    return Markup(  # noqa: S704 (display escapes its texts)
        svg.figure(
            "items-over-epsilon",
            "Items published, by epsilon",
            [Series("items published, about", points)],
            Axis("epsilon (privacy loss)", log=True),
            Axis("items published, about"),
        )
    )


def draw_spent_over_time(charges: Mapping[str, Sequence[tuple[datetime.datetime, float]]]) -> Markup:
    """Draw the epsilon that each source has spent, as steps over time.

    Args:
        charges: For each source, when it was charged and what it had spent then, in order.
    """
    drawn = sorted(charges.items(), key=lambda one: -max((spent for _, spent in one[1]), default=0.0))
    times = [time for _, some in drawn for time, _ in some]
    first, last = min(times), max(times)
    end = max((last - first).total_seconds() / _DAY, 1 / 24)
    series = []
    for source, some in drawn[: svg.MOST_SERIES]:
        points: list[tuple[float, float]] = []
        for time, spent in some:
            at = (time - first).total_seconds() / _DAY
            points += [(at, points[-1][1] if points else 0.0), (at, spent)]
        series.append(Series(source, [*points, (end, points[-1][1])]))
    note = f"The {svg.MOST_SERIES} sources that spent the most." if len(drawn) > svg.MOST_SERIES else ""
    return Markup(  # noqa: S704 (display escapes its texts)
        svg.figure(
            "spent-over-time",
            "Epsilon spent so far",
            series,
            Axis(f"days since {first:%Y-%m-%d} (UTC)", top=end),
            Axis("epsilon, as the ledger counts"),
            note=note,
        )
    )


def draw_rows_of_periods(name: str, unit: str, rows: Sequence[int]) -> Markup:
    """Draw how many rows each period of a series has; `name` is unique on the page."""
    points = [(float(place), float(many)) for place, many in enumerate(rows, 1)]
    return Markup(  # noqa: S704 (display escapes its texts)
        svg.figure(
            name,
            f"Rows of each {unit}",
            [Series("rows", points)],
            Axis(f"{unit}, counted from the first", top=max(2.0, len(points))),
            Axis("published rows"),
        )
    )
