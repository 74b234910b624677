"""Dictionary encoding of users and items: rows come once, as a stream, and texts are told apart by their bytes.

Numbers are places in the order of keyed hashes of texts, so that neither the order of rows nor the engine changes them.
`text_loops` says why texts with equal hashes change nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import contribution, grouping, text_loops
from queryveil.count.contribution import Bound
from queryveil.count.grouping import Grouped
from queryveil.count.item_kinds import ItemKind
from queryveil.count.public_items import PublicItems
from queryveil.count.texts import Texts, normal_forms
from queryveil.errors import CannotBeMet

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.engine import Engine
    from queryveil.reading.log import SearchLog

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

BITS = 32
"""A user's number and an item's number are one word: user first, so that sorting words puts a user's items together."""
LOW = (1 << BITS) - 1
_MOST_NUMBERS = 1 << 31
_CHUNK = 1 << 18
"""Texts that are normalized at a time, so that few are Python's."""
_AHEAD = 4
"""Batches of rows that may wait to be numbered."""
_NONE = -1
"""The number of a text that is no item."""


@dataclass(frozen=True)
class Numbered:
    """Who has which items."""

    kept: tuple[Whole, Numbers]
    """Where the items of each user begin, and the items, each once; at most as many as the bound allows."""
    whole: tuple[Whole, Numbers]
    """The same before any bound."""
    items: Items
    listed: Numbers | None
    """The number of each item of the public list."""


def numbered(
    log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None, listed: PublicItems | None
) -> Numbered:
    """The numbers of a log; `rows` are those of its occurrences that count, if not all do."""
    keyed_here = _keyed_here(bound)
    # A query is put into its normal form once for each different text, and not once for each row.
    raw = rows is None and kind.is_query and log.is_as_read and log.engine.inside
    if raw and keyed_here:
        made = _Numbering.of(kind, bound, log.raw_rows(), listed, raw=True)
        return made.numbered(made.keyed(bound.most))
    found = kind.occurrences(log) if rows is None else rows
    timed = ("time",) if bound.keep != "random" and "time" in found.columns else ()
    found = found.select("user", *kind.columns, *timed).drop_null(list(kind.columns))
    twice = not (raw or keyed_here)
    if twice:  # rows of users with too many items are gone over again
        found = log.engine.put_aside(found, log.workspace)
    try:
        pairs = found.select("user", *kind.columns)
        # An engine elsewhere sends each user's items once.
        batches = (
            log.raw_rows() if raw else log.engine.batches(pairs if log.engine.inside else pairs.distinct())
        )
        made = _Numbering.of(kind, bound, batches, listed, raw=raw)
        return made.numbered(
            made.keyed(bound.most) if keyed_here else _bounded(log, found, kind, bound, made)
        )
    finally:
        if twice:
            log.engine.drop(found)


def in_one_pass(log: SearchLog, kind: ItemKind, bound: Bound) -> bool:
    """Whether a single pass over users and queries is all that is read of a log."""
    return log.engine.inside and kind.is_query and log.is_as_read and _keyed_here(bound)


def _keyed_here(bound: Bound) -> bool:
    return bound.keep == "random" and bound.order_key == "engine"


def refuse_too_many_items(different: int) -> None:
    """Sets of queries can be far more than rows, and numbers have 31 bits."""
    if different >= _MOST_NUMBERS:
        raise CannotBeMet(
            f"the log has {different:,} different items, and fewer than 2^31 can be told apart",
            "count items of another kind, or use part of the log",
        )


def distinct(words: Whole) -> Whole:
    """Words in order, each once; they are sorted where they are."""
    words.sort()
    # [C1] Each item of a user counts once: docs/proofs/steered.md.
    first = np.empty(words.size, np.bool_)
    first[:1] = True
    np.not_equal(words[1:], words[:-1], out=first[1:])
    return words[first]


def cut(words: Whole) -> tuple[Whole, Numbers]:
    """Where the items of each user begin, and the items."""
    if not words.size:
        return np.zeros(1, np.int64), np.empty(0, np.int32)
    starts = np.flatnonzero(np.diff(words >> BITS, prepend=-1, append=-1)).astype(np.int64)
    return starts, (words & LOW).astype(np.int32)


def others(words: Whole, users: npt.NDArray[np.integer]) -> Whole:
    """The words of all other users."""
    theirs = np.zeros(int(words[-1] >> BITS) + 1, np.bool_)
    theirs[users] = True
    left: Whole = words[~theirs[words >> BITS]]
    return left


@dataclass(frozen=True)
class _Ranked:
    """The texts of a column in the order of their keyed hashes."""

    source: Texts
    codes: Numbers
    """The code of each."""
    places: Numbers
    """By code, where a text stands; -1 for texts that are none of them."""

    @classmethod
    def of(cls, texts: Texts, forms: Numbers | None = None) -> _Ranked:
        """All texts, or the normal forms among them; a text that is none of these stands where its form does."""
        codes = np.arange(len(texts), dtype=np.int32)
        if forms is not None:
            used = np.zeros(len(texts), np.bool_)
            used[forms[forms != _NONE]] = True
            codes = codes[used]
        codes = texts.in_order(codes)
        places = np.full(len(texts) + 1, _NONE, np.int32)  # the last one is for texts without a form
        places[codes] = np.arange(len(codes), dtype=np.int32)
        return cls(texts, codes, places[:-1] if forms is None else places[forms])

    @property
    def hashes(self) -> Words:
        """In the order of texts."""
        return self.source.hashes[self.codes]

    def texts(self, places: npt.NDArray[np.integer]) -> pa.Array:
        """The texts that stand at these places."""
        return self.source.take(self.codes[places])

    def find(self, texts: pa.Array) -> Whole:
        """Where texts stand; -1 for those that are none of these."""
        codes = self.source.add(texts)  # what is added now has no place
        found = np.full(len(codes), _NONE, np.int64)
        known = np.flatnonzero(codes < len(self.places))
        places = self.places[codes[known]]
        here = places != _NONE
        here[here] = self.codes[places[here]] == codes[known[here]]  # and not where another form of it stands
        found[known[here]] = places[here]
        return found


@dataclass(frozen=True)
class Items:
    """Every item of log and list by its number: the place of its columns in the order of hashes."""

    columns: tuple[str, ...]
    ranked: tuple[_Ranked, ...]
    """The texts of each column."""
    tuples: tuple[Whole, ...]
    """For each further column what stands before it and the place of its text as one word, in order, each once."""

    def __len__(self) -> int:
        return len(self.tuples[-1] if self.tuples else self.ranked[0].codes)

    def texts(self, numbers: npt.NDArray[np.integer]) -> pa.Table:
        """The columns of items, in the order in which they are asked for."""
        made, at = {}, numbers
        # From the last column back: what stands before it is one item of fewer columns.
        for column, one, known in zip(
            self.columns[:0:-1], self.ranked[:0:-1], self.tuples[::-1], strict=True
        ):
            made[column] = one.texts(known[at] & LOW)
            at = known[at] >> BITS
        made[self.columns[0]] = self.ranked[0].texts(at)
        return pa.table(made).select(list(self.columns))

    def find(self, texts: pa.Table) -> Whole:
        """The numbers of items by their columns; -1 for what is none."""
        numbers, *places = (
            one.find(texts[column].combine_chunks())
            for column, one in zip(self.columns, self.ranked, strict=True)
        )
        for known, place in zip(self.tuples, places, strict=True):
            words = numbers << BITS | place
            at = np.searchsorted(known, words)
            there = np.append(known, _NONE)[at] == words
            numbers = np.where(there & (numbers != _NONE) & (place != _NONE), at, _NONE)
        return numbers

    @property
    def hashes(self) -> Words:
        """For each item a hash of its columns."""
        first, *more = (ranked.hashes for ranked in self.ranked)
        for tuples, hashes in zip(self.tuples, more, strict=True):
            first = text_loops.mixed(first[tuples >> BITS], hashes[tuples & LOW])
        return first


@dataclass(frozen=True)
class _Numbering:
    """Texts of users and items with their numbers, and who has what, before any bound."""

    people: _Ranked
    items: Items
    whole: Grouped
    listed: Numbers | None

    @classmethod
    def of(
        cls,
        kind: ItemKind,
        bound: Bound,
        batches: Iterator[pa.RecordBatch],
        listed: PublicItems | None,
        *,
        raw: bool,
    ) -> _Numbering:
        texts = tuple(Texts(bound.salt + bytes([column])) for column in range(1 + len(kind.columns)))
        people, *codes = _streamed(batches, texts)
        forms = _normal_forms(texts[1]) if raw else None
        if listed is not None:
            for at, column in enumerate(kind.columns):
                more = texts[at + 1].add(listed.rows[column].combine_chunks())
                codes[at] = np.concatenate([codes[at], more])
        ranked = [_Ranked.of(texts[0])]
        ranked += (_Ranked.of(one, _with_own(forms, len(one))) for one in texts[1:])
        for one, found in zip(ranked, (people, *codes), strict=True):
            grouping.renumbered(found, one.places)
        numbers, tuples = _together(codes)
        del codes, found
        whole = grouping.grouped(people, numbers[: people.size], len(texts[0]))
        theirs = None if listed is None else numbers[people.size :].copy()
        return cls(ranked[0], Items(kind.columns, tuple(ranked[1:]), tuples), whole, theirs)

    def numbered(self, kept: tuple[Whole, Numbers]) -> Numbered:
        return Numbered(kept, (self.whole.starts, self.whole.items), self.items, self.listed)

    def keyed(self, most: int) -> tuple[Whole, Numbers]:
        """What is kept of each user by keyed hashes that are made here."""
        if not np.any(np.diff(self.whole.starts) > most):
            return self.whole.starts, self.whole.items
        return grouping.bounded(self.whole, most, self.people.hashes[self.whole.who], self.items.hashes)

    @property
    def words(self) -> Whole:
        """One for each user and item, in order."""
        who, starts, items = self.whole
        return np.repeat(who.astype(np.int64) << BITS, np.diff(starts)) | items

    def words_of(self, engine: Engine, rows: ir.Table) -> Whole:
        """One word for each of these rows, whose users and items have numbers; in order, each once."""
        people, *codes = _streamed(
            engine.batches(rows), (self.people.source, *(one.source for one in self.items.ranked))
        )
        numbers, *places = (
            ranked.places[found].astype(np.int64)
            for ranked, found in zip(self.items.ranked, codes, strict=True)
        )
        for tuples, place in zip(self.items.tuples, places, strict=True):
            numbers = np.searchsorted(tuples, numbers << BITS | place)
        return distinct(self.people.places[people].astype(np.int64) << BITS | numbers)


def _streamed(batches: Iterator[pa.RecordBatch], dictionaries: Sequence[Texts]) -> list[Numbers]:
    """The codes of all columns, row by row. Each column has a thread of its own, while the engine reads on."""
    parts: list[list[Numbers]] = [[np.empty(0, np.int32)] for _ in dictionaries]
    waiting: deque[list[Future[Numbers]]] = deque()

    def take(left: int) -> None:
        while len(waiting) > left:
            for part, future in zip(parts, waiting.popleft(), strict=True):
                part.append(future.result())

    with ExitStack() as stack:
        threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in dictionaries]
        for batch in batches:
            columns = zip(threads, dictionaries, batch.columns, strict=True)
            waiting.append([thread.submit(texts.add, column) for thread, texts, column in columns])
            take(_AHEAD)
        take(0)
    made = []
    while parts:
        made.append(np.concatenate(parts.pop(0)))
    return made


def _normal_forms(texts: Texts) -> Numbers:
    """For each code of a query as the source has it the code of its normal form, which is put among the texts."""
    changed = texts.in_other_form()
    some = (changed[first : first + _CHUNK] for first in range(0, len(changed), _CHUNK))
    normal = np.concatenate(
        [np.empty(0, np.int32), *(texts.add(normal_forms(texts.take(codes))) for codes in some)]
    )
    (empty,) = texts.add(pa.array([""]))
    forms = np.arange(len(texts), dtype=np.int32)
    forms[changed] = normal
    forms[forms == empty] = _NONE
    return forms


def _with_own(forms: Numbers | None, size: int) -> Numbers | None:
    """Forms of all texts: those that were added since are in normal form."""
    return None if forms is None else np.concatenate([forms, np.arange(len(forms), size, dtype=np.int32)])


def _together(places: list[Numbers]) -> tuple[Numbers, tuple[Whole, ...]]:
    """The number of each row's item, by all of its columns, and what `Items.tuples` says of them."""
    numbers = places[0]
    tuples = []
    for place in places[1:]:
        known, found = np.unique(numbers.astype(np.int64) << BITS | place, return_inverse=True)
        refuse_too_many_items(len(known))
        numbers = found.astype(np.int32)
        tuples.append(known)
    return numbers, tuple(tuples)


def _bounded(
    log: SearchLog, rows: ir.Table, kind: ItemKind, bound: Bound, made: _Numbering
) -> tuple[Whole, Numbers]:
    """What is kept of each user: of those with too many items, what an engine chooses from their rows."""
    many = np.diff(made.whole.starts) > bound.most
    if not many.any():
        return made.whole.starts, made.whole.items
    heavy = made.whole.who[many]
    people = log.engine.register(pa.table({"user": made.people.texts(heavy)}))
    try:
        theirs = rows.semi_join(people, "user")
        kept = contribution.bounded_rows(log, theirs, kind.columns, bound, users=len(heavy))
        again = made.words_of(log.engine, kept.select("user", *kind.columns))
    finally:
        log.engine.drop(people)
    together = np.concatenate([others(made.words, heavy), again])
    together.sort()
    return cut(together)
