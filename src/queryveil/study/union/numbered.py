"""A log as the methods of the study see it: histories in whole numbers, and what is true of every query."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from queryveil.count import contribution, histories, item_kinds
from queryveil.count.contribution import Bound
from queryveil.count.histories import Histories
from queryveil.measure.measure import Original, Released
from queryveil.privacy.declarations import OCCURRENCES
from queryveil.reading.log import SearchLog
from queryveil.study.declaration import Given
from queryveil.study.union import loops

if TYPE_CHECKING:
    import ibis.expr.types as ir

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_ALL = 10**9
"""No user has more items."""


@dataclass(eq=False)
class Numbered(Original):
    """The log's queries by their numbers, with whole histories; each method shortens them itself."""

    whole: Histories
    events: Whole
    """How often each query was made."""
    users: Whole
    """How many users each query has."""

    def shortened(self, most: int, run: int, kind: str = "queries") -> Histories:
        """At most so many items of each user, by chance, which the number of the run decides."""
        return shortened(self.histories(kind), most, run)

    def histories(self, kind: str = "queries") -> Histories:
        if kind == "queries":
            return self.whole
        return self.once(("histories", kind), lambda: _histories(self.log, kind))

    @functools.cached_property
    def lengths(self) -> Whole:
        """How many characters each query has."""
        return self.whole.lengths()

    def first_events(self, most: int) -> Whole:
        """How often each query is among its users' first so many events: what Release-Data counts."""

        def counted() -> Whole:
            kind = item_kinds.kind("queries")
            kept = contribution.first_events(self.log, kind.rows(self.log), kind.columns, most)
            return _by_number(self.whole, contribution.counts(kept, kind.columns))

        return self.once(("first events", most), counted)

    def with_all_words(self, published: Flags) -> Flags:
        """Queries whose keywords are all among the published ones."""

        def pairs() -> tuple[Whole, Whole]:
            words = self.histories("keywords").numbered.rename({"word": "item"})
            texts = self.log.table.select("query", "words").distinct()
            split = item_kinds.with_keywords(texts).select("query", "keyword").distinct()
            joined = split.join(self.whole.numbered, "query").join(words, "keyword").select("item", "word")
            found = self.log.engine.arrow(joined)
            return found["item"].to_numpy(), found["word"].to_numpy()

        items, words = self.once("words", pairs)
        whole = np.ones(self.whole.different, np.bool_)
        whole[items[~published[words]]] = False
        return whole


class Chosen(Released):
    """Queries that a method would publish, by their numbers; nothing is released."""

    def __init__(
        self, numbers: Whole, most: int, counts: Whole | None = None, deviations: Whole | None = None
    ) -> None:
        """`most` is the number of items per user that it was run with; counts are of users, where there are any."""
        self._memory = {}
        self.main = "queries"
        self.numbers, self.most, self.counts, self.deviations = numbers, most, counts, deviations

    @property
    def name(self) -> str:
        return "chosen queries"

    def __repr__(self) -> str:
        return f"Chosen({len(self.numbers)})"


def numbered(given: Given) -> Numbered:
    """Read once for all cells."""
    log = given.the_log
    whole = _histories(log, "queries")
    users = np.bincount(whole.items, minlength=whole.different).astype(np.int64)
    made = Numbered(log, whole, np.empty(0, np.int64), users)
    made.events = _by_number(whole, made.counts("queries", OCCURRENCES))
    return made


def shortened(found: Histories, most: int, seed: int) -> Histories:
    """At most so many items of each user, by chance and in an order of chance."""
    starts, items = np.zeros(len(found.starts), np.int64), np.empty(len(found.items), np.int32)
    kept = loops.shortened(found.starts, found.items, most, seed, starts, items)
    return dataclasses.replace(found, starts=starts, items=items[:kept])


def _histories(log: SearchLog, kind: str) -> Histories:
    return histories.histories(log, item_kinds.kind(kind), Bound(most=_ALL))


def _by_number(found: Histories, counts: ir.Table) -> Whole:
    """Counts of queries, in a place for each."""
    joined = counts.join(found.numbered, list(found.kind.columns)).select("item", "count")
    table = found.log.engine.arrow(joined)
    made = np.zeros(found.different, np.int64)
    made[table["item"].to_numpy()] = table["count"].to_numpy()
    return made
