"""Users' histories in integer codes: the one structure that every method counts and selects from.

Rows of user and item arrive once, from any engine, and are dictionary-encoded. Each user's distinct items stand
together in one array, and at most as many as the bound allows are kept. Which ones a user keeps depends on that user's
rows and the key alone: rows, users, engines, threads, and memory change nothing of it. Neither does the bound change
the order: the items kept under a smaller bound are among those kept under a larger one.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.compiled import shares, side_by_side
from queryveil.count import kernels
from queryveil.count.contribution import EVENTS, RANDOM, Bound
from queryveil.count.item_kinds import ItemKind
from queryveil.count.public_items import PublicItems
from queryveil.count.text_codes import MAX_TEXTS, NONE, QueryCodes, TextCodes, Vocabulary
from queryveil.errors import CannotBeMet, InputError
from queryveil.files import memory

if TYPE_CHECKING:
    import ibis.expr.types as ir

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
    log: SearchLog
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
    users = TextCodes(bound.user_salt)
    is_raw = rows is None and reads_only_queries(log, kind, bound)
    items = QueryCodes(bound.item_salt) if is_raw else TextCodes(bound.item_salt)
    batches = log.raw_rows() if is_raw else item_batches(log, kind, bound, rows)
    pairs, times = _encode_rows(batches, users, items)
    listed_codes = None if listed is None else TextCodes.add(items, kind.join_columns(listed.rows))
    people, vocabulary = Vocabulary.of(users), Vocabulary.of(items)
    refuse_too_many_items(len(vocabulary))
    parts = [(pairs, people.places, vocabulary.places, *share) for share in shares(len(pairs))]
    side_by_side(_renumber, parts)
    pairs, ranks = _distinct_pairs(pairs) if bound.keep == RANDOM else _ranked_pairs(pairs, times, bound)
    owners, starts, found = _group_by_user(pairs)
    del pairs, times
    kept = _keep(starts, found, ranks, bound.most, people.hashes[owners], vocabulary.hashes)
    flags = None
    if listed is not None and listed_codes is not None:
        flags = _flags(vocabulary.places[listed_codes], len(vocabulary), listed)
    return Histories(*kept, kind, log, vocabulary, len(vocabulary), flags, (starts, found))


def collect_user_counts(
    log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None = None
) -> UserCounts:
    """Collect what is needed to count the users who keep each item; takes what `collect_histories` takes.

    A method that needs these counts alone uses it: a bottom-k sample holds only what users keep, so that it needs less
    memory than whole histories, and it keeps the same items.
    """
    from queryveil.count.bottom_k import BottomK

    if bound.keep != RANDOM or not log.engine.inside:
        return collect_histories(log, kind, bound, rows)
    is_raw = rows is None and reads_only_queries(log, kind, bound)
    known_users = (log.staged and log.staged.users) or 0
    sample = BottomK(kind, bound, is_raw=is_raw, users=known_users)
    sample.add_batches(log.raw_rows() if is_raw else item_batches(log, kind, bound, rows))
    return sample


def reads_only_queries(log: SearchLog, kind: ItemKind, bound: Bound) -> bool:
    """Whether users and queries, as the source has them, are all that is read of a log.

    Each distinct query is then normalized once, in this process.
    """
    return log.engine.inside and kind.is_query and log.is_as_read and bound.keep == RANDOM


def item_batches(
    log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None
) -> Iterator[pa.RecordBatch]:
    """Read rows of user and item as one text; and of time, if the rule that keeps items looks at it."""
    found = kind.occurrences(log) if rows is None else rows
    is_timed = "time" in found.columns
    if bound.keep in ("first", EVENTS) and not is_timed:
        raise InputError(
            "keeping each user's first items needs a 'time' column, and the log has none",
            "name it with --columns time=..., or use --keep random",
        )
    more = ("time",) if is_timed and bound.keep != RANDOM else ()
    found = kind.item_rows(found, *more)
    # An engine elsewhere sends each row once, unless repeats of rows without a time are what is counted.
    if not log.engine.inside and (more or bound.keep == RANDOM):
        found = found.distinct()
    return log.engine.batches(found)


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


def refuse_too_many_items(different: int) -> None:
    """Refuse more items than codes of 31 bits can tell apart."""
    if different >= MAX_TEXTS:
        raise CannotBeMet(
            f"the log has {different:,} different items, and fewer than 2^31 can be told apart",
            "count items of another kind, or use part of the log",
        )


def _encode_rows(
    batches: Iterator[pa.RecordBatch], users: TextCodes, items: TextCodes
) -> tuple[Pairs, Offsets | None]:
    """Encode rows as they arrive, users and items in a thread each; return pairs, and times if there are any."""
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
    return _joined(parts), _joined(times) if times else None


def _as_numbers(times: pa.Array) -> Offsets:
    numbers: Offsets = times.cast(pa.int64()).fill_null(_LAST).to_numpy()
    return numbers


def _joined(parts: list[Offsets]) -> Offsets:
    """Join arrays and free each one as it is copied."""
    whole = np.empty(sum(map(len, parts)), np.int64)
    end = len(whole)
    while parts:
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole


def _renumber(pairs: Pairs, users: Codes, items: Codes, begin: int, end: int) -> None:
    """Replace the codes in some pairs by places in vocabularies."""
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


def _distinct_pairs(pairs: Pairs) -> tuple[Pairs, None]:
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
    return pairs[:size], None


def _ranked_pairs(pairs: Pairs, times: Offsets | None, bound: Bound) -> tuple[Pairs, Offsets]:
    """Sort pairs and leave each one once, with its rank among the user's items by the rule of the bound.

    A row of a user, an item and a time is one event however often the log has it. In a log without times, every row is
    an event. `first` ranks items by their first event, `frequent` by their number of events. `EVENTS` keeps every event
    as an item of its own.
    """
    if times is None:
        times = np.arange(len(pairs))
    order = np.lexsort((times, pairs))
    pairs, times = pairs[order], times[order]
    is_pair = np.diff(pairs, prepend=np.int64(-1)) != 0
    is_event = is_pair | (np.diff(times, prepend=np.int64(0)) != 0)
    if bound.keep == EVENTS:
        return pairs[is_event], times[is_event]
    first = np.flatnonzero(is_pair)
    if bound.keep == "first":
        return pairs[first], times[first]
    return pairs[first], -np.add.reduceat(is_event, first, dtype=np.int64) if first.size else first


def _group_by_user(pairs: Pairs) -> tuple[Codes, Offsets, Codes]:
    """Return users that have items, where the items of each start, and the items, from pairs in order."""
    users = _user_codes(pairs)
    first = np.flatnonzero(np.diff(users, prepend=np.int32(NONE)))
    starts = np.append(first, len(pairs)).astype(np.int64)
    return users[first], starts, _item_codes(pairs).copy()


def _keep(
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
    ends = np.cumsum(sizes[heavy])
    cuts = np.unique(np.searchsorted(ends, np.arange(0, ends[-1], _SLICE)))
    slices = np.split(heavy, cuts[1:])
    side_by_side(
        _drop_beyond, [(part, starts, items, ranks, most, owners, hashes, is_kept) for part in slices]
    )
    kept = np.zeros(len(starts), np.int64)
    np.cumsum(np.minimum(sizes, most), out=kept[1:])
    return kept, items[is_kept]


def _drop_beyond(
    users: Offsets,
    starts: Offsets,
    items: Codes,
    ranks: Offsets | None,
    most: int,
    owners: Hashes,
    hashes: Hashes,
    is_kept: Flags,
) -> None:
    """Flag the items of some users that the bound leaves out."""
    sizes = starts[users + 1] - starts[users]
    begins = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(users)), sizes)
    nth = np.arange(len(owner)) - begins[owner]
    places = starts[users][owner] + nth
    keys = kernels.selection_keys(owners[users][owner], hashes[items[places]])
    # [C6] of docs/proofs/steered.md: a stable sort leaves equal keys in the order of their items.
    by = (keys, owner) if ranks is None else (keys, ranks[places], owner)
    is_kept[places[np.lexsort(by)[nth >= most]]] = False


def _flags(codes: npt.NDArray[np.integer], different: int, listed: PublicItems) -> Flags:
    """Flag the items of the list. All of them have a code, or some would have no noise of their own."""
    flags = np.zeros(different, np.bool_)
    if not np.any(codes == NONE):
        flags[codes] = True
    if int(flags.sum()) != listed.items:
        raise TypeError("every item of a public list has a code of its own")
    return flags
