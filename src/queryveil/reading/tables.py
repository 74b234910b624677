"""Tables in memory: data frames, Arrow, relations, and lists of dicts.

They are copied to a file in the private temporary folder, and staged like any file: the same names of columns, the same
validation, the same reject reasons.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queryveil.errors import InputError, QueryveilError, UsageError
from queryveil.reading import engine as engines
from queryveil.reading.columns import choose_columns, listed
from queryveil.reading.formats import FORMATS
from queryveil.reading.log_files import require_options, require_rows, stage_source
from queryveil.reading.model import COLUMNS, Head, OpenedTable, ReadOptions, Source, SourceFile, Staged
from queryveil.reading.sources import as_source_file, read_head
from queryveil.reading.staging import not_writable
from queryveil.reading.typed_tables import columns_of, require_kind, require_one_each

LABEL = "table"
"""The label of a table in messages and rejected rows."""
_BATCH_ROWS = 1 << 17
_CONNECTED = ("ibis", "_duckdb")
"""The packages whose tables are read through a connection."""
_STREAM = threading.Lock()
"""Held while rows arrive through a connection.

A connection of DuckDB ends a stream without an error when it runs another statement. Relations do not tell which
connection is theirs, so one lock serves all connections.
"""


def is_rows(given: Any) -> bool:
    """Whether this is a list of dicts."""
    return isinstance(given, Sequence) and bool(given) and all(isinstance(one, Mapping) for one in given)


def stage_given_table(given: Any, options: ReadOptions, into: Path) -> Staged | None:
    """Stage a table as Parquet under `into`; return None for a value that is not a known kind of table."""
    if is_rows(given):
        return _require_valid(*_stage_rows(given, options, into), options)
    with _STREAM if _type_package(given) in _CONNECTED else nullcontext():
        opened = _open_table(given)
        if opened is None:
            return None
        return _require_valid(*_stage_columns(opened, options, into), options)


def stage_opened_table(opened: OpenedTable, options: ReadOptions, into: Path) -> Staged:
    """Stage a table that is opened already."""
    return _require_valid(*_stage_columns(opened, options, into), options)


def _require_valid(staged: Staged, source: Source, options: ReadOptions) -> Staged:
    if staged.rows + staged.rejected:  # a program's table may be empty, which in a file is a mistake
        require_rows(staged, options.max_rejected, source)
    return replace(staged, format=LABEL)


def check_options(options: ReadOptions, format: str = "parquet") -> None:
    """Refuse options that only files take."""
    for name in ("format", "header"):
        if getattr(options, name) is not None:
            raise UsageError(f"parameter '{name}' has no meaning for a table", "leave it out")
    require_options(options, FORMATS[format], "a table")


# -- tables with columns -----------------------------------------------------------------------------------------


def _open_table(given: Any) -> OpenedTable | None:
    """Return the table behind a value; None if its kind is unknown."""
    home = _type_package(given)
    known = {"ibis": _of_ibis, "_duckdb": _of_relation, "pandas": _of_pandas}
    if home in known and hasattr(given, "columns"):
        return known[home](given)
    if home == "polars" and hasattr(given, "collect"):
        given = given.collect()
    if isinstance(given, pa.RecordBatch):
        given = pa.Table.from_batches([given])
    if isinstance(given, pa.Table):
        table = given
        return OpenedTable(table.schema, lambda columns: iter(table.select(columns).to_batches()))
    if hasattr(given, "scanner") and hasattr(given, "schema"):  # an Arrow dataset, without importing them all
        return OpenedTable(given.schema, lambda columns: iter(given.scanner(columns=columns).to_batches()))
    if hasattr(given, "__arrow_c_stream__"):
        with _hide_errors():
            stream = pa.RecordBatchReader.from_stream(given)
        return OpenedTable(stream.schema, lambda columns: (batch.select(columns) for batch in stream))
    return None


def _type_package(given: Any) -> str:
    """Return the package that a value's type comes from."""
    return type(given).__module__.partition(".")[0]


def _of_ibis(table: Any) -> OpenedTable:
    # A memtable has no connection yet. Ibis's default one would be shared with other threads.
    backend = table.get_backend() if table._find_backends()[0] else engines.connect().con
    if backend.name == "duckdb":
        backend._run_pre_execute_hooks(table)
        return _of_relation(backend.con.sql(backend.compile(table)))
    return OpenedTable(
        table.schema(),
        _require_complete(
            lambda: backend.to_pyarrow(table.count()).as_py(),
            lambda columns: backend.to_pyarrow_batches(table.select(*columns)),
        ),
    )


def _of_relation(relation: Any) -> OpenedTable:
    with _hide_errors():
        schema = relation.limit(0).to_arrow_table().schema
    return OpenedTable(
        schema,
        _require_complete(
            lambda: relation.count("*").fetchone()[0],
            lambda columns: (batch.select(columns) for batch in relation.to_arrow_reader(_BATCH_ROWS)),
        ),
    )


def _require_complete(
    count: Callable[[], int], stream: Callable[[list[str]], Iterator[pa.RecordBatch]]
) -> Callable[[list[str]], Iterator[pa.RecordBatch]]:
    """Return the batches of a stream, which must hold as many rows as were counted before."""

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        expected, rows = count(), 0
        for batch in stream(columns):
            rows += batch.num_rows
            yield batch
        if rows != expected:
            raise InputError(
                f"the table changed while it was read: it had {expected:,} rows and gave {rows:,}",
                "use its connection in one thread at a time, or pass a copy of the table in Arrow",
            )

    return batches


def _of_pandas(frame: Any) -> OpenedTable:
    names = [str(name) for name in frame.columns]
    # Types are known after conversion only, which is of the columns that are read.
    schema = pa.schema([(name, pa.null()) for name in names])

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        arrays = [_of_series(frame.iloc[:, names.index(name)]) for name in columns]
        yield from pa.table(arrays, names=columns).to_batches()

    return OpenedTable(schema, batches)


def _of_series(series: Any) -> Any:
    try:
        made = pa.chunked_array(pa.Array.from_pandas(series))
        if pa.types.is_floating(made.type) and series.dtype != object:
            return _spell_floats(made)
        # A column of objects has no type of its own: one 2.5 would make 17.0 of everybody's 17, and one date would
        # take the hours from everybody's times.
        if series.dtype != object or not _depends_on_others(made.type):
            return made
        raise TypeError("numbers of several types")
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Values of several types: each by itself, as text, so that one bad value is one bad row.
        missing = series.isna()
        return pa.chunked_array(
            [
                pa.array(
                    [None if gone else str(one) for one, gone in zip(series, missing, strict=True)],
                    pa.string(),
                )
            ]
        )


def _spell_floats(floats: Any) -> Any:
    """Return floats as texts, whole ones as integers: pandas makes floats of integers if one row has no value."""
    is_whole = pc.and_(pc.equal(floats, pc.floor(floats)), pc.less(pc.abs(floats), 2.0**53))
    integers = pc.cast(floats, pa.int64(), safe=False)
    return pc.if_else(is_whole, pc.cast(integers, pa.string()), pc.cast(floats, pa.string()))


def _depends_on_others(type_: Any) -> bool:
    """Whether a value that was given this type may be spelled in another way than it is by itself."""
    kinds = (pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_date)
    return any(is_kind(type_) for is_kind in kinds)


def _stage_columns(opened: OpenedTable, options: ReadOptions, into: Path) -> tuple[Staged, Source]:
    check_options(options)
    schema, batches = opened.schema, opened.batches
    names = columns_of(list(schema.names), options, "the table")
    require_one_each(names, list(schema.names), LABEL)
    wanted = list(dict.fromkeys(names.values()))
    ignored = tuple(name for name in schema.names if name not in wanted)
    file = into / "given.parquet"
    source = Source((SourceFile(file, LABEL, None, ""),), Head(file, b"", None, whole=True), ())
    _write_rows(file, names, schema, batches(wanted))
    staged = stage_source(source, FORMATS["parquet"], replace(options, columns=_exact_columns(names)), into)
    return replace(staged, ignored=ignored), source


def _write_rows(file: Path, names: Mapping[str, str], schema: Any, batches: Iterator[pa.RecordBatch]) -> None:
    writer: Any = None
    try:
        with _hide_errors():
            for batch in batches:
                if writer is None:
                    writer = pq.ParquetWriter(file, _writable_schema(batch.schema, names))
                writer.write_table(pa.Table.from_batches([batch]).cast(writer.schema))
            if writer is None:
                types = schema if isinstance(schema, pa.Schema) else schema.to_pyarrow()
                wanted = pa.schema([types.field(name) for name in dict.fromkeys(names.values())])
                writer = pq.ParquetWriter(file, _writable_schema(wanted, names))
    except OSError as error:
        raise not_writable(file.parent, error) from None
    finally:
        if writer is not None:
            writer.close()


def _writable_schema(schema: Any, names: Mapping[str, str]) -> Any:
    """Return the schema in types that Parquet has; a column of nulls becomes text."""
    fields = []
    for name, type_ in zip(schema.names, schema.types, strict=True):
        plain = pa.string() if pa.types.is_null(type_) or pa.types.is_string_view(type_) else type_
        for standard in (one for one, column in names.items() if column == name):
            require_kind(standard, name, plain, LABEL)
        fields.append((name, plain))
    return pa.schema(fields)


@contextmanager
def _hide_errors() -> Iterator[None]:
    """Replace errors of the library that makes the rows: their texts may quote a row."""
    try:
        yield
    except (QueryveilError, MemoryError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 (each library has errors of its own)
        raise InputError(
            f"the table could not be read ({type(error).__name__})", "check that it can be turned into Arrow"
        ) from None


# -- lists of dicts -----------------------------------------------------------------------------------------------


def _stage_rows(
    given: Sequence[Mapping[Any, Any]], options: ReadOptions, into: Path
) -> tuple[Staged, Source]:
    """Stage rows as JSON lines, where each row is validated by itself, whatever the types of its values."""
    check_options(options, "jsonl")
    known = list(dict.fromkeys(str(key) for row in given for key in row))
    names: Mapping[str, str | int] = choose_columns(options.columns, known)
    for standard in ("user", "query"):
        if standard not in names:
            raise InputError(
                f"the rows have no key for the {standard}; they have {listed(known)}",
                f"say which it is with columns, {{'{standard}': ...}}",
            )
    file = into / "given.jsonl"
    try:
        with file.open("x", encoding="utf-8") as lines:
            lines.writelines(_as_json(row) + "\n" for row in given)
    except OSError as error:
        raise not_writable(into, error) from None
    head = read_head(file)
    source = Source((as_source_file(head, LABEL),), head, ())
    staged = stage_source(source, FORMATS["jsonl"], replace(options, columns=_exact_columns(names)), into)
    ignored = tuple(key for key in known if key not in names.values())
    return replace(staged, mapping={name: str(at) for name, at in names.items()}, ignored=ignored), source


def _exact_columns(names: Mapping[str, str | int]) -> dict[str, str | int]:
    """Return options for these columns and no others, whatever names the source has."""
    return {name: "" for name in COLUMNS if name not in ("user", "query")} | dict(names)


def _as_json(row: Mapping[Any, Any]) -> str:
    return json.dumps({str(key): _to_plain(value) for key, value in row.items()}, default=_to_json_value)


def _to_plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None  # how data frames write a missing value
    if isinstance(value, Mapping):
        return {str(key): _to_plain(one) for key, one in value.items()}
    return value


def _to_json_value(value: Any) -> Any:
    """Return a value that JSON has: times as ISO, numbers of NumPy as numbers; others get a wrong type in their row."""
    if isinstance(value, (dt.datetime, dt.date)):
        return str(value) if value == value else None  # noqa: PLR0124 (no time of pandas is unlike itself)
    if hasattr(value, "item"):
        return _to_plain(value.item())
    if type(value).__name__ in {"UUID", "Decimal"}:
        return str(value)
    return None if type(value).__name__ == "NAType" else {}
