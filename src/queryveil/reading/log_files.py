"""Logs in files: open the files, detect their format, and stage their rows as Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from queryveil.errors import InputError, OutputError, UsageError, argument, instead
from queryveil.reading.columns import COLUMNS_HINT
from queryveil.reading.delimited import detect_delimiter, has_numbers_only
from queryveil.reading.encoding_hints import with_encoding_hints
from queryveil.reading.formats import FORMATS
from queryveil.reading.lines import NOT_UTF8
from queryveil.reading.model import (
    FORMAT_OPTIONS,
    Format,
    Head,
    Progress,
    ReadOptions,
    Source,
    SourceFile,
    Staged,
)
from queryveil.reading.pinning import Pin, require_unchanged
from queryveil.reading.sources import (
    as_source_file,
    expand,
    opened_archives,
    pinned_now,
    read_head,
    standard_input,
)
from queryveil.reading.staging import stage_text
from queryveil.reading.typed_tables import stage_table
from queryveil.reading.validation import BAD_RANK, BAD_TIME, NO_FIELD, NO_USER, NOT_JSON, WRONG_FIELDS

_HINTS: Mapping[str, str] = {
    BAD_TIME: (
        f"say how times are written with {argument('time_format')}, or name another column with "
        f"{argument('columns', {'time': 'NAME'})}; if there are no times, leave the column out with "
        f"{argument('columns', {'time': ''})}"
    ),
    WRONG_FIELDS: f"check {argument('format')}, {argument('delimiter')} and {argument('columns')}",
    NO_USER: f"check {argument('columns')}",
    NO_FIELD: f"check {argument('columns')}",
    BAD_RANK: f"check {argument('columns')}",
    NOT_JSON: f"check {argument('format')}",
    NOT_UTF8: f"say how the text is encoded with {argument('encoding')}",
}
"""Reject reason -> the next step."""
_HINTS_FOR_KNOWN_COLUMNS: Mapping[str, str] = {
    BAD_TIME: f"say how times are written with {argument('time_format')}",
    WRONG_FIELDS: f"check {argument('format')}",
    NO_USER: "check that line: it names no user",
    NO_FIELD: f"check {argument('format')}",
    BAD_RANK: "check that line",
}
"""The same in formats that declare their columns, and refuse --columns."""


def stage(
    log: str | Path | Sequence[str | Path],
    options: ReadOptions,
    into: Path,
    progress: Progress | None = None,
) -> Staged:
    """Stage a log (a file, folder, glob, several of them, or `-` for standard input) as Parquet under `into`."""
    source, format = open_log(log, options, into)
    try:
        staged = stage_source(source, format, options, into, progress)
    except InputError:
        require_unchanged(source.pins)  # a file that changes can fail in many ways, for this one reason
        raise
    require_unchanged(source.pins)
    staged = with_encoding_hints(staged, options)
    require_rows(staged, options.max_rejected, source)
    in_place = staged.files == tuple(file.path for file in source.files)
    labels = tuple(file.label for file in source.files) if in_place else ()
    return replace(staged, pins=source.pins if in_place else (), labels=labels)


def stage_source(
    source: Source, format: Format, options: ReadOptions, into: Path, progress: Progress | None = None
) -> Staged:
    """Stage the files of a log in one format; every row is accepted or rejected."""
    if format.columns and options.columns is not None:
        raise UsageError(
            f"{source.files[0].label!r} is in the format {format.name}, whose columns are known",
            format.columns_hint,
        )
    if format.extract is None:
        return stage_table(source, format, options, into, progress)
    return stage_text(source, format, format.extract(source, options), options, into, progress)


def open_log(
    log: str | Path | Sequence[str | Path], options: ReadOptions, into: Path
) -> tuple[Source, Format]:
    """Return the files of a log and the one format of all of them."""
    if options.format is not None and options.format not in FORMATS:
        raise UsageError(f"there is no format {options.format!r}", instead(options.format, FORMATS))
    try:
        # Queries are written here as they are, so only the owner may read it.
        into.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot create the folder {str(into)!r}: {error.strerror}", "choose another folder"
        ) from None
    given = [log] if isinstance(log, str | Path) else log
    source, format = _open_files(
        expand([standard_input(into) if one == "-" else one for one in given]), options
    )
    require_options(options, format)
    return source, format


def require_options(options: ReadOptions, format: Format, title: str | None = None) -> None:
    """Refuse options that the format does not take: they would have no effect."""
    title = title or format.name
    if options.encoding is not None and format.is_table:
        raise UsageError(f"an encoding has no meaning in {title}", f"leave out {argument('encoding')}")
    for name in FORMAT_OPTIONS:
        if name in format.options or not getattr(options, name):
            continue
        if name == "patterns":
            raise UsageError(
                f"patterns of columns have no meaning in {title}",
                f"leave out :/.../ in {argument('columns')}",
            )
        flag = argument(name)
        raise UsageError(
            f"{flag} has no meaning in {title}", f"leave out {flag}, or say {argument('format')}"
        )


def _open_files(paths: Sequence[Path], options: ReadOptions) -> tuple[Source, Format]:
    """Read the beginning of all files; empty ones are left out if there are others."""
    files: list[SourceFile] = []
    pins: list[Pin] = []
    first: tuple[Head, Format] | None = None
    for given, member, label in opened_archives(paths):
        # Files are read later, too, by workers elsewhere or after a program went to another folder.
        path = given.absolute()
        pinned = pinned_now(path, label)
        head = read_head(path, member, options.encoding)
        if head.whole and not head.data.strip():
            continue
        format = _detect_format(head, label, options)
        if first is None:
            first = head, format
        elif format.name != first[1].name:
            raise InputError(
                f"{files[0].label!r} is {first[1].name} but {label!r} is {format.name}",
                f"read them one at a time, or say {argument('format')} if they are of one kind",
            )
        try:
            files.append(as_source_file(head, label, text=not format.is_table))
        except OSError:
            require_unchanged([pinned])  # it was there a moment ago
            raise
        pins.append(pinned)
    if first is None:
        name = repr(paths[0].name)
        raise InputError(
            f"{name} is empty" if len(paths) == 1 else f"{name} and {len(paths) - 1} more are empty",
            "check that the export is complete",
        )
    return Source(tuple(files), first[0], tuple(pins)), first[1]


def _detect_format(head: Head, label: str, options: ReadOptions) -> Format:
    """Return the format of a file: named by the user, recognized from its bytes, or decided by other options."""
    if options.format is not None:
        return FORMATS[options.format]
    formats = sorted(FORMATS.values(), key=lambda one: (one.precedence, one.name))
    tables = (one for one in formats if one.is_table)
    texts = [one for one in formats if not one.is_table]
    if found := next((one for one in tables if one.recognize(head)), None):
        return found
    if has_numbers_only(options) and options.delimiter is None:
        # Without a header, the name of the file decides before its lines do, which are rows.
        by_name = (one for one in formats if head.suffix in one.suffixes)
        if found := next(by_name, None):
            return found
    if found := next((one for one in texts if one.recognize_options(head, options, label)), None):
        return found
    # A text may have rows with binary data, even the first one, but it does not consist of them.
    if not head.binary and (found := next((one for one in texts if one.recognize(head)), None)):
        return found
    if b"\0" in head.data:
        raise InputError(
            f"{label!r} is binary, and of no known format",
            f"give text or Parquet; text in UTF-16 without a byte order mark needs {argument('encoding', 'utf-16-le')}",
        )
    if len(head.lines) > 1 and detect_delimiter(head.lines, options, repr(label)):
        raise InputError(f"no column of {label!r} has a usual name for the user and the query", COLUMNS_HINT)
    raise InputError(
        f"the format of {label!r} is not recognized",
        f"say which it is with {argument('format')} {'|'.join(FORMATS)}, and "
        f"{argument('delimiter')} if it is neither tab nor comma",
    )


def require_rows(staged: Staged, max_rejected: float, source: Source) -> None:
    """Refuse a log if too many rows were rejected, or if none is left."""
    total = staged.rows + staged.rejected
    if not total:
        raise InputError(f"{source.files[0].label!r} holds no rows", "check that the export is complete")
    if staged.rejected <= max_rejected * total and staged.rows:
        return
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in staged.reasons.items())
    reason = next(iter(staged.reasons))
    # Tables that stay in their engine have no row numbers.
    first = f"; first: {staged.examples[0].file!r} line {staged.examples[0].line}" if staged.examples else ""
    why = f"more than {max_rejected:.4g} of all" if staged.rows else "so none is left"
    raise InputError(
        f"{staged.rejected:,} of {total:,} rows were rejected, {why} ({reasons}{first})",
        _reject_hint(staged, reason) + (f", or raise {argument('max_rejected')}" if staged.rows else ""),
    )


def _reject_hint(staged: Staged, reason: str) -> str:
    known = staged.format in FORMATS and FORMATS[staged.format].columns
    by_columns = _HINTS_FOR_KNOWN_COLUMNS if known else {}
    return staged.hints.get(reason) or by_columns.get(reason) or _HINTS.get(reason, "check that line")
