"""Studies of what a graph is good for: their checks can fail, and logs that say nothing are refused or told."""

from __future__ import annotations

import pyarrow as pa
import pytest

import queryveil as qv
import queryveil_lab as lab
from lab.tests.studies.test_checks import Row, rows
from queryveil.measure.measure import Original
from queryveil_lab.studies import Findings
from queryveil_lab.studies.graph_uses import misspelt, with_mistakes
from tests.conftest import at, many


def verdicts(study: str, *lines: list[Row]) -> dict[str, str]:
    found = Findings(tuple(row for line in lines for row in line))
    return {check.name: check.verdict for check in lab.STUDIES[study].checks(found)}


@pytest.mark.parametrize(
    ("grouped", "queries", "verdict"),
    [(2.0, 50.0, "pass"), (0.5, 50.0, "FAIL"), (1.0, 50.0, "FAIL"), (2.0, 4.0, "too small to tell")],
)
def test_groups_that_release_no_more_are_told(grouped: float, queries: float, verdict: str) -> None:
    name, how = "query-groups", {"how": "expected", "repeat": None}
    found = verdicts(
        name,
        rows(name, "released-impressions", [1.0, grouped], "grouping", "none", "words", **how),
        rows(name, "released-queries", [queries], "grouping", "none", **how),
    )
    assert found == {"grouped by words, queries release more impressions": verdict}


@pytest.mark.parametrize(
    ("correlation", "followed", "verdict"),
    [(0.9, 30, "pass"), (0.4, 30, "FAIL"), (0.9, 19, "too small to tell"), (None, 0, "too small to tell")],
)
def test_trends_that_are_lost_are_told(correlation: float | None, followed: float, verdict: str) -> None:
    name = "popularity"
    lines = [rows(name, "followed", [followed], "periods", 2, epsilon=4.0)]
    if correlation is not None:
        lines.append(rows(name, "trend-correlation", [correlation], "periods", 2, epsilon=4.0))
    assert verdicts(name, *lines) == {"releases of 2 periods show what rises (epsilon 4)": verdict}


@pytest.mark.parametrize(
    ("values", "number", "told"),
    [
        ((0.5, 0.4, 0.39), 90, {"pass"}),
        ((0.5, 0.4, 0.3), 90, {"pass", "FAIL"}),
        ((0.5, 0.6, 0.6), 90, {"pass", "FAIL"}),
        ((0.5, 0.4, 0.3), 19, {"too small to tell"}),
        ((0.003, 0.0004, 0.0), 90, {"pass", "too small to tell"}),
    ],
)
def test_a_synthetic_log_that_teaches_less_is_told(
    values: tuple[float, float, float], number: float, told: set[str]
) -> None:
    name, teachers = "synthetic-uses", ("raw half", "release", "synthetic log")
    lines = [
        rows(name, metric, values, "teacher", *teachers)
        for metric in ("suggestion-hits", "cache-hits", "click-rank")
    ]
    found = verdicts(name, rows(name, "published-queries", [number], "teacher", "release"), *lines)
    assert set(found.values()) == told and len(found) == (3 if number < 20 else 6)


@pytest.mark.parametrize(("right", "verdict"), [(0.8, "pass"), (0.3, "FAIL")])
def test_uses_that_are_wrong_are_told(right: float, verdict: str) -> None:
    name = "graph-uses"
    found = verdicts(
        name,
        rows(name, "published-queries", [90.0], "epsilon", 8.0, use="all"),
        rows(name, "right", [right], "epsilon", 8.0, use="spelling"),
        rows(name, "answered", [0.5], "epsilon", 8.0, use="spelling"),
    )
    check = "{}: what the release says is mostly right at the largest epsilon"
    assert found[check.format("spelling")] == verdict
    assert found[check.format("classes")] == "too small to tell", "nothing was measured"


def test_mistakes_are_planted_before_searches() -> None:
    """Every search begins with a mistake: it has no click, and is followed by the right query 20 seconds later."""
    table = many(3, ["weather", "news"]).append_column("url", pa.array(["u", None] * 3, pa.string()))
    log = with_mistakes(Original(qv.read(table)), 1.0)
    assert misspelt("cheap weather map") == "cheap wather map"
    graph = qv.Graph.of_log(log)
    counts = dict(zip(*graph.table("queries").to_pydict().values(), strict=True))
    assert counts == {"weather": 3, "wather": 3, "news": 3}, "'news' is too short to be misspelt"
    assert {"query": "wather", "next_query": "weather", "count": 3} in graph.table(
        "reformulations"
    ).to_pylist()
    assert "wather" not in graph.table("clicks")["query"].to_pylist()


def test_logs_that_say_nothing_are_refused() -> None:
    one = pa.table({"user": ["u"], "time": [at(0)], "query": ["a"], "url": ["x"]})
    with pytest.raises(qv.CannotBeMet, match="one moment"):
        lab.compare(qv.read(one), "popularity", repeats=1)
    with pytest.raises(qv.CannotBeMet, match="two halves"):
        lab.compare(qv.read(one), "synthetic-uses", repeats=1)
    without = qv.read(one.drop_columns(["url"]))
    for study in ("synthetic-uses", "graph-uses"):
        with pytest.raises(qv.InputError, match="url"):
            lab.compare(without, study, repeats=1)
    with pytest.raises(qv.UsageError, match="grouping"):
        lab.compare(qv.read(one), "query-groups", vary={"grouping": ["meaning"]})
