"""What a measure is, and the two sides that it compares: the original log and a release.

A measure is a frozen value whose text is its name: `coverage@100`. It answers with figures, each of which has a
name, a unit and a direction. Both sides compute what several measures share once, and only when asked.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import ibis

from queryveil import graph, items
from queryveil.errors import UsageError
from queryveil.graph import Graph
from queryveil.log import SearchLog
from queryveil.release import Release, load

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

T = TypeVar("T")

HIGHER, LOWER, NEITHER = "higher is better", "lower is better", "neither"


@dataclass(frozen=True)
class Stated:
    """What is said of a figure beside its value."""

    unit: str
    direction: str
    help: str


@dataclass(frozen=True)
class Figure(Stated):
    """A figure: its value, or None where there is nothing to divide by."""

    value: float | None


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One way to say how useful a release still is. Subclasses are frozen dataclasses, registered by one line."""

    name: ClassVar[str]
    help: ClassVar[str]
    unit: ClassVar[str]
    direction: ClassVar[str]
    parts: ClassVar[Mapping[str, Stated]] = {}
    """Further figures: what follows the slash in their names, and what they are."""
    defaults: ClassVar[tuple[float, ...]] = ()
    """What follows the @ if nothing does; a measure without defaults takes none."""
    whole: ClassVar[bool] = True
    """What follows the @ is a number of items; otherwise it is a probability."""
    table: ClassVar[str | None] = None
    """The table that the release must have."""
    option: ClassVar[str | None] = None
    """What must be given beside log and release: 'seeds' or 'pattern'."""

    at: float | None = None

    def __post_init__(self) -> None:
        if self.defaults and self.at is None:
            object.__setattr__(self, "at", self.defaults[0])
        if self.at is not None and not self._fits(self.at):
            rule = "a whole number from 1" if self.whole else "a number from 0 to below 1"
            raise UsageError(
                f"what follows the @ of '{self.name}' must be {rule}; got {self.at:g}"
                if self.defaults
                else f"measure '{self.name}' takes no @",
                f"write it like {type(self)()}",
            )

    def _fits(self, at: float) -> bool:
        if not self.defaults:
            return False
        return (at >= 1 and math.isfinite(at) and at == int(at)) if self.whole else 0 <= at < 1

    def __str__(self) -> str:
        return self.name if self.at is None else f"{self.name}@{self.at:.12g}"

    @property
    def most(self) -> int:
        """What follows the @, as a number of items."""
        return int(self.at or 0)

    def lacks(self, release: Released) -> str | None:
        """The table that this measure needs and the release has not."""
        return self.table if self.table is not None and not release.has(self.table) else None

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        """Figures by name: the measure's own text, or that and one of its parts after a slash."""
        raise NotImplementedError

    def stated(self, figure: str) -> Stated:
        """Unit, direction and help of one of the figures."""
        _, _, part = figure.partition("/")
        return self.parts.get(part) or Stated(self.unit, self.direction, self.help)


@dataclass(eq=False)
class _Side:
    """Something to compare, with a memory."""

    _memory: dict[Hashable, Any] = field(default_factory=dict, repr=False, kw_only=True)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, computed the first time only."""
        if key not in self._memory:
            self._memory[key] = make()
        found: T = self._memory[key]
        return found


@dataclass(eq=False)
class Original(_Side):
    """The log as measures see it: true counts, for the curator only."""

    log: SearchLog

    def counts(self, kind: str, unit: str) -> ir.Table:
        """Items with their count in the whole log, as a table that the engine keeps."""
        count = {"users": graph.user_counts, "occurrences": graph.occurrence_counts}[unit]
        return self.once(
            ("counts", kind, unit), lambda: self.log.engine.keep(count(self.log, items.kind(kind)))
        )

    def top(self, kind: str, unit: str, most: int) -> pa.Table:
        """The most frequent items; ties go by item."""
        counts = self.counts(kind, unit)
        order = [counts["count"].desc(), *(counts[column] for column in items.kind(kind).columns)]
        return self.once(
            ("top", kind, unit, most), lambda: self.log.engine.arrow(counts.order_by(order).limit(most))
        )

    def totals(self, kind: str, unit: str) -> tuple[int, int]:
        """How many items there are, and their counts together."""

        def total() -> tuple[int, int]:
            counts = self.counts(kind, unit)
            sums = counts.aggregate(items=counts.count(), count=ibis.coalesce(counts["count"].sum(), 0))
            row = self.log.engine.arrow(sums).to_pylist()[0]
            return int(row["items"]), int(row["count"])

        return self.once(("totals", kind, unit), total)

    def graph(self, *tables: str) -> Graph:
        """The log's own graph, only these tables of it."""
        return Graph(**{name: self._table(name) for name in tables})

    def _table(self, name: str) -> pa.Table:
        kind = graph.TABLES[name]
        return self.once(("table", name), lambda: self.log.engine.arrow(self.counts(kind, "occurrences")))


@dataclass(eq=False)
class Released(_Side):
    """A release as measures see it."""

    release: Release

    @classmethod
    def of(cls, release: Release | str | Path) -> Released:
        return cls(load(release) if isinstance(release, (str, Path)) else release)

    @property
    def name(self) -> str:
        """The folder, or the method of a release that was not saved."""
        return str(self.release.path or self.release.plan.method)

    @functools.cached_property
    def tables(self) -> dict[str, pa.Table]:
        """Tables by the kind of their items, the main one first."""
        return graph.item_tables(self.release)

    @property
    def unit(self) -> str:
        """What its counts are numbers of: 'users' or 'occurrences'."""
        return str(self.release.plan.parameters.get("count", "users"))

    @functools.cached_property
    def graph(self) -> Graph:
        return Graph.of_release(self.release)

    def has(self, table: str) -> bool:
        return graph.TABLES[table] in self.tables
