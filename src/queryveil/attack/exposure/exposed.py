"""What the exposure attack looks at: the texts of a log or of a release, and what links them.

A raw log has query events in sessions. Releases have texts in their tables: words, queries, pairs of queries, rows of a
log, or transactions, whose words have lost their order. What a release counts is what its texts occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.attack.token_map import read_map
from queryveil.errors import InputError, UsageError, argument
from queryveil.language.spotting import Reading
from queryveil.language.spotting.counting import Texts
from queryveil.mechanisms import sessions
from queryveil.privacy.declarations import HASHES, LABELS
from queryveil.reading.log import SearchLog
from queryveil.release.published_texts import as_read

if TYPE_CHECKING:
    from queryveil.release.publish import Release

Ints = npt.NDArray[np.int64]

SESSIONS: Final = "sessions"
_TEXTS: Final = ("keyword", "query", "next_query", "prefix", "item_1", "item_2", "item_3")
"""Columns that hold what people typed; urls are not looked at."""
_APART: Final = " , "
"""Between concepts: two of them side by side are no name of two words."""


class Linked(Protocol):
    """What links texts, and how many units of linked texts have which mask."""

    @property
    def what(self) -> str: ...

    def masks(self, masks: Ints) -> tuple[Ints, Ints]:
        """Masks of units and how many units have each; every unit is counted."""


@dataclass(frozen=True, eq=False)
class Subject:
    """One log or release under attack."""

    name: str
    what: str
    """How it came about: the method of a release, or `log`."""
    texts: Texts
    linked: Linked | None
    """None where nothing links one text to another."""
    hashed: bool = False
    """Whether it holds hashes, which must be turned into words first."""

    def read_as(self, reading: Reading) -> Subject:
        return replace(self, texts=replace(self.texts, reading=reading))


# -- logs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _LogSessions:
    """The sessions of a log, counted by its engine."""

    log: SearchLog
    texts: pa.Array
    what: str = SESSIONS

    def masks(self, masks: Ints) -> tuple[Ints, Ints]:
        engine = self.log.engine
        events = sessions.events(self.log).select("user", "session", "query").distinct()
        units = events.select("user", "session").distinct()
        total = int(engine.arrow(units.aggregate(n=units.count()))["n"][0].as_py())
        spotted = np.flatnonzero(masks)
        if not len(spotted):
            return np.array([0]), np.array([total])
        # One column per bit: not every engine can put masks together.
        bits = [bit for bit in range(int(masks.max()).bit_length()) if np.any(masks >> bit & 1)]
        columns = {f"bit_{bit}": pa.array((masks[spotted] >> bit & 1).astype(np.int32)) for bit in bits}
        marks = engine.register(pa.table({"query": self.texts.take(pa.array(spotted)), **columns}))
        joined = events.join(marks, "query")
        whole = joined.group_by(["user", "session"]).aggregate(**{one: joined[one].max() for one in columns})
        counted = engine.arrow(whole.group_by(list(columns)).aggregate(n=whole.count()))
        times = counted["n"].to_numpy().astype(np.int64)
        values = sum(counted[f"bit_{bit}"].to_numpy().astype(np.int64) << bit for bit in bits)
        return np.append(values, 0), np.append(times, total - times.sum())


def of_log(log: SearchLog, name: str = "log") -> Subject:
    """A log's different queries with their events, in its sessions if it has any."""
    rows = log.queries
    if "time" in log.columns:
        rows = rows.select("user", "time", "query").distinct()
    # In an order that is no engine's, which decides among examples that are equally frequent.
    counted = log.engine.arrow(rows.group_by("query").aggregate(times=rows.count())).sort_by("query")
    queries = counted["query"].cast(pa.string()).combine_chunks()
    linked = {"time", "session"} & set(log.columns)
    if linked:
        sessions.check(log)
    return Subject(
        name=name,
        what="log",
        texts=Texts(texts=queries, times=counted["times"].to_numpy().astype(np.int64)),
        linked=_LogSessions(log, queries) if linked else None,
    )


# -- releases ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Units:
    """Units of a release's own table: for each row its unit and its text."""

    what: str
    unit: Ints
    text: Ints

    def masks(self, masks: Ints) -> tuple[Ints, Ints]:
        whole = np.zeros(int(self.unit.max()) + 1 if len(self.unit) else 0, dtype=np.int64)
        np.bitwise_or.at(whole, self.unit, masks[self.text])
        values, times = np.unique(whole, return_counts=True)
        return values, times.astype(np.int64)


def of_release(release: Release, name: str) -> Subject:
    """A release's different texts, and what links them."""
    tables = release.tables
    if "transactions" in tables:
        return _of_transactions(release, name, tables["transactions"])
    if "log" in tables:
        return _of_rows(release, name, tables["log"])
    counted: dict[str, int] = {}
    pairs: list[pa.Table] = []
    readable = False
    for table in tables.values():
        columns = [column for column in _TEXTS if column in table.column_names]
        readable = readable or bool(columns)
        for text, count in _text_counts(table, columns).items():
            counted[text] = max(count, counted.get(text, 0))
        if "next_query" in columns:
            pairs.append(table.select(["query", "next_query"]))
    if not readable:
        raise _no_text(name)
    texts = pa.array(list(counted), pa.string())
    times = np.fromiter(counted.values(), np.int64, len(counted))
    linked = _linked_pairs(pairs, list(counted)) if pairs else None
    return Subject(name=name, what=release.plan.method, texts=Texts(texts=texts, times=times), linked=linked)


def _no_text(name: str) -> InputError:
    return InputError(
        f"'{name}' has no column of texts: nothing in it can be read",
        "name a log, or a release with words or queries in it",
    )


def _text_counts(table: pa.Table, columns: list[str]) -> dict[str, int]:
    """Texts with their counts; noise may take a count below 1, but what is published is there."""
    found: dict[str, int] = {}
    times = table["count"].to_pylist() if "count" in table.column_names else [1] * table.num_rows
    for column in columns:
        for text, count in zip(table[column].to_pylist(), times, strict=True):
            # 'car*' is the beginning of words, and no word.
            if text and not (column == "prefix" and text.endswith("*")):
                found[text] = found.get(text, 0) + max(1, round(count))
    return found


def _linked_pairs(tables: list[pa.Table], texts: list[str]) -> Linked:
    places = {text: place for place, text in enumerate(texts)}
    rows = [pair for table in tables for pair in _row_tuples(table) if all(pair)]
    text = np.array([places[one] for pair in rows for one in pair], dtype=np.int64)
    return _Units("pairs of queries", np.repeat(np.arange(len(rows)), 2), text)


def _row_tuples(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(table[name].to_pylist() for name in table.column_names), strict=True)


def _of_rows(release: Release, name: str, table: pa.Table) -> Subject:
    """A log-shaped release: rows of queries under the number of a session or a user."""
    if "query" not in table.column_names:
        raise _no_text(name)
    table = table.filter(pc.and_kleene(pc.is_valid(table["query"]), pc.not_equal(table["query"], "")))
    form = release.plan.texts
    shown = (
        as_read(table["query"], _APART)
        if form == LABELS
        else table["query"].cast(pa.string()).combine_chunks()
    )
    coded = shown.dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    by = next((column for column in ("session", "user") if column in table.column_names), None)
    linked = None
    if by is not None:
        units = table[by].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
        linked = _Units(f"{by}s", units.astype(np.int64), codes)
    shuffled = release.plan.parameters.get("token_order") == "shuffle"
    texts = Texts(
        texts=coded.dictionary.cast(pa.string()),
        times=np.bincount(codes, minlength=len(coded.dictionary)).astype(np.int64),
        ordered=not shuffled,
    )
    return Subject(name=name, what=release.plan.method, texts=texts, linked=linked, hashed=form == HASHES)


def _of_transactions(release: Release, name: str, table: pa.Table) -> Subject:
    """Sets of words: their order is lost, and each set is one unit."""
    items = table["items"].combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(items), 0).to_numpy(zero_copy_only=False)
    words = pc.list_flatten(items).cast(pa.string())
    shown = as_read(words).cast(pa.string()) if release.plan.texts == LABELS else words
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64())
    joined = pc.binary_join(pa.LargeListArray.from_arrays(offsets, shown), " ")
    coded = joined.filter(pc.not_equal(joined, "")).dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    texts = Texts(
        texts=coded.dictionary.cast(pa.string()),
        times=np.bincount(codes, minlength=len(coded.dictionary)).astype(np.int64),
        ordered=False,
    )
    return Subject(
        name=name,
        what=release.plan.method,
        texts=texts,
        linked=_Units("transactions", np.arange(len(codes)), codes),
    )


def subjects(given: list[SearchLog | Release]) -> list[Subject]:
    """Everything under attack, each with a name of its own."""
    made: list[Subject] = []
    for one in given:
        name = "log" if isinstance(one, SearchLog) else _release_name(one)
        taken = {other.name for other in made}
        unique = next(text for text in _numbered_names(name) if text not in taken)
        made.append(of_log(one, unique) if isinstance(one, SearchLog) else of_release(one, unique))
    return made


def _release_name(release: Release) -> str:
    return release.path.name if release.path is not None else release.plan.method


def _numbered_names(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name} {number}"
        number += 1


def reads(subject: Subject, tokens: Mapping[str, str]) -> bool:
    """Whether a subject has any of the hashes."""
    hashes = pa.array(list(tokens), pa.large_string())
    for _, chunk in subject.texts.read_chunks():
        parts = pc.split_pattern(chunk.cast(pa.large_string()), " ").flatten()
        if pc.any(pc.is_in(parts, hashes)).as_py():
            return True
    return False


# -- hashes --------------------------------------------------------------------------------------------------

Map = Path | Mapping[str, str] | None


def _words_of(given: Path | Mapping[str, str]) -> Mapping[str, str]:
    return given if isinstance(given, Mapping) else read_map(Path(given))


def with_words(given: list[Subject], mapping: Map, truth: Map) -> list[Subject]:
    """The subjects, hashed ones with what their hashes are taken for."""
    if truth is not None and mapping is None:
        raise UsageError(
            f"{argument('truth')} says whether a mapping is right, and there is none",
            f"pass {argument('mapping', 'FILE')} too",
        )
    if mapping is not None:
        reading = Reading(_words_of(mapping), _words_of(truth) if truth is not None else None)
        hashed = [reads(one, reading.tokens) for one in given]
        if not any(hashed):
            raise InputError(
                f"no hash of {_mapping_name(mapping)} is in what was named",
                "name the hashed log or release that the mapping belongs to",
            )
        given = [one.read_as(reading) if hit else one for one, hit in zip(given, hashed, strict=True)]
    for one in given:
        if one.hashed and one.texts.reading is None:
            raise InputError(
                f"'{one.name}' holds hashes and no words",
                f"say what they are taken for with {argument('mapping', 'FILE')}",
            )
    return given


def _mapping_name(mapping: Path | Mapping[str, str]) -> str:
    return "the mapping" if isinstance(mapping, Mapping) else f"'{Path(mapping).name}'"
