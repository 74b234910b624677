"""Texts that are parts of longer ones: where they are, found by a compiled loop, and Arrow's arrays of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.compiled import shares, side_by_side
from queryveil.reading.text_loops import copy_texts, cut_lines, cut_quoted_lines

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

WORTH_COMPILING = 16 * 1024 * 1024
"""Bytes of a source below which rows are judged before the compiled loops are loaded."""


def in_one(column: Any) -> Any:
    """A column as one array. Arrow would copy it for this even where it is one."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def bytes_of(texts: Any) -> tuple[Bytes, Numbers]:
    """The bytes of an array of texts, and where each text begins and ends in them."""
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    there = data is not None and data.size
    return np.frombuffer(data, np.uint8) if there else np.zeros(1, np.uint8), places


def texts_at(data: Bytes, starts: Whole, lengths: Numbers, there: Flags) -> Any:
    """The texts of these lengths that begin at these places, as an array of Arrow; null where there is none."""
    offsets = np.zeros(len(starts) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    into = np.empty(int(offsets[-1]), np.uint8)
    parts = [(data, starts[a:b], offsets[a : b + 1], into) for a, b in shares(len(starts))]
    side_by_side(copy_texts, parts)
    known = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    buffers = [known, pa.py_buffer(offsets), pa.py_buffer(into)]
    return pa.Array.from_buffers(pa.string(), len(starts), buffers)


@dataclass(frozen=True)
class Placed:
    """Texts by their places in bytes: of those that are looked at and not kept, no array is made.

    Lengths and what is there belong to whoever has it, and may be written in.
    """

    data: Bytes
    starts: Whole
    lengths: Numbers
    there: Flags

    @classmethod
    def of(cls, array: Any) -> Placed:
        array = in_one(array)
        data, offsets = bytes_of(array)
        there = np.array(array.is_valid(), np.bool_) if array.null_count else np.ones(len(array), np.bool_)
        return cls(data, offsets[:-1].astype(np.int64), np.diff(offsets), there)

    def kept(self) -> Any:
        """The texts as an array of Arrow; null where there is none."""
        return texts_at(self.data, self.starts, np.where(self.there, self.lengths, 0), self.there)

    def part(self, a: int, b: int) -> tuple[Bytes, Whole, Numbers, Flags]:
        """Those from a place to a place, for a loop."""
        return self.data, self.starts[a:b], self.lengths[a:b], self.there[a:b]


class Cut:
    """The first fields of lines, cut at every delimiter, which is one byte; or at those outside of quotes, if asked.

    A line whose quotes need more care has no fields then.
    """

    def __init__(self, texts: Any, delimiter: int, fields: int, quotes: bool = False) -> None:
        self._data, offsets = bytes_of(texts)
        rows = len(texts)
        self.many = np.zeros(rows, np.int64)
        """How many fields each line has."""
        self._starts = np.zeros((fields, rows), np.int64)
        self._lengths = np.zeros((fields, rows), np.int32)
        parts = [
            (
                *(self._data, offsets[a : b + 1], delimiter, self.many[a:b]),
                *(self._starts[:, a:b], self._lengths[:, a:b]),
            )
            for a, b in shares(rows)
        ]
        side_by_side(cut_quoted_lines if quotes else cut_lines, parts)

    def at(self, number: int) -> Any:
        """The field of this number, from 1, of each line; null where a line has fewer."""
        return self.placed(number).kept()

    def placed(self, number: int) -> Placed:
        """The same by its places."""
        lengths = self._lengths[number - 1]
        there = self.many >= number
        if not there.all():
            lengths = np.where(there, lengths, 0)
        return Placed(self._data, self._starts[number - 1], lengths, there)
