"""Tab-separated text, without any quoting: a quote is a character like others."""

from __future__ import annotations

from queryveil.reading.delimited import (
    delimiter_by_options,
    extract_fields,
    has_same_first_lines,
    resolve_layout,
)
from queryveil.reading.model import Extraction, Format, ReadOptions, Source


def _extract(source: Source, options: ReadOptions) -> Extraction:
    delimiter = options.delimiter or "\t"
    layout = resolve_layout(source, options, delimiter, lambda line: line.split(delimiter))
    return extract_fields(layout, options)


FORMAT = Format(
    name="tsv",
    help="tab-separated text, one row per line, no quoting",
    suffixes=(".tsv", ".tab"),
    options=("delimiter", "patterns", "null", "where"),
    recognize=lambda head: "\t" in head.first_line,
    recognize_options=lambda *given: delimiter_by_options(*given) == "\t",
    precedence=3,
    extract=_extract,
    can_split=has_same_first_lines,
)
