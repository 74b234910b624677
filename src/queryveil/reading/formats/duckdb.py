"""DuckDB's own database files: one table or view of them is the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa

from queryveil.reading.model import Format, OpenedTable, ReadOptions
from queryveil.reading.typed_tables import choose_table, quote_name

_MAGIC, _MAGIC_AT = b"DUCK", 8
_BATCH = 100_000
_AS_THEY_ARE = ("VARCHAR", "DATE", "FLOAT", "DOUBLE")
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    # A view may name other files, and an extension may do anything: nothing but this file is opened.
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


def _open_table(path: Path, options: ReadOptions) -> OpenedTable:
    with closing(_connect_file(path)) as con:
        rows = con.execute(
            "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE database_name = current_database() AND NOT internal ORDER BY table_oid, column_index"
        ).fetchall()
    tables: dict[str, dict[str, str]] = {}
    places: dict[str, str] = {}
    for schema_name, table, column, kind in rows:
        name = table if schema_name == "main" else f"{schema_name}.{table}"
        tables.setdefault(name, {})[column] = kind
        places[name] = f"{quote_name(schema_name)}.{quote_name(table)}"
    chosen = choose_table({name: list(columns) for name, columns in tables.items()}, options, repr(path.name))
    kinds = tables[chosen]
    # Types are those of the batches; here only the names matter.
    schema = pa.schema([(name, pa.string()) for name in kinds])

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        wanted = ", ".join(_column_sql(name, kinds[name]) for name in columns)
        with closing(_connect_file(path)) as con:
            yield from con.execute(f"SELECT {wanted} FROM {places[chosen]}").to_arrow_reader(_BATCH)  # noqa: S608

    return OpenedTable(schema, batches)


def _connect_file(path: Path) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(str(path), read_only=True, config=_CONFIG)
    con.execute("SET TimeZone = 'UTC'")
    return con


def _column_sql(name: str, kind: str) -> str:
    """Return SQL for a column in a type that a log may have; others, such as UUID, as text."""
    plain = kind in _AS_THEY_ARE or kind.startswith("TIMESTAMP") or ("INT" in kind and "HUGE" not in kind)
    return quote_name(name) if plain else f"CAST({quote_name(name)} AS VARCHAR) AS {quote_name(name)}"


FORMAT = Format(
    name="duckdb",
    help="a table of a DuckDB database",
    options=("table",),
    recognize=lambda head: head.data[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] == _MAGIC,
    open_table=_open_table,
    errors=lambda: (duckdb.Error,),
    file_kind="DuckDB",
)
