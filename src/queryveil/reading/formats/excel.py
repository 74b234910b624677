"""Workbooks of Excel and LibreOffice: one sheet is the log, its first row that is not blank names the columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queryveil.errors import InputError, UsageError
from queryveil.reading.columns import as_number, choose_columns, nearest_column, seen, usual
from queryveil.reading.formats.columnar import Opened, stage_as_parquet
from queryveil.reading.formats.table_choice import chosen_table
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged
from queryveil.reading.staging import REJECTED

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BATCH = 50_000


class Excel:
    name: ClassVar[str] = "excel"
    help: ClassVar[str] = "a sheet of an Excel or LibreOffice workbook"
    suffixes: ClassVar[tuple[str, ...]] = ()
    binary: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("table",)

    def matches(self, head: Head) -> bool:
        # Other zip archives were opened before, and what comes here are the files inside.
        return head.member is None and head.data.startswith((_ZIP, _OLE))

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        calamine = _library()
        above: dict[Path, int] = {}

        def open_file(path: Path) -> Opened:
            opened, above[path] = _open(calamine, path, options)
            return opened

        staged = stage_as_parquet(
            source,
            options,
            into,
            progress,
            open_file,
            "a workbook",
            errors=(calamine.CalamineError, ValueError),
        )
        return _numbered(staged, {file.label: above[file.path] for file in source.files})


def _numbered(staged: Staged, above: Mapping[str, int]) -> Staged:
    """Rejected rows under the numbers that the program shows for them: the rows above count too."""
    if staged.rejected_file is None:
        return staged
    kept = pq.read_table(staged.rejected_file)
    more = pa.array([above[label] for label in kept.column("file").to_pylist()], pa.int64())
    lines = pc.add(kept.column("line"), more)
    pq.write_table(
        kept.set_column(REJECTED.get_field_index("line"), REJECTED.field("line"), lines), staged.rejected_file
    )
    examples = tuple(replace(one, line=one.line + above[one.file]) for one in staged.examples)
    return replace(staged, examples=examples)


def _library() -> Any:
    try:
        import python_calamine
    except ImportError:
        raise UsageError(
            "reading a workbook needs the package python-calamine",
            "install queryveil[excel], or save the sheet as CSV in UTF-8",
        ) from None
    return python_calamine


def _open(calamine: Any, path: Path, options: ReadOptions) -> tuple[Opened, int]:
    """What reads the sheet, and how many rows stand above those of the log, the header among them."""
    with path.open("rb") as file:
        book = calamine.load_workbook(file)
        headers = {name: _header(book, name) for name in book.sheet_names}
    filled = {name: header for name, (header, _) in headers.items() if header}
    sheet = chosen_table(filled, options, repr(path.name), "sheet")
    names, above = headers[sheet]
    _require_names(names, options, f"the sheet {sheet!r} of {path.name!r}")
    twice = {name for name in names if name and names.count(name) > 1}
    if twice:
        raise InputError(
            f"the sheet {sheet!r} of {path.name!r} has more than one column of one name", "rename all but one"
        )
    schema = pa.schema([(name, pa.string()) for name in names if name])

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        at = [names.index(name) for name in columns]
        types = pa.schema([(name, pa.string()) for name in columns])
        rows = _rows(book, sheet, above)
        while some := list(islice(rows, _BATCH)):
            values = [[_text(row[number]) if number < len(row) else None for row in some] for number in at]
            yield pa.record_batch([pa.array(one, pa.string()) for one in values], schema=types)

    return (schema, batches), above


def _header(book: Any, sheet: str) -> tuple[list[str], int]:
    """The first row that is not blank, and its number; nothing in a sheet without rows."""
    for number, row in enumerate(book.get_sheet_by_name(sheet).iter_rows(), start=1):
        names = [str(cell).strip() for cell in row]
        if any(names):
            return names, number
    return [], 0


def _require_names(header: list[str], options: ReadOptions, where: str) -> None:
    """Refuse a first row that does not name the columns, without a word of it: it may be somebody's row."""
    way_out = "if the first row of the sheet does not name its columns, put a row of names above it"
    for standard in ("user", "query"):
        if standard not in choose_columns(options.columns, header):
            raise InputError(
                f"{where} has no column for the {standard} in its first row{seen(header)}",
                f"say which it is, for example --columns user=...,query=...,time=...; {way_out}",
            )
    present = {name.strip().lower() for name in header}
    for standard, at in (options.columns or {}).items():
        if not at or str(at).strip().lower() in present:
            continue
        if as_number(at) is not None:
            raise UsageError(
                "the columns of a sheet have names", f"give names, as in --columns user=user_id; {way_out}"
            )
        raise InputError(
            f"{where} has no column {str(at)!r} in its first row{seen(header)}",
            nearest_column(standard, at, usual(header)) or f"correct --columns; {way_out}",
        )


def _rows(book: Any, sheet: str, above: int) -> Iterator[list[Any]]:
    """The rows below the header; blank ones at the end are none."""
    held: list[list[Any]] = []
    for row in islice(book.get_sheet_by_name(sheet).iter_rows(), above, None):
        held.append(row)
        if any(cell != "" for cell in row):
            yield from held
            held = []


def _text(cell: Any) -> str | None:
    if cell is None or cell == "":
        return None
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # Excel has no other numbers
    if isinstance(cell, dt.datetime | dt.date):
        return cell.isoformat()
    return str(cell)
