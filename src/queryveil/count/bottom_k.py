"""How many users keep each item, found while rows go by once: each user's few items stay.

For engines inside this process, and items of one text. It keeps what `numbering` keeps: of each user's different
texts those with the smallest keyed hashes, then by their bytes. It needs room for the items that users keep, and not
for all that they had; and texts are counted only if their number of users may reach a threshold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.compiled import side_by_side, threads
from queryveil.count import bottom_k_kernels, item_kinds
from queryveil.count.contribution import Bound
from queryveil.count.item_kinds import ItemKind
from queryveil.count.text_codes import TextCodes, normal_forms, resized
from queryveil.reading.text_hashes import Hasher, parts_of

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

_AHEAD = 4
"""Batches of rows that may wait."""
_FIRST_USERS = 1 << 12
_FIRST_BYTES, _MOST_FIRST_BYTES = 1 << 20, 1 << 27
_USUAL_BYTES = 48
"""Room for a text and for those that it takes the place of; pages that nothing is written to cost nothing."""
_SPARE = 2
"""Times the bytes that are kept, before texts that nobody keeps any more are left out again."""
_CHUNK = 1 << 18
"""Texts that are counted at a time."""
_MOST_BYTES = 1 << 30
"""Bytes of texts that are counted at a time: places among them have 32 bits."""
_MOST_BUCKETS = 1 << 24


def warm_up() -> Iterator[None]:
    """Load the loops of this file one after the other, by counting two texts that nobody wrote."""
    nobody = pa.array(["nobody"]).dictionary_encode()
    made = BottomK(item_kinds.kind("queries"), Bound(most=1), is_raw=True)
    for text in ("a", "A", "\u00c4"):
        made.add(nobody, pa.array([text]))
        yield
    made.users_per_item()
    yield


class BottomK:
    """The items that each user keeps, at most so many. If the number of `users` is known, all have room at once."""

    def __init__(self, kind: ItemKind, bound: Bound, *, is_raw: bool, users: int = 0) -> None:
        self._kind, self._salt = kind, bound.item_salt
        self._users = TextCodes(bound.user_salt)
        number = threads()
        self._shares = [
            _Share(share, number, bound, raw=is_raw, users=users // number + 1) for share in range(number)
        ]

    def add_batches(self, rows: Iterator[pa.RecordBatch]) -> None:
        """Go over all rows once. Users get numbers in one thread and keep items in others, while files are read on."""
        waiting: deque[Future[None]] = deque()
        with ExitStack() as stack:
            numbering, *keeping = (
                stack.enter_context(ThreadPoolExecutor(1)) for _ in range(1 + len(self._shares))
            )
            for batch in rows:
                users, texts = batch.columns
                numbered = numbering.submit(self._numbered, users)
                for thread, share in zip(keeping, self._shares, strict=True):
                    waiting.append(thread.submit(_keep_later, share, numbered, texts))
                while len(waiting) > _AHEAD * len(self._shares):
                    waiting.popleft().result()
            while waiting:
                waiting.popleft().result()

    def add(self, users: pa.Array, texts: pa.Array) -> None:
        """Rows of a user and a text each."""
        people, owners = self._numbered(users)
        for share in self._shares:
            share.keep(people, owners, texts)

    def _numbered(self, users: pa.Array) -> tuple[Numbers, Words]:
        """The numbers of users, and the hashes of all that have numbers by then."""
        return self._users.add(users), self._users.hashes

    def users_per_item(self, at_least: int = 1) -> pa.Table:
        """Return the items that at least so many users keep, with that number as `count`, ordered by keyed hash."""
        at_least = max(at_least, 1)
        buckets, parts = self._sketched(), len(self._shares)
        found = side_by_side(self._counted, [(buckets, at_least, part, parts) for part in range(parts)])
        # What was counted in different parts has different hashes, so no text comes twice.
        together, users = TextCodes(self._salt), np.concatenate([users for _, users in found])
        for texts, _ in found:
            together.add(texts)
        codes = together.sort_by_hash(np.arange(len(users), dtype=np.int32))
        items = self._kind.split_columns(together.take(codes))
        return items.append_column("count", pa.array(users[codes], pa.int64()))

    def _sketched(self) -> Numbers:
        """How many kept items have hashes that end alike: no item has more users than that."""
        entries = sum(share.entries for share in self._shares)
        size = 1 << min(max(entries, 1).bit_length() + 1, _MOST_BUCKETS.bit_length() - 1)
        made = [np.zeros(size, np.int32) for _ in self._shares]
        side_by_side(_Share.sketch, list(zip(self._shares, made, strict=True)))
        for other in made[1:]:
            made[0] += other
        return made[0]

    def _counted(self, buckets: Numbers, at_least: int, part: int, parts: int) -> tuple[pa.Array, Whole]:
        """Texts that at least so many users keep, with their number, of one of the parts that hashes fall into."""
        counted = TextCodes(self._salt)
        users: Whole = np.zeros(0, np.int64)
        for share in self._shares:
            for texts in share.texts(buckets, at_least, part, parts):
                codes = counted.add(texts)
                more = np.bincount(codes, minlength=len(counted)).astype(np.int64)
                more[: len(users)] += users
                users = more
        # Here a text is counted by its bytes: what shares a bucket, or a hash, has nothing of it.
        enough = np.flatnonzero(users >= at_least)
        return counted.take(enough), users[enough]


def _keep_later(share: _Share, numbered: Future[tuple[Numbers, Words]], texts: pa.Array) -> None:
    share.keep(*numbered.result(), texts)


class _Share:
    """What some users keep: those whose number leaves `share` when divided by `shares`.

    What a user keeps is a matter of that user's rows alone, so it does not matter how many shares there are.
    """

    def __init__(self, share: int, shares: int, bound: Bound, *, raw: bool, users: int) -> None:
        self._share, self._shares, self._most, self._raw = share, shares, bound.most, raw
        self._salt, self._hasher = bound.item_salt, Hasher(bound.item_salt)
        users, most = max(users, _FIRST_USERS), bound.most
        self._sizes = np.zeros(users, np.int32)
        self._slots = np.empty(users * most, np.uint64)
        self._begins = np.empty(users * most, np.int64)
        self._lengths = np.empty(users * most, np.int32)
        size = min(max(users * most * _USUAL_BYTES, _FIRST_BYTES), _MOST_FIRST_BYTES)
        self._arena, self._used = np.empty(size, np.uint8), 0

    @property
    def entries(self) -> int:
        return int(self._sizes.sum())

    def keep(self, people: Numbers, owners: Words, texts: pa.Array) -> None:
        """Let users keep what they have in these rows; `owners` are the hashes of all users that have numbers."""
        self._make_room_for_users(len(owners) // self._shares + 1)
        other = self._offer(people, owners, texts, tested=not self._raw)
        if other.any():
            again = np.flatnonzero(other).astype(np.int32)
            distinct = TextCodes(self._salt + bytes([2]))
            codes = distinct.add(texts.take(pa.array(again)))
            forms = normal_forms(distinct.array()).take(pa.array(codes))
            self._offer(people[again], owners, forms, tested=True)

    def sketch(self, buckets: Numbers) -> None:
        """Count kept items by a part of their hashes."""
        bottom_k_kernels.sketched(self._sizes, self._most, self._slots, buckets)

    def texts(self, buckets: Numbers, at_least: int, part: int, parts: int) -> Iterator[pa.Array]:
        """Kept texts of one part, some at a time, of which so many users may keep each."""
        first = 0
        found = np.empty(max(_CHUNK, self._most), np.int64)
        while first < len(self._sizes):
            first, number, size = bottom_k_kernels.chosen(
                self._sizes,
                self._most,
                self._slots,
                self._lengths,
                buckets,
                at_least,
                part,
                parts,
                first,
                found,
                _MOST_BYTES,
            )
            yield self._gathered(found[:number], size)

    def _gathered(self, found: Whole, size: int) -> pa.Array:
        offsets, data = np.zeros(len(found) + 1, np.int32), np.empty(size, np.uint8)
        bottom_k_kernels.gathered(found, self._begins, self._lengths, self._arena, offsets, data)
        return pa.StringArray.from_buffers(len(found), *map(pa.py_buffer, (offsets, data)))

    def _offer(
        self, people: Numbers, owners: Words, texts: pa.Array, *, tested: bool
    ) -> npt.NDArray[np.bool_]:
        """Which of these texts are left, because they may not be in normal form."""
        data, offsets = parts_of(texts)
        self._make_room(int(offsets[-1] - offsets[0]))
        other = np.zeros(len(people), np.bool_)
        self._used = bottom_k_kernels.offered(
            data,
            offsets,
            people,
            self._hasher.keys(offsets),
            owners,
            self._share,
            self._shares,
            tested,
            self._most,
            self._sizes,
            self._slots,
            self._begins,
            self._lengths,
            self._arena,
            self._used,
            other,
        )
        return other

    def _make_room_for_users(self, number: int) -> None:
        size = len(self._sizes)
        if number <= size:
            return
        size = max(number, 2 * size)
        sizes = np.zeros(size, np.int32)
        sizes[: len(self._sizes)] = self._sizes
        self._sizes = sizes
        self._slots, self._begins, self._lengths = (
            resized(one, size * self._most) for one in (self._slots, self._begins, self._lengths)
        )

    def _make_room(self, more: int) -> None:
        """Room for so many bytes; texts that nobody keeps any more are left out first."""
        if self._used + more <= len(self._arena):
            return
        kept = bottom_k_kernels.size_of(self._sizes, self._most, self._lengths)
        into = np.empty(max(len(self._arena), _SPARE * (kept + more)), np.uint8)
        self._used = bottom_k_kernels.closed_up(
            self._sizes, self._most, self._begins, self._lengths, self._arena, into
        )
        self._arena = into
