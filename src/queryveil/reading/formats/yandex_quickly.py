"""Sessions in the style of Yandex, followed by a compiled loop, chunk by chunk: where the lines of each stand together.

What comes out is what the SQL of `yandex.py` gives, which joins all lines of a log; the tests compare both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from queryveil.compiled import shares, side_by_side
from queryveil.reading import plain_rows
from queryveil.reading.formats.yandex_loops import (
    CLICK,
    FIELDS,
    NEITHER,
    QUERY,
    SESSION,
    follow_sessions,
    read_numbers,
)
from queryveil.reading.plain_rows import Numbers
from queryveil.reading.staging import CHUNK_ROWS
from queryveil.reading.text_loops import cut_lines
from queryveil.reading.text_places import Placed, bytes_of, in_one

RAW = ("who", "day", "passed", "words", "clicked", "place", "session")
"""Columns of rows that are judged with care: texts as they stand in the lines."""
_LONGEST_DAY, _LONGEST_TIME = 5, 9
_DAY = 86_400
_LONGEST_SESSION = 4 * CHUNK_ROWS
_COMMA, _SPACE = 44, 32


def sessions(chunks: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same lines, cut before lines M, so that no session is in two parts; very long ones are too much for us."""
    held: pa.Table | None = None
    for chunk in chunks:
        table = chunk if held is None else pa.concat_tables([held, chunk]).combine_chunks()
        cut = _last_session(table) if table.num_rows <= _LONGEST_SESSION else table.num_rows
        if cut:
            yield table.slice(0, cut)
        held = table.slice(cut)
    if held is not None and held.num_rows:
        yield held


def _last_session(table: pa.Table) -> int:
    """Where the last line M is; 0 if there is none. Looked for from the end, as it is one of the last lines."""
    data, offsets = bytes_of(in_one(table.column("text")))
    for row in range(table.num_rows - 1, 0, -1):
        fields = data[offsets[row] : offsets[row + 1]].tobytes().split(b"\t", 4)
        if len(fields) == 4 and fields[1] == b"M":
            return row
    return 0


def _cut(data: Any, offsets: Any) -> tuple[Numbers, Any, Any]:
    rows = len(offsets) - 1
    many, starts = np.zeros(rows, np.int64), np.zeros((FIELDS, rows), np.int64)
    lengths = np.zeros((FIELDS, rows), np.int32)
    parts = [
        (data, offsets[a : b + 1], ord("\t"), many[a:b], starts[:, a:b], lengths[:, a:b])
        for a, b in shares(rows)
    ]
    side_by_side(cut_lines, parts)
    return many, starts, lengths


class Followed:
    """The lines of whole sessions."""

    def __init__(self, chunk: pa.Table) -> None:
        self._chunk = chunk
        self._data, offsets = bytes_of(in_one(chunk.column("text")))
        rows = chunk.num_rows
        many, self._starts, self._lengths = _cut(self._data, offsets)
        self._kinds, self._places = np.zeros(rows, np.uint8), np.zeros(rows, np.int32)
        self._whose, self._pages = np.full(rows, -1, np.int64), np.full(rows, -1, np.int64)
        self.together: bool = rows <= _LONGEST_SESSION and follow_sessions(
            *(self._data, offsets, plain_rows.whole(chunk), many, self._starts, self._lengths),
            *(self._kinds, self._whose, self._pages, self._places),
        )
        """Whether the lines of each session follow each other, so that something is known of them."""

    @property
    def about_sessions(self) -> int:
        return int((self._kinds == SESSION).sum())

    def rows(self, first_day: int, carefully: Callable[[pa.Table], pa.Table]) -> pa.Table:
        """Queries and clicks, judged and in their order; `first_day` is the day 0, in days since 1970."""
        kinds, pages = self._kinds, self._pages
        found = np.flatnonzero((kinds == QUERY) | ((kinds == CLICK) & (pages >= 0)))
        day = self._number(2, self._whose[found], _LONGEST_DAY)
        passed = self._number(1, pages[found], _LONGEST_TIME)
        unsure = (kinds == NEITHER) | ((kinds == CLICK) & (pages < 0))
        known = (day >= 0) & (passed >= 0)
        unsure[found[~known]] = True
        found, day, passed = found[known], day[known], passed[known]
        micros = ((first_day + day) * _DAY + passed) * 1_000_000
        places = self._places[found]
        columns = {
            "user": self._field(3, self._whose[found]),
            "time": pa.array(micros.view("datetime64[us]"), pa.timestamp("us")),
            "query": _words(self._field(5, pages[found])),
            "url": self._clicked(found),
            "rank": pa.array(places, pa.int32(), mask=places == 0),
            "session": self._field(0, found),
        }
        numbered = self._chunk.append_column("row", pa.array(np.arange(len(kinds))))

        def with_care(rest: pa.Table) -> pa.Table:
            return carefully(self._raw(rest))

        return plain_rows.some_quickly(numbered, found, columns, unsure, with_care)

    def _raw(self, rest: pa.Table) -> pa.Table:
        """What the lines hold, as texts, and what is wrong with them for sure."""
        rows = rest.column("row").to_numpy()
        kinds, places = self._kinds[rows], self._places[rows]
        pages = np.where(self._pages[rows] >= 0, self._pages[rows], np.where(kinds == NEITHER, -1, rows))
        problems = [
            given or ("blank line" if text == "" else "wrong number of fields" if kind == NEITHER else None)
            for given, text, kind in zip(
                rest.column("problem").to_pylist(), rest.column("text").to_pylist(), kinds, strict=True
            )
        ]
        lost = (kinds == CLICK) & (self._pages[rows] < 0)
        problems = ["no result page" if one else problem for one, problem in zip(lost, problems, strict=True)]
        columns = {
            "who": self._field(3, self._whose[rows]).kept(),
            "day": self._field(2, self._whose[rows]).kept(),
            "passed": self._field(1, pages).kept(),
            "words": self._field(5, np.where(lost, -1, pages)).kept(),
            "clicked": self._clicked(rows).kept(),
            "place": pa.array(places, pa.int32(), mask=places == 0),
            "session": self._field(0, rows).kept(),
        }
        return pa.table(
            {
                **{name: rest.column(name) for name in ("file", "line", "lines", "text")},
                "problem": pa.array(problems, pa.string()),
                **columns,
            }
        )

    def _field(self, number: int, rows: Numbers) -> Placed:
        """A field of these lines, from 0; nothing for a line -1."""
        there = rows >= 0
        at = np.where(there, rows, 0)
        lengths = np.where(there, self._lengths[number][at], 0).astype(np.int32)
        return Placed(self._data, self._starts[number][at], lengths, there)

    def _clicked(self, rows: Numbers) -> Placed:
        return self._field(4, np.where(self._kinds[rows] == CLICK, rows, -1))

    def _number(self, field: int, rows: Numbers, longest: int) -> Numbers:
        one, values = self._field(field, rows), np.zeros(len(rows), np.int64)
        parts = [
            (self._data, one.starts[a:b], one.lengths[a:b], longest, values[a:b])
            for a, b in shares(len(rows))
        ]
        side_by_side(read_numbers, parts)
        return values


def _words(placed: Placed) -> Any:
    """Terms with blanks between them instead of commas. A comma is one byte, which no other letter has in it."""
    texts = placed.kept()
    known, offsets, data = texts.buffers()
    letters = np.frombuffer(data, np.uint8).copy() if data is not None else np.zeros(0, np.uint8)
    letters[letters == _COMMA] = _SPACE
    return pa.Array.from_buffers(pa.string(), len(texts), [known, offsets, pa.py_buffer(letters)])
