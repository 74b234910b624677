"""Small logs, graphs and releases for the tests of what graphs are used for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

import queryveil as qv
from tests.conftest import at


def clicks(counts: Mapping[tuple[str, str], int]) -> pa.Table:
    return _counted(("query", "url"), counts)


def pairs(counts: Mapping[tuple[str, str], int]) -> pa.Table:
    return _counted(("query", "next_query"), counts)


def queries(counts: Mapping[str, int]) -> pa.Table:
    return _counted(("query",), {(query,): count for query, count in counts.items()})


def _counted(columns: tuple[str, ...], counts: Mapping[Any, int]) -> pa.Table:
    parts = list(zip(*counts, strict=True)) if counts else [()] * len(columns)
    made = {name: pa.array(part, pa.string()) for name, part in zip(columns, parts, strict=True)}
    return pa.table(made | {"count": pa.array(counts.values(), pa.int64())})


def log(events: Sequence[tuple[str, str | None, int]]) -> qv.SearchLog:
    """A log in which (query, url) happens so many times, each by someone new, an hour apart."""
    rows = [(query, url) for query, url, times in events for _ in range(times)]
    return qv.read(
        pa.table(
            {
                "user": [f"u{number}" for number in range(len(rows))],
                "time": [at(60 * number) for number in range(len(rows))],
                "query": [query for query, _ in rows],
                "url": pa.array([url for _, url in rows], pa.string()),
            }
        )
    )


def release(**tables: pa.Table) -> qv.Release:
    """A click-graph release with these tables, as if its noise had made them so."""
    return qv.Release(plan=plan_of(*tables), tables=tables)


def plan_of(*tables: str) -> qv.Plan:
    """The plan of a click graph with these tables."""
    edges = {"clicks": {"epsilon_clicks": 1, "urls": "private", "delta_clicks": 1e-6}}
    edges["reformulations"] = {"epsilon_reformulations": 1, "delta_reformulations": 1e-6}
    bought = {name: value for one in tables if one in edges for name, value in edges[one].items()}
    return qv.ClickGraph(epsilon=1, delta=1e-6, max_queries=5, **bought).plan()  # type: ignore[arg-type]


def identity(original: qv.SearchLog) -> qv.Release:
    """A release that holds everything, without noise."""
    graph = qv.Graph.of_log(original)
    tables = {"queries": graph.queries, "clicks": graph.clicks, "reformulations": graph.reformulations}
    return release(**{name: table for name, table in tables.items() if table is not None})


EMPTY = {"queries": queries({}), "clicks": clicks({}), "reformulations": pairs({})}
