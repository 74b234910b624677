"""Small logs in every format, and a way to read back what was staged."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from queryveil.reading.log_files import stage
from queryveil.reading.model import ReadOptions, Staged

NOON = dt.datetime(2006, 3, 1, 12, 0, 0)

# user, time, query, url, rank
ROWS: list[tuple[str, dt.datetime, str, str | None, int | None]] = [
    ("17", NOON, "rare orchids", "http://orchids.example", 2),
    ("17", NOON + dt.timedelta(seconds=5), "orchid, shop", None, None),
    ("u2", NOON + dt.timedelta(hours=3), "", None, None),
    ("u2", NOON + dt.timedelta(hours=4), "crème brûlée", "http://a.example/?q=1&b=2", 1),
]


def read(log: Any, into: Path, **options: Any) -> Staged:
    return stage(log, ReadOptions(**options), into)


def rows_of(staged: Staged, *columns: str) -> list[tuple[Any, ...]]:
    """The rows as staged, with the given standard columns."""
    wanted = columns or ("user", "time", "query", "url", "rank")
    tables = [pq.read_table(file, columns=[staged.names[c] for c in wanted]) for file in staged.files]
    return [tuple(row[staged.names[c]] for c in wanted) for table in tables for row in table.to_pylist()]


def rejections(staged: Staged) -> list[tuple[str, int, str]]:
    return [(one.file, one.line, one.reason) for one in staged.examples]


def rejected_rows(staged: Staged) -> list[dict[str, Any]]:
    if staged.rejected_file is None:
        return []
    rows: list[dict[str, Any]] = pq.read_table(staged.rejected_file).to_pylist()
    return rows


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def as_fields(delimiter: str, quote: bool = False) -> str:
    def field(value: object) -> str:
        text = "" if value is None else str(value)
        return '"' + text.replace('"', '""') + '"' if quote and (delimiter in text or '"' in text) else text

    return "".join(delimiter.join(field(value) for value in row) + "\n" for row in ROWS)
