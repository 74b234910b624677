"""DuckDB's own database files: one table or view of them is the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow as pa

from queryveil.reading.formats.columnar import Opened, stage_as_parquet
from queryveil.reading.formats.table_choice import chosen_table
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged

_MAGIC, _MAGIC_AT = b"DUCK", 8
_BATCH = 100_000
_AS_THEY_ARE = ("VARCHAR", "DATE", "FLOAT", "DOUBLE")
_CONFIG = {
    # A view may name other files, and an extension may do anything: nothing but this file is opened.
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


class DuckdbFile:
    name: ClassVar[str] = "duckdb"
    help: ClassVar[str] = "a table of a DuckDB database"
    suffixes: ClassVar[tuple[str, ...]] = ()
    binary: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("table",)

    def matches(self, head: Head) -> bool:
        return head.data[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] == _MAGIC

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        def open_file(path: Path) -> Opened:
            return _open(path, options)

        return stage_as_parquet(source, options, into, progress, open_file, "DuckDB", errors=(duckdb.Error,))


def _open(path: Path, options: ReadOptions) -> Opened:
    with closing(_connected(path)) as con:
        rows = con.execute(
            "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE database_name = current_database() AND NOT internal ORDER BY table_oid, column_index"
        ).fetchall()
    tables: dict[str, dict[str, str]] = {}
    places: dict[str, str] = {}
    for schema_name, table, column, kind in rows:
        name = table if schema_name == "main" else f"{schema_name}.{table}"
        tables.setdefault(name, {})[column] = kind
        places[name] = f"{_quoted(schema_name)}.{_quoted(table)}"
    chosen = chosen_table({name: list(columns) for name, columns in tables.items()}, options, repr(path.name))
    kinds = tables[chosen]
    # Types are those that come out; here only the names matter.
    schema = pa.schema([(name, pa.string()) for name in kinds])

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        wanted = ", ".join(_value(name, kinds[name]) for name in columns)
        with closing(_connected(path)) as con:
            yield from con.execute(f"SELECT {wanted} FROM {places[chosen]}").to_arrow_reader(_BATCH)  # noqa: S608

    return schema, batches


def _connected(path: Path) -> Any:
    con = duckdb.connect(str(path), read_only=True, config=_CONFIG)
    con.execute("SET TimeZone = 'UTC'")
    return con


def _value(name: str, kind: str) -> str:
    """A column in a type that a log may have; others, such as UUID, as text."""
    plain = kind in _AS_THEY_ARE or kind.startswith("TIMESTAMP") or ("INT" in kind and "HUGE" not in kind)
    return _quoted(name) if plain else f"CAST({_quoted(name)} AS VARCHAR) AS {_quoted(name)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
