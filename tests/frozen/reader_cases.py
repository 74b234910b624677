"""Run one stored case of a reader through `queryveil.read`, and describe the outcome."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

import queryveil as qv
from tests.frozen.store import Answer, as_json

COLUMNS = ("user", "time", "query", "url", "rank", "session")
MOST_ROWS = 1500
"""Longer answers are stored as a digest."""

GROUPS = (
    *("tsv", "csv", "aol", "sogou", "jsonl", "ubi", "algolia", "access-log", "solr", "slow-log", "yandex"),
    *("matomo", "google-analytics", "parquet", "feather", "orc", "sqlite", "duckdb", "excel"),
    *("sources", "tables", "large"),
)


def write_files(case: Mapping[str, Any], folder: Path) -> None:
    """Write the files of a case. Bytes are stored as Latin-1; a repeated line is stored once, with its count."""
    for name, content in case["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_bytes(content.encode("latin-1"))
            continue
        with path.open("wb") as file:
            for part in content:
                if isinstance(part, str):
                    file.write(part.encode("latin-1"))
                else:
                    lines = (part["line"].replace("{n}", str(n)) for n in range(part["count"]))
                    file.write("".join(lines).encode("latin-1"))


def source_of(case: Mapping[str, Any], folder: Path) -> Any:
    """Return what `queryveil.read` is given: a path, several paths, or a table in memory."""
    log = case["log"]
    if isinstance(log, str):
        return folder / log
    if isinstance(log, list):
        return [folder / one for one in log]
    table = pa.feather.read_table(folder / log["file"])
    return TABLES[log["as"]](table)


def _in_duckdb(table: pa.Table) -> Any:
    connection = duckdb.connect()
    connection.register("log", table)
    return connection.table("log")


TABLES: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "polars": polars.from_arrow,
    "rows": lambda table: table.to_pylist(),
    "batches": lambda table: pa.RecordBatchReader.from_batches(
        table.schema, table.to_batches(max_chunksize=2)
    ),
    "duckdb": _in_duckdb,
}
"""Kinds of tables in memory, made from an Arrow table."""


def answer(case: Mapping[str, Any], folder: Path) -> Answer:
    """Read the log of a case: rows in no particular order, rejected lines with reasons, and counts; or the refusal."""
    write_files(case, folder)
    options: dict[str, Any] = {"max_rejected": 1.0} | {
        name: tuple(value) if isinstance(value, list) else value for name, value in case["options"].items()
    }
    try:
        log = qv.read(source_of(case, folder), **options)
        rows = _rows(log)
    except qv.QueryveilError as error:
        return {"refused": error.kind}
    staged = log.staged
    assert staged is not None
    return as_json(
        {
            "format": staged.format,
            "columns": [name for name in COLUMNS if name in log.columns],
            "rows": rows if len(rows) <= MOST_ROWS else _digest(rows),
            "rejected": _rejected(staged.rejected_file, folder),
            "reasons": dict(sorted(staged.reasons.items())),
            "skipped": dict(sorted(staged.skipped.items())),
            "searches": staged.searches,
            "orphan_clicks": staged.orphan_clicks,
        }
    )


def _rows(log: qv.SearchLog) -> list[list[Any]]:
    table = log.engine.arrow(log.source)
    absent = pa.nulls(table.num_rows)
    columns = [
        table[name].to_pylist() if name in table.column_names else absent.to_pylist() for name in COLUMNS
    ]
    return sorted(([_plain(value) for value in row] for row in zip(*columns, strict=True)), key=json.dumps)


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        return value.isoformat()
    return value if value is None or isinstance(value, str | int) else repr(value)


def _digest(rows: list[list[Any]]) -> dict[str, Any]:
    return {"count": len(rows), "sha256": hashlib.sha256(json.dumps(rows).encode()).hexdigest()}


def _rejected(file: Path | None, folder: Path) -> list[list[Any]]:
    """Return rejected lines as [file, first line, last line, reason], however they are stored in runs."""
    if file is None:
        return []
    kept = pq.read_table(file).to_pylist()
    for row in kept:
        row["file"] = row["file"].removeprefix(f"{folder}/")
    runs: list[list[Any]] = []
    for row in sorted(kept, key=lambda one: (one["file"], one["line"], one["reason"])):
        last = row["line"] + (row["lines"] or 1) - 1
        if runs and [runs[-1][0], runs[-1][2] + 1, runs[-1][3]] == [row["file"], row["line"], row["reason"]]:
            runs[-1][2] = last
        else:
            runs.append([row["file"], row["line"], last, row["reason"]])
    return runs
