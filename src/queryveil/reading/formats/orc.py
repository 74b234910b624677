"""ORC, the columns of Hive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from queryveil.reading.formats.columnar import Opened, stage_as_parquet
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged


class Orc:
    name: ClassVar[str] = "orc"
    help: ClassVar[str] = "ORC files, all with the same columns"
    suffixes: ClassVar[tuple[str, ...]] = (".orc",)
    binary: ClassVar[bool] = True

    def matches(self, head: Head) -> bool:
        # A text may begin with these letters; only ORC ends with them, before its last byte.
        return head.data.startswith(b"ORC") and head.compression is None and _end(head.path) == b"ORC"

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        return stage_as_parquet(source, options, into, progress, _open, "ORC")


def _end(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4))
        return file.read(3)


def _open(path: Path) -> Opened:
    from pyarrow import orc

    table = orc.ORCFile(str(path))

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        for number in range(table.nstripes):
            yield table.read_stripe(number, columns=columns)

    return table.schema, batches
