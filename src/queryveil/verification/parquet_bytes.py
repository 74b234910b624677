"""A Parquet file byte by byte: that it holds its table and nothing besides.

Readers look only at what the footer points to. Rows could stand between pages and footer, behind the end of a
compressed page, or among the values of a dictionary that no row uses. So the table is written again, and the two files
are compared page by page: headers, what the pages hold once unpacked, and footers. Another release of Arrow or of its
compressor may pack the same page into other bytes, and an older release of Arrow may say less in a footer and in
headers; that, and no more, may differ.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import zstandard

from queryveil.catalog import Sentence
from queryveil.verification.thrift import Struct, struct

_MAGIC = b"PAR1"
_CREATED_BY = re.compile(rb"parquet-cpp-arrow version [0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(-SNAPSHOT)?")
_ZSTD = 6
_FREE_BITS = 0b11000
"""Of the fifth byte of a frame; the packer leaves them 0, and nobody reads them."""
_MOST_PAGE = 1 << 30

# Numbers of fields in Parquet's own description of itself.
_GROUPS, _MAKER = 4, 6
_COLUMNS, _GROUP_UNPACKED, _GROUP_AT, _GROUP_PACKED = 1, 2, 5, 6
_CHUNK = 3
_CODEC, _UNPACKED, _PACKED, _DATA_AT, _DICTIONARY_AT = 4, 6, 7, 9, 11
_PAGE_KIND, _PAGE_UNPACKED, _PAGE_PACKED = 1, 2, 3
_PAGE_VALUES = {5: 1, 7: 1, 8: 1}
"""Where a header of each kind of page, with data or a dictionary, states its number of values."""
_DICTIONARY_PAGE = 2


@dataclass(frozen=True)
class Page:
    """One page: what its header says, but for its packed size, and what it holds."""

    header: Struct
    content: bytes


@dataclass(frozen=True)
class Layout:
    """A file that was accounted for down to the last byte."""

    content: memoryview
    footer: Struct
    """Without whatever depends on how well pages were packed, which was checked against the pages."""
    maker: bytes
    chunks: tuple[tuple[int, int], ...]
    """Where the pages of each column of each group begin and end."""

    def pages(self) -> Iterator[Page]:
        for start, end in self.chunks:
            at = start
            while at < end:
                header, body = struct(self.content, at)
                at = body + header[_PAGE_PACKED]
                unpacked = _decompress_page(self.content[body:at], header[_PAGE_UNPACKED])
                yield Page(_without_fields(header, _PAGE_PACKED), unpacked)


def layout(content: memoryview) -> Layout:
    """Every byte of a file has a place in the format, or ValueError says what is wrong."""
    if len(content) < 12 or content[:4] != _MAGIC or content[-4:] != _MAGIC:
        raise ValueError("it does not begin and end as a Parquet file does")
    footer_at = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    if footer_at < 4:
        raise ValueError("its footer is longer than the file")
    footer, end = struct(content, footer_at)
    if end != len(content) - 8:
        raise ValueError("its footer holds more than the format accounts for")
    maker = footer.pop(_MAKER, b"")
    if not _CREATED_BY.fullmatch(maker):
        raise ValueError("it does not say which release of Arrow wrote it")
    at = 4
    chunks = []
    for group in footer.get(_GROUPS, []):
        start, packed, unpacked = at, 0, 0
        for column in group[_COLUMNS]:
            chunk = column[_CHUNK]
            at, sizes = _parse_pages(content, at, chunk)
            chunks.append((at - sizes[0], at))
            packed, unpacked = packed + sizes[0], unpacked + sizes[1]
        stated = [group.pop(name, None) for name in (_GROUP_PACKED, _GROUP_UNPACKED, _GROUP_AT)]
        if stated != [packed, unpacked, start]:
            raise ValueError("a row group does not have the stated size or place")
    if at != footer_at:
        raise ValueError("there are bytes between its pages and its footer")
    return Layout(content, footer, maker, tuple(chunks))


def count_values(content: memoryview) -> int:
    """Return the number of values that all page headers state; ValueError, IndexError, or KeyError if malformed."""
    footer, _ = struct(content, len(content) - 8 - int.from_bytes(content[-8:-4], "little"))
    values = 0
    for group in footer.get(_GROUPS, []):
        for column in group[_COLUMNS]:
            chunk = column[_CHUNK]
            at = min(chunk[_DATA_AT], chunk.get(_DICTIONARY_AT) or chunk[_DATA_AT])
            end = at + chunk[_PACKED]
            while at < end:
                header, body = struct(content, at)
                values += sum(header[kind][field] for kind, field in _PAGE_VALUES.items() if kind in header)
                at = body + max(0, header[_PAGE_PACKED])
    return values


def _parse_pages(content: memoryview, start: int, chunk: Struct) -> tuple[int, tuple[int, int]]:
    """Go through the pages of a column; where they end, and their size packed and unpacked."""
    packed = chunk.pop(_PACKED)
    data_at, dictionary_at = chunk.pop(_DATA_AT), chunk.pop(_DICTIONARY_AT, None)
    if chunk.get(_CODEC) != _ZSTD:
        raise ValueError("a column is not packed with Zstandard")
    at, first_data, unpacked = start, None, 0
    while at < start + packed:
        header, body = struct(content, at)
        if not 0 <= header[_PAGE_PACKED] <= len(content) or not 0 <= header[_PAGE_UNPACKED] <= _MOST_PAGE:
            raise ValueError("a page is larger than its file")
        if header[_PAGE_KIND] != _DICTIONARY_PAGE and first_data is None:
            first_data = at
        unpacked += body - at + header[_PAGE_UNPACKED]
        at = body + header[_PAGE_PACKED]
    if at != start + packed or chunk.pop(_UNPACKED) != unpacked:
        raise ValueError("a column does not have the stated size")
    if data_at != first_data or dictionary_at != (start if first_data != start else None):
        raise ValueError("the pages of a column are not where its footer says")
    return at, (packed, unpacked)


def _decompress_page(packed: memoryview, size: int) -> bytes:
    """What one frame of Zstandard holds; nothing may stand behind it, or in a frame that readers skip."""
    # Asked first, so that a small page cannot unpack into all memory.
    if packed[4] & _FREE_BITS or zstandard.get_frame_parameters(packed).content_size != size:
        raise ValueError("a page does not have the stated size")
    reader = zstandard.ZstdDecompressor().decompressobj()
    content = reader.decompress(packed)
    if not reader.eof or reader.unused_data or len(content) != size:
        raise ValueError("a page does not unpack to the stated size")
    return content


def differences(found: Layout, again: Layout) -> Iterator[str]:
    """How a file differs from what its own table gives when it is written again."""
    # Only another release of Arrow can say less.
    follows = operator.eq if found.maker == again.maker else _is_within
    if not follows(found.footer, again.footer):
        newer = (
            ""
            if found.maker == again.maker
            else Sentence(
                "verify.parquet-bytes.here-is",
                version=_writer_version(found.maker),
                version_2=_writer_version(again.maker),
            )
        )
        yield Sentence("verify.parquet-bytes.its-footer-says-something-does-not", newer=newer)
        return
    theirs, ours = found.pages(), again.pages()
    for one, other in zip(theirs, ours, strict=True):
        if not follows(one.header, other.header) or one.content != other.content:
            yield Sentence("verify.parquet-bytes.page-holds-something-is-not-in")
            return


def _writer_version(maker: bytes) -> str:
    return Sentence("verify.parquet-bytes.written-with-arrow", split=maker.decode().split()[-1])


def _without_fields(fields: Struct, *names: int) -> Struct:
    return {name: value for name, value in fields.items() if name not in names}


def _is_within(found: Any, again: Any) -> bool:
    """Whether everything that is said is said again; less may be said, as older releases of Arrow do."""
    if isinstance(found, dict) and isinstance(again, dict):
        return all(name in again and _is_within(value, again[name]) for name, value in found.items())
    if isinstance(found, list) and isinstance(again, list):
        return len(found) == len(again) and all(map(_is_within, found, again))
    return bool(type(found) is type(again) and found == again)
