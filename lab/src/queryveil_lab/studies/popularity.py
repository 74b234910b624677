"""Popularity over time: does a series of releases still show which queries become more popular?

The log is cut into periods of equal length, and each period is published by itself. A user may be in all of them, so
the privacy loss is split: each period has an equal part of epsilon and delta, and the whole series has all of it.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from queryveil import CannotBeMet, ClickGraph, Graph, SearchLog, publish, query_popularity, trending_queries
from queryveil.extension import item_kinds
from queryveil.measure.comparison import spearman_correlation
from queryveil.measure.graph import occurrence_counts
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import exact_release
from queryveil_lab.studies.declaration import (
    MEASURED,
    Axis,
    Cell,
    Check,
    Findings,
    Given,
    Metric,
    Row,
    Study,
    too_small,
)
from queryveil_lab.studies.drawing import MEANS, Curves
from queryveil_lab.studies.expectations import expected
from queryveil_lab.studies.grid import row

FOLLOWED, CORRELATION, FOUND = "followed", "trend-correlation", "rising-found"
_TOP = 10
_LEAST = 20
"""With fewer queries in every period nothing is measured about trends."""


@dataclasses.dataclass(frozen=True, eq=False)
class Periods:
    """The parts of a log, each with what it really holds."""

    log: SearchLog
    start: dt.datetime
    length: dt.timedelta
    memory: dict[int, tuple[list[SearchLog], dict[str, Graph]]] = dataclasses.field(default_factory=dict)

    def parts(self, number: int) -> tuple[list[SearchLog], dict[str, Graph]]:
        if number not in self.memory:
            cuts = [self.start + self.length * at / number for at in range(number + 1)]
            logs = [self._between(cuts[at], cuts[at + 1]) for at in range(number)]
            graphs = {_period_name(at): _true_graph(part) for at, part in enumerate(logs)}
            self.memory[number] = (logs, graphs)
        return self.memory[number]

    def _between(self, first: dt.datetime, end: dt.datetime) -> SearchLog:
        log = self.log
        inside = [one.filter((one["time"] >= first) & (one["time"] < end)) for one in (log.table, log.source)]
        return dataclasses.replace(log, normal=inside[0], source=inside[1])


def _period_name(number: int) -> str:
    """Names sort as the periods follow."""
    return f"{number:03d}"


def _true_graph(log: SearchLog) -> Graph:
    return Graph(queries=log.engine.arrow(occurrence_counts(log, item_kinds.kind("queries"))))


def _prepare_periods(given: Given) -> Periods:
    log = exact_release.only_events(given.the_log)
    first, last = exact_release.span_of(log)
    if first == last:
        raise CannotBeMet("the log has one moment only", "use a log of several days")
    return Periods(log, first, last - first + dt.timedelta(seconds=1))


def _measure_cell(periods: Periods, given: Given, cell: Cell) -> Iterator[Row]:
    number = cell["periods"]
    logs, graphs = periods.parts(number)
    truth = _share_changes(query_popularity(graphs))
    method = ClickGraph(epsilon=cell["epsilon"] / number, delta=cell["delta"] / number, max_queries=cell["d"])
    for run in range(given.repeats):
        tables = [publish(one, method, allow_empty=True, i_understand=True).tables["queries"] for one in logs]
        shares = query_popularity({_period_name(at): Graph(queries=table) for at, table in enumerate(tables)})
        for metric, value in _compare_changes(truth, _share_changes(shares)).items():
            yield {**row(metric, value), "how": MEASURED, "repeat": run}


def _share_changes(shares: pa.Table) -> dict[str, float]:
    """By how much the share of each query changed that every period has; the largest rise first."""
    if shares.num_rows == 0 or len(shares["period"].unique()) < 2:
        return {}
    found = trending_queries(shares, shares.num_rows)
    return dict(zip(found["query"].to_pylist(), found["change"].to_pylist(), strict=True))


def _compare_changes(truth: dict[str, float], released: dict[str, float]) -> dict[str, float]:
    both = [query for query in released if query in truth]
    found: dict[str, float] = {FOLLOWED: len(released)}
    if len(both) < _LEAST:
        return found
    correlation = spearman_correlation([truth[query] for query in both], [released[query] for query in both])
    if correlation is not None:
        found[CORRELATION] = correlation
    # Among the same queries: what is not published cannot be told to rise.
    theirs = set(both[:_TOP])
    ours = sorted(both, key=lambda query: (-truth[query], query))[:_TOP]
    found[FOUND] = sum(query in theirs for query in ours) / _TOP
    return found


def _check_trends(found: Findings) -> Iterator[Check]:
    for setting in found.settings("periods", "epsilon"):
        own = found.where(**setting)
        name = f"releases of {setting['periods']} periods show what rises (epsilon {setting['epsilon']:.3g})"
        numbers = own.where(metric=FOLLOWED)
        trend = own.where(metric=CORRELATION)
        if not len(trend) or numbers.value < _LEAST:
            told = f"{numbers.value:.0f} queries are published in every period"
            yield too_small(name, told)
            continue
        yield Check(
            name,
            trend.value > 0.5,
            f"rank correlation of changes {trend.value:.2f}, over {numbers.value:.0f} queries",
        )


def _summary_text(found: Findings) -> str:
    trend = found.where(metric=CORRELATION)
    if not len(trend):
        return "Too few queries are published in every period to tell what rises"
    values = [
        float(np.mean([one["value"] for one in trend.where(periods=n)])) for n in trend.values("periods")
    ]
    return f"Changes of popularity are released with a rank correlation of {min(values):.2f} to {max(values):.2f}"


def _followed_text(found: Findings) -> str:
    own = found.where(metric=FOLLOWED)
    largest = max(own.values("epsilon"))
    told = [f"{own.where(periods=n, epsilon=largest).value:,.0f} through {n}" for n in own.values("periods")]
    return f"Queries that can be followed at epsilon {largest:g}: {', '.join(told)} periods"


POPULARITY = Study(
    name="popularity",
    question="Do releases of periods show which queries become more popular?",
    paper="search logs are used to estimate query popularity over time (section 1); no experiment",
    mechanism="click-graph",
    axes=(
        Axis("periods", (2, 4), "parts of equal length that the log is cut into"),
        Axis(
            "epsilon", (1.0, 2.0, 4.0, 8.0), "privacy loss of the whole series; each period has an equal part"
        ),
        Axis("delta", (1e-5,), "probability that the loss is exceeded, of the whole series"),
        Axis("d", (5,), "queries that one user may add to each period"),
    ),
    metrics=(
        Metric(FOLLOWED, "queries", "queries that are published in every period"),
        Metric(CORRELATION, "-1 to 1", "rank correlation of their changes of share, released beside true"),
        Metric(FOUND, "share", f"of the {_TOP} of them that rise most, the share among the released {_TOP}"),
    ),
    repeats=3,
    prepare=_prepare_periods,
    measure=_measure_cell,
    figures=(
        Curves(
            name="correlation",
            title=_summary_text,
            under="from the first period to the last, queries published in every period; d = {d}; " + MEANS,
            metric=CORRELATION,
            x=Scale("epsilon", "epsilon (privacy loss of the whole series)", log=True),
            y=Scale("value", "rank correlation of changes"),
            by="periods",
            shown={"periods": "{} periods"},
            by_title="the log in",
            intervals=True,
            least=1,
        ),
        Curves(
            name="followed",
            title=_followed_text,
            under="published in every period; d = {d}; " + MEANS,
            metric=FOLLOWED,
            x=Scale("epsilon", "epsilon (privacy loss of the whole series)", log=True),
            y=Scale("value", "queries published in every period"),
            by="periods",
            shown={"periods": "{} periods"},
            by_title="the log in",
            intervals=True,
        ),
    ),
    checks=expected(_check_trends),
)
