"""The search log: one lazy table of user, time, query, url, rank, session, on any engine.

`query` is normalised (see `text.py`), empty where nothing is left; `words` is the text that keywords
are cut from. Columns that the source lacks are absent. Everything here is lazy but for the two things that
must be known first: which texts need more than ASCII rules, and how many users there are.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.errors import InputError, UsageError
from queryveil.files import workspace as workspaces
from queryveil.reading import engine as engines
from queryveil.reading import text
from queryveil.reading.engine import Engine
from queryveil.reading.formats import (
    NO_VALUE,
    SPELLED_NULL,
    Progress,
    ReadOptions,
    Staged,
    require_unchanged,
    stage,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

SESSION_GAP_MINUTES = 30
COLUMNS = ("user", "time", "query", "url", "rank", "session")
TEXTS = ("user", "query", "url", "session")
_TYPES = {"user": "string", "query": "string", "url": "string", "rank": "int32", "session": "string"}
_FOREIGN = pa.schema([("raw", pa.string()), ("normal", pa.string()), ("words", pa.string())])


@dataclass(frozen=True)
class SearchLog:
    """A search log ready to count. Make one with `queryveil.read`."""

    table: ir.Table
    source: ir.Table = field(repr=False)
    """The same rows before normalisation, for what needs no text."""
    engine: Engine
    session_gap_minutes: int = SESSION_GAP_MINUTES
    staged: Staged | None = None
    """What reading it found: rows, rejected rows and why. None for tables that were handed over."""
    workspace: Path | None = field(default=None, repr=False)
    _foreign: ir.Table | None = field(default=None, repr=False)
    """The texts beyond ASCII, with their normal forms and words; None if there are none."""
    _as_read: tuple[ir.Table, ir.Table] | None = field(default=None, repr=False)
    """`table` and `source` as they were read."""

    @property
    def is_as_read(self) -> bool:
        """Whether `table` is still `source` in normal form, row by row; whoever filters a log puts others in place."""
        read = self._as_read
        return read is not None and read[0] is self.table and read[1] is self.source

    def changed_by_normal_form(self, raw: ir.Table) -> ir.Table:
        """Of queries as `source` has them, those that may be in another form, with `query` in normal form."""
        if not self.is_as_read:
            raise TypeError("only a log as it was read knows the normal form of its source")
        # What is beyond ASCII matches too, so all others are in normal form.
        return _normalised(
            raw.filter(raw["query"].re_search(text.NOT_NORMAL_ASCII)), self.engine, self._foreign
        )

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column for column in COLUMNS if column in self.table.columns)

    def need(self, column: str, why: str) -> None:
        """Refuse what this log has no column for."""
        if column not in self.table.columns:
            raise InputError(
                f"{why} needs a '{column}' column, and the log has none",
                f"name it with --columns {column}=...",
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

    @functools.cached_property
    def users(self) -> int:
        """Everyone with at least one accepted row, an empty query included."""
        groups = self.source.group_by("user").aggregate()
        return int(self.engine.arrow(groups.aggregate(n=groups.count()))["n"][0].as_py())

    @functools.cached_property
    def rows(self) -> int:
        if self.staged is not None:
            return self.staged.rows
        return int(self.engine.arrow(self.source.aggregate(n=self.source.count()))["n"][0].as_py())

    def fingerprint(self, *columns: str) -> dict[str, Any]:
        """Tells one log from another by these columns, two at least, whatever the order of its rows.

        Engines hash in ways of their own, which versions may change: one is comparable with those of its `engine`.
        """
        first, *others = [self.source[column].cast("string").fill_null("") for column in columns]
        other = functools.reduce(lambda one, more: one + ibis.literal("\x1f") + more, others)
        mixed = self.source.select(part=self.engine.keyed_hash("", [first, other]) % 2**31)
        total = mixed.aggregate(rows=mixed.count(), sum=mixed["part"].cast("int64").sum())
        found = self.engine.arrow(total).to_pylist()[0]
        made_by = f"{self.engine.name} {self.engine.con.version}"
        return {"rows": found["rows"], "sum": int(found["sum"] or 0), "engine": made_by}

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


def read(
    log: str | Path | Sequence[str | Path] | Any,
    *,
    engine: str | Engine = "duckdb",
    columns: Mapping[str, str | int] | None = None,
    session_gap_minutes: int = SESSION_GAP_MINUTES,
    progress: Progress | None = None,
    **options: Any,
) -> SearchLog:
    """Read a log from files (path, folder, glob), or take an Ibis table, Arrow table or Spark DataFrame.

    `options` are those of `ReadOptions`: format, time_format, header, delimiter, max_rejected, encoding and others.
    """
    if not isinstance(session_gap_minutes, int) or session_gap_minutes < 1:
        raise UsageError(
            f"parameter 'session_gap_minutes' must be an int >= 1; got {session_gap_minutes!r}",
            "pass --session-gap-minutes 30",
        )
    # Named before it is made, so that an interruption at any point finds it.
    workspace = workspaces.new_name()
    try:
        workspaces.make(workspace)
        if isinstance(log, (str, Path)) or (isinstance(log, Sequence) and not isinstance(log, pa.Table)):
            staged = stage(log, ReadOptions(columns=columns, **options), workspace, progress)
            runs_on = _engine(engine, workspace, staged.files)
            source = runs_on.read_parquet(staged.files, list(staged.names.values()))
            table = _standard(source, staged.names, runs_on, clean=True)
        else:
            staged = None
            source, runs_on = _table(log, engine, workspace)
            names = {name: str(column) for name, column in (columns or _same(source.columns)).items()}
            table = _standard(source, names, runs_on, clean=False)
        if share := ReadOptions(columns=columns, **options).sample_users:
            table = _sampled(table, runs_on, share)
            staged = _of_sample(staged, table, runs_on, share)
        foreign = _foreign(table, runs_on, workspace)
        normal = _normalised(table, runs_on, foreign)
        made = SearchLog(
            table=normal,
            source=table,
            engine=runs_on,
            session_gap_minutes=session_gap_minutes,
            staged=staged,
            workspace=workspace,
            _foreign=foreign,
            _as_read=(normal, table),
        )
        weakref.finalize(made, workspaces.remove, workspace)
    except BaseException:
        workspaces.remove(workspace)
        raise
    return made


def _sampled(table: ir.Table, engine: Engine, share: float) -> ir.Table:
    """The rows of some users: who they are depends on each user's own name alone, and on no engine."""
    below = min(int(share * 16**8), 16**8 - 1)
    return table.filter(engine.sha256(table["user"]).substr(0, 8).lower() <= f"{below:08x}")


def _of_sample(staged: Staged | None, table: ir.Table, engine: Engine, share: float) -> Staged | None:
    """What was read, but for the figures that are of all users."""
    if staged is None:
        return None
    rows = int(engine.arrow(table.aggregate(n=table.count()))["n"][0].as_py())
    if not rows:
        raise InputError("no user is in the sample", "raise --sample-users")
    note = f"a sample of about {share:.3g} of all users (--sample-users); rejected rows are those of all"
    return dataclasses.replace(
        staged, rows=rows, empty_queries=None, searches=None, orphan_clicks=None, notes=(*staged.notes, note)
    )


def _engine(given: str | Engine, workspace: Path, files: Sequence[Path] = ()) -> Engine:
    """An engine that was given, or one of that name for this log alone."""
    return given if isinstance(given, Engine) else engines.connect(given, spill=workspace, reads=files)


def _same(found: Sequence[str]) -> dict[str, str]:
    return {name: name for name in COLUMNS if name in found}


def _table(given: Any, engine: str | Engine, workspace: Path) -> tuple[ir.Table, Engine]:
    import ibis.expr.types as ir

    if isinstance(given, ir.Table):
        return given, engines.of_backend(given.get_backend())
    if isinstance(given, pa.Table):
        file = workspace / "given.parquet"
        pq.write_table(given, file)
        runs_on = _engine(engine, workspace)
        return runs_on.read_parquet([file]), runs_on
    if hasattr(given, "sparkSession"):
        spark = engines.Spark(ibis.pyspark.connect(given.sparkSession))
        return spark.table(given), spark
    raise UsageError(
        f"a log cannot be a {type(given).__name__}",
        "pass a path, a folder, a glob, an Ibis table, an Arrow table or a Spark DataFrame",
    )


def _standard(source: ir.Table, names: Mapping[str, str], engine: Engine, *, clean: bool) -> ir.Table:
    """Our columns with our types, compared byte by byte; rows without a user or a readable time are left out."""
    for needed in ("user", "query"):
        if needed not in names:
            raise InputError(f"the log has no '{needed}' column", f"name it with --columns {needed}=...")
    lost = [column for column in names.values() if column not in source.columns]
    if lost:
        raise InputError(
            f"the log has no column '{lost[0]}'", f"it has: {', '.join(map(str, source.columns))}"
        )
    chosen = {name: source[column] for name, column in names.items()}
    for name, kind in _TYPES.items():
        if name in chosen and str(chosen[name].type()).lstrip("!") != kind:
            chosen[name] = chosen[name].cast(kind)
    if "time" in chosen and not (
        chosen["time"].type().is_timestamp() and chosen["time"].type().timezone is None
    ):
        chosen["time"] = chosen["time"].cast("timestamp")
    # The one gate: behind it two texts are the same only if their bytes are, whatever the source declared.
    table = engine.exact_texts(source.select(**chosen), [name for name in TEXTS if name in chosen])
    if not clean:
        good = table["user"].notnull()
        for word in ("", *SPELLED_NULL):
            good &= table["user"] != word
        if "time" in chosen:
            good &= table["time"].notnull()
        table = table.filter(good)
    texts = {name: table[name] for name in ("url", "session") if name in chosen}
    # Case by case: DuckDB makes a join of a long list of words, which costs more.
    words = [(word, ibis.null("string")) for word in NO_VALUE]
    known = {name: one.cases(*words, else_=one) for name, one in texts.items()}
    return table.mutate(**known) if known else table


def _foreign(table: ir.Table, engine: Engine, workspace: Path) -> ir.Table | None:
    """Every text beyond ASCII, mapped once to its normal form and words; None if there is none."""
    raw = table["query"]
    texts = table.filter(raw.notnull() & ~engine.is_ascii(raw)).select(raw=raw).distinct()
    mapping = _write_foreign(engine, texts, workspace / "foreign.parquet")
    return None if mapping is None else engine.read_parquet([mapping])


def _normalised(table: ir.Table, engine: Engine, known: ir.Table | None) -> ir.Table:
    """The table with `query` in normal form and `words`, the text that keywords are cut from.

    ASCII goes by an expression; other texts are mapped once each and looked up. ASCII rows look up a null, which
    costs nothing.
    """
    raw = table["query"]
    if known is None:
        return table.mutate(query=_ascii_normal(raw)).mutate(words=ibis._["query"])
    keyed = table.mutate(foreign=ibis.ifelse(engine.is_ascii(raw), ibis.null("string"), raw))
    joined = keyed.left_join(known, keyed["foreign"] == known["raw"])
    plain = _ascii_normal(joined["query"])
    return joined.mutate(
        query=joined["normal"].fill_null(plain), words=joined["words"].fill_null(plain)
    ).select(*table.columns, "words")


def _ascii_normal(raw: ir.StringValue) -> ir.StringValue:
    bare = raw.re_replace(text.ASCII_CONTROL, "").re_replace(text.ASCII_SPACE, " ").lower()
    bare = bare.re_extract(text.ASCII_UNQUOTED, 1).fill_null("")
    # Most rows are in normal form already: one test instead of four changes.
    return ibis.cases((raw.isnull(), ""), (raw.re_search(text.NOT_NORMAL_ASCII), bare), else_=raw)


def _write_foreign(engine: Engine, texts: ir.Table, file: Path) -> Path | None:
    """Map every text beyond ASCII once, in a stream, to its normal form and words; None if there is none."""
    writer = None
    for batch in engine.batches(texts):
        raw = batch.column("raw").to_pylist()
        if not raw:
            continue
        normal = [text.normalise(one) for one in raw]
        words = [" ".join(text.keywords(one)) for one in normal]
        columns = [pa.array(part, pa.string()) for part in (raw, normal, words)]
        writer = writer or pq.ParquetWriter(file, _FOREIGN)
        writer.write_batch(pa.record_batch(columns, schema=_FOREIGN))
    if writer is None:
        return None
    writer.close()
    return file
