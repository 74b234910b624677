"""Each user's items as integer codes, for mechanisms that go over them several times.

A user's items stand together in one array, each once, at most as many as the bound allows. Rows come from any engine as
a stream, and `numbering` encodes them here, so that the same texts have the same codes on every engine. With a public
list its items have codes too, whether or not any user has them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import numbering
from queryveil.count.contribution import Bound
from queryveil.count.item_kinds import ItemKind
from queryveil.count.numbering import Items
from queryveil.count.public_items import PublicItems
from queryveil.errors import CannotBeMet
from queryveil.files import memory

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

_BYTES_PER_ROW = 64
"""What a row takes while rows become arrays: two codes, a word, and its share of the distinct texts."""
_BYTES_PER_LISTED = 150
"""What an item of a public list takes in the rounds: its text, its number, sums, scores and noise."""


@dataclass(frozen=True)
class Histories:
    """The items of user u are `items[starts[u]:starts[u + 1]]`, each once."""

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
        numbers = np.arange(self.different, dtype=np.int64)
        return self.log.engine.register(self.named.texts(numbers).append_column("item", pa.array(numbers)))

    def texts(self, numbers: npt.NDArray[np.integer]) -> pa.Table:
        """The columns of items, in the order of their numbers."""
        columns = self.kind.columns
        texts = self.named.texts(np.sort(numbers))
        return texts.cast(pa.schema([(column, pa.string()) for column in columns]))

    def lengths(self) -> Whole:
        """How many characters each item has, columns together."""
        import pyarrow.compute as pc

        texts = self.named.texts(np.arange(self.different))
        lengths = [pc.utf8_length(texts[column]).to_numpy().astype(np.int64) for column in self.kind.columns]
        total: Whole = np.sum(lengths, axis=0)
        return total

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
        if "numbered" in vars(self):
            self.log.engine.drop(self.numbered)


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
    made = numbering.numbered(log, kind, bound, rows, listed)
    different = len(made.items)
    numbering.refuse_too_many_items(different)
    flags = None if listed is None else _flags(made.listed, different, listed)
    return Histories(*made.kept, kind, log, made.items, different, flags, made.whole)


def _flags(numbers: npt.NDArray[np.integer] | None, different: int, listed: PublicItems) -> Flags:
    """Which numbers are of the list's items: all of them, or some would have no noise of their own."""
    made = np.zeros(different, np.bool_)
    if numbers is not None and not np.any(numbers < 0):
        made[numbers] = True
    if int(made.sum()) != listed.items:
        raise TypeError("every item of a public list has a number of its own")
    return made
