"""Plain lines of slow logs, taken apart and judged by compiled loops: most lines of most logs in the plain format.

What is plain here must come out as `slow_log.py` would have it, line by line; everything else is left to that. The
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
from queryveil.reading.formats.slow_loops import (
    FETCH,
    QUERY,
    SEARCH,
    TIME,
    UNSURE,
    USER,
    WORDLESS,
    find_words,
    take_lines_apart,
)
from queryveil.reading.json_values import unescaped
from queryveil.reading.text_places import Placed, bytes_of, in_one


class QuickSlowLog:
    """Takes plain lines out of chunks; `clauses` are those that hold what somebody typed."""

    def __init__(self, clauses: Sequence[str], fetch: str, wordless: str) -> None:
        names = [name.encode() for name in clauses]
        self._clauses = np.frombuffer(b"".join(names), np.uint8)
        self._ends = np.cumsum([len(name) for name in names]).astype(np.int64)
        self._passed = {fetch: FETCH, wordless: WORDLESS}

    def rows(
        self, chunk: pa.Table, carefully: Callable[[pa.Table], pa.Table]
    ) -> tuple[pa.Table, Counter[str]]:
        """Searches of a chunk, judged and in their order, and how many lines are none, by what they are."""
        data, offsets = bytes_of(in_one(chunk.column("text")))
        rows = chunk.num_rows
        sure, kinds = plain_rows.whole(chunk), np.full(rows, UNSURE, np.uint8)
        starts, lengths = np.zeros((4, rows), np.int64), np.zeros((4, rows), np.int32)
        parts = shares(rows)
        places = [(kinds[a:b], starts[:, a:b], lengths[:, a:b]) for a, b in parts]
        side_by_side(
            take_lines_apart,
            [
                (data, offsets[a : b + 1], sure[a:b], *here)
                for (a, b), here in zip(parts, places, strict=True)
            ],
        )
        side_by_side(find_words, [(data, self._clauses, self._ends, *here) for here in places])
        searches = np.flatnonzero(kinds == SEARCH)
        there = np.ones(len(searches), np.bool_)

        def part(which: int, data: Any = data) -> Placed:
            return Placed(data, starts[which][searches], lengths[which][searches], there.copy())

        clocks = part(TIME).kept()
        # Where a query has backslashes, what they stand for is put behind all lines.
        asked = starts[QUERY][None, searches], lengths[QUERY][None, searches]
        longer = unescaped(data, *asked, there)
        columns = {
            "user": part(USER),
            "time": pc.replace_substring(clocks, ",", "."),
            "query": Placed(longer, asked[0][0], asked[1][0], there.copy()),
        }
        passed = Counter({what: int((kinds == kind).sum()) for what, kind in self._passed.items()})
        return plain_rows.some_quickly(chunk, searches, columns, kinds == UNSURE, carefully), passed
