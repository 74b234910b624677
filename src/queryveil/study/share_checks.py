"""What is expected of released shares: shapes, and agreement with chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from queryveil.study import shapes
from queryveil.study.declaration import EXPECTED, MEASURED, Check, Findings, Row
from queryveil.study.expectations import Along, Beside, expected
from queryveil.study.shapes import Line

DISTINCT, IMPRESSIONS, QUERIES = "released-distinct", "released-impressions", "released-queries"
DEVIATION = "released-queries-deviation"
NOUNS = {DISTINCT: "distinct queries", IMPRESSIONS: "impressions"}

_FALSE_ALARM = 1e-6
_COMPUTED = {"how": EXPECTED}


def days(number: int) -> str:
    return f"{number} day" + ("" if number == 1 else "s")


def _agreement(found: Findings) -> Iterator[Check]:
    """Real releases against expectations, by Bernstein's inequality over all together."""
    axes = found.axes
    point = {_point(row, axes): row["value"] for row in found.where(how=EXPECTED, metric=QUERIES)}
    spread = {_point(row, axes): row["value"] for row in found.where(how=EXPECTED, metric=DEVIATION)}
    measured = found.where(how=MEASURED, metric=QUERIES)
    limit = math.log(2 * max(1, len(measured)) / _FALSE_ALARM)
    far = 0
    for row in measured:
        key = _point(row, axes)
        allowed = limit / 3 + math.sqrt((limit / 3) ** 2 + 2 * limit * spread[key] ** 2)
        far += abs(row["value"] - point[key]) > allowed
    yield Check(
        "real releases agree with what is expected",
        len(measured) > 0 and far == 0,
        f"in {len(measured) - far} of {len(measured)} releases the number of queries is as near as chance allows "
        f"(false alarm {_FALSE_ALARM:g})",
    )


def _point(row: Row, axes: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in axes)


def _grow_with_both(found: Findings) -> Iterator[Check]:
    """One check for all lines along epsilon, and one for those along delta."""
    for metric, noun in NOUNS.items():
        computed = found.where(how=EXPECTED, metric=metric)
        values = [row["value"] for row in computed]
        for axis, other in (("epsilon", "delta"), ("delta", "epsilon")):
            lines = [line.heights for _, line in computed.lines(axis, "analysis", "d", other)]
            if len(computed.values(axis)) > 1:
                yield Check(
                    f"{noun} grow with {axis}",
                    all(map(shapes.grows, lines)),
                    f"from {min(values):.3g} to {max(values):.3g} % over the grid",
                )


def best_bounds(found: Findings) -> Line:
    """The d at which most impressions are released, against the length of the log."""
    curves = found.where(how=EXPECTED, metric=IMPRESSIONS).lines("d", "days")
    return Line(sorted((setting["days"], curve.peak) for setting, curve in curves))


def _later_and_more(found: Findings) -> Iterator[Check]:
    """Where impressions peak, and how many queries there are, against the length of the log."""
    computed = found.where(how=EXPECTED)
    for analysis in computed.values("analysis"):
        own = computed.where(analysis=analysis)
        peaks = best_bounds(own)
        if len(peaks) == 1:
            continue
        yield Check(
            f"the peak of impressions moves later for longer logs ({analysis})",
            shapes.grows(peaks.heights),
            ", ".join(f"{days(span)}: d = {peak}" for span, peak in peaks.items()),
        )
        middle = min(computed.values("d"), key=lambda d: abs(d - 20))
        numbers = own.where(metric=QUERIES, d=middle).along("days")
        yield Check(
            f"longer logs release more queries at d = {middle} ({analysis})",
            shapes.grows(numbers.heights),
            ", ".join(f"{days(span)}: {number:.3g}" for span, number in numbers.items()),
        )


_TIGHT = Beside(
    says="the tight threshold releases at least as much as the paper's",
    metric=IMPRESSIONS,
    column="analysis",
    ours="tight",
    theirs="paper",
    at=("d", "epsilon", "delta"),
    where=_COMPUTED,
    shape=shapes.never_below,
    told="{pair.times.least:.2f} to {pair.times.most:.2f} times the impressions",
)

AGAINST_D = expected(
    Along(
        says="impressions peak at an inner d ({analysis})",
        metric=IMPRESSIONS,
        along="d",
        by=("analysis",),
        where=_COMPUTED,
        least=1,
        shape=shapes.peaks_inside,
        told="peak of {line.highest:.3g} % at d = {line.peak}; {line.first:.3g} % at {line.start}, "
        "{line.last:.3g} % at {line.end}",
    ),
    Along(
        says="distinct queries fall with d ({analysis})",
        metric=DISTINCT,
        along="d",
        by=("analysis",),
        where=_COMPUTED,
        shape=shapes.falls_from_its_peak,
        told="from {line.highest:.3g} % at d = {line.peak} to {line.last:.3g} % at d = {line.end}",
    ),
    _TIGHT,
    _agreement,
)
AGAINST_EPSILON_DELTA = expected(_grow_with_both, _TIGHT, _agreement)
AGAINST_SPAN = expected(_later_and_more, _agreement)
