"""Public lists in ZEALOUS, the whole way: plan, noise on every item, manifest, verification, both engines."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import queryveil as qv
from queryveil.mechanisms import listed_items
from queryveil.mechanisms.listed_items import ListedCounts
from queryveil.privacy import calibration
from queryveil.privacy.draws import PublicList
from queryveil.reading.engine.base import Engine
from tests.command import command
from tests.conftest import many
from tests.mutations import manifest_of, write_again
from tests.seeded import SeededBits


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """Some items that people have, and 2,000 that nobody has."""
    file = tmp_path / "catalogue.txt"
    file.write_text("Flu\nmeasles\nrare\n" + "".join(f"decoy {number}\n" for number in range(2_000)))
    return file


def rows() -> pa.Table:
    parts = [(300, "flu"), (25, "measles"), (60, "not on the list"), (3, "unlisted and rare"), (1, "rare")]
    return pa.concat_tables([many(users, [item], prefix=item) for users, item in parts])


class CountedNoise(qv.Noise):
    """How many values are drawn in all."""

    drawn = 0

    def discrete_laplace(self, scale: Any, size: int) -> np.ndarray:
        self.drawn += size
        return super().discrete_laplace(scale, size)


def method(catalogue: Path, **given: Any) -> qv.Zealous:
    parameters: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "public": str(catalogue)}
    return qv.Zealous(**(parameters | given))


def published(made: qv.Zealous, seed: int = 1, **given: Any) -> dict[str, int]:
    noise = given.pop("noise", None) or qv.Noise(SeededBits(seed))
    log = qv.read(rows(), **given)
    release = qv.publish(log, made, noise=noise, i_understand=True)
    return {row["query"]: row["count"] for row in release.tables["items"].to_pylist()}


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
    assert listed_items.decoys(public, scale) == pytest.approx(exact, rel=1e-9) and exact > 0


def test_the_plan_states_list_threshold_and_decoys(catalogue: Path) -> None:
    plan = method(catalogue).plan()
    (draw,) = plan.draws
    assert draw.public is not None
    assert (draw.public.items, draw.public.lines, draw.public.above) == (2_003, 2_003, 12)
    assert plan.calibration["expected_decoys"] == pytest.approx(
        2_003 * math.exp(-13 / 2) / (1 + math.exp(-1 / 2))
    )
    assert "1.9 of its 2,003 items" in plan.expected[0]
    assert {"public-list"} <= {one.code for one in plan.guarantee.assumptions}
    assert {"decoys"} <= {one.code for one in plan.guarantee.caveats}
    assert "catalogue" not in json.dumps(plan.as_dict()), "no name of the curator's file"
    fewer = method(catalogue, public_z=8).plan().calibration
    assert fewer["expected_decoys"] < 0.01 and fewer["public_threshold"] == 23


@pytest.mark.parametrize("guarantee", ["approximate", "probabilistic"])
def test_the_list_costs_nothing(guarantee: str, catalogue: Path) -> None:
    """Noise, thresholds of other items, epsilon and delta are those without a list; it is one draw, and paid once."""
    with_list = method(catalogue, guarantee=guarantee).plan(users=500)
    without = qv.Zealous(epsilon=1, delta=1e-6, guarantee=guarantee).plan(users=500)
    (draw,), (plain,) = with_list.draws, without.draws
    assert dataclasses.replace(draw, public=None) == plain
    assert (with_list.guarantee.epsilon, with_list.guarantee.delta) == (1, 1e-6)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"items": ("queries", "keywords")}, "has one kind of item"),
        ({"public": None, "public_z": 3}, "name its file with --public"),
        ({"public_z": 0}, "parameter 'public_z' must be"),
        ({"public_z": 1001}, "parameter 'public_z' must be"),
    ],
)
def test_what_does_not_go_with_a_list_is_refused(given: dict[str, Any], said: str, catalogue: Path) -> None:
    with pytest.raises(qv.UsageError, match=said):
        method(catalogue, **given)


# -- noise ---------------------------------------------------------------------------------------------------


def test_every_item_of_the_list_gets_noise_and_others_only_if_somebody_has_them(catalogue: Path) -> None:
    noise = CountedNoise(SeededBits(1))
    published(method(catalogue), noise=noise)
    assert noise.drawn == 2_003 + 2, "all of the list, and the two items of the log that are off it"
    with pytest.raises(TypeError, match="every item of a public list"):
        made = method(catalogue)
        assert made.public_items is not None
        ListedCounts(made.public_items, made.plan().draws[0].public, np.zeros(2_002, np.int64))  # type: ignore[arg-type]


def test_items_go_by_their_own_thresholds(catalogue: Path) -> None:
    """Without noise to speak of: 25 users are enough on the list, 60 are needed off it."""
    made = qv.Zealous(noise_scale=0.01, second_threshold=59, tau=40, public=str(catalogue))
    assert published(made) == {"flu": 300, "measles": 25, "not on the list": 60}, "tau is not for the list"
    again = qv.Zealous(noise_scale=0.01, second_threshold=60, tau=40, public=str(catalogue))
    assert published(again) == {"flu": 300, "measles": 25}


def test_unlisted_items_are_published_as_without_a_list(catalogue: Path) -> None:
    """A list of other items changes neither what is kept nor the noise of what is off the list."""
    other = catalogue.with_name("other.txt")
    other.write_text("nobody has this\n")
    plain, listed = qv.Zealous(epsilon=1, delta=1e-6), method(other, public_z=1000)
    for seed in range(5):
        noise = qv.Noise(SeededBits(seed))
        noise.discrete_laplace(2.0, 1)  # what the list's one item takes
        assert set(published(listed, seed)) == set(published(plain, noise=noise))


def test_engines_publish_the_same_with_the_same_noise(catalogue: Path, spark: Engine) -> None:
    """All items are on the list, whose noise is drawn in its order before the log is counted."""
    with catalogue.open("a") as file:
        file.write("not on the list\nunlisted and rare\n")
    made = method(catalogue, max_items=2, public_z=2)
    here = published(made, seed=7)
    assert here == published(made, seed=7, engine=spark) and len(here) > 20, "decoys too"


@pytest.mark.parametrize("kind", ["keywords", "itemsets", "clicks"])
def test_other_kinds_of_items(kind: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "user": [f"u{number // 2}" for number in range(80)],
            "query": ["Milk", "white bread"] * 40,
            "url": ["http://m", "http://b"] * 40,
        }
    )
    lines = {"keywords": "bread milk\n", "itemsets": "white bread\tmilk\n", "clicks": "milk\thttp://m\n"}[
        kind
    ]
    file = tmp_path / "list.tsv"
    file.write_text(lines + {"itemsets": "a\tb\n", "clicks": "a\tb\n"}.get(kind, "a\n"))
    made = qv.Zealous(noise_scale=0.01, second_threshold=10**6, max_items=3, items=(kind,), public=str(file))
    release = qv.publish(qv.read(table), made, noise=qv.Noise(SeededBits(1)), i_understand=True)
    found = [tuple(row.values()) for row in release.tables["items"].to_pylist()]
    wanted = {
        "keywords": [("bread", 40), ("milk", 40)],
        "itemsets": [("milk", "white bread", 40)],
        "clicks": [("milk", "http://m", 40)],
    }
    assert found == wanted[kind]


# -- releases ------------------------------------------------------------------------------------------------


@pytest.fixture
def release(catalogue: Path, tmp_path: Path) -> Path:
    """With a threshold of 6 about 37 decoys are there; that there is none has a chance far below 1e-6."""
    qv.publish(qv.read(rows()), method(catalogue, public_z=2), out=tmp_path / "out")
    return tmp_path / "out"


def test_it_verifies_and_is_saved_again_byte_by_byte(release: Path, tmp_path: Path) -> None:
    verdict = qv.verify(release)
    assert verdict.passed, verdict.failed
    assert any(line.startswith("public list:") for line in verdict.not_checked)
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
    """Its items are below the threshold of the others then."""
    content = manifest_of(release)
    del content["draws"][0]["public"]
    write_again(release, content, with_documents=False)
    assert {"thresholds", "declared"} <= {one.name for one in qv.verify(release).failed}


def test_more_rows_than_the_list_has_items_cannot_come_from_it(release: Path) -> None:
    content = manifest_of(release)
    content["draws"][0]["above"] = 10**6
    content["draws"][0]["public"]["items"] = 1
    write_again(release, content, with_documents=False)
    (found,) = [one for one in qv.verify(release).failed if one.name == "thresholds"]
    assert "than the public list has items" in found.detail


def test_decoys_are_not_taken_for_a_sign_of_another_log(release: Path) -> None:
    found = qv.evaluate(qv.read(rows()), release, ["released-share", "coverage@10"])
    assert found.warnings == () and found.measures["released-share/distinct"] is not None


def test_a_list_of_the_logs_own_queries_warns_the_curator_alone(tmp_path: Path) -> None:
    names = [f"q{number}" for number in range(1_500)]
    log = qv.read(pa.table({"user": names, "query": names}))
    (tmp_path / "own.txt").write_text("\n".join(names))
    out = tmp_path / "out"
    made = qv.publish(log, method(tmp_path / "own.txt", public_z=1), out=out)
    assert any("100 % of the public list's items are in the log" in one for one in made.warnings)
    assert all("are in the log" not in file.read_text("utf-8", "replace") for file in out.iterdir())


# -- refusals come before the charge -------------------------------------------------------------------------


@pytest.mark.parametrize("content", [None, b"", b"caf\xe9\n"], ids=["missing", "empty", "not UTF-8"])
def test_a_bad_list_is_exit_3_and_charges_nothing(content: bytes | None, tmp_path: Path) -> None:
    csv.write_csv(many(40, ["flu"]), tmp_path / "log.csv")
    if content is not None:
        (tmp_path / "list.txt").write_bytes(content)
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("logs", epsilon=2, delta=1e-5)
    words = ["publish", "zealous", str(tmp_path / "log.csv"), "--epsilon", "1", "--delta", "1e-6"]
    words += ["--ledger", str(tmp_path / "ledger.db"), "--source", "logs", "--out", str(tmp_path / "out")]
    done = command(*words, "--public", str(tmp_path / "list.txt"))
    assert done.code == 3 and "public list" in done.err and done.err.count("\n") <= 3, done.err
    assert ledger.budget("logs").spent.epsilon == 0 and not (tmp_path / "out").exists()
