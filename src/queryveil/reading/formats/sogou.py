"""The logs of Sogou: a row per click, between tabs; in 2008 in GB18030, with brackets and two numbers in one field."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from queryveil.errors import UsageError
from queryveil.reading.formats.delimited import Layout, extract_fields
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged
from queryveil.reading.staging import stage_lines
from queryveil.reading.times import literal

_OLD = re.compile(rb"\d\d:\d\d:\d\d\t[0-9a-z]+\t\[[^\n]{0,2000}\]\t\d+ \d+\t")
_NEW = re.compile(rb"20\d{12}\t[0-9a-f]{16,64}\t[^\t\n]{0,2000}\t\d+\t\d+\t")
_LOOKED_AT = 100
_BRACKETS = r"^\[(.*)\]$"
_TWO = r"^(\d+) \d+$"
_CLOCK = r"^\d\d:\d\d:\d\d$"
_RUN_TOGETHER = r"^20\d{12}$"
_DAY = re.compile(r"(20\d\d)(\d\d)(\d\d)")
_NO_DAY = "1970-01-01"


class Sogou:
    name: ClassVar[str] = "sogou"
    help: ClassVar[str] = "the logs of Sogou, of 2008 and 2012"
    suffixes: ClassVar[tuple[str, ...]] = ()

    def matches(self, head: Head) -> bool:
        lines = [line for line in head.data.split(b"\n")[:_LOOKED_AT] if line.strip()]
        return 2 * sum(bool(_OLD.match(line) or _NEW.match(line)) for line in lines) > len(lines)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        label = source.files[0].label
        if options.columns is not None:
            raise UsageError(
                f"{label!r} is a log of Sogou, whose columns are known",
                "leave out --columns, or say --format tsv",
            )
        if options.encoding is None and not _is_utf8(source.head.data):
            # Its publisher wrote it so, and what is no UTF-8 here is nothing else.
            files = tuple(replace(file, encoding="gb18030") for file in source.files)
            source = replace(source, files=files)
        days = [_day(file.label) for file in source.files]
        day = "[" + ", ".join(literal(one or _NO_DAY) for one in days) + "][file + 1]"
        raw = {
            "query": f"CASE WHEN regexp_matches(f[3], {literal(_BRACKETS)}) "
            f"THEN regexp_extract(f[3], {literal(_BRACKETS)}, 1) ELSE f[3] END",
            "rank": f"CASE WHEN len(f) = 5 AND regexp_matches(f[4], '{_TWO}') THEN regexp_extract(f[4], '{_TWO}', 1) "
            "ELSE f[4] END",
            "url": "f[len(f)]",
        }
        if options.time_format is None:
            raw["time"] = (
                f"CASE WHEN regexp_matches(f[1], '{_CLOCK}') THEN {day} || ' ' || f[1] "
                f"WHEN regexp_matches(f[1], '{_RUN_TOGETHER}') THEN strftime(try_strptime(f[1], '%Y%m%d%H%M%S'), "
                "'%Y-%m-%d %H:%M:%S') END"
            )
        layout = Layout(
            "\t", None, {"user": 2, "time": 1, "query": 3, "rank": 4, "url": 5}, None, widths=(5, 6)
        )
        staged = stage_lines(source, extract_fields(layout, options, raw), options, into, progress, self.name)
        mapping = {"user": "column 2", "time": "column 1", "query": "column 3 without brackets"}
        mapping |= {"rank": "first number of column 4", "url": "the last column"}
        timeless = not _NEW.match(source.head.data.lstrip()) and None in days and options.time_format is None
        note = (
            f"times have no date, and not every file has a date in its name: such rows get the date {_NO_DAY}; "
            "rename the files to contain their date, such as 20080601"
        )
        return replace(staged, mapping=mapping, notes=(note,) if timeless else (), dateless=timeless)


def _is_utf8(data: bytes) -> bool:
    """By most of the lines that tell: a single row has no say in how all others are read."""
    # The end may be in the middle of a letter.
    lines = [line for line in data[: data.rfind(b"\n") + 1].split(b"\n") if not line.isascii()]
    return 2 * sum(map(_decodes, lines)) >= len(lines)


def _decodes(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _day(label: str) -> str | None:
    """The date in a file's name, such as access_log.20080601.decode.filter."""
    found = _DAY.search(label)
    return "-".join(found.groups()) if found else None
