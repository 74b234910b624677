"""How much of the log's queries a release holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from queryveil.measure.measure import HIGHER, Measure, Original, Released, Stated


@dataclass(frozen=True, kw_only=True)
class ReleasedShare(Measure):
    """released-share: percent of impressions, and of distinct queries, that are released.

    Impressions are the published counts, noise included, over the queries of the whole log before any bound: query
    events, or pairs of user and query if the release counts users. Of a method that may publish texts that nobody
    typed, only what stands in the log counts.
    """

    name: ClassVar[str] = "released-share"
    help: ClassVar[str] = "how much of the log's queries is released"
    unit: ClassVar[str] = "percent"
    direction: ClassVar[str] = HIGHER
    parts: ClassVar[dict[str, Stated]] = {
        "impressions": Stated(
            "percent", HIGHER, "published counts of queries over all query events of the log"
        ),
        "distinct": Stated("percent", HIGHER, "published queries over all different queries of the log"),
    }
    table: ClassVar[str | None] = "queries"

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        queries = release.histogram("queries")
        if not release.verbatim:
            queries = queries.kept(queries.found_in(original.histogram("queries", release.unit)))
        distinct, impressions = original.totals("queries", release.unit)
        return {
            f"{self}/impressions": 100 * int(queries.counts.sum()) / impressions if impressions else None,
            f"{self}/distinct": 100 * len(queries) / distinct if distinct else None,
        }
