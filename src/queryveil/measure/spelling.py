"""Spelling correction: what people type when few results of a query please them and they try another spelling.

A query is corrected to another one if few of its searches led to a click, many were followed by the other query, the
other one is clicked more often, and the two differ by a few letters (Korolova et al. 2009 name click-through and
reformulation; the letters keep related subjects apart).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from queryveil.errors import UsageError, argument
from queryveil.measure.graph import Graph
from queryveil.measure.measure import HIGHER, NEITHER, Measure, Original, Released, Stated

TABLES = ("queries", "clicks", "reformulations")
_SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("correction", pa.string()),
        ("share", pa.float64()),
        ("click_through", pa.float64()),
    ]
)


def spelling_corrections(
    graph: Graph,
    *,
    max_edits: int = 2,
    max_click_through: float = 0.3,
    min_reformulated: float = 0.1,
    min_count: int = 5,
) -> pa.Table:
    """Queries that look misspelled: query, correction, share of its searches so followed, click_through; by query.

    An edit is a letter more, less, another one, or two that change places. Queries made less than `min_count` times
    are left out.
    """
    if max_edits < 1 or min_count < 1:
        raise UsageError(
            "'max_edits' and 'min_count' must be whole numbers of at least 1", "choose other ones"
        )
    if not (0 <= max_click_through <= 1 and 0 < min_reformulated <= 1):
        raise UsageError(
            "'max_click_through' and 'min_reformulated' are shares, from 0 to 1", "choose other ones"
        )
    searches = _counts_by_query(graph.positive_counts("queries", min_count), "count")
    clicks = graph.positive_counts("clicks").group_by("query").aggregate([("count", "sum")])
    through = {
        query: min(1.0, clicked / searches[query])
        for query, clicked in _counts_by_query(clicks, "count_sum").items()
        if query in searches
    }
    best: dict[str, tuple[str, float, float]] = {}
    pairs = graph.positive_counts("reformulations")
    columns = (pairs[name].to_pylist() for name in ("query", "next_query", "count"))
    for query, following, times in zip(*columns, strict=True):
        if query in best or query not in searches or following not in searches:
            continue  # the table has the most frequent next query first
        share, clicked = min(1.0, times / searches[query]), through.get(query, 0.0)
        if (
            share >= min_reformulated
            and clicked <= max_click_through
            and clicked < through.get(following, 0.0)
            and edit_distance(query, following, max_edits) <= max_edits
        ):
            best[query] = (following, share, clicked)
    rows = [(query, *best[query]) for query in sorted(best, key=str.encode)]
    parts = zip(*rows, strict=True) if rows else [()] * len(_SCHEMA)
    return pa.table(
        [pa.array(part, one.type) for part, one in zip(parts, _SCHEMA, strict=True)], schema=_SCHEMA
    )


def _counts_by_query(table: pa.Table, column: str) -> dict[str, int]:
    return dict(zip(table["query"].to_pylist(), table[column].to_pylist(), strict=True))


def edit_distance(one: str, other: str, most: int) -> int:
    """Letters to add, drop, change or swap with their neighbour; more than `most` are not counted further.

    >>> edits("recieve", "receive", 2)
    1
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        earlier, before, row = before, row, [at, *[0] * len(other)]
        for place, theirs in enumerate(other, 1):
            row[place] = min(before[place] + 1, row[place - 1] + 1, before[place - 1] + (letter != theirs))
            if at > 1 and place > 1 and letter == other[place - 2] and one[at - 2] == theirs:
                row[place] = min(row[place], earlier[place - 2] + 1)
        if min(row) > most:
            return most + 1
    return row[-1]


@dataclass(frozen=True, kw_only=True)
class SpellingCorrection(Measure):
    """spelling-correction: the corrections by the release, looked up among those by the original."""

    name: ClassVar[str] = "spelling-correction"
    help: ClassVar[str] = "share of the spelling corrections from the release that the log gives too"
    unit: ClassVar[str] = "share"
    direction: ClassVar[str] = HIGHER
    parts: ClassVar[dict[str, Stated]] = {
        "answered": Stated("share", HIGHER, "share of the log's corrections that the release gives too"),
        "original": Stated("queries", NEITHER, "queries that the log corrects"),
        "released": Stated("queries", NEITHER, "queries that the release corrects"),
    }
    table: ClassVar[str | None] = "reformulations"

    def missing_table(self, release: Released) -> str | None:
        return next((name for name in TABLES if not release.has(name)), None)

    def unmet_requirement(self, original: Original, release: Released) -> tuple[str, str] | None:
        if "url" not in original.log.columns:
            return "the log has no 'url' column", f"name it with {argument('columns', {'url': '...'})}"
        return super().unmet_requirement(original, release)

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        ours = original.compute_once("corrections", lambda: correction_map(original.graph(*TABLES)))
        theirs = correction_map(release.graph)
        right = sum(ours.get(query) == correction for query, correction in theirs.items())
        return {
            str(self): right / len(theirs) if theirs else None,
            f"{self}/answered": right / len(ours) if ours else None,
            f"{self}/original": len(ours),
            f"{self}/released": len(theirs),
        }


def correction_map(graph: Graph) -> dict[str, str]:
    """Query -> correction."""
    found = spelling_corrections(graph)
    return dict(zip(found["query"].to_pylist(), found["correction"].to_pylist(), strict=True))
