"""What a measure is, and the two sides that it compares: the original log and a release.

A measure is a frozen value whose text is its name: `coverage@100`. It answers with figures, each of which has a
name, a unit and a direction. Both sides compute what several measures share once, and only when asked.
"""

from __future__ import annotations

import functools
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import ibis

from queryveil.count import item_kinds
from queryveil.errors import UsageError, argument
from queryveil.language import groups
from queryveil.measure import graph
from queryveil.measure.graph import Graph
from queryveil.measure.histograms import Histogram
from queryveil.measure.published import Published, published_items, session_counts
from queryveil.parameters import validate
from queryveil.privacy.declarations import GROUPED, OCCURRENCES, SESSIONS, TYPED, USERS
from queryveil.reading.log import SearchLog
from queryveil.release.publish import Release, load

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

T = TypeVar("T")

_COLUMNS = {"clicks": "url", "query-pairs": "time"}
"""What a log must have beside queries for these kinds of items."""
MOST = 10**12
"""The largest whole number that may follow an @."""

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
class Measure(ABC):
    """One way to say how useful a release still is. Subclasses are frozen dataclasses, registered by one line.

    Fields declared with `param` are options: of the command line, of `evaluate`, and checked here.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    unit: ClassVar[str]
    direction: ClassVar[str]
    parts: ClassVar[Mapping[str, Stated]] = {}
    """Further figures: what follows the slash in their names, and what they are."""
    defaults: ClassVar[tuple[float, ...]] = ()
    """What follows the @ if nothing does; a measure without defaults takes none."""
    whole: ClassVar[bool] = True
    """What follows the @ is a whole number; otherwise it is a probability."""
    least: ClassVar[int] = 1
    """The smallest whole number that may follow the @."""
    topped: ClassVar[bool] = True
    """What follows the @ is a number of items to look at, so that `--top` can be it."""
    table: ClassVar[str | None] = None
    """The table that the release must have."""
    option: ClassVar[str | None] = None
    """What must be given beside log and release: 'seeds' or 'pattern'."""

    package: ClassVar[str | None] = None
    """What it needs of the packages that the extra `language` brings."""

    at: float | None = None

    def __post_init__(self) -> None:
        validate(self)
        if self.defaults and self.at is None:
            object.__setattr__(self, "at", self.defaults[0])
        if self.at is not None and not self._fits(self.at):
            rule = (
                f"a whole number from {self.least} to {MOST:g}"
                if self.whole
                else "a number from 0 to below 1"
            )
            raise UsageError(
                f"what follows the @ of '{self.name}' must be {rule}; got {self.at:g}"
                if self.defaults
                else f"measure '{self.name}' takes no @",
                f"write it like {type(self)()}",
            )

    def _fits(self, at: float) -> bool:
        if not self.defaults:
            return False
        return (self.least <= at <= MOST and at == int(at)) if self.whole else 0 <= at < 1

    def __str__(self) -> str:
        return self.name if self.at is None else f"{self.name}@{self.at:.12g}"

    @property
    def list_length(self) -> int:
        """What follows the @, as a number of items."""
        return int(self.at or 0)

    def missing_table(self, release: Released) -> str | None:
        """The table that this measure needs and the release has not."""
        return self.table if self.table is not None and not release.has(self.table) else None

    def unmet_requirement(self, original: Original, release: Released) -> tuple[str, str] | None:
        """Why this measure says nothing of this release, and the way out, if it is not a table that is missing."""
        kind = graph.TABLES.get(self.table, self.table) if self.table is not None else "queries"
        if original.has(kind):
            return None
        column = _COLUMNS[kind]
        return (
            f"the log has no '{column}' column",
            f"name it with {argument('columns', {str(column): '...'})}",
        )

    @property
    def is_uninstalled(self) -> bool:
        """Whether the package that it needs is not there."""
        return self.package is not None and importlib.util.find_spec(self.package) is None

    def note(self, original: Original, release: Released) -> str | None:
        """What one has to know beside the figures: where something was taken from."""
        return None

    @abstractmethod
    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        """Figures by name: the measure's own text, or that and one of its parts after a slash."""

    def describe_figure(self, figure: str) -> Stated:
        """Unit, direction and help of one of the figures."""
        _, *parts = figure.split("/")
        own = Stated(self.unit, self.direction, self.help)
        return next((self.parts[part] for part in parts if part in self.parts), own)


class OfItems(Measure):
    """A measure of every kind of item that a release counts: the main one first, others behind a slash of their own."""

    def missing_table(self, release: Released) -> str | None:
        return None if release.kinds else "items"

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        for kind in release.kinds:
            if kind == release.main:
                found = self._name_figures(original, release, kind, "") | found
            elif original.has(kind):
                found |= self._name_figures(original, release, kind, f"/{kind}")
        return found

    def _name_figures(
        self, original: Original, release: Released, kind: str, ending: str
    ) -> dict[str, float | None]:
        found = self.of_kind(original, release, kind)
        return {f"{self}{'/' if part else ''}{part}{ending}": value for part, value in found.items()}

    @abstractmethod
    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        """Figures of one kind of item by part; the measure's own figure has an empty part."""


@dataclass(eq=False)
class _Side:
    """Something to compare, with a memory."""

    _memory: dict[Hashable, Any] = field(default_factory=dict, repr=False, kw_only=True)

    def compute_once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, computed the first time only."""
        if key not in self._memory:
            self._memory[key] = make()
        found: T = self._memory[key]
        return found


@dataclass(eq=False)
class Original(_Side):
    """The log as measures see it: true counts, for the curator only."""

    log: SearchLog

    def match_grouping(self, release: Released) -> Original:
        """What a release is compared with: this log, or this log with its queries grouped as the release has them."""
        if release.texts != GROUPED:
            return self
        return self.compute_once("grouped", lambda: Original(groups.group_queries(self.log)))

    def counts(self, kind: str, unit: str) -> ir.Table:
        """Items with their count in the whole log, as a table that the engine keeps."""
        count = {
            USERS: graph.user_counts,
            OCCURRENCES: graph.occurrence_counts,
            SESSIONS: session_counts,
        }[unit]
        return self.compute_once(
            ("counts", kind, unit), lambda: self.log.engine.keep(count(self.log, item_kinds.kind(kind)))
        )

    def has(self, kind: str) -> bool:
        """Whether the log has what items of this kind are made of."""
        return _COLUMNS.get(kind, "query") in self.log.columns

    def top(self, kind: str, unit: str, most: int) -> pa.Table:
        """The most frequent items; ties go by item."""
        return self.compute_once(
            ("top", kind, unit, most),
            lambda: self.log.engine.arrow(self._ordered_counts(kind, unit).limit(most)),
        )

    def _ordered_counts(self, kind: str, unit: str) -> ir.Table:
        counts = self.counts(kind, unit)
        order = [counts["count"].desc(), *(counts[column] for column in item_kinds.kind(kind).columns)]
        return counts.order_by(order).select(*item_kinds.kind(kind).columns, "count")

    def histogram(self, kind: str, unit: str, most: int | None = None) -> Histogram:
        """All items, or the most frequent ones, with the total of all."""

        def made() -> Histogram:
            if most is None:
                return Histogram.of(self.log.engine.arrow(self._ordered_counts(kind, unit)), ordered=True)
            total = self.totals(kind, unit)[1]
            return Histogram.of(self.top(kind, unit, most), ordered=True, total=total)

        return self.compute_once(("histogram", kind, unit, most), made)

    def shared_totals(self, kind: str, unit: str, published: pa.Table) -> tuple[int, int]:
        """Return how many of the published items are in the log, and the sum of their true counts."""
        columns = list(item_kinds.kind(kind).columns)
        items = self.log.engine.register(published.select(columns))
        return self._totals(self.counts(kind, unit).semi_join(items, columns))

    def totals(self, kind: str, unit: str) -> tuple[int, int]:
        """Return how many items the log has, and the sum of their counts."""
        return self.compute_once(("totals", kind, unit), lambda: self._totals(self.counts(kind, unit)))

    def _totals(self, counts: ir.Table) -> tuple[int, int]:
        sums = counts.aggregate(items=counts.count(), count=ibis.coalesce(counts["count"].sum(), 0))
        row = self.log.engine.arrow(sums).to_pylist()[0]
        return int(row["items"]), int(row["count"])

    def graph(self, *tables: str) -> Graph:
        """The log's own graph, only these tables of it."""
        return Graph(**{name: self._table(name) for name in tables})

    def _table(self, name: str) -> pa.Table:
        kind = graph.TABLES[name]
        return self.compute_once(
            ("table", name), lambda: self.log.engine.arrow(self.counts(kind, "occurrences"))
        )


@dataclass(eq=False)
class Released(_Side):
    """A release as measures see it."""

    release: Release
    main: str | None = None
    """The kind of item that figures without a kind in their name are of."""

    @classmethod
    def from_release(cls, release: Release | str | Path) -> Released:
        made = cls(load(release) if isinstance(release, (str, Path)) else release)
        made.main = made.kinds[0] if made.kinds else None
        return made

    @property
    def name(self) -> str:
        """The folder, or the method of a release that was not saved."""
        return str(self.release.path or self.release.plan.method)

    @functools.cached_property
    def _published_items(self) -> Published:
        return published_items(self.release)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of items that it counts, or that can be counted in it; the method's main one first."""
        return self._published_items.kinds

    @property
    def unit(self) -> str:
        """What its counts are numbers of: 'users', 'occurrences' or 'sessions'."""
        return self._published_items.unit

    @property
    def is_verbatim(self) -> bool:
        """Whether everything published stands so in the log that it was made from."""
        return self._published_items.is_verbatim

    @property
    def texts(self) -> str:
        """What its texts are: see queryveil.release.published_texts."""
        return self._published_items.texts

    def items(self, kind: str) -> pa.Table:
        """The published items of a kind with their counts."""
        return self.compute_once(("items", kind), lambda: self._published_items.table(kind))

    def histogram(self, kind: str) -> Histogram:
        return self.compute_once(("histogram", kind), lambda: Histogram.of(self.items(kind)))

    @functools.cached_property
    def graph(self) -> Graph:
        known = {name: kind for name, kind in graph.TABLES.items() if kind in self.kinds}
        return Graph(**{name: self.items(kind) for name, kind in known.items()})

    def has(self, table: str) -> bool:
        """Whether it has a table of a graph, or a kind of item."""
        return graph.TABLES.get(table, table) in self.kinds


class Counted(Released):
    """Counted items that nobody published, such as those of a baseline inside a study.

    There is no plan and no guarantee, so it has no `release`: only measures that compare items can look at it.
    """

    def __init__(self, kind: str, table: pa.Table, unit: str = USERS) -> None:
        """Items of a kind, in a table with their columns and `count`; the unit says what is counted."""
        self._memory = {}
        self.main = kind
        self._published_items = Published((kind,), unit, {kind: table}.__getitem__, TYPED)

    @property
    def name(self) -> str:
        return f"counted {self.main}"

    def __repr__(self) -> str:
        return f"Counted({self.main})"
