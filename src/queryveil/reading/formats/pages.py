"""How long texts in a Parquet file can be, by what stands before its pages and by its dictionaries.

Nobody has to read the texts for it. A text stands in one page, or in the dictionary of its column, which is a page of
its own at the beginning. A page of texts has four bytes for the length of each: so none is longer than what is left of
the page without these. What is not known here is not judged: then somebody reads all texts.

Headers may lie, as anything in a file may. So this decides who reads a text first, and nothing else: whoever does looks
whether it is too long.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.compiled import side_by_side, threads, unlocked
from queryveil.reading.model import LONGEST_TEXT

LONGEST_REPEATED = 4096
"""Bytes of a text in a dictionary: rows may repeat it, so that many long ones would not fit into memory."""
MUCH_TEXT = 2**30
MOST_PER_ROW = 16 * 1024
"""Beyond much text, this is the most that a row may have on average."""
_HEADER = 1024
_MOST_DICTIONARY, _MOST_PAGES = 2**26, 10_000
_PAGE, _DICTIONARY, _PAGE_2 = 0, 2, 3
_PLAIN, _BY_NUMBER, _OF_DICTIONARY = 0, {2, 8}, {0, 2}
_CODECS = {name.upper(): name for name in ("snappy", "gzip", "zstd", "brotli", "lz4_raw")}
_UNCOMPRESSED = "UNCOMPRESSED"
_MOST_DEPTH, _MOST_FIELDS = 4, 32
_TRUE, _FALSE, _INT_32, _BYTES, _STRUCT = 1, 2, 5, 8, 12
_MOST = 2**31
_LENGTH = 4
"""Bytes that say how long a text is."""


@dataclass(frozen=True)
class Chunk:
    """A column of texts in one part of a file."""

    file: Path
    start: int
    size: int
    codec: str
    values: int
    nulls: int | None
    """How many of the values are null, if the file says so."""


@dataclass(frozen=True)
class _Page:
    kind: int
    body: int
    """Where it begins, behind what stands before it."""
    packed: int
    size: int
    """Bytes that it has in the file, and that it has without compression."""
    values: int
    texts: int
    """Values that are not null, as many as there are by what the file says."""
    encoding: int


class _NotKnownError(Exception):
    """Something that is not judged here."""


def too_much(total: int, rows: int) -> bool:
    """Whether so much text is more than a search log has."""
    return total > MUCH_TEXT and total > MOST_PER_ROW * rows


def all_short(chunks: Sequence[Chunk], rows: int) -> bool:
    """Whether texts of these columns seem to be short enough for rows, not long and repeated, and not too much."""
    try:
        parts = [(chunks[share :: threads()],) for share in range(threads())]
        return not too_much(sum(side_by_side(_most_text, parts)), rows)
    except (_NotKnownError, OSError, ValueError, LookupError, TypeError, pa.ArrowException):
        return False


def _most_text(chunks: Sequence[Chunk]) -> int:
    """The most bytes that all texts can have, in all rows."""
    total = 0
    for chunk in chunks:
        with chunk.file.open("rb") as file:
            total += _most_in(file.fileno(), chunk)
    return total


def _most_in(file: int, chunk: Chunk) -> int:
    total = longest = values = 0
    for page in _pages(file, chunk):
        if page.kind == _DICTIONARY:
            longest = _longest_in(file, page, chunk.codec)
            if longest > LONGEST_REPEATED:
                raise _NotKnownError
            continue
        values += page.values
        if page.encoding in _BY_NUMBER:
            total += longest * page.values
        elif page.encoding == _PLAIN and page.size - _LENGTH * page.texts <= LONGEST_TEXT:
            total += page.size
        else:
            raise _NotKnownError
    if values != chunk.values:
        raise _NotKnownError
    return total


def _pages(file: int, chunk: Chunk) -> Iterator[_Page]:
    at, end = chunk.start, chunk.start + chunk.size
    for _ in range(_MOST_PAGES):
        if at >= end:
            break
        fields, length = _struct(os.pread(file, _HEADER, at), 0)
        kind, size, packed = fields[1], fields[2], fields[3]
        own = fields[{_PAGE: 5, _DICTIONARY: 7, _PAGE_2: 8}[kind]]
        newer = kind == _PAGE_2  # it says itself how many are null
        nulls = own[2] if newer else (0 if chunk.nulls == 0 else own[1])
        plain = chunk.codec == _UNCOMPRESSED or (newer and own.get(7) is False)
        if nulls > own[1] or (kind == _DICTIONARY and at != chunk.start) or (plain and size != packed):
            raise _NotKnownError
        yield _Page(kind, at + length, packed, size, own[1], own[1] - nulls, own[4 if newer else 2])
        at += length + packed
    if at != end:
        raise _NotKnownError


def _longest_in(file: int, page: _Page, codec: str) -> int:
    """Bytes of the longest text of a dictionary."""
    if max(page.size, page.packed) > _MOST_DICTIONARY or page.encoding not in _OF_DICTIONARY:
        raise _NotKnownError
    data: Any = os.pread(file, page.packed, page.body)
    if codec != _UNCOMPRESSED:
        data = pa.Codec(_CODECS[codec]).decompress(data, decompressed_size=page.size)
    found = longest(np.frombuffer(data, np.uint8), page.values)
    if len(data) != page.size or found < 0:
        raise _NotKnownError
    return found


@unlocked
def longest(data: npt.NDArray[np.uint8], number: int) -> int:
    """Bytes of the longest of so many texts, each behind its length; below 0 if they are not just these bytes."""
    at, most = 0, 0
    for _ in range(number):
        if at + _LENGTH > len(data):
            return -1
        size = 0
        for place in range(at, at + _LENGTH):
            size |= int(data[place]) << 8 * (place - at)
        at += _LENGTH + size
        most = max(most, size)
    return most if at == len(data) else -1


def _struct(data: bytes, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The numbers, flags and structs of a struct in Thrift's compact protocol, by field, and where it ends.

    As strict as can be: readers differ in what they make of a field that comes twice, or with another type.
    """
    if depth > _MOST_DEPTH:
        raise _NotKnownError
    found: dict[int, Any] = {}
    field = 0
    while head := data[at]:
        at += 1
        step, kind = head >> 4, head & 15
        field += step
        if not step or field >= _MOST_FIELDS:  # a field by number, which no writer needs here
            raise _NotKnownError
        if kind in {_TRUE, _FALSE}:
            found[field] = kind == _TRUE
        elif kind == _INT_32:
            number, at = _varint(data, at)
            if number & 1 or number >= 2 * _MOST:  # below 0, or more than 32 bits
                raise _NotKnownError
            found[field] = number >> 1
        elif kind == _BYTES:
            size, at = _varint(data, at)
            at += size
        elif kind == _STRUCT:
            found[field], at = _struct(data, at, depth + 1)
        else:
            at = _skipped(data, at, kind)
    return found, at + 1


def _skipped(data: bytes, at: int, kind: int) -> int:
    """Where a number of 16 or 64 bits ends: statistics have some, and none is needed here."""
    if kind not in {4, 6}:
        raise _NotKnownError
    return _varint(data, at)[1]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number of seven bits a byte, the lowest first, and where it ends."""
    made, shift = 0, 0
    while True:
        made |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return made, at
        if shift > 63:
            raise _NotKnownError
