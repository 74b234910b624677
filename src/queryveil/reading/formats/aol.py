"""The AOL log of 2006: tab-separated, a header in each file, one row per click or per query without one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from queryveil.reading.formats.delimited import Layout, extract_fields, lay_out
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged
from queryveil.reading.staging import stage_lines

_HEADER = ("anonid", "query", "querytime", "itemrank", "clickurl")
_COLUMNS = {"user": 1, "query": 2, "time": 3, "rank": 4, "url": 5}


class Aol:
    name: ClassVar[str] = "aol"
    help: ClassVar[str] = "the AOL log: AnonID, Query, QueryTime, ItemRank, ClickURL between tabs"
    suffixes: ClassVar[tuple[str, ...]] = ()

    def matches(self, head: Head) -> bool:
        return _is_header(head.first_line)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        first = source.head.first_line
        if options.columns is not None:
            layout = lay_out(source, options, "\t", lambda line: line.split("\t"))
        else:
            named = first.split("\t") if _is_header(first) else ()
            layout = Layout("\t", first if named else None, _COLUMNS, None, names=named)
        # Rows without a click end after the time in some copies, with two empty fields in others.
        layout = replace(layout, widths=(3, 5))
        query = f"f[{layout.columns['query']}]"
        # AOL wrote a dash where it had withheld the query.
        values = {"query": f"CASE WHEN {query} = '-' THEN '' ELSE {query} END"}
        return stage_lines(
            source, extract_fields(layout, options, values), options, into, progress, self.name
        )


def _is_header(line: str) -> bool:
    return tuple(field.strip().lower() for field in line.split("\t")) == _HEADER
