"""The click graph as a value: queries, the urls clicked for them, and what was asked next, with counts.

It comes from a log, with true counts, or from a release, with noisy ones; what it is used for does not ask which.
Counts below 0, which noise makes, count as 0 in every use.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.count import item_kinds
from queryveil.errors import InputError, argument
from queryveil.reading.log import SearchLog

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.release.publish import Release

TABLES = {"queries": "queries", "clicks": "clicks", "reformulations": "query-pairs"}
"""The tables of a graph, and the kind of item that each one counts."""

_NEEDS = {"clicks": "url", "reformulations": "time"}
"""The column that a log must have before it has such a table."""

_HOW = {
    "queries": f"publish queries, with click-graph or with {argument('items', 'queries')}",
    "clicks": (
        f"publish clicks too: {argument('epsilon_clicks')}, {argument('selection', 'steered')}, "
        f"or {argument('items', 'clicks')}"
    ),
    "reformulations": (
        f"publish reformulations too: {argument('epsilon_reformulations')}, {argument('selection', 'steered')}, "
        f"or {argument('items', 'query-pairs')}"
    ),
    "keywords": f"publish keywords, with zealous {argument('items', 'keywords')} or k-keyword, or a log with k-query",
    "items": "use a release that counts keywords, queries, clicks or query pairs",
}


@dataclass(frozen=True)
class Graph:
    """Queries, clicks and reformulations as Arrow tables, each None where it is not known."""

    queries: pa.Table | None = None
    """query, count; the most frequent first."""
    clicks: pa.Table | None = None
    """query, url, count; by query, the most clicked url first."""
    reformulations: pa.Table | None = None
    """query, next_query, count; by query, the most frequent next query first."""

    def __post_init__(self) -> None:
        for name, kind in TABLES.items():
            table = getattr(self, name)
            if table is not None:
                object.__setattr__(
                    self, name, _to_standard_schema(table, name, item_kinds.kind(kind).columns)
                )

    @classmethod
    def of_log(cls, log: SearchLog) -> Graph:
        """What a log really holds: every query event, click and query pair of every user. Not for publication."""
        known = [name for name in TABLES if _NEEDS.get(name, "query") in log.columns]
        return cls(
            **{
                name: log.engine.arrow(occurrence_counts(log, item_kinds.kind(kind)))
                for name, kind in TABLES.items()
                if name in known
            }
        )

    @classmethod
    def of_release(cls, release: Release | str | Path) -> Graph:
        """What a release says: its tables whose columns are those of a graph, whatever method made them."""
        from queryveil.release.publish import load

        loaded = load(release) if isinstance(release, (str, Path)) else release
        by_kind = item_tables(loaded)
        found = {name: by_kind[kind] for name, kind in TABLES.items() if kind in by_kind}
        if not found:
            raise InputError(
                "the release has no table of queries, clicks or reformulations, so it is not a graph",
                "use a release of click-graph, or of zealous with "
                f"{argument('items', 'queries')}, clicks or query-pairs",
            )
        return cls(**found)

    def table(self, name: str) -> pa.Table:
        """One of the tables, or an error that names it."""
        found = getattr(self, name)
        if found is None:
            raise missing_table(name)
        return found

    def positive_counts(self, name: str, at_least: int = 1) -> pa.Table:
        """The rows of a table that count: those with at least so many, and never less than one."""
        table = self.table(name)
        return table.filter(pc.greater_equal(table["count"], max(1, at_least))).combine_chunks()


def missing_table(name: str, where: str = "in the graph", what: str = "this") -> InputError:
    """The refusal of a release or log that lacks a table."""
    return InputError(f"there is no table of {name} {where}, which {what} needs", _HOW[name])


def occurrence_counts(log: SearchLog, kind: item_kinds.ItemKind) -> ir.Table:
    """How often each item occurs, by all users together: a distinct (user, time, item) is one occurrence.

    Without a time column every row is one.
    """
    rows = kind.occurrences(log)
    if "time" in rows.columns:
        rows = rows.select("user", "time", *kind.columns).distinct()
    return rows.group_by(list(kind.columns)).aggregate(count=rows.count())


def user_counts(log: SearchLog, kind: item_kinds.ItemKind) -> ir.Table:
    """How many users have each item."""
    rows = kind.occurrences(log).select("user", *kind.columns).distinct()
    return rows.group_by(list(kind.columns)).aggregate(count=rows.count())


def item_tables(release: Release) -> dict[str, pa.Table]:
    """The tables of a release by the kind of item that they hold, the main one first.

    Columns tell the kind; where kinds have the same ones, as sets of a user and of a session do, its draw does.
    """
    drawn = {draw.table: draw.bounded for draw in release.plan.draws}
    found: dict[str, pa.Table] = {}
    for name, table in release.tables.items():
        # How sure a count is stands beside it, and is no part of the item.
        counted = table.drop_columns(["deviation"]) if "deviation" in table.column_names else table
        fits = [
            one.name for one in item_kinds.KINDS.values() if [*one.columns, "count"] == counted.column_names
        ]
        if fits:
            found[drawn[name] if drawn.get(name) in fits else fits[0]] = counted
    return found


def _to_standard_schema(table: pa.Table, name: str, columns: tuple[str, ...]) -> pa.Table:
    """The one schema and order, whichever engine counted."""
    lost = [column for column in (*columns, "count") if column not in table.column_names]
    if lost:
        raise InputError(
            f"the table of {name} has no column '{lost[0]}'", f"it needs {', '.join(columns)}, count"
        )
    schema = pa.schema([(column, pa.string()) for column in columns] + [("count", pa.int64())])
    table = table.select(schema.names).cast(schema)
    order = [(column, "ascending") for column in columns]
    order.insert(0 if name == "queries" else 1, ("count", "descending"))
    return table.sort_by(order).combine_chunks()
