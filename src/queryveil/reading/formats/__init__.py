"""Readers: one file per source format, each turning a log into Parquet files with standard columns.

`stage` finds the files, decides the format, lets the reader work and stops if too many rows were rejected.
A new format is one file and one line in `READERS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from queryveil.errors import InputError, OutputError, UsageError, instead
from queryveil.reading.columns import WAY_OUT, as_number
from queryveil.reading.encoding_hints import with_encoding_hints
from queryveil.reading.formats.access_log import AccessLog
from queryveil.reading.formats.algolia import Algolia
from queryveil.reading.formats.aol import Aol
from queryveil.reading.formats.csv import Csv
from queryveil.reading.formats.delimited import separator
from queryveil.reading.formats.duckdb_file import DuckdbFile
from queryveil.reading.formats.excel import Excel
from queryveil.reading.formats.feather import Feather
from queryveil.reading.formats.google_analytics import GoogleAnalytics
from queryveil.reading.formats.jsonl import Jsonl
from queryveil.reading.formats.matomo import Matomo
from queryveil.reading.formats.orc import Orc
from queryveil.reading.formats.parquet import Parquet
from queryveil.reading.formats.slow_log import SlowLog
from queryveil.reading.formats.sogou import Sogou
from queryveil.reading.formats.solr import Solr
from queryveil.reading.formats.sqlite import Sqlite
from queryveil.reading.formats.tsv import Tsv
from queryveil.reading.formats.ubi import Ubi
from queryveil.reading.formats.yandex import Yandex
from queryveil.reading.model import (
    COLUMNS,
    NO_VALUE,
    SPELLED_NULL,
    Head,
    Progress,
    Reader,
    ReadOptions,
    Rejection,
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

__all__ = [
    "COLUMNS",
    "FIXED_COLUMNS",
    "NO_VALUE",
    "READERS",
    "SPELLED_NULL",
    "Progress",
    "ReadOptions",
    "Reader",
    "Rejection",
    "Staged",
    "has_option",
    "opened",
    "require_meaning",
    "require_rows",
    "require_unchanged",
    "stage",
]

# Asked in this order whether a file is theirs: what can be told for sure comes first.
_ALL: tuple[Reader, ...] = (
    Parquet(),
    Feather(),
    Orc(),
    Sqlite(),
    DuckdbFile(),
    Excel(),
    Aol(),
    Ubi(),
    Algolia(),
    Matomo(),
    GoogleAnalytics(),
    SlowLog(),
    Solr(),
    AccessLog(),
    Sogou(),
    Yandex(),
    Jsonl(),
    Csv(),
    Tsv(),
)
READERS: Mapping[str, Reader] = {reader.name: reader for reader in _ALL}

_WAYS_OUT = {
    "bad time": "say how times are written with --time-format, or name another column with --columns time=NAME; if "
    "there are no times, leave the column out with --columns time=",
    "wrong number of fields": "check --format, --delimiter and --columns",
    "no user": "check --columns",
    "no such field": "check --columns",
    "bad rank": "check --columns",
    "not a search": "check --format",
    "no result page": "check that no line is missing",
    "no match": "check the pattern in --columns",
    "not JSON": "check --format",
    "not UTF-8": "say how the text is encoded with --encoding",
}


_WAYS_OUT_OF_KNOWN = {
    "bad time": "say how times are written with --time-format",
    "wrong number of fields": "check --format",
    "no user": "look at that line: it names nobody",
    "no such field": "check --format",
    "bad rank": "look at that line",
}
"""The same for formats whose columns are known."""
FIXED_COLUMNS = frozenset(
    {
        "access-log",
        "algolia",
        "google-analytics",
        "matomo",
        "slow-log",
        "sogou",
        "solr",
        "ubi",
        "yandex",
    }
)
"""Formats whose columns are known: they take no --columns."""


def _way_out(format: str, reason: str) -> str:
    known = _WAYS_OUT_OF_KNOWN if format in FIXED_COLUMNS else {}
    return known.get(reason) or _WAYS_OUT.get(reason, "look at that line")


def stage(
    log: str | Path | Sequence[str | Path],
    options: ReadOptions,
    into: Path,
    progress: Progress | None = None,
) -> Staged:
    """Read a log (file, folder, glob, several of them, or `-` for standard input) into Parquet under `into`."""
    source, reader = opened(log, options, into)
    try:
        staged = reader.stage(source, options, into, progress)
    except InputError:
        require_unchanged(source.pins)  # a file that changes may fail in many ways, for this one reason
        raise
    require_unchanged(source.pins)
    staged = with_encoding_hints(staged, options)
    require_rows(staged, options.max_rejected, source)
    in_place = staged.files == tuple(file.path for file in source.files)
    labels = tuple(file.label for file in source.files) if in_place else ()
    return replace(staged, format=reader.name, pins=source.pins if in_place else (), labels=labels)


def opened(log: str | Path | Sequence[str | Path], options: ReadOptions, into: Path) -> tuple[Source, Reader]:
    """The files of a log, each looked into, and the reader for all of them."""
    if options.format is not None and options.format not in READERS:
        raise UsageError(f"there is no format {options.format!r}", instead(options.format, READERS))
    try:
        # Queries are written here as they are, so nobody else may look.
        into.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot create the folder {str(into)!r}: {error.strerror}", "choose another folder"
        ) from None
    named = [log] if isinstance(log, str | Path) else log
    source, reader = _open(expand([standard_input(into) if one == "-" else one for one in named]), options)
    require_meaning(options, reader)
    return source, reader


def require_meaning(options: ReadOptions, reader: Reader, called: str | None = None) -> None:
    """Refuse options that this format has no use for: they would be passed over without a word."""
    named = called or reader.name
    if options.delimiter is not None and reader.name not in {"tsv", "csv"}:
        raise UsageError(f"a delimiter has no meaning in {named}", "leave out --delimiter")
    if options.encoding is not None and getattr(reader, "binary", False):
        raise UsageError(f"an encoding has no meaning in {named}", "leave out --encoding")
    if options.patterns and reader.name not in {"tsv", "csv"}:
        raise UsageError(f"patterns of columns have no meaning in {named}", "leave out :/.../ in --columns")
    taken = getattr(reader, "takes", ())
    for name in sorted({name for other in READERS.values() for name in getattr(other, "takes", ())}):
        if getattr(options, name) is not None and name not in taken:
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag} has no meaning in {named}", f"leave out {flag}, or say --format")


def has_option(format: str, name: str) -> bool:
    """Return whether a format has this option of its own."""
    return format in READERS and name in getattr(READERS[format], "takes", ())


def _open(paths: Sequence[Path], options: ReadOptions) -> tuple[Source, Reader]:
    """Look into all files; those without any content are passed over if there are others."""
    files: list[SourceFile] = []
    pins: list[Pin] = []
    first: tuple[Head, Reader] | None = None
    for given, member, label in opened_archives(paths):
        # Files are read later, too, by workers elsewhere or after a program went to another folder.
        path = given.absolute()
        pinned = pinned_now(path, label)
        head = read_head(path, member, options.encoding)
        if head.whole and not head.data.strip():
            continue
        reader = _reader(head, label, options)
        if first is None:
            first = head, reader
        elif reader.name != first[1].name:
            raise InputError(
                f"{files[0].label!r} is {first[1].name} but {label!r} is {reader.name}",
                "read them one at a time, or say --format if they are of one kind",
            )
        try:
            files.append(as_source_file(head, label, text=not getattr(reader, "binary", False)))
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


def _numbered(options: ReadOptions) -> bool:
    """Columns by number in a file without a header."""
    return (
        bool(options.columns)
        and not options.header
        and all(as_number(at) is not None for at in (options.columns or {}).values())
    )


def _reader(head: Head, label: str, options: ReadOptions) -> Reader:
    if options.format is not None:
        return READERS[options.format]
    # What is no text says so in its first bytes.
    table = next(
        (one for one in READERS.values() if getattr(one, "binary", False) and one.matches(head)), None
    )
    if table is not None:
        return table
    if options.delimiter is not None:
        return READERS["tsv" if options.delimiter == "\t" else "csv"]
    if _numbered(options):
        # No header, so no single line may decide: the name does, or what nearly all of the first lines share.
        named = (reader for reader in READERS.values() if head.suffix in reader.suffixes)
        found = separator(head.lines, options, repr(label))
        return next(named, READERS["tsv" if found in (None, "\t") else "csv"])
    # A text may have rows with binary data, the first one too, but it does not consist of them.
    if not head.binary:
        for reader in READERS.values():
            if reader.matches(head):
                return reader
    if b"\0" in head.data:
        raise InputError(
            f"{label!r} is binary, and of no kind that is known",
            "give text or Parquet; text in UTF-16 without a byte order mark needs --encoding utf-16-le",
        )
    if len(head.lines) > 1 and separator(head.lines, options, repr(label)):
        raise InputError(f"no column of {label!r} has a usual name for the user and the query", WAY_OUT)
    raise InputError(
        f"the format of {label!r} is not recognised",
        f"say which it is with --format {'|'.join(READERS)}, and --delimiter if it is neither tab nor comma",
    )


def require_rows(staged: Staged, max_rejected: float, source: Source) -> None:
    """Stop if too much was rejected, or if nothing is left."""
    total = staged.rows + staged.rejected
    if not total:
        raise InputError(f"{source.files[0].label!r} holds no rows", "check that the export is complete")
    if staged.rejected <= max_rejected * total and staged.rows:
        return
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in staged.reasons.items())
    reason = next(iter(staged.reasons))
    # Tables that stay in their engine have no numbers of rows.
    first = f"; first: {staged.examples[0].file!r} line {staged.examples[0].line}" if staged.examples else ""
    why = f"more than {max_rejected:.4g} of all" if staged.rows else "so none is left"
    raise InputError(
        f"{staged.rejected:,} of {total:,} rows were rejected, {why} ({reasons}{first})",
        (staged.ways_out.get(reason) or _way_out(staged.format, reason))
        + (", or raise --max-rejected" if staged.rows else ""),
    )
