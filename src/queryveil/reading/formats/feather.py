"""Feather, version 2: an Arrow table as a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from queryveil.reading.model import Format, OpenedTable, ReadOptions


def _open_table(path: Path, _: ReadOptions) -> OpenedTable:
    table = pa.ipc.open_file(pa.memory_map(str(path)))

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        for number in range(table.num_record_batches):
            batch = table.get_batch(number).select(columns)
            # A damaged file may state more rows than it has bytes for, or texts that end before they begin.
            batch.validate(full=True)
            yield batch

    return OpenedTable(table.schema, batches)


FORMAT = Format(
    name="feather",
    help="Feather (Arrow) files, all with the same columns",
    suffixes=(".feather", ".arrow"),
    recognize=lambda head: head.data.startswith(b"ARROW1"),
    open_table=_open_table,
    file_kind="Feather",
)
