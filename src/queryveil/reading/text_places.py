"""Texts that are parts of longer ones: where they are, found by a compiled loop, and Arrow's arrays of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.compiled import shares, side_by_side
from queryveil.reading.text_loops import copy_texts, cut_lines

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

WORTH_COMPILING = 16 * 1024 * 1024
"""Bytes of a source below which rows are judged before the compiled loops are loaded."""


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


class Cut:
    """The first fields of lines, cut at every delimiter, which is one byte."""

    def __init__(self, texts: Any, delimiter: int, fields: int) -> None:
        self._data, offsets = bytes_of(texts)
        rows = len(texts)
        self.many = np.zeros(rows, np.int64)
        """How many fields each line has."""
        # Where each field begins; the next one begins behind its delimiter.
        self._starts = np.zeros((fields + 1, rows), np.int64)
        parts = [
            (self._data, offsets[a : b + 1], delimiter, self.many[a:b], self._starts[:, a:b])
            for a, b in shares(rows)
        ]
        side_by_side(cut_lines, parts)

    def at(self, number: int) -> Any:
        """The field of this number, from 1, of each line; null where a line has fewer."""
        there = self.many >= number
        starts = self._starts[number - 1]
        lengths = np.where(there, self._starts[number] - starts - 1, 0)
        return texts_at(self._data, starts, lengths, there)
