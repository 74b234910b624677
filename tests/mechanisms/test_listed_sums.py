"""Public lists in Gaussian selection: exact thresholds, noise in every round, kinds of items.

What every method with a list must keep is in test_public_lists.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from scipy import stats

import queryveil as qv
from queryveil.mechanisms.selection import gaussian_kernels as kernels
from queryveil.mechanisms.selection import listed_items, steering
from queryveil.privacy.draws import PublicList
from tests.conftest import many
from tests.mechanisms.public_lists import (
    LISTED,
    OFF,
    CountedNoise,
    NoNoise,
    method,
    published,
    rows,
    write_catalogue,
)
from tests.mutations import manifest_of, write_again
from tests.sentences import fields_of

GAUSSIAN = ("steered", "weighted")


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_catalogue(tmp_path_factory.mktemp("list") / "catalogue.txt")


@pytest.fixture(scope="module")
def log() -> qv.SearchLog:
    return qv.read(rows())


# -- the plan ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1_000, 12_822_587])
@pytest.mark.parametrize("z", [0.5, 3.5, 8.0])
@pytest.mark.parametrize("rounds", [1, 2, 8])
def test_threshold_and_decoys_are_exact(scale: int, z: float, rounds: int) -> None:
    a = steering.round_weights(rounds)
    spread = scale * math.sqrt(sum(one * one for one in a))
    above = listed_items.list_threshold_of_sums(scale, a, z)
    assert above - 1 < z * spread * (1 + 1e-12) and z * spread * (1 - 1e-12) <= above
    public = PublicList(items=10_000, lines=10_000, sha256="0" * 64, above=above)
    exact = 10_000 * stats.norm.sf((above - sum(a) / 2) / spread)
    assert listed_items.expected_decoys_of_sums(public, scale, a) == pytest.approx(exact, rel=1e-9)
    assert listed_items.expected_decoys_of_sums(public, scale, a) >= 10_000 * stats.norm.sf(above / spread), (
        "rounding is in it"
    )


@pytest.mark.parametrize("which", GAUSSIAN)
def test_figures(which: str, catalogue: Path) -> None:
    plan = method(which, catalogue).plan()
    assert len(plan.draws) == 2, "selection and counts"
    assert plan.calibration["expected_decoys"] == pytest.approx(LISTED * stats.norm.sf(4), rel=1e-4)
    expected = fields_of(plan.expected, "plan.decoys")
    assert (expected["decoys"], expected["items"]) == (plan.calibration["expected_decoys"], LISTED)
    assert plan.calibration["users_for_half"] > 25 > plan.calibration["public_users_for_half"]
    more = method(which, catalogue, public_z=2).plan().calibration
    assert more["expected_decoys"] == pytest.approx(LISTED * stats.norm.sf(2), rel=1e-4)


# -- noise ---------------------------------------------------------------------------------------------------


def test_every_item_of_the_list_gets_noise_in_every_round(
    catalogue: Path, log: qv.SearchLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as nothing is dropped; and in the first round in any case."""
    noise = CountedNoise()
    published(method("steered", catalogue), log, noise=noise)
    *rounds, counts = noise.drawn
    assert rounds[0] == LISTED + OFF and rounds == sorted(rounds, reverse=True) and len(rounds) == 8
    assert rounds[-1] < LISTED / 2, "most of what is noise is dropped on the way, and needs none any more"
    assert counts < 20, "counts are of what is published"
    monkeypatch.setattr(kernels, "steer_scores", lambda *given: None)
    noise = CountedNoise()
    found = published(method("steered", catalogue, rounds=5), log, noise=noise)
    assert noise.drawn == [LISTED + OFF] * 5 + [len(found)]


def test_every_item_of_the_list_gets_noise_in_one_round(catalogue: Path, log: qv.SearchLog) -> None:
    noise = CountedNoise()
    found = published(method("weighted", catalogue), log, noise=noise)
    assert noise.drawn == [LISTED + OFF, len(found)]


def test_a_dropped_item_of_the_list_was_dropped_by_its_own_sums(catalogue: Path, log: qv.SearchLog) -> None:
    """Whether anyone has an item decides nothing: items of nobody stay as long as their noisy sums let them."""
    one, nobody = CountedNoise(3), CountedNoise(3)
    made = method("steered", catalogue)
    published(made, log, noise=one)
    published(made, qv.read(many(300, ["flu"], prefix="flu")), noise=nobody)
    assert nobody.drawn[0] == LISTED, "all of the list, though one item of it is in the log"
    assert abs(one.drawn[1] - nobody.drawn[1]) < 30, "so many are left by noise alone"


@pytest.mark.parametrize("which", GAUSSIAN)
def test_a_threshold_above_that_of_other_items_is_kept_too(
    which: str, catalogue: Path, log: qv.SearchLog
) -> None:
    fewer = method(which, catalogue, public_z=12)
    assert published(fewer, log, noise=NoNoise()) == {"flu": 300}


def test_users_give_weight_to_listed_items_that_may_still_pass(tmp_path: Path) -> None:
    """Without noise: who has an item that passes and one that does not gives to the first, on the list as off it."""
    file = tmp_path / "list.txt"
    file.write_text("shared\n")
    names = [f"u{number}" for number in range(60)]
    table = pa.table({"user": names * 2, "query": ["shared"] * 60 + [f"own {name}" for name in names]})
    for made in (qv.Steered(epsilon=2, delta=1e-6), qv.Steered(epsilon=2, delta=1e-6, public=str(file))):
        release = qv.publish(qv.read(table), made, noise=NoNoise(), i_understand=True, allow_empty=True)
        assert release.tables["items"]["query"].to_pylist() == ["shared"]


@pytest.mark.parametrize("which", GAUSSIAN)
def test_a_list_of_other_items_changes_nothing_off_it(which: str, tmp_path: Path, log: qv.SearchLog) -> None:
    """An item that sorts last takes its noise last in each round; in one round that leaves the others theirs."""
    other = tmp_path / "other.txt"
    other.write_text("zzz nobody has this\n")
    given: dict[str, Any] = {"epsilon": 4.0, **({"rounds": 1} if which == "steered" else {})}
    for seed in range(4):
        with_list = published(method(which, other, public_z=40, **given), log, seed)
        assert set(with_list) == set(published(method(which, None, **given), log, seed))


@pytest.mark.parametrize("which", GAUSSIAN)
@pytest.mark.parametrize("kind", ["keywords", "itemsets", "clicks"])
def test_other_kinds_of_items(which: str, kind: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "user": [f"u{number // 2}" for number in range(200)],
            "query": ["Milk", "white bread"] * 100,
            "url": ["http://m", "http://b"] * 100,
        }
    )
    known: dict[str, tuple[str, set[tuple[str, ...]]]] = {
        "keywords": ("bread milk\na\n", {("bread",), ("milk",)}),
        "itemsets": ("white bread\tmilk\na\tb\n", {("milk", "white bread")}),
        "clicks": ("milk\thttp://m\na\tb\n", {("milk", "http://m")}),
    }
    lines, wanted = known[kind]
    file = tmp_path / "list.tsv"
    file.write_text(lines)
    made = method(which, file, epsilon=0.5, items=(kind,), public_z=3)
    release = qv.publish(qv.read(table), made, noise=NoNoise(), i_understand=True)
    found = {tuple(row.values())[:-2] for row in release.tables["items"].to_pylist()}
    assert found >= wanted and not found & {("a", "b"), ("a",)}


# -- releases ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", GAUSSIAN)
def test_counts_of_published_rows_have_no_list(
    which: str, catalogue: Path, log: qv.SearchLog, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    qv.publish(log, method(which, catalogue, public_z=2), out=out)
    content = manifest_of(out)
    content["draws"][1]["public"] = content["draws"][0]["public"]
    write_again(out, content, with_documents=False)
    (found,) = [one for one in qv.verify(out).failed if one.name == "draws"]
    assert "which no proof covers" in found.detail
