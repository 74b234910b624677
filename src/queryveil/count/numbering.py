"""Users and items become numbers in this process: rows come once, as a stream, and texts are told apart by their bytes.

For engines that run inside this process. What comes out is what an engine that numbers by itself gives: numbers are
places in the order of bytes. `text_loops` says why texts with equal hashes change nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import contribution, text_loops
from queryveil.count.contribution import Bound
from queryveil.count.item_kinds import ItemKind
from queryveil.count.public_items import PublicItems
from queryveil.count.texts import Texts
from queryveil.reading.engine import Engine
from queryveil.reading.log import SearchLog

if TYPE_CHECKING:
    import ibis.expr.types as ir

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

BITS = 32
"""A user's number and an item's number are one word: user first, so that sorting words puts a user's items together."""
LOW = (1 << BITS) - 1
_AHEAD = 4
"""Batches of rows that may wait to be numbered."""
_NONE = -1
"""The number of a text that is no item."""


@dataclass(frozen=True)
class Numbered:
    """Who has which items."""

    words: Whole
    """One for each user and item, in order, each once; of each user at most as many as the bound allows."""
    whole: tuple[Whole, Numbers]
    """Where the items of each user begin, and all items that she has, before any bound."""
    items: pa.Table
    """Every item of log and list in the order of its number: its columns, and the number as `item`."""
    listed: Numbers | None
    """The number of each item of the public list."""


def numbered(
    log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None, listed: PublicItems | None
) -> Numbered:
    """The numbers of a log; `rows` are those of its occurrences that count, if not all do."""
    keyed_here = bound.keep == "random" and bound.order_key == "engine"
    # A query is put into its normal form once for each different text, and not once for each row.
    raw = rows is None and kind.is_query and log.is_as_read
    found = kind.occurrences(log) if rows is None else rows
    timed = ("time",) if bound.keep != "random" and "time" in found.columns else ()
    found = found.select("user", *kind.columns, *timed).drop_null(list(kind.columns))
    twice = not (raw or keyed_here)
    if twice:  # rows of users with too many items are gone over again
        found = log.engine.put_aside(found, log.workspace)
    try:
        made = _Numbering.of(log, kind, bound, log.source.drop_null("query") if raw else found, raw, listed)
        words = made.words
        whole = cut(words)
        places = whole[0]
        if np.any(np.diff(places) > bound.most):
            if keyed_here:
                left = text_loops.bounded(words, places, bound.most, made.user_hashes, made.item_hashes)
                words = words[:left]
            else:
                words = _bounded(log, found, kind, bound, made)
    finally:
        if twice:
            log.engine.drop(found)
    return Numbered(words, whole, made.table, made.listed)


def distinct(words: Whole) -> Whole:
    """Words in order, each once; they are sorted where they are."""
    words.sort()
    # [C1] Each item of a user counts once: docs/proofs/steered.md.
    first = np.empty(words.size, np.bool_)
    first[:1] = True
    np.not_equal(words[1:], words[:-1], out=first[1:])
    return words[first]


def starts(words: Whole) -> Whole:
    """Where the words of each user begin, and where those of the last user end."""
    if not words.size:
        return np.zeros(1, np.int64)
    return np.flatnonzero(np.diff(words >> BITS, prepend=-1, append=-1)).astype(np.int64)


def cut(words: Whole) -> tuple[Whole, Numbers]:
    """Where the items of each user begin, and the items."""
    return starts(words), (words & LOW).astype(np.int32)


def others(words: Whole, users: Whole) -> Whole:
    """The words of all other users."""
    theirs = np.zeros(int(words[-1] >> BITS) + 1, np.bool_)
    theirs[users] = True
    left: Whole = words[~theirs[words >> BITS]]
    return left


@dataclass(frozen=True)
class _Ranked:
    """The texts of a column in the order of their bytes."""

    texts: pa.Array
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
        return cls(
            texts.array().take(pa.array(codes)), codes, places[:-1] if forms is None else places[forms]
        )


@dataclass(frozen=True)
class _Numbering:
    """Texts of users and items with their numbers, and who has what, before any bound."""

    texts: tuple[Texts, ...]
    """Of users, and of each column of items."""
    ranked: tuple[_Ranked, ...]
    tuples: tuple[Whole, ...]
    """For each further column what stands before it and the place of its text as one word, in order, each once."""
    words: Whole
    listed: Numbers | None
    table: pa.Table

    @classmethod
    def of(
        cls,
        log: SearchLog,
        kind: ItemKind,
        bound: Bound,
        rows: ir.Table,
        raw: bool,
        listed: PublicItems | None,
    ) -> _Numbering:
        texts = tuple(Texts(bound.salt + bytes([column])) for column in range(1 + len(kind.columns)))
        people, *codes = _streamed(log.engine, rows.select("user", *kind.columns), texts)
        forms = _normal_forms(log, texts[1]) if raw else None
        if listed is not None:
            for at, column in enumerate(kind.columns):
                more = texts[at + 1].add(listed.rows[column].combine_chunks())
                codes[at] = np.concatenate([codes[at], more])
        ranked = [_Ranked.of(texts[0])]
        ranked += (_Ranked.of(one, _with_own(forms, len(one))) for one in texts[1:])
        places = [column.places[found] for column, found in zip(ranked[1:], codes, strict=True)]
        del codes
        numbers, tuples = _together(places)
        words = _words(ranked[0].places[people], numbers[: people.size])
        theirs = None if listed is None else numbers[people.size :].astype(np.int32)
        table = _table(kind.columns, ranked[1:], tuples)
        return cls(texts, tuple(ranked), tuples, words, theirs, table)

    @property
    def user_hashes(self) -> Words:
        return self.texts[0].hashes[self.ranked[0].codes]

    @property
    def item_hashes(self) -> Words:
        """For each item a hash of its columns."""
        first, *more = (
            texts.hashes[ranked.codes] for texts, ranked in zip(self.texts[1:], self.ranked[1:], strict=True)
        )
        for tuples, hashes in zip(self.tuples, more, strict=True):
            first = text_loops.mixed(first[tuples >> BITS], hashes[tuples & LOW])
        return first

    def words_of(self, engine: Engine, rows: ir.Table) -> Whole:
        """One word for each of these rows, whose users and items have numbers."""
        people, *codes = _streamed(engine, rows, self.texts)
        numbers, *places = (
            ranked.places[found].astype(np.int64)
            for ranked, found in zip(self.ranked[1:], codes, strict=True)
        )
        for tuples, place in zip(self.tuples, places, strict=True):
            numbers = np.searchsorted(tuples, numbers << BITS | place)
        return _words(self.ranked[0].places[people], numbers)


def _streamed(engine: Engine, rows: ir.Table, dictionaries: Sequence[Texts]) -> list[Numbers]:
    """The codes of all columns, row by row. Each column has a thread of its own, while the engine reads on."""
    parts: list[list[Numbers]] = [[np.empty(0, np.int32)] for _ in dictionaries]
    waiting: deque[list[Future[Numbers]]] = deque()

    def take(left: int) -> None:
        while len(waiting) > left:
            for part, future in zip(parts, waiting.popleft(), strict=True):
                part.append(future.result())

    with ExitStack() as stack:
        threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in dictionaries]
        for batch in engine.batches(rows):
            columns = zip(threads, dictionaries, batch.columns, strict=True)
            waiting.append([thread.submit(texts.add, column) for thread, texts, column in columns])
            take(_AHEAD)
        take(0)
    made = []
    while parts:
        made.append(np.concatenate(parts.pop(0)))
    return made


def _normal_forms(log: SearchLog, texts: Texts) -> Numbers:
    """For each code of a query as the source has it the code of its normal form, which is put among the texts."""
    own = np.arange(len(texts), dtype=np.int32)
    raw = log.engine.register(pa.table({"query": texts.array(), "code": own}))
    try:
        changed = log.engine.arrow(log.changed_by_normal_form(raw).select("code", "query"))
    finally:
        log.engine.drop(raw)
    normal_codes = texts.add(changed["query"].combine_chunks())
    (empty,) = texts.add(pa.array([""]))
    forms = np.arange(len(texts), dtype=np.int32)
    forms[changed["code"].to_numpy()] = normal_codes
    forms[forms == empty] = _NONE
    return forms


def _with_own(forms: Numbers | None, size: int) -> Numbers | None:
    """Forms of all texts: those that were added since are in normal form."""
    return None if forms is None else np.concatenate([forms, np.arange(len(forms), size, dtype=np.int32)])


def _together(places: list[Numbers]) -> tuple[Numbers | Whole, tuple[Whole, ...]]:
    """The number of each row's item, by all of its columns, and what `_Numbering.tuples` says of them."""
    numbers: Numbers | Whole = places[0]
    tuples = []
    for place in places[1:]:
        known, numbers = np.unique(numbers.astype(np.int64) << BITS | place, return_inverse=True)
        tuples.append(known)
    return numbers, tuple(tuples)


def _words(people: Numbers, numbers: Numbers | Whole) -> Whole:
    """User and item as one word, in order, each once; rows without an item are left out."""
    words = people.astype(np.int64)
    words <<= BITS
    words |= numbers
    some = numbers != _NONE
    return distinct(words if some.all() else words[some])


def _table(columns: Sequence[str], ranked: Sequence[_Ranked], tuples: Sequence[Whole]) -> pa.Table:
    """Every item with its number."""
    # From the last column back: what stands before it is one item of fewer columns.
    made, at = {}, None
    for column, one, known in zip(columns[:0:-1], ranked[:0:-1], tuples[::-1], strict=True):
        found = known if at is None else known[at]
        made[column] = one.texts.take(pa.array(found & LOW))
        at = found >> BITS
    first = ranked[0].texts
    made[columns[0]] = first if at is None else first.take(pa.array(at))
    table = pa.table(made).select(list(columns))
    return table.append_column("item", pa.array(np.arange(table.num_rows, dtype=np.int64)))


def _bounded(log: SearchLog, rows: ir.Table, kind: ItemKind, bound: Bound, made: _Numbering) -> Whole:
    """The same words, but of users with too many items only those that the bound keeps."""
    places = starts(made.words)
    heavy = made.words[places[:-1][np.diff(places) > bound.most]] >> BITS
    people = log.engine.register(pa.table({"user": made.ranked[0].texts.take(pa.array(heavy))}))
    try:
        theirs = rows.semi_join(people, "user")
        kept = contribution.bounded_rows(log, theirs, kind.columns, bound, users=len(heavy))
        again = made.words_of(log.engine, kept.select("user", *kind.columns))
    finally:
        log.engine.drop(people)
    together = np.concatenate([others(made.words, heavy), again])
    together.sort()
    return together
