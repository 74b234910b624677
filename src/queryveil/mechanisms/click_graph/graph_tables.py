"""The tables of a click graph, made one after another: what an earlier table published is public for the next.

How rows are selected and counted is a strategy's: noisy counts above thresholds, as in the paper, or steered Gaussian
selection. Lines that satisfy a condition [Gn] of docs/proofs/click-graph.md are marked here and in the strategies.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from queryveil.catalog import Sentence
from queryveil.count.item_kinds import ItemKind
from queryveil.errors import InputError, argument
from queryveil.mechanisms.base import Plan, Run
from queryveil.mechanisms.selection.item_selection import ItemSelection, publish_items

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

QUERIES, CLICKS, REFORMULATIONS = "queries", "clicks", "reformulations"
KINDS = {QUERIES: "queries", CLICKS: "clicks", REFORMULATIONS: "query-pairs"}
"""The tables, and the kind of item that is a row of each."""
STAGES = {QUERIES: "", CLICKS: "clicks", REFORMULATIONS: "pairs"}
"""The stage under which each table is timed; queries have one for each step."""
GROUP_COLUMNS = {name: Sentence(f"graph.column.{name}") for name in ("query", "next_query")}
"""What columns hold where queries are grouped."""
GROUPED_FIRST = Sentence("graph.how.grouped")


class GraphStrategy(Protocol):
    """A way to select and to count the rows of a click graph."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables, queries first."""

    def plan(self, users: int | None) -> Plan:
        """Return thresholds and guarantee."""

    def check(self, log: SearchLog) -> None:
        """Refuse a log that lacks what a table needs, or of which nothing can be published."""

    def selection(self, name: str, run: Run, published: pa.Table) -> ItemSelection[Any]:
        """Return how the rows of a table are selected; `published` is the table of queries, None for queries."""

    def endpoints(self, name: str, published: pa.Table) -> pa.ChunkedArray | None:
        """Return the published queries to which rows are restricted before they are bounded; None for all rows."""


def publish_graph(log: SearchLog, run: Run, strategy: GraphStrategy) -> dict[str, pa.Table]:
    """Make one table after the other."""
    made: dict[str, pa.Table] = {}
    for name in strategy.tables:
        selection = strategy.selection(name, run, made.get(QUERIES))
        endpoints = None if name == QUERIES else strategy.endpoints(name, made[QUERIES])
        with _restricted(log, selection.kind, endpoints) as rows:
            made[name] = publish_items(log, run, selection, rows)
    return made


@contextlib.contextmanager
def _restricted(
    log: SearchLog, kind: ItemKind, endpoints: pa.ChunkedArray | None
) -> Iterator[ir.Table | None]:
    """Yield the rows of a kind whose queries are published.

    [G1] Rows are restricted to published queries first, and what a user keeps of them is bounded then.
    """
    if endpoints is None:
        yield None
        return
    published = log.engine.register(pa.table({"query": endpoints.cast(pa.string())}))
    try:
        rows = kind.occurrences(log).semi_join(published, "query")
        if "next_query" in kind.columns:
            rows = rows.semi_join(published, [("next_query", "query")])
        yield rows
    finally:
        log.engine.drop(published)


def table_order(name: str, key: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that order a table: queries by count, the others by query and then by count."""
    return ("count", *key) if name == QUERIES else (key[0], "count", key[1])


def describe_graph(tables: Sequence[str]) -> str:
    """Return what a click graph with these tables holds."""
    if CLICKS in tables and REFORMULATIONS in tables:
        return Sentence("graph.what.both")
    return Sentence(
        "".join(["graph.what", *(f".{one}" for one in (CLICKS, REFORMULATIONS) if one in tables)])
    )


def require_a_click(log: SearchLog, next_step: str) -> None:
    """Refuse a log without any click.

    Raises:
        InputError: If no row has a clicked url; the error suggests `next_step`.
    """
    log.need("url", "counting clicks")
    clicks = log.table.filter(log.table["url"].notnull()).limit(1)
    if log.engine.arrow(clicks.select("user")).num_rows == 0:
        raise InputError(
            "the log has a 'url' column but no click in it",
            f"{next_step}, or name the column of clicked urls with {argument('columns', {'url': '...'})}",
        )
