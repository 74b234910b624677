"""The records of reading: options, files, formats, and what staging found."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from queryveil.errors import UsageError, argument, instead
from queryveil.parameters import READING, Declared, param, validate
from queryveil.reading.encodings import resolve_encoding
from queryveil.reading.pinning import Pin

COLUMNS = ("user", "time", "query", "url", "rank", "session")
"""The standard columns, in the order in which they are staged; `user` and `query` are always there."""

SPELLED_NULL = ("NULL", "null", "Null", "\\N", "(null)", "<null>")
"""How databases write a missing value into text, never a user. A query stays as it was typed."""

NO_VALUE = ("", *SPELLED_NULL, "None", "none", "NaN", "nan", "N/A", "-")
"""What is no url, rank or session: nothing, null spelled out, and what programs and web servers write for it."""

SEARCH, CLICK, ORPHAN_CLICK = "search", "click", "orphan click"
"""Roles of rows in formats that separate clicks from searches; an orphan click is one whose search is missing."""

LONGEST_TEXT = 1024 * 1024
"""Bytes that a user, query, url or session may have; a longer one is a bad row."""

_FIRST_LINES = 100
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
            raise UsageError(
                "a condition is not COLUMN=VALUE", f"write it like {argument('where', 'action=search')}"
            )
        return cls(column, value, same)

    def sql(self, expression: str) -> str:
        """SQL for whether it holds of this expression; a value that is not there is another one."""
        quoted = "'" + self.value.replace("'", "''") + "'"
        return f"({expression} IS {'NOT ' if self.same else ''}DISTINCT FROM {quoted})"


@dataclass(frozen=True, kw_only=True)
class ReadOptions(Declared):
    """How a log is to be read; what is left out is decided from the first lines, once for all files.

    Options that are declared with `param` become options of the command line. Those in `FORMAT_OPTIONS` are refused in
    formats that do not declare them.
    """

    format: str | None = param("format of the log; detected if left out", default=None, group=READING)
    columns: Mapping[str, str | int] | None = None
    time_format: str | None = param("how times are written, as for strptime", default=None, group=READING)
    header: bool | None = param("whether the first line names the columns", default=None, group=READING)
    delimiter: str | None = param("what separates columns", default=None, group=READING)
    max_rejected: float = param(
        "bad rows allowed", ge=0, le=1, default=0.05, group=READING, details="As a share of all rows"
    )
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
        validate(self)
        if self.delimiter == "\\t":  # as people type a tab
            object.__setattr__(self, "delimiter", "\t")
        if self.encoding is not None:
            object.__setattr__(self, "encoding", resolve_encoding(self.encoding))
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
                f"give it as is, for example {argument('delimiter', ';')}",
            )


FORMAT_OPTIONS = (
    *("delimiter", "patterns", "null", "where", "table"),
    *("click_actions", "query_parameter", "query_path", "user_field"),
)
"""Options that only formats take that declare them (`Format.options`)."""


_EXAMPLE = {"query": r"3:/\[(.*)\]/"}


def _check_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error:
        groups = -1
    if groups not in (0, 1):
        raise UsageError(
            "a column's pattern must be a regular expression with at most one group",
            f"write it like {argument('columns', _EXAMPLE)}",
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
    """Where a row was rejected and why; never its contents."""

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
    hints: Mapping[str, str] = field(default_factory=dict)
    """Reject reason -> the next step, where this log or its format tells more than the reason does."""
    pins: tuple[Pin, ...] = ()
    """The source's files as they were, where `files` are the source itself and will be read again."""
    searches: int | None = None
    """Searches that the source itself tells from clicks; None where a row may be both, and events are counted."""
    orphan_clicks: int | None = None
    """Clicks whose search is not in the source, where it tells them apart."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Number of lines or documents that are neither searches nor clicks, by what they are."""
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


def most_are(found: Iterable[bool]) -> bool:
    """Return whether more than half of these are true."""
    flags = list(found)
    return 2 * sum(flags) > len(flags)


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
        return [text for text in self._decoded_lines() if "\0" not in text]

    @property
    def first_lines(self) -> list[str]:
        """The lines from which a format is recognized."""
        return self.lines[:_FIRST_LINES]

    @functools.cached_property
    def binary(self) -> bool:
        """Whether this is no text at all: most of its lines have a NUL byte."""
        texts = self._decoded_lines()
        return 2 * sum("\0" in text for text in texts) > len(texts)

    def _decoded_lines(self) -> list[str]:
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


def _is_never(*_: Any) -> bool:
    return False


def _do_nothing(_: Any) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """How the lines or documents of one log become validated rows."""

    columns: Sequence[str]
    """The standard columns of the rows."""
    sql: str | Callable[[Any], str]
    """SQL over the table `chunk` that returns validated rows, or a function of the cursor that returns it.

    `chunk` has the columns of `lines.SCHEMA`, and what `transform` adds. `validation.validate_sql` makes the SQL. A row
    with a text in the column `skipped` is neither accepted nor rejected, and is counted under this text.
    """
    documents: bool = False
    """Files are split into JSON documents, and not into lines."""
    header: str | None = None
    """The header line, which a file may start with."""
    encoding: str | None = None
    """The encoding of files that are not in UTF-8, if their first lines tell it."""
    prepare: Callable[[Any], None] = _do_nothing
    """Prepares the connection before any row is read."""
    transform: Callable[[pa.Table], pa.Table] = lambda chunk: chunk
    """Returns the chunk with what SQL cannot compute. Called in one thread, in the order of the chunks."""
    combine: Sequence[str] = ()
    """SQL for rows that need other rows of their record.

    The rows of all chunks wait in the table `parsed`, in the order of the log. The last statement returns the rows.
    """
    separates_clicks: bool = False
    """Whether rows have a column `role`."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Standard column -> the source's name for it."""
    ignored: Sequence[str] = ()
    """Columns of the source that are not read."""
    times: Sequence[str] = ()
    """Values of the time column in the first lines, from which a format is suggested if times cannot be read."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """Reject reason -> the next step, where this log tells more than its format."""
    notes: Sequence[str] = ()
    dateless: bool = False
    """Some times have no date, and get one that means nothing."""
    check: Callable[[Staged], None] = _do_nothing
    """Refuses a log for what was found in it."""


@dataclass(frozen=True)
class OpenedTable:
    """A table of a file, with types of its own."""

    schema: Any
    """Names and types of the columns; types may be wrong, if those of the batches are right."""
    batches: Callable[[list[str]], Iterator[pa.RecordBatch]]
    """Returns the rows of these columns."""
    rows_above: int = 0
    """Rows of the file above the first row of the table, which count in row numbers."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """A source format. Each module of `reading/formats` declares one as `FORMAT`; `staging` runs all of them.

    Text has `extract`. A table with types of its own has `open_table`, which Parquet does not need.
    """

    name: str
    """The name of the module, with dashes."""
    help: str
    suffixes: tuple[str, ...] = ()
    recognize: Callable[[Head], bool]
    """Whether a file with this beginning is in this format."""
    precedence: int = 0
    """Formats with lower numbers are recognized first. Those that fit many files have the highest."""
    recognize_options: Callable[[Head, ReadOptions, str], bool] = _is_never
    """Whether the options decide for this format, given the beginning and the label of a file."""
    options: tuple[str, ...] = ()
    """Fields of `ReadOptions` that this format takes, of those in `FORMAT_OPTIONS`."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Standard column -> where it is. A format that declares this refuses `--columns`."""
    columns_hint: str = f"leave out {argument('columns')}"
    """The next step for a user who named columns."""
    extract: Callable[[Source, ReadOptions], Extraction] | None = None
    open_table: Callable[[Path, ReadOptions], OpenedTable] | None = None
    errors: Callable[[], tuple[type[Exception], ...]] = tuple
    """Exceptions of the library that opens tables; their texts are not repeated."""
    file_kind: str = ""
    """What a damaged file is said not to be."""
    can_split: Callable[[Source, ReadOptions], bool] = _is_never
    """Whether each file of a log can be read without the others."""
    has_encoded_queries: bool = False
    """Queries are percent-encoded, so that a named encoding applies only to those that are not UTF-8."""
    users_have_blanks: bool = False
    """Users are texts of several words, such as an address and a browser."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """Reject reason -> the next step."""
    notes: tuple[str, ...] = ()
    """What readers of figures must know: a sentence each."""

    @property
    def is_table(self) -> bool:
        """Whether files are tables with types, and not text."""
        return self.extract is None
