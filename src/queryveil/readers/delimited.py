"""Lines of fields between delimiters: what TSV, CSV and AOL have in common.

Delimiter, header and columns are pinned before the first row is read; then each line is parsed by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from queryveil.errors import InputError, UsageError
from queryveil.readers.columns import (
    WAY_OUT,
    as_number,
    by_alias,
    find,
    is_header,
    no_such_column,
    require_aliases,
)
from queryveil.readers.lines import read_lines
from queryveil.readers.model import Progress, ReadOptions, Source, Staged
from queryveil.readers.staging import Stager, chunks, conform_sql, connect
from queryveil.readers.times import literal

Split = Callable[[str], list[str]]


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

    def problem_sql(self) -> str:
        """SQL for what is wrong with the fields `f` of a line, null if nothing is."""
        wrong = f"len(f) < {max(self.columns.values())}"
        if self.widths:
            wrong = f"len(f) NOT IN ({', '.join(map(str, self.widths))})"
        elif self.width is not None:
            # A delimiter inside a field shifts the rest; a delimiter too many at the end does no harm.
            wrong += f" OR len(f) > {self.width} AND array_to_string(f[{self.width + 1}:], '') <> ''"
        return f"CASE WHEN text = '' THEN 'blank line' WHEN {wrong} THEN 'wrong number of fields' END"


def lay_out(source: Source, options: ReadOptions, delimiter: str, split: Split) -> Layout:
    """Pin header and columns from the options and the first lines."""
    first = source.head.first_line
    fields = split(first)
    where = f"{source.files[0].label!r}"
    names = [at for at in (options.columns or {}).values() if as_number(at) is None]
    if options.header is False and names:
        raise UsageError(
            "columns are given by name, but the file is said to have no header",
            "give numbers from 1, as in --columns user=1,query=2",
        )
    # Numbers mean that there is no header: were it decided by the first line, which is then somebody's row,
    # that row could change how all others are read.
    guessed = bool(names) if options.columns is not None else is_header(fields)
    has_header = options.header if options.header is not None else guessed
    if options.columns is not None:
        widest = max((len(split(line)) for line in source.head.lines), default=0)
        may_quote = bool(options.header) or len(by_alias(fields)) >= 2
        columns = _numbers(options.columns, fields if has_header else [], widest, where, may_quote)
    elif not has_header:
        raise InputError(f"{where} has no header that says which column holds what", WAY_OUT)
    else:
        columns = {name: fields.index(at) + 1 for name, at in require_aliases(fields, where).items()}
    if not has_header:
        return Layout(delimiter, None, columns, None)
    named = [fields[number - 1] for number in columns.values() if number <= len(fields)]
    _require_same_header(source, first, named, split)
    return Layout(delimiter, first, columns, len(fields))


def _numbers(
    columns: Mapping[str, str | int], fields: Sequence[str], widest: int, where: str, may_quote: bool
) -> dict[str, int]:
    """Field numbers for what the user named; `may_quote` says that `fields` is surely no row of data."""
    numbers = {}
    for standard, at in columns.items():
        name = find(str(at), fields)
        number = fields.index(name) + 1 if name is not None else as_number(at)
        if number is None and may_quote:
            raise no_such_column(str(at), fields, where)
        if number is None:
            raise InputError(
                f"none of the {len(fields)} fields in the first line of {where} is called {at!r}",
                "correct --columns; in a file without a header, give numbers from 1",
            )
        if not 1 <= number <= widest:
            raise InputError(
                f"{where} has {widest} columns, so there is no column {number}", "correct --columns"
            )
        numbers[standard] = number
    return numbers


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


def stage_fields(
    source: Source,
    layout: Layout,
    options: ReadOptions,
    into: Path,
    progress: Progress | None,
    *,
    format: str,
    raw: Mapping[str, str] | None = None,
    prepare: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
) -> Staged:
    """Parse and stage all lines.

    `raw` replaces the expression of single columns; `prepare` may add a column `fields` to a batch for lines
    that need more than splitting at the delimiter.
    """
    batches: Iterator[pa.RecordBatch] = read_lines(source, layout.header, progress)
    fields = f"string_split(text, {literal(layout.delimiter)})"
    if prepare is not None:
        batches = map(prepare, batches)
        fields = f"coalesce(fields, {fields})"
    relation = (
        "(SELECT file, line, text, coalesce(problem, "  # noqa: S608 (literals are quoted)
        f"{layout.problem_sql()}) AS problem, f "
        f"FROM (SELECT *, {fields} AS f FROM chunk))"
    )
    expressions = {name: f"f[{number}]" for name, number in layout.columns.items()} | dict(raw or {})
    sql = conform_sql(relation, expressions, time_format=options.time_format)
    with connect(into, options) as connection, Stager(into, list(layout.columns), source) as stager:
        for chunk in chunks(batches):
            connection.register("chunk", chunk)
            stager.add(connection.execute(sql).to_arrow_table())
            connection.unregister("chunk")
        return stager.finish(format)
