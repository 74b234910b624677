"""The staging engine: lines or documents of any format become validated rows in Parquet.

Accepted rows are in one file, and rejected rows with their reasons in another.
"""

from __future__ import annotations

import functools
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
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
from queryveil.reading.json_documents import read_documents
from queryveil.reading.lines import read_lines
from queryveil.reading.model import (
    COLUMNS,
    ORPHAN_CLICK,
    SEARCH,
    Extraction,
    Format,
    Progress,
    ReadOptions,
    Rejection,
    Source,
    Staged,
)
from queryveil.reading.times import check_time_format, suggest_time_formats

MEMORY_LIMIT = "2GB"
CHUNK_ROWS = 150_000
CHUNK_BYTES = 32 * 1024 * 1024
EXAMPLES = 20
MAX_REJECTED_TEXTS = 1_000_000
"""Rejected rows that are written with their texts; beyond them, only files, lines, and reasons are."""
THREADS = 2
"""Threads that validate chunks, each on its own cursor."""

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


def stage_text(
    source: Source,
    format: Format,
    extraction: Extraction,
    options: ReadOptions,
    into: Path,
    progress: Progress | None,
) -> Staged:
    """Extract and validate the rows of all lines or documents, and write them to Parquet."""
    if extraction.encoding is not None:
        files = tuple(replace(file, encoding=extraction.encoding) for file in source.files)
        source = replace(source, files=files)
    with (
        connect(into, options) as connection,
        StagedWriter(into, extraction.columns, source, format) as writer,
    ):
        extraction.prepare(connection)
        batches = (
            read_documents(source, progress)
            if extraction.documents
            else read_lines(source, extraction.header, progress)
        )
        tables = map(extraction.transform, chunks(batches))
        add = functools.partial(_insert_rows, connection) if extraction.combine else writer.write_rows
        for validated in validate_chunks(connection, extraction.sql, tables):
            writer.add(validated, add)
        if extraction.combine:
            for rows in _combine_rows(connection, extraction.combine):
                writer.add(rows)
        staged = writer.finish()
    suggested = suggest_time_formats(extraction.times) if "bad time" in staged.reasons else ""
    known_times = {"bad time": f"say how times are written: {suggested}"} if suggested else {}
    staged = replace(
        staged,
        mapping={**format.columns, **extraction.mapping},
        ignored=tuple(extraction.ignored),
        hints={**format.hints, **known_times, **extraction.hints},
        notes=(*format.notes, *extraction.notes),
        dateless=extraction.dateless,
        searches=writer.roles[SEARCH] if extraction.separates_clicks else None,
        orphan_clicks=writer.roles[ORPHAN_CLICK] if extraction.separates_clicks else None,
    )
    extraction.check(staged)
    return staged


def validate_chunks(
    connection: Any, sql: str | Callable[[Any], str], tables: Iterator[pa.Table]
) -> Iterator[pa.Table]:
    """Validate chunks in several threads, and yield the rows in the order of the chunks."""

    def validate_one(table: pa.Table) -> pa.Table:
        with connection.cursor() as cursor:
            cursor.register("chunk", table)
            rows = cursor.execute(sql if isinstance(sql, str) else sql(cursor)).to_arrow_table()
            cursor.unregister("chunk")
            return rows

    with ThreadPoolExecutor(THREADS) as pool:
        waiting: deque[Future[pa.Table]] = deque()
        for table in tables:
            waiting.append(pool.submit(validate_one, table))
            if len(waiting) > THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _insert_rows(connection: Any, rows: pa.Table) -> None:
    """Add rows to the table `parsed`, in their order."""
    connection.register("rows", rows)
    connection.execute("CREATE TABLE IF NOT EXISTS parsed AS SELECT * FROM rows LIMIT 0")
    connection.execute("INSERT INTO parsed SELECT * FROM rows")
    connection.unregister("rows")


def _combine_rows(connection: Any, statements: Sequence[str]) -> Iterator[pa.Table]:
    """Run the statements over the table `parsed`, and yield the rows that the last one returns."""
    (tables,) = connection.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'parsed'"
    ).fetchone()
    if not tables:
        return
    *first, last = statements
    for statement in first:
        connection.execute(statement)
    for batch in connection.execute(last).to_arrow_reader(CHUNK_ROWS):
        yield pa.Table.from_batches([batch])


@contextmanager
def connect(into: Path, options: ReadOptions) -> Iterator[Any]:
    """A private DuckDB that spills into `into`, fetches nothing, and whose errors say nothing of the rows."""
    # DuckDB would import this by itself at its first table, and forget an interrupt that comes meanwhile.
    import pyarrow.dataset  # noqa: F401

    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "custom_extension_repository": "/nowhere",
        "memory_limit": _memory_setting(),
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
        if memory.address_space_limit() is not None or "bad allocation" in str(error):
            raise CannotBeMet(
                "there is not enough memory to read the log",
                "raise the limit of memory that this process has (ulimit -v), or read part of the log",
            ) from None
        raise InputError(
            f"reading the log needs more than {MEMORY_LIMIT} of memory at once: a part of it is too large",
            "write it again in smaller parts (Parquet: smaller pages and row groups), or as text",
        ) from None
    except duckdb.Error as error:
        if memory.is_limit_exceeded(RuntimeError(str(error))):
            raise MemoryError from None
        # DuckDB quotes the offending value, so only the kind of error is reported.
        raise InputError(
            f"the log could not be read ({type(error).__name__})", "check that the files are complete"
        ) from None


def _memory_setting() -> str:
    """What DuckDB may take; less where this process may have little."""
    return (
        MEMORY_LIMIT
        if memory.address_space_limit() is None
        else f"{memory.fit_to_limit(2 * 10**9) // 10**6}MB"
    )


def chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches gathered into tables that are worth a query and small enough for memory."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= CHUNK_ROWS or size >= CHUNK_BYTES:
            yield _concatenate(held)
            held, rows, size = [], 0, 0
    if held:
        yield _concatenate(held)


def _concatenate(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    # Arrow would copy what is in one piece already.
    table = pa.Table.from_batches(batches)
    return table if len(batches) == 1 else table.combine_chunks()


class StagedWriter:
    """Writes validated rows (`validate_sql`) to the files of a staged log, and counts them."""

    def __init__(self, into: Path, columns: Sequence[str], source: Source, format: Format) -> None:
        self.rows = self.empty_queries = 0
        self.reasons: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.roles: Counter[str] = Counter()
        self.filled: set[str] = set()
        """Columns in which some accepted row has a value."""
        self._texts = 0
        self._examples: list[Rejection] = []
        self._labels = pa.array([file.label for file in source.files], pa.string())
        self._schema = pa.schema([(name, TYPES[name]) for name in COLUMNS if name in columns])
        self._into, self._source, self._format = into, source, format
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

    def add(self, rows: pa.Table, accept: Callable[[pa.Table], None] | None = None) -> None:
        """Count skipped rows, reject those with a reason, and pass the others to `accept`; None writes them."""
        if "skipped" in rows.column_names:
            skipped = rows.column("skipped")
            rows = rows.drop_columns(["skipped"])
            if skipped.null_count < len(skipped):
                self.skipped.update(skipped.drop_null().to_pylist())
                rows = rows.filter(pc.is_null(skipped))
        reasons = rows.column("reason")
        if reasons.null_count < len(reasons):
            self.reject(rows.filter(pc.is_valid(reasons)))
            rows = rows.filter(pc.is_null(reasons))
        (accept or self.write_rows)(rows)

    def write_rows(self, accepted: pa.Table) -> None:
        """Write accepted rows."""
        self.rows += accepted.num_rows
        self.empty_queries += pc.sum(accepted.column("empty")).as_py() or 0
        if "role" in accepted.column_names:
            self.roles.update(accepted.column("role").to_pylist())
        table = accepted.select(self._schema.names).cast(self._schema)
        self.filled |= {name for name in table.column_names if table.column(name).null_count < len(table)}
        self._rows_writer = self._rows_writer or self._open(self.rows_file, self._schema)
        self._write(self._rows_writer, table)

    def reject(self, rejected: pa.Table) -> None:
        """Write rejected rows, with the labels of their files."""
        files = pc.take(self._labels, rejected.column("file"))
        others = (rejected.column(name).cast(REJECTED.field(name).type) for name in REJECTED.names[1:])
        table = pa.table([files, *others], schema=REJECTED)
        for value in table.group_by("reason").aggregate([("lines", "sum")]).to_pylist():
            self.reasons[value["reason"]] += value["lines_sum"]
        room = max(0, MAX_REJECTED_TEXTS - self._texts)
        self._texts += table.num_rows
        if table.num_rows > room:
            table = pa.concat_tables([table.slice(0, room), _in_runs(table.slice(room))])
        for row in (
            table.select(["file", "line", "reason"]).slice(0, EXAMPLES - len(self._examples)).to_pylist()
        ):
            self._examples.append(Rejection(row["file"], row["line"], row["reason"]))
        self._rejected_writer = self._rejected_writer or self._open(self._rejected_file, REJECTED)
        self._write(self._rejected_writer, table)

    def finish(self) -> Staged:
        """Close the files, and return the accepted rows in the standard types."""
        self._rows_writer = self._rows_writer or self._open(self.rows_file, self._schema)
        names = {name: name for name in self._schema.names}
        return self._make_staged((self.rows_file,), names, direct=False)

    def finish_in_place(self, names: Mapping[str, str]) -> Staged:
        """Return the source itself, if no row of it was rejected."""
        return self._make_staged(tuple(file.path for file in self._source.files), names, direct=True)

    def finish_copy(self, names: Mapping[str, str]) -> Staged:
        """Return the accepted rows that the caller wrote to `rows_file`, with values and types of the source."""
        return self._make_staged((self.rows_file,), {name: name for name in names}, direct=True)

    def _make_staged(self, files: tuple[Path, ...], names: Mapping[str, str], direct: bool) -> Staged:
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
            format=self._format.name,
            skipped=dict(self.skipped.most_common()),
            filled=frozenset(self.filled),
        )

    def _open(self, path: Path, schema: pa.Schema) -> Any:
        try:
            # A dictionary of all queries takes longer to write than they do, and is given up in the middle.
            few = [name for name in ("user", "reason", "file") if name in schema.names]
            return pq.ParquetWriter(
                path, schema, use_dictionary=few, write_statistics=["time"], compression="none"
            )
        except OSError as error:
            raise not_writable(self._into, error) from None

    def _write(self, writer: Any, table: pa.Table) -> None:
        try:
            writer.write_table(table)
        except OSError as error:
            raise not_writable(self._into, error) from None


def _in_runs(rejected: pa.Table) -> pa.Table:
    """Return rejected rows without texts; consecutive lines with one reason are one row."""
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
    """Return the error for a working folder that cannot be written."""
    # Arrow's own text of an error goes on for several phrases.
    reason = os.strerror(error.errno) if error.errno else "no space or no permission"
    return OutputError(
        f"the working folder {str(into)!r} cannot be written ({reason})",
        "free some space, or name another folder in TMPDIR",
    )
