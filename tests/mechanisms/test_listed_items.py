"""Public lists where counts get noise, ZEALOUS above all: exact thresholds, kinds of items, what verification sees.

What every method with a list must keep is in test_public_lists.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.mechanisms.selection import listed_items
from queryveil.mechanisms.selection.count_selection import ListedCounts
from queryveil.privacy import calibration
from queryveil.privacy.draws import PublicList
from queryveil.privacy.selection_noise import noise_of
from tests.mechanisms.public_lists import LISTED, method, published, rows, write_catalogue
from tests.mutations import manifest_of, write_again
from tests.seeded import SeededBits


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_catalogue(tmp_path_factory.mktemp("list") / "catalogue.txt")


@pytest.fixture(scope="module")
def log() -> qv.SearchLog:
    return qv.read(rows(unlisted=60))


# -- the plan ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.3, 2.0, 17.5])
@pytest.mark.parametrize("z", [0.5, 4.0, 8.0])
def test_threshold_and_decoys_are_exact(scale: float, z: float) -> None:
    """Against sums over the noise's own probabilities."""
    q = math.exp(-1 / scale)
    law = {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-2_000, 2_001)}
    above = math.ceil(z * math.sqrt(sum(x * x * p for x, p in law.items())))
    assert calibration.deviations(scale, z) == above
    public = PublicList(items=10_000, lines=10_000, sha256="0" * 64, above=above)
    exact = 10_000 * sum(p for x, p in law.items() if x > above)
    assert listed_items.expected_decoys(public, scale) == pytest.approx(exact, rel=1e-9) and exact > 0


@pytest.mark.parametrize(("epsilon", "delta"), [(3, 1e-6), (0.5, 1e-6), (0.06, 0.3), (1, 0.7)])
@pytest.mark.parametrize("z", [0.5, 2.0, 8.0])
def test_threshold_and_decoys_of_selection_noise_are_exact(
    epsilon: float, delta: float, z: float, catalogue: Path
) -> None:
    """Against sums over the noise's own weights; no threshold is above the largest noise."""
    plan = qv.TruncatedGeometric(epsilon=epsilon, delta=delta, public=str(catalogue), public_z=z).plan()
    (draw,) = plan.draws
    noise = noise_of(draw)
    assert draw.public is not None and draw.scale is not None and noise is not None
    assert draw.public.above == max(1, min(noise.largest, calibration.deviations(draw.scale, z)))
    weights = np.diff([one / 2**noise.bits for one in noise.cumulative])
    exact = LISTED * sum(
        weight for place, weight in enumerate(weights) if noise.largest - place > draw.public.above
    )
    assert plan.calibration["expected_decoys"] == pytest.approx(exact, rel=1e-9)
    assert (exact == 0) == (draw.public.above >= noise.largest)


def test_figures_of_zealous(catalogue: Path) -> None:
    plan = method("zealous", catalogue).plan()
    (draw,) = plan.draws
    assert draw.public is not None and draw.public.above == 12
    exact = LISTED * math.exp(-13 / 2) / (1 + math.exp(-1 / 2))
    assert plan.calibration["expected_decoys"] == pytest.approx(exact)
    assert f"1.9 of its {LISTED:,} items" in plan.expected[0]
    fewer = method("zealous", catalogue, public_z=8).plan().calibration
    assert fewer["expected_decoys"] < 0.01 and fewer["public_threshold"] == 23


@pytest.mark.parametrize("which", ["zealous", "zealous, probabilistic"])
def test_a_list_is_one_draw_and_paid_once(which: str, catalogue: Path) -> None:
    plan = method(which, catalogue).plan(users=500)
    assert len(plan.draws) == 1 and (plan.guarantee.epsilon, plan.guarantee.delta) == (1, 1e-6)


# -- noise ---------------------------------------------------------------------------------------------------


def test_noise_for_fewer_items_than_the_list_has_is_refused(catalogue: Path) -> None:
    made = method("zealous", catalogue)
    assert isinstance(made, qv.Zealous) and made.public_items is not None
    with pytest.raises(TypeError, match="every item of a public list"):
        ListedCounts(made.public_items, made.plan().draws[0].public, np.zeros(LISTED - 1, np.int64))  # type: ignore[arg-type]


def test_the_first_threshold_is_not_for_the_list(catalogue: Path, log: qv.SearchLog) -> None:
    """Without noise to speak of: 25 users are enough on the list, 60 are needed off it."""
    made = qv.Zealous(noise_scale=0.01, second_threshold=59, tau=40, public=str(catalogue))
    assert published(made, log) == {"flu": 300, "measles": 25, "not on the list": 60}
    again = qv.Zealous(noise_scale=0.01, second_threshold=60, tau=40, public=str(catalogue))
    assert published(again, log) == {"flu": 300, "measles": 25}


def test_unlisted_items_are_published_as_without_a_list(tmp_path: Path, log: qv.SearchLog) -> None:
    """A list of other items changes neither what is kept nor the noise of what is off the list."""
    other = tmp_path / "other.txt"
    other.write_text("nobody has this\n")
    plain, listed = method("zealous", None), method("zealous", other, public_z=1000)
    for seed in range(4):
        noise = qv.Noise(SeededBits(seed))
        noise.discrete_laplace(2.0, 1)  # what the list's one item takes
        assert set(published(listed, log, seed)) == set(published(plain, log, noise=noise))


@pytest.mark.parametrize("kind", ["keywords", "itemsets", "clicks"])
def test_other_kinds_of_items(kind: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "user": [f"u{number // 2}" for number in range(80)],
            "query": ["Milk", "white bread"] * 40,
            "url": ["http://m", "http://b"] * 40,
        }
    )
    lines, wanted = {
        "keywords": ("bread milk\na\n", [("bread", 40), ("milk", 40)]),
        "itemsets": ("white bread\tmilk\na\tb\n", [("milk", "white bread", 40)]),
        "clicks": ("milk\thttp://m\na\tb\n", [("milk", "http://m", 40)]),
    }[kind]
    file = tmp_path / "list.tsv"
    file.write_text(lines)
    made = qv.Zealous(noise_scale=0.01, second_threshold=10**6, max_items=3, items=(kind,), public=str(file))
    release = qv.publish(qv.read(table), made, noise=qv.Noise(SeededBits(1)), i_understand=True)
    assert [tuple(row.values()) for row in release.tables["items"].to_pylist()] == wanted


def test_what_follows_a_query_of_the_list_is_for_it_too(catalogue: Path, tmp_path: Path) -> None:
    """Decoys are published queries: each of their public results has a noisy count."""
    results = tmp_path / "results.tsv"
    results.write_text("query\turl\n" + "".join(f"decoy {number}\thttp://d\n" for number in range(2_000)))
    log = rows().append_column("url", pa.array(["http://a"] * rows().num_rows))
    made = method("graph", catalogue, public_z=2, epsilon_clicks=1, results=str(results))
    release = qv.publish(qv.read(log), made, noise=qv.Noise(SeededBits(3)), i_understand=True)
    decoys = {one for one in release.tables["queries"]["query"].to_pylist() if one.startswith("decoy")}
    assert len(decoys) > 10 and set(release.tables["clicks"]["query"].to_pylist()) == decoys


# -- releases ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def release(catalogue: Path, log: qv.SearchLog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a threshold of 6 about 37 decoys are there; that there is none has a chance far below 1e-6."""
    out = tmp_path_factory.mktemp("release") / "out"
    qv.publish(log, method("zealous", catalogue, public_z=2), out=out)
    return out


def test_a_list_that_is_left_out_of_the_manifest_is_missed(release: Path, tmp_path: Path) -> None:
    """Its items are below the threshold of the others then."""
    changed = shutil.copytree(release, tmp_path / "out")
    content = manifest_of(changed)
    del content["draws"][0]["public"]
    write_again(changed, content, with_documents=False)
    assert {"thresholds", "manifest"} <= {one.name for one in qv.verify(changed).failed}


def test_more_rows_than_the_list_has_items_cannot_come_from_it(release: Path, tmp_path: Path) -> None:
    changed = shutil.copytree(release, tmp_path / "out")
    content = manifest_of(changed)
    content["draws"][0]["above"] = 10**6
    content["draws"][0]["public"]["items"] = 1
    write_again(changed, content, with_documents=False)
    (found,) = [one for one in qv.verify(changed).failed if one.name == "thresholds"]
    assert "than the public list has items" in found.detail


def test_decoys_are_not_taken_for_a_sign_of_another_log(release: Path, log: qv.SearchLog) -> None:
    found = qv.evaluate(log, release, ["released-share", "coverage@10"])
    assert found.warnings == () and found.measures["released-share/distinct"] is not None
