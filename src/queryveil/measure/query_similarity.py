"""Similar queries: those whose clicks go to the same urls.

Two queries are as similar as the cosine between their clicks per url: 1 if their clicks are spread alike, 0
without a common url. Multiplying all clicks of a query changes nothing, so frequent and rare queries compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import UsageError
from queryveil.measure.comparison import LIST_PARTS, list_agreement
from queryveil.measure.graph import Graph
from queryveil.measure.measure import HIGHER, Measure, Original, Released, Stated
from queryveil.reading.text import normalise

if TYPE_CHECKING:
    import scipy.sparse as sp

_BLOCK = 256
"""Queries compared with all others at a time, which bounds memory."""
_COMPARED = 5_000
"""A measure looks at so many of the release's queries, those with the most clicks."""


def similar_queries(graph: Graph, query: str, n: int = 10, *, min_clicks: int = 1) -> pa.Table:
    """The n queries most similar to `query` by shared urls: query, similarity; ties by query."""
    if n < 1 or min_clicks < 1:
        raise UsageError("'n' and 'min_clicks' must be whole numbers of at least 1", "choose other ones")
    space = Clicks.from_table(graph.positive_counts("clicks", min_clicks))
    place = pc.index(space.queries, normalise(query)).as_py()
    found = next(space.most_similar(np.array([place]), n)) if place >= 0 else []
    return pa.table(
        {
            "query": pa.array([space.queries[at].as_py() for at, _ in found], pa.string()),
            "similarity": pa.array([cosine for _, cosine in found], pa.float64()),
        }
    )


@dataclass(frozen=True, eq=False)
class Clicks:
    """Clicks per query, each query's a vector of length 1. Queries are in the order of their texts."""

    queries: pa.StringArray
    vectors: sp.csr_array

    @classmethod
    def from_table(cls, clicks: pa.Table) -> Clicks:
        import scipy.sparse as sp

        # The table is in order of query, so its dictionary is too: places order like texts.
        queries, urls = (clicks[name].combine_chunks().dictionary_encode() for name in ("query", "url"))
        rows = queries.indices.to_numpy(zero_copy_only=False)
        counts = clicks["count"].to_numpy().astype(np.float64)
        length = np.sqrt(np.bincount(rows, counts**2, minlength=len(queries.dictionary)))
        shape = (len(queries.dictionary), len(urls.dictionary))
        place = (rows, urls.indices.to_numpy(zero_copy_only=False))
        return cls(queries.dictionary, sp.csr_array((counts / length[rows], place), shape=shape))

    def most_similar(self, places: np.ndarray, n: int) -> Iterator[list[tuple[int, float]]]:
        """For each of these queries, the places of the most similar others with their cosines."""
        across = self.vectors.T.tocsr()
        for start in range(0, len(places), _BLOCK):
            block = places[start : start + _BLOCK]
            cosines = (self.vectors[block] @ across).tocsr()
            for row, own in enumerate(block):
                inside = slice(cosines.indptr[row], cosines.indptr[row + 1])
                yield _top_neighbors(cosines.indices[inside], cosines.data[inside], int(own), n)


def _top_neighbors(places: np.ndarray, cosines: np.ndarray, own: int, n: int) -> list[tuple[int, float]]:
    # Rounded, so that queries with the same clicks tie whatever the order of summation was.
    cosines = np.round(np.minimum(cosines, 1.0), 12)
    others = places != own
    places, cosines = places[others], cosines[others]
    if len(places) > n:
        # Ties at the cut must all stay until they are ordered.
        worst = np.partition(cosines, len(cosines) - n)[len(cosines) - n]
        places, cosines = places[cosines >= worst], cosines[cosines >= worst]
    order = np.lexsort((places, -cosines))[:n]
    return [(int(places[at]), float(cosines[at])) for at in order]


@dataclass(frozen=True, kw_only=True)
class SimilarQueries(Measure):
    """similar-queries@n: the n most similar queries by the release, looked up among those by the original."""

    name: ClassVar[str] = "similar-queries"
    help: ClassVar[str] = (
        "share of a query's n most similar queries in the release that are also most similar in the log"
    )
    unit: ClassVar[str] = "share"
    direction: ClassVar[str] = HIGHER
    parts: ClassVar[dict[str, Stated]] = LIST_PARTS
    defaults: ClassVar[tuple[float, ...]] = (10,)
    table: ClassVar[str | None] = "clicks"

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        ours = original.graph("clicks").positive_counts("clicks")
        theirs = release.graph.positive_counts("clicks")
        published = (
            release.graph.queries if release.graph.queries is not None else release.graph.table("clicks")
        )
        asked = _most_clicked(theirs)
        inside = ours.filter(pc.is_in(ours["query"], published["query"]))
        by_release = _similar_lists(theirs, asked, self.list_length)
        by_log, among = (
            _similar_lists(ours, asked, self.list_length),
            _similar_lists(inside, asked, self.list_length),
        )
        return list_agreement(str(self), by_release, by_log, among)


def _most_clicked(clicks: pa.Table) -> pa.Array:
    """The queries to look at."""
    per_query = clicks.group_by("query").aggregate([("count", "sum")])
    ordered = per_query.sort_by([("count_sum", "descending"), ("query", "ascending")])
    return ordered["query"].combine_chunks()[:_COMPARED]


def _similar_lists(clicks: pa.Table, asked: pa.Array, n: int) -> dict[str, list[str]]:
    """For each query that is asked and known, its most similar ones."""
    space = Clicks.from_table(clicks)
    places = pc.index_in(asked, space.queries)
    known = places.drop_null().to_numpy()
    names = asked.filter(places.is_valid()).to_pylist()
    texts = space.queries.to_pylist()
    return {
        name: [texts[at] for at, _ in found]
        for name, found in zip(names, space.most_similar(known, n), strict=True)
    }
