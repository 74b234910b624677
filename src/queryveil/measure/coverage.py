"""Which of the most frequent items a release still has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from queryveil.measure.histograms import Histogram
from queryveil.measure.measure import HIGHER, LOWER, OfItems, Original, Released
from queryveil.privacy.declarations import USERS


def missing_top_items(original: Histogram, released: Histogram, most: int) -> int:
    """How many of the original's most frequent items the release lacks."""
    return int((~original.top(most).found_in(released)).sum())


def covered_share(original: Histogram, released: Histogram, most: int) -> float | None:
    """The share of the original's most frequent items that the release has; None if there is no item."""
    top = original.top(most)
    return float(top.found_in(released).mean()) if len(top) else None


@dataclass(frozen=True, kw_only=True)
class Coverage(OfItems):
    """coverage@j: of the j most frequent items of the log, the share that the release has.

    The most frequent items are those that most users have, whatever the release counts, so that releases of different
    methods are compared with the same items.
    """

    name: ClassVar[str] = "coverage"
    help: ClassVar[str] = "share of the log's j most frequent items that are in the release"
    unit: ClassVar[str] = "share"
    direction: ClassVar[str] = HIGHER
    defaults: ClassVar[tuple[float, ...]] = (100,)

    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        top = original.histogram(kind, USERS, self.list_length)
        return {"": covered_share(top, release.histogram(kind), self.list_length)}


@dataclass(frozen=True, kw_only=True)
class Missing(OfItems):
    """missing@j: how many of the j most frequent items the release lacks."""

    name: ClassVar[str] = "missing"
    help: ClassVar[str] = "number of the log's j most frequent items that are not in the release"
    unit: ClassVar[str] = "items"
    direction: ClassVar[str] = LOWER
    defaults: ClassVar[tuple[float, ...]] = (100,)

    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        top = original.histogram(kind, USERS, self.list_length)
        return {"": missing_top_items(top, release.histogram(kind), self.list_length)}
