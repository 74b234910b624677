"""A click graph of groups of queries: what is counted, what is declared, what is refused, how it is measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from tests.mechanisms.test_click_graph import EXACT, counts, crowd, publish

# In all 20 users search for hotels, no two in the same words; another 20 for cars.
TABLE = crowd(20, (0, "cheap hotels", "u"), (1, "Hotel cheap", None), (2, "cars", None))


def test_groups_reach_what_their_queries_do_not() -> None:
    """2 x 20 events of the group; the bound of 2 takes both queries, and not a group of them."""
    method: dict[str, Any] = {
        "max_queries": 2,
        "threshold": 25,
        "noise_scale": 0.01,
        "epsilon": None,
        "delta": None,
    }
    assert counts(publish(TABLE, **method).tables["queries"]) == {}
    grouped = publish(TABLE, **method, group_queries="words").tables["queries"]
    assert counts(grouped) == {"cheap hotel": 40}


def test_the_guarantee_is_that_of_queries() -> None:
    plain, grouped = (
        qv.ClickGraph(epsilon=1, delta=1e-6, group_queries=how).plan() for how in ("none", "words")
    )
    assert plain.guarantee == grouped.guarantee and plain.draws == grouped.draws
    assert plain.texts == "typed" and grouped.texts == "grouped"
    assert grouped.how.startswith("Queries with the same words counted as one")


@pytest.mark.parametrize("selection", ["threshold", "steered"])
def test_a_folder_verifies_and_is_measured_against_the_grouped_log(selection: str, tmp_path: Path) -> None:
    own: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-3, "shares": (100, 0, 0)}
    log = qv.read(TABLE)
    method = qv.ClickGraph(
        **(own if selection == "steered" else EXACT),
        max_queries=3,
        selection=selection,
        group_queries="words",
    )
    qv.publish(log, method, out=tmp_path / "release", i_understand=True)
    assert qv.verify(tmp_path / "release").passes
    found = qv.evaluate(log, tmp_path / "release", ["released-share", "coverage@2"])
    assert found.measures["coverage@2"] == 1.0 and not found.warnings
    assert found.measures["released-share/distinct"] == 100.0, "both groups, of 2"
    assert "Queries with the same words" in (tmp_path / "release" / "DATASHEET.md").read_text(
        encoding="utf-8"
    )


def test_spark_counts_the_same_groups(spark: Any) -> None:
    asked: dict[str, Any] = {"max_queries": 3, "group_queries": "words"}
    ours, theirs = (counts(publish(TABLE, engine, **asked).tables["queries"]) for engine in ("duckdb", spark))
    assert ours == theirs == {"cheap hotel": 40, "car": 20}


def test_private_clicks_are_of_groups() -> None:
    made = publish(
        TABLE,
        max_queries=3,
        epsilon_clicks=1000.0,
        delta_clicks=1e-12,
        urls="private",
        group_queries="words",
    )
    assert counts(made.tables["clicks"]) == {("cheap hotel", "u"): 20}


@pytest.mark.parametrize(
    "given",
    [
        {"results": "r.tsv", "epsilon_clicks": 1.0},
        {"suggestions": "s.tsv", "epsilon_reformulations": 1.0},
        {"public": "p.txt"},
    ],
)
def test_lists_of_typed_queries_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(qv.UsageError, match="groups of queries are published"):
        qv.ClickGraph(epsilon=1, delta=1e-6, group_queries="words", **given)


def test_another_way_of_grouping_is_refused() -> None:
    with pytest.raises(qv.UsageError, match="group_queries"):
        qv.ClickGraph(epsilon=1, delta=1e-6, group_queries="meaning")


@pytest.mark.parametrize("made", ["words", "none"])
def test_grouping_cannot_be_claimed_or_denied_alone(made: str, tmp_path: Path) -> None:
    """What tables hold is declared as a value beside the parameter."""
    method = qv.ClickGraph(**EXACT, max_queries=3, group_queries=made)
    release = tmp_path / "release"
    qv.publish(qv.read(TABLE), method, out=release)
    assert qv.verify(release).passes
    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    manifest["parameters"]["group_queries"] = "none" if made == "words" else "words"
    (release / "manifest.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")
    assert not qv.verify(release).passes
