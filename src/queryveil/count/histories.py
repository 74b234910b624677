"""Each user's items as whole numbers, for mechanisms that go over them several times.

A user's items stand together in one array, each once, at most as many as the bound allows. An engine inside this
process sends its rows here once, and `numbering` does the rest. Any other engine numbers items and users itself, and
says which user has which item. Either way items are numbered in the order of their bytes, so that every engine gives
them the same numbers. With a public list its items have numbers too, whether or not anyone has them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import contribution, numbering, public_items
from queryveil.count.contribution import Bound
from queryveil.count.item_kinds import ItemKind
from queryveil.count.numbering import BITS
from queryveil.count.public_items import PublicItems
from queryveil.errors import CannotBeMet
from queryveil.files import memory

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.engine import Engine
    from queryveil.reading.log import SearchLog

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

_BYTES_PER_ROW = 24
"""What a row takes here while rows become arrays: a word, its sorted copy, and what is made of it."""
_BYTES_PER_ROW_AND_TEXT = 64
"""The same where texts come here too: two codes, and a row's share of the different texts."""
_BYTES_PER_LISTED = 150
"""What an item of a public list takes in the rounds: its text, its number, sums, scores and noise."""
_LISTED = "listed"
"""The column that says whether an item is on the public list."""


class Items(Protocol):
    """Every item of the log by its number."""

    def texts(self, numbers: npt.NDArray[np.integer]) -> pa.Table:
        """The columns of items, in the order of these numbers."""

    def find(self, texts: pa.Table) -> Whole:
        """The numbers of items by their columns; -1 for what is none."""


@dataclass(frozen=True)
class Histories:
    """The items of user u are `items[starts[u]:starts[u + 1]]`, each once; numbers are places in the order of bytes."""

    starts: Whole
    items: Numbers
    kind: ItemKind
    log: SearchLog
    named: Items
    different: int
    """How many items the log and a public list have; some are in no history, because the bound left them out."""
    listed: Flags | None = None
    """Which of them are on the public list; None without a list."""
    whole: tuple[Whole, Numbers] | None = None
    """Where each user's items start, and the items, before any bound: for counts of what is published."""

    @functools.cached_property
    def numbered(self) -> ir.Table:
        """In the engine: the item's columns and its number, for every item of the log."""
        if isinstance(self.named, InEngine):
            return self.named.table
        numbers = np.arange(self.different, dtype=np.int64)
        return self.log.engine.register(self.named.texts(numbers).append_column("item", pa.array(numbers)))

    def texts(self, numbers: npt.NDArray[np.integer]) -> pa.Table:
        """The columns of items, in the order of their numbers."""
        columns = self.kind.columns
        texts = self.named.texts(np.sort(numbers))
        return texts.cast(pa.schema([(column, pa.string()) for column in columns]))

    def lengths(self) -> Whole:
        """How many characters each item has, columns together."""
        import ibis

        length = sum((self.numbered[column].length() for column in self.kind.columns), ibis.literal(0))
        found = self.log.engine.arrow(self.numbered.select("item", length=length.cast("int64")))
        made = np.zeros(self.different, np.int64)
        made[found["item"].to_numpy()] = found["length"].to_numpy()
        return made

    def among(self, texts: pa.Table) -> tuple[Whole, Numbers]:
        """Whole histories, without a bound: where they start, and for each item its place in `texts`, or -1.

        It is for items that are published already: what a user has of them is a function of her rows and of those.
        """
        if self.whole is None:
            raise TypeError("these histories were made without whole ones")
        found = self.named.find(texts)
        here = np.flatnonzero(found >= 0)
        of_item = np.full(self.different, -1, np.int32)
        of_item[found[here]] = here
        starts, items = self.whole
        return starts, of_item[items]

    def forget(self) -> None:
        """Free what the engine holds."""
        if isinstance(self.named, InEngine) or "numbered" in vars(self):
            self.log.engine.drop(self.numbered)


@dataclass(frozen=True)
class InEngine:
    """Items whose texts are in an engine."""

    engine: Engine
    table: ir.Table
    """Their columns, and the number as `item`."""

    @property
    def columns(self) -> list[str]:
        return [column for column in self.table.columns if column not in ("item", _LISTED)]

    def texts(self, numbers: npt.NDArray[np.integer]) -> pa.Table:
        wanted = self.engine.register(
            pa.table({"item": pa.array(numbers, pa.int64()), "at": np.arange(len(numbers))})
        )
        try:
            found = self.engine.arrow(self.table.join(wanted, "item").select(*self.columns, "at"))
        finally:
            self.engine.drop(wanted)
        return found.sort_by("at").select(self.columns)

    def find(self, texts: pa.Table) -> Whole:
        places = pa.array(np.arange(texts.num_rows), pa.int64())
        known = self.engine.register(texts.select(self.columns).append_column("place", places))
        try:
            found = self.engine.arrow(self.table.join(known, self.columns).select("item", "place"))
        finally:
            self.engine.drop(known)
        made = np.full(texts.num_rows, -1, np.int64)
        made[found["place"].to_numpy()] = found["item"].to_numpy()
        return made


def refuse_too_many(log: SearchLog, listed: PublicItems | None = None) -> None:
    """Refuse a log whose histories cannot fit into the memory that this process may have."""
    limit = memory.physical()
    each = _BYTES_PER_ROW_AND_TEXT if log.engine.inside else _BYTES_PER_ROW
    needed = log.rows * each + (listed.items * _BYTES_PER_LISTED if listed else 0)
    if needed > limit:
        whose = f"{log.users:,} users" + (f" and {listed.items:,} public items" if listed else "")
        raise CannotBeMet(
            f"the histories of {whose} need about {needed / 1e9:.0f} GB of memory, and there are {limit / 1e9:.0f} GB",
            "use a machine with more memory, part of the log, or zealous, which needs less",
        )


def histories(
    log: SearchLog,
    kind: ItemKind,
    bound: Bound,
    rows: ir.Table | None = None,
    *,
    listed: PublicItems | None = None,
) -> Histories:
    """The histories of a log, each of at most `bound.most` different items.

    `rows`: those of its occurrences that count, such as clicks on published queries; they are bounded as they are.
    `listed`: a public list, whose items are numbered too.
    """
    if log.engine.inside:
        made = numbering.numbered(log, kind, bound, rows, listed)
        different = len(made.items)
        numbering.refuse_too_many_items(different)
        flags = None if listed is None else _flags(made.listed, different, listed)
        return Histories(*made.kept, kind, log, made.items, different, flags, made.whole)
    return _numbered_there(log, kind, bound, rows, listed)


def _numbered_there(
    log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None, listed: PublicItems | None
) -> Histories:
    """The histories of a log whose engine is elsewhere: it numbers, and sends numbers alone."""
    engine = log.engine
    found = kind.occurrences(log) if rows is None else rows
    columns = ("user", *kind.columns)
    timed = bound.keep != "random" and "time" in found.columns
    # Texts are put into their normal form once, and not each time that rows are gone over.
    rows = engine.put_aside(found.select(*columns, *(("time",) if timed else ())), log.workspace)
    every = rows if listed is None else _with_list(log, rows, kind.columns, listed)
    items = engine.keep(_numbered(every, kind.columns, "item"))
    users = engine.keep(_numbered(rows, ("user",), "person"))
    try:
        different = int(engine.arrow(items.aggregate(number=items.count()))["number"][0].as_py())
        numbering.refuse_too_many_items(different)
        words = _words(log, rows, kind, items, users)
        whole = numbering.cut(words)
        places = whole[0]
        heavy = words[places[:-1][np.diff(places) > bound.most]] >> BITS
        if heavy.size:
            words = _bounded(log, rows, kind, bound, items, users, words, heavy)
        starts, numbers = numbering.cut(words)
    finally:
        engine.drop(users)
        engine.drop(rows)
    flags = None
    if listed is not None:
        of_list = engine.arrow(items.filter(items[_LISTED] == 1).select("item"))
        flags = _flags(of_list["item"].to_numpy(), different, listed)
    return Histories(starts, numbers, kind, log, InEngine(engine, items), different, flags, whole)


def _with_list(log: SearchLog, rows: ir.Table, columns: tuple[str, ...], listed: PublicItems) -> ir.Table:
    """The items of log and list, each as often as it comes, and whether it comes from the list."""
    import ibis

    known = public_items.in_engine(log, listed.rows).select(*columns)
    mine, theirs = (
        table.mutate(**{_LISTED: ibis.literal(flag, "int8")})
        for table, flag in ((rows.select(*columns), 0), (known, 1))
    )
    return mine.union(theirs)


def _flags(numbers: npt.NDArray[np.integer] | None, different: int, listed: PublicItems) -> Flags:
    """Which numbers are of the list's items: all of them, or some would have no noise of their own."""
    made = np.zeros(different, np.bool_)
    if numbers is not None and not np.any(numbers < 0):
        made[numbers] = True
    if int(made.sum()) != listed.items:
        raise TypeError("every item of a public list has a number of its own")
    return made


def _numbered(rows: ir.Table, columns: tuple[str, ...], name: str) -> ir.Table:
    """Every different value once, with its place in the order of bytes."""
    import ibis

    if _LISTED in rows.columns:
        distinct = rows.group_by(list(columns)).aggregate(**{_LISTED: rows[_LISTED].max()})
    else:
        distinct = rows.select(*columns).distinct()
    order = ibis.window(order_by=[distinct[column] for column in columns])
    return distinct.mutate(**{name: ibis.row_number().over(order).cast("int64")})


def _words(log: SearchLog, rows: ir.Table, kind: ItemKind, items: ir.Table, users: ir.Table) -> Whole:
    """One word for each user and item that stand in a row together, in order, each once."""
    import ibis

    joined = rows.select("user", *kind.columns).join(items, list(kind.columns)).join(users, "user")
    word = (joined["person"] * ibis.literal(1 << BITS) + joined["item"]).cast("int64")
    parts = [
        batch.column(0).to_numpy() for batch in log.engine.batches(joined.select(word=word)) if batch.num_rows
    ]
    words = np.concatenate(parts) if parts else np.empty(0, np.int64)
    del parts
    return numbering.distinct(words)


def _bounded(
    log: SearchLog,
    rows: ir.Table,
    kind: ItemKind,
    bound: Bound,
    items: ir.Table,
    users: ir.Table,
    words: Whole,
    heavy: Whole,
) -> Whole:
    """The same words, but of users with too many items only those that the bound keeps."""
    engine = log.engine
    wanted = engine.register(pa.table({"person": pa.array(heavy, pa.int64())}))
    try:
        people = users.semi_join(wanted, "person")
        theirs = rows.semi_join(people, "user")
        kept = contribution.bounded_rows(log, theirs, kind.columns, bound, users=len(heavy))
        again = _words(log, kept, kind, items, users)
    finally:
        engine.drop(wanted)
    together = np.concatenate([numbering.others(words, heavy), again])
    together.sort()
    return together
