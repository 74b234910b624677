"""Where expressions run: DuckDB inside the process by default, Spark or any Ibis engine by URL.

One Ibis expression serves every engine. The few things that engines name or do differently are methods here:
a keyed hash, whether a text is ASCII, and the m smallest rows of each user.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa

from queryveil.errors import InputError, UsageError

if TYPE_CHECKING:
    import ibis.expr.types as ir

DUCKDB_MEMORY = "3GB"
"""Default ceiling of DuckDB's own memory; beyond it work spills to the temporary directory."""

_BYTES_PER_KEPT_ITEM = 120
"""What one item in a per-user aggregate state costs at most in practice; decides when to sort instead."""


class Engine:
    """An Ibis engine, with portable definitions. Subclasses put an engine's own faster ones in their place."""

    name = "ibis"
    fast_hash_name: str | None = None

    def __init__(self, con: Any) -> None:
        self.con = con

    # -- tables ------------------------------------------------------------------------------------------

    def read_parquet(self, files: Sequence[Path]) -> ir.Table:
        return self.con.read_parquet([str(file) for file in files])

    def register(self, table: pa.Table) -> ir.Table:
        """A small Arrow table as a table of this engine."""
        return self.con.create_table(f"queryveil_{os.urandom(8).hex()}", table, temp=True)

    def arrow(self, table: ir.Table) -> pa.Table:
        """Evaluate an expression once."""
        with self.errors():
            return table.to_pyarrow()

    def batches(self, table: ir.Table) -> Iterator[pa.RecordBatch]:
        with self.errors():
            yield from table.to_pyarrow_batches()

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn an engine's errors into ours; theirs may quote rows."""
        yield

    def close(self) -> None:
        disconnect = getattr(self.con, "disconnect", None)
        if disconnect:
            disconnect()

    # -- definitions -------------------------------------------------------------------------------------

    def is_ascii(self, text: ir.StringValue) -> ir.BooleanValue:
        return ~text.re_search(r"[^\x00-\x7F]")

    def sha256(self, text: ir.StringValue) -> ir.StringValue:
        """Hexadecimal SHA-256: the portable order key is a prefix of it."""
        return text.hashbytes("sha256").cast("string")

    def fast_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        """The engine's own 64-bit hash."""
        return text.hash()

    def smallest_per_user(
        self, table: ir.Table, order: Sequence[str], keep: Sequence[str], most: int, users: int
    ) -> ir.Table:
        """Of each user's rows the first `most` by the columns `order`, which must order them totally."""
        window = ibis.window(group_by="user", order_by=[table[column] for column in order])
        ranked = table.mutate(place=ibis.row_number().over(window))
        return ranked.filter(ranked.place < most).select("user", *keep)


@ibis.udf.scalar.builtin(name="strlen")
def _strlen(text: str) -> int: ...  # type: ignore[empty-body]


@ibis.udf.scalar.builtin(name="octet_length")
def _octet_length(text: str) -> int: ...  # type: ignore[empty-body]


@ibis.udf.scalar.builtin(name="sha256")
def _sha256(text: str) -> str: ...  # type: ignore[empty-body]


@ibis.udf.scalar.builtin(name="sha2")
def _sha2(text: str, bits: int) -> str: ...  # type: ignore[empty-body]


@ibis.udf.scalar.builtin(name="hash", signature=(("string",), "uint64"))
def _duckdb_hash(text): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="xxhash64", signature=(("string",), "int64"))
def _xxhash64(text): ...  # type: ignore[no-untyped-def]


class DuckDB(Engine):
    name = "duckdb"
    fast_hash_name = "hash"

    def __init__(self, con: Any, memory: str = DUCKDB_MEMORY) -> None:
        super().__init__(con)
        self.memory = memory

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        import duckdb  # noqa: PLC0415 (kept out of the import of the package)

        try:
            yield
        except duckdb.OutOfMemoryException:
            raise InputError(
                f"the work does not fit into the engine's memory limit of {self.memory}",
                "raise QUERYVEIL_MEMORY, or free the disk that it spills to",
            ) from None
        except duckdb.Error as error:
            raise InputError(
                f"the engine could not read or process the log ({type(error).__name__})",
                "check that the files are complete; QUERYVEIL_DEBUG=1 shows the engine's own words",
            ) from (error if os.environ.get("QUERYVEIL_DEBUG") else None)

    def is_ascii(self, text: ir.StringValue) -> ir.BooleanValue:
        return _strlen(text) == text.length()

    def sha256(self, text: ir.StringValue) -> ir.StringValue:
        return _sha256(text)

    def fast_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        return _duckdb_hash(text)

    def smallest_per_user(
        self, table: ir.Table, order: Sequence[str], keep: Sequence[str], most: int, users: int
    ) -> ir.Table:
        if users * most * _BYTES_PER_KEPT_ITEM > _bytes(self.memory) // 2:
            # The aggregate below holds every kept item in memory; the window sorts, and spills.
            return super().smallest_per_user(table, order, keep, most, users)
        # min(row, n) keeps the n smallest rows of each user in one aggregation, for the price of a count.
        columns = list(dict.fromkeys([*order, *keep]))
        packed = ", ".join(f'"{column}" := "{column}"' for column in columns)
        unpacked = ", ".join(f'kept."{column}"' for column in keep)
        return self.con.sql(
            f'SELECT "user", {unpacked} FROM (SELECT "user", unnest(min(struct_pack({packed}), {int(most)})) AS kept'  # noqa: S608
            f' FROM ({self.con.compile(table)}) GROUP BY "user")'
        )


class Spark(Engine):
    name = "spark"
    fast_hash_name = "xxhash64"

    def read_parquet(self, files: Sequence[Path]) -> ir.Table:
        session = self.con._session
        frame = session.read.parquet(*[str(file) for file in files])
        return self.table(frame)

    def arrow(self, table: ir.Table) -> pa.Table:
        with self.errors():
            # Straight to Arrow: the way over pandas copies every text twice.
            return self.con._session.sql(self.con.compile(table)).toArrow()

    def batches(self, table: ir.Table) -> Iterator[pa.RecordBatch]:
        yield from self.arrow(table).to_batches()

    def table(self, frame: Any) -> ir.Table:
        """A Spark DataFrame as an Ibis table."""
        name = f"queryveil_{os.urandom(8).hex()}"
        frame.createOrReplaceTempView(name)
        return self.con.table(name)

    def register(self, table: pa.Table) -> ir.Table:
        return self.table(self.con._session.createDataFrame(table.to_pandas()))

    def is_ascii(self, text: ir.StringValue) -> ir.BooleanValue:
        return _octet_length(text) == text.length()

    def sha256(self, text: ir.StringValue) -> ir.StringValue:
        return _sha2(text, 256)

    def fast_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        return _xxhash64(text)

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        from pyspark.errors import PySparkException  # noqa: PLC0415 (an extra)

        try:
            yield
        except PySparkException as error:
            raise InputError(
                f"Spark could not read or process the log ({type(error).__name__})",
                "check that the files are complete; QUERYVEIL_DEBUG=1 shows Spark's own words",
            ) from (error if os.environ.get("QUERYVEIL_DEBUG") else None)


def connect(url: str = "duckdb", *, spill: Path | None = None) -> Engine:
    """An engine by name or URL: `duckdb`, `spark`, `spark://host:port`, or any URL that Ibis knows."""
    if url == "duckdb":
        return _duckdb(spill)
    if url == "spark" or url.startswith(("spark://", "local")):
        return _spark(url)
    try:
        con = ibis.connect(url)
    except Exception as error:  # noqa: BLE001 (each engine has errors of its own)
        raise UsageError(
            f"engine '{url.split('@')[-1]}' cannot be reached ({type(error).__name__})",
            "use duckdb, spark, spark://host:port, or a URL that Ibis knows",
        ) from None
    return of_backend(con)


def of_backend(con: Any) -> Engine:
    """The engine over an Ibis connection that the caller made."""
    kinds = {"duckdb": DuckDB, "pyspark": Spark}
    return kinds.get(con.name, Engine)(con)


def _duckdb(spill: Path | None) -> DuckDB:
    memory = os.environ.get("QUERYVEIL_MEMORY", DUCKDB_MEMORY)
    _bytes(memory)
    con = ibis.duckdb.connect()
    settings = {"memory_limit": memory, "TimeZone": "UTC", "preserve_insertion_order": "false"}
    if spill is not None:
        settings["temp_directory"] = str(spill)
    for name, value in settings.items():
        con.raw_sql(f"SET {name} = '{value.replace(chr(39), chr(39) * 2)}'")
    return DuckDB(con, memory)


def _spark(url: str) -> Spark:
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 (an extra)
    except ImportError:
        raise UsageError("engine 'spark' needs PySpark", "install queryveil[spark]") from None
    master = "local[*]" if url == "spark" else url
    builder = SparkSession.builder.master(master).appName("queryveil")
    quiet = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.log.level": "OFF",
    }
    if master.startswith("local"):
        quiet |= {"spark.sql.shuffle.partitions": "4", "spark.driver.bindAddress": "127.0.0.1"}
        quiet |= {"spark.driver.host": "127.0.0.1", "spark.driver.memory": "4g"}
    for name, value in quiet.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:  # noqa: BLE001 (Java missing, master unreachable: many classes, one meaning)
        raise UsageError(
            f"Spark did not start at '{master}' ({type(error).__name__})",
            "check that Java 17 or newer is installed and the master is reachable, or use --engine duckdb",
        ) from None
    return Spark(ibis.pyspark.connect(session))


def _bytes(size: str) -> int:
    units = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
    number, unit = size[:-2], size[-2:].upper()
    if unit not in units or not number.replace(".", "", 1).isdigit():
        raise UsageError(f"QUERYVEIL_MEMORY '{size}' is not a size", "write it like 3GB or 500MB")
    return int(float(number) * units[unit])
