"""Public lists in truncated geometric selection and in the click graph: plan, noise, manifest, engines."""

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

import queryveil as qv
from queryveil.mechanisms import listed_items
from queryveil.privacy import calibration
from queryveil.privacy.draws import PublicList
from queryveil.reading.engine.base import Engine
from tests.command import command
from tests.conftest import many
from tests.mutations import manifest_of, write_again
from tests.seeded import SeededBits

LISTED, OFF = 2_003, 2
"""Items of the list, and items of the log that are off it."""
Made = qv.TruncatedGeometric | qv.ClickGraph
METHODS: dict[str, tuple[type[Made], dict[str, Any]]] = {
    "truncated": (qv.TruncatedGeometric, {}),
    "truncated, replaced": (qv.TruncatedGeometric, {"neighbours": "replace", "max_items": 2}),
    "graph": (qv.ClickGraph, {"max_queries": 2}),
    "graph of users": (qv.ClickGraph, {"max_queries": 2, "count_by": "users"}),
    "graph, fresh": (qv.ClickGraph, {"max_queries": 2, "counts": "fresh", "epsilon_counts": 1}),
    "steered graph": (qv.ClickGraph, {"selection": "steered", "shares": (80, 0, 20)}),
    "steered graph, replaced": (
        qv.ClickGraph,
        {"selection": "steered", "shares": (100, 0, 0), "neighbours": "replace"},
    ),
}
LAPLACE = [name for name in METHODS if not name.startswith("steered")]


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """Some items that people have, and 2,000 that nobody has."""
    file = tmp_path / "catalogue.txt"
    file.write_text("Flu\nmeasles\nrare\n" + "".join(f"decoy {number}\n" for number in range(2_000)))
    return file


def rows() -> pa.Table:
    parts = [(300, "flu"), (25, "measles"), (25, "not on the list"), (3, "unlisted and rare"), (1, "rare")]
    made = pa.concat_tables([many(users, [item], prefix=item) for users, item in parts])
    if "time" in made.column_names:
        return made
    return made.append_column("time", pa.array(["2006-03-01 10:00:00"] * made.num_rows))


def method(which: str, catalogue: Path | None, **given: Any) -> Made:
    cls, usual = METHODS[which]
    parameters: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, **usual}
    parameters |= {} if catalogue is None else {"public": str(catalogue)}
    made: Made = cls(**(parameters | given))
    return made


def published(made: Made, seed: int = 1, **given: Any) -> dict[str, int]:
    noise = given.pop("noise", None) or qv.Noise(SeededBits(seed))
    release = qv.publish(qv.read(rows(), **given), made, noise=noise, i_understand=True, allow_empty=True)
    table = next(iter(release.tables.values()))
    return {row["query"]: row["count"] for row in table.to_pylist()}


class CountedNoise(qv.Noise):
    """How many values are drawn each time."""

    def __init__(self, seed: int = 1) -> None:
        super().__init__(SeededBits(seed))
        self.drawn: list[int] = []

    def discrete_laplace(self, scale: Any, size: int) -> NDArray[np.int64]:
        self.drawn.append(size)
        return super().discrete_laplace(scale, size)

    def truncated_laplace(self, scale: Any, limit: int, size: int) -> NDArray[np.int64]:
        before = [*self.drawn, size]
        found = super().truncated_laplace(scale, limit, size)
        self.drawn = before  # it may draw other noise on its way
        return found

    def rounded_normal(self, scale: int, size: int) -> NDArray[np.int64]:
        self.drawn.append(size)
        return super().rounded_normal(scale, size)


class NoNoise(qv.Noise):
    """What would be published if no noise were drawn."""

    def discrete_laplace(self, scale: Any, size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    def truncated_laplace(self, scale: Any, limit: int, size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    def rounded_normal(self, scale: int, size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)


# -- the plan ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "limit"), [(0.3, 5), (2.0, 30), (17.5, 20), (17.5, 300)])
@pytest.mark.parametrize("z", [0.5, 2.0, 8.0])
def test_threshold_and_decoys_of_noise_that_ends_are_exact(scale: float, limit: int, z: float) -> None:
    """Against sums over the noise's own probabilities; no threshold is above the limit."""
    q = math.exp(-1 / scale)
    free = {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-2_000, 2_001)}
    weights = {x: q ** abs(x) for x in range(-limit, limit + 1)}
    above = min(limit, math.ceil(z * math.sqrt(sum(x * x * p for x, p in free.items()))))
    listed = qv.TruncatedGeometric(epsilon=1, delta=1e-6)  # any that takes lists
    assert listed.public_items is None
    public = PublicList(items=10_000, lines=10_000, sha256="0" * 64, above=above)
    assert min(limit, calibration.deviations(scale, z)) == above
    exact = 10_000 * sum(p for x, p in weights.items() if x > above) / sum(weights.values())
    assert listed_items.decoys(public, scale, limit) == pytest.approx(exact, rel=1e-9)
    assert (exact == 0) == (above == limit)


@pytest.mark.parametrize("which", METHODS)
def test_the_plan_states_list_threshold_and_decoys(which: str, catalogue: Path) -> None:
    plan = method(which, catalogue).plan()
    draw = plan.draws[0]
    assert draw.public is not None and all(one.public is None for one in plan.draws[1:])
    assert (draw.public.items, draw.public.lines) == (LISTED, LISTED)
    assert draw.above is not None and 0 < draw.public.above < draw.above
    shown = plan.calibration.get("queries", plan.calibration)
    assert 0 < shown["expected_decoys"] < 3 and shown["public_threshold"] == draw.public.above
    assert any(f"of its {LISTED:,} items" in line for line in plan.expected)
    assert {"public-list"} <= {one.code for one in plan.guarantee.assumptions}
    assert {"decoys"} <= {one.code for one in plan.guarantee.caveats}
    assert f"{LISTED:,} items" in plan.how and plan.tables[0].texts == "listed"
    assert "catalogue" not in json.dumps(plan.as_dict()), "no name of the curator's file"
    more = method(which, catalogue, public_z=2).plan().calibration
    assert more.get("queries", more)["expected_decoys"] > 10 * shown["expected_decoys"]


@pytest.mark.parametrize("which", METHODS)
def test_the_list_costs_nothing(which: str, catalogue: Path) -> None:
    """Noise, thresholds of other items, epsilon and delta are those without a list."""
    with_list, without = method(which, catalogue).plan(), method(which, None).plan()
    assert tuple(dataclasses.replace(one, public=None) for one in with_list.draws) == without.draws
    assert with_list.guarantee.cost == without.guarantee.cost


@pytest.mark.parametrize(
    ("which", "given", "said"),
    [
        ("truncated", {"items": ("queries", "keywords")}, "one kind of item"),
        ("truncated", {"public": None, "public_z": 3}, "name its file with --public"),
        ("truncated", {"public_z": 0}, "parameter 'public_z' must be"),
        ("graph", {"public": None, "public_z": 3}, "name its file with --public"),
        ("graph", {"public_z": 1001}, "parameter 'public_z' must be"),
        ("graph", {"neighbours": "replace"}, "--neighbours belongs to --selection steered"),
        ("steered graph", {"public": None, "public_z": 3}, "name its file with --public"),
        ("steered graph", {"public_z": 41}, "parameter 'public_z' must be"),
    ],
)
def test_what_does_not_go_together_is_refused(
    which: str, given: dict[str, Any], said: str, catalogue: Path
) -> None:
    with pytest.raises(qv.UsageError, match=said):
        method(which, catalogue, **given)


# -- noise ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", METHODS)
def test_every_item_of_the_list_gets_noise_and_others_only_if_somebody_has_them(
    which: str, catalogue: Path
) -> None:
    noise = CountedNoise()
    found = published(method(which, catalogue), noise=noise)
    if which in LAPLACE:
        assert noise.drawn[0] == LISTED and sum(noise.drawn[1:]) == OFF + (
            len(found) if "fresh" in which else 0
        )
    else:
        assert noise.drawn[0] == LISTED + OFF, "in the first round; then some are dropped"


@pytest.mark.parametrize("which", METHODS)
def test_items_go_by_their_own_thresholds(which: str, catalogue: Path) -> None:
    """Without noise: what is enough on the list is not enough off it."""
    given = {"epsilon": 1.5} if which == "steered graph, replaced" else {}
    if which in ("truncated", "truncated, replaced"):
        given = {"epsilon": 0.4 if which == "truncated" else 1.6}
    noise = NoNoise(SeededBits(1))
    assert published(method(which, catalogue, public_z=3, **given), noise=noise) == {
        "flu": 300,
        "measles": 25,
    }
    assert published(method(which, None, **given), noise=noise) == {"flu": 300}


@pytest.mark.parametrize("which", ["truncated", "graph", "graph of users", "steered graph"])
def test_engines_publish_the_same_with_the_same_noise(which: str, catalogue: Path, spark: Engine) -> None:
    """All items are on the list, whose noise is drawn in its order before the log is counted."""
    with catalogue.open("a", encoding="utf-8") as file:
        file.write("not on the list\nunlisted and rare\nzürich\n")
    made = method(which, catalogue, public_z=2)
    here = published(made, seed=7)
    assert here == published(made, seed=7, engine=spark) and len(here) > 20, "decoys too"


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


@pytest.fixture(params=METHODS)
def release(request: pytest.FixtureRequest, catalogue: Path, tmp_path: Path) -> Path:
    """With z = 2 some decoys are there; that there is none has a chance far below 1e-6."""
    qv.publish(qv.read(rows()), method(request.param, catalogue, public_z=2), out=tmp_path / "out")
    return tmp_path / "out"


def test_it_verifies_and_is_saved_again_byte_by_byte(release: Path, tmp_path: Path) -> None:
    verdict = qv.verify(release)
    assert verdict.passed, verdict.failed
    assert any(line.startswith("public list:") for line in verdict.not_checked)
    qv.load(release).save(tmp_path / "again")
    for file in release.iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes(), file.name
    content = manifest_of(release)
    digest = content["draws"][0]["public"]["sha256"]
    shown = content["calibration"].get("queries", content["calibration"])
    decoys = listed_items.amount(shown["expected_decoys"])
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
        ({"sha256": "short"}, "draws"),
    ],
)
@pytest.mark.parametrize("which", ["truncated", "graph", "steered graph"])
def test_a_changed_list_fails(
    which: str, change: dict[str, Any], check: str, catalogue: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    qv.publish(qv.read(rows()), method(which, catalogue, public_z=2), out=out)
    content = manifest_of(out)
    content["draws"][0]["public"] |= change
    write_again(out, content, with_documents=False)
    assert check in {one.name for one in qv.verify(out).failed}


@pytest.mark.parametrize("which", ["truncated", "graph", "steered graph"])
def test_a_list_of_the_logs_own_queries_warns_the_curator_alone(which: str, tmp_path: Path) -> None:
    names = [f"q{number}" for number in range(1_500)]
    (tmp_path / "own.txt").write_text("\n".join(names))
    out = tmp_path / "out"
    times = ["2006-03-01 10:00:00"] * len(names)
    log = qv.read(pa.table({"user": names, "query": names, "time": times}))
    made = qv.publish(log, method(which, tmp_path / "own.txt", public_z=1), out=out)
    assert any("100 % of the public list's items are in the log" in one for one in made.warnings)
    assert all("are in the log" not in file.read_text("utf-8", "replace") for file in out.iterdir())


@pytest.mark.parametrize("which", ["truncated", "graph", "steered graph"])
@pytest.mark.parametrize("content", [None, b""], ids=["missing", "empty"])
def test_a_bad_list_is_exit_3_and_charges_nothing(which: str, content: bytes | None, tmp_path: Path) -> None:
    csv.write_csv(rows(), tmp_path / "log.csv")
    if content is not None:
        (tmp_path / "list.txt").write_bytes(content)
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("logs", epsilon=2, delta=1e-5)
    cls, usual = METHODS[which]
    words = ["publish", cls.name, str(tmp_path / "log.csv"), "--epsilon", "1", "--delta", "1e-6"]
    words += ["--ledger", str(tmp_path / "ledger.db"), "--source", "logs", "--out", str(tmp_path / "out")]
    words += ["--selection", "steered"] if "selection" in usual else []
    done = command(*words, "--public", str(tmp_path / "list.txt"))
    assert done.code == 3 and "public list" in done.err and done.err.count("\n") <= 3, done.err
    assert ledger.budget("logs").spent.epsilon == 0 and not (tmp_path / "out").exists()
