"""Click graphs as their tables, made by hand, and the rows of a log drawn from them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import queryveil as qv

GAP = dt.timedelta(minutes=30)
Tables = dict[str, pa.Table]


def graph(
    queries: dict[str, int],
    clicks: dict[tuple[str, str], int] | None = None,
    reformulations: dict[tuple[str, str], int] | None = None,
) -> Tables:
    """The tables of a release; without clicks or reformulations, without that table."""
    tables = {"queries": pa.table({"query": text(queries), "count": numbers(queries.values())})}
    for name, target, counts in (("clicks", "url", clicks), ("reformulations", "next_query", reformulations)):
        if counts is not None:
            pairs = {
                "query": text(first for first, _ in counts),
                target: text(second for _, second in counts),
            }
            tables[name] = pa.table({**pairs, "count": numbers(counts.values())})
    return tables


def text(values: Any) -> pa.Array:
    return pa.array(list(values), pa.string())


def numbers(values: Any) -> pa.Array:
    return pa.array(list(values), pa.int64())


def drawn(tables: Tables, folder: Path, **options: Any) -> pa.Table:
    """The rows of a synthetic log."""
    made = qv.synthesize(tables, folder / "log.parquet", **options)
    return pq.read_table(made.path)


def sessions(log: pa.Table) -> Iterator[list[str]]:
    """The queries of each session, one per query event, by the vocabulary's definition."""
    rows = zip(*(log[name].to_pylist() for name in ("user", "time", "query")), strict=True)
    for _, history in groupby(rows, key=lambda row: row[0]):
        events = list(dict.fromkeys((time, query) for _, time, query in history))
        assert events == sorted(events, key=lambda event: event[0])
        session = [events[0][1]]
        for (before, _), (time, query) in pairwise(events):
            if time - before > GAP:
                yield session
                session = []
            session.append(query)
        yield session
