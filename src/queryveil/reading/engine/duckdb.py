"""DuckDB, inside the process: the default engine."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa

from queryveil.errors import CannotBeMet, InputError, OutputError, QueryveilError, UsageError
from queryveil.files import forks
from queryveil.files.memory import fit_to_limit
from queryveil.reading.engine.base import BLANK, Engine, temporary_name

if TYPE_CHECKING:
    import ibis.expr.types as ir

DUCKDB_MEMORY = "3GB"
"""Default ceiling of DuckDB's own memory; beyond it work spills to the temporary directory."""

_SIZE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})([KMGT]B)", re.IGNORECASE | re.ASCII)
_MOST_MEMORY = 10**15
"""More than any machine has; DuckDB takes no number of bytes beyond 64 bits."""

_NO_MEMORY = ("out of memory", "bad_alloc", "failed to allocate", "could not allocate", "cannot allocate")
"""What DuckDB says where the machine itself refuses memory, in errors of several kinds."""

_BATCH_ROWS = 250_000

_NO_FOREIGN_CODE: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    # Where an extension would be fetched from if somebody asked for one: from nowhere, and not from the network.
    "custom_extension_repository": "/nowhere",
}
"""What runs is what was installed with DuckDB itself, whatever a file says."""


@ibis.udf.scalar.builtin(name="strlen", signature=(("string",), "int64"))
def _string_length(text): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="sha256", signature=(("string",), "string"))
def _sha256(text): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="hash", signature=(("string",), "uint64"))
def _duckdb_hash(text): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="hash", signature=(("string",) * 3, "uint64"))
def _duckdb_hash2(key, first, second): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="hash", signature=(("uint64",), "uint64"))
def _duckdb_rehash(number): ...  # type: ignore[no-untyped-def]


class DuckDB(Engine):
    """A private DuckDB instance. Every statement runs on its own cursor, so any number of threads can share it.

    DuckDB keeps one result per connection, and a statement silently ends the result stream of the one before it.
    Temporary tables belong to one connection, so working tables are ordinary tables of the in-memory database.
    """

    name = "duckdb"
    inside = True

    def __init__(self, con: Any, memory: str = DUCKDB_MEMORY) -> None:
        super().__init__(con)
        self.memory = memory
        self._views: dict[str, Path] = {}
        """The file behind each view that `put_aside` made."""

    def _execute(self, sql: str) -> Any:
        """Run a statement and return its cursor."""
        return self.con.new_cursor().execute(sql)

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            raise self._ours(error) from (error if os.environ.get("QUERYVEIL_DEBUG") else None)

    def _ours(self, error: Exception) -> QueryveilError:
        import duckdb

        said = str(error).lower()
        if "no space left" in said or "max_temp_directory_size" in said:
            return OutputError(
                "the disk that the engine uses for temporary data is full",
                "free some space, or name another TMPDIR",
            )
        if isinstance(error, duckdb.OutOfMemoryException) or any(one in said for one in _NO_MEMORY):
            return CannotBeMet(
                f"the work does not fit into the engine's memory limit of {self.memory}",
                "raise QUERYVEIL_MEMORY, or free some memory and disk space",
            )
        return InputError(
            f"the engine could not read or process the log ({type(error).__name__})",
            "check that the files are complete; QUERYVEIL_DEBUG=1 shows the engine's own words",
        )

    def register(self, table: pa.Table) -> ir.Table:
        name = temporary_name()
        cursor = self.con.new_cursor()
        with self.errors():
            cursor.register("given", table)
            cursor.execute(f'CREATE TABLE "{name}" AS FROM "given"')
        return self.con.table(name)

    def keep(self, table: ir.Table) -> ir.Table:
        name = temporary_name()
        with self.errors():
            self._execute(f'CREATE TABLE "{name}" AS {self.con.compile(table)}')
        return self.con.table(name)

    def put_aside(self, table: ir.Table, folder: Path | None) -> ir.Table:
        if folder is None:
            return self.keep(table)
        file = folder / f"{temporary_name()}.parquet"
        with self.errors():
            self._execute(
                f"COPY ({self.con.compile(table)}) TO {_quote_identifier(str(file))} (FORMAT parquet)"
            )
        aside = self.read_parquet([file])
        self._views[aside.op().name] = file
        return aside

    def drop(self, kept: ir.Table) -> None:
        name = kept.op().name
        file = self._views.pop(name, None)
        self._execute(f'DROP {"TABLE" if file is None else "VIEW"} "{name}"')
        if file is not None:
            file.unlink()

    def read_parquet(self, files: Sequence[Path], columns: Sequence[str] | None = None) -> ir.Table:
        name, paths = temporary_name(), ", ".join(_quote_identifier(_escape_glob(file)) for file in files)
        # Of other columns not even the type is asked for: Ibis would fetch an extension for some.
        wanted = ", ".join('"' + one.replace('"', '""') + '"' for one in dict.fromkeys(columns or ())) or "*"
        with self.errors():
            # Folder names are no columns: 'user=7/' must not become the user of its rows.
            self._execute(
                f'CREATE VIEW "{name}" AS SELECT {wanted} '  # noqa: S608 (names are quoted)
                f"FROM read_parquet([{paths}], hive_partitioning = false)"
            )
            return self.con.table(name)

    def arrow(self, table: ir.Table) -> pa.Table:
        with self.errors():
            return self._execute(self.con.compile(table)).to_arrow_table()

    def batches(self, table: ir.Table) -> Iterator[pa.RecordBatch]:
        with self.errors():
            yield from self._execute(self.con.compile(table)).to_arrow_reader(_BATCH_ROWS)

    def is_ascii(self, text: ir.StringValue) -> ir.BooleanValue:
        return _string_length(text) == text.length()

    def is_blank(self, text: ir.StringValue) -> ir.BooleanValue:
        return text.re_search(BLANK)

    def sha256(self, text: ir.StringValue) -> ir.StringValue:
        return _sha256(text)

    def fast_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        return _duckdb_hash(text)

    def keyed_hash(self, key: str, first: ir.StringValue, second: ir.StringValue) -> ir.Value:
        # DuckDB combines the hashes of several values by exclusive or alone, so that the result is hashed again.
        return _duckdb_rehash(_duckdb_hash2(key, first, second))


def start(
    spill: Path | None, share: int = 1, threads: int | None = None, reads: Sequence[Path] | None = None
) -> DuckDB:
    """DuckDB with our settings, which nobody can change after; what does not fit into memory goes to `spill`.

    `share` of them use the memory together. With `reads` it opens these files and folders, `spill`, and nothing else.
    """
    memory = os.environ["QUERYVEIL_MEMORY"] if "QUERYVEIL_MEMORY" in os.environ else _default_memory()
    size = _memory_setting(memory)
    if share > 1:
        memory = f"{max(1, size // share // 10**6)}MB"
    con = _threaded_backend()
    settings = {"memory_limit": memory, "TimeZone": "UTC", "preserve_insertion_order": "false"}
    # A file whose metadata speak of shapes is read as the bytes that it holds.
    settings["enable_geoparquet_conversion"] = "false"
    if spill is not None:
        settings["temp_directory"] = str(spill)
    if threads is not None:
        settings["threads"] = str(threads)
    made = DuckDB(con, memory)
    with made.errors():
        for name, value in settings.items():
            # Without GLOBAL, some settings would apply to a single cursor.
            con.raw_sql(f"SET GLOBAL {name} = {_quote_identifier(value)}")
        if reads is not None:
            _open_only(con, [*reads, *([] if spill is None else [spill])])
        con.raw_sql("SET lock_configuration = true")
    return made


def _threaded_backend() -> Any:
    """Connect an Ibis backend whose `con` is a cursor of the calling thread."""
    # `ibis.duckdb` would look for it in the metadata of everything that is installed.
    from ibis.backends.duckdb import Backend

    class ThreadedBackend(Backend):  # type: ignore[misc]
        def new_cursor(self) -> Any:
            return self._instance.cursor()

        def disconnect(self) -> None:
            self._instance.close()

        @property
        def con(self) -> Any:
            if not hasattr(self._of_thread, "cursor"):
                self._of_thread.cursor = self.new_cursor()
            return self._of_thread.cursor

        @con.setter
        def con(self, instance: Any) -> None:
            self._instance, self._of_thread = instance, threading.local()
            forks.leave_open_in_children(instance)

    return ThreadedBackend().connect(**_NO_FOREIGN_CODE)


def _default_memory() -> str:
    """Less than usual where this process may have little."""
    usual = _memory_setting(DUCKDB_MEMORY)
    fits = fit_to_limit(usual)
    return DUCKDB_MEMORY if fits == usual else f"{fits // 10**6}MB"


def _open_only(con: Any, places: Sequence[Path]) -> None:
    folders = [f"{one}{os.sep}" for one in places if one.is_dir()]
    files = [
        form for one in places if not one.is_dir() for form in dict.fromkeys((str(one), _escape_glob(one)))
    ]
    for name, paths in (("allowed_directories", folders), ("allowed_paths", files)):
        con.raw_sql(f"SET {name} = [{', '.join(map(_quote_identifier, paths))}]")
    con.raw_sql("SET enable_external_access = false")


def _quote_identifier(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _escape_glob(file: Path) -> str:
    """A file may be named like a glob; brackets make each such character stand for itself."""
    return re.sub(r"([*?\[])", r"[\1]", str(file))


def _memory_setting(size: str) -> int:
    units = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
    written = _SIZE.fullmatch(size)
    number = float(written[1]) * units[written[2].upper()] if written else 0
    if not 1 <= number <= _MOST_MEMORY:
        raise UsageError(f"QUERYVEIL_MEMORY '{size[:40]}' is not a size", "write it like 3GB or 500MB")
    return int(number)
