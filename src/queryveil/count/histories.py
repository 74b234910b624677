"""Each user's items as whole numbers, for mechanisms that go over them several times.

The engine numbers items and users and says which user has which item; here a user's items stand together in one
array, each once, at most as many as the bound allows. Which ones are kept is decided by `contribution` alone. Items are
numbered in the order of their bytes, so that every engine gives them the same numbers. With a public list its items
have numbers too, whether or not anyone has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import ibis
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import contribution, public_items
from queryveil.count.contribution import Bound
from queryveil.count.item_kinds import ItemKind
from queryveil.count.public_items import PublicItems
from queryveil.errors import CannotBeMet
from queryveil.files import memory
from queryveil.reading.log import SearchLog

if TYPE_CHECKING:
    import ibis.expr.types as ir

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

_BITS = 32
"""A user's number and an item's number are one word: user first, so that sorting words puts a user's items together."""
_LOW = (1 << _BITS) - 1
_MOST_NUMBERS = 1 << 31
_BYTES_PER_ROW = 24
"""What a row takes here while rows become arrays: a word, its sorted copy, and what is made of it."""
_BYTES_PER_LISTED = 150
"""What an item of a public list takes in the rounds: its text, its number, sums, scores and noise."""
_LISTED = "listed"
"""The column that says whether an item is on the public list."""


@dataclass(frozen=True)
class Histories:
    """The items of user u are `items[starts[u]:starts[u + 1]]`, each once; numbers are places in the order of bytes."""

    starts: Whole
    items: Numbers
    kind: ItemKind
    log: SearchLog
    numbered: ir.Table
    """In the engine: the item's columns and its number, for every item of the log."""
    different: int
    """How many items the log and a public list have; some are in no history, because the bound left them out."""
    listed: Flags | None = None
    """Which of them are on the public list; None without a list."""
    rows: ir.Table | None = None
    """In the engine: all rows that were bounded, for counts of what is published."""
    users: ir.Table | None = None
    """In the engine: every user and her number."""

    def texts(self, numbers: npt.NDArray[np.integer]) -> pa.Table:
        """The columns of items, in the order of their numbers."""
        engine = self.log.engine
        wanted = engine.register(pa.table({"item": pa.array(np.sort(numbers), pa.int64())}))
        try:
            found = engine.arrow(self.numbered.semi_join(wanted, "item"))
        finally:
            engine.drop(wanted)
        columns = self.kind.columns
        texts = found.sort_by("item").select(list(columns))
        return texts.cast(pa.schema([(column, pa.string()) for column in columns]))

    def lengths(self) -> Whole:
        """How many characters each item has, columns together."""
        length = sum((self.numbered[column].length() for column in self.kind.columns), ibis.literal(0))
        found = self.log.engine.arrow(self.numbered.select("item", length=length.cast("int64")))
        made = np.zeros(self.different, np.int64)
        made[found["item"].to_numpy()] = found["length"].to_numpy()
        return made

    def among(self, texts: pa.Table) -> tuple[Whole, Numbers]:
        """Whole histories among these items, each once, without a bound: where they start, and places in `texts`.

        It is for items that are published already: what a user has of them is a function of her rows and of those.
        """
        if self.rows is None or self.users is None:
            raise TypeError("these histories were made without their rows")
        engine, columns = self.log.engine, list(self.kind.columns)
        places = pa.array(np.arange(texts.num_rows), pa.int64())
        known = engine.register(texts.select(columns).append_column("item", places))
        try:
            return _cut(_words(self.log, self.rows, self.kind, known, self.users))
        finally:
            engine.drop(known)

    def forget(self) -> None:
        """Free what the engine holds."""
        for table in (self.numbered, self.rows, self.users):
            if table is not None:
                self.log.engine.drop(table)


def refuse_too_many(log: SearchLog, listed: PublicItems | None = None) -> None:
    """Refuse a log whose histories cannot fit into the memory that this process may have."""
    limit = memory.physical()
    needed = log.rows * _BYTES_PER_ROW + (listed.items * _BYTES_PER_LISTED if listed else 0)
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
        different = _refuse_too_many_items(log, items)
        words = _words(log, rows, kind, items, users)
        places = np.flatnonzero(np.diff(words >> _BITS, prepend=-1, append=-1))
        heavy = np.flatnonzero(np.diff(places) > bound.most)
        if heavy.size:
            heavy = words[places[heavy]] >> _BITS
            words = _bounded(log, rows, kind, bound, items, users, words, heavy)
        starts, numbers = _cut(words)
        flags = None if listed is None else _flags(log, items, different, listed)
    except BaseException:
        engine.drop(users)
        engine.drop(rows)
        raise
    return Histories(starts, numbers, kind, log, items, different, flags, rows, users)


def _cut(words: Whole) -> tuple[Whole, Numbers]:
    """Where the items of each user start, and the items."""
    starts = np.zeros(1, np.int64)  # where nobody has an item
    if words.size:
        starts = np.flatnonzero(np.diff(words >> _BITS, prepend=-1, append=-1)).astype(np.int64)
    return starts, (words & _LOW).astype(np.int32)


def _refuse_too_many_items(log: SearchLog, items: ir.Table) -> int:
    """How many different items there are. Sets of queries can be far more than rows, and numbers have 31 bits."""
    different = int(log.engine.arrow(items.aggregate(number=items.count()))["number"][0].as_py())
    if different >= _MOST_NUMBERS:
        raise CannotBeMet(
            f"the log has {different:,} different items, and 2^31 is more than can be told apart",
            "count items of another kind, or use part of the log",
        )
    return different


def _with_list(log: SearchLog, rows: ir.Table, columns: tuple[str, ...], listed: PublicItems) -> ir.Table:
    """The items of log and list, each as often as it comes, and whether it comes from the list."""
    known = public_items.in_engine(log, listed.rows).select(*columns)
    mine, theirs = (
        table.mutate(**{_LISTED: ibis.literal(flag, "int8")})
        for table, flag in ((rows.select(*columns), 0), (known, 1))
    )
    return mine.union(theirs)


def _flags(log: SearchLog, items: ir.Table, different: int, listed: PublicItems) -> Flags:
    """Which numbers are of the list's items: all of them, or some would have no noise of their own."""
    made = np.zeros(different, np.bool_)
    for batch in log.engine.batches(items.filter(items[_LISTED] == 1).select("item")):
        made[batch.column(0).to_numpy()] = True
    if int(made.sum()) != listed.items:
        raise TypeError("every item of a public list has a number of its own")
    return made


def _numbered(rows: ir.Table, columns: tuple[str, ...], name: str) -> ir.Table:
    """Every different value once, with its place in the order of bytes."""
    if _LISTED in rows.columns:
        distinct = rows.group_by(list(columns)).aggregate(**{_LISTED: rows[_LISTED].max()})
    else:
        distinct = rows.select(*columns).distinct()
    order = ibis.window(order_by=[distinct[column] for column in columns])
    return distinct.mutate(**{name: ibis.row_number().over(order).cast("int64")})


def _words(log: SearchLog, rows: ir.Table, kind: ItemKind, items: ir.Table, users: ir.Table) -> Whole:
    """One word for each user and item that stand in a row together, in order, each once."""
    joined = rows.select("user", *kind.columns).join(items, list(kind.columns)).join(users, "user")
    word = (joined["person"] * ibis.literal(1 << _BITS) + joined["item"]).cast("int64")
    parts = [
        batch.column(0).to_numpy() for batch in log.engine.batches(joined.select(word=word)) if batch.num_rows
    ]
    words = np.concatenate(parts) if parts else np.empty(0, np.int64)
    del parts
    words.sort()
    # [C1] Each item of a user counts once: docs/proofs/steered.md.
    first = np.empty(words.size, np.bool_)
    first[:1] = True
    np.not_equal(words[1:], words[:-1], out=first[1:])
    return words[first]


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
    is_heavy = np.zeros(int(words[-1] >> _BITS) + 1, np.bool_)
    is_heavy[heavy] = True
    together = np.concatenate([words[~is_heavy[words >> _BITS]], again])
    together.sort()
    return together
