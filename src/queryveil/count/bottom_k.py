"""How many users keep each item, by a bottom-k sample: each user's items with the smallest keys, while rows are read.

It keeps what `histories` keeps: of each user's distinct items those with the smallest keyed hashes, and then by their
bytes. It needs memory for the items that users keep and not for all that they had, and texts are counted only if
enough users may have them to reach a threshold.
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
from queryveil.count import bottom_k_kernels as kernels
from queryveil.count import item_kinds
from queryveil.count.contribution import Bound
from queryveil.count.item_kinds import ItemKind
from queryveil.count.text_codes import TextCodes, normal_forms
from queryveil.reading.text_hashes import Hasher, parts_of

Offsets = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint64]

_LOOKAHEAD = 4
"""Batches of rows that may wait."""
_FIRST_USERS = 1 << 12
_FIRST_WORDS, _MOST_FIRST_WORDS = 1 << 17, 1 << 24
_USUAL_WORDS = 8
"""Room for a text and for those that it replaces; memory that is never written to costs nothing."""
_SPARE = 1.5
"""The arena is this many times the words that are kept, before replaced texts are dropped from it again."""
_CHUNK = 1 << 18
"""Texts that are counted at a time."""
_MOST_BYTES = 1 << 30
"""Bytes of texts that are counted at a time: offsets among them have 32 bits."""
_MOST_BUCKETS = 1 << 24


def warm_up() -> Iterator[None]:
    """Load the kernels one after the other, by counting two made-up texts."""
    user = pa.array(["user"]).dictionary_encode()
    sample = BottomK(item_kinds.kind("queries"), Bound(most=1), is_raw=True)
    for text in ("a", "A", "\u00c4"):
        sample.add(user, pa.array([text]))
        yield
    sample.users_per_item()
    yield


class BottomK:
    """The items that each user keeps. If the number of `users` is known, all have room at once.

    Users are divided into `parts`, one for each core by default.
    """

    def __init__(
        self, kind: ItemKind, bound: Bound, *, is_raw: bool, users: int = 0, parts: int | None = None
    ) -> None:
        self._kind, self._salt = kind, bound.item_salt
        self._users = TextCodes(bound.user_salt)
        number = parts or threads()
        self._shares = [
            _Share(share, number, bound, is_raw=is_raw, users=users // number + 1) for share in range(number)
        ]

    def add_batches(self, rows: Iterator[pa.RecordBatch]) -> None:
        """Add rows of user and item. Users are encoded in one thread, and items kept in others, each for some users."""
        waiting: deque[Future[None]] = deque()
        with ExitStack() as stack:
            encoding, *keeping = (
                stack.enter_context(ThreadPoolExecutor(1)) for _ in range(1 + len(self._shares))
            )
            for batch in rows:
                users, texts = batch.columns
                encoded = encoding.submit(self._encode, users)
                for thread, share in zip(keeping, self._shares, strict=True):
                    waiting.append(thread.submit(_keep_encoded, share, encoded, texts))
                while len(waiting) > _LOOKAHEAD * len(self._shares):
                    waiting.popleft().result()
            while waiting:
                waiting.popleft().result()

    def add(self, users: pa.Array, texts: pa.Array) -> None:
        """Add rows of a user and an item each."""
        people, owners = self._encode(users)
        for share in self._shares:
            share.keep(people, owners, texts)

    def users_per_item(self, at_least: int = 1) -> pa.Table:
        """Return the items that at least so many users keep, with that number as `count`, ordered by keyed hash."""
        at_least = max(at_least, 1)
        buckets, parts = self._count_buckets(), len(self._shares)
        found = side_by_side(self._count_part, [(buckets, at_least, part, parts) for part in range(parts)])
        # Texts of different parts have different hashes, so that no text comes twice.
        together, users = TextCodes(self._salt), np.concatenate([users for _, users in found])
        for texts, _ in found:
            together.add(texts)
        codes = together.sort_by_hash(np.arange(len(users), dtype=np.int32))
        items = self._kind.split_columns(together.take(codes))
        return items.append_column("count", pa.array(users[codes], pa.int64()))

    def _encode(self, users: pa.Array) -> tuple[Codes, Hashes]:
        """Return the codes of users, and the hashes of all that have codes by then."""
        return self._users.add(users), self._users.hashes

    def _count_buckets(self) -> Codes:
        """Count kept items by the ends of their hashes: no item has more users than its bucket has items."""
        items = sum(share.items for share in self._shares)
        size = 1 << min(max(items, 1).bit_length() + 1, _MOST_BUCKETS.bit_length() - 1)
        made = [np.zeros(size, np.int32) for _ in self._shares]
        side_by_side(_Share.count_buckets, list(zip(self._shares, made, strict=True)))
        for other in made[1:]:
            made[0] += other
        return made[0]

    def _count_part(self, buckets: Codes, at_least: int, part: int, parts: int) -> tuple[pa.Array, Offsets]:
        """Return the texts that at least so many users keep, with their number, of one part of all hashes."""
        counted = TextCodes(self._salt)
        users: Offsets = np.zeros(0, np.int64)
        for share in self._shares:
            for texts in share.texts(buckets, at_least, part, parts):
                codes = counted.add(texts)
                more = np.bincount(codes, minlength=len(counted)).astype(np.int64)
                more[: len(users)] += users
                users = more
        # A text is counted by its bytes: others that share its bucket, or its hash, add nothing to it.
        enough = np.flatnonzero(users >= at_least)
        return counted.take(enough), users[enough]


def _keep_encoded(share: _Share, encoded: Future[tuple[Codes, Hashes]], texts: pa.Array) -> None:
    share.keep(*encoded.result(), texts)


class _Share:
    """What some users keep: those whose code leaves `share` when divided by `shares`.

    What a user keeps depends on that user's rows alone, so it does not matter how many shares there are.
    """

    def __init__(self, share: int, shares: int, bound: Bound, *, is_raw: bool, users: int) -> None:
        self._share, self._shares, self._most, self._is_raw = share, shares, bound.most, is_raw
        self._hasher = Hasher(bound.item_salt)
        users = max(users, _FIRST_USERS)
        slots = users * min(bound.most, kernels.FEW_SLOTS)
        self._heads = np.zeros((users, 3), np.int64)
        self._hashes, self._begins = np.empty(slots, np.uint64), np.empty(slots, np.int64)
        self._used_slots = 0
        size = min(max(slots * _USUAL_WORDS, _FIRST_WORDS), _MOST_FIRST_WORDS)
        self._arena, self._used = np.empty(size, np.uint64), 0

    @property
    def items(self) -> int:
        """How many items all users keep together."""
        return int(self._heads[:, kernels.USED].sum())

    def keep(self, people: Codes, owners: Hashes, texts: pa.Array) -> None:
        """Let users keep what they have in these rows; `owners` are the hashes of all users that have codes."""
        users = len(owners) // self._shares + 1
        if users > len(self._heads):
            self._heads.resize((max(users, 2 * len(self._heads)), 3), refcheck=False)  # with zeros
        rest = self._keep_normal(people, owners, texts, is_normal=not self._is_raw)
        if rest.size:
            forms = normal_forms(texts.take(pa.array(rest)))
            self._keep_normal(people[rest], owners, forms, is_normal=True)

    def count_buckets(self, buckets: Codes) -> None:
        """Count kept items by a part of their hashes."""
        kernels.count_buckets(self._heads, self._hashes, buckets)

    def texts(self, buckets: Codes, at_least: int, part: int, parts: int) -> Iterator[pa.Array]:
        """Yield the kept texts of one part that so many users may keep, some at a time."""
        user = nth = 0
        found = np.empty(_CHUNK, np.int64)
        while user < len(self._heads):
            tables = (self._heads, self._hashes, self._begins, self._arena, buckets)
            user, nth, number, size = kernels.select_slots(
                *tables, at_least, part, parts, user, nth, found, _MOST_BYTES
            )
            yield self._copy_texts(found[:number], size)

    def _copy_texts(self, slots: Offsets, size: int) -> pa.Array:
        offsets, data = np.zeros(len(slots) + 1, np.int32), np.empty(size, np.uint8)
        kernels.copy_texts(slots, self._begins, self._arena, offsets, data)
        return pa.StringArray.from_buffers(len(slots), *map(pa.py_buffer, (offsets, data)))

    def _keep_normal(self, people: Codes, owners: Hashes, texts: pa.Array, *, is_normal: bool) -> Codes:
        """Keep texts that are in normal form; return the rows of those that may not be."""
        data, offsets = parts_of(texts)
        keys, denormalized = self._hasher.keys(offsets), np.zeros(len(people), np.bool_)
        row = 0
        while True:
            row, self._used_slots, self._used, slots = kernels.keep_texts(
                *(data, offsets, people, keys, owners, row, self._share, self._shares, is_normal, self._most),
                *(self._heads, self._hashes, self._begins, self._used_slots),
                *(self._arena, self._used, denormalized),
            )
            if row == len(people):
                return np.flatnonzero(denormalized).astype(np.int32)
            # A text takes a word for its head, and one that may not be full.
            self._make_room(slots, 2 * (len(people) - row) + int(offsets[-1] - offsets[row]) // 8)

    def _make_room(self, slots: int, words: int) -> None:
        """Make room for so many slots and words; replaced texts are dropped first.

        Arrays grow where they are, without a copy beside them, so that twice their size need not fit into memory.
        """
        if self._used_slots + slots > len(self._hashes):
            size = max(3 * len(self._hashes) // 2, self._used_slots + slots)
            self._hashes.resize(size, refcheck=False)
            self._begins.resize(size, refcheck=False)
        if self._used + words > len(self._arena):
            self._used = kernels.compact(self._heads, self._begins, self._arena, self._used)
            if (size := int(_SPARE * (self._used + words))) > len(self._arena):
                self._arena.resize(size, refcheck=False)
