"""The Sybil attack: exact chances against sums, the real mechanism against exact chances, and wrong input."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import queryveil as qv
from tests.command import command
from tests.conftest import many
from tests.seeded import SeededBits

ALPHA = 1e-6
"""False-alarm rate of every statistical test here."""


def seeded(seed: int) -> qv.Noise:
    return qv.Noise(SeededBits(seed))


PAPER: dict[str, Any] = {"threshold": 140.0, "noise_scale": 20 / math.log(10), "max_queries": 20}
SETTINGS: list[dict[str, Any]] = [
    PAPER,
    PAPER | {"count_by": "users"},
    {"epsilon": math.log(10), "delta": 1e-5, "max_queries": 1},
    {"epsilon": 1.0, "delta": 1e-3, "max_queries": 5},
    {"epsilon": 3.0, "delta": 0.3, "max_queries": 3, "target_copies": 3},
    {"epsilon": 0.5, "delta": 1e-6, "max_queries": 7, "count_by": "users", "target_copies": 4},
    {"threshold": 4.9, "noise_scale": 0.7, "max_queries": 4, "target_copies": 0},
    {"threshold": 6, "noise_scale": 3, "max_queries": 2, "target_copies": 99},
]


def exact(**given: Any) -> dict[str, Any]:
    return qv.SybilAttack(**given | {"trials": 0}).run().as_dict()


def summed(count: int, setting: dict[str, Any]) -> float:
    """P[count + X > K], one value of the noise after the other."""
    scale, top = setting["noise_scale"], setting["threshold"]
    if count == 0:
        return 0.0
    values = np.arange(top + 1 - count, int(60 * scale) + abs(top + 1 - count) + 60)
    return math.tanh(0.5 / scale) * float(np.exp(-np.abs(values) / scale).sum())


def count_of(accounts: int, setting: dict[str, Any]) -> int:
    """What a query's count is, if so many accounts and the target pose it: kept events or users."""
    if setting["count_by"] == "users":
        return accounts + min(1, setting["target_copies"])
    return accounts * setting["max_queries"] + min(setting["max_queries"], setting["target_copies"])


# -- exact figures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", SETTINGS)
def test_the_curve_is_the_sum_of_the_noise(given: dict[str, Any]) -> None:
    found = exact(**given)
    curve = found["curve"]
    assert curve[0]["accounts"] == 0 and curve[-1]["probability"] >= 0.999
    for point in curve:
        wanted = summed(count_of(point["accounts"], found["parameters"]), found["parameters"])
        assert point["probability"] == pytest.approx(wanted, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("given", SETTINGS)
@pytest.mark.parametrize("probability", [1e-9, 0.01, 0.5, 0.9, 0.99, 0.9966, 0.999999])
def test_the_number_of_accounts_is_the_smallest(given: dict[str, Any], probability: float) -> None:
    found = exact(**given, probability=probability)
    needed, setting = found["accounts_needed"], found["parameters"]
    assert summed(count_of(needed, setting), setting) >= probability * (1 - 1e-9)
    assert needed == 0 or summed(count_of(needed - 1, setting), setting) < probability


def test_the_figures_of_the_paper() -> None:
    found = exact(**PAPER, target_copies=0)
    assert found["accounts_by_rule"] == 10
    assert found["accounts_needed"] == 9
    # K + 5b leaves the lower tail e^-5/2, nearly: ten accounts are the first that reach it.
    assert exact(**PAPER, target_copies=0, probability=1 - math.exp(-5) / 2)["accounts_needed"] == 10
    users = exact(**PAPER, target_copies=0, count_by="users", probability=1 - math.exp(-5) / 2)
    assert users["accounts_by_rule"] == 184
    assert abs(users["accounts_needed"] - 184) <= 1


def test_success_and_control_without_trials_are_exact() -> None:
    found = exact(**PAPER, accounts=8)
    assert found["success"] == found["exact"]["success"] and found["control"] == found["exact"]["control"]
    assert found["interval"] == [found["advantage"]] * 2
    assert found["simulated"] == [] and "exact" in found["interval_is"]


@pytest.mark.parametrize("given", SETTINGS)
def test_what_is_learned_about_the_target_is_the_most_and_within_the_guarantee(given: dict[str, Any]) -> None:
    found = exact(**given)
    learned, setting = found["learned"], found["parameters"]
    own = count_of(0, setting)
    gaps = [
        summed(own + copies, setting) - summed(copies, setting)
        for copies in range(2 * (setting["threshold"] + 1))
    ]
    assert learned["advantage"] == pytest.approx(max(gaps), rel=1e-6, abs=1e-12)
    assert learned["advantage"] <= learned["bound"] + 1e-12
    growth = math.exp(setting["epsilon"])
    assert learned["bound"] == pytest.approx(
        min(1, (growth - 1 + 2 * setting["delta"]) / (growth + 1)), rel=1e-9
    )


def test_one_query_each_comes_close_to_what_the_guarantee_allows() -> None:
    """With d = 1 the figure must nearly meet the bound: a looser one could hide a mistake."""
    learned = exact(epsilon=math.log(10), delta=1e-5, max_queries=1)["learned"]
    assert learned["advantage"] > learned["bound"] - 1e-4


def test_counting_users_is_what_helps_and_more_queries_are_not() -> None:
    found = exact(epsilon=2, delta=1e-6, max_queries=20)
    after = {one["change"]: one["accounts_needed"] for one in found["what_helps"]}
    now = found["accounts_needed"]
    assert after["--count-by users"] > 15 * now
    assert 1.8 * now < after["half the epsilon"] <= 2 * now + 1
    assert now <= after["twice the max-queries"] <= now + 1
    assert after["--count-by users"] == exact(epsilon=2, delta=1e-6, count_by="users")["accounts_needed"]


# -- the real mechanism --------------------------------------------------------------------------------------


def agrees(simulated: list[dict[str, Any]], chances: list[dict[str, Any]], trials: int) -> bool:
    """Are the simulated frequencies those of the curve? At ALPHA for all of them together."""
    curve = {point["accounts"]: point["probability"] for point in chances}
    return all(
        stats.binomtest(round(point["success"] * trials), trials, curve[point["accounts"]]).pvalue
        > ALPHA / len(simulated)
        for point in simulated
    )


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": math.log(10), "delta": 1e-5, "max_queries": 20},
        {"epsilon": 2.0, "delta": 1e-3, "max_queries": 4, "count_by": "users"},
        {"epsilon": 2.0, "delta": 0.1, "max_queries": 2, "target_copies": 2},
    ],
)
def test_the_mechanism_publishes_as_often_as_computed(given: dict[str, Any]) -> None:
    trials = 1500
    found = qv.SybilAttack(**given, trials=trials).run(noise=seeded(5)).as_dict()
    assert len(found["simulated"]) >= 4
    assert agrees(found["simulated"], found["curve"], trials)
    setting = found["parameters"]
    for off in (-setting["noise_scale"], setting["noise_scale"]):
        twin = {name: setting[name] for name in ("noise_scale", "max_queries", "count_by", "target_copies")}
        least = setting["max_queries"] if setting["count_by"] == "occurrences" else 1
        threshold = max(least, setting["threshold"] + off)
        last = found["curve"][-1]["accounts"]
        broken = exact(**twin, threshold=threshold, accounts=last)
        assert not agrees(found["simulated"], broken["curve"], trials), "a threshold off by b is seen"


def test_success_control_and_interval_come_from_the_simulation() -> None:
    found = qv.SybilAttack(**PAPER, accounts=7, target_copies=20, trials=400).run(noise=seeded(1))
    by_accounts = {one["accounts"]: one["success"] for one in found.figures["simulated"]}
    assert found.success == by_accounts[7] and found.control == by_accounts[0]
    low, high = found.interval
    assert low < found.advantage < high
    assert found.as_dict()["interval"] == [low, high]


def test_it_runs_with_the_systems_noise() -> None:
    found = qv.SybilAttack(epsilon=2, delta=1e-2, max_queries=3, trials=50, probability=1 - 1e-8).run()
    # Fails with probability 50 * 1e-8 at most.
    assert found.success == 1.0


# -- releases ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("releases")
    log = qv.read(many(400, ["weather"]))
    qv.publish(log, qv.ClickGraph(epsilon=2, delta=5e-4, max_queries=4), out=out / "graph")
    qv.publish(log, qv.ClickGraph(epsilon=2, delta=5e-4, max_queries=4, analysis="paper"), out=out / "paper")
    users = qv.ClickGraph(epsilon=2, delta=5e-4, max_queries=4, count_by="users")
    qv.publish(log, users, out=out / "users")
    qv.publish(
        log, qv.Zealous(epsilon=2, delta=1e-3, max_items=1, guarantee="probabilistic"), out=out / "zealous"
    )
    qv.publish(log, qv.ClickGraph(epsilon=2, delta=5e-4), out=out / "bare")
    manifest = json.loads((out / "bare" / "manifest.json").read_text())
    del manifest["calibration"]["threshold"]
    (out / "bare" / "manifest.json").write_text(json.dumps(manifest))
    return out


@pytest.mark.parametrize(
    ("name", "more"), [("graph", {}), ("users", {"count_by": "users"}), ("paper", {"threshold": None})]
)
def test_a_release_says_all_that_an_attacker_needs(folder: Path, name: str, more: dict[str, Any]) -> None:
    release = qv.load(folder / name)
    found = qv.SybilAttack(trials=0).run(release).as_dict()
    assert found["parameters"]["threshold"] == release.plan.calibration["threshold"]
    if name != "paper":
        assert found == exact(epsilon=2, delta=5e-4, max_queries=4, **more)
    else:
        assert found["accounts_needed"] > exact(epsilon=2, delta=5e-4, max_queries=4)["accounts_needed"]


def test_the_attack_on_a_release_of_another_method_is_refused(folder: Path) -> None:
    with pytest.raises(qv.InputError, match="needs a click-graph release, and this one was made by zealous"):
        qv.SybilAttack().run(qv.load(folder / "zealous"))
    with pytest.raises(qv.InputError, match="does not say how its queries were chosen"):
        qv.SybilAttack().run(qv.load(folder / "bare"))


# -- wrong input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("accounts", wrong) for wrong in (0, -1, 1.5, 10**13)),
        *(("probability", wrong) for wrong in (0, 1, math.nan, -0.5, 2, "high")),
        *(("target_copies", wrong) for wrong in (-1, math.nan)),
        *(("trials", wrong) for wrong in (-1, 10**7)),
        *(("epsilon", wrong) for wrong in (0, math.nan, math.inf)),
        ("count_by", "people"),
    ],
)
def test_wrong_values_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(qv.UsageError, match=f"parameter '{name}' must be"):
        qv.SybilAttack(**{"epsilon": 1, "delta": 1e-3, name: value})


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("", 2, "needs a release, or the parameters of one"),
        ("graph --epsilon 1", 2, "has its own parameters, but --epsilon was given too"),
        ("graph --count-by users", 2, "but --count-by was given too"),
        ("--epsilon 1", 2, "needs epsilon and delta, or a noise scale and a threshold"),
        ("--epsilon 1 --delta 1e-3 --threshold 9", 2, "needs epsilon and delta, or"),
        ("--epsilon 1 --delta 1e-3 --accounts 0", 2, "'accounts' must be an int >= 1"),
        ("--epsilon 1 --delta 1e-3 --probability nan", 2, "'probability' must be a number"),
        ("--epsilon 1 --delta 1e-3 --probability 1", 2, "'probability' must be a number"),
        ("--epsilon 1 --delta 1e-3 --accounts 9999999", 2, "pass --trials 0 for exact figures only"),
        ("--noise-scale 3 --threshold 5", 2, "threshold below 20"),
        ("zealous", 3, "this one was made by zealous"),
        ("missing", 3, "'missing' is not a release"),
        ("bare", 3, "does not say how its queries were chosen"),
    ],
)
def test_wrong_commands(
    arguments: str, code: int, words: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = command("attack", "sybil", *arguments.split())
    assert done.code == code and done.out == ""
    # A warning that a release is not what it says may stand before the error.
    *warned, error = done.err.splitlines()
    assert words in error and all(line.startswith("Warning: the release 'bare' fails") for line in warned)


# -- command -------------------------------------------------------------------------------------------------


def test_the_command_prints_one_document(folder: Path) -> None:
    done = command("attack", "sybil", str(folder / "graph"), "--trials", "0", "--json")
    assert done.code == 0 and done.err == ""
    found = done.document
    assert {"success", "control", "advantage", "interval", "trials", "curve", "accounts_needed"} <= set(found)
    assert found["advantage"] == pytest.approx(found["success"] - found["control"])
    assert found == qv.SybilAttack(trials=0).run(qv.load(folder / "graph")).as_dict()


def test_the_command_says_what_it_means(folder: Path) -> None:
    done = command("attack", "sybil", str(folder / "graph"), "--trials", "100")
    words = " ".join(done.out.split())
    for part in ("measured, 100 trials", "It is not broken", "--count-by users", "95 % interval"):
        assert part in words
    assert "weather" not in done.out, "nothing of the release is printed"


def test_huge_noise_gives_exact_figures_and_a_short_curve() -> None:
    found = exact(epsilon=1e-6, delta=1e-9, count_by="users")
    assert len(found["curve"]) <= 202 and found["accounts_needed"] > 10**8


def test_a_log_under_attack_is_published_with_the_secret() -> None:
    """The attack by hand: nine accounts bring a card number into a real release, the target alone does not."""
    rows = [many(1, ["4000 1234"], prefix="target")]
    method = qv.ClickGraph(epsilon=math.log(10), delta=1e-5, max_queries=20)
    alone = qv.publish(qv.read(rows[0]), method, allow_empty=True)
    assert alone.released["queries"] == 0  # fails with probability 1e-5 / 20
    rows.append(many(12, ["4000 1234"] * 20, prefix="fake"))
    attacked = qv.publish(qv.read(pa.concat_tables(rows)), method)
    assert attacked.tables["queries"]["query"].to_pylist() == ["4000 1234"]  # fails with probability 5e-7
