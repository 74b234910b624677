"""Clicks of UBI with their searches, in memory, where everybody is called as their client: the usual case.

What comes out is what the SQL of `ubi.py` gives then: the latest search of the same query_id and client that is not
after the click; of several at one time the first in the file. The tests compare both.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.reading.formats.ubi_loops import find_searches
from queryveil.reading.model import COLUMNS
from queryveil.reading.plain_rows import Mask, Numbers
from queryveil.reading.text_hashes import Hasher
from queryveil.reading.text_places import Placed, bytes_of, in_one

_ODD = np.uint64(0x9E3779B97F4A7C15)
_OF_SEARCH = ("time", "query", "session", "empty")
"""What a click takes from its search."""


@dataclass(frozen=True)
class Joined:
    rows: pa.Table
    """Searches and clicks, in the shape in which SQL gives judged rows."""
    searches: int
    clicks: int
    orphans: int


def joined(documents: pa.Table) -> Joined | None:
    """The rows of good documents, in their order; None where clicks have to be looked for in other ways too."""
    alike = pc.equal(documents.column("user"), documents.column("client"))
    if pc.any(documents.column("nobody")).as_py() or not pc.all(pc.fill_null(alike, False)).as_py():
        return None
    clicks: Mask = np.asarray(pc.equal(documents.column("kind"), "click"))
    table = documents.select(["file", "line", "lines", "empty", *COLUMNS])
    both = clicks.any() and not clicks.all()
    where = _searches(documents, clicks) if both else np.full(len(clicks), -1)
    found = where >= 0
    if found.any():
        taken = np.where(found, where, np.arange(len(clicks)))
        for name in _OF_SEARCH:
            column = in_one(table.column(name))
            text = column.type == pa.string()
            mixed = Placed.of(column).at(taken).kept() if text else pa.array(np.asarray(column)[taken])
            table = table.set_column(table.schema.get_field_index(name), name, mixed)
    nothing = pa.nulls(len(table), pa.string())
    table = table.append_column("reason", nothing).append_column("text", nothing)
    many = int(clicks.sum())
    return Joined(table, len(clicks) - many, many, int((clicks & ~found).sum()))


def _searches(documents: pa.Table, clicks: Mask) -> Numbers:
    """For each click the row of its search; -1 where there is none, and for searches."""
    ids, people = (in_one(documents.column(name)) for name in ("query_id", "client"))
    # Under a key of its own each time: nobody can write a file in which all ids are looked for at one place.
    hasher = Hasher(os.urandom(16))
    hashes = hasher.of(*bytes_of(ids)) * _ODD + hasher.of(*bytes_of(people))
    rows = len(clicks)
    where, following = np.full(rows, -1, np.int64), np.full(rows, -1, np.int64)
    table = np.full(1 << (2 * rows).bit_length(), -1, np.int64)
    times = np.asarray(in_one(documents.column("time")).cast(pa.int64()))
    found = find_searches(
        *(*bytes_of(ids), *bytes_of(people), hashes, Placed.of(ids).there),
        *(clicks, times, table, following, where),
    )
    return where if found else _searches_in_order(documents, clicks)


def _searches_in_order(documents: pa.Table, clicks: Mask) -> Numbers:
    """The same by sorting, where single ids have very many searches."""
    ids, people = _codes(documents.column("query_id")), _codes(documents.column("client"))
    codes = np.where(ids >= 0, ids * (people.max() + 1) + people, -1)
    times = np.asarray(in_one(documents.column("time")).cast(pa.int64()))
    rows = np.arange(len(clicks))
    # Searches of one time stand before clicks of that time, the first in the file last.
    order = np.lexsort((np.where(clicks, 0, -rows), clicks, times, codes))
    there = np.where(~clicks[order], rows, -1)
    last = np.maximum.accumulate(there)
    search = order[np.maximum(last, 0)]
    good = clicks[order] & (last >= 0) & (codes[search] == codes[order]) & (codes[order] >= 0)
    where: Numbers = np.full(len(clicks), -1, np.int64)
    where[order[good]] = search[good]
    return where


def _codes(texts: Any) -> Numbers:
    """A number for each different text; -1 for null."""
    found = in_one(texts).dictionary_encode()
    numbers: Numbers = np.asarray(pc.fill_null(found.indices, -1)).astype(np.int64)
    return numbers
