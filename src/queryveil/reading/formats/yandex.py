"""Logs in the style of Yandex: lines of a session name its user, queries, and clicks.

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
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import UsageError, argument
from queryveil.reading.model import COLUMNS, Extraction, Format, Head, ReadOptions, Source, most_are
from queryveil.reading.validation import BLANK_LINE, NO_USER, WRONG_FIELDS, validate_sql

_LINE = re.compile(
    r"\A\d++\t(?:M\t\d++\t\d++|\d++\t(?:C\t\d++\t\d++|[QT]\t\d++\t\d++\t[\d,]*+(?:\t\d++,\d++)*+))\s{0,9}\Z"
)
_BEGINS = r"\A[^\t]*\tM(?:\t|\z)"
_NO_PAGE = "no result page"
_FIRST_DAY = "2000-01-01"
_NOTE = (
    f"times are days and seconds since an unknown day, which is called {_FIRST_DAY} here; words are numbers"
)
_HINT = "put the lines of each session below its M line, for example with sort -s -n -k1,1"


def _is_yandex(head: Head) -> bool:
    lines = head.first_lines
    return most_are(_LINE.match(line) is not None for line in lines) and any(
        "\tM\t" in line for line in lines
    )


def _extract(source: Source, options: ReadOptions) -> Extraction:
    if options.time_format is not None:
        raise UsageError(
            f"{source.files[0].label!r} is a session log, whose times are known",
            f"leave out {argument('time_format')}",
        )
    return Extraction(
        columns=COLUMNS, sql=_LINES, transform=_number_records(), combine=(_SESSIONS, _PAGES, _ROWS)
    )


def _number_records() -> Callable[[pa.Table], pa.Table]:
    """Return a function that adds the number of each line, and the number of the M line above it, to chunks."""
    seen, above = 0, -1

    def add_numbers(chunk: pa.Table) -> pa.Table:
        nonlocal seen, above
        seq = np.arange(seen, seen + chunk.num_rows)
        # A rejected M line begins a record too: the lines below it do not belong to the user above it.
        begins = np.asarray(pc.match_substring_regex(chunk["text"], _BEGINS).fill_null(False))
        record = np.maximum.accumulate(np.where(begins, seq, above))
        seen += chunk.num_rows
        above = int(record[-1]) if len(record) else above
        return chunk.append_column("seq", pa.array(seq)).append_column("record", pa.array(record))

    return add_numbers


_LINES = (
    "SELECT seq, record, file, line, lines, text, problem, CAST(NULL AS VARCHAR) AS reason, f, "
    "CASE WHEN problem IS NOT NULL THEN NULL WHEN f[2] = 'M' AND len(f) = 4 THEN 'M' WHEN f[2] = 'M' THEN NULL "
    "WHEN f[3] IN ('Q', 'T') AND len(f) >= 6 THEN 'Q' WHEN f[3] = 'C' AND len(f) = 5 THEN 'C' END AS kind "
    "FROM (SELECT *, string_split(text, chr(9)) AS f FROM chunk)"
)
"""SQL for the fields of each line; lines are validated when their records are complete."""
# Of result pages with one number in a record, the first counts.
_SESSIONS = (
    "CREATE TEMP TABLE owned AS SELECT l.* REPLACE (m.seq AS record), m.f[4] AS owner, m.f[3] AS day FROM parsed l "
    "LEFT JOIN (SELECT seq, f FROM parsed WHERE kind = 'M') m ON l.record = m.seq AND l.f[1] = m.f[1]"
)
_PAGES = (
    "CREATE TEMP TABLE pages AS SELECT record, f[4] AS page, min(seq) AS seq, arg_min(f, seq) AS f "
    "FROM owned WHERE kind = 'Q' AND record IS NOT NULL GROUP BY ALL"
)
_JOINED = (
    "(SELECT l.seq, l.file, l.line, l.lines, l.text, "  # noqa: S608 (only our own expressions)
    "CASE WHEN l.kind = 'M' THEN 'lines about sessions' END AS skipped, "
    f"coalesce(l.problem, CASE WHEN l.text = '' THEN '{BLANK_LINE}' WHEN l.kind IS NULL THEN '{WRONG_FIELDS}' "
    f"WHEN l.record IS NULL THEN '{NO_USER}' "
    f"WHEN l.kind = 'C' AND coalesce(q.seq > l.seq, true) THEN '{_NO_PAGE}' END) AS problem, l.owner, "
    "try_cast(l.day AS INTEGER) AS day, try_cast(coalesce(q.f[2], l.f[2]) AS INTEGER) AS passed, "
    "replace(coalesce(q.f[6], l.f[6]), ',', ' ') AS words, CASE WHEN l.kind = 'C' THEN l.f[5] END AS clicked, "
    "CASE WHEN l.kind = 'C' THEN list_position(list_transform(q.f[7:], lambda x: split_part(x, ',', 1)), l.f[5]) END "
    "AS place, l.f[1] AS session FROM owned l LEFT JOIN pages q "
    "ON CASE WHEN l.kind = 'C' THEN l.record END = q.record AND l.f[4] = q.page ORDER BY l.seq)"
)
_VALUES = {
    "user": "owner",
    "time": f"strftime(TIMESTAMP '{_FIRST_DAY}' + to_days(day) + to_seconds(passed), '%Y-%m-%d %H:%M:%S')",
    "query": "words",
    "url": "clicked",
    "rank": "CAST(place AS VARCHAR)",
    "session": "session",
}
_ROWS = validate_sql(_JOINED, _VALUES, also=("skipped",))

FORMAT = Format(
    name="yandex",
    help="session logs in the style of Yandex: lines M, Q, T and C",
    recognize=_is_yandex,
    columns={
        "user": "user of the M line above",
        "time": "day of the session and time passed of the query",
        "query": "terms of the query (Q or T)",
        "url": "URL of clicks (C)",
        "rank": "place of the URL on the result page",
        "session": "session",
    },
    columns_hint=f"leave out {argument('columns')}, or say {argument('format', 'tsv')}",
    extract=_extract,
    hints={NO_USER: _HINT, _NO_PAGE: "check that no line is missing"},
    notes=(_NOTE,),
)
