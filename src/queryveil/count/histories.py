"""Users' histories in integer codes: the one structure that every method counts and selects from.

Rows of user and item arrive once, from any engine, and are dictionary-encoded. Each user's distinct items stand
together in one array, and at most as many as the bound allows are kept. Which ones a user keeps depends on that user's
rows and the key alone: rows, users, engines, threads, and memory change nothing of it. Neither does the bound change
the order: the items kept under a smaller bound are among those kept under a larger one.

Spark runs the same functions inside its tasks. Rows are partitioned by user: a task has all rows of its users, and
decides what they keep as one process would. Numbers of users per item leave a task, which Spark adds up, or histories
in codes; rows do not.
"""

from __future__ import annotations

import functools
import pickle
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.compiled import shares, side_by_side, threads
from queryveil.count import kernels
from queryveil.count.contribution import ALL, EVENTS, RANDOM, Bound
from queryveil.count.item_kinds import ItemKind
from queryveil.count.public_items import PublicItems
from queryveil.count.text_codes import MAX_TEXTS, NONE, QueryCodes, TextCodes, Vocabulary
from queryveil.errors import CannotBeMet, InputError, argument
from queryveil.files import memory

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.engine import Engine, Spark
    from queryveil.reading.log import SearchLog

Offsets = npt.NDArray[np.int64]
Pairs = npt.NDArray[np.int64]
"""A user's code and an item's code in one word, the user first: sorting brings a user's items together."""
Codes = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

_ITEM, _USER = (0, 1) if sys.byteorder == "little" else (1, 0)
_BYTES_PER_ROW = 64
"""What a row takes while rows become arrays: a pair, and its share of the distinct texts."""
_BYTES_PER_LISTED = 150
"""What an item of a public list takes in the rounds: its text, its code, sums, scores and noise."""
_SLICE = 1 << 22
"""Pairs that are worked on at a time, so that intermediate arrays stay small."""
_LOOKAHEAD = 4
"""Batches of rows that may wait to be encoded."""
_COUNTED_ROWS = 1 << 16
"""Counted items in a batch of a worker."""
_LAST = np.iinfo(np.int64).max


class UserCounts(Protocol):
    """What can say how many users keep each item."""

    def users_per_item(self, at_least: int = 1) -> pa.Table:
        """Return the items that at least so many users keep, with that number as `count`, ordered by keyed hash."""
        ...


@dataclass(frozen=True)
class Histories:
    """The items that user u keeps are `items[starts[u]:starts[u + 1]]`, each once, in the order of their codes."""

    starts: Offsets
    items: Codes
    kind: ItemKind
    vocabulary: Vocabulary
    different: int
    """How many items the log and a public list have; some are in no history, because the bound left them out."""
    listed: Flags | None = None
    """Which of them are on the public list; None without a list."""
    whole: tuple[Offsets, Codes] | None = None
    """Where each user's items start, and the items, before any bound: for counts of what is published."""

    def users_per_item(self, at_least: int = 1) -> pa.Table:
        """Return the items that at least so many users keep, with that number as `count`, ordered by keyed hash."""
        users = np.bincount(self.items, minlength=self.different)
        items = np.flatnonzero(users >= max(at_least, 1))
        return self.texts(items).append_column("count", pa.array(users[items], pa.int64()))

    def texts(self, items: npt.NDArray[np.integer]) -> pa.Table:
        """Return the columns of items, in the order of their codes."""
        return self.kind.split_columns(self.vocabulary.take(np.sort(items)))

    def find(self, texts: pa.Table) -> Offsets:
        """Return the codes of items by their columns; NONE for those that neither the log nor the list has."""
        return self.vocabulary.find(self.kind.join_columns(texts))

    def lengths(self) -> Offsets:
        """Return how many characters each item has, columns together."""
        import pyarrow.compute as pc

        texts = self.vocabulary.take(np.arange(self.different))
        lengths: Offsets = pc.utf8_length(texts).to_numpy() - (len(self.kind.columns) - 1)
        return lengths

    def among(self, texts: pa.Table) -> tuple[Offsets, Codes]:
        """Return whole histories, without a bound: where they start, and each item's place in `texts`, or NONE.

        It is for items that are published already: what a user has of them depends on that user's rows and on those.
        """
        if self.whole is None:
            raise TypeError("these histories were made without whole ones")
        found = self.find(texts)
        here = np.flatnonzero(found != NONE)
        place_of_item = np.full(self.different, NONE, np.int32)
        place_of_item[found[here]] = here
        starts, items = self.whole
        return starts, place_of_item[items]


def collect_histories(
    log: SearchLog,
    kind: ItemKind,
    bound: Bound,
    rows: ir.Table | None = None,
    *,
    listed: PublicItems | None = None,
) -> Histories:
    """Collect the histories of a log, each of at most `bound.most` items.

    Args:
        log: The log.
        kind: The kind of item.
        bound: How many items of a user are kept, and by which rule and key.
        rows: The occurrences of the kind that count, such as clicks on published queries; all of them if left out.
        listed: A public list, whose items have codes too, whether or not any user has them.
    """
    is_raw = rows is None and reads_only_queries(log, kind, bound)
    if log.engine.inside:
        encoded = _encode_rows(_read_batches(log, kind, bound, rows, is_raw=is_raw), bound, is_raw=is_raw)
    else:
        encoded = _encode_on_workers(
            log.engine, _item_rows(log, kind, bound, rows, is_raw=is_raw), bound, is_raw=is_raw
        )
    return _bound_histories(encoded, kind, bound, listed)


def collect_user_counts(
    log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None = None
) -> UserCounts:
    """Collect what is needed to count the users who keep each item; takes what `collect_histories` takes.

    A method that needs these counts alone uses it: a bottom-k sample holds only what users keep, so that it needs less
    memory than whole histories, and it keeps the same items.
    """
    is_raw = rows is None and reads_only_queries(log, kind, bound)
    if not log.engine.inside:
        return WorkerCounts(
            log.engine, _item_rows(log, kind, bound, rows, is_raw=is_raw), kind, bound, is_raw
        )
    batches = _read_batches(log, kind, bound, rows, is_raw=is_raw)
    return count_batches(batches, kind, bound, is_raw=is_raw, users=(log.staged and log.staged.users) or 0)


def count_users(
    log: SearchLog, kind: ItemKind, at_least: int = 1, rows: ir.Table | None = None, *, salt: bytes = b""
) -> pa.Table:
    """Return the items that at least so many users have, with that number as `count`; no bound leaves any out.

    `rows` are those of `collect_histories`.
    """
    return collect_user_counts(log, kind, Bound(most=ALL, salt=salt), rows).users_per_item(at_least)


def count_batches(
    batches: Iterator[pa.RecordBatch],
    kind: ItemKind,
    bound: Bound,
    *,
    is_raw: bool,
    users: int = 0,
    parts: int | None = None,
) -> UserCounts:
    """Collect the same from rows: of user and query as they were read if `is_raw`, otherwise those of `item_rows`.

    `users` is their number, if it is known. A bottom-k sample divides them into `parts`, one for each core by default.
    """
    if bound.keep != RANDOM or bound.most >= ALL:
        return _bound_histories(_encode_rows(batches, bound, is_raw=is_raw), kind, bound)
    from queryveil.count.bottom_k import BottomK

    sample = BottomK(kind, bound, is_raw=is_raw, users=users, parts=parts)
    sample.add_batches(batches)
    return sample


def reads_only_queries(log: SearchLog, kind: ItemKind, bound: Bound) -> bool:
    """Whether users and queries, as the source has them, are all that is read of a log.

    Each distinct query is then normalized once, where it is encoded.
    """
    return kind.is_query and log.is_as_read and bound.keep == RANDOM


def item_rows(log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None) -> ir.Table:
    """Return rows of user and item as one text; and of time, if the rule that keeps items looks at it."""
    found = kind.rows(log) if rows is None else rows
    found = found.filter(found[kind.columns[0]] != "")
    is_timed = "time" in found.columns
    if bound.keep in ("first", EVENTS) and not is_timed:
        raise InputError(
            "keeping each user's first items needs a 'time' column, and the log has none",
            f"name it with {argument('columns', {'time': '...'})}, or use {argument('keep', 'random')}",
        )
    return kind.item_rows(found, *(("time",) if is_timed and bound.keep != RANDOM else ()))


def refuse_too_many(log: SearchLog, listed: PublicItems | None = None) -> None:
    """Refuse a log whose histories cannot fit into the memory that this process may have."""
    limit = memory.available_memory()
    needed = log.rows * _BYTES_PER_ROW + (listed.items * _BYTES_PER_LISTED if listed else 0)
    if needed > limit:
        whose = f"{log.users:,} users" + (f" and {listed.items:,} public items" if listed else "")
        raise CannotBeMet(
            f"the histories of {whose} need about {needed / 1e9:.0f} GB of memory, and there are {limit / 1e9:.0f} GB",
            "use a machine with more memory, part of the log, or zealous, which needs less",
        )


def refuse_too_many_items(different: int) -> None:
    """Refuse more items than codes of 31 bits can tell apart."""
    if different >= MAX_TEXTS:
        raise CannotBeMet(
            f"the log has {different:,} different items, and fewer than 2^31 can be told apart",
            "count items of another kind, or use part of the log",
        )


@dataclass(frozen=True)
class Encoded:
    """Rows in codes, which count up in the order in which texts arrived."""

    pairs: Pairs
    times: Offsets | None
    """When the user had the item, if the rule that keeps items needs it; in a log without times, the row's number."""
    users: Hashes
    """By code, the keyed hash of the user."""
    items: TextCodes


def _item_rows(
    log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None, *, is_raw: bool
) -> ir.Table:
    return log.raw_table if is_raw else item_rows(log, kind, bound, rows)


def _read_batches(
    log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None, *, is_raw: bool
) -> Iterator[pa.RecordBatch]:
    return log.raw_rows() if is_raw else log.engine.batches(item_rows(log, kind, bound, rows))


def _encode_rows(batches: Iterator[pa.RecordBatch], bound: Bound, *, is_raw: bool) -> Encoded:
    """Encode rows as they arrive, users and items in a thread each."""
    users = TextCodes(bound.user_salt)
    items = QueryCodes(bound.item_salt) if is_raw else TextCodes(bound.item_salt)
    parts: list[Pairs] = []
    times: list[Offsets] = []
    waiting: deque[Future[None]] = deque()

    def encode(texts: TextCodes, column: pa.Array, into: Codes) -> None:
        into[:] = texts.add(column)

    with ThreadPoolExecutor(1) as user_thread, ThreadPoolExecutor(1) as item_thread:
        for batch in batches:
            codes = np.empty((batch.num_rows, 2), np.int32)
            waiting.append(user_thread.submit(encode, users, batch.column(0), codes[:, _USER]))
            waiting.append(item_thread.submit(encode, items, batch.column(1), codes[:, _ITEM]))
            parts.append(codes.view(np.int64)[:, 0])
            if batch.num_columns > 2:
                times.append(_as_numbers(batch.column(2)))
            while len(waiting) > 2 * _LOOKAHEAD:
                waiting.popleft().result()
        while waiting:
            waiting.popleft().result()
    pairs = _concatenate(parts)
    if bound.keep == RANDOM:
        return Encoded(pairs, None, users.hashes, items)
    return Encoded(pairs, _concatenate(times) if times else np.arange(len(pairs)), users.hashes, items)


def _bound_histories(
    encoded: Encoded, kind: ItemKind, bound: Bound, listed: PublicItems | None = None
) -> Histories:
    """Keep of each user's distinct items as many as the bound allows."""
    listed_codes = None if listed is None else TextCodes.add(encoded.items, kind.join_columns(listed.rows))
    vocabulary, order = Vocabulary.of(encoded.items), np.argsort(encoded.users, kind="stable")
    refuse_too_many_items(len(vocabulary))
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    _renumber_all(encoded.pairs, places, vocabulary.places)
    if encoded.times is None:
        pairs, ranks = _distinct_pairs(encoded.pairs), None
    else:
        pairs, ranks = _ranked_pairs(encoded.pairs, encoded.times, bound)
    owners, starts, found = _group_by_user(pairs)
    del pairs
    kept = _keep_bottom_k(starts, found, ranks, bound.most, encoded.users[order[owners]], vocabulary.hashes)
    flags = None
    if listed is not None and listed_codes is not None:
        flags = _listed_flags(vocabulary.places[listed_codes], len(vocabulary), listed)
    return Histories(*kept, kind, vocabulary, len(vocabulary), flags, (starts, found))


def _as_numbers(times: pa.Array) -> Offsets:
    numbers: Offsets = times.cast(pa.int64()).fill_null(_LAST).to_numpy()
    return numbers


def _concatenate(parts: list[Offsets]) -> Offsets:
    """Join arrays and free each one as it is copied."""
    whole = np.empty(sum(map(len, parts)), np.int64)
    end = len(whole)
    while parts:
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole


def _renumber_all(pairs: Pairs, users: Codes, items: Codes) -> None:
    """Replace the codes in pairs by others, which stand where the codes say."""
    side_by_side(_renumber_pairs, [(pairs, users, items, *share) for share in shares(len(pairs))])


def _renumber_pairs(pairs: Pairs, users: Codes, items: Codes, begin: int, end: int) -> None:
    for at in range(begin, end, _SLICE):
        codes = pairs[at : min(at + _SLICE, end)].view(np.int32).reshape(-1, 2)
        codes[:, _USER] = users[codes[:, _USER]]
        codes[:, _ITEM] = items[codes[:, _ITEM]]


def _item_codes(pairs: Pairs) -> Codes:
    codes: Codes = pairs.view(np.int32).reshape(-1, 2)[:, _ITEM]
    return codes


def _user_codes(pairs: Pairs) -> Codes:
    codes: Codes = pairs.view(np.int32).reshape(-1, 2)[:, _USER]
    return codes


def _distinct_pairs(pairs: Pairs) -> Pairs:
    """Sort pairs where they are, and leave each one once; pairs without an item are left out.

    [C1] of docs/proofs/steered.md: an item of a user counts once.
    """
    middle = len(pairs) // 2
    if middle:
        pairs.partition(middle)
    side_by_side(np.ndarray.sort, [(pairs[:middle],), (pairs[middle:],)])
    size, last = 0, np.int64(-1)
    for at in range(0, len(pairs), _SLICE):
        part = pairs[at : at + _SLICE]
        is_new = np.diff(part, prepend=last) != 0
        last = part[-1]
        part = part[is_new & (_item_codes(part) != NONE)]
        pairs[size : size + len(part)] = part
        size += len(part)
    return pairs[:size]


def _distinct_events(pairs: Pairs, times: Offsets) -> tuple[Pairs, Offsets]:
    """Sort pairs by time, and leave each pair of one time once."""
    order = np.lexsort((times, pairs))
    pairs, times = pairs[order], times[order]
    is_event = (np.diff(pairs, prepend=np.int64(-1)) != 0) | (np.diff(times, prepend=np.int64(0)) != 0)
    return pairs[is_event], times[is_event]


def _ranked_pairs(pairs: Pairs, times: Offsets, bound: Bound) -> tuple[Pairs, Offsets]:
    """Sort pairs and leave each one once, with its rank among the user's items by the rule of the bound.

    A row of a user, an item and a time is one event however often the log has it. `first` ranks items by their first
    event, `frequent` by their number of events. `EVENTS` keeps every event as an item of its own.
    """
    pairs, times = _distinct_events(pairs, times)
    if bound.keep == EVENTS:
        return pairs, times
    first = np.flatnonzero(np.diff(pairs, prepend=np.int64(-1)))
    if bound.keep == "first":
        return pairs[first], times[first]
    return pairs[first], -np.diff(first, append=len(pairs))


def _group_by_user(pairs: Pairs) -> tuple[Codes, Offsets, Codes]:
    """Return users that have items, where the items of each start, and the items, from pairs in order."""
    users = _user_codes(pairs)
    first = np.flatnonzero(np.diff(users, prepend=np.int32(NONE)))
    starts = np.append(first, len(pairs)).astype(np.int64)
    return users[first], starts, _item_codes(pairs).copy()


def _keep_bottom_k(
    starts: Offsets, items: Codes, ranks: Offsets | None, most: int, owners: Hashes, hashes: Hashes
) -> tuple[Offsets, Codes]:
    """Keep of each user's items the first by rank, if there are ranks, and then by keyed hash of user and item.

    `owners` and `hashes` are the hashes of users and of items.
    """
    sizes = np.diff(starts)
    heavy = np.flatnonzero(sizes > most)
    if not heavy.size:
        return starts, items
    is_kept = np.ones(len(items), np.bool_)
    by = np.empty(0, np.int64) if ranks is None else ranks
    parts = np.array_split(heavy, threads())
    side_by_side(
        kernels.drop_beyond, [(part, starts, items, by, most, owners, hashes, is_kept) for part in parts]
    )
    kept = np.zeros(len(starts), np.int64)
    np.cumsum(np.minimum(sizes, most), out=kept[1:])
    return kept, items[is_kept]


def _listed_flags(codes: npt.NDArray[np.integer], different: int, listed: PublicItems) -> Flags:
    """Flag the items of the list. All of them have a code, or some would have no noise of their own."""
    flags = np.zeros(different, np.bool_)
    if not np.any(codes == NONE):
        flags[codes] = True
    if int(flags.sum()) != listed.items:
        raise TypeError("every item of a public list has a code of its own")
    return flags


# -- inside the tasks of Spark -----------------------------------------------------------------------------


@dataclass(frozen=True)
class WorkerCounts:
    """Users per item, which tasks count and Spark adds up, each time that they are asked for."""

    engine: Engine
    rows: ir.Table
    kind: ItemKind
    bound: Bound
    is_raw: bool

    def users_per_item(self, at_least: int = 1) -> pa.Table:
        """Return the items that at least so many users keep, with that number as `count`, ordered by keyed hash."""
        columns = list(self.kind.columns)
        types = ", ".join([*(f"{column} string" for column in columns), "count bigint"])
        task = functools.partial(_count_task, kind=self.kind, bound=self.bound, is_raw=self.is_raw)
        counted = cast("Spark", self.engine).map_batches(self.rows, task, types, by="user")
        # Each user is in one task, so that no user is counted twice for an item.
        total = counted.group_by(columns).aggregate(count=counted["count"].sum())
        found = self.engine.arrow(total.filter(total["count"] >= max(at_least, 1)))
        codes = TextCodes(self.bound.item_salt)
        return found.take(pa.array(codes.sort_by_hash(codes.add(self.kind.join_columns(found)))))


def _encode_on_workers(engine: Engine, rows: ir.Table, bound: Bound, *, is_raw: bool) -> Encoded:
    """Encode rows in tasks, and bring their codes together; each distinct text comes once from each task."""
    spark = cast("Spark", engine)
    task = functools.partial(_encode_task, bound=bound, is_raw=is_raw)
    kept = spark.keep(spark.map_batches(rows, task, "part binary", by="user"))
    items, number = TextCodes(bound.item_salt), 0
    users: list[Hashes] = [np.empty(0, np.uint64)]
    pairs: list[Pairs] = []
    times: list[Offsets] = []
    try:
        for batch in spark.batches(kept):
            for value in batch.column(0):
                # From workers that this process sent the function to.
                part: _Part = pickle.loads(value.as_buffer())  # noqa: S301
                # A user is in one task, so that users of different tasks are different users.
                people = np.arange(number, number + len(part.users), dtype=np.int32)
                _renumber_all(part.pairs, people, items.add(part.items))
                number += len(people)
                users.append(part.users)
                pairs.append(part.pairs)
                if part.times is not None:
                    times.append(part.times)
    finally:
        spark.drop(kept)
    whole = _concatenate(times) if times else None
    return Encoded(_concatenate(pairs), whole, np.concatenate(users), items)


@dataclass(frozen=True)
class _Part:
    """What a task encoded: its users, the texts of its items, and pairs of places among these, with times if any."""

    users: Hashes
    items: pa.Array
    pairs: Pairs
    times: Offsets | None


def _count_task(
    batches: Iterator[pa.RecordBatch], *, kind: ItemKind, bound: Bound, is_raw: bool
) -> Iterator[pa.RecordBatch]:
    """On a worker: count the users of this task."""
    # As many tasks run side by side as there are cores, so that each has one part.
    counted = count_batches(batches, kind, bound, is_raw=is_raw, parts=1)
    yield from counted.users_per_item().to_batches(_COUNTED_ROWS)


def _encode_task(
    batches: Iterator[pa.RecordBatch], *, bound: Bound, is_raw: bool
) -> Iterator[pa.RecordBatch]:
    """On a worker: encode the rows of this task, and drop their repeats."""
    encoded = _encode_rows(batches, bound, is_raw=is_raw)
    vocabulary, pairs, times = Vocabulary.of(encoded.items), encoded.pairs, encoded.times
    _renumber_all(pairs, np.arange(len(encoded.users), dtype=np.int32), vocabulary.places)
    if times is None:
        pairs = _distinct_pairs(pairs)
    else:
        pairs, times = _distinct_events(pairs, times)
    part = _Part(encoded.users, vocabulary.take(np.arange(len(vocabulary))), pairs, times)
    yield pa.record_batch([pa.array([pickle.dumps(part)], pa.binary())], names=["part"])
