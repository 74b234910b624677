"""Public lists in Gaussian selection, the whole way: plan, noise, manifest, verification, both engines."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import csv
from scipy import stats

import queryveil as qv
from queryveil.mechanisms import listed_items, listed_sums
from queryveil.mechanisms.steered import loops, theory
from queryveil.mechanisms.steered.steered import Steered
from queryveil.mechanisms.weighted_gaussian import WeightedGaussian
from queryveil.privacy.draws import PublicList
from queryveil.reading.engine.base import Engine
from tests.command import command
from tests.conftest import many
from tests.mutations import manifest_of, write_again
from tests.seeded import SeededBits

Method = Steered | WeightedGaussian
METHODS: list[type[Method]] = [Steered, WeightedGaussian]
LISTED, OFF = 2_003, 2
"""Items of the list, and items of the log that are off it."""


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """Some items that people have, and 2,000 that nobody has."""
    file = tmp_path / "catalogue.txt"
    file.write_text("Flu\nmeasles\nrare\n" + "".join(f"decoy {number}\n" for number in range(2_000)))
    return file


def rows() -> pa.Table:
    parts = [(300, "flu"), (25, "measles"), (25, "not on the list"), (3, "unlisted and rare"), (1, "rare")]
    return pa.concat_tables([many(users, [item], prefix=item) for users, item in parts])


def method(cls: type[Method], catalogue: Path, **given: Any) -> Method:
    parameters: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "public": str(catalogue)}
    return cls(**(parameters | given))


def published(made: Method, seed: int = 1, **given: Any) -> dict[str, int]:
    noise = given.pop("noise", None) or qv.Noise(SeededBits(seed))
    release = qv.publish(qv.read(rows(), **given), made, noise=noise, i_understand=True, allow_empty=True)
    return {row["query"]: row["count"] for row in release.tables["items"].to_pylist()}


class CountedNoise(qv.Noise):
    """How many values are drawn each time."""

    def __init__(self, seed: int = 1) -> None:
        super().__init__(SeededBits(seed))
        self.drawn: list[int] = []

    def rounded_normal(self, scale: int, size: int) -> NDArray[np.int64]:
        self.drawn.append(size)
        return super().rounded_normal(scale, size)


class NoNoise(qv.Noise):
    """What would be published if no noise were drawn."""

    def rounded_normal(self, scale: int, size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)


# -- the plan ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1_000, 12_822_587])
@pytest.mark.parametrize("z", [0.5, 3.5, 8.0])
@pytest.mark.parametrize("rounds", [1, 2, 8])
def test_threshold_and_decoys_are_exact(scale: int, z: float, rounds: int) -> None:
    a = theory.weights(rounds)
    spread = scale * math.sqrt(sum(one * one for one in a))
    above = listed_sums.threshold(scale, a, z)
    assert above - 1 < z * spread * (1 + 1e-12) and z * spread * (1 - 1e-12) <= above
    public = PublicList(items=10_000, lines=10_000, sha256="0" * 64, above=above)
    exact = 10_000 * stats.norm.sf((above - sum(a) / 2) / spread)
    assert listed_sums.decoys(public, scale, a) == pytest.approx(exact, rel=1e-9)
    assert listed_sums.decoys(public, scale, a) >= 10_000 * stats.norm.sf(above / spread), "rounding is in it"


@pytest.mark.parametrize("cls", METHODS)
def test_the_plan_states_list_threshold_and_decoys(cls: type[Method], catalogue: Path) -> None:
    made = method(cls, catalogue)
    plan = made.plan()
    draw, counts = plan.draws
    assert draw.public is not None and counts.public is None
    assert (draw.public.items, draw.public.lines) == (LISTED, LISTED)
    assert draw.above is not None and draw.public.above < draw.above
    assert plan.calibration["expected_decoys"] == pytest.approx(LISTED * stats.norm.sf(4), rel=1e-4)
    assert any(f"0.063 of its {LISTED:,} items" in line for line in plan.expected)
    assert {"public-list"} <= {one.code for one in plan.guarantee.assumptions}
    assert {"decoys"} <= {one.code for one in plan.guarantee.caveats}
    assert "catalogue" not in json.dumps(plan.as_dict()), "no name of the curator's file"
    more = method(cls, catalogue, public_z=2).plan().calibration
    assert more["expected_decoys"] == pytest.approx(LISTED * stats.norm.sf(2), rel=1e-4)


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_list_costs_nothing(cls: type[Method], neighbours: str, catalogue: Path) -> None:
    """Noise, thresholds of other items, mu, p, epsilon and delta are those without a list."""
    with_list = method(cls, catalogue, neighbours=neighbours).plan()
    without = cls(epsilon=1, delta=1e-6, neighbours=neighbours).plan()
    assert tuple(dataclasses.replace(one, public=None) for one in with_list.draws) == without.draws
    assert with_list.guarantee.cost == without.guarantee.cost


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"items": ("queries", "keywords")}, "has one kind of item"),
        ({"public": None, "public_z": 3}, "name its file with --public"),
        ({"public_z": 0}, "parameter 'public_z' must be"),
        ({"public_z": 41}, "parameter 'public_z' must be"),
    ],
)
def test_what_does_not_go_with_a_list_is_refused(
    cls: type[Method], given: dict[str, Any], said: str, catalogue: Path
) -> None:
    with pytest.raises(qv.UsageError, match=said):
        method(cls, catalogue, **given)


# -- noise ---------------------------------------------------------------------------------------------------


def test_every_item_of_the_list_gets_noise_in_every_round(
    catalogue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as nothing is dropped; and in the first round in any case."""
    noise = CountedNoise()
    published(method(Steered, catalogue), noise=noise)
    *rounds, counts = noise.drawn
    assert rounds[0] == LISTED + OFF and rounds == sorted(rounds, reverse=True) and len(rounds) == 8
    assert rounds[-1] < LISTED / 2, "most of what is noise is dropped on the way, and needs none any more"
    assert counts < 20, "counts are of what is published"
    monkeypatch.setattr(loops, "steer", lambda *given: None)
    noise = CountedNoise()
    found = published(method(Steered, catalogue, rounds=5), noise=noise)
    assert noise.drawn == [LISTED + OFF] * 5 + [len(found)]


def test_every_item_of_the_list_gets_noise_in_one_round(catalogue: Path) -> None:
    noise = CountedNoise()
    found = published(method(WeightedGaussian, catalogue), noise=noise)
    assert noise.drawn == [LISTED + OFF, len(found)]


def test_a_dropped_item_of_the_list_was_dropped_by_its_own_sums(catalogue: Path) -> None:
    """Whether anyone has an item decides nothing: items of nobody stay as long as their noisy sums let them."""
    one, nobody = CountedNoise(3), CountedNoise(3)
    made = method(Steered, catalogue)
    published(made, noise=one)
    log = qv.read(many(300, ["flu"], prefix="flu"))
    qv.publish(log, made, noise=nobody, i_understand=True, allow_empty=True)
    assert nobody.drawn[0] == LISTED, "all of the list, though one item of it is in the log"
    assert abs(one.drawn[1] - nobody.drawn[1]) < 30, "so many are left by noise alone"


@pytest.mark.parametrize("cls", METHODS)
def test_items_go_by_their_own_thresholds(cls: type[Method], catalogue: Path) -> None:
    """Without noise: 25 users are enough on the list, and not off it."""
    made = method(cls, catalogue)
    noise = NoNoise(SeededBits(1))
    assert made.plan().calibration["users_for_half"] > 25 > made.plan().calibration["public_users_for_half"]
    assert published(made, noise=noise) == {"flu": 300, "measles": 25}
    assert published(cls(epsilon=1, delta=1e-6), noise=noise) == {"flu": 300}
    fewer = method(cls, catalogue, public_z=12)
    assert published(fewer, noise=noise) == {"flu": 300}, "a threshold above tau is kept too"


def test_users_give_weight_to_listed_items_that_may_still_pass(tmp_path: Path) -> None:
    """Without noise: who has an item that passes and one that does not gives to the first, on the list as off it."""
    file = tmp_path / "list.txt"
    file.write_text("shared\n")
    names = [f"u{number}" for number in range(60)]
    table = pa.table({"user": names * 2, "query": ["shared"] * 60 + [f"own {name}" for name in names]})
    noise = NoNoise(SeededBits(1))
    for made in (Steered(epsilon=2, delta=1e-6), Steered(epsilon=2, delta=1e-6, public=str(file))):
        release = qv.publish(qv.read(table), made, noise=noise, i_understand=True, allow_empty=True)
        assert release.tables["items"]["query"].to_pylist() == ["shared"]


@pytest.mark.parametrize("cls", METHODS)
def test_a_list_of_other_items_changes_nothing_off_it(cls: type[Method], catalogue: Path) -> None:
    """An item that sorts last takes its noise last in each round; in one round that leaves the others theirs."""
    other = catalogue.with_name("other.txt")
    other.write_text("zzz nobody has this\n")
    given: dict[str, Any] = {"epsilon": 4.0, **({"rounds": 1} if cls is Steered else {})}
    for seed in range(5):
        with_list = published(method(cls, other, public_z=40, **given), seed)
        assert set(with_list) == set(published(cls(delta=1e-6, **given), seed))


@pytest.mark.parametrize("cls", METHODS)
def test_engines_publish_the_same_with_the_same_noise(
    cls: type[Method], catalogue: Path, spark: Engine
) -> None:
    with catalogue.open("a", encoding="utf-8") as file:
        file.write("zürich\nÉclair\n\U0001f600\nzz top\n")
    made = method(cls, catalogue, public_z=2)
    here = published(made, seed=7)
    assert here == published(made, seed=7, engine=spark) and len(here) > 20, "decoys too"


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize("kind", ["keywords", "itemsets", "clicks"])
def test_other_kinds_of_items(cls: type[Method], kind: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "user": [f"u{number // 2}" for number in range(200)],
            "query": ["Milk", "white bread"] * 100,
            "url": ["http://m", "http://b"] * 100,
        }
    )
    lines = {"keywords": "bread milk\n", "itemsets": "white bread\tmilk\n", "clicks": "milk\thttp://m\n"}
    file = tmp_path / "list.tsv"
    file.write_text(lines[kind] + {"itemsets": "a\tb\n", "clicks": "a\tb\n"}.get(kind, "a\n"))
    made = cls(epsilon=0.5, delta=1e-6, items=(kind,), public=str(file), public_z=3)
    release = qv.publish(qv.read(table), made, noise=NoNoise(SeededBits(1)), i_understand=True)
    found = [tuple(row.values())[:-2] for row in release.tables["items"].to_pylist()]
    wanted: dict[str, list[tuple[str, ...]]] = {
        "keywords": [("bread",), ("milk",)],
        "itemsets": [("milk", "white bread")],
        "clicks": [("milk", "http://m")],
    }
    assert set(wanted[kind]) <= set(found) and ("a", "b") not in found and ("a",) not in found


# -- releases ------------------------------------------------------------------------------------------------


@pytest.fixture(params=METHODS)
def release(request: pytest.FixtureRequest, catalogue: Path, tmp_path: Path) -> Path:
    """With z = 2 about 40 decoys are there."""
    qv.publish(qv.read(rows()), method(request.param, catalogue, public_z=2), out=tmp_path / "out")
    return tmp_path / "out"


def test_it_verifies_and_is_saved_again_byte_by_byte(release: Path, tmp_path: Path) -> None:
    verdict = qv.verify(release)
    assert verdict.passed, verdict.failed
    assert any(line.startswith("public list:") for line in verdict.not_checked)
    assert manifest_of(release)["tables"]["items"]["texts"] == "listed"
    qv.load(release).save(tmp_path / "again")
    for file in release.iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes(), file.name


def test_pages_state_the_digest_and_the_decoys(release: Path) -> None:
    content = manifest_of(release)
    digest = content["draws"][0]["public"]["sha256"]
    decoys = listed_items.amount(content["calibration"]["expected_decoys"])
    for name in ("DATASHEET.md", "report.html"):
        text = (release / name).read_text(encoding="utf-8")
        assert digest in text and f"{decoys} of its items" in text and "catalogue" not in text


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"items": 2_004}, "declared"),
        ({"above": 5}, "declared"),
        ({"sha256": "0" * 64}, "declared"),
        ({"lines": 1}, "declared"),
        ({"items": 0}, "draws"),
        ({"above": 0}, "draws"),
        ({"above": True}, "draws"),
        ({"sha256": "short"}, "draws"),
        ({"more": 1}, "draws"),
    ],
)
def test_a_changed_list_fails(change: dict[str, Any], check: str, release: Path) -> None:
    content = manifest_of(release)
    content["draws"][0]["public"] |= change
    write_again(release, content, with_documents=False)
    assert check in {one.name for one in qv.verify(release).failed}


def test_a_list_that_is_left_out_of_the_manifest_is_missed(release: Path) -> None:
    content = manifest_of(release)
    del content["draws"][0]["public"]
    write_again(release, content, with_documents=False)
    assert "declared" in {one.name for one in qv.verify(release).failed}


def test_counts_of_published_rows_have_no_list(release: Path) -> None:
    content = manifest_of(release)
    content["draws"][1]["public"] = content["draws"][0]["public"]
    write_again(release, content, with_documents=False)
    (found,) = [one for one in qv.verify(release).failed if one.name == "draws"]
    assert "where none is proven" in found.detail


def test_a_list_of_the_logs_own_queries_warns_the_curator_alone(tmp_path: Path) -> None:
    names = [f"q{number}" for number in range(1_500)]
    (tmp_path / "own.txt").write_text("\n".join(names))
    out = tmp_path / "out"
    log = qv.read(pa.table({"user": names, "query": names}))
    made = qv.publish(log, method(Steered, tmp_path / "own.txt", public_z=1), out=out)
    assert any("100 % of the public list's items are in the log" in one for one in made.warnings)
    assert all("are in the log" not in file.read_text("utf-8", "replace") for file in out.iterdir())


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize("content", [None, b"", b"caf\xe9\n"], ids=["missing", "empty", "not UTF-8"])
def test_a_bad_list_is_exit_3_and_charges_nothing(
    cls: type[Method], content: bytes | None, tmp_path: Path
) -> None:
    csv.write_csv(many(40, ["flu"]), tmp_path / "log.csv")
    if content is not None:
        (tmp_path / "list.txt").write_bytes(content)
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("logs", epsilon=2, delta=1e-5)
    words = ["publish", cls.name, str(tmp_path / "log.csv"), "--epsilon", "1", "--delta", "1e-6"]
    words += ["--ledger", str(tmp_path / "ledger.db"), "--source", "logs", "--out", str(tmp_path / "out")]
    done = command(*words, "--public", str(tmp_path / "list.txt"))
    assert done.code == 3 and "public list" in done.err and done.err.count("\n") <= 3, done.err
    assert ledger.budget("logs").spent.epsilon == 0 and not (tmp_path / "out").exists()
