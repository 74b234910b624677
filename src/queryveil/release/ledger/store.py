"""The ledger's database: a SQLite file, or a server named by a URL; transactions, and errors without secrets."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from queryveil.errors import InputError, OutputError, UsageError, argument, command, without_secrets
from queryveil.files import output
from queryveil.release.ledger import schema
from queryveil.release.ledger.schema import tables

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

_TESTED = ("sqlite", "postgresql")
"""Two charges at once must take turns, and events must stay; that is shown for these only."""
_DRIVER = "postgresql+psycopg"
_TURN = 0x51564C47
"""Writers on a server take turns by this number, from the first read on; other programs may have other numbers."""
_NO_LOCK = "55P03"
_UNREACHABLE = ("08", "57P", "53")
"""What a server says, or its driver for it, that is not there or takes no more connections; the codes begin so."""


class Store:
    """Where the rows of a ledger are kept."""

    def __init__(self, address: str, wait: float) -> None:
        """`wait`: how many seconds to wait for another process that is charging."""
        self._address = address
        self._wait = wait
        self._name = ""
        if not address or "\0" in address:
            raise UsageError(
                "a ledger needs the name of a file or a database URL", f"pass {argument('ledger', 'FILE')}"
            )

    @cached_property
    def _path(self) -> Path | None:
        """The SQLite file, or None for a database server."""
        if "://" not in self._address:
            return Path(self._address)
        if self._url.get_backend_name() not in _TESTED:
            raise UsageError(
                "a ledger is a SQLite file or a PostgreSQL database",
                "pass a path, or postgresql://host/database",
            )
        if self._url.get_backend_name() != "sqlite":
            if not self._url.database:
                raise UsageError(
                    "the address of the ledger names no database", "pass postgresql://host/database"
                )
            return None
        more = any(sign in self._address for sign in "@?;#")
        if not self._url.database or self._url.database == ":memory:" or more:
            raise UsageError("a SQLite ledger must be a plain file", "pass a path, or sqlite:///path")
        return Path(self._url.database)

    @cached_property
    def _url(self) -> URL:
        import sqlalchemy

        try:
            url = sqlalchemy.make_url(self._address)
            if url.drivername in ("postgresql", "postgres"):
                url = url.set(drivername=_DRIVER)
            url.get_dialect()
            return url
        except sqlalchemy.exc.NoSuchModuleError:
            raise UsageError(
                "a ledger is a SQLite file or a PostgreSQL database",
                "pass a path, or postgresql://host/database",
            ) from None
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
            return sqlalchemy.create_engine(
                self._url,
                poolclass=sqlalchemy.NullPool,
                connect_args={"connect_timeout": max(2, math.ceil(self._wait)), "client_encoding": "utf8"},
            )
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
            self._begin(connection, write=write)
            self._check_format(connection, create=create)
            yield connection

    def _begin(self, connection: Connection, *, write: bool) -> None:
        if self._path is not None:
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
        elif write:
            # Whoever had to wait for a turn must see what the one before has written.
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
            # A commit must survive a power cut here too, whatever the server's default is.
            connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, int(self._wait * 1000))}")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_TURN})")
        else:
            # Rows and their seals are read by several statements, which must see the same rows.
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    def _check_format(self, connection: Connection, *, create: bool) -> None:
        import sqlalchemy

        found = self._tables(connection)
        needed = {tables().budgets.name, tables().events.name}
        needed |= set() if self._path is not None else {tables().seals.name, schema.HEAD}
        ours = needed <= found
        if create and not ours and not (found if self._path is not None else needed & found):
            tables().metadata.create_all(connection)
            guards = schema.sqlite_guards() if self._path is not None else schema.server_guards()
            for statement in guards:
                connection.exec_driver_sql(statement)
            return
        if self._path is None and not needed & found:
            raise InputError(f"{self.name} has no ledger in it yet", self.way_to_open("NAME"))
        version = self._version(connection) if ours else None
        if version is None:
            raise InputError(
                f"{self.name} is not a queryveil ledger",
                "check the name of the file, or restore the ledger from its backup",
            )
        if version != schema.FORMAT_VERSION:
            raise InputError(f"{self.name} has a format this version cannot use", "update queryveil")
        if tables().seals.name not in found:
            raise self.damaged("the seals of its rows are gone")
        if self._path is not None:
            columns = sqlalchemy.inspect(connection).get_columns(tables().events.name)
            if {one["name"] for one in columns} != set(tables().events.c.keys()):
                raise self.damaged("its columns are not those of its format")
        self._check_whole(connection)

    def _tables(self, connection: Connection) -> set[str]:
        """The names of the tables that are there; on a server only those that begin like ours."""
        import sqlalchemy

        if self._path is not None:
            return set(sqlalchemy.inspect(connection).get_table_names())
        visible = "SELECT relname FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid)"
        return {
            row[0] for row in connection.exec_driver_sql(f"{visible} AND starts_with(relname, 'queryveil_')")
        }

    def _version(self, connection: Connection) -> int | None:
        """The format of this ledger; None if it is none of ours."""
        if self._path is None:
            heads = connection.exec_driver_sql(f"SELECT format FROM {schema.HEAD}").all()  # noqa: S608
            if len(heads) != 1:
                raise self.damaged("its format is gone")
            return int(heads[0][0])
        marks = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in schema.SQLITE_MARKS]
        return int(marks[1] or 0) if marks[0] == schema.APPLICATION_ID else None

    def _check_whole(self, connection: Connection) -> None:
        """That no row is missing: the number of the last event is kept in another place too."""
        if self._path is not None and connection.exec_driver_sql("PRAGMA integrity_check").scalar() != "ok":
            raise self.damaged("its pages do not fit each other")
        kept = (
            f"SELECT events FROM {schema.HEAD}"  # noqa: S608 (our own names)
            if self._path is None
            else f"SELECT seq FROM sqlite_sequence WHERE name = '{tables().events.name}'"  # noqa: S608
        )
        ask = f"SELECT count(*), max(id), ({kept}) FROM {tables().events.name}"  # noqa: S608 (our own names)
        there, highest, last = connection.exec_driver_sql(ask).one()
        if not there == (highest or 0) == (last or 0):
            raise self.damaged("events are missing")

    def next_number(self, connection: Connection) -> int:
        """The number of the event that is about to be written; events of all sources are numbered together."""
        import sqlalchemy

        events = tables().events
        number = int(connection.execute(sqlalchemy.select(sqlalchemy.func.count(events.c.id))).scalar() or 0)
        if self._path is None:
            connection.exec_driver_sql(f"UPDATE {schema.HEAD} SET events = events + 1")  # noqa: S608
        return number + 1

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
        if self._path is None or not self._missing() or not self._create_file(write):
            with self.transaction(write=True, create=self._path is None) as connection:
                write(connection)

    def _missing(self) -> bool:
        try:
            return self._path is not None and not self._path.exists()
        except OSError:
            return True

    def _create_file(self, write: Callable[[Connection], None]) -> bool:
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
            _link_into_place(temporary, path)
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
            code = str(getattr(cause, "sqlite_errorname", "") or getattr(cause, "sqlstate", "") or "")
            if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", _NO_LOCK)):
                raise OutputError(
                    f"{self.name} has been locked by another process for {self._wait:g} s",
                    "nothing was charged; try again when the other process is done",
                ) from None
            if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
                raise InputError(
                    f"{self.name} is not a ledger, or is damaged",
                    "check the name of the file, or restore the ledger from its backup",
                ) from None
            if self._path is None and (not code or code.startswith(_UNREACHABLE)):
                raise OutputError(
                    f"{self.name} cannot be reached ({code or type(cause).__name__})",
                    "check host, port, database, user and password, and that the server runs",
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
        port = f":{self._url.port}" if self._url.port else ""
        place = f"{self._url.host or ''}{port}/{self._url.database or ''}"
        return f"ledger '{self._url.get_backend_name()}://{place}'"

    @property
    def _shown_path(self) -> str:
        """The path as it was given; of what looks more like a mistyped address, nothing."""
        given = str(self._path)
        return given if without_secrets(given) == given else "..."

    def way_to_open(self, source: str) -> str:
        where = shlex.quote(self._shown_path) if self._path is not None else "URL"
        name = shlex.quote(source)
        line = f"queryveil ledger open {where} --source {name} --epsilon E --delta D"
        call = f"queryveil.Ledger({str(where)!r}).open({name!r}, epsilon=E, delta=D)"
        return f"open it first: {command(line, call)}"


def _link_into_place(temporary: Path, path: Path) -> None:
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
