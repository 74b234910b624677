"""load() is the inverse of save(): a release that is read and written again is the same, to the byte."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import queryveil as qv
from tests import mutations
from tests.seeded import NoiseOfUsers

LOG = mutations.log()
CHOICES: dict[str, st.SearchStrategy[qv.Mechanism]] = {
    "zealous": st.builds(
        qv.Zealous,
        epsilon=st.floats(4, 40),
        delta=st.floats(1e-9, 1e-3),
        max_items=st.integers(1, 4),
        items=st.lists(
            st.sampled_from(["keywords", "queries", "query-pairs", "clicks"]), min_size=1, unique=True
        ).map(tuple),
        keep=st.sampled_from(["random", "first"]),
        guarantee=st.sampled_from(["approximate", "probabilistic"]),
        analysis=st.sampled_from(["tight", "paper"]),
    ),
    "click-graph": st.builds(
        qv.ClickGraph,
        epsilon=st.floats(4, 40),
        delta=st.floats(1e-9, 1e-3),
        max_queries=st.integers(1, 4),
        count_by=st.sampled_from(["occurrences", "users"]),
        urls=st.just("private"),
        epsilon_clicks=st.floats(1, 9),
        delta_clicks=st.floats(1e-9, 1e-3),
        max_clicks=st.none() | st.integers(1, 3),
        non_negative=st.booleans(),
    ),
    "k-query": st.builds(qv.KQuery, k=st.integers(2, 50)),
    "k-session": st.builds(qv.KSession, k=st.integers(2, 50)),
    "k-keyword": st.builds(qv.KKeyword, k=st.integers(2, 50)),
    "token-hash": st.builds(
        qv.TokenHash, digits=st.integers(12, 32), token_order=st.sampled_from(["keep", "shuffle"])
    ),
    "ad-hoc": st.builds(
        qv.AdHoc,
        steps=st.sampled_from([("drop-infrequent",), ("hash-users", "drop-infrequent")]),
        min_users=st.integers(2, 20),
    ),
    "truncated-geometric": st.builds(
        qv.TruncatedGeometric,
        epsilon=st.floats(
            8, 40
        ),  # with less, 60 users may be too few for four items of each, which is refused
        delta=st.floats(1e-9, 1e-3),
        max_items=st.integers(1, 4),
        items=st.sampled_from([("queries",), ("keywords", "clicks")]),
        neighbours=st.sampled_from(["add-remove", "replace"]),
    ),
    "profile-histogram": st.builds(
        qv.ProfileHistogram, epsilon=st.floats(1, 9), max_queries=st.integers(1, 3)
    ),
}


def files(release: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in release.iterdir()}


def same(first: Path, second: Path) -> None:
    release = qv.load(first)
    release.save(second)
    assert files(second) == files(first)
    again = qv.load(second)
    assert again.plan == release.plan
    assert again.created == release.created
    assert again.tables == release.tables


_NUMBERS = itertools.count()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(method=st.sampled_from(sorted(CHOICES)).flatmap(CHOICES.__getitem__), users=st.none() | st.just(1_000))
def test_load_is_the_inverse_of_save(method: qv.Mechanism, users: int | None, tmp_path: Path) -> None:
    place = tmp_path / str(next(_NUMBERS))
    made = qv.publish(LOG, method, users=users, allow_empty=True, i_understand=True)
    made.save(place / "first")
    same(place / "first", place / "second")
    loaded = qv.load(place / "first")
    assert loaded.plan.as_dict() | {"warnings": [], "expected": []} == made.plan.as_dict() | {
        "warnings": [],
        "expected": [],
    }
    assert loaded.tables == made.tables


@pytest.mark.parametrize("method", mutations.METHODS)
def test_every_method_is_loaded_as_it_was_saved(method: str, tmp_path: Path) -> None:
    qv.publish(LOG, mutations.METHODS[method], out=tmp_path / "first", i_understand=True)
    same(tmp_path / "first", tmp_path / "second")
    assert qv.verify(tmp_path / "second").passes


def test_the_day_stays(tmp_path: Path) -> None:
    qv.publish(LOG, mutations.METHODS["k-query"], out=tmp_path / "first", i_understand=True)
    content: dict[str, Any] = mutations.manifest_of(tmp_path / "first")
    content["created"] = "2024-02-29"
    mutations.write_again(tmp_path / "first", content, with_documents=True)
    same(tmp_path / "first", tmp_path / "second")
    assert qv.load(tmp_path / "second").created == "2024-02-29"


def test_a_saved_release_states_the_version_that_wrote_its_documents(tmp_path: Path) -> None:
    qv.publish(LOG, mutations.METHODS["k-query"], out=tmp_path / "first", i_understand=True)
    content = mutations.manifest_of(tmp_path / "first")
    here = content["software"]["version"]
    content["software"]["version"] = "0.0.1"
    mutations.write_again(tmp_path / "first", content, with_documents=True)
    assert qv.verify(tmp_path / "first").passes, "its documents name the version of their templates"
    loaded = qv.load(tmp_path / "first")
    assert dict(loaded.software or {})["version"] == "0.0.1"
    loaded.save(tmp_path / "second")
    assert mutations.manifest_of(tmp_path / "second")["software"]["version"] == here
    assert qv.verify(tmp_path / "second").passes


def test_noise_that_is_known_stays_known(tmp_path: Path) -> None:
    qv.publish(
        LOG, mutations.METHODS["zealous"], out=tmp_path / "first", noise=NoiseOfUsers(1), i_understand=True
    )
    same(tmp_path / "first", tmp_path / "second")
