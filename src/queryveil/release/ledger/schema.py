"""The tables of a ledger, and the guards that keep their rows from being changed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sqlalchemy import MetaData, Table

# Written into the header of a SQLite file, so that no other program's database is taken for a ledger.
APPLICATION_ID = 0x51564C47
FORMAT_VERSION = 1

OPTIONAL = ("epsilon", "delta", "mu", "p", "who", "recipe", "period", "neighbours", "losses")
"""Columns of events that may be empty: the cost, mu and p of a Gaussian release, who charged, from which recipe, for
which period, which neighbors the release compares, and the losses of its draws."""


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
        *(Column(name, Text) for name in OPTIONAL),
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


# -- SQLite --------------------------------------------------------------------------------------------------

SQLITE_MARKS = ("application_id", "user_version")


def _sqlite_append_only(table: Table, *keys: str) -> Iterator[str]:
    stop = "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    for act in ("UPDATE", "DELETE"):
        yield f"CREATE TRIGGER {table.name}_no_{act.lower()} BEFORE {act} ON {table.name} {stop}"
    # INSERT OR REPLACE takes a row away without any DELETE trigger.
    same = " AND ".join(f"{key} = NEW.{key}" for key in keys)
    taken = f"EXISTS (SELECT 1 FROM {table.name} WHERE {same})"  # noqa: S608 (our own names)
    yield f"CREATE TRIGGER {table.name}_no_replace BEFORE INSERT ON {table.name} WHEN {taken} {stop}"


def sqlite_guards() -> Iterator[str]:
    """Let nobody change or take away a row, whatever program opens the file."""
    yield f"PRAGMA application_id = {APPLICATION_ID}"
    yield f"PRAGMA user_version = {FORMAT_VERSION}"
    yield from _sqlite_append_only(tables().budgets, "source")
    yield from _sqlite_append_only(tables().events, "id")
    yield from _sqlite_append_only(tables().seals, "source", "number")


# -- PostgreSQL ----------------------------------------------------------------------------------------------

HEAD = "queryveil_ledger"
"""One row on a server: the format, and how many events there are. SQLite keeps both in its file header and sequence."""


def server_guards() -> Iterator[str]:
    """The same for a server: rows are only ever added, and the number of events only ever grows by one."""
    yield f"CREATE TABLE {HEAD} (format INTEGER NOT NULL, events INTEGER NOT NULL)"
    yield f"INSERT INTO {HEAD} VALUES ({FORMAT_VERSION}, 0)"  # noqa: S608 (our own names)
    yield (
        "CREATE OR REPLACE FUNCTION queryveil_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$"
    )
    yield (
        "CREATE OR REPLACE FUNCTION queryveil_one_more() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN IF NEW.events <> OLD.events + 1 OR NEW.format <> OLD.format THEN "
        "RAISE EXCEPTION 'the ledger is append-only'; END IF; RETURN NEW; END $$"
    )
    for name in (tables().budgets.name, tables().events.name, tables().seals.name):
        yield (
            f"CREATE TRIGGER {name}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {name} "
            "FOR EACH STATEMENT EXECUTE FUNCTION queryveil_append_only()"
        )
    yield (
        f"CREATE TRIGGER {HEAD}_append_only BEFORE INSERT OR DELETE OR TRUNCATE ON {HEAD} "
        "FOR EACH STATEMENT EXECUTE FUNCTION queryveil_append_only()"
    )
    yield (
        f"CREATE TRIGGER {HEAD}_one_more BEFORE UPDATE ON {HEAD} "
        "FOR EACH ROW EXECUTE FUNCTION queryveil_one_more()"
    )
