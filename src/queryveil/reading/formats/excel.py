"""Workbooks of Excel and LibreOffice: one sheet is the log, its first row that is not blank names the columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from queryveil.errors import InputError, UsageError, argument
from queryveil.reading.columns import as_number, choose_columns, nearest_column, seen, usual
from queryveil.reading.model import Format, OpenedTable, ReadOptions
from queryveil.reading.typed_tables import choose_table

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BATCH = 50_000


def _import_library() -> Any:
    try:
        import python_calamine
    except ImportError:
        raise UsageError(
            "reading a workbook needs the package python-calamine",
            "install queryveil[excel], or save the sheet as CSV in UTF-8",
        ) from None
    return python_calamine


def _open_table(path: Path, options: ReadOptions) -> OpenedTable:
    with path.open("rb") as file:
        book = _import_library().load_workbook(file)
        headers = {name: _find_header(book, name) for name in book.sheet_names}
    filled = {name: header for name, (header, _) in headers.items() if header}
    sheet = choose_table(filled, options, repr(path.name), "sheet")
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
        rows = _read_rows(book, sheet, above)
        while some := list(islice(rows, _BATCH)):
            values = [
                [_cell_text(row[number]) if number < len(row) else None for row in some] for number in at
            ]
            yield pa.record_batch([pa.array(one, pa.string()) for one in values], schema=types)

    # Programs count the rows above the table, and its header, in row numbers.
    return OpenedTable(schema, batches, rows_above=above)


def _find_header(book: Any, sheet: str) -> tuple[list[str], int]:
    """Return the first row that is not blank, and its number; an empty list for a sheet without rows."""
    for number, row in enumerate(book.get_sheet_by_name(sheet).iter_rows(), start=1):
        names = [str(cell).strip() for cell in row]
        if any(names):
            return names, number
    return [], 0


def _require_names(header: list[str], options: ReadOptions, where: str) -> None:
    """Refuse a first row that does not name the columns. It is not quoted, because it may be a row of the log."""
    hint = "if the first row of the sheet does not name its columns, put a row of names above it"
    for standard in ("user", "query"):
        if standard not in choose_columns(options.columns, header):
            raise InputError(
                f"{where} has no column for the {standard} in its first row{seen(header)}",
                f"say which it is, for example {argument('columns', {'user': '...', 'query': '...', 'time': '...'})}; "
                f"{hint}",
            )
    present = {name.strip().lower() for name in header}
    for standard, at in (options.columns or {}).items():
        if not at or str(at).strip().lower() in present:
            continue
        if as_number(at) is not None:
            raise UsageError(
                "the columns of a sheet have names",
                f"give names, as in {argument('columns', {'user': 'user_id'})}; {hint}",
            )
        raise InputError(
            f"{where} has no column {str(at)!r} in its first row{seen(header)}",
            nearest_column(standard, at, usual(header)) or f"correct {argument('columns')}; {hint}",
        )


def _read_rows(book: Any, sheet: str, above: int) -> Iterator[list[Any]]:
    """Yield the rows below the header, without blank rows at the end."""
    held: list[list[Any]] = []
    for row in islice(book.get_sheet_by_name(sheet).iter_rows(), above, None):
        held.append(row)
        if any(cell != "" for cell in row):
            yield from held
            held = []


def _cell_text(cell: Any) -> str | None:
    if cell is None or cell == "":
        return None
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # Excel has no other numbers
    if isinstance(cell, dt.datetime | dt.date):
        return cell.isoformat()
    return str(cell)


FORMAT = Format(
    name="excel",
    help="a sheet of an Excel or LibreOffice workbook",
    options=("table",),
    # Other zip archives were opened before; files inside them have a member name.
    recognize=lambda head: head.member is None and head.data.startswith((_ZIP, _OLE)),
    open_table=_open_table,
    errors=lambda: (_import_library().CalamineError, ValueError),
    file_kind="a workbook",
)
