"""How far a release's counts are from the log's once they are scaled up to the same total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from queryveil.measure.histograms import Histogram
from queryveil.measure.measure import LOWER, OfItems, Original, Released, Stated

_SCALED = ", released counts scaled to the log's total"


@dataclass(frozen=True)
class Differences:
    """Over the items of the original, after scaling the release's counts to the original's total."""

    mean: float
    """Mean absolute difference of counts."""
    rms: float
    """Root of the mean squared difference."""
    total_variation: float
    """The share of the original's counts that would have to be moved: from 0, the same, to 1, nothing in common."""


def count_differences(original: Histogram, released: Histogram) -> Differences | None:
    """Compare all counts; None if the original has none.

    Items that only the release has are part of its total and of nothing else. The total variation is the sum of what
    the original has more of: where both sides have one total this is half the sum of all differences, and for an
    empty release, which no factor can scale up, it is 1.
    """
    if not original.total:
        return None
    here = original.counts > 0
    scaled = original.counts_in(released) * (original.total / released.total if released.total else 0.0)
    difference = (original.counts - scaled)[here]
    return Differences(
        mean=float(np.abs(difference).mean()),
        rms=float(np.sqrt(np.square(difference).mean())),
        total_variation=min(1.0, float(np.maximum(difference, 0).sum()) / original.total),
    )


@dataclass(frozen=True, kw_only=True)
class CountDifference(OfItems):
    """count-difference: mean, root mean square and total variation between scaled counts and those of the log."""

    name: ClassVar[str] = "count-difference"
    help: ClassVar[str] = "how far the release's counts, scaled to the log's total, are from the log's"
    unit: ClassVar[str] = "counts"
    direction: ClassVar[str] = LOWER
    parts: ClassVar[dict[str, Stated]] = {
        "mean": Stated("counts", LOWER, f"mean absolute difference over the items of the log{_SCALED}"),
        "rms": Stated(
            "counts", LOWER, f"root of the mean squared difference over the items of the log{_SCALED}"
        ),
        "total-variation": Stated(
            "share", LOWER, f"share of the log's counts that would have to be moved{_SCALED}"
        ),
    }

    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        found = count_differences(original.histogram(kind, release.unit), release.histogram(kind))
        if found is None:
            return dict.fromkeys(self.parts)
        return {"mean": found.mean, "rms": found.rms, "total-variation": found.total_variation}

    def note(self, original: Original, release: Released) -> str:
        """Side by side, a difference in users is no better or worse than one in occurrences."""
        return f"this compares numbers of {release.unit} in the log and in '{release.name}'"
