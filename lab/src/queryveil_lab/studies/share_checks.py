"""What is expected of released shares: shapes, and agreement with chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from queryveil_lab.studies import shapes
from queryveil_lab.studies.declaration import EXPECTED, MEASURED, Check, Findings, Row, too_small
from queryveil_lab.studies.expectations import Along, Beside, at_least, expected
from queryveil_lab.studies.shapes import Line

DISTINCT, IMPRESSIONS, QUERIES = "released-distinct", "released-impressions", "released-queries"
DEVIATION, COUNTS = "released-queries-deviation", "released-counts"
NOUNS = {DISTINCT: "distinct queries", IMPRESSIONS: "impressions"}

PAPERS_D = 20
PAPERS_GROWTH = {
    QUERIES: {1: 1, 7: 6, 14: 12, 30: 24, 365: 184},
    COUNTS: {1: 1, 7: 7, 14: 15, 30: 33, 365: 325},
}
"""How many times what a day releases is released of longer logs, at d = 20 (Korolova et al. 2009, 7.1.2)."""
LEAST_QUERIES = 5
"""With fewer queries expected in a release, a factor of it says nothing."""
_ALIKE = 2.0
"""Shares and factors within this factor of each other are called alike."""

_FALSE_ALARM = 1e-6
_COMPUTED = {"how": EXPECTED}


_ENOUGH = at_least(LEAST_QUERIES, QUERIES, "queries are expected in a release at most", how=EXPECTED)


def days(number: int) -> str:
    return f"{number} day" + ("" if number == 1 else "s")


def _check_agreement(found: Findings) -> Iterator[Check]:
    """Real releases against expectations, by Bernstein's inequality over all together."""
    axes = found.axes
    point = {_cell_point(row, axes): row["value"] for row in found.where(how=EXPECTED, metric=QUERIES)}
    spread = {_cell_point(row, axes): row["value"] for row in found.where(how=EXPECTED, metric=DEVIATION)}
    measured = found.where(how=MEASURED, metric=QUERIES)
    limit = math.log(2 * max(1, len(measured)) / _FALSE_ALARM)
    far = 0
    for row in measured:
        key = _cell_point(row, axes)
        allowed = limit / 3 + math.sqrt((limit / 3) ** 2 + 2 * limit * spread[key] ** 2)
        far += abs(row["value"] - point[key]) > allowed
    yield Check(
        "real releases agree with what is expected",
        len(measured) > 0 and far == 0,
        f"in {len(measured) - far} of {len(measured)} releases the number of queries is as near as chance allows "
        f"(false alarm {_FALSE_ALARM:g})",
    )


def _cell_point(row: Row, axes: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in axes)


def _grow_with_both(found: Findings) -> Iterator[Check]:
    """One check for all lines along epsilon, and one for those along delta."""
    lacking = _ENOUGH(found, {})
    for metric, noun in NOUNS.items():
        computed = found.where(how=EXPECTED, metric=metric)
        values = [row["value"] for row in computed]
        for axis, other in (("epsilon", "delta"), ("delta", "epsilon")):
            lines = [line.heights for _, line in computed.lines(axis, "analysis", "d", other)]
            if len(computed.values(axis)) > 1:
                if lacking:
                    yield too_small(f"{noun} grow with {axis}", lacking)
                    continue
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
        # Of a length that releases nothing at any d, the best d is one of many that are no good.
        most = {one["days"]: line.highest for one, line in own.where(metric=QUERIES).lines("d", "days")}
        told = Line({span: peak for span, peak in peaks.items() if most.get(span, 0.0) >= 1})
        name = f"the peak of impressions moves later for longer logs ({analysis})"
        if len(told) < 2:
            yield too_small(
                name, f"at its best d the longest log releases {max(most.values(), default=0):.2g} queries"
            )
        else:
            detail = ", ".join(f"{days(span)}: d = {peak}" for span, peak in told.items())
            yield Check(name, shapes.grows(told.heights), detail)
        middle = min(computed.values("d"), key=lambda d: abs(d - 20))
        numbers = own.where(metric=QUERIES, d=middle).along("days")
        name = f"longer logs release more queries at d = {middle} ({analysis})"
        detail = ", ".join(f"{days(span)}: {number:.3g}" for span, number in numbers.items())
        if max(numbers.heights, default=0.0) < LEAST_QUERIES:
            yield too_small(name, detail)
        else:
            yield Check(name, shapes.grows(numbers.heights), detail)


def _check_growth(found: Findings) -> Iterator[Check]:
    """How many times as much longer logs release, beside the paper's factors."""
    for analysis in found.values("analysis"):
        own = found.where(how=EXPECTED, analysis=analysis, d=PAPERS_D)
        for metric, noun in ((QUERIES, "queries"), (COUNTS, "impressions")):
            paper, line = PAPERS_GROWTH[metric], own.where(metric=metric).along("days")
            enough = own.where(metric=QUERIES).along("days")
            spans = [span for span in line if span in paper]
            bases = [span for span in spans if enough[span] >= LEAST_QUERIES]
            if len(spans) < 2:
                continue
            name = f"{noun} released at d = {PAPERS_D} grow with the log as in the paper ({analysis})"
            if len(bases) < 2:
                most = max(enough[span] for span in spans)
                told = f"{most:.3g} queries are released of the longest log"
                yield too_small(name, told)
                continue
            base = bases[0]
            pairs = {span: (line[span] / line[base], paper[span] / paper[base]) for span in bases[1:]}
            yield Check(
                name,
                all(
                    shapes.within_a_factor([ours], [theirs], factor=_ALIKE) for ours, theirs in pairs.values()
                ),
                f"times what {days(base)} release{'s' if base == 1 else ''}: "
                + ", ".join(
                    f"{days(span)} {ours:.3g} (paper {theirs:.3g})" for span, (ours, theirs) in pairs.items()
                ),
            )


def variation(found: Findings) -> dict[int, float]:
    """For every d, the largest share of distinct queries over the smallest, among spans that release enough."""
    shares: dict[int, list[float]] = {}
    for row in found.where(how=EXPECTED, metric=QUERIES):
        if row["value"] >= LEAST_QUERIES:
            same = found.where(how=EXPECTED, metric=DISTINCT, d=row["d"], days=row["days"])
            shares.setdefault(row["d"], []).append(same.value)
    return {d: max(line) / min(line) for d, line in sorted(shares.items()) if len(line) > 1}


def _hardly_depends(found: Findings) -> Iterator[Check]:
    """The share of distinct queries against the length of the log, for every d."""
    for analysis in found.values("analysis"):
        own = found.where(analysis=analysis)
        if len(own.values("days")) < 2:
            continue
        name = f"the share of distinct queries hardly depends on the length of the log ({analysis})"
        times = variation(own)
        if not times:
            told = f"at no d do two lengths release {LEAST_QUERIES} queries"
            yield too_small(name, told)
            continue
        yield Check(
            name,
            max(times.values()) <= _ALIKE,
            "largest over smallest: " + ", ".join(f"{ratio:.2f} at d = {d}" for d, ratio in times.items()),
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
        enough=_ENOUGH,
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
        enough=_ENOUGH,
        told="from {line.highest:.3g} % at d = {line.peak} to {line.last:.3g} % at d = {line.end}",
    ),
    _TIGHT,
    _check_agreement,
)
AGAINST_EPSILON_DELTA = expected(_grow_with_both, _TIGHT, _check_agreement)
AGAINST_SPAN = expected(_later_and_more, _check_growth, _hardly_depends, _check_agreement)
