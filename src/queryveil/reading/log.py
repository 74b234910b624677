"""The search log: one lazy table of user, time, query, url, rank, session, on DuckDB or Spark.

`query` is normalised (see `text.py`), empty where nothing is left; `words` is the text that keywords
are cut from. Columns that the source lacks are absent. Everything here is lazy. Some things are looked for once, when
somebody first asks: which texts need more than ASCII rules, and how many users there are. Bad rows are found at once.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa

from queryveil.display import cards
from queryveil.display.cards import Card, counted
from queryveil.errors import InputError, Message, UsageError, argument, instead
from queryveil.files import workspace as workspaces
from queryveil.reading import by_workers, normal_form, raw_rows, segments
from queryveil.reading import engine as engines
from queryveil.reading.doubts import find_doubts
from queryveil.reading.engine import Engine
from queryveil.reading.lazy_tables import has_known_types, select_standard_columns, validate_table
from queryveil.reading.log_files import open_log, stage
from queryveil.reading.model import OpenedTable, Progress, ReadOptions, Staged
from queryveil.reading.pinning import require_unchanged
from queryveil.reading.tables import check_options, is_rows, stage_given_table, stage_opened_table
from queryveil.reading.typed_tables import columns_of

if TYPE_CHECKING:
    import ibis.expr.types as ir

SESSION_GAP_MINUTES = 30
COLUMNS = ("user", "time", "query", "url", "rank", "session")
_RAW = ("user", "query")


@dataclass(kw_only=True)
class _Scans:
    """Results of scans of one log. `dataclasses.replace` gives a part of a log a new, empty one."""

    fingerprint: Mapping[str, Any] | None = None
    """The fingerprint of users and queries, if all rows were read."""


@dataclass(frozen=True, repr=False)
class SearchLog:
    """A search log ready to count. Make one with `queryveil.read`."""

    source: ir.Table = field(repr=False)
    """The rows before normalisation, for what needs no text."""
    engine: Engine
    session_gap_minutes: int = SESSION_GAP_MINUTES
    staged: Staged | None = None
    """What reading it found: rows, rejected rows and why; None for a part of a log."""
    workspace: Path | None = field(default=None, repr=False)
    segmented: bool = False
    """Whether words of scripts without blanks are found by a dictionary."""
    normal: ir.Table | None = field(default=None, repr=False)
    """Rows in normal form, for a log that has others than `source`: one that was filtered, or put aside."""
    _whole: SearchLog | None = field(default=None, repr=False)
    """The log that this one is a part of; kept, because its files are needed as long as the part is."""

    _scans: _Scans = field(default_factory=_Scans, init=False, repr=False, compare=False)

    @functools.cached_property
    def table(self) -> ir.Table:
        """The rows in normal form. Texts beyond ASCII are looked for the first time that somebody asks."""
        if self.normal is not None:
            return self.normal
        cut = segments.cutter() if self.segmented else None
        with self.unchanged():
            foreign = normal_form.foreign(self.source, self.engine, self.workspace, cut)
            return normal_form.normalised(self.source, self.engine, foreign)

    @property
    def is_as_read(self) -> bool:
        """Whether `table` is `source` in normal form, row by row; whoever filters a log puts others in place."""
        return self.normal is None

    @property
    def columns(self) -> tuple[str, ...]:
        rows = self.source if self.normal is None else self.normal
        return tuple(column for column in COLUMNS if column in rows.columns)

    def need(self, column: str, why: str) -> None:
        """Refuse what this log has no column for."""
        if column not in self.columns:
            raise InputError(
                f"{why} needs a '{column}' column, and the log has none",
                f"name it with {argument('columns', {str(column): '...'})}",
            )

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Refuse, at the beginning and at the end, files that are read where they lie and are no longer the same."""
        pins = self.staged.pins if self.staged is not None else ()
        require_unchanged(pins)
        try:
            yield
        except InputError:
            require_unchanged(pins)  # a file that changes may fail in many ways, for this one reason
            raise
        require_unchanged(pins)

    def between(self, start: datetime.datetime, end: datetime.datetime) -> SearchLog:
        """The rows from one moment (UTC) to before another, as a log of their own: sessions are cut at both."""
        self.need("time", "a part of a log")

        def inside(table: ir.Table) -> ir.Table:
            return table.filter(table["time"] >= start, table["time"] < end)

        return replace(self, normal=inside(self.table), source=inside(self.source), staged=None, _whole=self)

    @functools.cached_property
    def users(self) -> int:
        """Everyone with at least one accepted row, an empty query included."""
        if self.staged is not None and self.staged.users is not None and self.is_as_read:
            return self.staged.users
        groups = self.source.group_by("user").aggregate()
        return int(self.engine.arrow(groups.aggregate(n=groups.count()))["n"][0].as_py())

    @functools.cached_property
    def notes(self) -> tuple[str, ...]:
        """What to know of how the log was read, and what looks as if it had been read wrongly."""
        with self.unchanged():
            doubts = find_doubts(
                self.source, lambda: self.queries, self.engine, self.staged, segmented=self.segmented
            )
            return tuple(map(Message, (*(self.staged.notes if self.staged else ()), *doubts)))

    @functools.cached_property
    def rows(self) -> int:
        if self.staged is not None:
            return self.staged.rows
        return int(self.engine.arrow(self.source.aggregate(n=self.source.count()))["n"][0].as_py())

    def fingerprint(self, *columns: str) -> dict[str, Any]:
        """Tells one log from another by these columns, two at least, whatever the order of its rows.

        Engines hash in ways of their own, which versions may change: one is comparable with those of its `engine`.
        """
        if columns == _RAW and self.engine.inside:
            if self._scans.fingerprint is None:
                deque(self.raw_rows(), maxlen=0)
            return dict(self._scans.fingerprint or {})
        first, *others = [self.source[column].cast("string").fill_null("") for column in columns]
        other = functools.reduce(lambda one, more: one + ibis.literal("\x1f") + more, others)
        part = (self.engine.keyed_hash("", first, other) % 2**31).cast("int64")
        mixed = self.source.select(part=part)
        total = mixed.aggregate(rows=mixed.count(), sum=mixed["part"].sum())
        found = self.engine.arrow(total).to_pylist()[0]
        by = f"{self.engine.name} {self.engine.con.version}"
        return {"rows": found["rows"], "sum": int(found["sum"] or 0), "engine": by}

    def raw_rows(self) -> Iterator[pa.RecordBatch]:
        """User and query of every row as it was read, a query that is null as an empty one.

        A user may stand as a number in a dictionary. Whoever goes to the end leaves the fingerprint of both behind, so
        that rows are not gone over again for it.
        """
        found = raw_rows.Fingerprint()
        yield from found.on_the_way(self._raw_batches())
        self._scans.fingerprint = found.told()

    def _raw_batches(self) -> Iterator[pa.RecordBatch]:
        # Arrow reads two columns of a file with half the work. Rows have no say: it is by how the log was given.
        files = raw_rows.opened(self.staged, _RAW) if self.is_as_read and self.staged is not None else None
        if files is not None:
            return raw_rows.batches(files)
        return self.engine.batches(self.raw_table)

    @property
    def raw_table(self) -> ir.Table:
        """User and query of every row as it was read, a query that is null as an empty one."""
        return self.source.select("user", query=self.source["query"].fill_null(""))

    @property
    def queries(self) -> ir.Table:
        """The rows that have a query."""
        return self.table.filter(self.table["query"] != "")

    def sessions(self) -> ir.Table:
        """All rows, with `session` filled: the source's own, or cut where a gap exceeds the limit."""
        self.need("time", "cutting sessions")
        rows = self.table
        own = "session" in rows.columns
        keys = ["user", "session"] if own else ["user"]
        window = ibis.window(group_by=keys, order_by=rows["time"])
        previous = rows["time"].lag().over(window)
        limit = ibis.interval(minutes=self.session_gap_minutes)
        rows = rows.mutate(starts=ibis.ifelse(rows["time"] > previous + limit, 1, 0))
        # A range takes in all rows of one time: the order of ties, which engines choose, does not matter.
        so_far = ibis.range_window(preceding=None, following=0, group_by=keys, order_by=rows["time"])
        number = rows["starts"].sum().over(so_far)
        cut = ibis.literal("cut ") + number.cast("string")
        session = ibis.coalesce(ibis.literal("own ") + rows["session"], cut) if own else cut
        return rows.mutate(session=session).drop("starts")

    def events(self) -> ir.Table:
        """Query events: distinct (user, session, time, query) with a query, so that clicks count once."""
        rows = self.sessions()
        return rows.filter(rows["query"] != "").select("user", "session", "time", "query").distinct()

    def _card(self) -> Card:
        return _card(self)

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


def read(
    log: str | Path | Sequence[str | Path] | Any,
    *,
    engine: str | Engine = "duckdb",
    columns: Mapping[str, str | int] | None = None,
    session_gap_minutes: int = SESSION_GAP_MINUTES,
    progress: Progress | None = None,
    **options: Any,
) -> SearchLog:
    """Read a log from files (path, folder, glob, or a list of them), or take a table.

    A table is a data frame (pandas, polars), a list of dicts, anything of Arrow, a DuckDB relation, an Ibis table or a
    Spark DataFrame. Tables of Spark stay there; others are copied.
    `options` are those of `ReadOptions`: format, time_format, header, delimiter, max_rejected, encoding and others.
    """
    if not isinstance(session_gap_minutes, int) or session_gap_minutes < 1:
        raise UsageError(
            f"parameter 'session_gap_minutes' must be an int >= 1; got {session_gap_minutes!r}",
            f"pass {argument('session_gap_minutes', 30)}",
        )
    known = [one.name for one in fields(ReadOptions) if one.init]
    if unknown := [name for name in options if name not in known]:
        raise UsageError(f"read has no argument {unknown[0]!r}", instead(unknown[0], known))
    chosen = ReadOptions(columns=columns, **options)
    # Named before it is made, so that an interruption at any point finds it.
    workspace = workspaces.new_name()
    try:
        workspaces.make_folder(workspace)
        staged: Staged | None
        runs_on: Engine
        if (spread := _cluster_engine(log, engine, workspace)) is not None:
            runs_on = spread
            table, staged = _by_workers(log, chosen, spread, workspace)
        elif (found := _in_files(log, chosen, engine, workspace, progress)) is not None:
            table, staged, runs_on = found
        else:
            table, staged, runs_on = _lazy_table(log, chosen, workspace)
        if share := chosen.sample_users:
            table = _sample_users(table, runs_on, share)
            staged = _of_sample(staged, table, runs_on, share)
        if chosen.segment:
            segments.cutter()  # refused here if it is not installed
        made = SearchLog(
            source=table,
            engine=runs_on,
            session_gap_minutes=session_gap_minutes,
            staged=staged,
            workspace=workspace,
            segmented=chosen.segment,
        )
        weakref.finalize(made, workspaces.remove_folder, workspace)
    except BaseException:
        workspaces.remove_folder(workspace)
        raise
    return made


def as_log(log: SearchLog | Any, **options: Any) -> SearchLog:
    """The log itself, or what `read` makes of a path, a list of paths or a table."""
    return log if isinstance(log, SearchLog) else read(log, **options)


def _sample_users(table: ir.Table, engine: Engine, share: float) -> ir.Table:
    """The rows of some users: who they are depends on each user's own name alone, and on no engine."""
    below = min(int(share * 16**8), 16**8 - 1)
    return table.filter(engine.sha256(table["user"]).substr(0, 8).lower() <= f"{below:08x}")


def _of_sample(staged: Staged | None, table: ir.Table, engine: Engine, share: float) -> Staged | None:
    """What was read, but for the figures that are of all users."""
    if staged is None:
        return None
    rows = int(engine.arrow(table.aggregate(n=table.count()))["n"][0].as_py())
    if not rows:
        raise InputError("no user is in the sample", f"raise {argument('sample_users')}")
    note = f"a sample of about {share:.3g} of all users ({argument('sample_users')}); rejected rows are those of all"
    return replace(
        staged,
        files=(),  # they have the rows of all
        labels=(),
        rows=rows,
        users=None,
        empty_queries=None,
        searches=None,
        orphan_clicks=None,
        notes=(*staged.notes, note),
    )


def _choose_engine(given: str | Engine, workspace: Path, reads: Sequence[Path] = ()) -> Engine:
    """Return the given engine, or a new engine of that name, which can open only these files."""
    return given if isinstance(given, Engine) else engines.connect(given, spill=workspace, reads=reads)


def _is_files(log: Any) -> bool:
    return isinstance(log, str | Path) or (isinstance(log, Sequence) and not is_rows(log))


def _cluster_engine(log: Any, engine: str | Engine, workspace: Path) -> engines.Spark | None:
    """The engine, if it has workers elsewhere and the log is files, which they read."""
    if not _is_files(log) or not (isinstance(engine, engines.Spark) or str(engine).startswith("spark://")):
        return None
    found = _choose_engine(engine, workspace)
    return found if isinstance(found, engines.Spark) and found.spread else None


def _by_workers(
    log: Any, options: ReadOptions, engine: engines.Spark, workspace: Path
) -> tuple[ir.Table, Staged]:
    """Files that the workers of a cluster read: Parquet as it lies there, if its types say how; else by our readers."""
    source, format = open_log(log, options, workspace)
    files = [one.path for one in source.files]
    if format.name == "parquet":
        whole = engine.read_parquet(files)
        names = columns_of([str(name) for name in whole.columns], options, repr(source.files[0].label))
        if has_known_types(whole, names):
            ignored = [name for name in whole.columns if name not in names.values()]
            rows = select_standard_columns(whole, names, engine, validates=True)
            table, staged = validate_table(rows, engine, names, ignored, options, workspace)
            return table, replace(staged, format=format.name, pins=source.pins)
    table, staged = by_workers.read(log, options, engine, workspace)
    return select_standard_columns(table, staged.names, engine), replace(staged, format=format.name)


def _in_files(
    log: Any, options: ReadOptions, engine: str | Engine, workspace: Path, progress: Progress | None
) -> tuple[ir.Table, Staged, Engine] | None:
    """The rows of files, and of tables of this process, on an engine; None for what stays in its own."""
    if _is_spark_table(log):
        return None
    staged = _stage_log(log, options, workspace, progress)
    if staged is None:
        return None
    runs_on = _choose_engine(engine, workspace, staged.files)
    source = runs_on.read_parquet(staged.files, list(staged.names.values()))
    return select_standard_columns(source, staged.names, runs_on), staged, runs_on


def _stage_log(log: Any, options: ReadOptions, workspace: Path, progress: Progress | None) -> Staged | None:
    """Files, and tables of this process, as Parquet; None for what is neither."""
    if _is_files(log):
        return stage(log, options, workspace, progress)
    return stage_given_table(log, options, workspace)


def _is_spark_table(given: Any) -> bool:
    """Whether this is a table of Spark, which stays there: a DataFrame, or an Ibis table."""
    import ibis.expr.types as ir

    if isinstance(given, ir.Table):
        return any(backend.name == "pyspark" for backend in given._find_backends()[0])
    return hasattr(given, "sparkSession")


def _lazy_table(given: Any, options: ReadOptions, workspace: Path) -> tuple[ir.Table, Staged, Engine]:
    """Return a table of Spark with the standard columns; it is copied if its types do not say how to read it."""
    if not _is_spark_table(given):
        raise UsageError(
            f"a log cannot be a {type(given).__name__}",
            "pass a path, a folder, a glob, a data frame, a list of dicts, or a table of Arrow, DuckDB, Ibis or Spark",
        )
    check_options(options)
    source, runs_on = _spark_table(given)
    names = columns_of([str(name) for name in source.columns], options, "the table")
    if not has_known_types(source, names):
        opened = OpenedTable(source.schema(), lambda columns: runs_on.batches(source.select(*columns)))
        copied = stage_opened_table(opened, options, workspace)
        rows = runs_on.read_parquet(copied.files, list(copied.names.values()))
        return select_standard_columns(rows, copied.names, runs_on), copied, runs_on
    ignored = [name for name in source.columns if name not in names.values()]
    table, staged = validate_table(
        select_standard_columns(source, names, runs_on, validates=True),
        runs_on,
        names,
        ignored,
        options,
        workspace,
    )
    return table, staged, runs_on


def _spark_table(given: Any) -> tuple[ir.Table, engines.Spark]:
    if hasattr(given, "sparkSession"):
        runs_on = engines.Spark(ibis.pyspark.connect(given.sparkSession))
        return runs_on.table(given), runs_on
    return given, engines.Spark(given.get_backend())


def _card(log: SearchLog) -> Card:
    staged = log.staged
    rows = staged.rows if staged else log.__dict__.get("rows")
    users = (staged.users if staged and log.is_as_read else None) or log.__dict__.get("users")
    sizes = [counted(many, noun) for many, noun in ((rows, "row"), (users, "user")) if many is not None]
    line = "; ".join([", ".join(sizes) or "rows not counted yet", f"columns {', '.join(log.columns)}"])
    facts: list[tuple[str, object]] = [
        (name, value) for name, value in (("rows", rows), ("users", users)) if value is not None
    ]
    if staged:
        facts += [("rejected rows", staged.rejected), ("format", staged.format)]
    read = dict(staged.mapping) if staged else {}
    facts.append(
        ("columns", ", ".join(f"{one} (from {read[one]})" if one in read else one for one in log.columns))
    )
    facts.append(("engine", log.engine.name))
    words = (
        "Rows are not shown here: they are people's searches. queryveil.inspect(log) says what they hold.",
        *(f"Note: {Message(note)}" for note in (staged.notes if staged else ())),
    )
    return Card("Search log", f"{line}; engine {log.engine.name}", facts, words)
