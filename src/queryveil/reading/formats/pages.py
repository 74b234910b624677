"""How long texts in a Parquet file can be, by what stands before its pages and by its dictionaries.

Nobody has to read the texts for it. A text stands in one page, or in the dictionary of its column, which is a page of
its own at the beginning. A page of texts has four bytes for the length of each: so none is longer than what is left of
the page without these. What is not known here is not judged: then somebody reads all texts.
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
_HEADER = 1024
_MOST_DICTIONARY, _MOST_PAGES = 2**26, 10_000
_PAGE, _DICTIONARY, _PAGE_2 = 0, 2, 3
_PLAIN, _BY_NUMBER, _OF_DICTIONARY = 0, {2, 8}, {0, 2}
_CODECS = {name.upper(): name for name in ("snappy", "gzip", "zstd", "brotli", "lz4_raw")} | {
    "UNCOMPRESSED": None
}
_MOST_DEPTH = 4
_LENGTH = 4
"""Bytes that say how long a text is."""


@dataclass(frozen=True)
class Chunk:
    """A column of texts in one part of a file."""

    file: Path
    start: int
    size: int
    codec: str
    nulls: int | None
    """How many there are, if the file says so."""


class _NotKnownError(Exception):
    """Something that is not judged here."""


def all_short(chunks: Sequence[Chunk]) -> bool:
    """Whether it is certain that no text is longer than a row may have, and that none is long and repeated."""
    try:
        return all(side_by_side(_short, [(chunks[share :: threads()],) for share in range(threads())]))
    except (_NotKnownError, OSError, ValueError, LookupError, TypeError, pa.ArrowException):
        return False


def _short(chunks: Sequence[Chunk]) -> bool:
    for chunk in chunks:
        with chunk.file.open("rb") as file:
            if not all(_short_page(file.fileno(), page, chunk) for page in _pages(file.fileno(), chunk)):
                return False
    return True


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
    """Values that are not null, as many as there are for certain."""
    encoding: int


def _short_page(file: int, page: _Page, chunk: Chunk) -> bool:
    if page.kind == _DICTIONARY:
        return _longest_in(file, page, chunk.codec) <= LONGEST_REPEATED
    if page.encoding in _BY_NUMBER:
        return True  # its texts stand in the dictionary
    if page.encoding != _PLAIN:
        raise _NotKnownError
    return page.size - _LENGTH * page.texts <= LONGEST_TEXT


def _pages(file: int, chunk: Chunk) -> Iterator[_Page]:
    at, end = chunk.start, chunk.start + chunk.size
    for _ in range(_MOST_PAGES):
        if at >= end:
            break
        fields, length = _struct(os.pread(file, _HEADER, at), 0)
        kind, size, packed = fields[1], fields[2], fields[3]
        own = fields[{_PAGE: 5, _DICTIONARY: 7, _PAGE_2: 8}[kind]]
        if min(size, packed, own[1]) < 0 or (kind == _DICTIONARY and at != chunk.start):
            raise _NotKnownError
        newer = kind == _PAGE_2  # it says itself how many are null
        texts = own[1] - own[2] if newer else (own[1] if chunk.nulls == 0 else 0)
        yield _Page(kind, at + length, packed, size, own[1], texts, own[4 if newer else 2])
        at += length + packed
    if at != end:
        raise _NotKnownError


def _longest_in(file: int, page: _Page, codec: str) -> int:
    """Bytes of the longest text of a dictionary."""
    if max(page.size, page.packed) > _MOST_DICTIONARY or page.encoding not in _OF_DICTIONARY:
        raise _NotKnownError
    data: Any = os.pread(file, page.packed, page.body)
    if (name := _CODECS[codec]) is not None:
        data = pa.Codec(name).decompress(data, decompressed_size=page.size)
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
    """The numbers and structs of a struct in Thrift's compact protocol, by field, and where it ends."""
    if depth > _MOST_DEPTH:
        raise _NotKnownError
    found: dict[int, Any] = {}
    field = 0
    while kind := data[at]:
        at += 1
        if step := kind >> 4:
            field += step
        else:
            field, at = _number(data, at)
        kind &= 15
        value: Any = None
        if kind in {1, 2}:  # true and false
            value = kind == 1
        elif kind in {4, 5, 6}:  # whole numbers of 16, 32 and 64 bits
            value, at = _number(data, at)
        elif kind == 8:  # bytes, behind their length
            size, at = _varint(data, at)
            at += size
        elif kind == 12:
            value, at = _struct(data, at, depth + 1)
        else:
            raise _NotKnownError
        found[field] = value
    return found, at + 1


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number of seven bits a byte, the lowest first, and where it ends."""
    made, shift = 0, 0
    while True:
        made |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128 or shift > 63:
            return made, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """The same of a number that may be below 0: signs stand in the lowest bit."""
    made, at = _varint(data, at)
    return (made >> 1) ^ -(made & 1), at
