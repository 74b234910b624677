"""Every declared study runs on a small log, draws its figures, and finds the shapes that it expects."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
import queryveil_lab as lab
from lab.tests.studies.test_figures import is_blank
from queryveil_lab.studies.declaration import Findings
from tests.conftest import at

EASY = {"delta": [1e-3]}
# Where a check is about a random release: so little noise that it cannot fail by chance.
QUIET = {**EASY, "epsilon": [20.0]}
REDUCED: dict[str, dict[str, Any]] = {
    "release-probability": {"vary": {"frequency": range(90, 170, 20)}, "repeats": 1},
    "release-d": {"vary": {**EASY, "d": [1, 5, 20, 80, 160]}},
    "release-epsilon-delta": {"vary": {"epsilon": [1.0, 2.0], "delta": [1e-4, 1e-3], "d": [5]}},
    "release-span": {"vary": {**EASY, "days": [1, 7, 365], "d": [1, 5, 21, 80]}},
    "query-groups": {"vary": {**EASY, "d": [1, 20]}},
    "keyword-generation": {
        "vary": {
            **QUIET,
            "epsilon_clicks": [20.0],
            "seeds": ["travel:travelguide.example"],
            "threshold": [0.5, 0.9],
            "min_clicks": [5],
        },
        "repeats": 1,
    },
    # Which one item of a user counts at m = 1 is chance too: one release is truer than those at m = 40 with 1e-5, the
    # mean of two with 1e-9.
    "zealous-m": {"vary": {**QUIET, "items": ["keywords", "query-pairs"], "m": [1, 40]}, "repeats": 2},
    "zealous-j": {"vary": {**QUIET, "items": ["keywords"], "m": [1, 8]}, "repeats": 1},
    "count-distribution": {"vary": {**QUIET, "items": ["queries", "clicks"]}},
    "count-difference": {
        "vary": {**EASY, "items": ["queries"], "epsilon": [1.0, 50.0], "k": [10, 100]},
        "repeats": 1,
    },
    "index-caching": {"vary": {**QUIET, "method": ["zealous"], "m": [1, 2]}, "repeats": 1},
    "query-substitution": {"vary": {**QUIET, "m": [1], "k": [10, 50]}},
    "common-fears": {"vary": {**QUIET, "most": [100]}, "repeats": 2},
    # So few queries that all of them are the most frequent ones; the second epsilon publishes more by ten deviations.
    "graph-uses": {"vary": {"epsilon": [20.0], "delta": [1e-3]}, "repeats": 1},
    "popularity": {"vary": {"epsilon": [200.0], "delta": [0.01], "periods": [2], "d": [20]}, "repeats": 1},
    "synthetic-uses": {"vary": {"epsilon": [20.0], "delta": [1e-3]}, "repeats": 1},
    "set-union": {
        "vary": {
            **EASY,
            "method": [
                *("steered", "Release-Data", "weighted Gaussian", "MAD2R", "steered, 4 rounds"),
                *("zealous, replace-one", "steered, replace-one"),
            ],
            "epsilon": [0.3, 0.7],
            "d": [1, 20],
        },
        "repeats": 1,
    },
    "clump-quality": {"vary": {"users": [300, 1000], "k": [5, 15]}},
    "clump-r": {"vary": {"users": [1000], "r": [5, 10, 30]}},
    "clump-size": {"vary": {"users": [300, 1000], "method": ["clump-paper", "partition"]}},
    "clump-order": {"vary": {"users": [1000], "k": [5, 15]}, "repeats": 2},
    # So many trials that a share which fails is none of chance.
    "active-attack": {
        "vary": {
            "method": ["k-query", "k-session", "zealous", "click-graph"],
            "epsilon": [2.0],
            "trials": [100],
        }
    },
    "exposure": {
        "vary": {
            "method": ["log", "zealous", "click-graph", "k-query", "scrub", "token-hash"],
            # With the usual delta one of the log's 43 dangerous queries is published with 1.5e-4; so with 2e-8.
            "delta": [1e-9],
            "n": [400],
        },
        "repeats": 1,
    },
    "hash-inversion": {"vary": {"n": [100, 200]}},
    "expansion": {"vary": {"first": [100], "n": [200, 400]}},
    "gap": {
        "vary": {
            "interval": [6, 24],
            "gap": [1, 60],
            "update": ["heap", "score-greedy", "default"],
            "drift": [0.3],
            "rows": [20_000],
            "n": [100],
        }
    },
    "profiles": {
        "vary": {
            "setting": ["D=P", "A"],
            "criterion": ["sqc2"],
            "epsilon": [0.1, 1.0, 20.0],
            "users": [60],
        },
        "repeats": 3,
    },
}


@pytest.fixture(scope="module")
def log(generated: Path) -> qv.SearchLog:
    return qv.read(generated)


@pytest.mark.parametrize("name", lab.STUDIES)
def test_a_study_runs_draws_and_checks_itself(
    name: str, log: qv.SearchLog, generated: Path, tmp_path: Path
) -> None:
    study = lab.STUDIES[name]
    given: dict[str, Any] = (
        {"results": generated.parent / "results.tsv"} if name == "keyword-generation" else {}
    )
    made = lab.compare(log if study.needs_log else None, name, out=tmp_path / "out", **REDUCED[name], **given)
    assert [check.name for check in made.checks if check.fails] == []
    assert made.figures
    for file in made.figures:
        assert not is_blank(file)
    used = set(made.table["metric"].to_pylist())
    assert used == {metric.name for metric in study.metrics}
    assert study.question.endswith("?") and study.paper


def test_released_shares_are_those_of_a_release(log: qv.SearchLog) -> None:
    """One row by hand: noisy counts over all query events, and published over all different queries."""
    made = lab.compare(log, "release-d", vary={**EASY, "d": [5], "analysis": ["tight"]})
    found = qv.inspect(log)
    one = made.findings.where(how="measured")
    queries = one.where(metric="released-queries").value
    distinct = one.where(metric="released-distinct").value
    assert distinct == pytest.approx(100 * queries / found.items["queries"]["distinct"])
    impressions = one.where(metric="released-impressions").value * found.queries / 100
    assert impressions == pytest.approx(round(impressions)), "a sum of whole counts"


@pytest.mark.parametrize(
    ("queries", "believed", "correct", "failed"),
    [
        (1_000_000, 100, 60, set()),
        (1_000_000, 100, 40, {"most of what is read in hashes is right"}),
        (1_000, 100, 1, set()),
        (1_000, 0, 0, {"hashes that were turned back into words name people"}),
    ],
)
def test_reading_hashes_can_fail(queries: int, believed: int, correct: int, failed: set[str]) -> None:
    numbers = {
        ("raw", "person", "sessions"): 200,
        ("believed", "person", "sessions"): believed,
        ("correct", "person", "sessions"): correct,
        ("raw", "all", "occurrences"): queries,
    }
    rows = [
        {
            "method": "token-hash",
            "n": 8_000,
            "how": how,
            "category": category,
            "metric": metric,
            "value": float(value),
        }
        for (how, category, metric), value in numbers.items()
    ]
    checks = lab.STUDIES["exposure"].checks(Findings(tuple(rows)))
    assert {check.name for check in checks if not check.passes} == failed


def test_one_user_has_no_two_halves() -> None:
    log = qv.read(pa.table({"user": ["u"], "time": [at(0)], "query": ["karen walsh"]}))
    with pytest.raises(qv.CannotBeMet, match="two halves by user"):
        lab.compare(log, "exposure", vary={"method": ["token-hash"]}, repeats=1)


def test_spans_stop_where_the_log_does(log: qv.SearchLog) -> None:
    made = lab.compare(log, "release-span", vary={**EASY, "d": [5]})
    assert made.findings.values("days") == [1, 7, 14, 30], "30 days of log"
    whole = lab.compare(log, "release-d", vary={**EASY, "d": [5], "analysis": ["tight"]})
    month = made.findings.where(days=30, how="expected", metric="released-impressions").value
    assert month == whole.findings.where(how="expected", metric="released-impressions").value


def test_shapes_that_are_missing_fail() -> None:
    """Everybody makes one query once: more is never released under a larger bound, so there is no inner peak."""
    users = [f"u{number}" for number in range(3_000)]
    queries = [f"news {number % 6}" for number in range(3_000)]
    table = pa.table({"user": users, "time": [at(0)] * 3_000, "query": queries})
    made = lab.compare(qv.read(table), "release-d", vary={**EASY, "d": [1, 5, 20]})
    failed = {check.name for check in made.checks if not check.passes}
    assert {"impressions peak at an inner d (tight)", "impressions peak at an inner d (paper)"} <= failed
    assert not made.passes


@pytest.mark.parametrize("query", ["news", ""])
def test_a_log_of_one_row_is_too_small_to_tell(query: str, tmp_path: Path) -> None:
    table = pa.table({"user": ["u"], "time": [at(0)], "query": [query], "url": ["http://a.example"]})
    made = lab.compare(qv.read(table), "zealous-m", vary={**EASY, "m": [1, 2]}, repeats=1)
    assert {one.verdict for one in made.checks} == {"too small to tell"} and made.passes
    with pytest.raises(qv.CannotBeMet, match="too little for a figure"):
        lab.compare(qv.read(table), "zealous-j", vary={**EASY, "m": [1]}, repeats=1, out=tmp_path / "out")


def test_keyword_generation_without_result_lists_keeps_urls_private(log: qv.SearchLog) -> None:
    made = lab.compare(log, "keyword-generation", **REDUCED["keyword-generation"])
    edges = made.findings.where(metric="graph-edges").value
    assert 0 <= edges < 100


def test_keyword_generation_needs_seeds_of_the_log(log: qv.SearchLog) -> None:
    for seeds, error in (("shoes:www.shoes.example", qv.CannotBeMet), ("shoes", qv.UsageError)):
        with pytest.raises(error, match="seed set") as refused:
            lab.compare(log, "keyword-generation", vary={**EASY, "seeds": [seeds]}, repeats=1)
        assert "vary={'seeds': " in refused.value.hint


def test_a_pattern_that_nothing_fits_is_refused(log: qv.SearchLog) -> None:
    with pytest.raises(qv.CannotBeMet, match="fits the pattern"):
        lab.compare(log, "common-fears", vary={"pattern": ["no such thing as *"]})


def test_the_papers_parameters_are_the_defaults() -> None:
    axes = {axis.name: axis.values for axis in lab.STUDIES["release-d"].axes}
    assert axes["d"] == (1, 5, 10, 20, 40, 80, 160)
    assert (axes["epsilon"], axes["delta"]) == ((math.log(10),), (1e-5,))
    both = {axis.name: axis.values for axis in lab.STUDIES["release-epsilon-delta"].axes}
    assert both["epsilon"] == tuple(math.log(power) for power in (2, 5, 10))
    assert both["delta"] == (1e-6, 1e-5, 1e-4)
