"""Comma-separated text with double quotes; a row is a line, so that an open quote ends with its line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.reading.columns import as_number, find, is_header
from queryveil.reading.delimited import (
    Split,
    delimiter_by_options,
    detect_delimiter,
    extract_fields,
    has_same_first_lines,
    resolve_layout,
)
from queryveil.reading.lines import LONGEST_LINE
from queryveil.reading.model import Extraction, Format, Head, ReadOptions, Source

_DELIMITERS = (",", ";", "|")
_UNBALANCED = "unbalanced quote"
_FIELDS = pa.list_(pa.string())


def _extract(source: Source, options: ReadOptions) -> Extraction:
    delimiter = options.delimiter or _detect_delimiter(source, options)
    layout = resolve_layout(source, options, delimiter, _line_splitter(delimiter))
    return extract_fields(layout, options, add_fields=lambda chunk: _parse_quoted_lines(chunk, delimiter))


def _detect_delimiter(source: Source, options: ReadOptions) -> str:
    """Return the delimiter that makes the first line a header, or splits the first lines alike; else a comma."""
    header = source.head.first_line
    names = [str(at) for at in (options.columns or {}).values() if at and as_number(at) is None]
    if options.columns and not names:
        label = repr(source.files[0].label)
        return detect_delimiter(source.head.lines, options, label, "".join(_DELIMITERS)) or ","
    if names:
        # If a name is nowhere, the delimiter that finds the others gives the better message.
        return max(
            _DELIMITERS,
            key=lambda one: sum(find(name, _line_splitter(one)(header)) is not None for name in names),
        )
    return next((one for one in _DELIMITERS if is_header(_line_splitter(one)(header))), ",")


def _line_splitter(delimiter: str) -> Split:
    def split(line: str) -> list[str]:
        with _long_fields():
            return _parse_line(line, delimiter) or line.split(delimiter)

    return split


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let the csv module accept the longest line; its limit is global, so it is restored."""
    before = csv.field_size_limit(LONGEST_LINE + 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _parse_line(line: str, delimiter: str) -> list[str] | None:
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), None)
    except csv.Error:
        return None


def _parse_quoted_lines(chunk: pa.Table, delimiter: str) -> pa.Table:
    """Add the fields of lines with a quote. SQL splits the others at the delimiter, which is faster."""
    texts, problems = chunk.column("text"), chunk.column("problem")
    quoted = pc.and_(pc.match_substring(texts, '"'), pc.is_null(problems))
    with _long_fields():
        parsed = pa.array(_parse_all(texts.filter(quoted).to_pylist(), delimiter), _FIELDS)
    # Each quoted line takes the next of the parsed ones, the others take none.
    at = pc.subtract(pc.cumulative_sum(pc.cast(quoted, pa.int64())), 1)
    fields = parsed.take(pc.if_else(quoted, at, pa.scalar(None, pa.int64())))
    unbalanced = pc.and_(quoted, pc.is_null(fields))
    problems = pc.if_else(unbalanced, _UNBALANCED, problems)
    at = chunk.schema.get_field_index("problem")
    return chunk.set_column(at, "problem", problems).append_column("fields", fields)


def _parse_all(lines: list[str], delimiter: str) -> list[list[str] | None]:
    """Each line by itself. Together is faster, and the same if no record took more than one line."""
    try:
        together: list[list[str] | None] = list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        together = []
    if len(together) == len(lines):
        return together
    return [_parse_line(line, delimiter) for line in lines]


def _is_csv(head: Head) -> bool:
    line = head.first_line
    return head.suffix == ".csv" or ("\t" not in line and "," in line)


FORMAT = Format(
    name="csv",
    help="comma-separated text with double quotes, one row per line",
    suffixes=(".csv",),
    options=("delimiter", "patterns", "null", "where"),
    recognize=_is_csv,
    recognize_options=lambda *given: delimiter_by_options(*given) not in (None, "\t"),
    precedence=2,
    extract=_extract,
    can_split=has_same_first_lines,
)
