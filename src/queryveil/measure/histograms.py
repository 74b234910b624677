"""Histograms as measures compare them: items and their counts, the most frequent first.

A histogram is made once from a table of items and counts, and then asked as often as one likes: a study that compares
hundreds of releases with one log prepares the log's histogram a single time. Looking a release up costs one pass over
the items that are asked about, with a hash table of the release's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import InputError

Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_SEPARATOR = "\x1f"
"""Between the parts of an item; no text in normal form has it."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Items, the most frequent first and ties by item, with their counts; negative counts are 0, as noise made them."""

    items: pa.ChunkedArray
    """One text for each item."""
    counts: Counts
    total: int
    """All counts together, also of items that were cut off by `top`."""

    @classmethod
    def of(cls, table: pa.Table, *, ordered: bool = False, total: int | None = None) -> Histogram:
        """A table with the columns of one kind of item and `count`, one row for each item.

        `ordered` says that the table is in order already; `total` is that of the whole, if the table is a part.
        """
        columns = [name for name in table.column_names if name != "count"]
        if not columns or "count" not in table.column_names:
            raise InputError(
                "a table of items needs their columns and a column 'count'", "rename the columns of the table"
            )
        if not ordered:
            order: list[tuple[str, str]] = [
                ("count", "descending"),
                *((name, "ascending") for name in columns),
            ]
            table = table.sort_by(order)
        texts = [table[name].cast(pa.string()) for name in columns]
        items = texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, _SEPARATOR)
        counts = np.maximum(table["count"].cast(pa.int64()).to_numpy(), 0)
        return cls(items, counts, int(counts.sum()) if total is None else total)

    def __len__(self) -> int:
        return len(self.counts)

    def top(self, most: int) -> Histogram:
        """The most frequent items only; the total stays that of all."""
        return Histogram(self.items.slice(0, most), self.counts[:most], self.total)

    def select(self, which: Mask) -> Histogram:
        """Some of the items only; the total stays that of all."""
        return Histogram(self.items.filter(pa.array(which)), self.counts[which], self.total)

    def counts_in(self, other: Histogram) -> Counts:
        """For each item its count in another histogram; 0 if it is not there."""
        place = self.places_in(other)
        return np.where(place >= 0, np.append(other.counts, 0)[place], 0)

    def found_in(self, other: Histogram) -> Mask:
        """For each item whether another histogram has it, with whatever count."""
        return self.places_in(other) >= 0

    def places_in(self, other: Histogram) -> Counts:
        """For each item its place in another histogram; -1 if it is not there."""
        if not len(other) or not len(self):
            return np.full(len(self), -1, dtype=np.int64)
        place = pc.index_in(self.items, value_set=other.items.combine_chunks())
        found: Counts = pc.fill_null(place, -1).to_numpy().astype(np.int64)
        return found
