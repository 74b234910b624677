"""Which of the most frequent items a release still has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from queryveil.items import KINDS
from queryveil.utility.frame import HIGHER, LOWER, Measure, Original, Released


class _OfTop(Measure):
    """What is said of the j most frequent items."""

    defaults: ClassVar[tuple[float, ...]] = (100,)

    def lacks(self, release: Released) -> str | None:
        return None if release.tables else "items"

    def found(self, original: Original, release: Released) -> dict[str, tuple[int, int]]:
        """Per table of the release: how many of the original's top items it has, and how many those are."""
        found = {}
        for place, (kind, table) in enumerate(release.tables.items()):
            columns = KINDS[kind].columns
            top = original.top(kind, release.unit, self.most)
            held = top.select(columns).join(table.select(columns), list(columns), join_type="left semi")
            found[str(self) if place == 0 else f"{self}/{kind}"] = (held.num_rows, top.num_rows)
        return found


@dataclass(frozen=True, kw_only=True)
class Coverage(_OfTop):
    """coverage@j: of the j most frequent items of the log, the share that the release has.

    Items are what the release's main table holds; a further table has a figure of its own, `coverage@j/clicks`.
    Frequency is in the unit of the release's counts, users or occurrences.
    """

    name: ClassVar[str] = "coverage"
    help: ClassVar[str] = "share of the log's j most frequent items that are in the release"
    unit: ClassVar[str] = "share"
    direction: ClassVar[str] = HIGHER

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        found = self.found(original, release)
        return {name: held / of if of else None for name, (held, of) in found.items()}


@dataclass(frozen=True, kw_only=True)
class Missing(_OfTop):
    """missing@j: how many of the j most frequent items the release lacks."""

    name: ClassVar[str] = "missing"
    help: ClassVar[str] = "number of the log's j most frequent items that are not in the release"
    unit: ClassVar[str] = "items"
    direction: ClassVar[str] = LOWER

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        return {name: of - held for name, (held, of) in self.found(original, release).items()}
