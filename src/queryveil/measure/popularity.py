"""Popularity over time: each query's share of what was searched in a period, and which shares rise.

A log has times. A release has none, so its periods are releases of their own, each of one part of the log.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import InputError, UsageError, argument
from queryveil.measure.graph import Graph
from queryveil.reading.log import SearchLog

_SCHEMA = pa.schema(
    [("query", pa.string()), ("period", pa.string()), ("count", pa.int64()), ("share", pa.float64())]
)
_ORDER = [("query", "ascending"), ("period", "ascending")]
MOST_DAYS = 36_500


def query_popularity(graphs: Mapping[str, Graph]) -> pa.Table:
    """How popular queries were in each period: query, period, count, share of the period; by query and period.

    `graphs` are the periods by name; names sort as the periods follow, such as '2006-03-01'. Counts below 1 are left
    out.
    """
    if not graphs:
        raise UsageError("there is no period to compare", "give a graph for each period")
    parts = []
    for period, graph in graphs.items():
        table = graph.positive_counts("queries")
        parts.append(
            _add_shares(table.append_column("period", pa.array([period] * table.num_rows, pa.string())))
        )
    return pa.concat_tables(parts).sort_by(_ORDER)


def log_popularity(log: SearchLog, *, days: int = 7) -> pa.Table:
    """The same of a log, in periods of so many days from its first day on (UTC); named by their first day.

    Every query event counts. The last period may be shorter than the others. Not for publication.
    """
    if not 1 <= days <= MOST_DAYS:
        raise UsageError(
            f"'days' must be a whole number from 1 to {MOST_DAYS:,}", "choose another number of days"
        )
    log.need("time", "popularity over time")
    events = log.queries.select("user", "time", "query").distinct()
    found = log.engine.arrow(events.aggregate(first=events["time"].min()))["first"][0].as_py()
    if found is None:
        raise InputError("the log has no query", f"check the file and {argument('columns')}")
    first = dt.datetime.combine(found.date(), dt.time())
    since = events["time"].epoch_seconds() - int(first.replace(tzinfo=dt.UTC).timestamp())
    events = events.mutate(number=(since // (86_400 * days)).cast("int64"))
    counted = log.engine.arrow(events.group_by(["query", "number"]).aggregate(count=events.count()))
    names = [
        str((first + dt.timedelta(days=days * number)).date()) for number in counted["number"].to_pylist()
    ]
    table = counted.drop_columns(["number"]).append_column("period", pa.array(names, pa.string()))
    return _add_shares(table).sort_by(_ORDER)


def _add_shares(table: pa.Table) -> pa.Table:
    """With the share of all that its period has."""
    whole = table.group_by("period").aggregate([("count", "sum")])
    totals = dict(zip(whole["period"].to_pylist(), whole["count_sum"].to_pylist(), strict=True))
    share = [
        count / totals[period]
        for count, period in zip(table["count"].to_pylist(), table["period"].to_pylist(), strict=True)
    ]
    return table.append_column("share", pa.array(share, pa.float64())).select(_SCHEMA.names).cast(_SCHEMA)


def trending_queries(shares: pa.Table, n: int = 10, *, min_count: int = 1) -> pa.Table:
    """The n queries whose share rose most from the first period to the last: query, first, last, change.

    `change` is the natural logarithm of the last share over the first. Only queries that every period has, with
    `min_count` or more, are compared: noise decides about what is published now and then.
    """
    if n < 1 or min_count < 1:
        raise UsageError("'n' and 'min_count' must be whole numbers of at least 1", "choose other ones")
    periods = sorted(pc.unique(shares["period"]).to_pylist())
    if len(periods) < 2:
        raise UsageError("one period shows no change", "give two periods or more")
    held: dict[str, dict[str, float]] = {}
    columns = (shares[name].to_pylist() for name in ("query", "period", "count", "share"))
    for query, period, count, share in zip(*columns, strict=True):
        if count >= min_count:
            held.setdefault(query, {})[period] = share
    ends = [
        (query, one[periods[0]], one[periods[-1]]) for query, one in held.items() if len(one) == len(periods)
    ]
    changes = [(query, first, last, math.log(last / first)) for query, first, last in ends]
    best = sorted(changes, key=lambda one: (-one[3], one[0].encode()))[:n]
    query, first, last, change = zip(*best, strict=True) if best else ((), (), (), ())
    numbers = {"first": first, "last": last, "change": change}
    return pa.table(
        {"query": pa.array(query, pa.string())}
        | {name: pa.array(values, pa.float64()) for name, values in numbers.items()}
    )
