"""The click graph as a value: true counts of a log on any engine, and the tables of a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from tests.conftest import at
from tests.measure.graphs import plan_of

# Two click rows of one event; the same query again later; someone else's; an empty query with a click.
ROWS = [
    ("a", 0, "Shoes", "http://u"),
    ("a", 0, "shoes", "http://v"),
    ("a", 1, "boots", None),
    ("a", 2, "shoes", "http://u"),
    ("b", 0, "shoes", "http://u"),
    ("b", 1, "BOOTS ", "http://v"),
    ("b", 2, "", "http://u"),
]


def table(rows: Sequence[tuple[str, float, str, str | None]]) -> pa.Table:
    user, time, query, url = zip(*rows, strict=True)
    return pa.table(
        {
            "user": list(user),
            "time": [at(one) for one in time],
            "query": list(query),
            "url": pa.array(url, pa.string()),
        }
    )


def rows(counted: pa.Table | None) -> list[tuple[object, ...]]:
    assert counted is not None
    return [tuple(row.values()) for row in counted.to_pylist()]


def check(graph: qv.Graph) -> None:
    assert rows(graph.queries) == [("shoes", 3), ("boots", 2)]
    assert rows(graph.clicks) == [
        ("boots", "http://v", 1),
        ("shoes", "http://u", 3),
        ("shoes", "http://v", 1),
    ]
    assert rows(graph.reformulations) == [("boots", "shoes", 1), ("shoes", "boots", 2)]


def test_a_log_is_counted_by_query_event() -> None:
    check(qv.Graph.of_log(qv.read(table(ROWS))))


def test_spark_counts_the_same(spark: Any) -> None:
    check(qv.Graph.of_log(qv.read(table(ROWS), engine=spark)))


def test_a_log_without_urls_or_times_has_what_it_can() -> None:
    graph = qv.Graph.of_log(qv.read(table(ROWS).select(["user", "query"])))
    assert graph.clicks is None and graph.reformulations is None
    assert rows(graph.queries) == [("shoes", 4), ("boots", 2)], "without times every row counts"


def test_equal_counts_are_in_order_of_text() -> None:
    graph = qv.Graph(queries=pa.table({"query": ["c", "a", "b"], "count": [1, 1, 2]}))
    assert rows(graph.queries) == [("b", 2), ("a", 1), ("c", 1)]


def test_what_noise_takes_below_one_does_not_count() -> None:
    graph = qv.Graph(queries=pa.table({"query": ["a", "b", "c", "d"], "count": [5, 1, 0, -3]}))
    assert rows(graph.positive_counts("queries")) == [("a", 5), ("b", 1)]
    assert rows(graph.positive_counts("queries", 2)) == [("a", 5)]


def test_a_table_without_a_count_is_refused() -> None:
    with pytest.raises(qv.InputError, match="table of queries has no column 'count'"):
        qv.Graph(queries=pa.table({"query": ["a"]}))


# -- of a release --------------------------------------------------------------------------------------------


def release(**tables: pa.Table) -> qv.Release:
    plan = qv.Zealous(epsilon=1, delta=1e-6, max_items=1, guarantee="approximate").plan()
    return qv.Release(plan=plan, tables=tables)


def test_a_click_graph_release_is_a_graph_in_memory_and_on_disk(tmp_path: Path) -> None:
    true = qv.Graph.of_log(qv.read(table(ROWS)))
    tables = {"queries": true.queries, "clicks": true.clicks, "reformulations": true.reformulations}
    made = qv.Release(plan=plan_of(*tables), tables=tables)
    check(qv.Graph.of_release(made))
    made.save(tmp_path / "release")
    check(qv.Graph.of_release(tmp_path / "release"))
    check(qv.Graph.of_release(str(tmp_path / "release")))


@pytest.mark.parametrize("name", ["queries", "clicks", "reformulations"])
def test_items_are_recognised_by_their_columns(name: str) -> None:
    true = qv.Graph.of_log(qv.read(table(ROWS)))
    graph = qv.Graph.of_release(release(items=getattr(true, name)))
    assert rows(getattr(graph, name)) == rows(getattr(true, name))
    for other in {"queries", "clicks", "reformulations"} - {name}:
        with pytest.raises(qv.InputError, match=f"no table of {other}"):
            graph.table(other)


def test_a_release_of_keywords_is_no_graph() -> None:
    with pytest.raises(qv.InputError, match="no table of queries, clicks or reformulations"):
        qv.Graph.of_release(release(items=pa.table({"keyword": ["a"], "count": [1]})))


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match="is not a release"):
        qv.Graph.of_release(tmp_path)
