"""How much a release holds: different items, and their counts together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from queryveil.measure.measure import HIGHER, OfItems, Original, Released


@dataclass(frozen=True, kw_only=True)
class Distinct(OfItems):
    """distinct: how many different items are published."""

    name: ClassVar[str] = "distinct"
    help: ClassVar[str] = "number of different items that are published"
    unit: ClassVar[str] = "items"
    direction: ClassVar[str] = HIGHER

    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        return {"": len(release.histogram(kind))}


@dataclass(frozen=True, kw_only=True)
class Total(OfItems):
    """total: the published counts together, those below 0 as 0."""

    name: ClassVar[str] = "total"
    help: ClassVar[str] = "sum of the published counts, noise included"
    unit: ClassVar[str] = "counts"
    direction: ClassVar[str] = HIGHER

    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        return {"": release.histogram(kind).total}
