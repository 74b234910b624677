"""Comma-separated text with double quotes; a row is a line, so that an open quote ends with its line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.reading.columns import as_number, find, is_header
from queryveil.reading.formats.delimited import Split, extract_fields, lay_out, separator
from queryveil.reading.lines import LONGEST_LINE
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged
from queryveil.reading.staging import stage_lines

_DELIMITERS = (",", ";", "|")
_UNBALANCED = "unbalanced quote"
_FIELDS = pa.list_(pa.string())


class Csv:
    name: ClassVar[str] = "csv"
    help: ClassVar[str] = "comma-separated text with double quotes, one row per line"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    takes: ClassVar[tuple[str, ...]] = ("null", "where")

    def matches(self, head: Head) -> bool:
        line = head.first_line
        if head.suffix in self.suffixes:
            return True
        return "\t" not in line and "," in line

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        delimiter = options.delimiter or _delimiter(source, options)
        layout = lay_out(source, options, delimiter, _splitter(delimiter))
        extraction = extract_fields(
            layout, options, add_fields=lambda rows: _parse_quoted_lines(rows, delimiter)
        )
        return stage_lines(source, extraction, options, into, progress, self.name)


def _delimiter(source: Source, options: ReadOptions) -> str:
    """The delimiter that makes a header of the first line, or cuts the first lines alike; a comma if none does."""
    header = source.head.first_line
    names = [str(at) for at in (options.columns or {}).values() if at and as_number(at) is None]
    if options.columns and not names:
        return separator(source.head.lines, options, repr(source.files[0].label), "".join(_DELIMITERS)) or ","
    if names:
        # If a name is nowhere, the delimiter that finds the others gives the better message.
        return max(
            _DELIMITERS, key=lambda one: sum(find(name, _splitter(one)(header)) is not None for name in names)
        )
    return next((one for one in _DELIMITERS if is_header(_splitter(one)(header))), ",")


def _splitter(delimiter: str) -> Split:
    def split(line: str) -> list[str]:
        with _long_fields():
            return _parse(line, delimiter) or line.split(delimiter)

    return split


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let the csv module accept any line that we accept; its limit is global, so it is put back."""
    before = csv.field_size_limit(LONGEST_LINE + 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _parse(line: str, delimiter: str) -> list[str] | None:
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
    return [_parse(line, delimiter) for line in lines]
