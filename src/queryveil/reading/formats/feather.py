"""Feather, version 2: an Arrow table as a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from queryveil.reading.formats.columnar import Opened, stage_as_parquet
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged


class Feather:
    name: ClassVar[str] = "feather"
    help: ClassVar[str] = "Feather (Arrow) files, all with the same columns"
    suffixes: ClassVar[tuple[str, ...]] = (".feather", ".arrow")
    binary: ClassVar[bool] = True

    def matches(self, head: Head) -> bool:
        return head.data.startswith(b"ARROW1")

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        return stage_as_parquet(source, options, into, progress, _open, "Feather")


def _open(path: Path) -> Opened:
    table = pa.ipc.open_file(pa.memory_map(str(path)))

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        for number in range(table.num_record_batches):
            batch = table.get_batch(number).select(columns)
            # A damaged file may state more rows than it has bytes for, or texts that end before they begin.
            batch.validate(full=True)
            yield batch

    return table.schema, batches
