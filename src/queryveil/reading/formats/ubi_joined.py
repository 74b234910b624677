"""Clicks of UBI with their searches, in memory, where everybody is called as their client: the usual case.

What comes out is what the SQL of `ubi.py` gives then: the latest search of the same query_id and client that is not
after the click; of several at one time the first in the file. The tests compare both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.reading.model import COLUMNS
from queryveil.reading.plain_rows import Mask, Numbers

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
    clicks: Mask = np.asarray(pc.equal(documents.column("kind"), "click").combine_chunks())
    table = documents.select(["file", "line", "lines", "empty", *COLUMNS])
    where = _searches(documents, clicks) if clicks.any() else np.full(len(clicks), -1)
    found = where >= 0
    if found.any():
        taken = pa.array(np.where(found, where, np.arange(len(clicks))))
        for name in _OF_SEARCH:
            table = table.set_column(
                table.schema.get_field_index(name), name, table.column(name).combine_chunks().take(taken)
            )
    nothing = pa.nulls(len(table), pa.string())
    table = table.append_column("reason", nothing).append_column("text", nothing)
    many = int(clicks.sum())
    return Joined(table, len(clicks) - many, many, int((clicks & ~found).sum()))


def _searches(documents: pa.Table, clicks: Mask) -> Numbers:
    """For each click the row of its search; -1 where there is none, and for searches."""
    ids, people = _codes(documents.column("query_id")), _codes(documents.column("client"))
    codes = np.where(ids >= 0, ids * (people.max() + 1) + people, -1)
    times = np.asarray(documents.column("time").combine_chunks().cast(pa.int64()))
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
    found = texts.combine_chunks().dictionary_encode()
    numbers: Numbers = np.asarray(pc.fill_null(found.indices, -1)).astype(np.int64)
    return numbers
