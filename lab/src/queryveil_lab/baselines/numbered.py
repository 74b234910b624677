"""A log as the methods of the study see it: histories in whole numbers, and what is true of every query."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil import SearchLog
from queryveil.count import histories
from queryveil.count.contribution import ALL, EVENTS, Bound
from queryveil.count.histories import Histories
from queryveil.extension import OCCURRENCES, Original, Released, item_kinds
from queryveil_lab.baselines import loops

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


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
        return self.compute_once(("histories", kind), lambda: _read_histories(self.log, kind))

    @functools.cached_property
    def lengths(self) -> Whole:
        """How many characters each query has."""
        return self.whole.lengths()

    def first_events(self, most: int) -> Whole:
        """How often each query is among its users' first so many events: what Release-Data counts."""

        def counted() -> Whole:
            bound = Bound(most=most, keep=EVENTS)
            kept = histories.collect_user_counts(self.log, item_kinds.kind("queries"), bound)
            return _by_number(self.whole, kept.users_per_item())

        return self.compute_once(("first events", most), counted)

    def with_all_words(self, published: Flags) -> Flags:
        """Queries whose keywords are all among the published ones."""

        def pairs() -> tuple[Whole, Whole]:
            texts = self.log.table.select("query", "words").distinct()
            split = self.log.engine.arrow(
                item_kinds.with_keywords(texts).select("query", "keyword").distinct()
            )
            items, words = self.whole.find(split), self.histories("keywords").find(split)
            known = (items >= 0) & (words >= 0)
            return items[known], words[known]

        items, words = self.compute_once("words", pairs)
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


def numbered(log: SearchLog) -> Numbered:
    """Read once for all cells."""
    whole = _read_histories(log, "queries")
    users = np.bincount(whole.items, minlength=whole.different).astype(np.int64)
    made = Numbered(log, whole, np.empty(0, np.int64), users)
    made.events = _by_number(whole, log.engine.arrow(made.counts("queries", OCCURRENCES)))
    return made


def shortened(found: Histories, most: int, seed: int) -> Histories:
    """At most so many items of each user, by chance and in an order of chance."""
    starts, items = np.zeros(len(found.starts), np.int64), np.empty(len(found.items), np.int32)
    kept = loops.shortened(found.starts, found.items, most, seed, starts, items)
    return dataclasses.replace(found, starts=starts, items=items[:kept])


def _read_histories(log: SearchLog, kind: str) -> Histories:
    return histories.collect_histories(log, item_kinds.kind(kind), Bound(most=ALL))


def _by_number(found: Histories, counts: pa.Table) -> Whole:
    """Counts of queries, in a place for each."""
    items = found.find(counts)
    made = np.zeros(found.different, np.int64)
    made[items[items >= 0]] = counts["count"].to_numpy()[items >= 0]
    return made
