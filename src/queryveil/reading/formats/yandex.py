"""Logs in the style of Yandex: lines of a session tell who it is, what was asked, and what was clicked.

    SessionID  M  Day  UserID
    SessionID  Time  Q  SERPID  QueryID  Term,Term,...  URL,Domain  URL,Domain ...
    SessionID  Time  C  SERPID  URL

Only M lines name a user, so a record is a session: an M line, and all lines below it up to the next one. A line with
another session id than its M line has no user. Each record is read without any other, so adding or removing a user
changes no row of another, even if both have the same session ids.

A click takes time and query from its result page, so that both are one query event. Words are numbers, as published.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import UsageError
from queryveil.reading.lines import read_lines
from queryveil.reading.model import COLUMNS, Head, Progress, ReadOptions, Source, Staged
from queryveil.reading.staging import CHUNK_ROWS, Stager, chunks, connect
from queryveil.reading.validation import judge_sql

_LINE = re.compile(
    r"\A\d++\t(?:M\t\d++\t\d++|\d++\t(?:C\t\d++\t\d++|[QT]\t\d++\t\d++\t[\d,]*+(?:\t\d++,\d++)*+))\s{0,9}\Z"
)
_BEGINS = r"\A[^\t]*\tM(?:\t|\z)"
_LOOKED_AT = 100
_FIRST_DAY = "2000-01-01"
_NOTE = (
    f"times are days and seconds since an unknown day, which is called {_FIRST_DAY} here; words are numbers"
)
_HINT = "put the lines of each session below its M line, for example with sort -s -n -k1,1"
_MAPPING = {
    "user": "user of the M line above",
    "time": "day of the session and time passed of the query",
    "query": "terms of the query (Q or T)",
    "url": "URL of clicks (C)",
    "rank": "place of the URL on the result page",
    "session": "session",
}


class Yandex:
    name: ClassVar[str] = "yandex"
    help: ClassVar[str] = "session logs in the style of Yandex: lines M, Q, T and C"
    suffixes: ClassVar[tuple[str, ...]] = ()

    def matches(self, head: Head) -> bool:
        lines = head.lines[:_LOOKED_AT]
        fitting = sum(_LINE.match(line) is not None for line in lines)
        return 2 * fitting > len(lines) and any("\tM\t" in line for line in lines)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        if options.columns is not None or options.time_format is not None:
            raise UsageError(
                f"{source.files[0].label!r} is a session log, whose columns are known",
                "leave out --columns and --time-format, or say --format tsv",
            )
        with connect(into, options) as connection:
            staged, metadata = _stage_joined(connection, source, into, progress)
        return replace(
            staged,
            mapping=_MAPPING,
            notes=(_NOTE,),
            ways_out={"no user": _HINT},
            passed_over={"lines about sessions": metadata} if metadata else {},
        )


def _stage_joined(
    connection: Any, source: Source, into: Path, progress: Progress | None
) -> tuple[Staged, int]:
    """Return the rows, and how many lines only say whose a session is."""
    with Stager(into, list(COLUMNS), source) as stager:
        metadata = _load(connection, chunks(read_lines(source, None, progress)))
        connection.execute(_SESSIONS)
        connection.execute(_PAGES)
        for batch in connection.execute(_SQL).to_arrow_reader(CHUNK_ROWS):
            stager.add(pa.Table.from_batches([batch]))
        return stager.finish(Yandex.name), metadata


def _load(connection: Any, parts: Iterator[pa.Table]) -> int:
    """Load all lines as fields, with the number of the M line above each; return how many M lines there are."""
    connection.execute(
        "CREATE TABLE lines (seq BIGINT, of BIGINT, file INTEGER, line BIGINT, lines BIGINT, text VARCHAR, "
        "problem VARCHAR, f VARCHAR[], kind VARCHAR)"
    )
    seen, above = 0, -1
    for part in parts:
        seq = np.arange(seen, seen + part.num_rows)
        # An M line that is rejected begins a record too: the lines below it are not of the user above it.
        begins = np.asarray(pc.match_substring_regex(part["text"], _BEGINS).fill_null(False))
        of = np.maximum.accumulate(np.where(begins, seq, above))
        seen += part.num_rows
        above = int(of[-1]) if len(of) else above
        numbered = part.append_column("seq", pa.array(seq)).append_column("of", pa.array(of))
        connection.register("chunk", numbered)
        connection.execute(
            "INSERT INTO lines SELECT seq, of, file, line, lines, text, problem, f, "
            "CASE WHEN problem IS NOT NULL THEN NULL WHEN f[2] = 'M' AND len(f) = 4 THEN 'M' WHEN f[2] = 'M' THEN NULL "
            "WHEN f[3] IN ('Q', 'T') AND len(f) >= 6 THEN 'Q' WHEN f[3] = 'C' AND len(f) = 5 THEN 'C' END "
            "FROM (SELECT *, string_split(text, chr(9)) AS f FROM chunk)"
        )
        connection.unregister("chunk")
    (metadata,) = connection.execute("SELECT count(*) FROM lines WHERE kind = 'M'").fetchone()
    return int(metadata)


# Of result pages with one number in a record, the first counts.
_SESSIONS = (
    "CREATE TEMP TABLE whose AS SELECT l.* REPLACE (m.seq AS of), m.f[4] AS who, m.f[3] AS day FROM lines l "
    "LEFT JOIN (SELECT seq, f FROM lines WHERE kind = 'M') m ON l.of = m.seq AND l.f[1] = m.f[1] "
    "WHERE l.kind IS DISTINCT FROM 'M'"
)
_PAGES = (
    "CREATE TEMP TABLE pages AS SELECT of, f[4] AS page, min(seq) AS seq, arg_min(f, seq) AS f "
    "FROM whose WHERE kind = 'Q' AND of IS NOT NULL GROUP BY ALL"
)
_JOINED = (
    "(SELECT l.seq, l.file, l.line, l.lines, l.text, coalesce(l.problem, CASE WHEN l.text = '' THEN 'blank line' "
    "WHEN l.kind IS NULL THEN 'wrong number of fields' WHEN l.of IS NULL THEN 'no user' "
    "WHEN l.kind = 'C' AND coalesce(q.seq > l.seq, true) THEN 'no result page' END) AS problem, l.who, "
    "try_cast(l.day AS INTEGER) AS day, try_cast(coalesce(q.f[2], l.f[2]) AS INTEGER) AS passed, "
    "replace(coalesce(q.f[6], l.f[6]), ',', ' ') AS words, CASE WHEN l.kind = 'C' THEN l.f[5] END AS clicked, "
    "CASE WHEN l.kind = 'C' THEN list_position(list_transform(q.f[7:], lambda x: split_part(x, ',', 1)), l.f[5]) END "
    "AS place, l.f[1] AS session FROM whose l LEFT JOIN pages q "
    "ON CASE WHEN l.kind = 'C' THEN l.of END = q.of AND l.f[4] = q.page ORDER BY l.seq)"
)
_RAW = {
    "user": "who",
    "time": f"strftime(TIMESTAMP '{_FIRST_DAY}' + to_days(day) + to_seconds(passed), '%Y-%m-%d %H:%M:%S')",
    "query": "words",
    "url": "clicked",
    "rank": "CAST(place AS VARCHAR)",
    "session": "session",
}
_SQL = judge_sql(_JOINED, _RAW)
