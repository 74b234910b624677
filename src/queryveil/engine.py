"""Where expressions run: DuckDB inside the process by default, Spark or any Ibis engine by URL.

One Ibis expression serves every engine. The few things that engines name or do differently are methods here:
a keyed hash, whether a text is ASCII, and the m smallest rows of each user.
"""

from __future__ import annotations

import contextlib
import os
import re
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

_REPEATS = 3
"""How many rows per item DuckDB looks at before it makes a user's rows distinct."""

_MOST_IN_AGGREGATE = 1_000_000
"""DuckDB's min(x, n) takes no larger n."""

_BATCH_ROWS = 250_000

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
        return self.con.create_table(_name(), table, temp=True)

    def keep(self, table: ir.Table) -> ir.Table:
        """Evaluate an expression now and keep its rows in the engine until it closes."""
        with self.errors():
            return self.con.create_table(_name(), table, temp=True)

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

    def keyed_hash(self, key: str, texts: Sequence[ir.StringValue]) -> ir.Value:
        """The engine's own fast hash of a key and texts."""
        text = ibis.literal(key)
        for one in texts:
            text = text + ibis.literal("\x1f") + one
        return self.fast_hash(text)

    def smallest_items_per_user(
        self, rows: ir.Table, item: Sequence[str], order_key: ir.Value, most: int, users: int
    ) -> ir.Table:
        """Of each user's distinct items the first `most` by `order_key`, a function of user and item; then item.

        Rows whose first item column is empty are none.
        """
        distinct = rows.mutate(order_key=order_key).filter(rows[item[0]] != "").distinct()
        return self.smallest_per_user(distinct, ["order_key", *item], item, most, users)

    def smallest_per_user(
        self, table: ir.Table, order: Sequence[str], keep: Sequence[str], most: int, users: int
    ) -> ir.Table:
        """Of each user's rows the first `most` by the columns `order`, which must order them totally."""
        window = ibis.window(group_by="user", order_by=[table[column] for column in order])
        ranked = table.mutate(place=ibis.row_number().over(window))
        return ranked.filter(ranked.place < most).select("user", *keep)


@ibis.udf.scalar.builtin(name="strlen", signature=(("string",), "int64"))
def _strlen(text): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="octet_length", signature=(("string",), "int64"))
def _octet_length(text): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="sha256", signature=(("string",), "string"))
def _sha256(text): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="sha2", signature=(("string", "int64"), "string"))
def _sha2(text, bits): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="hash", signature=(("string",), "uint64"))
def _duckdb_hash(text): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="hash", signature=(("string",) * 3, "uint64"))
def _duckdb_hash2(key, first, second): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="hash", signature=(("string",) * 4, "uint64"))
def _duckdb_hash3(key, first, second, third): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="hash", signature=(("uint64",), "uint64"))
def _duckdb_rehash(number): ...  # type: ignore[no-untyped-def]


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
        import duckdb

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

    def register(self, table: pa.Table) -> ir.Table:
        name = _name()
        self.con.con.register(name, table)
        return self.con.table(name)

    def read_parquet(self, files: Sequence[Path]) -> ir.Table:
        # A file may be named like a glob; brackets make each such character stand for itself.
        exact = [re.sub(r"([*?\[])", r"[\1]", str(file)) for file in files]
        # Folder names are no columns: 'user=7/' must not become the user of its rows.
        return self.con.read_parquet(exact, hive_partitioning=False)

    def arrow(self, table: ir.Table) -> pa.Table:
        with self.errors():
            return self.con.raw_sql(self.con.compile(table)).to_arrow_table()

    def batches(self, table: ir.Table) -> Iterator[pa.RecordBatch]:
        with self.errors():
            yield from self.con.raw_sql(self.con.compile(table)).to_arrow_reader(_BATCH_ROWS)

    def is_ascii(self, text: ir.StringValue) -> ir.BooleanValue:
        return _strlen(text) == text.length()

    def sha256(self, text: ir.StringValue) -> ir.StringValue:
        return _sha256(text)

    def fast_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        return _duckdb_hash(text)

    def keyed_hash(self, key: str, texts: Sequence[ir.StringValue]) -> ir.Value:
        # DuckDB hashes several values together without gluing them first, but only combines them by exclusive or:
        # without hashing the result again, items would keep much of one order for all users.
        hashes = {2: _duckdb_hash2, 3: _duckdb_hash3}
        return _duckdb_rehash(hashes[len(texts)](key, *texts))

    def _fits(self, users: int, kept: int) -> bool:
        """Aggregates hold every kept row in memory and cannot spill; sorting windows can, and know no limit."""
        return kept < _MOST_IN_AGGREGATE and users * kept * _BYTES_PER_KEPT_ITEM <= _bytes(self.memory) // 2

    def smallest_per_user(
        self, table: ir.Table, order: Sequence[str], keep: Sequence[str], most: int, users: int
    ) -> ir.Table:
        if not self._fits(users, most):
            return super().smallest_per_user(table, order, keep, most, users)
        columns = list(dict.fromkeys([*order, *keep]))
        lists = (
            f'SELECT "user", min({_packed(columns)}, {int(most)}) AS kept'  # noqa: S608
            f' FROM ({self.con.compile(table)}) GROUP BY "user"'
        )
        return self._unpacked(lists, keep, table)

    def smallest_items_per_user(
        self, rows: ir.Table, item: Sequence[str], order_key: ir.Value, most: int, users: int
    ) -> ir.Table:
        # Making rows distinct first is most of the cost. Instead take more than `most` of the smallest rows with
        # their repeats, drop repeats (they are adjacent), and do it the long way for the few users whose repeats
        # fill the list.
        wide = _REPEATS * most + 1
        if not self._fits(users, wide):
            return super().smallest_items_per_user(rows, item, order_key, most, users)
        keyed = rows.mutate(order_key=order_key)
        columns = ["order_key", *item]
        sql = (
            f'SELECT "user", len(kept) = {wide} AND len(first) < {int(most)} AS "unsure", first[1:{int(most)}] AS kept'  # noqa: S608
            f' FROM (SELECT "user", kept, list_filter(kept, lambda x, i: i = 1 OR x <> kept[i - 1]) AS first'
            # Filtered here and not before: DuckDB would work out the text twice, to filter and to keep.
            f' FROM (SELECT "user", min({_packed(columns)}, {wide}) FILTER (WHERE "{item[0]}" <> \'\') AS kept'
            f' FROM ({self.con.compile(keyed)}) GROUP BY "user"))'
        )
        name = _name()
        with self.errors():
            self.con.raw_sql(f'CREATE TEMP TABLE "{name}" AS {sql}')
            unsure = self.con.raw_sql(f'SELECT count(*) FROM "{name}" WHERE "unsure"').fetchone()[0]  # noqa: S608
        sure = self._unpacked(f'SELECT * FROM "{name}" WHERE NOT "unsure"', item, keyed)  # noqa: S608
        if not unsure:
            return sure
        people = self.con.sql(
            f'SELECT "user" FROM "{name}" WHERE "unsure"',  # noqa: S608
            schema=ibis.schema({"user": "string"}),
        )
        theirs = keyed.filter(keyed[item[0]] != "").semi_join(people, "user").distinct()
        return sure.union(self.smallest_per_user(theirs, columns, item, most, unsure))

    def _unpacked(self, lists: str, keep: Sequence[str], table: ir.Table) -> ir.Table:
        columns = ", ".join(f'kept."{column}"' for column in keep)
        schema = {column: table.schema()[column] for column in ("user", *keep)}
        return self.con.sql(
            f'SELECT "user", {columns} FROM (SELECT "user", unnest(kept) AS kept FROM ({lists}))',  # noqa: S608
            schema=ibis.schema(schema),
        )


def _packed(columns: Sequence[str]) -> str:
    """Columns as one value that DuckDB compares from left to right."""
    return "struct_pack(" + ", ".join(f'"{column}" := "{column}"' for column in columns) + ")"


class Spark(Engine):
    name = "spark"
    fast_hash_name = "xxhash64"

    def read_parquet(self, files: Sequence[Path]) -> ir.Table:
        session = self.con._session
        # Hadoop takes names for globs too; a backslash makes a character stand for itself.
        exact = [re.sub(r"([*?\[\]{}\\])", r"\\\1", str(file)) for file in files]
        # Folder names are no columns: looking files up recursively turns partition discovery off.
        frame = session.read.option("recursiveFileLookup", "true").parquet(*exact)
        return self.table(frame)

    def keep(self, table: ir.Table) -> ir.Table:
        with self.errors():
            return self.table(self.con._session.sql(self.con.compile(table)).cache())

    def arrow(self, table: ir.Table) -> pa.Table:
        with self.errors():
            # Straight to Arrow: the way over pandas copies every text twice.
            return self.con._session.sql(self.con.compile(table)).toArrow()

    def batches(self, table: ir.Table) -> Iterator[pa.RecordBatch]:
        yield from self.arrow(table).to_batches()

    def table(self, frame: Any) -> ir.Table:
        """A Spark DataFrame as an Ibis table."""
        name = _name()
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
        from pyspark.errors import PySparkException

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
            f"engine '{url.rsplit('@', maxsplit=1)[-1]}' cannot be reached ({type(error).__name__})",
            "use duckdb, spark, spark://host:port, or a URL that Ibis knows",
        ) from None
    return of_backend(con)


def of_backend(con: Any) -> Engine:
    """The engine over an Ibis connection that the caller made."""
    kinds = {"duckdb": DuckDB, "pyspark": Spark}
    made: Engine = kinds.get(con.name, Engine)(con)
    return made


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
        from pyspark.sql import SparkSession
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
        with _silent_children():
            session = builder.getOrCreate()
    except Exception as error:  # noqa: BLE001 (Java missing, master unreachable: many classes, one meaning)
        raise UsageError(
            f"Spark did not start at '{master}' ({type(error).__name__})",
            "check that Java 17 or newer is installed and the master is reachable, or use --engine duckdb",
        ) from None
    return Spark(ibis.pyspark.connect(session))


@contextlib.contextmanager
def _silent_children() -> Iterator[None]:
    """Start processes without standard error: Java's log may quote rows, and its warnings tell a person nothing."""
    if os.environ.get("QUERYVEIL_DEBUG"):
        yield
        return
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _name() -> str:
    return f"queryveil_{os.urandom(8).hex()}"


def _bytes(size: str) -> int:
    units = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
    number, unit = size[:-2], size[-2:].upper()
    if unit not in units or not number.replace(".", "", 1).isdigit():
        raise UsageError(f"QUERYVEIL_MEMORY '{size}' is not a size", "write it like 3GB or 500MB")
    return int(float(number) * units[unit])
