"""Public lists of items: a catalogue, page titles, the items of a private release. Not what users did.

A file with one item on each line, or with an item's columns between tabs, or Parquet with these columns, such as the
`items.parquet` of a release. Items get the normal form that a log's have; repeats and empty lines are dropped. The list
is read once, and known from then on by the digest of its bytes. It must not be made from the log: `overlap` looks for
signs of that, for the curator alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.catalog import Sentence
from queryveil.count.item_kinds import ItemKind
from queryveil.count.text_codes import normal_forms
from queryveil.errors import InputError, argument
from queryveil.reading import pinning, text

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

MOST_LINES: Final = 10_000_000
_LONGEST_LINE: Final = 1_000_000
_CHUNK: Final = 8_000_000
"""Bytes that are read at a time."""

_FEW: Final = 1_000
"""Of a shorter list nothing is said: anyone may know a few hundred items that all happen to be in the log."""
_SAMPLED: Final = 10_000
_MOST_FOUND: Final = 0.9
_MOST_SINGLE: Final = 0.5
"""If people chose items independently, at most 37 % (1/e) of a list could have exactly one user."""


@dataclass(frozen=True, kw_only=True)
class PublicItems:
    """A public list as it was read."""

    items: int
    """Different items."""
    lines: int
    """Lines of the file, or rows."""
    sha256: str
    """Of the file's bytes."""
    table: pa.Table | None
    """The items; None where only the list's identity is known, from a manifest."""

    @property
    def rows(self) -> pa.Table:
        if self.table is None:
            raise InputError("the public list itself is not here", f"name its file with {argument('public')}")
        return self.table


# -- reading -------------------------------------------------------------------------------------------------


def read(file: Path, kind: ItemKind) -> PublicItems:
    """The items of a list, in the order in which they first stand there; refused if there are none, or too many."""
    try:
        if file.suffix.lower() == ".csv":
            raise _unreadable_error(file, "commas and quotes may be part of items")
        lines, digest, parts = _read_parquet(file, kind) if _is_parquet(file) else _read_text(file, kind)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or (
            "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else type(error).__name__
        )
        raise _unreadable_error(file, str(reason)) from None
    schema = pa.schema([(column, pa.large_string()) for column in kind.columns])
    distinct = _distinct_rows(pa.Table.from_batches(parts, schema))
    if not distinct.num_rows:
        raise InputError(
            f"the public list '{file.name}' has no item",
            f"give a file with one item on each line ({kind.help})",
        )
    return PublicItems(items=distinct.num_rows, lines=lines, sha256=digest, table=distinct)


def _distinct_rows(whole: pa.Table) -> pa.Table:
    """Each row once, where it first stands."""
    import pyarrow.compute as pc

    if whole.num_columns == 1:
        return pa.table({whole.column_names[0]: pc.unique(whole.column(0))})
    # In one thread the first of equal rows keeps its place.
    return whole.group_by(whole.column_names, use_threads=False).aggregate([])


def _unreadable_error(file: Path, reason: str) -> InputError:
    return InputError(
        f"the public list '{file.name}' cannot be read ({reason})",
        "give a file in UTF-8 with one item on each line, with tabs between columns, or Parquet",
    )


def _too_long(file: Path) -> InputError:
    return InputError(
        f"the public list '{file.name}' has more than {MOST_LINES:,} lines",
        "leave out items that nobody would look for: each one gets noise, and may be published by chance",
    )


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as content:
        return content.read(4) == b"PAR1"


def _read_parquet(file: Path, kind: ItemKind) -> tuple[int, str, list[pa.RecordBatch]]:
    import pyarrow.parquet as pq

    before = pinning.pin(file, file.name)
    with file.open("rb") as raw:
        digest = hashlib.file_digest(raw, "sha256").hexdigest()
    with pq.ParquetFile(file) as content:
        lines = content.metadata.num_rows
        if lines > MOST_LINES:
            raise _too_long(file)
        lost = [column for column in kind.columns if column not in content.schema_arrow.names]
        if lost:
            raise InputError(
                f"the public list '{file.name}' has no column '{lost[0]}'",
                f"give it the columns of {kind.name.replace('-', ' ')}: {', '.join(kind.columns)}",
            )
        batches = content.iter_batches(columns=list(kind.columns))
        parts = [
            _normalized_items([one.column(name).cast(pa.large_string()) for name in kind.columns], kind)
            for one in batches
        ]
    if pinning.pin(file, file.name) != before:
        raise InputError(
            f"the public list '{file.name}' changed while it was read", "give a copy that does not change"
        )
    return lines, digest, parts


def _read_text(file: Path, kind: ItemKind) -> tuple[int, str, list[pa.RecordBatch]]:
    with file.open("rb") as raw:
        if _count_newlines(raw) > MOST_LINES:
            raise _too_long(file)
    digest, number, parts = hashlib.sha256(), 0, []
    at: list[int] | None = None
    with file.open("rb") as raw:
        for block in _read_blocks(raw, file, digest):
            given = pa.array(block, pa.large_string())
            if at is None:
                at, header = _column_positions(block[0], kind)
                given = given.slice(1) if header else given
                number += header
            parts.append(_normalized_items(_item_columns(given, at, kind, file, number), kind))
            number += len(given)
            if number > MOST_LINES:
                raise _too_long(file)
    return number, digest.hexdigest(), parts


def _count_newlines(raw: BinaryIO) -> int:
    """Only to refuse early what is far too long; it stops as soon as that is known."""
    found = 0
    while found <= MOST_LINES and (chunk := raw.read(_CHUNK)):
        found += chunk.count(b"\n")
    return found


def _read_blocks(raw: BinaryIO, file: Path, digest: hashlib._Hash) -> Iterator[list[str]]:
    """Whole lines, many at a time; every byte goes into the digest once, and nowhere else."""
    rest, first = b"", True
    while chunk := raw.read(_CHUNK):
        digest.update(chunk)
        rest += chunk
        if first:
            rest, first = rest.removeprefix(b"\xef\xbb\xbf"), False
        whole, line_end, rest = rest.rpartition(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise _unreadable_error(file, f"a line has more than {_LONGEST_LINE:,} bytes")
        if line_end:
            yield whole.decode().split("\n")
    if rest:
        yield [rest.decode()]


def _column_positions(first: str, kind: ItemKind) -> tuple[list[int], bool]:
    """Where the item's columns stand, and whether the first line names them: then it has tabs, and no item does."""
    names = first.rstrip("\r").split("\t")
    if len(names) > 1 and set(kind.columns) <= set(names):
        return [names.index(column) for column in kind.columns], True
    return ([] if len(kind.columns) == 1 else list(range(len(kind.columns)))), False


def _item_columns(given: pa.Array, at: list[int], kind: ItemKind, file: Path, before: int) -> list[pa.Array]:
    import pyarrow.compute as pc

    if not at:
        return [given]  # the whole line is the item
    given = pc.utf8_rtrim(given, characters="\r")
    empty = pc.equal(pc.utf8_trim_whitespace(given), "")
    cut = pc.split_pattern(given, "\t")
    short = np.flatnonzero(
        pc.and_not(pc.less_equal(pc.list_value_length(cut), max(at)), empty).to_numpy(zero_copy_only=False)
    )
    if len(short):
        raise InputError(
            f"line {before + int(short[0]) + 1} of the public list '{file.name}' has fewer columns than an item",
            f"give {', '.join(kind.columns)} on every line, with tabs between them",
        )
    cut = cut.filter(pc.invert(empty))
    return [pc.list_element(cut, place) for place in at]


# -- what a line stands for ----------------------------------------------------------------------------------


def _normalized_items(columns: list[pa.Array], kind: ItemKind) -> pa.RecordBatch:
    """Items in normal form, as a log's are; of a line that is none, nothing. For keywords: all words of the line."""
    import pyarrow.compute as pc

    normal = [
        pc.fill_null(one, "") if name == "url" else normalised(one)
        for name, one in zip(kind.columns, columns, strict=True)
    ]
    if kind.columns == ("keyword",):
        parts = pc.unique(pc.list_flatten(pc.split_pattern(normal[0], " "))).to_pylist()
        words = [word for part in parts for word in text.keywords(part)]
        normal = [pa.array(words, pa.large_string())]
    elif len(normal) > 1:
        rows = zip(*(one.to_pylist() for one in normal), strict=True)
        # Different texts only: a query does not follow itself, and a set has no item twice.
        whole = [row for row in rows if all(row) and len(set(row)) == len(row)]
        # By code points, which is the order of their bytes in UTF-8.
        kept = [tuple(sorted(row)) for row in whole] if kind.is_set else whole
        normal = [pa.array([row[n] for row in kept], pa.large_string()) for n in range(len(normal))]
    keep = pc.not_equal(normal[0], "")
    return pa.record_batch([one.filter(keep) for one in normal], names=list(kind.columns))


def normalised(texts: pa.Array) -> pa.Array:
    """Texts in the normal form of queries."""
    import pyarrow.compute as pc

    return normal_forms(pc.fill_null(texts, "")).cast(pa.large_string())


# -- against a log -------------------------------------------------------------------------------------------


def places(kind: ItemKind, listed: PublicItems, items: pa.Table) -> npt.NDArray[np.int64]:
    """Return each item's place on the list; -1 for items that are not on it."""
    import pyarrow.compute as pc

    found = pc.index_in(kind.join_columns(items), value_set=kind.join_columns(listed.rows))
    known: npt.NDArray[np.int64] = pc.fill_null(found, -1).cast(pa.int64()).to_numpy()
    return known


@dataclass(frozen=True)
class Overlap:
    """Of some items of a list, how many are in a log, and how many of exactly one user."""

    sampled: int
    found: int
    single: int

    @property
    def warning(self) -> str | None:
        """What the curator is told if the list may have been made from the log itself."""
        why = Sentence("curator.list-why")
        if self.found > _MOST_FOUND * self.sampled:
            return Sentence("curator.list-unlike", percent=self._percent(self.found), why=why)
        if self.single > _MOST_SINGLE * self.sampled:
            return Sentence("curator.list-single", percent=self._percent(self.single), why=why)
        return None

    def _percent(self, number: int) -> str:
        return f"{100 * number / self.sampled:.0f}"


def overlap(log: SearchLog, kind: ItemKind, listed: PublicItems) -> Overlap | None:
    """How a list and a log overlap, by 10,000 of its items; None for a short list. For the curator alone.

    All of the log's items are looked at, before any bound: a bound would hide most of a list that was made from them.
    """
    rows = listed.rows
    if rows.num_rows < _FEW:
        return None
    size = min(_SAMPLED, rows.num_rows)
    places = np.arange(size) * rows.num_rows // size
    some = rows.take(pa.array(places)).cast(pa.schema([(name, pa.string()) for name in rows.column_names]))
    asked = log.engine.register(some)
    found = kind.occurrences(log).semi_join(asked, list(kind.columns))
    pairs = found.select("user", *kind.columns).distinct()
    users = pairs.group_by(list(kind.columns)).aggregate(users=pairs.count())
    total = users.aggregate(found=users.count(), single=(users["users"] == 1).sum())
    (row,) = log.engine.arrow(total).to_pylist()
    return Overlap(size, int(row["found"] or 0), int(row["single"] or 0))
