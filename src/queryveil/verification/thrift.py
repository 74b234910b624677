"""Structures of Thrift's compact protocol, which Parquet describes itself in, read field by field.

Arrow's own reader skips what it does not know. Here every byte must be part of a field, so that nothing can stand
between the fields.
"""

from __future__ import annotations

from typing import Any

_TRUE = 1
_DEEPEST = 32

Struct = dict[int, Any]
"""Fields by their number; under the same number below 0 the type that each was written as."""


def struct(content: bytes | memoryview, at: int = 0) -> tuple[Struct, int]:
    """The structure that begins at a place, and where it ends. ValueError or IndexError if there is none."""
    return _parse_struct(content, at, 0)


def _parse_struct(content: bytes | memoryview, at: int, depth: int) -> tuple[Struct, int]:
    if depth > _DEEPEST:
        raise ValueError("structures are nested too deep")
    found: Struct = {}
    number = 0
    while True:
        head = content[at]
        at += 1
        if head == 0:
            return found, at
        if head >> 4:
            number += head >> 4
        else:
            number, at = _parse_integer(content, at)
        if number < 1 or number in found:
            raise ValueError("a field appears twice, or has no number")
        # Two types may hold one value; of lists, also the type of what is in them.
        found[-number] = (head & 15, content[at] & 15 if head & 15 in (9, 10) else 0)
        found[number], at = _parse_value(content, at, head & 15, depth, inside=False)


def _parse_value(
    content: bytes | memoryview, at: int, kind: int, depth: int, *, inside: bool
) -> tuple[Any, int]:
    """A value of a field; `inside` a list, where a truth value is a byte of its own.

    Types: true, false, a byte, three sizes of whole numbers, a double, bytes, list, set, map, structure.
    """
    found: tuple[Any, int]
    match kind:
        case 1 | 2:
            found = (content[at] == _TRUE, at + 1) if inside else (kind == _TRUE, at)
        case 3:
            found = content[at], at + 1
        case 4 | 5 | 6:
            found = _parse_integer(content, at)
        case 7:
            found = _take_bytes(content, at, 8)
        case 8:
            length, at = _parse_varint(content, at)
            found = _take_bytes(content, at, length)
        case 9 | 10:
            found = _parse_list(content, at, depth)
        case 12:
            found = _parse_struct(content, at, depth + 1)
        case _:  # maps among them
            raise ValueError("a field has a type that Parquet does not use")
    return found


def _parse_list(content: bytes | memoryview, at: int, depth: int) -> tuple[list[Any], int]:
    head = content[at]
    at += 1
    size = head >> 4
    if size == 15:
        size, at = _parse_varint(content, at)
    if size > len(content):
        raise ValueError("a list is longer than the file")
    found = []
    for _ in range(size):
        one, at = _parse_value(content, at, head & 15, depth, inside=True)
        found.append(one)
    return found, at


def _take_bytes(content: bytes | memoryview, at: int, length: int) -> tuple[bytes, int]:
    if at + length > len(content):
        raise ValueError("a text is longer than the file")
    return bytes(content[at : at + length]), at + length


def _parse_integer(content: bytes | memoryview, at: int) -> tuple[int, int]:
    coded, at = _parse_varint(content, at)
    return (coded >> 1) ^ -(coded & 1), at


def _parse_varint(content: bytes | memoryview, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = content[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            if byte == 0 and shift:
                raise ValueError("a number has more bytes than it needs")
            return found, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too large")
