"""From a log to phrases user by user, in a stream; and from drawn concepts to a table (user, number, query).

Only numbers of concepts pass from one to the other: no text of the log can reach the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil import language
from queryveil.log import SearchLog
from queryveil.mechanisms.semantic_domain import SEPARATOR
from queryveil.noise import Noise
from queryveil.taxonomy import Taxonomy
from queryveil.taxonomy.function_words import FUNCTION_WORDS

Numbers = npt.NDArray[np.int64]

_WINDOW_ROWS = 400_000
"""Rows looked at together; a window ends with the next user, whatever batches an engine hands out."""
_CHUNK_ROWS = 1_000_000
"""Rows turned into text at once: a chunk of text must stay below two gigabytes."""


@dataclass(frozen=True)
class Phrases:
    """The phrases of whole users, in order: whose each is, and in which query of hers."""

    users: int
    """Users seen, with and without phrases; `owners` are numbers below it."""
    owners: Numbers
    queries: Numbers
    """Ascending numbers of queries; a query without a phrase has a number too."""
    concepts: Numbers
    words: npt.NDArray[np.object_] | None = None
    """Words to put back before and after each phrase, a column each; only if they were asked for."""

    def only(self, kept: npt.NDArray[np.bool_]) -> Phrases:
        words = None if self.words is None else self.words[kept]
        return Phrases(self.users, self.owners[kept], self.queries[kept], self.concepts[kept], words)

    def first(self, most: int) -> Phrases:
        """Of each user's phrases the first so many."""
        return self.only(self.ranks() < most)

    def ranks(self) -> Numbers:
        """Which of her owner's phrases each one is, from 0."""
        counts = self.counts()
        starts = np.cumsum(counts) - counts
        ranks: Numbers = np.arange(len(self.owners)) - starts[self.owners]
        return ranks

    def counts(self) -> Numbers:
        """How many phrases each user has."""
        return np.bincount(self.owners, minlength=self.users)


@dataclass
class Tally:
    """What became of phrases, for the curator alone."""

    users: int = 0
    queries: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, what: str, number: int) -> None:
        self.counts[what] = self.counts.get(what, 0) + int(number)

    def table(self) -> pa.Table:
        figures = {"users": self.users, "queries": self.queries, **self.counts}
        return pa.table({"what": list(figures), "number": pa.array(figures.values(), pa.int64())})


# -- from a log ----------------------------------------------------------------------------------------------


def windows(log: SearchLog, taxonomy: Taxonomy, tally: Tally, *, keep: str = "none") -> Iterator[Phrases]:
    """The log's phrases with a concept, some users at a time. Users without any query are counted in.

    `keep` says which words around them to hand out too: none, function words, or modifiers as well.
    """
    timed = ["time"] if "time" in log.columns else []
    rows = log.table.select("user", *timed, "query")
    if timed:  # one event, however many clicks
        rows = rows.distinct()
    # By user, time and query: an order that is total, and the same on every engine.
    rows = rows.order_by(["user", *timed, "query"]).select("user", "query")
    for window in by_user(log.engine.batches(rows), _WINDOW_ROWS):
        yield _phrases(window, taxonomy, tally, keep)


def by_user(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The same rows cut where a user ends, at the first such place after so many rows."""
    waiting: list[pa.Table] = []
    for batch in batches:
        part = pa.table({name: batch.column(name).cast(pa.string()) for name in ("user", "query")})
        waiting.append(part)
        if sum(map(len, waiting)) <= rows:
            continue
        whole = pa.concat_tables(waiting)
        while (end := _end_of_user(whole, rows)) is not None:
            yield whole.slice(0, end)
            whole = whole.slice(end)
        waiting = [whole]
    if waiting and (whole := pa.concat_tables(waiting)).num_rows:
        yield whole


def _end_of_user(table: pa.Table, after: int) -> int | None:
    """The first row at or after a place that starts another user, if the table has one."""
    if table.num_rows <= after:
        return None
    users = table["user"]
    others = pc.not_equal(users.slice(after), users[after - 1])
    place = pc.index(others, True).as_py()
    return None if place < 0 else after + int(place)


def _phrases(window: pa.Table, taxonomy: Taxonomy, tally: Tally, keep: str) -> Phrases:
    users = window["user"].combine_chunks()
    starts = np.ones(len(users), dtype=bool)
    starts[1:] = pc.not_equal(users.slice(1), users.slice(0, len(users) - 1)).to_numpy(zero_copy_only=False)
    owners = np.cumsum(starts) - 1
    coded = pc.fill_null(window["query"], "").combine_chunks().dictionary_encode()
    rows = coded.indices.to_numpy().astype(np.int64)
    mapped = language.mapping(coded.dictionary.to_pylist(), taxonomy, parts=keep != "none")
    lengths = np.diff(mapped.offsets)[rows]
    places = _runs(mapped.offsets[:-1][rows], lengths)
    tally.users += int(owners[-1]) + 1
    tally.queries += int((rows != _number_of_empty(coded)).sum())
    tally.add("phrases", mapped.phrases[rows].sum())
    tally.add("phrases without a concept", mapped.unmapped[rows].sum())
    return Phrases(
        int(owners[-1]) + 1,
        np.repeat(owners, lengths),
        np.repeat(np.arange(len(rows)), lengths),
        mapped.concepts[places].astype(np.int64),
        _words(mapped, keep)[places] if keep != "none" else None,
    )


def _words(mapped: language.Mapped, keep: str) -> npt.NDArray[np.object_]:
    """What stands before each phrase with a concept, and after the last one of a query; blanks are part of it."""
    found = np.full((len(mapped.concepts), 2), "", dtype=object)
    place = 0
    for parts in mapped.parts:
        waiting = ""
        for part in parts:
            if part.role == "concept":
                found[place, 0], waiting = waiting, ""
                place += 1
            elif part.text in FUNCTION_WORDS or (keep == "modifiers" and part.role == "modifier"):
                waiting += f"{part.text} "
        if any(part.role == "concept" for part in parts) and waiting:
            found[place - 1, 1] = f" {waiting.rstrip()}"
    return found


def _number_of_empty(coded: pa.DictionaryArray) -> int:
    return int(pc.index(coded.dictionary, "").as_py())


def _runs(starts: Numbers, lengths: Numbers) -> Numbers:
    """start, start + 1, ... for each start, as many as its length."""
    ends = np.cumsum(lengths)
    count = int(ends[-1]) if len(ends) else 0
    found: Numbers = np.arange(count) + np.repeat(starts - (ends - lengths), lengths)
    return found


# -- to a table ----------------------------------------------------------------------------------------------


class Rows:
    """Drawn concepts, collected some users at a time, and put into a table under random numbers for users."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._taxonomy = taxonomy
        self._users = 0
        self._owners: list[npt.NDArray[np.int32]] = []
        self._numbers: list[npt.NDArray[np.int32]] = []
        self._lengths: list[npt.NDArray[np.int32]] = []
        self._concepts: list[npt.NDArray[np.int32]] = []
        self._words: list[npt.NDArray[np.object_]] = []

    def add(self, drawn: Phrases) -> None:
        """One row for each query with a phrase. Users without any are left out."""
        if not len(drawn.owners):
            return
        starts = np.flatnonzero(np.diff(drawn.queries, prepend=-1))
        lengths = np.diff(starts, append=len(drawn.queries))
        # Users with a phrase, numbered without gaps.
        present, owners = np.unique(drawn.owners[starts], return_inverse=True)
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        numbers = np.arange(len(owners)) - firsts[owners]
        self._owners.append((owners + self._users).astype(np.int32))
        self._numbers.append(numbers.astype(np.int32))
        self._lengths.append(lengths.astype(np.int32))
        self._concepts.append(drawn.concepts.astype(np.int32))
        if drawn.words is not None:
            self._words.append(drawn.words)
        self._users += len(present)

    def table(self, noise: Noise) -> pa.Table:
        """user, number, query: by random numbers of users, then in the order in which a user posed her queries."""
        if not self._users:
            return pa.table({"user": _ints([]), "number": _ints([]), "query": pa.array([], pa.string())})
        lengths = np.concatenate(self._lengths)
        starts = np.cumsum(lengths, dtype=np.int64) - lengths
        concepts = np.concatenate(self._concepts)
        words = np.concatenate(self._words) if self._words else None
        users = noise.permutation(self._users)[np.concatenate(self._owners)]
        place = np.argsort(users, kind="stable")
        texts = [
            self._texts(concepts, words, starts[part], lengths[part])
            for part in np.split(place, range(_CHUNK_ROWS, len(place), _CHUNK_ROWS))
        ]
        return pa.table(
            {
                "user": _ints(users[place]),
                "number": _ints(np.concatenate(self._numbers)[place]),
                "query": pa.chunked_array(texts, pa.string()),
            }
        )

    def _texts(
        self,
        concepts: npt.NDArray[np.int32],
        words: npt.NDArray[np.object_] | None,
        starts: Numbers,
        lengths: npt.NDArray[np.int32],
    ) -> pa.StringArray:
        """The labels of each row's concepts, one after another."""
        wanted = _runs(starts, lengths.astype(np.int64))
        distinct, codes = np.unique(concepts[wanted], return_inverse=True)
        labels = pa.array(self._taxonomy.labels(distinct.tolist()), pa.string()).take(pa.array(codes))
        offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
        if words is None:
            return pc.binary_join(pa.ListArray.from_arrays(offsets, labels), SEPARATOR)
        before, after = (pa.array(words[wanted, side], pa.string()) for side in (0, 1))
        labels = pc.binary_join_element_wise(before, labels, after, "")
        return pc.binary_join(pa.ListArray.from_arrays(offsets, labels), " ")


def _ints(values: npt.ArrayLike) -> pa.Int64Array:
    return pa.array(np.asarray(values, dtype=np.int64))
