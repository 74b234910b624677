"""Tables of a release folder, read with limits: a small file may repeat one long text without end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_MUCH_TEXT = 2**27
_MAX_TEXT_PER_BYTE = 500
"""Above this number of bytes of text, the most that a byte of the file can stand for; in releases, it stands for 20."""
_MANY_VALUES = 2**23
_MAX_VALUES_PER_BYTE = 125
"""Above this number of values, the most that a byte of the file can stand for."""


class TooMuch(ValueError):
    """A table would be far larger than its file: it was made to fill the memory of whoever reads it."""

    def __init__(self) -> None:
        super().__init__("a table would be far larger than its file")


def read_table(file: Path) -> tuple[pa.Table, Mapping[bytes, bytes]]:
    """The rows of a Parquet file, and its metadata.

    Texts are read with each of them once, so that what they come to is known before any is repeated.
    """
    with pq.ParquetFile(file) as plain:
        schema, metadata = plain.schema_arrow, plain.metadata
        columns = [plain.schema.column(number) for number in range(len(plain.schema))]
        texts = [one.path for one in columns if one.physical_type == "BYTE_ARRAY"]
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    require_bounded(
        max(metadata.num_rows * metadata.num_columns, sum(one.num_values for one in chunks)), file
    )
    _require_bounded_text(sum(one.total_byte_size for one in groups), file)
    with pq.ParquetFile(file, read_dictionary=texts) as content:
        found = content.read()
        _require_bounded_text(sum(map(_text_size, _dictionary_batches(found))), file)
        table = found.cast(schema).combine_chunks()
        table.validate(full=True)
        return table, dict(metadata.metadata or {})


def require_bounded(values: int, file: Path) -> None:
    """Refuse a file that stands for far more values than its size explains, before any is decoded."""
    if values > _MANY_VALUES and values > _MAX_VALUES_PER_BYTE * file.stat().st_size:
        raise TooMuch


def _require_bounded_text(size: int, file: Path) -> None:
    if size > _MUCH_TEXT and size > _MAX_TEXT_PER_BYTE * file.stat().st_size:
        raise TooMuch


def _dictionary_batches(table: pa.Table) -> Iterator[pa.DictionaryArray]:
    for column in table.columns:
        for chunk in column.chunks:
            part: Any = chunk
            while pa.types.is_list(part.type):
                part = part.flatten()
            if pa.types.is_dictionary(part.type):
                yield part


def _text_size(part: pa.DictionaryArray) -> int:
    """Bytes of text that an array stands for."""
    lengths = pc.fill_null(pc.binary_length(part.dictionary), 0).to_numpy(zero_copy_only=False)
    used = np.bincount(part.indices.drop_null().to_numpy(zero_copy_only=False), minlength=len(lengths))
    return int((used * lengths.astype(np.int64)).sum())
