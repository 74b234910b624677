"""Do queries with one meaning, counted as one, release more of a log? Korolova et al., section 8, name the idea.

Lines are exact expectations, points are real releases, as in the other studies of released shares.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import cast

import numpy as np

from queryveil import ClickGraph, SearchLog
from queryveil.extension import Original, Released
from queryveil.language import groups
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import exact_release, grid, shapes
from queryveil_lab.studies.declaration import (
    EXPECTED,
    Axis,
    Cell,
    Check,
    Findings,
    Given,
    Metric,
    Row,
    too_small,
)
from queryveil_lab.studies.drawing import REAL, Curves
from queryveil_lab.studies.exact_release import BoundedCounts
from queryveil_lab.studies.expectations import Beside, expected
from queryveil_lab.studies.grid import Entry, Grid, row
from queryveil_lab.studies.released_share import FIXED, D, ln
from queryveil_lab.studies.share_checks import IMPRESSIONS, LEAST_QUERIES, QUERIES

GROUPING, NONE, WORDS = "grouping", "none", "words"
GROUPS = "different-queries"
METHOD = Entry(
    "click-graph",
    "click-graph",
    {},
    {"epsilon": "epsilon", "delta": "delta", "d": "max_queries", GROUPING: "group_queries"},
)


@dataclasses.dataclass(eq=False)
class BothCounted(Original):
    """The log's events, counted under every bound as they are and in groups."""

    numbers: dict[str, BoundedCounts]


def _count_both(given: Given) -> BothCounted:
    log = _distinct_events(given.the_log)
    bounds = [int(d) for d in given.axes["d"]]
    sides = {NONE: log, WORDS: groups.group_queries(log)}
    asked = given.axes[GROUPING]
    return BothCounted(
        log,
        {how: exact_release.bounded_counts(one, bounds) for how, one in sides.items() if how in asked},
    )


def _distinct_events(log: SearchLog) -> SearchLog:
    """The log without clicks and repeated lines, kept in the engine."""
    kept = log.engine.keep(log.queries.select("user", "time", "query", "words").distinct())
    return dataclasses.replace(log, normal=kept, source=kept.drop("words"), staged=None)


def _expected_rows(original: Original, cell: Cell) -> Iterator[Row]:
    counts = cast(BothCounted, original).numbers[cell[GROUPING]]
    setting = cast(ClickGraph, METHOD.made(cell.values)).setting()
    share = counts.bounded[None, cell["d"]].share(setting.scale, setting.top)
    for one in _share_rows(counts, share.queries, share.impressions):
        yield {**one, "how": EXPECTED}


def _share_rows(counts: BoundedCounts, queries: float, impressions: float) -> Iterable[Row]:
    whole = counts.whole[None]
    return (
        row(IMPRESSIONS, 100 * impressions / max(1, whole.events)),
        row(QUERIES, queries),
        row(GROUPS, whole.distinct),
    )


def _released_rows(original: Original, side: Released, cell: Cell, _: int) -> Iterable[Row]:
    counts = cast(BothCounted, original).numbers[cell[GROUPING]]
    table = side.release.tables["queries"]
    return _share_rows(counts, table.num_rows, int(np.sum(table["count"].to_numpy())))


def _check_gain(found: Findings) -> Iterator[Check]:
    """Grouping releases more impressions, wherever enough is released to tell."""
    name = "grouped by words, queries release more impressions"
    computed = found.where(how=EXPECTED)
    numbers = computed.where(metric=QUERIES, **{GROUPING: NONE}).along("d")
    if not numbers or max(numbers.heights) < LEAST_QUERIES:
        yield too_small(name, "hardly a query is released")
        return
    yield from Beside(
        says=name,
        metric=IMPRESSIONS,
        column=GROUPING,
        ours=WORDS,
        theirs=NONE,
        at=("d",),
        where={"how": EXPECTED},
        shape=shapes.above,
        told="{pair.times.least:.2f} to {pair.times.most:.2f} times the impressions, over all d",
    )(found)


def _gain_text(found: Findings) -> str:
    lines = {one[GROUPING]: line for one, line in _impression_findings(found).lines("d", GROUPING)}
    if len(lines) < 2:
        return "Impressions released against d"
    both = {how: line.highest for how, line in lines.items()}
    times = both[WORDS] / max(both[NONE], 1e-12)
    return f"At its best d, grouping by words releases {times:.2f} times the impressions"


def _impression_findings(found: Findings) -> Findings:
    return found.where(how=EXPECTED, metric=IMPRESSIONS)


QUERY_GROUPS = grid.study(
    Grid((METHOD,), (_released_rows,), ready=_count_both, of_log=_expected_rows),
    name="query-groups",
    question="Is more of a log released if queries with one meaning count as one?",
    paper="grouping similar queries, such as 'mom' and 'mother', could improve what is released; no figure is given",
    axes=(
        Axis(GROUPING, (NONE, WORDS), "whether queries with the same words count as one", closed=True),
        *FIXED,
        D,
    ),
    metrics=(
        Metric(IMPRESSIONS, "%", "sum of the published noisy counts, in percent of the log's query events"),
        Metric(QUERIES, "queries", "queries, or groups of them, published"),
        Metric(GROUPS, "queries", "different queries, or groups of them, in the log"),
    ),
    repeats=1,
    figures=(
        Curves(
            name="impressions",
            title=_gain_text,
            under="epsilon = {epsilon}, delta = {delta}; " + REAL,
            metric=IMPRESSIONS,
            shown={"epsilon": ln, GROUPING: {NONE: "as typed", WORDS: "grouped by words"}},
            x=Scale("d", "queries that one user may add (d)", log=True),
            y=Scale("value", "impressions released (%)"),
            by=GROUPING,
            by_title="queries",
        ),
    ),
    checks=expected(_check_gain),
)
