"""New queries of known users: published from the part of epsilon that was kept, under the numbers they have already."""

from __future__ import annotations

import json
import math
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.catalog import to_data
from queryveil.reading.engine.base import Engine

DAYS = (
    (1, "a", "pneumonia"),
    (1, "b", "influenza"),
    (40, "a", "asthma"),
    (41, "a", "pneumonia"),
    (42, "c", "asthma"),
)
"""Days after the start of 2026, users, queries: b has nothing new, and c is new."""
SURE: dict[str, Any] = {"criterion": "nsqc", "domain": "respiratory disease", "max_phrases": 2, "pad": True}
"""With an epsilon of 40 for each phrase the true concept is drawn, but for one in e^20 for each other concept."""
LATER = "2026-02-01"


def log_of(rows: tuple[tuple[int, str, str], ...] = DAYS, engine: Any = "duckdb") -> qv.SearchLog:
    times = [datetime(2026, 1 + day // 32, 1 + day % 31) for day, _, _ in rows]
    table = pa.table({"user": [one[1] for one in rows], "time": times, "query": [one[2] for one in rows]})
    return qv.read(table, engine=engine)


def texts(place: Path) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for row in qv.load(place).tables["log"].to_pylist():
        found.setdefault(row["user"], set()).add(row["query"].split(".")[0])
    return found


def numbers(place: Path) -> dict[str, int]:
    rows = pq.read_table(place.with_name(place.name + ".private") / "user-map.parquet").to_pylist()
    return {row["original"]: row["user"] for row in rows}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """January, and what came afterwards."""
    place = tmp_path_factory.mktemp("later")
    january = tuple(one for one in DAYS if one[0] < 32)
    first = qv.Semantic(epsilon=160, reserve=2, **SURE)
    qv.publish(log_of(january), first, out=place / "first")
    second = qv.Semantic(epsilon=80, since=LATER, follows=str(place / "first.private"), **SURE)
    qv.publish(log_of(), second, out=place / "second")
    return place / "first", place / "second"


# -- what is promised ---------------------------------------------------------------------------------------------


def test_a_release_spends_its_own_part() -> None:
    """By hand: 4 over 2 and 6 phrases is 0.5 each, so two of them are 1."""
    method = qv.Semantic(epsilon=4, max_phrases=2, reserve=6, pad=True)
    plan = method.plan()
    assert (plan.guarantee.epsilon, method.per_phrase(2)) == (1.0, Fraction(1, 2))
    assert plan.calibration["epsilon_per_phrase"] == 0.5
    assert plan.guarantee.neighbours == "replace-one-user", "it adds up"
    assert any("ledger" in one for one in plan.warnings)
    assert "semantic.how.epsilon.reserved" in str(to_data(plan.how))


def test_who_follows_is_told_that_one_ledger_must_keep_both() -> None:
    method = qv.Semantic(epsilon=4, max_phrases=2, pad=True, follows="january.private")
    assert any("same source" in one for one in method.plan().warnings)


@pytest.mark.parametrize("parts", [3, 7, 11])
def test_the_parts_of_a_reserve_fit_into_the_whole_and_no_more_does(tmp_path: Path, parts: int) -> None:
    """Thirds of 1 have no decimals to the end; a part is rounded down, and its draws are made with what is stated."""
    method = qv.Semantic(epsilon=1, max_phrases=1, reserve=parts - 1, pad=True)
    promise = method.plan().guarantee
    assert promise.epsilon is not None and Fraction(promise.epsilon) >= method.per_phrase(1)
    assert 1 - 1e-13 < parts * promise.epsilon <= 1
    ledger = qv.Ledger(str(tmp_path / "budget.db"))
    ledger.open("web", epsilon=1, delta=0)
    for _ in range(parts):
        ledger.charge("web", "semantic", promise)
    with pytest.raises(qv.BudgetError):
        ledger.charge("web", "semantic", promise)


def test_publishing_charges_the_part(tmp_path: Path) -> None:
    ledger = qv.Ledger(str(tmp_path / "budget.db"))
    ledger.open("web", epsilon=160, delta=0)
    first = qv.Semantic(epsilon=160, reserve=2, **SURE)
    qv.publish(log_of(), first, out=tmp_path / "first", ledger=tmp_path / "budget.db", source="web")
    assert ledger.budget("web").left.epsilon == 80
    later = qv.Semantic(epsilon=80, since=LATER, follows=str(tmp_path / "first.private"), **SURE)
    qv.publish(log_of(), later, out=tmp_path / "later", ledger=tmp_path / "budget.db", source="web")
    assert ledger.budget("web").left.epsilon == 0
    with pytest.raises(qv.BudgetError):
        qv.publish(log_of(), later, out=tmp_path / "more", ledger=tmp_path / "budget.db", source="web")


# -- what is published --------------------------------------------------------------------------------------------


def test_new_queries_of_known_users_are_under_their_numbers(both: tuple[Path, Path]) -> None:
    first, second = both
    before, after = numbers(first), numbers(second)
    assert set(before) == {"a", "b"} and set(after) == {"a", "b", "c"}
    assert {name: after[name] for name in before} == before and after["c"] == 2
    assert "pneumonia" in texts(first)[before["a"]]
    assert texts(second)[after["a"]] == {"asthma", "pneumonia"}, "both new ones, and nothing of January"
    assert "asthma" in texts(second)[after["c"]]


def test_everybody_has_the_same_number_of_rows(both: tuple[Path, Path]) -> None:
    """Also b, who has nothing new: that must not show."""
    rows = qv.load(both[1]).tables["log"].to_pylist()
    assert [(row["user"], row["number"]) for row in rows] == [
        (user, at) for user in range(3) for at in range(2)
    ]


def test_both_verify_and_say_that_they_go_on(both: tuple[Path, Path]) -> None:
    for place in both:
        assert qv.verify(place).passes, [one for one in qv.verify(place).checks if not one.passes]
        codes = [
            one["code"] for one in json.loads((place / "manifest.json").read_text())["guarantee"]["caveats"]
        ]
        assert "releases-go-on" in codes
    stated = json.loads((both[1] / "manifest.json").read_text())
    assert stated["parameters"]["since"] == LATER and "private" not in json.dumps(stated["parameters"])


@pytest.mark.parametrize(("name", "value"), [("reserve", 1), ("reserve", 200)])
def test_a_reserve_that_is_not_the_one_of_the_draws_is_found(
    both: tuple[Path, Path], tmp_path: Path, name: str, value: int
) -> None:
    place = tmp_path / "changed"
    place.mkdir()
    for file in both[0].iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["parameters"][name] = value
    (place / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    assert not qv.verify(place).passes


def test_spark_leaves_out_the_same_queries(spark: Engine, both: tuple[Path, Path], tmp_path: Path) -> None:
    method = qv.Semantic(epsilon=80, since=LATER, **SURE)
    qv.publish(log_of(engine=spark), method, out=tmp_path / "spark")
    names = numbers(tmp_path / "spark")
    assert set(names) == {"a", "b", "c"}
    assert texts(tmp_path / "spark")[names["a"]] == {"asthma", "pneumonia"}
    later = qv.Semantic(epsilon=80, follows=str(both[0]) + ".private", **SURE)
    later.check(log_of(engine=spark))
    with pytest.raises(qv.InputError, match="2 users of the earlier release are not in this log"):
        later.check(log_of(DAYS[4:], engine=spark))


def test_without_anything_new_all_of_it_is_chance(tmp_path: Path) -> None:
    """As many rows as ever; 2 draws of b alone are 1 in some hundreds to be her own, so nothing is said of that."""
    method = qv.Semantic(epsilon=80, since="2027-01-01", **SURE)
    made = qv.publish(log_of(), method)
    assert made.tables["log"].num_rows == 3 * 2


# -- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reserve": 3}, "only padded ones do"),
        ({"since": LATER}, "only padded ones do"),
        ({"max_phrases": 2, "pad": True, "reserve": 3, "epsilon_per": "query"}, "nothing to reserve"),
        ({"max_phrases": 2, "pad": True, "since": "soon"}, "not a day or a time"),
        ({"max_phrases": 2, "pad": True, "since": "0001-01-01T00:00:00+14:00"}, "not a day or a time"),
        ({"max_phrases": 2, "pad": True, "reserve": 0}, "reserve"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(qv.UsageError, match=said):
        qv.Semantic(epsilon=1, **given)


def test_numbers_that_cannot_be_kept_are_refused(both: tuple[Path, Path], tmp_path: Path) -> None:
    method = {"epsilon": 80, **SURE}
    with pytest.raises(qv.InputError, match="cannot be read"):
        qv.publish(log_of(), qv.Semantic(follows=str(tmp_path), **method))
    only_c = tuple(one for one in DAYS if one[1] == "c")
    with pytest.raises(qv.InputError, match="2 users of the earlier release are not in this log"):
        qv.publish(log_of(only_c), qv.Semantic(follows=str(both[0]) + ".private", **method))
    twice = pa.table({"user": [0, 0], "original": ["a", "b"]})
    pq.write_table(twice, tmp_path / "user-map.parquet")
    with pytest.raises(qv.InputError, match="not one for each user"):
        qv.publish(log_of(), qv.Semantic(follows=str(tmp_path), **method))
    untimed = qv.read(pa.table({"user": ["a"], "query": ["pneumonia"]}))
    with pytest.raises(qv.InputError, match="needs a 'time' column"):
        qv.publish(untimed, qv.Semantic(since=LATER, **method))


@pytest.mark.parametrize("given", [{"max_phrases": 2}, SURE])
def test_a_release_that_did_not_say_so_is_not_followed(tmp_path: Path, given: dict[str, Any]) -> None:
    """Without padding only b, who has a phrase, would be among the first numbers, and that is her history."""
    rows = ((1, "a", "xyzzy"), (1, "b", "influenza"))
    method = qv.Semantic(epsilon=80, **(given | {"domain": "respiratory disease"}))
    qv.publish(log_of(rows), method, out=tmp_path / "first")
    with pytest.raises(qv.InputError, match="did not say that others may have its numbers"):
        qv.publish(log_of(rows), qv.Semantic(epsilon=80, follows=str(tmp_path / "first.private"), **SURE))


def test_a_log_without_known_users_is_refused_before_the_charge(
    both: tuple[Path, Path], tmp_path: Path
) -> None:
    ledger = qv.Ledger(str(tmp_path / "budget.db"))
    ledger.open("web", epsilon=80, delta=0)
    method = qv.Semantic(epsilon=80, follows=str(both[0]) + ".private", **SURE)
    with pytest.raises(qv.InputError, match="are not in this log"):
        qv.publish(log_of(DAYS[4:]), method, ledger=ledger, source="web")
    assert ledger.budget("web").left.epsilon == 80


def test_a_map_of_another_kind_is_refused_without_its_names(tmp_path: Path) -> None:
    table = pa.table({"user": ["anna"], "original": ["anna"]})
    pq.write_table(table, tmp_path / "user-map.parquet")
    with pytest.raises(qv.InputError, match="cannot be read") as refusal:
        qv.publish(log_of(), qv.Semantic(epsilon=80, follows=str(tmp_path), **SURE))
    assert "anna" not in str(refusal.value) and refusal.value.__suppress_context__


def test_the_chance_that_these_tests_go_by() -> None:
    """Eight draws are looked at, and each is another concept with at most this chance."""
    concepts = qv.Semantic(epsilon=80, **SURE).plan().calibration["concepts"]
    assert 8 * concepts * math.exp(-20) < 1e-6
