"""A click graph that someone made to do harm: the log drawn from it is never larger than what was asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import queryveil as qv


def graph(
    counts: list[object], *, query: str = "apples", kind: pa.DataType | None = None
) -> dict[str, pa.Table]:
    names = [query, *(f"query {number}" for number in range(1, len(counts)))]
    return {"queries": pa.table({"query": names, "count": pa.array(counts, kind or pa.int64())})}


@pytest.mark.parametrize("counts", [[2**62, 5], [10**7, 1], [10_000_001]])
def test_counts_do_not_decide_alone_how_much_is_written(counts: list[object], tmp_path: Path) -> None:
    with pytest.raises((qv.UsageError, qv.InputError)) as refused:
        qv.synthesize(graph(counts), tmp_path / "made.tsv")
    assert refused.value.exit_code in {2, 3}
    assert not (tmp_path / "made.tsv").exists()


def test_many_rows_are_drawn_if_they_are_asked_for(tmp_path: Path) -> None:
    made = qv.synthesize(graph([10**9, 5]), tmp_path / "made.parquet", rows=500)
    assert made.rows == 500


@pytest.mark.parametrize("count", [2**62, -(2**62)])
def test_counts_that_no_log_has_are_refused(count: int, tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match="count"):
        qv.synthesize(graph([count, 5]), tmp_path / "made.tsv", rows=10)


def test_counts_near_the_end_of_floats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match="count"):
        qv.synthesize(graph([1.7e308, 1.7e308], kind=pa.float64()), tmp_path / "made.tsv", rows=10)


@pytest.mark.parametrize("table", ["queries", "clicks"])
def test_a_text_that_is_no_query_is_refused(table: str, tmp_path: Path) -> None:
    """50 MB that stand once in a small file would stand in every row."""
    long = "a" * 50_000_000
    tables = graph([5, 5], query=long if table == "queries" else "apples")
    if table == "clicks":
        tables["clicks"] = pa.table({"query": ["apples"], "url": [long], "count": [5]})
    with pytest.raises(qv.InputError, match="8,192 bytes"):
        qv.synthesize(tables, tmp_path / "made.tsv", rows=10)


def test_cycles_end(tmp_path: Path) -> None:
    """Everybody goes on for ever, says the table; a session ends all the same."""
    size = 50
    names = [f"query {number}" for number in range(size)]
    pairs = np.arange(size)
    tables = {
        "queries": pa.table({"query": names, "count": [10] * size}),
        "reformulations": pa.table(
            {
                "query": names,
                "next_query": [names[(one + 1) % size] for one in pairs],
                "count": [10**9] * size,
            }
        ),
    }
    made = qv.synthesize(tables, tmp_path / "made.parquet", rows=5_000)
    assert made.rows == 5_000
    # Nine of ten go on: about ten query events in a session; fewer than half of that would need chance below 1e-6.
    assert 200 < made.sessions < 1_000
