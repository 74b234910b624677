"""Transactions as one array of items and one of offsets: a bag may hold an item several times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from queryveil.errors import InputError


@dataclass(frozen=True, eq=False)
class Bags:
    """Transaction j has the items from offsets[j] to offsets[j + 1]; items are nodes of a tree."""

    items: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        # Arrays that cannot be written to are copied: compiled loops would be compiled again for them.
        items = np.require(self.items, np.int32, ["C", "W"])
        offsets = np.require(self.offsets, np.int64, ["C", "W"])
        ends = len(offsets) and offsets[0] == 0 and offsets[-1] == len(items)
        if not ends or (np.diff(offsets) < 0).any():
            raise InputError(
                "the offsets of the transactions do not fit their items",
                "let them rise from 0 to the number of items",
            )
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "offsets", offsets)

    @classmethod
    def of(cls, transactions: Sequence[Sequence[int]]) -> Bags:
        lengths = [len(transaction) for transaction in transactions]
        items = [item for transaction in transactions for item in transaction]
        return cls(np.array(items, dtype=np.int32), np.cumsum([0, *lengths], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, at: int) -> npt.NDArray[np.int32]:
        if not 0 <= at < len(self):
            raise IndexError(at)
        return self.items[self.offsets[at] : self.offsets[at + 1]]

    def __iter__(self) -> Iterator[npt.NDArray[np.int32]]:
        return (self[at] for at in range(len(self)))

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.offsets)

    def take(self, chosen: npt.NDArray[np.int64]) -> Bags:
        """These transactions, in this order."""
        lengths = self.lengths[chosen]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return Bags(self.items[np.repeat(self.offsets[:-1][chosen], lengths) + within], offsets)

    def distinct(self) -> Bags:
        """Without duplicates; items are then sorted within each transaction."""
        owners = np.repeat(np.arange(len(self)), self.lengths)
        by_item = np.lexsort((self.items, owners))
        items, owners = self.items[by_item], owners[by_item]
        first = np.ones(len(items), dtype=np.bool_)
        first[1:] = (items[1:] != items[:-1]) | (owners[1:] != owners[:-1])
        lengths = np.bincount(owners[first], minlength=len(self))
        return Bags(items[first], np.concatenate(([0], np.cumsum(lengths))))
