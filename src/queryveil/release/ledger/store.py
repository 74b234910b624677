"""The ledger's database: a SQLite file, or a server named by a URL; transactions, and errors without secrets."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from queryveil.errors import InputError, OutputError, UsageError, without_secrets
from queryveil.files import output

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine, MetaData, Table

# Written into the header of a SQLite file, so that no other program's database is taken for a ledger.
_APPLICATION_ID = 0x51564C47
_FORMAT_VERSION = 3
_UNSEALED = 1
"""The format before rows had seals: it is read, and the next row that is written seals all that are there."""
_WITHOUT_SHIFTS = 2
"""The format before events had mu and p: it is read, and the next row that is written adds the columns."""

# Two charges at once must take turns, and events must stay; that is shown for these only.
_TESTED = ("sqlite",)


class Tables(NamedTuple):
    metadata: MetaData
    budgets: Table
    events: Table
    seals: Table


@cache
def tables() -> Tables:
    from sqlalchemy import Column, ForeignKey, Integer, MetaData, Table, Text

    metadata = MetaData()
    # Numbers are text: the decimals that were asked for, which no engine may round.
    budgets = Table(
        "queryveil_budgets",
        metadata,
        Column("source", Text, primary_key=True),
        Column("neighbours", Text, nullable=False),
        Column("epsilon", Text, nullable=False),
        Column("delta", Text, nullable=False),
        Column("opened", Text, nullable=False),
    )
    events = Table(
        "queryveil_events",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("source", Text, ForeignKey(budgets.c.source), nullable=False, index=True),
        Column("time", Text, nullable=False),
        Column("method", Text, nullable=False),
        Column("headline", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("epsilon", Text),
        Column("delta", Text),
        Column("mu", Text),
        Column("p", Text),
        sqlite_autoincrement=True,
    )
    # A seal for each row of the others: the budget of a source is its row 0, its events are 1, 2, ...
    seals = Table(
        "queryveil_seals",
        metadata,
        Column("source", Text, primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("terms", Text, nullable=False),
        Column("digest", Text, nullable=False),
    )
    return Tables(metadata, budgets, events, seals)


_SQLITE_MARKS = ("application_id", "user_version")


def _sqlite_marks() -> Iterator[str]:
    """Mark the file as a ledger of this format."""
    yield f"PRAGMA application_id = {_APPLICATION_ID}"
    yield f"PRAGMA user_version = {_FORMAT_VERSION}"


def _append_only(table: Table, *keys: str) -> Iterator[str]:
    """Let nobody change or take away a row, whatever program opens the file."""
    stop = "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    for act in ("UPDATE", "DELETE"):
        yield f"CREATE TRIGGER {table.name}_no_{act.lower()} BEFORE {act} ON {table.name} {stop}"
    # INSERT OR REPLACE takes a row away without any DELETE trigger.
    same = " AND ".join(f"{key} = NEW.{key}" for key in keys)
    taken = f"EXISTS (SELECT 1 FROM {table.name} WHERE {same})"  # noqa: S608 (our own names)
    yield f"CREATE TRIGGER {table.name}_no_replace BEFORE INSERT ON {table.name} WHEN {taken} {stop}"


class Store:
    """Where the rows of a ledger are kept."""

    def __init__(self, address: str, wait: float) -> None:
        """`wait`: how many seconds to wait for another process that is charging."""
        self._address = address
        self._wait = wait
        self._name = ""
        if not address or "\0" in address:
            raise UsageError("a ledger needs the name of a file or a database URL", "pass --ledger FILE")

    @cached_property
    def _path(self) -> Path | None:
        """The SQLite file, or None for a database server."""
        if "://" not in self._address:
            return Path(self._address)
        if self._url.get_backend_name() not in _TESTED:
            raise UsageError("a ledger is a SQLite file for now", "pass a path, or sqlite:///path")
        more = any(sign in self._address for sign in "@?;#")
        if not self._url.database or self._url.database == ":memory:" or more:
            raise UsageError("a SQLite ledger must be a plain file", "pass a path, or sqlite:///path")
        return Path(self._url.database)

    @cached_property
    def _url(self) -> URL:
        import sqlalchemy

        try:
            return sqlalchemy.make_url(self._address)
        except (sqlalchemy.exc.ArgumentError, ValueError):
            # The address may hold a password, so it is not repeated.
            raise UsageError(
                "the address of the ledger is not a database URL",
                "pass a path, or postgresql://host/database",
            ) from None

    @cached_property
    def _engine(self) -> Engine:
        import sqlalchemy

        if self._path is not None:
            return sqlalchemy.create_engine(
                "sqlite://", creator=self._connect_sqlite, poolclass=sqlalchemy.NullPool
            )
        try:
            return sqlalchemy.create_engine(self._url, poolclass=sqlalchemy.NullPool)
        except (sqlalchemy.exc.SQLAlchemyError, ImportError):
            raise UsageError(
                f"no driver is installed for {self._url.drivername} databases",
                "pip install 'queryveil[postgres]', or use a file",
            ) from None

    def _connect_sqlite(self) -> sqlite3.Connection:
        # mode=rw: a missing file is an error, not an empty ledger with a fresh budget.
        address = f"file:{quote(os.fsencode((self._path or Path()).absolute()))}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=self._wait, isolation_level=None)
        # A commit must survive a power cut, or the cut would be a refund: EXTRA also syncs the folder.
        connection.execute("PRAGMA synchronous = EXTRA")
        return connection

    @contextlib.contextmanager
    def transaction(self, *, write: bool, create: bool = False) -> Iterator[Connection]:
        """All of the block or nothing of it; a writer holds the ledger for itself from the first read on."""
        self._check_file()
        engine = self._engine
        with self._database_errors(), engine.begin() as connection:
            if self._path is not None:
                connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
            self._check_format(connection, create=create)
            yield connection

    def _check_format(self, connection: Connection, *, create: bool) -> None:
        import sqlalchemy

        found = sqlalchemy.inspect(connection).get_table_names()
        ours = {tables().budgets.name, tables().events.name} <= set(found)
        if create and not ours and not (found and self._path):
            tables().metadata.create_all(connection)
            if self._path is not None:
                known = tables()
                for statement in (
                    *_sqlite_marks(),
                    *_append_only(known.budgets, "source"),
                    *_append_only(known.events, "id"),
                    *_append_only(known.seals, "source", "number"),
                ):
                    connection.exec_driver_sql(statement)
            return
        version: int | None = _FORMAT_VERSION
        if self._path is not None:
            marks = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in _SQLITE_MARKS]
            ours, version = ours and marks[0] == _APPLICATION_ID, marks[1]
            if ours and version not in (_UNSEALED, _WITHOUT_SHIFTS, _FORMAT_VERSION):
                raise InputError(f"{self.name} has a format this version cannot use", "update queryveil")
        if not ours:
            raise InputError(
                f"{self.name} is not a queryveil ledger",
                "check the name of the file, or restore the ledger from its backup",
            )
        if version != _UNSEALED and tables().seals.name not in found:
            raise self.damaged("the seals of its rows are gone")
        if self._path is not None and (version == _FORMAT_VERSION) != self.has_shifts(connection):
            raise self.damaged("its columns are not those of its format")
        if self._path is not None:
            self._check_whole(connection)

    def _check_whole(self, connection: Connection) -> None:
        """That no row is missing: SQLite itself keeps the number of the last event in another place."""
        if connection.exec_driver_sql("PRAGMA integrity_check").scalar() != "ok":
            raise self.damaged("its pages do not fit each other")
        ask = "SELECT count(*), max(id), (SELECT seq FROM sqlite_sequence WHERE name = '{0}') FROM {0}"
        there, highest, last = connection.exec_driver_sql(ask.format(tables().events.name)).one()
        if not there == (highest or 0) == (last or 0):
            raise self.damaged("events are missing")

    def sealed(self, connection: Connection) -> bool:
        """Whether the rows of this ledger have seals."""
        import sqlalchemy

        return tables().seals.name in sqlalchemy.inspect(connection).get_table_names()

    def has_shifts(self, connection: Connection) -> bool:
        """Whether events of this ledger have mu and p."""
        import sqlalchemy

        events = tables().events
        found = {column["name"] for column in sqlalchemy.inspect(connection).get_columns(events.name)}
        return {events.c.mu.name, events.c.p.name} <= found

    def update(self, connection: Connection) -> bool:
        """Bring a ledger of an older format to this one; whether the caller must seal the rows that are there."""
        import sqlalchemy

        unsealed, events = not self.sealed(connection), tables().events
        if not self.has_shifts(connection):
            # Rows stay as they are: an event of before has neither number, and counts as it did.
            for column in (events.c.mu, events.c.p):
                connection.execute(
                    sqlalchemy.text(f"ALTER TABLE {events.name} ADD COLUMN {column.name} TEXT")
                )
            if self._path is not None:
                for statement in _sqlite_marks():
                    connection.exec_driver_sql(statement)
        if unsealed:
            tables().seals.create(connection)
            if self._path is not None:
                for statement in _append_only(tables().seals, "source", "number"):
                    connection.exec_driver_sql(statement)
        return unsealed

    def damaged(self, what: str) -> InputError:
        return InputError(f"{self.name} is damaged: {what}", "restore the ledger from its backup")

    def _check_file(self) -> None:
        if self._path is None:
            return
        try:
            if self._path.is_file():
                if self._name or self._path.stat().st_size:
                    return
                # Taken for a new ledger it would give its sources a fresh budget.
                raise InputError(
                    f"{self.name} is empty: it was never a ledger, or it has lost its content",
                    "restore it from its backup; remove the file only if it never held a budget",
                )
            what = "is not a file" if self._path.exists() else "does not exist"
        except OSError as error:
            what = f"cannot be reached ({error.strerror or type(error).__name__})"
        raise InputError(f"{self.name} {what}", self.way_to_open("NAME"))

    def fill(self, write: Callable[[Connection], None]) -> None:
        """Write to the ledger, which is made if it is missing: with what is written, or not at all."""
        if self._path is not None:
            output.outside_releases(self._path, option="")
        if self._path is None or not self._missing() or not self._made(write):
            with self.transaction(write=True, create=self._path is None) as connection:
                write(connection)

    def _missing(self) -> bool:
        try:
            return self._path is not None and not self._path.exists()
        except OSError:
            return True

    def _made(self, write: Callable[[Connection], None]) -> bool:
        """Make the file under another name first; False if somebody else has made one meanwhile.

        A ledger that was half made when its process died would look like one that lost its content.
        """
        path = self._path or Path()
        temporary = path.parent / f".ledger-{secrets.token_hex(8)}"
        try:
            # Made by us and not by SQLite, so that it is never readable by others, not even for a moment.
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            draft = Store(str(temporary), self._wait)
            draft._path, draft._name = temporary, self.name
            with draft.transaction(write=True, create=True) as connection:
                write(connection)
            _appear(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            raise OutputError(
                f"{self.name} cannot be written ({error.strerror or type(error).__name__})",
                "choose a folder that exists and where you may write",
            ) from None
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        return True

    @contextlib.contextmanager
    def _database_errors(self) -> Iterator[None]:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            # What the driver says may hold the address with its password: only its kind is passed on.
            cause = getattr(error, "orig", None) or error
            code = str(getattr(cause, "sqlite_errorname", ""))
            if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise OutputError(
                    f"{self.name} has been locked by another process for {self._wait:g} s",
                    "nothing was charged; try again when the other process is done",
                ) from None
            if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
                raise InputError(
                    f"{self.name} is not a ledger, or is damaged",
                    "check the name of the file, or restore the ledger from its backup",
                ) from None
            raise OutputError(
                f"{self.name} cannot be used ({code or type(cause).__name__})",
                "check that you may write to it, that its folder has room and that the database answers",
            ) from None

    @property
    def name(self) -> str:
        """What messages call this ledger: never a user name or a password."""
        if self._name:
            return self._name
        if self._path is not None:
            return f"ledger '{self._shown_path}'"
        return f"ledger '{self._url.get_backend_name()}://{self._url.host or ''}/{self._url.database or ''}'"

    @property
    def _shown_path(self) -> str:
        """The path as it was given; of what looks more like a mistyped address, nothing."""
        given = str(self._path)
        return given if without_secrets(given) == given else "..."

    def way_to_open(self, source: str) -> str:
        where = shlex.quote(self._shown_path) if self._path is not None else "URL"
        name = shlex.quote(source)
        return f"open it first: queryveil ledger open {where} --source {name} --epsilon E --delta D"


def _appear(temporary: Path, path: Path) -> None:
    """Give a complete file its name, unless the name is taken; both survive a power cut."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a disk without hard links
        if os.path.lexists(path):
            raise FileExistsError from None
        temporary.rename(path)
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
