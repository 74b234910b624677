"""SQLite databases: one table or view is the log. Values are read as text, because each has a type of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import pyarrow as pa

from queryveil.errors import InputError
from queryveil.reading.formats.columnar import Opened, stage_as_parquet
from queryveil.reading.formats.table_choice import chosen_table
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged

MAGIC = b"SQLite format 3\0"
_BATCH = 50_000


class Sqlite:
    name: ClassVar[str] = "sqlite"
    help: ClassVar[str] = "a table of an SQLite database"
    suffixes: ClassVar[tuple[str, ...]] = ()
    binary: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("table",)

    def matches(self, head: Head) -> bool:
        return head.data.startswith(MAGIC)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        def open_file(path: Path) -> Opened:
            return _open(path, options)

        return stage_as_parquet(
            source, options, into, progress, open_file, "SQLite", errors=(sqlite3.Error, UnicodeDecodeError)
        )


def _open(path: Path, options: ReadOptions) -> Opened:
    where = repr(path.name)
    _require_settled(path)
    with closing(_connected(path)) as con:
        found = con.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        names = [_decoded(row[0]) for row in found]
        tables = {name: _columns(con, name) for name in names}
    table = chosen_table(tables, options, where)
    schema = pa.schema([(name, pa.string()) for name in tables[table]])

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        wanted = ", ".join(map(_quoted, columns))
        types = pa.schema([(name, pa.string()) for name in columns])
        with closing(_connected(path)) as con:
            rows = con.execute(f"SELECT {wanted} FROM {_quoted(table)}")  # noqa: S608 (names are quoted)
            while some := rows.fetchmany(_BATCH):
                yield pa.record_batch([_texts(one) for one in zip(*some, strict=True)], schema=types)

    return schema, batches


def _connected(path: Path) -> sqlite3.Connection:
    made = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)
    made.text_factory = bytes
    return made


def _columns(con: sqlite3.Connection, table: str) -> list[str]:
    return [_decoded(row[1]) for row in con.execute(f"PRAGMA table_info({_quoted(table)})")]


def _require_settled(path: Path) -> None:
    """Refuse a database of which rows are still in another file: a copy of this one alone would lack them."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise InputError(
            f"{path.name!r} is in use: some of its rows are still in {log.name!r}",
            "close the program that writes it, or give a copy made with sqlite3's .backup",
        )


def _texts(values: Sequence[Any]) -> Any:
    """The values of a column as texts: all at once if they are of one kind, else one by one."""
    kinds = set(map(type, values)) - {type(None)}
    try:
        if kinds == {bytes}:
            return pa.array(values, pa.binary()).cast(pa.string())
        if kinds == {int}:
            return pa.array(values, pa.int64()).cast(pa.string())
    except pa.ArrowInvalid:  # some text is no UTF-8
        pass
    return pa.array(map(_text, values), pa.string())


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return _decoded(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # 17.0 is user 17
    return None if value is None else str(value)


def _decoded(value: bytes) -> str:
    """A text or a blob; hexadecimal digits where it is no UTF-8, or one row would keep all others from being read."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
