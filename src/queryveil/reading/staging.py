"""From parsed rows to Parquet: accepted rows in one file, rejected ones with their reason in another."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queryveil.errors import CannotBeMet, InputError, OutputError
from queryveil.files import forks, memory
from queryveil.reading.lines import read_lines
from queryveil.reading.model import (
    COLUMNS,
    Progress,
    ReadOptions,
    Rejection,
    Source,
    Staged,
)
from queryveil.reading.times import check_time_format, suggest_time_formats

MEMORY_LIMIT = "2GB"
CHUNK_ROWS = 300_000
CHUNK_BYTES = 32 * 1024 * 1024
EXAMPLES = 20
KEPT_ASIDE = 1_000_000
"""Rejected rows that are kept with their text; beyond them only files, lines and reasons are."""
LEFT_OUT = "rows left out by --where"
THREADS = 2
"""Threads that judge chunks, each on its own cursor."""

TYPES = {
    "user": pa.string(),
    "time": pa.timestamp("us"),
    "query": pa.string(),
    "url": pa.string(),
    "rank": pa.int32(),
    "session": pa.string(),
}
REJECTED = pa.schema(
    [
        ("file", pa.string()),
        ("line", pa.int64()),
        ("lines", pa.int64()),
        ("reason", pa.string()),
        ("text", pa.string()),
    ]
)
Judge = Callable[[Any, pa.Table], pa.Table]
"""Returns the judged rows of a chunk (see `judge_sql`), given a cursor of its own."""


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """How the lines of one log become judged rows."""

    columns: Sequence[str]
    """The standard columns of the rows."""
    sql: str | Callable[[Any], str]
    """SQL over the table `chunk` that returns judged rows, or a function of the cursor that returns it."""
    header: str | None = None
    """The header line, which a file may start with."""
    check: Callable[[Any], None] = lambda _: None
    """Called with the connection before any row is read."""
    add_columns: Callable[[pa.Table], pa.Table] = lambda chunk: chunk
    """Adds what SQL cannot compute to a chunk."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Standard column -> the source's name for it."""
    ignored: Sequence[str] = ()
    """Columns of the source that are not read."""
    times: Sequence[str] = ()
    """Values of the time column in the first lines, from which a format is suggested if times cannot be read."""

    def judge(self, cursor: Any, chunk: pa.Table) -> pa.Table:
        cursor.register("chunk", self.add_columns(chunk))
        judged = cursor.execute(self.sql if isinstance(self.sql, str) else self.sql(cursor)).to_arrow_table()
        cursor.unregister("chunk")
        return judged


def stage_lines(
    source: Source,
    extraction: Extraction,
    options: ReadOptions,
    into: Path,
    progress: Progress | None,
    format: str,
) -> Staged:
    """Extract and judge the rows of all lines, and write them to Parquet."""
    with connect(into, options) as connection, Stager(into, extraction.columns, source) as stager:
        extraction.check(connection)
        lines = read_lines(source, extraction.header, progress)
        for judged in judge_chunks(connection, extraction.judge, chunks(lines)):
            stager.add(judged)
        staged = stager.finish(format)
    suggested = suggest_time_formats(extraction.times) if "bad time" in staged.reasons else ""
    return replace(
        staged,
        mapping=extraction.mapping,
        ignored=tuple(extraction.ignored),
        ways_out={"bad time": f"say how times are written: {suggested}"} if suggested else {},
    )


def judge_chunks(connection: Any, judge: Judge, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Judge chunks in several threads, and yield the results in the order of the chunks."""

    def judge_one(table: pa.Table) -> pa.Table:
        with connection.cursor() as cursor:
            return judge(cursor, table)

    with ThreadPoolExecutor(THREADS) as pool:
        waiting: deque[Future[pa.Table]] = deque()
        for table in tables:
            waiting.append(pool.submit(judge_one, table))
            if len(waiting) > THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def connect(into: Path, options: ReadOptions) -> Iterator[Any]:
    """A private DuckDB that spills into `into`, fetches nothing, and whose errors say nothing of the rows."""
    # DuckDB would import this by itself at its first table, and forget an interrupt that comes meanwhile.
    import pyarrow.dataset  # noqa: F401

    config = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "custom_extension_repository": "/nowhere",
        "memory_limit": _memory(),
        "temp_directory": str(into / "spill"),
    }
    try:
        with ExitStack() as stack:
            connection = duckdb.connect(config=config)
            forks.leave_open_in_children(connection)
            stack.callback(forks.in_this_process(connection.close))
            # Global, because a setting of the connection does not reach its cursors.
            connection.execute("SET GLOBAL TimeZone = 'UTC'")
            connection.execute("SET GLOBAL enable_geoparquet_conversion = false")
            connection.execute("SET lock_configuration = true")
            check_time_format(connection, options.time_format)
            yield connection
    except duckdb.OutOfMemoryException as error:
        if memory.allowed() is not None or "bad allocation" in str(error):
            raise CannotBeMet(
                "there is not enough memory to read the log",
                "raise the limit of memory that this process has (ulimit -v), or read part of the log",
            ) from None
        raise InputError(
            f"reading the log needs more than {MEMORY_LIMIT} of memory at once: a part of it is too large",
            "write it again in smaller parts (Parquet: smaller pages and row groups), or as text",
        ) from None
    except duckdb.Error as error:
        if memory.short(RuntimeError(str(error))):
            raise MemoryError from None
        # DuckDB quotes the offending value, so only the kind of error is told.
        raise InputError(
            f"the log could not be read ({type(error).__name__})", "check that the files are complete"
        ) from None


def _memory() -> str:
    """What DuckDB may take; less where this process may have little."""
    return MEMORY_LIMIT if memory.allowed() is None else f"{memory.within(2 * 10**9) // 10**6}MB"


def chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches gathered into tables that are worth a query and small enough for memory."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= CHUNK_ROWS or size >= CHUNK_BYTES:
            yield _together(held)
            held, rows, size = [], 0, 0
    if held:
        yield _together(held)


def _together(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    # Arrow would copy what is in one piece already.
    table = pa.Table.from_batches(batches)
    return table if len(batches) == 1 else table.combine_chunks()


class Stager:
    """Collects judged rows (`judge_sql`) into the files and counts of a `Staged`."""

    def __init__(self, into: Path, columns: Sequence[str], source: Source) -> None:
        self.rows = self.empty_queries = 0
        self.reasons: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.filled: set[str] = set()
        """Columns in which some accepted row has a value."""
        self._kept = 0
        self._examples: list[Rejection] = []
        self._labels = pa.array([file.label for file in source.files], pa.string())
        self._schema = pa.schema([(name, TYPES[name]) for name in COLUMNS if name in columns])
        self._into = into
        self.rows_file = into / "rows.parquet"
        self._rejected_file = into / "rejected.parquet"
        self._rows_writer: Any = None
        self._rejected_writer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for writer in (self._rows_writer, self._rejected_writer):
            if writer is not None:
                writer.close()

    def add(self, judged: pa.Table) -> None:
        """Write accepted and rejected rows, and count rows that are `skipped`: no searches, clicks, or rejections."""
        if "skipped" in judged.column_names:
            skipped = judged.column("skipped")
            self.skipped.update(skipped.drop_null().to_pylist())
            judged = judged.filter(pc.is_null(skipped))
        reasons = judged.column("reason")
        accepted = judged
        if reasons.null_count < len(reasons):
            self.reject(judged.filter(pc.is_valid(reasons)))
            accepted = judged.filter(pc.is_null(reasons))
        self.rows += accepted.num_rows
        self.empty_queries += pc.sum(accepted.column("empty")).as_py() or 0
        table = accepted.select(self._schema.names).cast(self._schema)
        self.filled |= {name for name in table.column_names if table.column(name).null_count < len(table)}
        self._rows_writer = self._rows_writer or self._open(self.rows_file, self._schema)
        self._write(self._rows_writer, table)

    def reject(self, rejected: pa.Table) -> None:
        """Keep rows aside, with the file by its label."""
        files = pc.take(self._labels, rejected.column("file"))
        others = (rejected.column(name).cast(REJECTED.field(name).type) for name in REJECTED.names[1:])
        table = pa.table([files, *others], schema=REJECTED)
        for value in table.group_by("reason").aggregate([("lines", "sum")]).to_pylist():
            self.reasons[value["reason"]] += value["lines_sum"]
        room = max(0, KEPT_ASIDE - self._kept)
        self._kept += table.num_rows
        if table.num_rows > room:
            table = pa.concat_tables([table.slice(0, room), _in_runs(table.slice(room))])
        for row in (
            table.select(["file", "line", "reason"]).slice(0, EXAMPLES - len(self._examples)).to_pylist()
        ):
            self._examples.append(Rejection(row["file"], row["line"], row["reason"]))
        self._rejected_writer = self._rejected_writer or self._open(self._rejected_file, REJECTED)
        self._write(self._rejected_writer, table)

    def finish(self, format: str) -> Staged:
        """Close the files; the staged log is the accepted rows."""
        self._rows_writer = self._rows_writer or self._open(self.rows_file, self._schema)
        names = {name: name for name in self._schema.names}
        return self._staged((self.rows_file,), names, format, direct=False)

    def finish_direct(self, format: str, source: Source, names: Mapping[str, str]) -> Staged:
        """The staged log is the source itself; only rejected rows were written."""
        return self._staged(tuple(file.path for file in source.files), names, format, direct=True)

    def finish_copy(self, format: str, names: Mapping[str, str]) -> Staged:
        """The staged log is a copy of the good rows, made by the caller with values as they were."""
        return self._staged((self.rows_file,), {name: name for name in names}, format, direct=True)

    def _staged(self, files: tuple[Path, ...], names: Mapping[str, str], format: str, direct: bool) -> Staged:
        self.__exit__()
        return Staged(
            files=files,
            names=dict(names),
            direct=direct,
            rows=self.rows,
            empty_queries=None if direct else self.empty_queries,
            rejected=self.reasons.total(),
            reasons=dict(self.reasons.most_common()),
            examples=tuple(self._examples),
            rejected_file=self._rejected_file if self._rejected_writer is not None else None,
            format=format,
            passed_over=dict(self.skipped.most_common()),
            filled=frozenset(self.filled),
        )

    def _open(self, path: Path, schema: pa.Schema) -> Any:
        try:
            # A dictionary of all queries takes longer to write than they do, and is given up in the middle.
            few = [name for name in ("user", "reason", "file") if name in schema.names]
            return pq.ParquetWriter(path, schema, use_dictionary=few, write_statistics=["time"])
        except OSError as error:
            raise not_writable(self._into, error) from None

    def _write(self, writer: Any, table: pa.Table) -> None:
        try:
            writer.write_table(table)
        except OSError as error:
            raise not_writable(self._into, error) from None


def _in_runs(rejected: pa.Table) -> pa.Table:
    """Rejected rows without their texts: lines that follow each other and have one reason are one row."""
    columns = {name: rejected.column(name).combine_chunks() for name in ("file", "line", "lines", "reason")}
    ends = pc.add(columns["line"], columns["lines"])

    def same(before: Any, after: Any) -> Any:
        return pc.equal(before.slice(0, len(before) - 1), after.slice(1)).to_numpy(zero_copy_only=False)

    goes_on = same(columns["file"], columns["file"]) & same(columns["reason"], columns["reason"])
    goes_on &= same(ends, columns["line"])
    first = np.flatnonzero(np.append([True], ~goes_on))
    last = np.append(first[1:], rejected.num_rows) - 1
    runs = rejected.take(pa.array(first))
    lines = pc.subtract(ends.take(pa.array(last)), runs.column("line").combine_chunks())
    runs = runs.set_column(REJECTED.get_field_index("lines"), "lines", lines)
    texts = pa.nulls(runs.num_rows, pa.string())
    return runs.set_column(REJECTED.get_field_index("text"), "text", texts)


def not_writable(into: Path, error: OSError) -> OutputError:
    """What to say if the working folder takes no more."""
    # Arrow's own text of an error goes on for several phrases.
    reason = os.strerror(error.errno) if error.errno else "no space or no permission"
    return OutputError(
        f"the working folder {str(into)!r} cannot be written ({reason})",
        "free some space, or name another folder in TMPDIR",
    )
