"""How many items have which count, on a logarithmic scale: whether a release keeps the shape of the curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from queryveil.errors import UsageError
from queryveil.measure.histograms import Histogram
from queryveil.measure.measure import NEITHER, OfItems, Original, Released, Stated

_BIN = "from-"


def count_distribution(histogram: Histogram, base: int = 10) -> dict[int, int]:
    """Items by the bin that their count is in: each bin begins at a power of the base and ends before the next.

    All bins up to that of the largest count are there, empty ones too. Counts below 1 are in none.
    """
    if base < 2:
        raise UsageError("parameter 'base' must be a whole number from 2", "choose another one")
    counts = histogram.counts[histogram.counts >= 1]
    if not len(counts):
        return {}
    edges = [1]
    while edges[-1] <= int(counts.max()):
        edges.append(edges[-1] * base)
    found, _ = np.histogram(counts, bins=edges)
    # numpy's last bin takes in its end, which no count reaches.
    return dict(zip(edges[:-1], found.tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class CountDistribution(OfItems):
    """count-distribution@b: how many items have a count from 1, from b, from b squared, ..., in log and release."""

    name: ClassVar[str] = "count-distribution"
    help: ClassVar[str] = "items with a count from /from-n to below n times b, in the log and in the release"
    unit: ClassVar[str] = "items"
    direction: ClassVar[str] = NEITHER
    parts: ClassVar[dict[str, Stated]] = {
        "original": Stated("items", NEITHER, "items of the log with a count in this range"),
        "released": Stated("items", NEITHER, "items of the release with a count in this range"),
    }
    defaults: ClassVar[tuple[float, ...]] = (10,)
    least: ClassVar[int] = 2
    topped: ClassVar[bool] = False

    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        ours = count_distribution(original.histogram(kind, release.unit), self.list_length)
        theirs = count_distribution(release.histogram(kind), self.list_length)
        found: dict[str, float | None] = {}
        for start in sorted(ours.keys() | theirs.keys()):
            found[f"{_BIN}{start}/original"] = ours.get(start, 0)
            found[f"{_BIN}{start}/released"] = theirs.get(start, 0)
        return found
