"""Logs on shared storage, read by the workers of a cluster: the same readers, each for its share of the files.

The program that asks looks at the first lines of every file, as always, and decides how all are read. Rows go from a
file to the worker that reads it, and stay there; what comes back is how many there were, and why some are none.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from queryveil import errors
from queryveil.errors import InputError, QueryveilError, UsageError
from queryveil.files import workspace
from queryveil.reading.encoding_hints import with_encoding_hints
from queryveil.reading.engine import Spark
from queryveil.reading.formats import FORMATS
from queryveil.reading.log_files import open_log, require_rows, stage_source
from queryveil.reading.model import COLUMNS, ReadOptions, Rejection, Source, Staged
from queryveil.reading.pinning import Pin, pin
from queryveil.reading.staging import EXAMPLES, REJECTED, TYPES

if TYPE_CHECKING:
    import ibis.expr.types as ir

_TYPES = "user string, time timestamp_ntz, query string, url string, rank int, session string, note binary"
_SCHEMA = pa.schema([*((name, TYPES[name]) for name in COLUMNS), ("note", pa.binary())])
_BATCH_ROWS = 20_000


@dataclass(frozen=True)
class _Share:
    """Files that one worker reads, and how."""

    source: Source
    options: ReadOptions
    format: str


@dataclass(frozen=True)
class _Note:
    """What a worker says of its share; of rejected rows where they are and why, never what they say."""

    staged: Staged | None = None
    rejected: tuple[tuple[str, int, int, str], ...] = ()
    error: tuple[str, str, str] | None = None


def read(log: Any, options: ReadOptions, engine: Spark, into: Path) -> tuple[ir.Table, Staged]:
    """The rows of files as a table of the workers, with our columns and types; and what was counted."""
    source, format = open_log(log, options, into)
    if any(workspace.is_inside(one.path) for one in source.files):
        raise UsageError("workers of a cluster cannot read standard input", "write it to shared storage")
    pins = {one.path: one for one in source.pins}
    # Otherwise one worker reads all files, and refuses files that differ.
    groups = [(file,) for file in source.files] if format.can_split(source, options) else [source.files]
    shares = [
        _Share(
            replace(source, files=tuple(files), pins=tuple(pins[file.path] for file in files)),
            options,
            format.name,
        )
        for files in groups
    ]
    table = engine.spread_out([pickle.dumps(one) for one in shares], _read_share, _TYPES)
    said = engine.arrow(table.filter(table["note"].notnull())["note"].as_table())["note"]
    notes = [_read_note(value) for value in said]
    for note in notes:
        if note.error is not None:
            kind, message, hint = note.error
            raise getattr(errors, kind, InputError)(message, hint)
    staged = _merge_notes([note for note in notes if note.staged is not None], source, into)
    staged = with_encoding_hints(staged, options)
    require_rows(staged, options.max_rejected, source)
    rows = engine.map_batches(table, _rows_alone, _TYPES)
    return rows.select(*(name for name in COLUMNS if name in staged.names)), staged


def _read_note(value: Any) -> _Note:
    # From workers that this process sent the function to.
    found: _Note = pickle.loads(value.as_py())  # noqa: S301
    return found


def _merge_notes(notes: Sequence[_Note], source: Source, into: Path) -> Staged:
    """One account of all shares."""
    parts = [one.staged for one in notes if one.staged is not None]
    order = {file.label: number for number, file in enumerate(source.files)}
    rejected = sorted(
        (row for one in notes for row in one.rejected), key=lambda row: (order.get(row[0], 0), row[1] or 0)
    )
    reasons = sum((Counter(one.reasons) for one in parts), Counter[str]())
    file = None
    if rejected:
        file = into / "rejected.parquet"
        columns = [*map(list, zip(*rejected, strict=True)), [None] * len(rejected)]
        pq.write_table(pa.table(columns, schema=REJECTED), file)
    empty = [one.empty_queries for one in parts]
    return replace(
        parts[0],
        files=(),
        names={name: name for name in COLUMNS if any(name in one.names for one in parts)},
        rows=sum(one.rows for one in parts),
        empty_queries=None if None in empty else sum(one or 0 for one in empty),
        rejected=sum(one.rejected for one in parts),
        reasons=dict(reasons.most_common()),
        examples=tuple(Rejection(where, line, why) for where, line, _, why in rejected[:EXAMPLES]),
        rejected_file=file,
        skipped=dict(sum((Counter(one.skipped) for one in parts), Counter[str]())),
        pins=source.pins,
        users=None,
    )


def _read_share(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """On a worker: rows of each share, then a note about them."""
    for batch in batches:
        for value in batch.column(0):
            share: _Share = pickle.loads(value.as_py())  # noqa: S301 (from the program that this worker works for)
            try:
                with workspace.temporary_folder() as folder:
                    yield from _rows_and_note(share, folder)
            except QueryveilError as error:
                # Spark would tell of it as a failure of its own, after three more tries.
                yield _as_batch(_Note(error=(type(error).__name__, *error.template)))


def _rows_alone(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """On a worker: rows without notes. Rows that are made again after a worker died end the work if they fail."""
    for batch in batches:
        notes = batch.column(_SCHEMA.names.index("note"))
        if any(
            note.is_valid and _read_note(note).error is not None
            for note in notes
            if notes.null_count < len(notes)
        ):
            raise RuntimeError("a part of the log could not be read a second time")
        yield batch.filter(notes.is_null())


def _rows_and_note(share: _Share, folder: Path) -> Iterator[pa.RecordBatch]:
    _require_same(share.source.pins)
    staged = stage_source(share.source, FORMATS[share.format], share.options, folder)
    _require_same(share.source.pins)
    for file in staged.files:
        read = pq.ParquetFile(file)
        for batch in read.iter_batches(_BATCH_ROWS, columns=list(staged.names.values())):
            found = {
                name: batch.column(batch.schema.get_field_index(at)) for name, at in staged.names.items()
            }
            columns = [
                found[name].cast(kind) if name in found else pa.nulls(batch.num_rows, kind)
                for name, kind in zip(_SCHEMA.names, _SCHEMA.types, strict=True)
            ]
            yield pa.record_batch(columns, schema=_SCHEMA)
    rejected: tuple[tuple[str, int, int, str], ...] = ()
    if staged.rejected_file is not None:
        kept = pq.read_table(staged.rejected_file, columns=["file", "line", "lines", "reason"])
        rejected = tuple(zip(*(column.to_pylist() for column in kept.columns), strict=True))
    yield _as_batch(_Note(replace(staged, files=(), rejected_file=None, pins=()), rejected))


def _as_batch(note: _Note) -> pa.RecordBatch:
    columns = [pa.nulls(1, kind) for kind in _SCHEMA.types[:-1]]
    return pa.record_batch([*columns, pa.array([pickle.dumps(note)], pa.binary())], schema=_SCHEMA)


def _require_same(pins: Sequence[Pin]) -> None:
    """Refuse a file that this worker does not see, or sees as another one than the program that asked."""
    for one in pins:
        try:
            now = pin(one.path, one.label)
        except OSError:
            raise InputError(
                f"a worker of the cluster cannot read {one.label!r}",
                "put the log where this program and all workers see it under the same path",
            ) from None
        # Machines number disks and files in ways of their own.
        if (now.size, now.written, now.footer) != (one.size, one.written, one.footer):
            raise InputError(
                f"a worker of the cluster sees another {one.label!r} than this program, or it changed meanwhile",
                "put the log where all see the same files, and change none of them",
            )
