"""The AOL log of 2006: tab-separated, a header in each file, one row per click or per query without one."""

from __future__ import annotations

from dataclasses import replace

from queryveil.reading.delimited import Layout, extract_fields, has_same_first_lines, resolve_layout
from queryveil.reading.model import Extraction, Format, ReadOptions, Source

_HEADER = ("anonid", "query", "querytime", "itemrank", "clickurl")
_COLUMNS = {"user": 1, "query": 2, "time": 3, "rank": 4, "url": 5}


def _is_header(line: str) -> bool:
    return tuple(field.strip().lower() for field in line.split("\t")) == _HEADER


def _extract(source: Source, options: ReadOptions) -> Extraction:
    first = source.head.first_line
    if options.columns is not None:
        layout = resolve_layout(source, options, "\t", lambda line: line.split("\t"))
    else:
        names = first.split("\t") if _is_header(first) else ()
        layout = Layout("\t", first if names else None, _COLUMNS, None, names=names)
    # Rows without a click end after the time in some copies, with two empty fields in others.
    layout = replace(layout, widths=(3, 5))
    query = f"f[{layout.columns['query']}]"
    # AOL wrote a dash where it had withheld the query.
    return extract_fields(layout, options, {"query": f"CASE WHEN {query} = '-' THEN '' ELSE {query} END"})


FORMAT = Format(
    name="aol",
    help="the AOL log: AnonID, Query, QueryTime, ItemRank, ClickURL between tabs",
    recognize=lambda head: _is_header(head.first_line),
    extract=_extract,
    can_split=has_same_first_lines,
)
