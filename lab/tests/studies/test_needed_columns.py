"""Studies ask a log for what their items need and no more, and call results by the log's own numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
import queryveil_lab as lab
from tests.conftest import many

BARE = many(40, ["news", "maps", "dog food", "train"])
"""User, time and query; no url."""
ONE: dict[str, Any] = {"m": [1], "epsilon": [50.0], "delta": [1e-2]}
COUNTS: dict[str, Any] = {"epsilon": [50.0], "delta": [1e-2], "k": [3]}


@pytest.mark.parametrize(("study", "vary"), [("zealous-m", ONE), ("count-difference", COUNTS)])
def test_items_that_need_no_urls_do_without(study: str, vary: dict[str, list[float]]) -> None:
    log = qv.read(BARE)
    made = lab.compare(log, study, repeats=1, vary={**vary, "items": ["keywords", "queries", "query-pairs"]})
    assert set(made.findings.values("items")) == {"keywords", "queries", "query-pairs"}
    with pytest.raises(qv.InputError, match="counting clicks needs a 'url' column") as refused:
        lab.compare(log, study, repeats=1, vary=vary)
    assert "vary={'items': ['keywords', 'queries']}" in refused.value.hint


def test_items_that_need_no_times_do_without() -> None:
    log = qv.read(BARE.drop_columns(["time"]))
    made = lab.compare(log, "zealous-m", repeats=1, vary={**ONE, "items": ["keywords", "queries"]})
    assert set(made.findings.values("items")) == {"keywords", "queries"}
    with pytest.raises(qv.InputError, match="counting query-pairs needs a 'time' column"):
        lab.compare(log, "zealous-m", repeats=1, vary={**ONE, "items": ["queries", "query-pairs"]})
    with pytest.raises(qv.InputError, match="needs a 'time' or a 'session' column"):
        lab.compare(log, "count-difference", repeats=1, vary={**COUNTS, "items": ["queries"]})
    alone = {**COUNTS, "items": ["queries"], "method": ["zealous"]}
    assert len(lab.compare(log, "count-difference", repeats=1, vary=alone).findings)


def test_what_needs_urls_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match="'url'"):
        lab.compare(qv.read(BARE), "zealous-j", out=tmp_path / "out", vary={**ONE, "items": ["clicks"]})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("study", ["clump-quality", "clump-r"])
def test_results_are_called_by_the_logs_own_number_of_users(study: str, tmp_path: Path) -> None:
    """The paper's log has 53,058 users; this one has 40, and everything says so."""
    queries = ["dog food", "cat", "house", "car engine", "tree", "river"]
    rows = [
        {"user": f"u{user}", "query": queries[(user + at) % 6]}
        for user in range(40)
        for at in range(1 + user % 3)
    ]
    log = qv.read(pa.Table.from_pylist(rows))
    vary = {"k": [2], "r": [5, 10]} if study == "clump-r" else {"k": [2, 3]}
    made = lab.compare(log, study, out=tmp_path / "out", vary=vary)
    assert made.findings.values("users") == [40]
    assert json.loads((tmp_path / "out" / "checks.json").read_text())["axes"]["users"] == [40]
    shown = "".join(file.read_text() for file in (tmp_path / "out").rglob("*.html"))
    assert "40 users" in shown
    for file in (tmp_path / "out").rglob("*"):
        if file.is_file():
            assert b"53,058" not in file.read_bytes() and b"53058" not in file.read_bytes()
    smaller = lab.compare(log, study, vary={**vary, "users": [20, 30, 1000, 2000]})
    assert smaller.findings.values("users") == [20, 30, 40]
