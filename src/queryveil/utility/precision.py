"""How well a release keeps the relative frequencies of the most frequent items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from queryveil.utility.frame import LOWER, OfItems, Original, Released
from queryveil.utility.histograms import Histogram


def l1_distance(original: Histogram, released: Histogram, most: int) -> float | None:
    """Mean |p - q| over the original's most frequent items; p and q are shares of the two whole totals."""
    top = original.top(most)
    if not len(top) or not original.total:
        return None
    ours = top.counts / original.total
    theirs = top.counts_in(released) / max(released.total, 1)
    return float(np.abs(ours - theirs).mean())


def kl_divergence(original: Histogram, released: Histogram, most: int) -> float | None:
    """Relative entropy in nats of p from q over the original's most frequent items alone.

    p = (n + 1) / (N + j), where N is the sum over these j items, and q the same of the release: one more of each
    item on both sides, so that a missing item costs much but not everything, and equal counts cost nothing.
    """
    top = original.top(most)
    if not len(top):
        return None
    ours, theirs = (counts + 1.0 for counts in (top.counts, top.counts_in(released)))
    ours, theirs = ours / ours.sum(), theirs / theirs.sum()
    # Rounding may lead a hair below 0.
    return max(0.0, float((ours * np.log(ours / theirs)).sum()))


@dataclass(frozen=True, kw_only=True)
class PrecisionL1(OfItems):
    """precision-l1@j: mean difference of relative frequencies over the log's j most frequent items."""

    name: ClassVar[str] = "precision-l1"
    help: ClassVar[str] = "mean difference of relative frequencies of the log's j most frequent items"
    unit: ClassVar[str] = "share"
    direction: ClassVar[str] = LOWER
    defaults: ClassVar[tuple[float, ...]] = (100,)

    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        top = original.histogram(kind, release.unit, self.most)
        return {"": l1_distance(top, release.histogram(kind), self.most)}


@dataclass(frozen=True, kw_only=True)
class PrecisionKL(OfItems):
    """precision-kl@j: relative entropy of the log's frequencies from the release's, over the log's top j."""

    name: ClassVar[str] = "precision-kl"
    help: ClassVar[str] = "relative entropy from the release's to the log's frequencies, over the log's top j"
    unit: ClassVar[str] = "nats"
    direction: ClassVar[str] = LOWER
    defaults: ClassVar[tuple[float, ...]] = (100,)

    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        top = original.histogram(kind, release.unit, self.most)
        return {"": kl_divergence(top, release.histogram(kind), self.most)}
