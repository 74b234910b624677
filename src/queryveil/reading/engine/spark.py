"""Spark, by an existing session, a local one, or a master's address."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pickle
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.errors import CannotBeMet, InputError, QueryveilError, UsageError, argument, shown_address
from queryveil.files import interruptions, workspace
from queryveil.reading.engine import cluster
from queryveil.reading.engine.base import BLANK, Engine, T, UserMap, temporary_name

if TYPE_CHECKING:
    import ibis.expr.types as ir


@ibis.udf.scalar.builtin(name="octet_length", signature=(("string",), "int64"))
def _octet_length(text): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="sha2", signature=(("string", "int64"), "string"))
def _sha2(text, bits): ...  # type: ignore[no-untyped-def]


@ibis.udf.scalar.builtin(name="xxhash64", signature=(("string",), "int64"))
def _xxhash64(text): ...  # type: ignore[no-untyped-def]


_CANCEL_SECONDS = 5.0
_TOO_LITTLE_MEMORY = ("OutOfMemoryError", "Java heap space")
_OTHER_PYTHON, _NO_PACKAGE = "PYTHON_VERSION_MISMATCH", "ModuleNotFoundError"
_GONE = (
    *("ExecutorLostFailure", "Python worker exited unexpectedly", "SparkContext was shut down"),
    *("stopped SparkContext", "All masters are unresponsive", "Master removed our application"),
    "the executor that originally checkpointed this partition is no longer alive",
)
"""What Spark says of workers, executors and contexts that are no more."""

Method = TypeVar("Method", bound=Callable[..., Any])


def _translate_errors(method: Method) -> Method:
    """Whatever fails inside is told in our words."""

    @functools.wraps(method)
    def inside(self: Spark, *given: Any, **named: Any) -> Any:
        with self.errors():
            return method(self, *given, **named)

    return cast(Method, inside)


class Spark(Engine):
    name = "spark"
    group_reference = "${}"

    def __init__(self, con: Any) -> None:
        super().__init__(con)
        self._cached: dict[str, Any] = {}
        self._spread: bool | None = None

    @property
    def spread(self) -> bool:
        if self._spread is None:
            with self.errors():
                master = str(self.con._session.conf.get("spark.master", "local"))
            self._spread = not master.startswith("local")
        return self._spread

    @_translate_errors
    def read_parquet(self, files: Sequence[Path], columns: Sequence[str] | None = None) -> ir.Table:
        session = self.con._session
        if self.spread and any(workspace.is_inside(file) for file in files):
            # Written by this process for itself: no worker sees it.
            return self.register(pq.read_table([str(file) for file in files], columns=columns))
        # Hadoop takes names for globs too; a backslash makes a character stand for itself.
        exact = [re.sub(r"([*?\[\]{}\\])", r"\\\1", str(file)) for file in files]
        # Folder names are no columns: looking files up recursively turns partition discovery off.
        frame = session.read.option("recursiveFileLookup", "true").parquet(*exact)
        # Names between backticks: a dot in a name must not mean a field.
        wanted = (f"`{one.replace('`', '``')}`" for one in dict.fromkeys(columns or ()))
        return self.table(frame.select(*wanted) if columns else frame)

    @_translate_errors
    def exact_texts(self, table: ir.Table, columns: Sequence[str]) -> ir.Table:
        # Columns have collations from a catalogue, a DataFrame, or the metadata of a Parquet file that Spark wrote.
        from pyspark.sql import functions

        frame = self.con._session.sql(self.con.compile(table))
        exact = {one: functions.collate(functions.col(one).cast("string"), "UTF8_BINARY") for one in columns}
        return self.table(frame.withColumns(exact))

    @_translate_errors
    def keep(self, table: ir.Table) -> ir.Table:
        frame = self.con._session.sql(self.con.compile(table))
        if self.spread:
            return self._cache_rows(frame)
        # A cache would keep the way to the rows too, and a loop over kept tables would make it ever longer.
        return self.table(frame.localCheckpoint())

    def _cache_rows(self, frame: Any) -> ir.Table:
        """Rows kept by the executors, with the way to them: those of a worker that dies are made again."""
        from pyspark import StorageLevel

        kept = frame.persist(StorageLevel.DISK_ONLY)
        kept.count()
        made = self.table(kept)
        self._cached[made.op().name] = kept
        return made

    @_translate_errors
    def drop(self, kept: ir.Table) -> None:
        self.con._session.catalog.dropTempView(kept.op().name)
        if (cached := self._cached.pop(kept.op().name, None)) is not None:
            cached.unpersist()

    @_translate_errors
    def arrow(self, table: ir.Table) -> pa.Table:
        # Straight to Arrow: the way over pandas copies every text twice.
        found: pa.Table = self.con._session.sql(self.con.compile(table)).toArrow()
        return found

    def batches(self, table: ir.Table) -> Iterator[pa.RecordBatch]:
        if not self.spread:
            yield from self.arrow(table).to_batches()
            return

        def pack_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                whole = pa.BufferOutputStream()
                with pa.ipc.new_stream(whole, batch.schema) as writer:
                    writer.write_batch(batch)
                yield pa.record_batch(
                    [pa.array([whole.getvalue().to_pybytes()], pa.binary())], names=["batch"]
                )

        # What a cluster has counted may not fit here: the parts come one after the other.
        with self.errors():
            frame = self.con._session.sql(self.con.compile(table)).mapInArrow(pack_batches, "batch binary")
            for row in frame.toLocalIterator(prefetchPartitions=True):
                yield from pa.ipc.open_stream(bytes(row["batch"]))

    @_translate_errors
    def mapped(self, table: ir.Table, function: Callable[..., Any], types: str) -> ir.Table:
        """What workers make of the batches of a table, kept there: none of it comes here."""
        return self._cache_rows(self.con._session.sql(self.con.compile(table)).mapInArrow(function, types))

    @_translate_errors
    def spread_out(self, shares: Sequence[bytes], function: Callable[..., Any], types: str) -> ir.Table:
        """What workers make of shares of work, a task each, kept there."""
        frame = self.con._session.createDataFrame([(bytearray(one),) for one in shares], "share binary")
        return self._cache_rows(frame.repartition(len(shares)).mapInArrow(function, types))

    @_translate_errors
    def map_batches(
        self, table: ir.Table, function: Callable[..., Any], types: str, by: str | None = None
    ) -> ir.Table:
        """Return what a function of the workers makes of batches, each time that the rows are read.

        With `by`, one task has all rows that are equal in this column.
        """
        frame = self.con._session.sql(self.con.compile(table))
        if by is not None:
            frame = frame.repartition(self._shuffle_partitions(), by)
        return self.table(frame.mapInArrow(function, types))

    def _shuffle_partitions(self) -> int:
        """Return how many parts a shuffle makes, also where little is in them: Spark itself would join small ones."""
        return int(self.con._session.conf.get("spark.sql.shuffle.partitions"))

    def map_users(
        self, table: ir.Table, order: Sequence[str], columns: Sequence[str], function: UserMap[T]
    ) -> Iterator[T]:
        with self.errors():
            session = self.con._session

        def pack_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            # A value is one cell, so that the driver takes them one at a time, whatever is in them.
            for value in function(batches):
                yield pa.record_batch([pa.array([pickle.dumps(value)], pa.binary())], names=["value"])

        with self.errors():
            frame = session.sql(self.con.compile(table))
            by_user = frame.repartition(self._shuffle_partitions(), "user")
            users = by_user.sortWithinPartitions("user", *order).select(*columns)
        with self.errors():
            # Kept by the executors and cut off from where it came from: nothing is drawn a second time.
            kept = users.mapInArrow(pack_batches, "value binary").localCheckpoint()
        with self.errors():
            for row in kept.toLocalIterator():
                # From workers that this process sent the function to.
                yield pickle.loads(bytes(row["value"]))  # noqa: S301

    @_translate_errors
    def table(self, frame: Any) -> ir.Table:
        """A Spark DataFrame as an Ibis table."""
        name = temporary_name()
        frame.createOrReplaceTempView(name)
        return self.con.table(name)

    @_translate_errors
    def register(self, table: pa.Table) -> ir.Table:
        if not table.num_rows:  # no row tells Spark the types
            from pyspark.sql.pandas.types import from_arrow_schema

            return self.table(self.con._session.createDataFrame([], from_arrow_schema(table.schema)))
        return self.table(self.con._session.createDataFrame(table.to_pandas()))

    def is_ascii(self, text: ir.StringValue) -> ir.BooleanValue:
        return _octet_length(text) == text.length()

    def is_blank(self, text: ir.StringValue) -> ir.BooleanValue:
        return text.re_search(BLANK)

    def sha256(self, text: ir.StringValue) -> ir.StringValue:
        return _sha2(text, 256)

    def fast_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        return _xxhash64(text)

    def _is_stopped(self) -> bool:
        """Whether Spark has given up, as it does when its executors keep dying; what then fails has any words."""
        stopped = False
        with contextlib.suppress(Exception):
            stopped = self.con._session.sparkContext._jsc.sc().isStopped() is True
        return stopped

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield
        except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
            if _is_interruption(error):
                raise KeyboardInterrupt from None
            raise _translate_error(error, stopped=self._is_stopped()) from (
                error if os.environ.get("QUERYVEIL_DEBUG") else None
            )


def _is_interruption(error: BaseException) -> bool:
    """Whether an error of Spark only follows from an interrupt, which canceled the jobs."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__context__
    return cause is not None


def _translate_error(error: Exception, *, stopped: bool) -> QueryveilError:
    """What Spark's error means; its own words may quote rows."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    words = ""
    # They may have to be fetched from the process that is gone.
    with contextlib.suppress(Exception):
        words = str(error)
    if any(sign in words for sign in _TOO_LITTLE_MEMORY):
        return CannotBeMet(
            "the log does not fit into Spark's memory",
            f"use {argument('engine', 'duckdb')}, a Spark with more memory, or part of the log",
        )
    if _OTHER_PYTHON in words:
        return UsageError(
            "Spark's workers have another version of Python than this one",
            "install this version there, and name it with PYSPARK_PYTHON",
        )
    if _NO_PACKAGE in words:
        return UsageError(
            "a package is missing in the Python of Spark's workers",
            "install queryveil[language] there, of this version, and name that Python with PYSPARK_PYTHON",
        )
    failed = isinstance(error, (PySparkException, Py4JJavaError))
    if stopped or not failed or not words or any(sign in words for sign in _GONE):
        return CannotBeMet(
            "Spark was lost while it worked: its process ended, or its workers did",
            "check that it has enough memory and nobody stops it, and run again, "
            f"or use {argument('engine', 'duckdb')}",
        )
    return InputError(
        f"Spark could not read or process the log ({type(error).__name__})",
        "check that the files are complete; QUERYVEIL_DEBUG=1 shows Spark's own words",
    )


def start(url: str) -> Spark:
    """A session at `spark` (all local cores) or at a master."""
    if shown_address(url) != url:
        raise UsageError(
            f"Spark's master '{shown_address(url)}' is more than a host and a port",
            "write it like spark://host:7077, local or local[4]",
        )
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
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.log.level": "OFF",
    }
    if master.startswith("local"):
        # Workers need what is installed here.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        quiet |= {"spark.sql.shuffle.partitions": "4", "spark.driver.bindAddress": "127.0.0.1"}
        quiet |= {"spark.driver.host": "127.0.0.1", "spark.driver.memory": "4g"}
    cluster.require_reachable(master)
    try:
        is_new = SparkSession.getActiveSession() is None
        if is_new:
            quiet |= _own_folder(master)
        for name, value in quiet.items():
            builder = builder.config(name, value)
        handlers = {one: signal.getsignal(one) for one in interruptions.SIGNALS}
        with _silent_children():
            session = builder.getOrCreate()
        if is_new and threading.current_thread() is threading.main_thread():
            _cancel_jobs_on_signals(session, handlers)
        if not master.startswith("local"):
            cluster.require_workers(session, master)
            if is_new:
                cluster.stop_without_workers(session)
    except QueryveilError:
        raise
    except Exception as error:  # noqa: BLE001 (Java missing, master unreachable: many classes, one meaning)
        raise UsageError(
            f"Spark did not start at '{master}' ({type(error).__name__})",
            "check that Java 17 or newer is installed and the master is reachable, "
            f"or use {argument('engine', 'duckdb')}",
        ) from None
    return Spark(ibis.pyspark.connect(session))


def _cancel_jobs_on_signals(session: Any, handlers: Mapping[signal.Signals, Any]) -> None:
    """Cancel all jobs when a signal comes, and then call the handler that was there before the session.

    PySpark replaces the handler of SIGINT, so that a command would not learn of the interrupt. Its handler also cancels
    over the connection of this thread, which waits for the very job.
    """

    def cancel() -> None:
        with contextlib.suppress(Exception):  # the session, or the process of Spark, may have ended
            session.sparkContext.cancelAllJobs()

    def answer(number: int, frame: FrameType | None) -> None:
        canceling = threading.Thread(target=cancel, daemon=True)  # a thread has its own connection
        canceling.start()
        canceling.join(_CANCEL_SECONDS)
        handlers[signal.Signals(number)](number, frame)

    for one, handler in handlers.items():
        if callable(handler):
            signal.signal(one, answer)


def _own_folder(master: str) -> dict[str, str]:
    """Settings that keep what Spark spills and shuffles in a folder of this user alone, until this process ends."""
    folder = workspace.new_name()
    atexit.register(workspace.remove_folder, folder)
    workspace.make_folder(folder)
    settings = {"spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder}"}
    if not master.startswith("local"):
        # The workers of a cluster have folders of their own, which are configured there.
        return settings | cluster.settings(master, folder)
    return settings | {"spark.local.dir": str(folder)}


@contextlib.contextmanager
def _silent_children() -> Iterator[None]:
    """Start processes that write files for this user alone, and nothing to standard error.

    Java's log may quote rows, and its warnings tell a person nothing.
    """
    mask = os.umask(0o077)
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        if not os.environ.get("QUERYVEIL_DEBUG"):
            os.dup2(nowhere, 2)
        yield
    finally:
        os.umask(mask)
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
