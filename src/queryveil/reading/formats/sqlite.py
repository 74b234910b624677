"""SQLite databases: one table or view is the log. Values are read as text, because each has a type of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from queryveil.errors import InputError
from queryveil.reading.model import Format, OpenedTable, ReadOptions
from queryveil.reading.typed_tables import choose_table, quote_name

_MAGIC = b"SQLite format 3\0"
_BATCH = 50_000


def _open_table(path: Path, options: ReadOptions) -> OpenedTable:
    where = repr(path.name)
    _require_settled(path)
    with closing(_connect_file(path)) as con:
        found = con.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        names = [_decode_text(row[0]) for row in found]
        tables = {name: _table_columns(con, name) for name in names}
    table = choose_table(tables, options, where)
    schema = pa.schema([(name, pa.string()) for name in tables[table]])

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        wanted = ", ".join(map(quote_name, columns))
        types = pa.schema([(name, pa.string()) for name in columns])
        with closing(_connect_file(path)) as con:
            rows = con.execute(f"SELECT {wanted} FROM {quote_name(table)}")  # noqa: S608 (names are quoted)
            while some := rows.fetchmany(_BATCH):
                yield pa.record_batch([_to_texts(one) for one in zip(*some, strict=True)], schema=types)

    return OpenedTable(schema, batches)


def _connect_file(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)
    connection.text_factory = bytes
    return connection


def _table_columns(con: sqlite3.Connection, table: str) -> list[str]:
    return [_decode_text(row[1]) for row in con.execute(f"PRAGMA table_info({quote_name(table)})")]


def _require_settled(path: Path) -> None:
    """Refuse a database with rows that are still in another file: a copy of this one alone would lack them."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise InputError(
            f"{path.name!r} is in use: some of its rows are still in {log.name!r}",
            "close the program that writes it, or give a copy made with sqlite3's .backup",
        )


def _to_texts(values: Sequence[Any]) -> Any:
    """Return the values of a column as texts: all at once if they have one type, else one by one."""
    kinds = set(map(type, values)) - {type(None)}
    try:
        if kinds == {bytes}:
            return pa.array(values, pa.binary()).cast(pa.string())
        if kinds == {int}:
            return pa.array(values, pa.int64()).cast(pa.string())
    except pa.ArrowInvalid:  # some text is no UTF-8
        pass
    return pa.array(map(_to_text, values), pa.string())


def _to_text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return _decode_text(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # 17.0 is user 17
    return None if value is None else str(value)


def _decode_text(value: bytes) -> str:
    """Return a text or blob; as hexadecimal digits if it is not UTF-8, or one row would prevent reading all others."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


FORMAT = Format(
    name="sqlite",
    help="a table of an SQLite database",
    options=("table",),
    recognize=lambda head: head.data.startswith(_MAGIC),
    open_table=_open_table,
    errors=lambda: (sqlite3.Error,),
    file_kind="SQLite",
)
