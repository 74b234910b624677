"""Queries as secrets: labels, sealed texts and shares of a whole log, in as little memory as they need.

There is a share for every user and query. As Python texts they would take several times the memory of the log, so
they are made for some rows at a time and kept as bytes; the engine sees their numbers only. Digits are written last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.mechanisms.ad_hoc.secret_sharing import NUMBER_BYTES, QuerySharing
from queryveil.reading.engine import Engine

if TYPE_CHECKING:
    import ibis.expr.types as ir

_AT_ONCE = 5_000
"""Users and queries that are Python texts at the same time."""
_CHUNK_ROWS = 1_000_000
"""Rows of digits put together at once: a chunk of text must stay below two gigabytes."""
_DIGITS = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), dtype=np.uint16)
_KNOWN = pa.schema(
    [("user", pa.string()), ("query", pa.string()), ("label", pa.string()), ("share", pa.int64())]
)
_SEALED = pa.schema([("label", pa.string()), ("sealed", pa.string())])


@dataclass(frozen=True)
class Shares:
    """The shares of all users and queries, by number: a row of bytes each for the point and for the value there."""

    points: NDArray[np.uint8]
    values: NDArray[np.uint8]

    def columns(self, numbers: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
        """What is published of the shares with these numbers."""
        places = numbers.to_numpy()
        return {"share_x": _digits(self.points, places), "share_y": _digits(self.values, places)}


def share_queries(engine: Engine, rows: ir.Table, sharing: QuerySharing) -> tuple[ir.Table, pa.Table, Shares]:
    """Put a label and the number of the user's share beside the query; also sealed queries by label, and shares."""
    known, sealed = [], []
    points, values = bytearray(), bytearray()
    last = None
    # In the order of queries, so that each is sealed once and its polynomial is made once.
    for part in _parts(engine.batches(rows.select("query", "user").distinct().order_by("query"))):
        first, labels, fresh = len(points) // NUMBER_BYTES, [], []
        for query, found in groupby(
            zip(*(part[name].to_pylist() for name in ("query", "user")), strict=True), itemgetter(0)
        ):
            users = [user for _, user in found]
            labels += [sharing.label(query)] * len(users)
            if query != last:
                fresh.append((labels[-1], sharing.seal(query)))
                last = query
            for x, y in sharing.shares(users, query):
                points += x.to_bytes(NUMBER_BYTES)
                values += y.to_bytes(NUMBER_BYTES)
        texts = [part["user"], part["query"], pa.array(labels, pa.string())]
        numbers = pa.array(np.arange(first, first + len(labels)))
        known.append(pa.table([*texts, numbers], names=_KNOWN.names).cast(_KNOWN))
        columns = ([one[at] for one in fresh] for at in range(2))
        sealed.append(pa.table([pa.array(texts, pa.string()) for texts in columns], schema=_SEALED))
    registered = engine.register(pa.concat_tables([_KNOWN.empty_table(), *known]))
    hidden = pa.concat_tables([_SEALED.empty_table(), *sealed]).sort_by("label")
    return rows.join(registered, ["user", "query"]), hidden, Shares(_rows(points), _rows(values))


def _parts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, _AT_ONCE):
            yield batch.slice(start, _AT_ONCE)


def _rows(numbers: bytearray) -> NDArray[np.uint8]:
    return np.frombuffer(numbers, dtype=np.uint8).reshape(-1, NUMBER_BYTES)


def _digits(numbers: NDArray[np.uint8], places: NDArray[np.int64]) -> pa.ChunkedArray:
    """Rows of bytes at these places as texts of hexadecimal digits."""
    chunks = [
        _texts(_DIGITS[numbers[places[start : start + _CHUNK_ROWS]]])
        for start in range(0, len(places), _CHUNK_ROWS)
    ]
    return pa.chunked_array(chunks, pa.string())


def _texts(digits: NDArray[np.uint16]) -> pa.StringArray:
    """Texts of the same length from pairs of digits."""
    ends = np.arange(len(digits) + 1, dtype=np.int32) * (2 * NUMBER_BYTES)
    return pa.StringArray.from_buffers(len(digits), pa.py_buffer(ends), pa.py_buffer(digits))
