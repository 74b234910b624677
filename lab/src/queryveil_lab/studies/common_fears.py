"""What people fear most, or what else a pattern asks for, in the log and in its release: Korolova et al., table 4."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from queryveil import CannotBeMet, Graph, rank_pattern
from queryveil.extension import Original, Released, argument
from queryveil_lab.studies import exact_release, grid
from queryveil_lab.studies.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, too_small
from queryveil_lab.studies.drawing import Ranks
from queryveil_lab.studies.expectations import expected
from queryveil_lab.studies.grid import Grid, row
from queryveil_lab.studies.released_share import ANALYSIS, CLICK_GRAPH, FIXED, D, ln

ORIGINAL, RELEASED = "original", "released"
RANK, COUNT = "rank", "count"
_LEAST_COMMON = 7 / 9
"""The share of released matches that are among the original's, over all releases: the paper had nine of nine."""


def _read_events(given: Given) -> Original:
    return Original(exact_release.only_events(given.the_log))


def _in_log(original: Original, cell: Cell) -> Iterator[Row]:
    found = list(_rank_queries(original.graph("queries"), cell, ORIGINAL))
    if not found:
        raise CannotBeMet(
            "no query of the log fits the pattern",
            f"choose one with {argument('vary', {'pattern': ['how to *']})}",
        )
    yield from found


def _in_release(_: Original, side: Released, cell: Cell, __: int) -> Iterator[Row]:
    return _rank_queries(Graph(queries=side.release.tables["queries"]), cell, RELEASED)


def _rank_queries(graph: Graph, cell: Cell, how: str) -> Iterator[Row]:
    for place, one in enumerate(rank_pattern(graph, cell["pattern"], cell["most"]).to_pylist(), 1):
        yield row(RANK, place, how=how, match=one["match"])
        yield row(COUNT, one["count"], how=how, match=one["match"])


def _ranks(found: Findings, how: str, repeat: int | None) -> dict[str, float]:
    return {one["match"]: one["value"] for one in found.where(metric=RANK, how=how, repeat=repeat)}


def _check_kept(found: Findings) -> Iterator[Check]:
    for pattern in found.values("pattern"):
        chosen = found.where(pattern=pattern)
        ours = _ranks(chosen, ORIGINAL, None)
        shares, numbers, orders = [], [], []
        for repeat in sorted({one["repeat"] for one in chosen if one["repeat"] is not None}):
            theirs = _ranks(chosen, RELEASED, repeat)
            both = [match for match in ours if match in theirs]
            if theirs:
                numbers.append(len(theirs))
                shares.append(len(both) / len(theirs))
                orders += _in_order([theirs[match] for match in both])
        name = f"what a release shows of '{pattern}' is what is most common in the log"
        if not numbers:
            told = f"no release holds any of the {len(ours)} most common"
            yield too_small(name, told)
        else:
            common = float(np.average(shares, weights=numbers))
            yield Check(
                name,
                common >= _LEAST_COMMON,
                f"{np.mean(numbers):.1f} matches in a release, {100 * common:.0f} % among the log's {len(ours)} most "
                f"common ({100 * min(shares):.0f} % in the worst of {len(shares)} releases)",
            )
        name = f"the order of '{pattern}' is kept, more or less"
        if not orders:
            told = "no release has two matches to compare"
            yield too_small(name, told)
        else:
            kept = float(np.mean(orders))
            yield Check(name, kept > 0.5, f"{100 * kept:.0f} % of pairs are in the same order")


def _in_order(ranks: list[float]) -> list[float]:
    """The share of pairs that are in order; none where there is no pair to compare."""
    pairs = [(a, b) for at, a in enumerate(ranks) for b in ranks[at + 1 :]]
    return [sum(a < b for a, b in pairs) / len(pairs)] if pairs else []


def _one_release(found: Findings) -> Findings:
    return found.chosen(lambda one: not one["repeat"])


def _both_text(found: Findings) -> str:
    ours, theirs = _ranks(found, ORIGINAL, None), _ranks(found, RELEASED, 0)
    pattern = found.values("pattern")[0]
    return f"{len(ours.keys() & theirs.keys())} of the log's {len(ours)} most common '{pattern}' are released"


COMMON_FEARS = grid.study(
    Grid((CLICK_GRAPH,), (_in_release,), further=("most", "pattern"), ready=_read_events, of_log=_in_log),
    name="common-fears",
    question="Does a release still show what people search for most, such as what they fear?",
    paper="one year, d = 21: the nine most common fears are the same in the log and in its release, in nearly the same "
    "order",
    axes=(
        Axis("analysis", ("tight",), ANALYSIS.help),
        *FIXED,
        Axis("d", (21,), D.help),
        Axis("most", (9,), "length of the rankings"),
        Axis("pattern", ("fear of *",), "queries of this form are ranked by what stands at the *"),
    ),
    metrics=(
        Metric(RANK, "place", "place in the ranking"),
        Metric(COUNT, "query events", "true count in the log, noisy count in the release"),
    ),
    repeats=5,
    figures=(
        Ranks(
            name="ranking",
            title=_both_text,
            under="d = {d}, epsilon = {epsilon}, delta = {delta}",
            metric=RANK,
            among=_one_release,
            shown={"how": {ORIGINAL: "original log", RELEASED: "one release"}, "epsilon": ln},
            each="pattern",
            item="match",
            side="how",
            y_title="rank by count (1 = most frequent)",
        ),
    ),
    checks=expected(_check_kept),
    labels=("match",),
)
