"""Suggestions: what people asked next, by the reformulations of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import UsageError
from queryveil.measure.comparison import LIST_PARTS, list_agreement
from queryveil.measure.graph import Graph
from queryveil.measure.measure import HIGHER, Measure, Original, Released, Stated
from queryveil.reading.text import normalise


def suggest_queries(graph: Graph, query: str, n: int = 10) -> pa.Table:
    """What most often followed `query`: suggestion, count, share of all that followed; frequent first."""
    if n < 1:
        raise UsageError("'n' must be a whole number of at least 1", "choose another n")
    table = graph.positive_counts("reformulations")
    next_ones = table.filter(pc.equal(table["query"], normalise(query)))
    total = pc.sum(next_ones["count"]).as_py() or 1
    best = next_ones.slice(0, n)
    return pa.table(
        {
            "suggestion": best["next_query"],
            "count": best["count"],
            "share": pc.divide(pc.cast(best["count"], pa.float64()), float(total)),
        }
    )


@dataclass(frozen=True, kw_only=True)
class Suggestions(Measure):
    """suggestions@n: the n most frequent next queries by the release, looked up among those of the original."""

    name: ClassVar[str] = "suggestions"
    help: ClassVar[str] = "share of a query's n suggestions from the release that the log gives too"
    unit: ClassVar[str] = "share"
    direction: ClassVar[str] = HIGHER
    parts: ClassVar[dict[str, Stated]] = LIST_PARTS
    defaults: ClassVar[tuple[float, ...]] = (10,)
    table: ClassVar[str | None] = "reformulations"

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        ours = original.graph("reformulations").positive_counts("reformulations")
        theirs = release.graph.positive_counts("reformulations")
        queries = release.graph.queries
        published = (
            queries["query"] if queries is not None else release.graph.table("reformulations")["query"]
        )
        ours = ours.filter(pc.is_in(ours["query"], published))
        inside = ours.filter(pc.is_in(ours["next_query"], published))
        by_release = _suggestion_lists(theirs, self.list_length)
        by_log, among = _suggestion_lists(ours, self.list_length), _suggestion_lists(inside, self.list_length)
        return list_agreement(str(self), by_release, by_log, among)


def _suggestion_lists(table: pa.Table, n: int) -> dict[str, list[str]]:
    """Per query its first n next ones; the table has them in order."""
    lists: dict[str, list[str]] = {}
    for query, following in zip(table["query"].to_pylist(), table["next_query"].to_pylist(), strict=True):
        listed = lists.setdefault(query, [])
        if len(listed) < n:
            listed.append(following)
    return lists
