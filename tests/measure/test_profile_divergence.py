"""profile-divergence: profiles of a log and of its semantic release, by hand, and where it cannot be had."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from tests.semantic_worlds import food_file, history

__all__ = ["food_file"]

NAME = "profile-divergence"
PEOPLE = {
    "ann": ["measles", "tennis and basketball", "flu", "hotels in paris"],
    "bob": ["algebra", "physics", "wedding"],
    "eve": ["hotels", "zzyzx"],
}


@pytest.fixture(scope="module")
def log() -> qv.SearchLog:
    return qv.read(history(**PEOPLE))


def measures(log: qv.SearchLog, release: Any) -> dict[str, float | None]:
    return qv.evaluate(log, release, [NAME]).measures


def test_nothing_is_lost_where_topics_are_the_domains(tmp_path: Path) -> None:
    # Three of everybody: that ann and bob both keep their sub-topics has a chance of 4e-4, all six of 6e-11.
    log = qv.read(history(**{f"{name} {n}": posed for name, posed in PEOPLE.items() for n in range(3)}))
    topics = ("disease", "scientific discipline", "sport", "social event")
    method = qv.Semantic(epsilon=0.1, domain="per-topic", topics=topics)
    release = qv.publish(log, method, out=tmp_path / "out")
    for one in (release, tmp_path / "out", f"{tmp_path}/out/"):
        found = measures(log, one)
        assert found[NAME] == 0.0 and found[f"{NAME}/users"] == 6, "eve has no profile"
        assert 0 < (found[f"{NAME}/sub-topics"] or 0) <= 1


def test_nothing_is_lost_where_concepts_stay(log: qv.SearchLog) -> None:
    method = qv.Semantic(epsilon=1e6, epsilon_per="query", criterion="nsqc", domain="entity")
    assert measures(log, qv.publish(log, method)) == {
        NAME: 0.0,
        f"{NAME}/sub-topics": 0.0,
        f"{NAME}/users": 2,
    }


@pytest.mark.parametrize("keep", ["none", "function", "modifiers"])
def test_a_loss_worked_out_by_hand(log: qv.SearchLog, keep: str) -> None:
    """Ann keeps sport and loses disease; bob is not published, and has lost all."""
    names = log.engine.arrow(log.table.select("user").distinct())["user"].to_pylist()
    text = {"none": "tennis.n.01, basketball.n.01"}.get(keep, "cheap tennis.n.01 and basketball.n.01")
    made = qv.Release(
        plan=qv.Semantic(epsilon=1, keep_words=keep).plan(),
        tables={"log": pa.table({"user": [1], "number": [0], "query": [text]})},
        private={"user-map": pa.table({"user": [1, 0], "original": ["ann", "eve"]})},
    )
    # Half in common: 0.311 bits, as in test_profiles.
    alone = qv.profile_divergences([[1, 1]], [[0, 1]])[0]
    assert names and measures(log, made)[NAME] == pytest.approx((alone + 1) / 2, abs=1e-12)
    assert alone == pytest.approx(0.3113, abs=1e-4)


def test_users_that_are_mixed_up_are_noticed(log: qv.SearchLog) -> None:
    """The defect: rows are compared with those of another user."""
    method = qv.Semantic(epsilon=1e6, epsilon_per="query", criterion="nsqc", domain="entity")
    release = qv.publish(log, method)
    known = release.private["user-map"]
    names = known["original"].to_pylist()
    swapped = [{"ann": "bob", "bob": "ann"}.get(name, name) for name in names]
    mixed = pa.table({"user": known["user"], "original": swapped})
    broken = qv.Release(plan=release.plan, tables=release.tables, private={"user-map": mixed})
    assert measures(log, broken)[NAME] == 1.0


def test_it_is_left_out_with_a_reason(log: qv.SearchLog, food_file: Path, tmp_path: Path) -> None:
    qv.publish(log, qv.Semantic(epsilon=1), out=tmp_path / "out")
    food = qv.read(history(ann=["tea"]))
    own = qv.publish(food, qv.Semantic(epsilon=1, taxonomy=str(food_file)))
    hashed = qv.publish(log, qv.TokenHash(sessions="drop"), i_understand=True)
    shutil.rmtree(tmp_path / "out.private")
    for release, of, reason in (
        (tmp_path / "out", log, "private folder"),
        (own, food, "not from WordNet"),
        (hashed, log, "no users with concepts"),
    ):
        found = qv.evaluate(of, release)
        assert NAME not in found.measures and reason in found.left_out[NAME]
        with pytest.raises(qv.InputError, match=reason):
            qv.evaluate(of, release, NAME)


def test_without_the_language_extra_it_is_left_out(
    log: qv.SearchLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = qv.publish(log, qv.Semantic(epsilon=5.0))
    monkeypatch.setitem(sys.modules, "textblob", None)
    assert "install queryveil[language]" in qv.evaluate(log, release).left_out[NAME]
    with pytest.raises(qv.UsageError, match="needs the package textblob"):
        qv.evaluate(log, release, NAME)


def test_another_log_and_a_broken_map_are_refused(log: qv.SearchLog, tmp_path: Path) -> None:
    qv.publish(log, qv.Semantic(epsilon=1), out=tmp_path / "out")
    with pytest.raises(qv.InputError, match="release of another log"):
        measures(qv.read(history(zed=["measles"])), tmp_path / "out")
    (tmp_path / "out.private" / "user-map.parquet").write_bytes(b"no parquet")
    with pytest.raises(qv.InputError, match="user-map"):
        measures(log, tmp_path / "out")
    pq.write_table(pa.table({"user": [0]}), tmp_path / "out.private" / "user-map.parquet")
    with pytest.raises(qv.InputError, match="user-map"):
        measures(log, tmp_path / "out")
