"""What cannot be synthesized, and why: each refusal names its cause and quotes no query."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from tests.synthetic.synthesis.graphs import Tables, graph

GOOD = graph({"secret query": 5, "b": 3}, {("b", "http://u"): 2}, {("b", "secret query"): 1})


def changed(name: str, table: pa.Table | None) -> Tables:
    return {**GOOD, name: table} if table is not None else {k: v for k, v in GOOD.items() if k != name}


@pytest.mark.parametrize(
    "options",
    [
        {"rows": 0},
        {"rows": -5},
        {"rows": math.nan},
        {"rows": 10.5},
        {"rows": True},
        {"rows": 10**12},
        {"users": 0},
        {"users": "ten"},
        {"rows": 5, "users": 6},
        {"rows": 1_000, "users": 1, "days": 10},
        {"seed": -1},
        {"days": 0},
        {"days": math.inf},
        {"start": "2006-03-01"},
        {"start": dt.datetime(2006, 3, 1)},
        {"format": "csv"},
    ],
    ids=str,
)
def test_wrong_options(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(qv.UsageError) as refused:
        qv.synthesize(GOOD, tmp_path / "log.tsv", **options)
    assert refused.value.hint and not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["log", "log.csv", "log.gz", "log.parquet.gz", "log.jsonl"])
def test_a_name_without_a_format(name: str, tmp_path: Path) -> None:
    with pytest.raises(qv.UsageError):
        qv.synthesize(GOOD, tmp_path / name, rows=10)


def test_an_output_that_exists_is_kept(tmp_path: Path) -> None:
    (tmp_path / "log.tsv").write_text("mine")
    with pytest.raises(qv.UsageError, match="exists"):
        qv.synthesize(GOOD, tmp_path / "log.tsv", rows=10)
    assert (tmp_path / "log.tsv").read_text() == "mine"
    with pytest.raises(qv.OutputError):
        qv.synthesize(GOOD, tmp_path / "log.tsv" / "inside.tsv", rows=10)


NO_CLICK_GRAPH = {
    "no queries": (changed("queries", None), "no table 'queries'"),
    "no column": (changed("queries", pa.table({"query": ["a"]})), "no column 'count'"),
    "no url": (changed("clicks", pa.table({"query": ["b"], "count": [1]})), "no column 'url'"),
    "no number": (changed("queries", pa.table({"query": ["a"], "count": ["1"]})), "'count'"),
    "a missing count": (changed("queries", pa.table({"query": ["a", "b"], "count": [1, None]})), "'count'"),
    "not a number": (changed("queries", pa.table({"query": ["a"], "count": [math.nan]})), "'count'"),
    "no text": (changed("queries", pa.table({"query": [[1]], "count": [1]})), "'query'"),
    "a missing query": (changed("queries", pa.table({"query": ["b", None], "count": [1, 1]})), "'query'"),
    "an empty query": (changed("queries", pa.table({"query": ["b", ""], "count": [1, 1]})), "'query'"),
    "a query twice": (changed("queries", graph({"b": 1})["queries"].take([0, 0])), "twice"),
    "a foreign click": (changed("queries", graph({"secret query": 1})["queries"]), "'clicks'"),
}


@pytest.mark.parametrize("name", NO_CLICK_GRAPH)
def test_what_is_no_click_graph(name: str, tmp_path: Path) -> None:
    tables, cause = NO_CLICK_GRAPH[name]
    if name == "a foreign click":
        tables = {key: table for key, table in tables.items() if key != "reformulations"}
    with pytest.raises(qv.InputError, match=cause) as refused:
        qv.synthesize(tables, tmp_path / "log.parquet", rows=10)
    assert "secret" not in str(refused.value) and not any(tmp_path.iterdir())


def test_something_else_altogether(tmp_path: Path) -> None:
    with pytest.raises(qv.UsageError, match="Table"):
        qv.synthesize(GOOD["queries"], tmp_path / "log.parquet", rows=10)
    with pytest.raises(qv.InputError):
        qv.synthesize(tmp_path, tmp_path / "log.parquet", rows=10)


@pytest.mark.parametrize("counts", [{}, {"a": 0}, {"a": -3, "b": 0}], ids=str)
def test_a_release_without_anything_to_draw(counts: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(qv.CannotBeMet, match="nothing to draw from"):
        qv.synthesize(graph(counts, {}, {}), tmp_path / "log.parquet", rows=10)


@pytest.mark.parametrize("query", ["two\twords", "two\nwords", "-", "nul\x00"])
def test_what_only_parquet_can_hold(query: str, tmp_path: Path) -> None:
    tables = graph({query: 5})
    with pytest.raises(qv.CannotBeMet, match="AOL") as refused:
        qv.synthesize(tables, tmp_path / "log.tsv", rows=10)
    assert ".parquet" in refused.value.hint and "words" not in refused.value.message
    assert qv.synthesize(tables, tmp_path / "log.parquet", rows=10).rows == 10
