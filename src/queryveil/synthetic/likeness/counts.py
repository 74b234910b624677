"""The shape of published counts: how fast they fall with the rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from queryveil.errors import CannotBeMet
from queryveil.release.publish import Release

Floats = NDArray[np.float64]

LEAST: Final = 20
"""Queries that a shape can be read off."""
_HEADS: Final = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 80.0)
_USED: Final = 0.6
"""Share of the ranks that is looked at: which queries pass a threshold last is decided by noise."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Counts in proportion to (rank + head) to the power of -zipf."""

    zipf: float
    head: float
    ranks: int
    """Ranks that it was fitted on."""

    def as_dict(self) -> dict[str, float]:
        return {"zipf": self.zipf, "head": self.head, "ranks": self.ranks}


def curve_of(counts: Floats, *, ranks: int | None = None) -> Curve:
    """The line that fits the logarithms best, every doubling of the rank counting alike."""
    counts = np.sort(counts[counts > 0])[::-1]
    ranks = min(ranks or int(_USED * len(counts)), len(counts))
    height, rank = np.log(counts[:ranks]), np.arange(1, ranks + 1)
    weight = np.sqrt(1 / rank)
    tried = []
    for head in _HEADS:
        (slope, _), missed, *_ = np.polyfit(np.log(rank + head), height, 1, w=weight, full=True)
        tried.append((float(missed[0]) if len(missed) else 0.0, -float(slope), head))
    _, zipf, head = min(tried)
    return Curve(zipf=zipf, head=head, ranks=ranks)


def released_counts(release: Release) -> Floats:
    """The counts of the release's queries, noise included."""
    for table in release.tables.values():
        counts_queries = {"query", "count"} <= set(table.column_names)
        if counts_queries and not {"url", "next_query"} & set(table.column_names):
            counts: Any = table["count"].to_numpy()
            if int((counts > 0).sum()) < LEAST:
                break
            return np.asarray(counts, dtype=np.float64)
    raise CannotBeMet(
        f"the release does not count {LEAST} queries or more, so there is no shape to follow",
        "use a release of whole queries, such as those of steered or click-graph",
    )
