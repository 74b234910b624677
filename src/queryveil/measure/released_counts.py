"""How much a release holds: different items of the log, and the sum of the published counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from queryveil.measure.measure import HIGHER, NEITHER, OfItems, Original, Released
from queryveil.privacy.declarations import USERS


@dataclass(frozen=True, kw_only=True)
class Distinct(OfItems):
    """distinct: how many different items of the log are published."""

    name: ClassVar[str] = "distinct"
    help: ClassVar[str] = "number of different items of the log that are published"
    unit: ClassVar[str] = "items"
    direction: ClassVar[str] = HIGHER

    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        return {"": original.shared_totals(kind, USERS, release.items(kind))[0]}


@dataclass(frozen=True, kw_only=True)
class Total(OfItems):
    """total: the sum of the published counts, those below 0 as 0.

    It describes a release and does not rank it: noise adds to it, and methods count users, occurrences, or sessions.
    """

    name: ClassVar[str] = "total"
    help: ClassVar[str] = "sum of the published counts, noise included"
    unit: ClassVar[str] = "counts"
    direction: ClassVar[str] = NEITHER

    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        return {"": release.histogram(kind).total}
