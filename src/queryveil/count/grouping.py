"""Rows of a user and an item become histories: each user's items together, in order, each once; and the bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from queryveil.compiled import shares, side_by_side
from queryveil.count import history_loops, text_loops

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]


class Grouped(NamedTuple):
    """The items of user `who[u]` are `items[starts[u]:starts[u + 1]]`, each once, in the order of their numbers."""

    who: Numbers
    """Users that have an item, in the order of their numbers."""
    starts: Whole
    items: Numbers


def renumbered(numbers: Numbers, places: Numbers) -> None:
    """Each number's place instead of the number, where it stands."""
    side_by_side(history_loops.renumbered, [(numbers, places, *share) for share in shares(len(numbers))])


def grouped(people: Numbers, items: Numbers, users: int) -> Grouped:
    """Who has what, from one row each time that somebody had something; a negative item is none."""
    rows = [(people, items, *share, users) for share in shares(len(people))]
    sizes = np.sum(side_by_side(history_loops.sized, rows), axis=0)
    starts = np.zeros(users + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    into, next_ = np.empty(int(starts[-1]), np.int32), starts[:-1].copy()
    parts = _of_users(starts)
    side_by_side(history_loops.gathered, [(people, items, *part, next_, into) for part in parts])
    side_by_side(history_loops.each_once, [(starts, into, *part, sizes) for part in parts])
    left = history_loops.closed_up(starts, sizes, into)
    who = np.flatnonzero(sizes).astype(np.int32)
    return Grouped(who, np.append(starts[who], left), into[:left])


def bounded(found: Grouped, most: int, users: Words, items: Words) -> tuple[Whole, Numbers]:
    """Where the items of each user begin, and at most so many of them, chosen by the keyed hashes of users and items.

    Users are those of `found.who`. What is chosen of a user depends on that user alone.
    """
    sizes = np.diff(found.starts)
    if not np.any(sizes > most):
        return found.starts, found.items
    starts = np.zeros(len(found.starts), np.int64)
    np.cumsum(np.minimum(sizes, most), out=starts[1:])
    kept = np.empty(int(starts[-1]), np.int32)
    tables = (found.starts, found.items, users, items)
    side_by_side(text_loops.bounded, [(*tables, *part, starts, kept) for part in _of_users(found.starts)])
    return starts, kept


def _of_users(starts: Whole) -> list[tuple[int, int]]:
    """Parts of all users that have about as many rows each."""
    rows = shares(int(starts[-1]))
    cuts = [int(np.searchsorted(starts, begin)) for begin, _ in rows[1:]]
    return list(zip([0, *cuts], [*cuts, len(starts) - 1], strict=True))
