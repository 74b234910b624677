"""The logs of Sogou: a row per click, between tabs; in 2008 in GB18030, with brackets and two numbers in one field."""

from __future__ import annotations

import re
from dataclasses import replace

from queryveil.errors import argument
from queryveil.reading.delimited import Layout, extract_fields
from queryveil.reading.encodings import mostly_utf8
from queryveil.reading.model import Extraction, Format, Head, ReadOptions, Source, most_are
from queryveil.reading.times import literal

_OLD = re.compile(rb"\d\d:\d\d:\d\d\t[0-9a-z]+\t\[[^\n]{0,2000}\]\t\d+ \d+\t")
_NEW = re.compile(rb"20\d{12}\t[0-9a-f]{16,64}\t[^\t\n]{0,2000}\t\d+\t\d+\t")
_FIRST_LINES = 100
_BRACKETS = r"^\[(.*)\]$"
_TWO = r"^(\d+) \d+$"
_CLOCK = r"^\d\d:\d\d:\d\d$"
_RUN_TOGETHER = r"^20\d{12}$"
_DAY = re.compile(r"(20\d\d)(\d\d)(\d\d)")
_NO_DAY = "1970-01-01"
_DATELESS = (
    f"times have no date, and not every file has a date in its name: such rows get the date {_NO_DAY}; "
    "rename the files to contain their date, such as 20080601"
)


def _is_sogou(head: Head) -> bool:
    # In bytes: the older log is in GB18030.
    lines = [line for line in head.data.split(b"\n")[:_FIRST_LINES] if line.strip()]
    return most_are(bool(_OLD.match(line) or _NEW.match(line)) for line in lines)


def _extract(source: Source, options: ReadOptions) -> Extraction:
    days = [_file_date(file.label) for file in source.files]
    day = "[" + ", ".join(literal(one or _NO_DAY) for one in days) + "][file + 1]"
    values = {
        "query": f"CASE WHEN regexp_matches(f[3], {literal(_BRACKETS)}) "
        f"THEN regexp_extract(f[3], {literal(_BRACKETS)}, 1) ELSE f[3] END",
        "rank": f"CASE WHEN len(f) = 5 AND regexp_matches(f[4], '{_TWO}') THEN regexp_extract(f[4], '{_TWO}', 1) "
        "ELSE f[4] END",
        "url": "f[len(f)]",
    }
    if options.time_format is None:
        values["time"] = (
            f"CASE WHEN regexp_matches(f[1], '{_CLOCK}') THEN {day} || ' ' || f[1] "
            f"WHEN regexp_matches(f[1], '{_RUN_TOGETHER}') THEN strftime(try_strptime(f[1], '%Y%m%d%H%M%S'), "
            "'%Y-%m-%d %H:%M:%S') END"
        )
    columns = {"user": 2, "time": 1, "query": 3, "rank": 4, "url": 5}
    layout = Layout("\t", None, columns, None, widths=(5, 6))
    dateless = not _NEW.match(source.head.data.lstrip()) and None in days and options.time_format is None
    return replace(
        extract_fields(layout, options, values),
        mapping={},
        encoding=None if options.encoding or mostly_utf8(source.head.data) else "gb18030",
        notes=(_DATELESS,) if dateless else (),
        dateless=dateless,
    )


def _file_date(label: str) -> str | None:
    """Return the date in the name of a file, such as access_log.20080601.decode.filter."""
    found = _DAY.search(label)
    return "-".join(found.groups()) if found else None


FORMAT = Format(
    name="sogou",
    help="the logs of Sogou, of 2008 and 2012",
    recognize=_is_sogou,
    columns={
        "user": "column 2",
        "time": "column 1",
        "query": "column 3 without brackets",
        "rank": "first number of column 4",
        "url": "the last column",
    },
    columns_hint=f"leave out {argument('columns')}, or say {argument('format', 'tsv')}",
    extract=_extract,
)
