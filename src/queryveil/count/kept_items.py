"""How many users keep each item, found while rows go by once: each user's few items stay.

For engines inside this process, and items of one text. It keeps what `numbering` keeps: of each user's different
texts those with the smallest keyed hashes, then by their bytes. It needs room for the items that users keep, and not
for all that they had, but for different texts beyond ASCII; and texts are counted only if their number of users may
reach a threshold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import kept_loops
from queryveil.count.contribution import Bound
from queryveil.count.item_kinds import ItemKind
from queryveil.count.texts import PLAIN, Forms, Texts, parts_of

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

_MOST_SLOTS = 64
"""Items of a user that are looked through one by one."""
_AHEAD = 4
"""Batches of rows that may wait."""
_FIRST_USERS = 1 << 12
_FIRST_BYTES = 1 << 20
_CHUNK = 1 << 18
"""Texts that are counted at a time."""
_MOST_BYTES = 1 << 30
"""Bytes of texts that are counted at a time: places among them have 32 bits."""
_MOST_BUCKETS = 1 << 24


def fits(log: SearchLog, kind: ItemKind, bound: Bound) -> bool:
    """Whether a log's items are kept here: their order is by a hash that is made here.

    Other ways choose by other hashes. So nothing of the log decides, not even how many users there are: else one user
    more could change what all others keep.
    """
    keyed_here = bound.keep == "random" and bound.order_key == "engine" and bound.most <= _MOST_SLOTS
    return log.engine.inside and len(kind.columns) == 1 and keyed_here


def kept(log: SearchLog, kind: ItemKind, bound: Bound) -> KeptItems:
    """What each user keeps. Queries come as the source has them, and get their normal form here."""
    raw = kind.is_query and log.is_as_read
    (column,) = kind.columns
    made = KeptItems(column, bound.most, bound.salt, raw=raw)
    made.stream(
        log.raw_rows() if raw else log.engine.batches(kind.rows(log).select("user", column).drop_null(column))
    )
    return made


class KeptItems:
    """The items that each user keeps, at most so many."""

    def __init__(self, column: str, most: int, salt: bytes, *, raw: bool) -> None:
        self.column, self.most, self._raw = column, most, raw
        # The keys of both hashes are those of `numbering`: a salt keeps the same items there and here.
        self._users, self._salt = Texts(salt + bytes([0])), salt + bytes([1])
        self._hasher = Texts(self._salt)
        self._forms = Forms(salt + bytes([2]))
        self._sizes = np.zeros(_FIRST_USERS, np.int32)
        self._slots = np.empty(_FIRST_USERS * most, np.uint64)
        self._begins = np.empty(_FIRST_USERS * most, np.int64)
        self._lengths = np.empty(_FIRST_USERS * most, np.int32)
        self._arena, self._used = np.empty(_FIRST_BYTES, np.uint8), 0

    def stream(self, rows: Iterator[pa.RecordBatch]) -> None:
        """Go over all rows once, in a thread of its own while the engine reads on."""
        waiting: deque[Future[None]] = deque()
        with ThreadPoolExecutor(1) as thread:
            for batch in rows:
                waiting.append(thread.submit(self.add, *batch.columns))
                while len(waiting) > _AHEAD:
                    waiting.popleft().result()
            while waiting:
                waiting.popleft().result()

    def add(self, users: pa.Array, texts: pa.Array) -> None:
        """Rows of a user and a text each."""
        if not len(users):
            return
        people = self._users.add(users)
        self._make_room_for_users()
        other = self._offer(people, texts, tested=not self._raw)
        if other.any():
            again = np.flatnonzero(other)
            self._offer(people[again], self._forms.of(texts.take(pa.array(again))), tested=True)

    def counts(self, at_least: int) -> pa.Table:
        """Texts with their number of users, for those that at least so many keep; in the order of bytes."""
        sizes = self._sizes[: len(self._users)]
        entries = int(sizes.sum())
        buckets = np.zeros(
            1 << min(max(entries, 1).bit_length() + 1, _MOST_BUCKETS.bit_length() - 1), np.int32
        )
        kept_loops.sketched(sizes, self.most, self._slots, buckets)
        counted = Texts(self._salt)
        users: Whole = np.zeros(0, np.int64)
        first = 0
        while first < len(sizes):
            found = np.empty(max(_CHUNK, self.most), np.int64)
            first, number, size = kept_loops.chosen(
                sizes, self.most, self._slots, self._lengths, buckets, at_least, first, found, _MOST_BYTES
            )
            codes = counted.add(self._texts(found[:number], size))
            more = np.bincount(codes, minlength=len(counted)).astype(np.int64)
            more[: len(users)] += users
            users = more
        # Here a text is counted by its bytes: what shares a bucket, or a hash, has nothing of it.
        codes = counted.in_order(np.flatnonzero(users >= at_least).astype(np.int32))
        texts = counted.take(codes).cast(pa.string())
        return pa.table({self.column: texts, "count": pa.array(users[codes], pa.int64())})

    def _texts(self, found: Whole, size: int) -> pa.Array:
        offsets, data = np.zeros(len(found) + 1, np.int32), np.empty(size, np.uint8)
        kept_loops.gathered(found, self._begins, self._lengths, self._arena, offsets, data)
        return pa.StringArray.from_buffers(len(found), *map(pa.py_buffer, (offsets, data)))

    def _offer(self, people: Numbers, texts: pa.Array, *, tested: bool) -> npt.NDArray[np.bool_]:
        """Which of these texts are left, because they may not be in normal form."""
        data, offsets = parts_of(texts)
        self._make_room(int(offsets[-1] - offsets[0]))
        other = np.zeros(len(people), np.bool_)
        self._used = kept_loops.offered(
            data,
            offsets,
            people,
            self._hasher.hashes_of(texts),
            self._users.hashes,
            PLAIN,
            tested,
            self.most,
            self._sizes,
            self._slots,
            self._begins,
            self._lengths,
            self._arena,
            self._used,
            other,
        )
        return other

    def _make_room_for_users(self) -> None:
        number, size = len(self._users), len(self._sizes)
        if number <= size:
            return
        size = max(number, 2 * size)
        sizes = np.zeros(size, np.int32)
        sizes[: len(self._sizes)] = self._sizes
        self._sizes = sizes
        self._slots, self._begins, self._lengths = (
            _longer(one, size * self.most) for one in (self._slots, self._begins, self._lengths)
        )

    def _make_room(self, more: int) -> None:
        """Room for so many bytes; texts that nobody keeps any more are left out first."""
        if self._used + more <= len(self._arena):
            return
        sizes = self._sizes[: len(self._users)]
        kept = kept_loops.size_of(sizes, self.most, self._lengths)
        into = np.empty(max(len(self._arena), 2 * (kept + more)), np.uint8)
        self._used = kept_loops.closed_up(sizes, self.most, self._begins, self._lengths, self._arena, into)
        self._arena = into


def _longer(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    made = np.empty(size, array.dtype)
    made[: len(array)] = array
    return made
