"""Lines of fields between delimiters: what TSV, CSV, AOL, and Sogou have in common.

Delimiter, header, and columns are fixed before the first row is read. Then each line is parsed by itself.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from queryveil.errors import InputError, UsageError, argument
from queryveil.reading.columns import (
    COLUMNS_HINT,
    as_number,
    choose_columns,
    find,
    is_header,
    nearest_column,
    require_once,
    seen,
    usual,
)
from queryveil.reading.encoding_hints import hint_for_head
from queryveil.reading.model import Condition, Extraction, Head, ReadOptions, Source
from queryveil.reading.times import literal
from queryveil.reading.validation import BLANK_LINE, FILTERED_OUT, WRONG_FIELDS, validate_sql

Split = Callable[[str], list[str]]

# What separates columns in practice, likeliest first.
_DELIMITERS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
_FIRST_LINES = 100
_NEARLY_ALL = 0.9
NO_MATCH = "no match"
_NAME = re.compile(r"[A-Za-z_][\w .-]{0,29}")


@dataclass(frozen=True)
class Layout:
    """How every line of every file is read."""

    delimiter: str
    header: str | None
    """The header line as it stands; a file may start with it."""
    columns: Mapping[str, int]
    """Standard column -> field number from 1."""
    width: int | None
    """Fields that the header names, if there is one."""
    widths: tuple[int, ...] = ()
    """Numbers of fields that are allowed, if the format fixes them."""
    patterns: Mapping[str, str] = field(default_factory=dict)
    """Standard column -> the regular expression that finds its value in the field."""

    conditions: Sequence[tuple[int, Condition]] = ()
    """Field number from 1, and what must hold of it."""

    names: Sequence[str] = ()
    """The names in the header."""

    times: Sequence[str] = ()
    """Values of the time column in the first lines."""

    def mapping(self) -> dict[str, str]:
        """Standard column -> its name in the header, or its number."""
        named = len(self.names)
        return {
            name: self.names[at - 1].strip() if at <= named else f"column {at}"
            for name, at in self.columns.items()
        }

    def ignored(self) -> tuple[str, ...]:
        """The names in the header of columns that are not read, as far as they look like names."""
        read = set(self.columns.values())
        others = (name.strip() for at, name in enumerate(self.names, start=1) if at not in read)
        return tuple(name for name in others if _NAME.fullmatch(name))

    def value_sql(self, name: str) -> str:
        """SQL for the text of a standard column among the fields `f` of a line."""
        whole = f"f[{self.columns[name]}]"
        if name not in self.patterns:
            return whole
        pattern = self.patterns[name]
        return f"regexp_extract({whole}, {literal(pattern)}, {re.compile(pattern).groups})"

    def problem_sql(self) -> str:
        """SQL for what is wrong with the fields `f` of a line, null if nothing is."""
        unlike = "".join(
            f" WHEN NOT regexp_matches(f[{self.columns[name]}], {literal(pattern)}) THEN '{NO_MATCH}'"
            for name, pattern in self.patterns.items()
        )
        wrong = f"len(f) < {max(self.columns.values())}"
        if self.widths:
            wrong = f"len(f) NOT IN ({', '.join(map(str, self.widths))})"
        elif self.width is not None:
            # A delimiter inside a field shifts the rest; a delimiter too many at the end does no harm.
            wrong += f" OR len(f) > {self.width} AND array_to_string(f[{self.width + 1}:], '') <> ''"
        return f"CASE WHEN text = '' THEN '{BLANK_LINE}' WHEN {wrong} THEN '{WRONG_FIELDS}'{unlike} END"


def resolve_layout(source: Source, options: ReadOptions, delimiter: str, split: Split) -> Layout:
    """Return the header and the columns, from the options and the first lines."""
    first = source.head.first_line
    fields = split(first)
    where = f"{source.files[0].label!r}"
    names = [at for at in (options.columns or {}).values() if at and as_number(at) is None]
    if options.header is False and names:
        raise UsageError(
            "columns are given by name, but the file is said to have no header",
            f"give numbers from 1, as in {argument('columns', {'user': 1, 'query': 2})}",
        )
    # Numbers mean that there is no header. If the first line decided, which is then a user's row, it could change how
    # all others are read.
    numbered = any(as_number(at) is not None for at in (options.columns or {}).values())
    guessed = bool(names) or (not numbered and is_header(fields))
    has_header = options.header if options.header is not None else guessed
    header = fields if has_header else []
    chosen = choose_columns(options.columns, header)
    missing = [name for name in ("user", "query") if name not in chosen]
    if missing:
        # A first line with one of the two is a header in all likelihood, which serves the message only.
        usual_names = choose_columns(options.columns, fields) if options.header is None else chosen
        unnamed = [name for name in missing if name not in usual_names] or missing
        elsewhere = _cut_elsewhere(source, delimiter, to_name=not has_header) if len(fields) == 1 else ""
        if unnamed != missing:
            elsewhere = f"name it, as in {argument('columns', {unnamed[0]: 'NAME'})}"
        raise InputError(
            f"no column of {where} has a usual name for the {' and the '.join(unnamed)}{seen(fields)}",
            elsewhere or COLUMNS_HINT,
        )
    for standard, name in chosen.items():
        if header and standard not in (options.columns or {}):
            require_once(
                str(name),
                header,
                where,
                f"give the columns as numbers from 1, and say {argument('header', True)}",
            )
    columns = _field_numbers(chosen, header, source, delimiter, split)
    patterns = {name: one for name, one in options.patterns.items() if name in columns}
    lines = map(split, source.head.lines[has_header:_FIRST_LINES])
    times = [one[columns["time"] - 1] for one in lines if "time" in columns and len(one) >= columns["time"]]
    filtered = {f"{one.column}": one.column for one in options.conditions}
    filter_numbers = _field_numbers(
        filtered, fields if has_header else [], source, delimiter, split, argument("where")
    )
    conditions = [(filter_numbers[one.column], one) for one in options.conditions]
    if not has_header:
        return Layout(delimiter, None, columns, None, patterns=patterns, conditions=conditions, times=times)
    named = [fields[number - 1] for number in columns.values() if number <= len(fields)]
    _require_same_header(source, first, named, split)
    # A line that only the user calls a header may be a row, and is not shown.
    known = fields if names or is_header(fields) else ()
    return Layout(
        delimiter,
        first,
        columns,
        len(fields),
        patterns=patterns,
        conditions=conditions,
        names=known,
        times=times,
    )


def detect_delimiter(
    lines: Sequence[str], options: ReadOptions, where: str, among: str = "\t;|,"
) -> str | None:
    """Return the delimiter that gives nearly all of the first lines the same number of columns; None if none does.

    For files without a header. Tabs are rare in queries, so they win. Raises InputError if several others fit.
    """
    needed = max(int(as_number(at) or 1) for at in (options.columns or {"": 2}).values())
    fitting = []
    for one in among:
        counts = Counter(_count_fields(line, one) for line in lines[:_FIRST_LINES])
        (width, often), *_ = counts.most_common(1) or [(0, 0)]
        if width >= max(needed, 2) and often >= _NEARLY_ALL * min(len(lines), _FIRST_LINES):
            fitting.append(one)
    if len(fitting) > 1 and "\t" not in fitting:
        names = " or ".join(_DELIMITERS[one] for one in fitting)
        raise InputError(
            f"{where} may have {names} between its columns",
            f"say which, for example {argument('delimiter', fitting[0])}",
        )
    return fitting[0] if fitting else None


def _count_fields(line: str, delimiter: str) -> int:
    if '"' not in line or delimiter == "\t":
        return line.count(delimiter) + 1
    try:
        return len(next(csv.reader([line], delimiter=delimiter)))
    except csv.Error:
        return 0


def _require_patterns(connection: Any, layout: Layout) -> None:
    """Refuse a pattern that the engine does not support, before any row is read."""
    for pattern in layout.patterns.values():
        try:
            connection.execute("SELECT regexp_matches('', " + literal(pattern) + ")").fetchall()
        except duckdb.Error:
            raise UsageError(
                "a column's pattern uses what RE2 does not know", "leave out look-around and back references"
            ) from None


def _field_numbers(
    columns: Mapping[str, str | int],
    fields: Sequence[str],
    source: Source,
    delimiter: str,
    split: Split,
    flag: str = argument("columns"),
) -> dict[str, int]:
    """Return field numbers for the columns named with `flag`; `fields` of the header may be a row by mistake."""
    if not columns:
        return {}
    where = repr(source.files[0].label)
    widest = max((len(split(line)) for line in source.head.lines), default=0)
    elsewhere = _cut_elsewhere(source, delimiter) if widest == 1 else ""
    numbers = {}
    for standard, at in columns.items():
        name = find(str(at), fields)
        number = fields.index(name) + 1 if name is not None else as_number(at)
        if number is None and str(at) in fields:
            require_once(
                str(at),
                fields,
                where,
                f"give the columns as numbers from 1, and say {argument('header', True)}",
            )
        if number is None:
            raise InputError(
                f"{where} has no column {at!r} {_field_count_text(fields)}{seen(fields)}",
                elsewhere
                or nearest_column(standard, at, usual(fields))
                or ("\ufffd" in "".join(fields) and hint_for_head(source.head))
                or f"correct {flag}; in a file without a header, give numbers from 1",
            )
        if not 1 <= number <= widest:
            many = "1 column" if widest == 1 else f"{widest} columns"
            raise InputError(
                f"{where} has {many}, so there is no column {number}", elsewhere or f"correct {flag}"
            )
        numbers[standard] = number
    return numbers


def _field_count_text(fields: Sequence[str]) -> str:
    return f"among the {len(fields)} fields of its first line" if len(fields) != 1 else "in its first line"


def _cut_elsewhere(source: Source, delimiter: str, *, to_name: bool = False) -> str:
    """Return a hint for lines of one field: the character that seems to separate columns, if there is one."""
    lines = source.head.first_lines
    others = [one for one in _DELIMITERS if one != delimiter]
    likely = max(others, key=lambda one: sum(one in line for line in lines))
    if not lines or 2 * sum(likely in line for line in lines) <= len(lines):
        return ""
    hint = f"{_DELIMITERS[likely]} seem to separate the columns: try {argument('delimiter', likely)}"
    named = not to_name or is_header([one.strip(' "') for one in lines[0].split(likely)])
    return hint if named else f"{hint}, and {COLUMNS_HINT}"


def _require_same_header(source: Source, header: str, named: Sequence[str], split: Split) -> None:
    for file in source.files[1:]:
        if file.first_line in {header, ""}:
            continue
        fields = split(file.first_line)
        if is_header(fields) or (named and set(named) <= set(fields)):
            raise InputError(
                f"{source.files[0].label!r} and {file.label!r} have different headers",
                "read them one at a time",
            )


def extract_fields(
    layout: Layout,
    options: ReadOptions,
    values: Mapping[str, str] | None = None,
    add_fields: Callable[[pa.Table], pa.Table] | None = None,
) -> Extraction:
    """Return how lines of this layout become rows.

    Args:
        layout: Delimiter, header, and columns.
        options: The user's options.
        values: SQL that replaces the expression of single columns.
        add_fields: Adds a column `fields` with the fields of lines that need more than a split.
    """
    fields = f"string_split(text, {literal(layout.delimiter)})"
    if add_fields is not None:
        fields = f"coalesce(fields, {fields})"
    # It is not known whether a condition holds of a line that has no columns, so such a line is validated.
    holds = " AND ".join(one.sql(f"f[{number}]") for number, one in layout.conditions)
    skipped = (
        f"CASE WHEN problem IS NULL AND NOT ({holds}) THEN '{FILTERED_OUT}' END AS skipped, " if holds else ""
    )
    relation = (
        f"(SELECT {skipped}* FROM (SELECT * REPLACE (coalesce(problem, {layout.problem_sql()}) AS problem) "  # noqa: S608 (literals are quoted)
        f"FROM (SELECT *, {fields} AS f FROM chunk)))"
    )
    return Extraction(
        columns=list(layout.columns),
        sql=validate_sql(
            relation,
            {name: layout.value_sql(name) for name in layout.columns} | dict(values or {}),
            time_format=options.time_format,
            nulls=options.null or (),
            also=("skipped",) if holds else (),
        ),
        header=layout.header,
        prepare=lambda connection: _require_patterns(connection, layout),
        transform=add_fields or (lambda chunk: chunk),
        mapping=layout.mapping(),
        ignored=layout.ignored(),
        times=layout.times,
        hints={NO_MATCH: f"check the pattern in {argument('columns')}"},
    )


def delimiter_by_options(head: Head, options: ReadOptions, label: str) -> str | None:
    """Return the delimiter if options decide that text is delimited; None if they do not.

    They do if they name the delimiter, or all columns by number: then there is no header, so no single line decides.
    """
    if options.delimiter is not None:
        return options.delimiter
    if has_numbers_only(options):
        return detect_delimiter(head.lines, options, repr(label)) or "\t"
    return None


def has_numbers_only(options: ReadOptions) -> bool:
    """Return whether columns are given by number, in a file without a header."""
    columns = (options.columns or {}).values()
    return bool(columns) and not options.header and all(as_number(at) is not None for at in columns)


def has_same_first_lines(source: Source, _: ReadOptions) -> bool:
    """Return whether all files have the same header, or begin alike, so that each can be read without the others."""
    return len({file.first_line for file in source.files}) == 1
