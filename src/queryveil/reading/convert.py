"""Write a log in another format: what both formats can hold is the same there and back.

The rows are the accepted ones, with texts as they were typed. So the file is as personal as the log: only its owner
may read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.errors import CannotBeMet, UsageError, argument, instead
from queryveil.files.new_files import new_files
from queryveil.reading.log import SearchLog
from queryveil.reading.model import COLUMNS, ReadOptions
from queryveil.reading.staging import CHUNK_ROWS, connect
from queryveil.reading.times import literal

TARGETS: Final = ("parquet", "aol", "ubi", "tsv")
"""What a log can be written as."""
_BY_NAME: Final[Mapping[str, str]] = {
    ".parquet": "parquet",
    ".txt": "aol",
    ".tsv": "tsv",
    ".ndjson": "ubi",
    ".jsonl": "ubi",
}
_COMPRESSIONS: Final[Mapping[str, str]] = {".gz": "gzip", ".zst": "zstd"}
_TREC = ("session", "user", "time", "query", "rank", "url")
"""Columns of a TSV, in the order of TREC's session logs."""
_CLOCK = "strftime(time, '%Y-%m-%d{}%H:%M:%S') || CASE WHEN microsecond(time) % 1000000 = 0 THEN '' "
_CLOCK += "ELSE strftime(time, '.%f') END"
_BREAKS = r"[\x09\x0A\x0D]"


@dataclass(frozen=True)
class Converted:
    """What was written."""

    path: Path
    format: str
    rows: int
    """Rows of the log, all of which were written."""
    notes: tuple[str, ...]
    """What the format cannot hold, a sentence each."""

    def as_dict(self) -> dict[str, Any]:
        return {"log": str(self.path), "format": self.format, "rows": self.rows, "notes": list(self.notes)}


def convert(log: SearchLog, out: Path | str, format: str | None = None) -> Converted:
    """Write the accepted rows of a log to a new file, as Parquet, AOL, UBI or TSV; None: by the file's name.

    Text may be compressed (.gz, .zst). What a format cannot hold is said in `notes`; what would be changed by it is
    refused.
    """
    path = Path(out)
    kind, compression = conversion_target(path, format)
    if kind in ("aol", "ubi"):
        log.need("time", f"a log of format {kind}")
    columns = [name for name in COLUMNS if name in log.source.columns]
    with log.unchanged(), new_files(path) as (part,):
        if kind == "parquet":
            rows = _write_rows(log, part, columns)
            notes: list[str] = []
        else:
            rows, notes = _write_lines(log, part, kind, compression, columns)
        part.chmod(0o600)
    return Converted(path, kind, rows, tuple(notes))


def conversion_target(path: Path, format: str | None) -> tuple[str, str | None]:
    """The format and the compression that a file is written in."""
    compression = _COMPRESSIONS.get(path.suffix)
    inner = Path(path.stem).suffix if compression else path.suffix
    if format is not None and format not in TARGETS:
        raise UsageError(f"a log cannot be written as {format!r}", instead(format, TARGETS))
    kind = format or _BY_NAME.get(inner)
    if kind is None:
        raise UsageError(
            f"the name {path.name!r} does not say which format to write",
            f"end it in {', '.join(_BY_NAME)} (text also with .gz or .zst), or "
            f"say {argument('to')} {'|'.join(TARGETS)}",
        )
    if kind == "parquet" and compression:
        raise UsageError("Parquet is compressed inside", "end the name in .parquet")
    return kind, compression


def _write_rows(log: SearchLog, file: Path, columns: list[str]) -> int:
    table = log.source.select(*columns)
    rows, writer = 0, None
    try:
        for batch in log.engine.batches(table):
            writer = writer or pq.ParquetWriter(file, batch.schema, compression="zstd")
            writer.write_batch(batch)
            rows += batch.num_rows
        writer = writer or pq.ParquetWriter(file, table.schema().to_pyarrow())
    finally:
        if writer is not None:
            writer.close()
    return rows


def _write_lines(
    log: SearchLog, part: Path, kind: str, compression: str | None, columns: list[str]
) -> tuple[int, list[str]]:
    """Rows as lines of text, by way of a file of DuckDB's own, whatever the engine."""
    aside = part.with_name(part.name + ".rows")
    try:
        rows = _write_rows(log, aside, columns)
        with connect(part.parent, ReadOptions()) as connection, _open_output(part, compression) as write:
            connection.execute(
                f"CREATE TEMP VIEW rows AS SELECT * FROM read_parquet({literal(_escape_path(aside))})"  # noqa: S608
            )
            notes = _unsupported_values(connection, kind, columns)
            write(_HEADERS[kind](columns).encode())
            for sql in _LINES[kind](columns):
                for batch in connection.execute(sql).to_arrow_reader(CHUNK_ROWS):
                    write(_bytes_of(batch.column(0)))
    finally:
        aside.unlink(missing_ok=True)
    return rows, notes


def _escape_path(path: Path) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))


@contextmanager
def _open_output(path: Path, compression: str | None) -> Iterator[Callable[[Any], Any]]:
    with pa.OSFile(str(path), "wb") as raw, ExitStack() as stack:
        file = stack.enter_context(pa.CompressedOutputStream(raw, compression)) if compression else raw
        yield file.write


def _bytes_of(lines: Any) -> Any:
    """The text of an array, which Arrow keeps in one piece."""
    if not len(lines):
        return b""
    texts = lines.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    ends = memoryview(offsets).cast("q")
    first, last = ends[texts.offset], ends[texts.offset + len(texts)]
    return data.slice(first, last - first) if data is not None else b""


def _unsupported_values(connection: Any, kind: str, columns: list[str]) -> list[str]:
    """What the format cannot hold of these rows; refused if a user or an address would become another."""
    if kind == "ubi":
        return []
    notes = []
    names = [name for name in ("user", "url", "session") if name in columns]
    broken = " OR ".join(f"regexp_matches(\"{name}\", '[\\x00\\x09\\x0A\\x0D]')" for name in names)
    dashes = "query = '-'" if kind == "aol" else "false"
    wrong, dashed, odd = connection.execute(
        f"SELECT count(*) FILTER ({broken}), count(*) FILTER ({dashes}), "  # noqa: S608 (our own names)
        f"count(*) FILTER (regexp_matches(query, '[\\x00\\x09\\x0A\\x0D]')) FROM rows"
    ).fetchone()
    if wrong:
        raise CannotBeMet(
            f"{wrong:,} rows have a tab or a line end in a user, a session or an address, which {kind} cannot hold",
            "convert to parquet or ubi",
        )
    if dashed:
        notes.append(
            f"{dashed:,} queries are a dash, which in AOL stands for a withheld query: they are empty now"
        )
    if odd:
        notes.append(
            f"{odd:,} queries have tabs or line ends, which are blanks now; their normal form is the same"
        )
    if kind == "aol" and "session" in columns:
        notes.append("sessions are left out: AOL has none")
    return notes


# -- one format each: a header, and SQL for lines that end in \n --------------------------------------------------


def _field_sql(name: str) -> str:
    """SQL for a field between tabs."""
    if name == "query":
        return f"regexp_replace(replace(query, chr(0), ''), '{_BREAKS}', ' ', 'g')"
    return {"rank": "CAST(rank AS VARCHAR)"}.get(name, f'"{name}"')


def _aol_statements(columns: list[str]) -> Iterator[str]:
    rank, url = (f"coalesce({_field_sql(name)}, '')" if name in columns else "''" for name in ("rank", "url"))
    fields = ['"user"', f"coalesce({_field_sql('query')}, '')", _CLOCK.format(" "), rank, url]
    yield f"SELECT {' || chr(9) || '.join(f'({one})' for one in fields)} || chr(10) FROM rows"  # noqa: S608


def _tsv_statements(columns: list[str]) -> Iterator[str]:
    fields = [
        _CLOCK.format("T") + " || 'Z'" if name == "time" else f"coalesce({_field_sql(name)}, '')"
        for name in _TREC
        if name in columns
    ]
    yield f"SELECT {' || chr(9) || '.join(f'({one})' for one in fields)} || chr(10) FROM rows"  # noqa: S608


def _ubi_statements(columns: list[str]) -> Iterator[str]:
    """A document for each search, then one for each click.

    A row with an address is a click. If no row without one is its search, it is a search too: in many logs a row is
    both. A click without a query is a click alone.
    """
    keys = [name for name in ("user", "time", "query", "session") if name in columns]
    # An id must be the same in both, and tell nothing: a number for each user, time, query and session.
    same = ", ".join(f'"{name}"' for name in keys)
    numbered = f"(SELECT *, 'q' || dense_rank() OVER (ORDER BY {same}) AS query_id FROM rows)"  # noqa: S608
    session = {"session_id": '"session"'} if "session" in columns else {}
    base = {
        "query_id": "query_id",
        "client_id": '"user"',
        "timestamp": _CLOCK.format("T") + " || 'Z'",
    } | session
    search = base | {"user_query": "coalesce(query, '')"}
    if "url" not in columns:
        yield f"SELECT {_json_sql(search)} || chr(10) FROM {numbered}"  # noqa: S608
        return
    yield f"SELECT {_json_sql(search)} || chr(10) FROM {numbered} WHERE url IS NULL"  # noqa: S608
    first = "row_number() OVER (PARTITION BY query_id) = 1"
    yield (
        f"SELECT {_json_sql(search)} || chr(10) FROM (SELECT *, "  # noqa: S608
        f"bool_or(url IS NULL) OVER (PARTITION BY query_id) AS known, {first} AS leads "
        f"FROM {numbered}) WHERE NOT known AND leads AND trim(coalesce(query, '')) <> ''"
    )
    position = ", 'position': {'ordinal': rank}" if "rank" in columns else ""
    click = search | {
        "action_name": "'click'",
        "event_attributes": "{'object': {'object_id': url}" + position + "}",
    }
    yield f"SELECT {_json_sql(click)} || chr(10) FROM {numbered} WHERE url IS NOT NULL"  # noqa: S608


def _json_sql(fields: Mapping[str, str]) -> str:
    inside = ", ".join(f"'{name}': {expression}" for name, expression in fields.items())
    return "CAST(to_json({" + inside + "}) AS VARCHAR)"


_LINES: Final[Mapping[str, Callable[[list[str]], Iterator[str]]]] = {
    "aol": _aol_statements,
    "tsv": _tsv_statements,
    "ubi": _ubi_statements,
}
_HEADERS: Final[Mapping[str, Callable[[list[str]], str]]] = {
    "aol": lambda _: "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n",
    "tsv": lambda columns: "\t".join(name for name in _TREC if name in columns) + "\n",
    "ubi": lambda _: "",
}
