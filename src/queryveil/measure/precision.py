"""How well a release keeps the relative frequencies of the most frequent items.

A release that has none of these items has no frequencies of theirs, and so no figure here: on a log where no item is
very frequent a number would be close to 0, and would look better than that of a release which has them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from queryveil.measure.histograms import Histogram
from queryveil.measure.measure import LOWER, OfItems, Original, Released

_HARDLY = 0.9
"""A figure from this share of what no frequencies at all have is hardly better than that."""


def l1_distance(original: Histogram, released: Histogram, most: int) -> float | None:
    """Mean |p - q| over the original's most frequent items; p and q are shares of the two whole totals.

    None if there is no item, or if the release has none of these.
    """
    top = original.top(most)
    if not original.total or not top.found_in(released).any():
        return None
    ours = top.counts / original.total
    theirs = top.counts_in(released) / max(released.total, 1)
    return float(np.abs(ours - theirs).mean())


def l1_of_exact_counts(original: Histogram, released: Histogram, most: int) -> float | None:
    """What `l1_distance` would be if every published item had its exact count.

    What is left then comes from items that are missing: without their counts, all shares of the release are larger.
    """
    published = original.select(original.found_in(released))
    exact = Histogram(published.items, published.counts, int(published.counts.sum()))
    return l1_distance(original, exact, most)


def l1_among(original: Histogram, released: Histogram, most: int) -> float | None:
    """Mean |p - q| over the original's most frequent items; p and q are shares of the sums over these items alone.

    None if there is no item, or if the release has none of these.
    """
    top = original.top(most)
    theirs = top.counts_in(released).astype(float)
    if not top.found_in(released).any() or theirs.sum() <= 0:
        return None
    return float(np.abs(top.counts / top.counts.sum() - theirs / theirs.sum()).mean())


def kl_divergence(original: Histogram, released: Histogram, most: int) -> float | None:
    """Relative entropy in nats of p from q over the original's most frequent items alone.

    p = (n + 1) / (N + j), where N is the sum over these j items, and q the same of the release: one more of each
    item on both sides, so that a missing item costs much but not everything, and equal counts cost nothing. None if
    there is no item, or if the release has none of these.
    """
    top = original.top(most)
    if not top.found_in(released).any():
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
        top = original.histogram(kind, release.unit, self.list_length)
        return {"": l1_distance(top, release.histogram(kind), self.list_length)}

    def note(self, original: Original, release: Released) -> str | None:
        """Whether the figure is no better, or hardly, than that of no frequencies at all: few items, or untrue ones."""
        if release.main is None:
            return None
        top, theirs = (
            original.histogram(release.main, release.unit, self.list_length),
            release.histogram(release.main),
        )
        found = l1_distance(top, theirs, self.list_length)
        nothing = float((top.counts / max(1, top.total)).mean()) if len(top) else 0.0
        if found is None or found < _HARDLY * nothing:
            return None
        return (
            f"'{release.name}' has {int(top.found_in(theirs).sum()):,} of these {len(top):,} items, and scores "
            f"{found:.2g}; a release without any of them would score {nothing:.2g}"
        )


@dataclass(frozen=True, kw_only=True)
class PrecisionKL(OfItems):
    """precision-kl@j: relative entropy of the log's frequencies from the release's, over the log's top j."""

    name: ClassVar[str] = "precision-kl"
    help: ClassVar[str] = "relative entropy from the release's to the log's frequencies, over the log's top j"
    unit: ClassVar[str] = "nats"
    direction: ClassVar[str] = LOWER
    defaults: ClassVar[tuple[float, ...]] = (100,)

    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        top = original.histogram(kind, release.unit, self.list_length)
        return {"": kl_divergence(top, release.histogram(kind), self.list_length)}
