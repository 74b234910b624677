"""A study on Spark finds what it finds on DuckDB, wherever it draws nothing at random."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
import queryveil_lab as lab

CASES: dict[str, dict[str, Any]] = {
    "release-d": {"delta": [1e-3], "d": [5, 20], "analysis": ["tight"]},
    "exposure": {"method": ["log", "k-query"]},
    "count-distribution": {"items": ["queries"], "delta": [1e-3]},
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("study") / "log.parquet"
    qv.generate(file, qv.LogSettings(version=1, users=600, seed=2))
    return file


@pytest.mark.parametrize("name", CASES)
def test_a_study_finds_the_same_on_spark(name: str, small: Path, spark: Any) -> None:
    here, there = (
        certain(
            lab.compare(qv.read(small, engine=engine), name, vary=CASES[name], repeats=1).table.to_pylist()
        )
        for engine in ("duckdb", spark)
    )
    assert here and here == pytest.approx(there)


def certain(rows: list[dict[str, Any]]) -> dict[str, float]:
    """What is not drawn at random: a value for everything else that a row says."""
    return {
        str({**row, "value": None}): row["value"]
        for row in rows
        if row["how"] in ("expected", "original") or row.get("method") in ("log", "k-query")
    }
