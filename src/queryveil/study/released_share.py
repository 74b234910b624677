"""How much of a log Release-Data publishes: against d, against epsilon and delta, against the log's length.

Korolova et al., figures 2 to 4 and tables 2 and 3. Lines are exact expectations, points are real releases.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from queryveil.mechanisms.click_graph.click_graph import ClickGraph
from queryveil.reading.log import SearchLog
from queryveil.study import exact_release, share_checks, share_figures
from queryveil.study.declaration import EXPECTED, MEASURED, Axis, Cell, Given, Metric, Row, Study, Value
from queryveil.study.exact_release import BoundedCounts
from queryveil.study.releases import releases
from queryveil.study.share_checks import DEVIATION, DISTINCT, IMPRESSIONS, QUERIES

_METRICS = (
    Metric(DISTINCT, "%", "distinct queries published, of all in the log"),
    Metric(IMPRESSIONS, "%", "sum of the published noisy counts, of all query events in the log"),
    Metric(QUERIES, "queries", "queries published"),
    Metric(DEVIATION, "queries", "standard deviation of the queries published, over the noise"),
)
_BOUNDS = (1, 5, 10, 20, 40, 80, 160)
_D = Axis("d", _BOUNDS, "queries that one user may add")
_ANALYSIS = Axis("analysis", ("tight", "paper"), "whose threshold")


@dataclass(frozen=True)
class Prepared:
    log: SearchLog
    counts: BoundedCounts
    start: dt.datetime | None


def _span(cell: Cell) -> int | None:
    return cell["days"] if "days" in cell.values else None


def _prepare(given: Given) -> Prepared:
    log = exact_release.only_events(given.the_log)
    spans: list[Any] = list(given.axes["days"]) if "days" in given.axes else [None]
    counts = exact_release.bounded_counts(log, [int(d) for d in given.axes["d"]], spans)
    return Prepared(log, counts, exact_release.span_of(log)[0] if "days" in given.axes else None)


def _measure(prepared: Prepared, given: Given, cell: Cell) -> Iterator[Row]:
    method = ClickGraph(
        epsilon=cell["epsilon"], delta=cell["delta"], max_queries=cell["d"], analysis=cell["analysis"]
    )
    whole = prepared.counts.whole[_span(cell)]
    setting = method.selection()
    share = prepared.counts.bounded[_span(cell), cell["d"]].share(setting.scale, setting.top)

    def row(how: str, repeat: int | None, metric: str, value: float) -> Row:
        return {"how": how, "repeat": repeat, "metric": metric, "value": value}

    def rows(how: str, repeat: int | None, queries: float, impressions: float) -> Iterator[Row]:
        yield row(how, repeat, DISTINCT, 100 * queries / max(1, whole.distinct))
        yield row(how, repeat, IMPRESSIONS, 100 * impressions / max(1, whole.events))
        yield row(how, repeat, QUERIES, queries)

    yield from rows(EXPECTED, None, share.queries, share.impressions)
    yield row(EXPECTED, None, DEVIATION, share.deviation)
    log = _cut(prepared, _span(cell))
    for repeat, release in releases(log, method, given.repeats):
        table = release.tables["queries"]
        yield from rows(MEASURED, repeat, table.num_rows, int(np.sum(table["count"].to_numpy())))


def _cut(prepared: Prepared, days: int | None) -> SearchLog:
    """The first days of a log."""
    log = prepared.log
    if days is None or prepared.start is None:
        return log
    end = exact_release.ends(prepared.start, days)
    return dataclasses.replace(
        log,
        table=log.table.filter(log.table["time"] < end),
        source=log.source.filter(log.source["time"] < end),
    )


# -- declarations --------------------------------------------------------------------------------------------


def _within(log: SearchLog | None, axes: Mapping[str, tuple[Value, ...]]) -> Mapping[str, tuple[Value, ...]]:
    """Spans up to the first that holds the whole log."""
    if log is None:
        return axes
    first, last = exact_release.span_of(log)
    length = (last - first) / dt.timedelta(days=1)
    days = sorted(int(span) for span in axes["days"])
    inside = [span for at, span in enumerate(days) if at == 0 or days[at - 1] <= length]
    return {**axes, "days": tuple(inside)}


_FIXED = (
    Axis("epsilon", (math.log(10),), "privacy loss of the selection"),
    Axis("delta", (1e-5,), "probability that the loss is exceeded"),
)

RELEASE_D = Study(
    name="release-d",
    question="How much of a log is released, and how many queries should a user be allowed to add?",
    paper="for one week, impressions peak at about 34 % near d = 20; distinct queries fall with d, from 0.75 % at "
    "d = 1",
    mechanism="click-graph",
    axes=(_ANALYSIS, *_FIXED, _D),
    metrics=_METRICS,
    repeats=1,
    prepare=_prepare,
    measure=_measure,
    figures=share_figures.against_d,
    checks=share_checks.AGAINST_D,
)

RELEASE_EPSILON_DELTA = Study(
    name="release-epsilon-delta",
    question="How much more is released under weaker privacy?",
    paper="for one week and d = 21, impressions grow from 26.79 % (ln 2, 1e-6) to 34.23 % (ln 10, 1e-4), distinct "
    "queries from 0.03 % to 0.12 %",
    mechanism="click-graph",
    axes=(
        _ANALYSIS,
        Axis("d", (20,), _D.help),
        Axis("epsilon", (math.log(2), math.log(5), math.log(10)), _FIXED[0].help),
        Axis("delta", (1e-6, 1e-5, 1e-4), _FIXED[1].help),
    ),
    metrics=_METRICS,
    repeats=1,
    prepare=_prepare,
    measure=_measure,
    figures=share_figures.against_epsilon_delta,
    checks=share_checks.AGAINST_EPSILON_DELTA,
)

RELEASE_SPAN = Study(
    name="release-span",
    question="Is a longer log worth more, and should a user then be allowed to add more?",
    paper="the share of distinct queries hardly depends on the length of the log; the d where impressions peak grows "
    "with it; at d = 20 a month releases 24 times the queries of a day",
    mechanism="click-graph",
    axes=(
        Axis("analysis", ("tight",), _ANALYSIS.help),
        *_FIXED,
        Axis("days", (1, 2, 4, 7, 14, 30, 90, 365), "the log's first days"),
        _D,
    ),
    metrics=_METRICS,
    repeats=1,
    prepare=_prepare,
    measure=_measure,
    figures=share_figures.against_span,
    checks=share_checks.AGAINST_SPAN,
    within=_within,
)
