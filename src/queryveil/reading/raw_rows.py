"""Columns of a log as Arrow reads them from its files, without an engine, and what they tell of the log as a whole.

For a pass over all rows: an engine decodes the name of a user for each row, Arrow once for each part of a file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queryveil.files import memory
from queryveil.reading.model import Staged
from queryveil.reading.text_hashes import parts_of, summed
from queryveil.reading.typed_tables import damaged

_BATCH_ROWS = 1 << 17
_BUFFER = 1 << 20
_AHEAD = 4
"""Batches of rows that may wait."""
_RULE = "queryveil 1"
"""By which rule a fingerprint was made; another rule needs another name."""


@dataclass(frozen=True)
class File:
    """A file of Parquet, and what its columns are called."""

    path: Path
    names: dict[str, str]
    label: str


def opened(staged: Staged, columns: Sequence[str]) -> tuple[File, ...] | None:
    """The files of a log, if these columns are texts in all of them; None if an engine must read them."""
    made = []
    labels = staged.labels or ["the log"] * len(staged.files)
    for path, label in zip(staged.files, labels, strict=True):
        names = {column: staged.names[column] for column in columns}
        try:
            schema = pq.read_schema(path)
            kinds = [schema.field(name).type for name in names.values()]
        except (OSError, pa.ArrowException, KeyError):
            return None
        if not all(map(_is_text, kinds)):
            return None
        made.append(File(path, names, label))
    return tuple(made) or None


def batches(files: Sequence[File]) -> Iterator[pa.RecordBatch]:
    """All rows with the standard names of columns; a text that is null is an empty one."""
    for file in files:
        try:
            # A file's rows may be one part: it is read piece by piece.
            with pq.ParquetFile(
                file.path, read_dictionary=[file.names["user"]], pre_buffer=False, buffer_size=_BUFFER
            ) as source:
                for batch in source.iter_batches(_BATCH_ROWS, columns=list(file.names.values())):
                    read = {column: _fill_nulls(batch.column(name)) for column, name in file.names.items()}
                    yield pa.record_batch(read)
        except (OSError, pa.ArrowException) as error:
            if memory.is_limit_exceeded(error):
                raise
            # If it was read to the end before, whoever asks looks whether it is another file now.
            raise damaged(file.label) from None


def warm_up() -> Iterator[None]:
    """Load the loops of a fingerprint, by making one of a row that nobody wrote."""
    nobody = pa.array(["nobody"]).dictionary_encode()
    deque(Fingerprint().on_the_way(iter([pa.record_batch({"user": nobody, "query": pa.array(["a"])})])), 0)
    yield


class Fingerprint:
    """Tells logs apart by who searched for what, whatever the order of rows."""

    def __init__(self) -> None:
        self.rows = self._sum = 0

    def on_the_way(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same rows; a thread adds them while somebody works on them."""
        waiting: deque[Future[None]] = deque()
        with ThreadPoolExecutor(1) as thread:
            for batch in rows:
                waiting.append(thread.submit(self._add_batch, batch))
                yield batch
                while len(waiting) > _AHEAD:
                    waiting.popleft().result()
            while waiting:
                waiting.popleft().result()

    def _add_batch(self, batch: pa.RecordBatch) -> None:
        users, queries = batch.columns
        if not pa.types.is_dictionary(users.type):
            which = np.arange(len(users), dtype=np.int32)
        else:
            users, which = users.dictionary, users.indices.to_numpy(zero_copy_only=False)
        owners = np.empty(len(users), np.uint64)
        self.rows += batch.num_rows
        self._sum += summed(*parts_of(queries), *parts_of(users), owners, which)

    def told(self) -> dict[str, Any]:
        return {"rows": self.rows, "sum": self._sum, "engine": _RULE}


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _fill_nulls(column: pa.Array) -> pa.Array:
    return pc.fill_null(column, "") if column.null_count else column
