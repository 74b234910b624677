"""What people fear most, or whatever stands in a pattern, in the log and in its release: the paper's table 4."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from queryveil.charts import figures
from queryveil.charts.figures import Words
from queryveil.count import item_kinds
from queryveil.errors import CannotBeMet
from queryveil.measure.graph import Graph, occurrence_counts
from queryveil.measure.pattern_ranking import rank_pattern
from queryveil.mechanisms.click_graph.click_graph import ClickGraph
from queryveil.study import exact_release
from queryveil.study.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, Study
from queryveil.study.expectations import expected
from queryveil.study.releases import releases

ORIGINAL, RELEASED = "original", "released"
RANK, COUNT = "rank", "count"
_LEAST_COMMON = 7 / 9
"""The share of released matches that are among the original's, over all releases: the paper had nine of nine."""


@dataclass(frozen=True)
class Prepared:
    given: Given
    original: Graph


def _prepare(given: Given) -> Prepared:
    log = exact_release.only_events(given.the_log)
    counted = log.engine.arrow(occurrence_counts(log, item_kinds.kind("queries")))
    return Prepared(Given(log, given.axes, given.repeats), Graph(queries=counted))


def _measure(prepared: Prepared, given: Given, cell: Cell) -> Iterator[Row]:
    yield from _ranking(prepared.original, cell, ORIGINAL, None)
    method = ClickGraph(
        epsilon=cell["epsilon"], delta=cell["delta"], max_queries=cell["d"], analysis=cell["analysis"]
    )
    for repeat, made in releases(prepared.given.the_log, method, given.repeats):
        yield from _ranking(Graph(queries=made.tables["queries"]), cell, RELEASED, repeat)


def _ranking(graph: Graph, cell: Cell, how: str, repeat: int | None) -> Iterator[Row]:
    found = rank_pattern(graph, cell["pattern"], cell["most"]).to_pylist()
    if not found and how == ORIGINAL:
        raise CannotBeMet("no query of the log fits the pattern", "choose one with --vary 'pattern=how to *'")
    for place, row in enumerate(found, 1):
        always = {"how": how, "repeat": repeat, "match": row["match"]}
        yield always | {"metric": RANK, "value": float(place)}
        yield always | {"metric": COUNT, "value": float(row["count"])}


def _ranks(found: Findings, how: str, repeat: int | None) -> dict[str, float]:
    return {row["match"]: row["value"] for row in found.where(metric=RANK, how=how, repeat=repeat)}


def _kept(found: Findings) -> Iterator[Check]:
    for pattern in found.values("pattern"):
        chosen = found.where(pattern=pattern)
        ours = _ranks(chosen, ORIGINAL, None)
        shares, numbers, orders = [], [], []
        for repeat in sorted({row["repeat"] for row in chosen if row["repeat"] is not None}):
            theirs = _ranks(chosen, RELEASED, repeat)
            both = [match for match in ours if match in theirs]
            if theirs:
                numbers.append(len(theirs))
                shares.append(len(both) / len(theirs))
                orders += _in_order([theirs[match] for match in both])
        common = float(np.average(shares, weights=numbers)) if numbers else 0.0
        yield Check(
            f"what is released of '{pattern}' is what is most common in the log",
            common >= _LEAST_COMMON,
            f"{np.mean(numbers):.1f} matches in a release, {100 * common:.0f} % of them among the log's "
            f"{len(ours)} most common ({100 * min(shares):.0f} % in the worst of {len(shares)} releases)"
            if numbers
            else "nothing is released",
        )
        yield Check(
            f"the order of '{pattern}' is kept, more or less",
            bool(orders) and float(np.mean(orders)) > 0.5,
            f"{100 * float(np.mean(orders)):.0f} % of pairs stand in the same order"
            if orders
            else "no release has two matches to compare",
        )


def _in_order(ranks: list[float]) -> list[float]:
    """The share of pairs that are in order; none where there is no pair to compare."""
    pairs = [(a, b) for at, a in enumerate(ranks) for b in ranks[at + 1 :]]
    return [sum(a < b for a, b in pairs) / len(pairs)] if pairs else []


def _figures(found: Findings) -> dict[str, Any]:
    made = {}
    for number, pattern in enumerate(found.values("pattern")):
        chosen = found.where(pattern=pattern)
        ours, theirs = _ranks(chosen, ORIGINAL, None), _ranks(chosen, RELEASED, 0)
        rows = [{"match": match, "source": "original log", "rank": rank} for match, rank in ours.items()]
        rows += [{"match": match, "source": "one release", "rank": rank} for match, rank in theirs.items()]
        both = len(ours.keys() & theirs.keys())
        one = chosen.rows[0]
        made["ranking" if number == 0 else f"ranking-{number + 1}"] = figures.ranks(
            rows,
            item="match",
            side="source",
            rank="rank",
            y_title="rank by count (1 = most frequent)",
            words=Words(
                f"{both} of the log's {len(ours)} most common '{pattern}' are released",
                f"d = {one['d']}, epsilon = {one['epsilon']:.3g}, delta = {one['delta']:g}",
            ),
        )
    return made


COMMON_FEARS = Study(
    name="common-fears",
    question="Does a release still show what people search for most: what they fear?",
    paper="the nine most common fears are the same in the log and in its release, in nearly the same order",
    mechanism="click-graph",
    axes=(
        Axis("analysis", ("tight",), "whose threshold"),
        Axis("epsilon", (math.log(10),), "privacy loss of the selection"),
        Axis("delta", (1e-5,), "probability that the loss is exceeded"),
        Axis("d", (5,), "queries that one user may add"),
        Axis("most", (9,), "length of the rankings"),
        Axis("pattern", ("fear of *",), "queries of this form are ranked by what stands at the *"),
    ),
    metrics=(
        Metric(RANK, "place", "place in the ranking"),
        Metric(COUNT, "query events", "true count in the log, noisy count in the release"),
    ),
    repeats=5,
    prepare=_prepare,
    measure=_measure,
    figures=_figures,
    checks=expected(_kept),
    labels=("match",),
)
