"""Plain requests of Solr, taken apart and judged by compiled loops: most lines of most logs.

What is plain here must come out as the SQL of `solr.py` would have it; everything else is left to that. The tests
compare both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.compiled import shares, side_by_side
from queryveil.reading import plain_rows
from queryveil.reading.formats.access_loops import measure_decoded
from queryveil.reading.formats.access_quickly import decoded_texts
from queryveil.reading.formats.solr_loops import (
    ALL,
    OTHER,
    QUERY,
    SEARCH,
    SHARD,
    TIME,
    UNSURE,
    USER,
    take_requests_apart,
)
from queryveil.reading.text_places import bytes_of, in_one, texts_at


class QuickSolr:
    """Takes plain requests out of chunks."""

    def __init__(self, user: str, parameters: Sequence[str]) -> None:
        names = [name.encode() for name in parameters]
        self._names = np.frombuffer(b"".join(names) or b"\0", np.uint8)
        self._ends = np.cumsum([len(name) for name in names]).astype(np.int64)
        self._user = np.frombuffer(user.encode(), np.uint8)

    def rows(
        self, chunk: pa.Table, carefully: Callable[[pa.Table], pa.Table]
    ) -> tuple[pa.Table, Counter[str]]:
        """Searches of a chunk, judged and in their order, and how many other lines there are of each kind."""
        data, offsets = bytes_of(in_one(chunk.column("text")))
        rows = chunk.num_rows
        sure, kinds = plain_rows.whole(chunk), np.full(rows, UNSURE, np.uint8)
        starts, lengths = np.zeros((3, rows), np.int64), np.zeros((3, rows), np.int32)
        parts = [
            (
                *(data, offsets[a : b + 1], sure[a:b], self._names, self._ends, self._user),
                *(kinds[a:b], starts[:, a:b], lengths[:, a:b]),
            )
            for a, b in shares(rows)
        ]
        side_by_side(take_requests_apart, parts)
        searches = np.flatnonzero(kinds == SEARCH)
        decoded = np.zeros((3, len(searches)), np.int32)
        for which in (USER, QUERY):
            measured = starts[which][searches], lengths[which][searches], decoded[which]
            side_by_side(
                measure_decoded, [(data, *(one[a:b] for one in measured)) for a, b in shares(len(searches))]
            )
        readable = (decoded >= 0).all(axis=0)
        kinds[searches[~readable]] = UNSURE
        searches, decoded = searches[readable], decoded[:, readable]
        clocks = texts_at(
            data, starts[TIME][searches], lengths[TIME][searches], np.ones(len(searches), np.bool_)
        )
        columns = {
            "user": decoded_texts(data, starts[USER][searches], decoded[USER]),
            "time": pc.replace_substring(clocks, ",", "."),
            "query": decoded_texts(data, starts[QUERY][searches], decoded[QUERY]),
        }
        passed = Counter(
            other=int((kinds == OTHER).sum()),
            shard=int((kinds == SHARD).sum()),
            all=int((kinds == ALL).sum()),
        )
        return plain_rows.some_quickly(chunk, searches, columns, kinds == UNSURE, carefully), passed
