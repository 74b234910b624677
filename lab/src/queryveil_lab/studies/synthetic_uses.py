"""What a synthetic log is still good for: learn from it, and test on people who are not in it.

Users are split into two halves. One half is published as a click graph, and a synthetic log is drawn from that release.
Suggestions, a cache and an order of clicked urls are learnt from it, and tested on the other half. Two teachers stand
beside it: the raw half that was published, which is as good as it gets, and the release itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial

from queryveil import CannotBeMet, ClickGraph, Graph, SearchLog, publish, read, synthesize
from queryveil.files import workspace
from queryveil_lab.charts.figures import Scale
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
from queryveil_lab.studies.trained import cache_hits, click_rank, suggestion_hits

SUGGESTIONS, CACHE, RANKING = "suggestion-hits", "cache-hits", "click-rank"
USES = {SUGGESTIONS: "suggestions", CACHE: "caching", RANKING: "ranking of clicked urls"}
_AXES = {
    SUGGESTIONS: "next queries that were suggested (share)",
    CACHE: "queries found in the cache (share)",
    RANKING: "mean of 1/rank of clicked urls",
}
RAW, RELEASE, SYNTHETIC = "raw half", "release", "synthetic log"
TEACHERS = (RAW, RELEASE, SYNTHETIC)
PUBLISHED = "published-queries"
_LEAST = 20
"""With fewer published queries nothing is said of what was learnt."""
_LEAST_TAUGHT = 0.01
"""A release that is right less often than this teaches nothing that a log drawn from it could lose."""


@dataclasses.dataclass(frozen=True, eq=False)
class Halves:
    """One half of the users to learn from, and what the other half did."""

    taught: SearchLog
    raw: Graph
    test: Graph


def _split_halves(given: Given) -> Halves:
    log = given.the_log
    # Who is in which half depends on the name alone.
    first = log.engine.sha256(log.table["user"]).substr(0, 1).lower() < "8"
    halves = [dataclasses.replace(log, normal=log.table.filter(one), staged=None) for one in (first, ~first)]
    taught, test = (dataclasses.replace(one, source=one.table.drop("words")) for one in halves)
    if not taught.users or not test.users:
        raise CannotBeMet("the log has too few users for two halves", "use a larger log")
    return Halves(taught, Graph.of_log(taught), Graph.of_log(test))


def _click_graph(cell: Cell) -> ClickGraph:
    return ClickGraph(
        epsilon=cell["epsilon"], delta=cell["delta"], selection="steered", max_queries=cell["d"]
    )


def _measure_cell(halves: Halves, given: Given, cell: Cell) -> Iterator[Row]:
    yield from _trained_rows(halves.raw, halves.test, cell, RAW, None)
    for run in range(given.repeats):
        release = publish(halves.taught, _click_graph(cell), allow_empty=True, i_understand=True)
        yield {
            **row(PUBLISHED, release.tables["queries"].num_rows),
            "how": MEASURED,
            "repeat": run,
            "teacher": RELEASE,
        }
        yield from _trained_rows(Graph.of_release(release), halves.test, cell, RELEASE, run)
        if release.tables["queries"].num_rows == 0:
            continue
        with workspace.temporary_folder() as folder:
            made = synthesize(release, folder / "synthetic.parquet", seed=run)
            synthetic = read(made.path)
            yield from _trained_rows(Graph.of_log(synthetic), halves.test, cell, SYNTHETIC, run)


def _trained_rows(graph: Graph, test: Graph, cell: Cell, teacher: str, run: int | None) -> Iterator[Row]:
    found = {
        SUGGESTIONS: suggestion_hits(graph, test, cell["suggested"]),
        CACHE: cache_hits(graph, test, cell["cached"]),
        RANKING: click_rank(graph, test),
    }
    for metric, value in found.items():
        if value is not None:
            yield {**row(metric, value), "how": MEASURED, "repeat": run, "teacher": teacher}


def _nearly_the_release(found: Findings) -> Iterator[Check]:
    """Drawing a log loses little of what its release knows; what is lost, the release has lost before."""
    few = found.where(metric=PUBLISHED)
    number = few.value if len(few) else 0.0
    for metric, use in USES.items():
        own = found.where(metric=metric)
        of = {teacher: own.where(teacher=teacher) for teacher in TEACHERS}
        name = f"{use}: a synthetic log teaches nearly what its release does"
        if number < _LEAST or not len(of[SYNTHETIC]):
            told = f"{number:.0f} queries are published"
            yield too_small(name, told)
            continue
        value = {teacher: one.value for teacher, one in of.items()}
        told = ", ".join(f"{value[teacher]:.3f} from the {teacher}" for teacher in TEACHERS)
        if value[RELEASE] < _LEAST_TAUGHT:
            yield too_small(name, told)
        else:
            yield Check(name, value[SYNTHETIC] >= 0.8 * value[RELEASE], told)
        yield Check(
            f"{use}: nothing beats the raw half",
            value[RAW] >= max(value[RELEASE], value[SYNTHETIC]),
            f"the synthetic log has {100 * value[SYNTHETIC] / max(value[RAW], 1e-12):.0f} % of it",
        )


def _as_good(metric: str, found: Findings) -> str:
    largest = max(found.values("epsilon"))
    own = found.where(metric=metric, epsilon=largest)
    raw, made = (own.where(teacher=one) for one in (RAW, SYNTHETIC))
    if not len(raw) or not len(made):
        return f"{USES[metric].capitalize()}: too little is published to learn from"
    share = 100 * made.value / max(raw.value, 1e-12)
    said = f"at epsilon {largest:g} a synthetic log teaches {share:.0f} % of what the raw half does"
    return f"{USES[metric].capitalize()}: {said}"


SYNTHETIC_USES = Study(
    name="synthetic-uses",
    question="What can be learnt from a synthetic log, if it is tested on real people?",
    paper="a synthetic log could be drawn from a released click graph; whether it would be useful is left open",
    mechanism="click-graph",
    axes=(
        Axis("epsilon", (1.0, 2.0, 4.0, 8.0), "privacy loss of the whole release"),
        Axis("delta", (1e-5,), "probability that the loss is exceeded"),
        Axis("d", (100,), "queries that one user may add"),
        Axis("suggested", (5,), "suggestions for a query"),
        Axis("cached", (1_000,), "queries that the cache holds"),
    ),
    metrics=(
        Metric(SUGGESTIONS, "share", "share of next queries that are among the suggestions"),
        Metric(CACHE, "share", "share of queries whose results are in the cache"),
        Metric(RANKING, "share", "mean of one over the rank of a clicked url, 0 if it was not learnt"),
        Metric(PUBLISHED, "queries", "queries in the release"),
    ),
    repeats=3,
    prepare=_split_halves,
    measure=_measure_cell,
    figures=tuple(
        Curves(
            name=metric,
            title=partial(_as_good, metric),
            under=f"{use}; steered click graph of one half of the users, tested on the other; {MEANS}",
            metric=metric,
            x=Scale("epsilon", "epsilon (privacy loss of the release)", log=True),
            y=Scale("value", _AXES[metric]),
            by="teacher",
            by_title="learnt from",
            intervals=True,
        )
        for metric, use in USES.items()
    ),
    checks=expected(_nearly_the_release),
    needs=("time", "url"),
    labels=("teacher",),
)
