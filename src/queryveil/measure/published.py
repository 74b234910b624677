"""The histograms that a release holds, whatever it looks like: counted items, or rows to count.

Releases that count items hold them as they are. From sessions of queries (k-query anonymity) and from queries under
random users (semantic perturbation, whose labels of concepts are read as words) keywords, queries and, where sessions
are known, query pairs are counted by the same definitions as in a log. Sets of keywords (k-session anonymity) and words
with their prefixes (k-keyword anonymity) give keywords; a prefix stands for words that were not published, and is none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queryveil.count import item_kinds
from queryveil.errors import InputError
from queryveil.files import folder
from queryveil.measure import graph
from queryveil.privacy.declarations import GROUPED, HASHES, LABELS, OCCURRENCES, SESSIONS, TYPED, USERS
from queryveil.reading.log import SearchLog, read
from queryveil.release.published_texts import as_read

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.release.publish import Release


@dataclass(frozen=True, eq=False)
class Published:
    """Which items a release counts, in which unit, and the tables, each made when it is first asked for."""

    kinds: tuple[str, ...]
    """The main one first."""
    unit: str
    make: Callable[[str], pa.Table]
    texts: str
    """What its texts are: see queryveil.release.published_texts."""

    @property
    def is_verbatim(self) -> bool:
        """Whether everything published stands so in the log that it was made from, grouped where queries were."""
        return self.texts in (TYPED, GROUPED)

    def table(self, kind: str) -> pa.Table:
        """The items of a kind with their counts."""
        return self.make(kind)


def published_items(release: Release) -> Published:
    """What a release counts; no kind at all if it holds nothing of the sort."""
    texts = release.plan.texts
    counted = graph.item_tables(release)
    if counted:
        unit = next((one.counts for one in release.plan.tables if one.noisy), USERS)
        return Published(tuple(counted), unit, counted.__getitem__, texts)
    for name, table in release.tables.items():
        columns = set(table.column_names)
        if columns == {"prefix", "count"}:
            return Published(("keywords",), USERS, functools.partial(_whole_words, table), texts)
        if columns == {"group", "items"} and release.plan.table(name).counts == SESSIONS:
            return Published(("keywords",), SESSIONS, functools.partial(_in_sets, table), texts)
        if {"query", "session"} <= columns and texts != HASHES:
            return _from_rows(table, "session", ("queries", "keywords", "query-pairs"), texts)
        if {"query", "user"} <= columns and texts != HASHES:
            return _from_rows(table, "user", ("queries", "keywords"), texts)
    return Published((), OCCURRENCES, counted.__getitem__, texts)


def _whole_words(rows: pa.Table, _: str) -> pa.Table:
    """The words that were published whole: a keyword never ends with a star."""
    words = rows.filter(pc.invert(pc.ends_with(rows["prefix"], "*")))
    return words.rename_columns(["keyword", "count"])


def _in_sets(rows: pa.Table, _: str) -> pa.Table:
    """In how many published sessions each keyword is."""
    counted = pc.value_counts(pc.list_flatten(rows["items"]).combine_chunks())
    return pa.table(
        {
            "keyword": counted.field("values").cast(pa.string()),
            "count": counted.field("counts").cast(pa.int64()),
        }
    )


def _from_rows(rows: pa.Table, owner: str, kinds: tuple[str, ...], texts: str) -> Published:
    @functools.cache
    def log() -> SearchLog:
        return read(_as_log(rows, owner, as_read(rows["query"]) if texts == LABELS else rows["query"]))

    def count(kind: str) -> pa.Table:
        source = log()
        return source.engine.arrow(graph.occurrence_counts(source, item_kinds.kind(kind)))

    return Published(kinds, OCCURRENCES, count, texts)


def _as_log(rows: pa.Table, owner: str, queries: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Published rows as a log: every row a moment of its own, in the order in which it was published.

    Moments are microseconds, so that no session is ever cut, and every row is one event.
    """
    return pa.table(
        {
            "user": rows[owner].cast(pa.string()),
            "time": pa.array(np.arange(rows.num_rows), pa.timestamp("us")),
            "query": queries,
        }
    )


def session_counts(log: SearchLog, kind: item_kinds.ItemKind) -> ir.Table:
    """In how many sessions each keyword is."""
    if "session" not in log.columns:
        log.need("time", "counting sessions")
    rows = log.sessions() if "time" in log.columns else log.queries
    words = item_kinds.with_keywords(rows.select("user", "session", "words"))
    words = words.filter(words["keyword"] != "").select("user", "session", "keyword").distinct()
    return words.group_by(list(kind.columns)).aggregate(count=words.count())


def private_table(release: Release, name: str, columns: Sequence[str]) -> pa.Table | None:
    """A table of the curator's private folder; None if it is not at hand."""
    kept = release.private.get(name)
    if isinstance(kept, pa.Table) or release.private_place is None:
        return kept
    file = release.private_place / folder.table_file(name)
    if not file.is_file():
        return None
    try:
        return pq.read_table(file, columns=list(columns))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"table '{name}' of the private folder '{file.parent}' cannot be read ({type(error).__name__})",
            "fetch the private folder again, or leave out the measure that needs it",
        ) from None
