"""How much of the log's queries a release holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from queryveil.measure.measure import HIGHER, Measure, Original, Released, Stated
from queryveil.privacy.declarations import OCCURRENCES


@dataclass(frozen=True, kw_only=True)
class ReleasedShare(Measure):
    """released-share: percent of the log's query events, and of its distinct queries, that are published.

    Both figures use only the log's own counts, so releases of different methods compare: a query event is released
    if its query is published, whatever count stands beside it. Published queries that are not in the log do not
    count.
    """

    name: ClassVar[str] = "released-share"
    help: ClassVar[str] = "how much of the log's queries is released"
    unit: ClassVar[str] = "percent"
    direction: ClassVar[str] = HIGHER
    parts: ClassVar[dict[str, Stated]] = {
        "impressions": Stated("percent", HIGHER, "query events of the log whose query is published"),
        "distinct": Stated("percent", HIGHER, "different queries of the log that are published"),
    }
    table: ClassVar[str | None] = "queries"

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        queries, events = original.totals("queries", OCCURRENCES)
        shared, covered = original.shared_totals("queries", OCCURRENCES, release.items("queries"))
        return {
            f"{self}/impressions": 100 * covered / events if events else None,
            f"{self}/distinct": 100 * shared / queries if queries else None,
        }
