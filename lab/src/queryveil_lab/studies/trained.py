"""What a log is good for as training data: learn from one log, test on another one of other people.

Three uses: suggest what is searched next, keep results of frequent queries in a cache, order results by clicks. What is
learnt is a click graph, so that a log, a release and a synthetic log can each be the teacher.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from queryveil import Graph, UsageError


def suggestion_hits(learnt: Graph, test: Graph, n: int = 5) -> float | None:
    """Share of the test log's query pairs whose next query is among the n most frequent next ones that were learnt."""
    return _hit_share(learnt.positive_counts("reformulations"), test.table("reformulations"), "next_query", n)


def cache_hits(learnt: Graph, test: Graph, n: int = 1_000) -> float | None:
    """Share of the test log's queries that are among the n most frequent ones that were learnt."""
    _check_whole("n", n)
    kept = learnt.positive_counts("queries")["query"].slice(0, n)
    asked = test.table("queries")
    found = asked.filter(pc.is_in(asked["query"], kept))
    return _ratio_or_none(_total_count(found), _total_count(asked))


def click_rank(learnt: Graph, test: Graph) -> float | None:
    """Mean over the test log's clicks of one over the url's rank, if a query's urls are ordered by learnt clicks.

    What was not learnt for its query has no rank, and counts as 0.
    """
    ranks = {
        (query, url): place for query, url, place in _ranked_items(learnt.positive_counts("clicks"), "url")
    }
    total = reciprocal = 0.0
    clicks = test.table("clicks")
    for query, url, times in zip(
        *(clicks[name].to_pylist() for name in ("query", "url", "count")), strict=True
    ):
        total += times
        place = ranks.get((query, url))
        reciprocal += times / place if place else 0.0
    return reciprocal / total if total else None


def _hit_share(learnt: pa.Table, test: pa.Table, column: str, n: int) -> float | None:
    _check_whole("n", n)
    listed = {(query, item) for query, item, place in _ranked_items(learnt, column) if place <= n}
    total = right = 0
    for query, item, times in zip(
        *(test[name].to_pylist() for name in ("query", column, "count")), strict=True
    ):
        total += times
        right += times if (query, item) in listed else 0
    return _ratio_or_none(right, total)


def _ranked_items(table: pa.Table, column: str) -> Iterator[tuple[str, str, int]]:
    """Query, item, and its place among the query's; the table has them in order."""
    last, place = None, 0
    for query, item in zip(table["query"].to_pylist(), table[column].to_pylist(), strict=True):
        place = place + 1 if query == last else 1
        last = query
        yield query, item, place


def _total_count(table: pa.Table) -> int:
    return int(pc.sum(table["count"]).as_py() or 0)


def _ratio_or_none(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _check_whole(name: str, value: int) -> None:
    if value < 1:
        raise UsageError(f"'{name}' must be a whole number of at least 1", f"choose another {name}")
