"""From a log to phrases user by user, in a stream.

From here on there are numbers of concepts and names of users: no text of a query can reach a release, except words
that were asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.language import concepts as language
from queryveil.language.taxonomy import Taxonomy
from queryveil.language.taxonomy.function_words import FUNCTION_WORDS
from queryveil.mechanisms.base import MOST_UNKNOWN, Run, warn_of_unknown
from queryveil.mechanisms.taxonomy_items import concepts_of
from queryveil.privacy.noise import Noise

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

Numbers = npt.NDArray[np.int64]

_WINDOW_ROWS = 400_000
"""Rows looked at together; a window ends with the next user, whatever batches an engine hands out."""


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
    moments: Numbers | None = None
    """Ascending numbers of moments: queries of one moment have no order yet. None if every query has its own."""

    def only(self, kept: npt.NDArray[np.bool_] | slice | Numbers) -> Phrases:
        """Some of the phrases, of the same users."""
        return replace(
            self,
            owners=self.owners[kept],
            queries=self.queries[kept],
            concepts=self.concepts[kept],
            words=None if self.words is None else self.words[kept],
            moments=None if self.moments is None else self.moments[kept],
        )

    def first(self, most: int) -> Phrases:
        """Of each user's phrases the first so many."""
        return self.only(self.ranks() < most)

    def of_users(self, first: int, end: int) -> Phrases:
        """The phrases of some users, one after another."""
        own = self.only(slice(*np.searchsorted(self.owners, [first, end]).tolist()))
        return replace(own, users=end - first, owners=own.owners - first)

    def ordered(self, topics: Numbers, noise: Noise) -> Phrases:
        """The same phrases with an order for queries of one moment: by what a release shows of them, then by chance.

        Shown are how many phrases a query has, the topic of each, and kept words. Their concepts have no say: if one
        phrase were another, all others must stay where they are (docs/proofs/semantic.md).
        """
        if self.moments is None:
            return self
        starts = np.flatnonzero(np.diff(self.queries, prepend=-1))
        lengths = np.diff(starts, append=len(self.queries))
        moments = self.moments[starts]
        same = moments[1:] == moments[:-1]
        tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
        order = np.arange(len(starts))
        shown = self._display_keys(topics, lengths)
        order[tied] = tied[np.lexsort((noise.permutation(len(tied)), shown[tied], moments[tied]))]
        moved = self.only(runs(starts[order], lengths[order]))
        return replace(moved, queries=np.repeat(self.queries[starts], lengths[order]), moments=None)

    def _display_keys(self, topics: Numbers, lengths: Numbers) -> Numbers:
        """A number for each query that is the same where a release shows the same, and otherwise ranks it."""
        import pyarrow.compute as pc

        if self.words is None and not topics.any():
            return lengths
        parts = pa.array(topics).cast(pa.string())
        if self.words is not None:
            sides = [pa.array(self.words[:, side], pa.string()) for side in (0, 1)]
            parts = pc.binary_join_element_wise(parts, *sides, "\x1f")
        offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
        coded = pc.binary_join(pa.ListArray.from_arrays(offsets, parts), "\x1e").dictionary_encode()
        ranks = np.argsort(pc.sort_indices(coded.dictionary).to_numpy())
        found: Numbers = ranks[coded.indices.to_numpy()]
        return found

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

    def __iadd__(self, other: Tally) -> Tally:
        self.users += other.users
        self.queries += other.queries
        for what, number in other.counts.items():
            self.add(what, number)
        return self

    def warn(self, run: Run, noun: str = "phrases") -> None:
        """Tell the curator if the taxonomy knows little of the log. The share is the log's, and never published."""
        phrases, without = (self.counts.get(what, 0) for what in ("phrases", "phrases without a concept"))
        if without > MOST_UNKNOWN * phrases:
            warn_of_unknown(run, without / phrases, noun)

    def table(self) -> pa.Table:
        figures = {"users": self.users, "queries": self.queries, **self.counts}
        return pa.table({"what": list(figures), "number": pa.array(figures.values(), pa.int64())})


TEXTS = ("user", "query")
"""Columns that are read as text."""


def events(log: SearchLog) -> tuple[ir.Table, list[str]]:
    """The rows of a log that count, users without any query included, and the columns that order a user's.

    By time and query: an order that is total, and the same on every engine. Queries of one time, or of a log without
    times, are put into another before anything of that order is published.
    """
    timed = ["time"] if "time" in log.columns else []
    rows = log.table.select("user", *timed, "query")
    # With times one event, however many clicks.
    return rows.distinct() if timed else rows, [*timed, "query"]


def windows(log: SearchLog, taxonomy: Taxonomy) -> Iterator[tuple[pa.StringArray, Phrases]]:
    """The log's phrases with a concept, some users at a time, with their names."""
    rows, order = events(log)
    batches = log.engine.batches(rows.order_by(["user", *order]).select(*TEXTS))
    for window in by_user(batches):
        yield phrases_of(window, taxonomy, Tally())


def by_user(batches: Iterable[pa.RecordBatch], rows: int | None = None) -> Iterator[pa.Table]:
    """The same rows cut where a user ends, at the first such place after so many rows."""
    rows = _WINDOW_ROWS if rows is None else rows
    waiting: list[pa.Table] = []
    for batch in batches:
        part = pa.table(batch.columns, names=batch.schema.names)
        for name in TEXTS:
            part = part.set_column(part.schema.get_field_index(name), name, part[name].cast(pa.string()))
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
    import pyarrow.compute as pc

    if table.num_rows <= after:
        return None
    users = table["user"]
    others = pc.not_equal(users.slice(after), users[after - 1])
    place = pc.index(others, True).as_py()
    return None if place < 0 else after + int(place)


def phrases_of(
    window: pa.Table, taxonomy: Taxonomy, tally: Tally, keep: str = "none", *, whole: bool = False
) -> tuple[pa.StringArray, Phrases]:
    """The names of the users of a window, and their phrases with a concept.

    `keep` says which words around them to hand out too: none, function words, or modifiers as well. With `whole` a
    query is one phrase.
    """
    import pyarrow.compute as pc

    users = window["user"].combine_chunks()
    starts = _change_points(users)
    owners = np.cumsum(starts) - 1
    # Without times all queries of a user are of one moment: nobody knows which was first.
    moments = (
        starts | _change_points(window["time"].combine_chunks()) if "time" in window.column_names else starts
    )
    coded = pc.fill_null(window["query"], "").combine_chunks().dictionary_encode()
    rows = coded.indices.to_numpy().astype(np.int64)
    texts = coded.dictionary.to_pylist()
    mapped = (
        _map_whole_texts(texts, taxonomy)
        if whole
        else language.map_to_concepts(texts, taxonomy, parts=keep != "none")
    )
    lengths = np.diff(mapped.offsets)[rows]
    places = runs(mapped.offsets[:-1][rows], lengths)
    tally.users += int(owners[-1]) + 1
    tally.queries += int((rows != _number_of_empty(coded)).sum())
    tally.add("phrases", mapped.phrases[rows].sum())
    tally.add("phrases without a concept", mapped.unmapped[rows].sum())
    phrases = Phrases(
        int(owners[-1]) + 1,
        np.repeat(owners, lengths),
        np.repeat(np.arange(len(rows)), lengths),
        mapped.concepts[places].astype(np.int64),
        _words_between(mapped, keep)[places] if keep != "none" else None,
        None if moments.all() else np.repeat(np.cumsum(moments), lengths),
    )
    return users.take(pa.array(np.flatnonzero(starts))), phrases


def _map_whole_texts(texts: list[str], taxonomy: Taxonomy) -> language.ConceptMap:
    """Each text as one phrase, which has a concept if it is a name of one; an empty text has none."""
    concepts = concepts_of(texts, taxonomy)
    phrases = np.fromiter(map(bool, texts), np.int32, len(texts))
    found = (concepts >= 0) & (phrases > 0)
    offsets = np.concatenate(([0], np.cumsum(found, dtype=np.int64)))
    return language.ConceptMap(offsets, concepts[found], phrases, phrases - found.astype(np.int32))


def _change_points(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Where a column has another value than in the row before."""
    import pyarrow.compute as pc

    found = np.ones(len(column), dtype=bool)
    found[1:] = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1)).to_numpy(zero_copy_only=False)
    return found


def _words_between(mapped: language.ConceptMap, keep: str) -> npt.NDArray[np.object_]:
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
    import pyarrow.compute as pc

    return int(pc.index(coded.dictionary, "").as_py())


def runs(starts: Numbers, lengths: Numbers) -> Numbers:
    """start, start + 1, ... for each start, as many as its length."""
    ends = np.cumsum(lengths)
    count = int(ends[-1]) if len(ends) else 0
    found: Numbers = np.arange(count) + np.repeat(starts - (ends - lengths), lengths)
    return found
