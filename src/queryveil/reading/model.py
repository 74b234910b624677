"""What a reader is given and what it hands back."""

from __future__ import annotations

import functools
import numbers
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import ClassVar, Protocol

from queryveil.errors import UsageError, instead
from queryveil.parameters import READING, param, validate
from queryveil.reading.encodings import resolve_encoding
from queryveil.reading.pinning import Pin

COLUMNS = ("user", "time", "query", "url", "rank", "session")
"""The standard columns, in the order in which they are staged; `user` and `query` are always there."""

SPELLED_NULL = ("NULL", "null", "Null", "\\N", "(null)", "<null>")
"""How databases write into a text that there is nothing; nobody is called so. A query stays as it was typed."""

NO_VALUE = ("", *SPELLED_NULL, "None", "none", "NaN", "nan", "N/A", "-")
"""What is no url, rank or session: nothing, null spelled out, and what programs and web servers write for it."""

CLICK_WITHOUT_USER = "click without user"
"""Why a click is rejected that names neither a user nor a client."""

LONGEST_TEXT = 1024 * 1024
"""Bytes that a user, query, url or session may have; a longer one is a bad row."""

_KINDS = {"format": str, "time_format": str, "delimiter": str, "header": bool, "max_rejected": numbers.Real}
"""Types of options that are not declared with `param`."""
_PATTERN = re.compile(r"\A([^:]+):/(.+)/\Z")
_COMPRESSED = {".gz", ".zst", ".gzip", ".zstd", ".bz2", ".xz"}

Progress = Callable[[int, int], None]
"""Called with bytes read so far and bytes in all, both as they lie on disk."""


@dataclass(frozen=True)
class Condition:
    """Rows in which a column of the source has this value, or has it not."""

    column: str
    value: str
    same: bool

    @classmethod
    def parsed(cls, text: str) -> Condition:
        """`COLUMN=VALUE` or `COLUMN!=VALUE`."""
        column, equals, value = text.partition("=")
        same = not column.endswith("!")
        column = column.removesuffix("!").strip()
        if not equals or not column:
            # The text is not repeated: it may be a query.
            raise UsageError("a condition is not COLUMN=VALUE", "write it like --where action=search")
        return cls(column, value, same)

    def sql(self, expression: str) -> str:
        """SQL for whether it holds of this expression; a value that is not there is another one."""
        quoted = "'" + self.value.replace("'", "''") + "'"
        return f"({expression} IS {'NOT ' if self.same else ''}DISTINCT FROM {quoted})"


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a log is to be read; what is left out is decided from the first lines, once for all files.

    Options that are declared with `param` become options of the command line. Those that only some formats have are
    named by these formats (`takes`), and refused in others.
    """

    format: str | None = None
    columns: Mapping[str, str | int] | None = None
    time_format: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    max_rejected: float = 0.05
    patterns: Mapping[str, str] = field(default_factory=dict)
    """Standard column -> a regular expression that finds its value in the source's column.

    Written into `columns` as well: `query=3:/\\[(.*)\\]/`.
    """
    encoding: str | None = param("encoding, such as utf-16, gb18030, latin-1", default=None, group=READING)
    null: tuple[str, ...] | None = param(
        "words that mean no value, in tsv, csv and jsonl",
        default=None,
        many=True,
        group=READING,
    )
    where: tuple[str, ...] | None = param(
        "only rows with COLUMN=VALUE or COLUMN!=VALUE, in tsv, csv and jsonl",
        default=None,
        many=True,
        group=READING,
    )
    sample_users: float | None = param(
        "about this share of users only",
        default=None,
        gt=0,
        le=1,
        group=READING,
    )
    segment: bool = param("cut Chinese, Japanese and Thai into words", default=False, group=READING)
    table: str | None = param("table or sheet, in sqlite, duckdb and excel", default=None, group=READING)
    click_actions: tuple[str, ...] | None = param(
        "actions that are clicks, in ubi and algolia",
        default=None,
        many=True,
        group=READING,
    )

    query_parameter: tuple[str, ...] | None = param(
        "parameters of the query, in access-log and solr", default=None, many=True, group=READING
    )
    query_path: str | None = param("its place in the path: /search/{query}", default=None, group=READING)
    user_field: str | None = param(
        "who is a user: in access-log ip-and-agent (default), ip, remote-user or a key; in solr a parameter; "
        "in ubi user_id or client_id; in algolia authenticatedUserToken or userToken",
        default=None,
        group=READING,
    )

    conditions: tuple[Condition, ...] = field(init=False, repr=False, default=())
    """What `where` says."""

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kind) and (value is not None or name == "max_rejected"):
                raise UsageError(
                    f"parameter {name!r} must be of type {kind.__name__.lower()}, not {type(value).__name__}",
                    f"correct {name}",
                )
        validate(self)
        if self.encoding is not None:
            object.__setattr__(self, "encoding", resolve_encoding(self.encoding))
        if not 0 <= self.max_rejected <= 1:  # NaN fails this too
            raise UsageError(
                f"the share of rejected rows must be between 0 and 1, got {self.max_rejected}",
                "give --max-rejected as a fraction, for example 0.05",
            )
        if self.columns is not None:
            apart = {name: _PATTERN.fullmatch(str(at)) for name, at in self.columns.items()}
            found = {name: one[2] for name, one in apart.items() if one is not None}
            object.__setattr__(self, "patterns", {**self.patterns, **found})
            places = {name: one[1] if one else self.columns[name] for name, one in apart.items()}
            object.__setattr__(self, "columns", places)
            _check_columns(places)
        for pattern in self.patterns.values():
            _check_pattern(pattern)
        object.__setattr__(self, "conditions", tuple(map(Condition.parsed, self.where or ())))
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\n\r\0'):
            raise UsageError(
                "the delimiter must be one character, and no quote or line end",
                "give it as is, for example --delimiter ';'",
            )


def _check_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error:
        groups = -1
    if groups not in (0, 1):
        raise UsageError(
            "a column's pattern must be a regular expression with at most one group",
            r"write it like --columns 'query=3:/\[(.*)\]/'",
        )


def _check_columns(columns: Mapping[str, str | int]) -> None:
    for name, at in columns.items():
        if name not in COLUMNS:
            raise UsageError(f"there is no column {name!r} in a search log", instead(name, COLUMNS))
        if (isinstance(at, int) and at < 1) or at == "0":
            raise UsageError(f"column {name!r} needs a name or a number from 1", "columns are counted from 1")
        if at == "" and name in ("user", "query"):
            raise UsageError(
                f"a log needs the column {name!r}", f"name it, or leave out {name}= to detect it"
            )


@dataclass(frozen=True)
class Rejection:
    """Where a row was kept aside and why; never what it said."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True)
class Staged:
    """A log as Parquet files in which the standard columns can be found."""

    files: tuple[Path, ...]
    names: Mapping[str, str]
    """Standard column -> its name in `files`; a column that the source lacks is missing."""
    direct: bool
    """Values are the source's own, in its types: read in place, or copied without the rejected rows."""
    rows: int
    empty_queries: int | None
    """Accepted rows without a query; None for `direct` files, whose texts are not read before they are counted."""
    rejected: int
    reasons: Mapping[str, int]
    examples: tuple[Rejection, ...]
    rejected_file: Path | None
    """All rejected rows with file, line, reason and text: for the curator only.

    A row may stand for several `lines`: blank ones, and, beyond the first million, those of one reason without text.
    """
    format: str
    dateless: bool = False
    """Some times have no date, which is noted; their date means nothing."""
    ways_out: Mapping[str, str] = field(default_factory=dict)
    """Reason -> what to do about it, where the reader knows more than the reason says."""
    pins: tuple[Pin, ...] = ()
    """The source's files as they were, where `files` are the source itself and will be read again."""
    searches: int | None = None
    """Searches that the source itself tells from clicks; None where a row may be both, and events are counted."""
    orphan_clicks: int | None = None
    """Clicks whose search is not in the source, where it tells them apart."""
    passed_over: Mapping[str, int] = field(default_factory=dict)
    """What was read and is neither a search nor a click, by what it is: impressions, pages, lines of a wrapping."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Standard column -> what the source calls it (a name, a number, or some words), where that is one thing."""
    ignored: tuple[str, ...] = ()
    """Columns of the source that are not read."""
    notes: tuple[str, ...] = ()
    """What a reader of figures must know of how they were read: a sentence each."""
    users: int | None = None
    """How many users the accepted rows have, where reading them found out."""
    labels: tuple[str, ...] = ()
    """How messages call `files`, where they are the source itself."""
    filled: frozenset[str] = frozenset()
    """Standard columns that have a value in some accepted row, for rows that were extracted from text."""


@dataclass(frozen=True)
class Head:
    """The beginning of one file, decompressed, from which format and columns are decided."""

    path: Path
    data: bytes
    compression: str | None
    whole: bool
    """`data` is all there is."""
    member: str | None = None
    """The file inside, if `path` is a zip archive."""
    encoding: str | None = None
    """How the file is encoded, if not in UTF-8; `data` is in UTF-8 in any case."""

    @property
    def suffix(self) -> str:
        """The last suffix once that of a compression is taken off, in lower case."""
        suffixes = [s.lower() for s in PurePosixPath(self.member or self.path.name).suffixes]
        while suffixes and suffixes[-1] in _COMPRESSED:
            suffixes.pop()
        return suffixes[-1] if suffixes else ""

    @functools.cached_property
    def lines(self) -> list[str]:
        """The non-blank lines that are complete and text; the only line, even if it was cut short.

        A line with a NUL byte is a bad row, which decides nothing.
        """
        return [text for text in self._texts() if "\0" not in text]

    @functools.cached_property
    def binary(self) -> bool:
        """Whether this is no text at all: most of its lines have a NUL byte."""
        texts = self._texts()
        return 2 * sum("\0" in text for text in texts) > len(texts)

    def _texts(self) -> list[str]:
        rows = self.data.split(b"\n")
        if not self.whole and len(rows) > 1:
            rows.pop()
        texts = (row.removesuffix(b"\r").decode("utf-8", "replace") for row in rows)
        return [text for text in texts if text.strip()]

    @property
    def first_line(self) -> str:
        return next(iter(self.lines), "")


@dataclass(frozen=True)
class SourceFile:
    path: Path
    label: str
    """How messages and rejected rows call this file: its name where that is enough."""
    compression: str | None
    first_line: str
    size: int = 0
    """Bytes on disk."""
    member: str | None = None
    """The file inside, if `path` is a zip archive."""
    encoding: str | None = None
    """How it is encoded, if not in UTF-8."""


@dataclass(frozen=True)
class Source:
    """The files of one log, all of one format, in the order in which they are read."""

    files: tuple[SourceFile, ...]
    head: Head
    """Of the first file."""
    pins: tuple[Pin, ...]
    """The files as they were before anything was read of them."""

    @property
    def size(self) -> int:
        """Bytes of all files, as they lie on disk."""
        return sum(one.size for one in self.files)


class Reader(Protocol):
    """One source format; registered by one line in `reading/formats/__init__.py`."""

    name: ClassVar[str]
    help: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    # A reader that has options of its own names them in `takes`, a tuple of fields of ReadOptions.

    def matches(self, head: Head) -> bool:
        """Whether this file looks like mine; readers are asked in the order of the registry."""
        ...

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        """Turn the source into Parquet files under `into`, every row either accepted or rejected."""
        ...
