"""Values at certain places of many lines of JSON, by a compiled loop: several times as fast as by SQL.

Only plain lines are read: whole objects with few escapes, in which no key that is asked for stands twice. Of others
nothing is said, so they must go another way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from queryveil.compiled import shares, side_by_side
from queryveil.reading.json_loops import (
    ABSENT,
    NUMBER,
    TEXT,
    Bytes,
    Flags,
    Kinds,
    Numbers,
    Whole,
    find_values,
    measure_unescaped,
    write_unescaped,
)
from queryveil.reading.text_places import Placed, bytes_of, in_one

Places = Mapping[str, Sequence[Sequence[str]]]
"""Column -> the paths of keys where its value may be, first choice first."""
_FIRST, _LENGTH = 37, 13


@dataclass(frozen=True)
class Found:
    """Where values are in the texts of lines; of lines that are not sure nothing is known."""

    sure: Flags
    _data: Bytes
    _columns: Mapping[str, int]
    _starts: Whole
    _lengths: Numbers
    _kinds: Kinds

    def kind(self, column: str) -> Kinds:
        """What each line has for a column: ABSENT, NOTHING, TEXT, NUMBER, OBJECT or OTHER."""
        found: Kinds = self._kinds[self._columns[column]]
        return found

    def placed(self, column: str) -> Placed:
        """Return the strings and whole numbers of a column by their places, absent where a line has none."""
        kinds = self.kind(column)
        there = self.sure & ((kinds == TEXT) | (kinds == NUMBER))
        at = self._columns[column]
        return Placed(self._data, self._starts[at], np.where(there, self._lengths[at], 0), there)


class Wanted:
    """The places at which values are looked for."""

    def __init__(self, places: Places) -> None:
        self.columns = {name: number for number, name in enumerate(places)}
        edges: list[list[int]] = []
        nodes: dict[tuple[str, ...], int] = {(): 0}
        keys = bytearray()
        for name, paths in places.items():
            for order, path in enumerate(paths):
                for deep in range(1, len(path) + 1):
                    way = tuple(path[:deep])
                    if way not in nodes:
                        key = way[-1].encode()
                        parent = nodes[way[:-1]]
                        if parent:
                            edges[parent - 1][5] = 1
                        edges.append([parent, len(keys), len(key), -1, 0, 0])
                        keys += key
                        nodes[way] = len(edges)
                edge = edges[nodes[tuple(path)] - 1]
                if edge[3] >= 0 and edge[3] != self.columns[name]:
                    raise ValueError("two columns look at one place")
                if edge[3] < 0:
                    edge[3], edge[4] = self.columns[name], order
        self._edges = np.array(edges, np.int64)
        self._keys = np.frombuffer(bytes(keys) or b"\0", np.uint8)
        self._table = _table(edges, bytes(keys))

    def find(self, texts: Any, sure: Flags) -> Found:
        """Look through the lines of an array of texts, those that are `sure` to be text."""
        data, offsets = bytes_of(in_one(texts))
        rows = len(texts)
        shape = len(self.columns), rows
        starts, lengths = np.zeros(shape, np.int64), np.zeros(shape, np.int32)
        kinds, known = np.full(shape, ABSENT, np.uint8), sure.copy()
        parts = [
            (
                *(data, offsets[a : b + 1], known[a:b], self._table, self._edges, self._keys),
                *(starts[:, a:b], lengths[:, a:b], kinds[:, a:b]),
            )
            for a, b in shares(rows)
        ]
        side_by_side(find_values, parts)
        data = unescaped(data, starts, lengths, known)
        return Found(known, data, self.columns, starts, lengths, kinds)


def unescaped(data: Bytes, starts: Whole, lengths: Numbers, known: Flags) -> Bytes:
    """The same bytes, and behind them texts without their backslashes, to which their places lead then."""
    if not lengths.size or lengths.min() >= 0:
        return data
    which = np.nonzero((lengths < 0) & known)
    if not len(which[0]):
        return data
    begins, sizes = starts[which], np.zeros(len(which[0]), np.int64)
    many = -lengths[which]
    measure_unescaped(data, begins, many, sizes)
    places = len(data) + np.cumsum(sizes) - sizes
    longer = np.empty(len(data) + int(sizes.sum()), np.uint8)
    longer[: len(data)] = data
    write_unescaped(data, begins, many, places, longer)
    starts[which], lengths[which] = places, sizes
    return longer


def _table(edges: Sequence[Sequence[int]], keys: bytes) -> Whole:
    """Where the loop looks for the edge of a key: the same sum, then slot after slot until one is empty."""
    size = 1 << (4 * len(edges)).bit_length()
    table = np.full(size, -1, np.int64)
    for number, (parent, start, length, *_) in enumerate(edges):
        slot = parent
        if length:
            slot += (keys[start] * _FIRST + keys[start + length - 1]) * _LENGTH + length
        slot &= size - 1
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = number
    return table
