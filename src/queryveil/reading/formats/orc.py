"""ORC, the columns of Hive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from queryveil.reading.model import Format, Head, OpenedTable, ReadOptions


def _is_orc(head: Head) -> bool:
    # A text may begin with these letters; only ORC ends with them, before its last byte.
    return head.data.startswith(b"ORC") and head.compression is None and _read_end(head.path) == b"ORC"


def _read_end(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4))
        return file.read(3)


def _open_table(path: Path, _: ReadOptions) -> OpenedTable:
    from pyarrow import orc

    table = orc.ORCFile(str(path))

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        for number in range(table.nstripes):
            yield table.read_stripe(number, columns=columns)

    return OpenedTable(table.schema, batches)


FORMAT = Format(
    name="orc",
    help="ORC files, all with the same columns",
    suffixes=(".orc",),
    recognize=_is_orc,
    open_table=_open_table,
    file_kind="ORC",
)
