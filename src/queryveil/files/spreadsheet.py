"""Tables as CSV that a spreadsheet opens without running any of it.

A cell of text that begins like a formula gets an apostrophe in front; numbers stay numbers. That changes such a text,
so a program should read the Parquet file instead.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a spreadsheet takes for a formula at the start of a cell, or drops to look behind it."""


def escape_cell(cell: Any) -> Any:
    """A cell that is shown and not run."""
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" \0").startswith(_FORMULA) else cell


def write_rows(file: Path, heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows under a heading, in UTF-8."""
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow([escape_cell(name) for name in heading])
        writer.writerows([escape_cell(cell) for cell in row] for row in rows)


def write_table(file: Path, table: pa.Table) -> None:
    """A table of a release; the items of a list are separated by a bar and a blank."""

    def rows() -> Iterable[list[Any]]:
        for batch in table.to_batches(max_chunksize=10_000):
            for row in batch.to_pylist():
                yield [" | ".join(one) if isinstance(one, list) else one for one in row.values()]

    write_rows(file, table.column_names, rows())
