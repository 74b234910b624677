"""Tables with types of their own (Feather, ORC, databases, workbooks): copied to Parquet, and read there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.errors import InputError
from queryveil.reading.formats.parquet import Parquet, columns_of, require_one_each
from queryveil.reading.model import Progress, ReadOptions, Source, SourceFile, Staged
from queryveil.reading.staging import not_writable

Opened = tuple[Any, Callable[[list[str]], Iterator[pa.RecordBatch]]]
"""A schema, and what gives batches of these columns."""


def stage_as_parquet(
    source: Source,
    options: ReadOptions,
    into: Path,
    progress: Progress | None,
    open_file: Callable[[Path], Opened],
    kind: str,
    errors: tuple[type[Exception], ...] = (),
) -> Staged:
    """Copy the columns that are needed, and let the reader of Parquet judge them: the same rules for the same types.

    `errors` are those of the library that reads the file; what they say is not repeated.
    """
    copies: list[SourceFile] = []
    names: dict[str, str] = {}
    ignored: tuple[str, ...] = ()
    for number, file in enumerate(source.files):
        if file.compression is not None:
            raise InputError(f"{file.label!r} is {kind} inside {file.compression}", "decompress it first")
        with _readable(file, kind, errors):
            schema, batches = open_file(file.path)
            there = schema.names  # decoded now, and not all bytes are text
        if not names:
            names = columns_of(there, options, repr(file.label))
            ignored = tuple(name for name in there if name not in names.values())
        require_one_each(names, there, file.label)
        copy = into / f"copied-{number}.parquet"
        wanted = [name for name in there if name in names.values()]
        rows = _guarded(batches(wanted), file, kind, errors)
        _write(copy, rows, [schema.field(name) for name in wanted], names)
        copies.append(replace(file, path=copy))
    copied = replace(source, files=tuple(copies))
    staged = Parquet().stage(copied, replace(options, columns=names), into, progress)
    return replace(staged, ignored=ignored)


@contextmanager
def _readable(file: SourceFile, kind: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    """Say of a file that cannot be read which one it is, and nothing of what it holds."""
    try:
        yield
    except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError, *errors):
        raise InputError(
            f"{file.label!r} is damaged, cut short or not {kind}",
            "copy it again from where it came, while nothing writes to it",
        ) from None


def _guarded(
    batches: Iterator[pa.RecordBatch], file: SourceFile, kind: str, errors: tuple[type[Exception], ...]
) -> Iterator[pa.RecordBatch]:
    while True:
        with _readable(file, kind, errors):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _write(
    copy: Path, batches: Iterator[pa.RecordBatch], fields: list[Any], names: Mapping[str, str]
) -> None:
    """All batches, in the types that they have; of a file without rows, those that it declares."""
    first = next(batches, None)
    declared = fields if first is None else first.schema
    # A file may say that nothing is missing, and lack something: rows are judged one by one.
    schema = pa.schema([one.with_nullable(True) for one in declared])
    try:
        # A dictionary of all queries takes longer to write than they do, and is given up in the middle.
        few, times = [names["user"]], [names["time"]] if "time" in names else False
        with pq.ParquetWriter(copy, schema, use_dictionary=few, write_statistics=times) as writer:
            for batch in [] if first is None else chain([first], batches):
                writer.write_batch(pa.record_batch(batch.columns, schema=schema))
    except OSError as error:
        raise not_writable(copy.parent, error) from None
