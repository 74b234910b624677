"""Plain lines of access logs, taken apart by a compiled loop and judged by Arrow: most lines of most logs.

What is plain here must come out as the SQL of `access_log.py` would have it; everything else is left to that. The
tests compare both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.compiled import shares, side_by_side
from queryveil.reading import plain_rows
from queryveil.reading.formats.access_loops import (
    AGENT,
    FAILED,
    IP,
    NAME,
    OTHER,
    QUERY,
    SEARCH,
    UNSURE,
    take_apart,
    write_decoded,
)
from queryveil.reading.text_places import bytes_of, in_one, texts_at

_NOBODY = pa.array(["-"], pa.string())


class QuickRequests:
    """Takes plain requests out of chunks; users are `ip-and-agent`, `ip` or `remote-user`."""

    def __init__(self, user: str, parameters: Sequence[str]) -> None:
        self._user = user
        names = [name.encode() for name in parameters]
        self._names = np.frombuffer(b"".join(names) or b"\0", np.uint8)
        self._ends = np.cumsum([len(name) for name in names]).astype(np.int64)

    def rows(
        self, chunk: pa.Table, carefully: Callable[[pa.Table], pa.Table]
    ) -> tuple[pa.Table, Counter[str]]:
        """Searches of a chunk, judged and in their order, and how many other requests there are of each kind."""
        data, offsets = bytes_of(in_one(chunk.column("text")))
        rows = chunk.num_rows
        sure, kinds = plain_rows.whole(chunk), np.full(rows, UNSURE, np.uint8)
        micros, decoded = np.zeros(rows, np.int64), np.zeros(rows, np.int32)
        starts, lengths = np.zeros((4, rows), np.int64), np.zeros((4, rows), np.int32)
        parts = [
            (
                *(data, offsets[a : b + 1], sure[a:b], self._names, self._ends, kinds[a:b]),
                *(micros[a:b], starts[:, a:b], lengths[:, a:b], decoded[a:b]),
            )
            for a, b in shares(rows)
        ]
        side_by_side(take_apart, parts)
        passed = Counter(other=int((kinds == OTHER).sum()), failed=int((kinds == FAILED).sum()))
        searches = np.flatnonzero(kinds == SEARCH)
        there = np.ones(len(searches), np.bool_)

        def part(which: int) -> Any:
            return texts_at(data, starts[which][searches], lengths[which][searches], there)

        columns = {
            "user": self._someone(part),
            "time": pa.array(micros[searches].view("datetime64[us]"), pa.timestamp("us")),
            "query": decoded_texts(data, starts[QUERY][searches], decoded[searches]),
        }
        return plain_rows.some_quickly(chunk, searches, columns, kinds == UNSURE, carefully), passed

    def _someone(self, part: Callable[[int], Any]) -> Any:
        if self._user == "remote-user":
            name = part(NAME)
            return pc.if_else(pc.is_in(name, _NOBODY), pa.scalar(None, pa.string()), name)
        if self._user == "ip":
            return part(IP)
        address, agent = part(IP), part(AGENT)
        none = pc.or_(pc.is_in(agent, _NOBODY), pc.equal(agent, ""))
        both = pc.binary_join_element_wise(address, agent, " ")
        return pc.if_else(none, address, both) if pc.any(none).as_py() else both


def decoded_texts(data: Any, starts: Any, lengths: Any) -> Any:
    """Values of a parameter, decoded; the lengths are those that they have then."""
    offsets = np.zeros(len(starts) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    into = np.empty(int(offsets[-1]), np.uint8)
    parts = [(data, starts[a:b], offsets[a : b + 1], into) for a, b in shares(len(starts))]
    side_by_side(write_decoded, parts)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(into)]
    return pa.Array.from_buffers(pa.string(), len(starts), buffers)
