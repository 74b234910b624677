"""Queries as secrets: labels, sealed texts and shares of a whole log, in as little memory as they need.

There is a share for every user and query. As Python texts they would take several times the memory of the log, so
they are made for some rows at a time and kept as bytes; the engine sees numbers only. Digits are written last.
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

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.engine import Engine

_AT_ONCE = 5_000
"""Users and queries that are Python texts at the same time."""
_CHUNK_ROWS = 1_000_000
"""Rows of digits in one chunk: a chunk of text must stay below two gigabytes."""
_SEALED_ROWS = 50_000
_LABEL_BYTES = 16
_DIGITS = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), dtype=np.uint16)
_TEXTS = pa.schema([("user", pa.string()), ("query", pa.string())])

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Shares:
    """Labels and shares by number: a row of bytes each for labels, the point of a share and its value there."""

    labels: Bytes
    """In their own order, so that a label's number stands for it in any order too."""
    points: Bytes
    values: Bytes

    def columns(self, labels: pa.ChunkedArray, shares: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
        """What is published of the labels and shares with these numbers."""
        places = shares.to_numpy()
        return {
            "share_x": _hex_digits(self.points, places),
            "share_y": _hex_digits(self.values, places),
            "label": _hex_digits(self.labels, labels.to_numpy()),
        }


@dataclass(frozen=True)
class Shared:
    """What the engine is told of each user and query, sealed queries by label, and what the numbers stand for."""

    known: pa.Table
    sealed: pa.Table
    shares: Shares


def share_queries(engine: Engine, rows: ir.Table, sharing: QuerySharing) -> Shared:
    """A label for each query, and a share for each user of it."""
    texts, queries, sealed = [], [], []
    labels, points, values = bytearray(), bytearray(), bytearray()
    number, last = -1, None
    # In the order of queries, so that each is sealed once and its polynomial is made once.
    for part in _split_batches(engine.batches(rows.select("query", "user").distinct().order_by("query"))):
        of, fresh = [], []
        for query, group in groupby(
            zip(*(part[name].to_pylist() for name in ("query", "user")), strict=True), itemgetter(0)
        ):
            if query != last:
                number, last = number + 1, query
                labels += bytes.fromhex(sharing.label(query))
                fresh.append(bytes.fromhex(sharing.seal(query)))
            users = [user for _, user in group]
            of += [number] * len(users)
            for x, y in sharing.shares(users, query):
                points += x.to_bytes(NUMBER_BYTES)
                values += y.to_bytes(NUMBER_BYTES)
        texts.append(pa.table([part["user"], part["query"]], _TEXTS.names).cast(_TEXTS))
        queries.append(np.array(of, dtype=np.int64))
        sealed.append(pa.array(fresh, pa.binary()))
    order = _label_order(_byte_rows(labels, _LABEL_BYTES))
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    found = [pa.array(ranks[part]) for part in queries]
    known = pa.concat_tables([_TEXTS.empty_table(), *texts])
    known = known.append_column("label", pa.chunked_array(found, pa.int64()))
    known = known.append_column("share", pa.array(np.arange(known.num_rows)))
    in_order = _byte_rows(labels, _LABEL_BYTES)[order]
    shares = Shares(in_order, _byte_rows(points, NUMBER_BYTES), _byte_rows(values, NUMBER_BYTES))
    return Shared(known, _seal_queries(sealed, order, in_order), shares)


def _split_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, _AT_ONCE):
            yield batch.slice(start, _AT_ONCE)


def _byte_rows(content: bytearray, width: int) -> Bytes:
    return np.frombuffer(content, dtype=np.uint8).reshape(-1, width)


def _label_order(labels: Bytes) -> Numbers:
    """Labels in the order of their digits, which is that of their bytes."""
    halves = labels.view(">u8")
    return np.lexsort((halves[:, 1], halves[:, 0]))


def _seal_queries(parts: list[pa.Array], order: Numbers, labels: Bytes) -> pa.Table:
    """Labels in order, each with its query sealed."""
    whole = pa.concat_arrays(
        [pa.array([], pa.large_binary()), *(one.cast(pa.large_binary()) for one in parts)]
    )
    texts = []
    for start in range(0, len(order), _SEALED_ROWS):
        some = whole.take(pa.array(order[start : start + _SEALED_ROWS]))
        ends = np.frombuffer(some.buffers()[1], dtype=np.int64)[: len(some) + 1]
        content = np.frombuffer(some.buffers()[2], dtype=np.uint8)[: ends[-1]]
        texts.append(_hex_texts(content, ends))
    of = _hex_digits(labels, np.arange(len(labels)))
    return pa.table({"label": of, "sealed": pa.chunked_array(texts, pa.string())})


# -- digits --------------------------------------------------------------------------------------------------


def _hex_digits(numbers: Bytes, places: Numbers) -> pa.ChunkedArray:
    """Rows of bytes at these places as texts of hexadecimal digits."""
    chunks = []
    for start in range(0, len(places), _CHUNK_ROWS):
        some = numbers[places[start : start + _CHUNK_ROWS]]
        chunks.append(_hex_texts(some, np.arange(len(some) + 1) * some.shape[1]))
    return pa.chunked_array(chunks, pa.string())


def _hex_texts(content: Bytes, ends: Numbers) -> pa.StringArray:
    """The digits of bytes, as texts that end where these ends say of the bytes."""
    offsets = (2 * ends).astype(np.int32)
    return pa.StringArray.from_buffers(len(ends) - 1, pa.py_buffer(offsets), pa.py_buffer(_DIGITS[content]))
