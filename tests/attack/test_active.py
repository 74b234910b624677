"""The active attack: certain against crowds of k, as computed and within its bound against noise, and wrong input."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats

import queryveil as qv
from queryveil.attack.active import trials as active_trials
from queryveil.attack.protocol import clopper_pearson, difference
from tests.command import command
from tests.conftest import at, many
from tests.seeded import SeededBits

ALPHA = 1e-6
"""False-alarm rate of every statistical test here.

A seed decides which noise is drawn, and the engine's order of rows which query gets it: results differ from run to run.
"""


def seeded(seed: int) -> qv.Noise:
    return qv.Noise(SeededBits(seed))


class WeakNoise(qv.Noise):
    """A broken twin: less noise than the method asks for."""

    def __init__(self, seed: int, factor: float) -> None:
        super().__init__(SeededBits(seed))
        self.factor = factor

    def discrete_laplace(self, scale: float | Fraction, size: int) -> NDArray[np.int64]:
        if self.factor == 0:
            return np.zeros(size, dtype=np.int64)
        return super().discrete_laplace(scale * self.factor, size)

    def selection_noise(self, scale: float, item_delta: float, size: int) -> NDArray[np.int64]:
        return super().selection_noise(scale * self.factor, item_delta, size)

    def rounded_normal(self, scale: int, size: int) -> NDArray[np.int64]:
        return super().rounded_normal(int(scale * self.factor), size)


@pytest.fixture(scope="module")
def small() -> qv.SearchLog:
    return qv.read(many(30, ["weather", "secret sauce"]))


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated log, whose sessions stand between the trials of one release."""
    file = tmp_path_factory.mktemp("people") / "log.parquet"
    qv.generate(file, qv.LogSettings(version=1, users=400, pool_size=3_000))
    return file


def rows(log: qv.SearchLog | None, *methods: str, noise: qv.Noise | None = None, **given: Any) -> list[Any]:
    found: list[Any] = qv.ActiveAttack(methods=methods, **given).run(log, noise=noise).figures["methods"]
    return found


# -- crowds of k ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 8])
@pytest.mark.parametrize("method", ["k-query", "k-keyword"])
def test_a_crowd_that_lacks_one_tells_the_target(small: qv.SearchLog, method: str, k: int) -> None:
    (found,) = rows(small, method, k=k, trials=25)
    assert (found["accounts"], found["success"], found["control"]) == (k - 1, 1.0, 0.0)
    assert found["bound"] is None and found["verdict"] is None


@pytest.mark.parametrize("k", [2, 4, 5])
def test_half_of_k_is_enough_against_sessions_and_one_less_than_k_is_too_many(people: Path, k: int) -> None:
    found = {one["accounts"]: one for one in rows(qv.read(people), "k-session", k=k, trials=20)}
    assert set(found) == {k // 2, k - 1, k}
    half, counted = found[k // 2], found[k]
    assert half["success"] >= 0.9 and half["control"] == 0, "a keyword of half a group is never published"
    # Those who fill a group by themselves see the target as one more row of it.
    assert counted["rule"] == "its rows are counted"
    assert counted["success"] >= 0.9 and counted["control"] <= 0.1
    if k > 2:
        assert (found[k - 1]["success"], found[k - 1]["control"]) == (1.0, 1.0), "outvoted either way"


def test_what_the_attacker_sees_in_sessions() -> None:
    """By hand, k = 4: two accounts and the target are three of four; without her they are two."""
    others = [many(1, [f"lonely{at}"], prefix=f"o{at}") for at in range(9)]
    accounts = many(2, ["affliction"], prefix="fake")
    target = many(1, ["affliction"], prefix="target")
    for posed in (True, False):
        log = qv.read(pa.concat_tables([*others, accounts, *([target] if posed else [])]))
        shown = (
            qv.publish(log, qv.KSession(k=4), allow_empty=True).tables["transactions"]["items"].to_pylist()
        )
        assert any("affliction" in items for items in shown) == posed


def test_crowds_of_concepts_are_attacked_if_asked_for(people: Path) -> None:
    for one in rows(qv.read(people), "clump", "partition", k=3, trials=4):
        assert one["accounts"] == 2 and one["control"] == 0
    assert not {"clump", "partition"} & set(qv.ActiveAttack().methods)


# -- noise ---------------------------------------------------------------------------------------------------


def test_the_bound_is_that_of_randomised_response() -> None:
    """Saying the truth with probability e^eps/(1 + e^eps) is as much as epsilon allows: advantage tanh(eps/2)."""
    for epsilon in (0.1, 1.0, 3.0):
        (found,) = rows(qv.read(many(3, ["a"])), "click-graph", epsilon=epsilon, delta=0.01, trials=1)
        growth = math.exp(epsilon)
        assert found["bound"] == pytest.approx(math.tanh(epsilon / 2) + 2 * 0.01 / (growth + 1))


@pytest.mark.parametrize(("epsilon", "m"), [(1.0, 1), (2.0, 1), (4.0, 3)])
def test_chances_against_zealous_are_as_computed(small: qv.SearchLog, epsilon: float, m: int) -> None:
    given = {"epsilon": epsilon, "delta": 1e-3, "max_items": m, "trials": 1500}
    (found,) = rows(small, "zealous", noise=seeded(m), **given)
    # One user more moves the count by one, under noise of scale 2m/epsilon.
    assert found["exact"]["success"] - found["exact"]["control"] == pytest.approx(
        math.tanh(epsilon / (4 * m))
    )
    assert as_computed(found, 1500)
    assert not as_computed(rows(small, "zealous", noise=WeakNoise(m, 0.5), **given)[0], 1500)
    assert found["neighbours"] == "replace-one-user" and found["verdict"] == "within"


@pytest.mark.parametrize(("d", "copies"), [(1, 1), (4, 1), (4, 4), (4, 9)])
def test_chances_against_a_click_graph_are_as_computed(small: qv.SearchLog, d: int, copies: int) -> None:
    given = {"epsilon": 2, "delta": 1e-3, "max_queries": d, "target_copies": copies, "trials": 1500}
    (found,) = rows(small, "click-graph", noise=seeded(10 + d + copies), **given)
    # The largest difference of the tails of noise of scale d/epsilon, one from the other by the target's copies.
    scale, moved = d / 2, min(copies, d)
    values = np.arange(-400, 400)
    mass = math.tanh(0.5 / scale) * np.exp(-np.abs(values) / scale)
    runs = np.convolve(mass, np.ones(moved))
    assert found["exact"]["success"] - found["exact"]["control"] == pytest.approx(runs.max())
    assert as_computed(found, 1500)
    (weak,) = rows(small, "click-graph", noise=WeakNoise(7, 0.5), **given)
    assert not as_computed(weak, 1500)
    assert found["neighbours"] == "add-remove-one-user" and surely(found, 1500) <= found["bound"]
    # With d = 1 the bound is reached, and the interval mostly across it; elsewhere it is 6 deviations off.
    assert found["verdict"] in ({"open", "within"} if d == 1 else {"within"})
    assert surely(weak, 1500) > weak["bound"] or d > 1, "half the noise is seen where the bound is reached"


def as_computed(found: dict[str, Any], trials: int) -> bool:
    return all(
        stats.binomtest(round(found[side] * trials), trials, found["exact"][side]).pvalue > ALPHA / 2
        for side in ("success", "control")
    )


def surely(found: dict[str, Any], trials: int) -> float:
    """What the true advantage is at least, but with probability ALPHA."""
    success, control = (
        clopper_pearson(round(found[side] * trials), trials, 1 - ALPHA) for side in ("success", "control")
    )
    return success[0] - control[1]


def test_the_bound_is_reached_where_a_user_adds_one_query() -> None:
    """No slack: with d = 1 this attacker gains all that any attacker can, but for delta."""
    (found,) = rows(qv.read(many(3, ["a"])), "click-graph", epsilon=2, delta=1e-6, max_queries=1, trials=1)
    gained = found["exact"]["success"] - found["exact"]["control"]
    assert found["bound"] - 1e-5 < gained <= found["bound"]


def test_chances_against_noise_that_ends_are_as_computed(small: qv.SearchLog) -> None:
    given: dict[str, Any] = {"epsilon": 1, "delta": 1e-3, "max_items": 1, "trials": 1500}
    (found,) = rows(small, "truncated-geometric", noise=seeded(4), **given)
    assert as_computed(found, 1500) and found["verdict"] != "beyond"
    assert not as_computed(rows(small, "truncated-geometric", noise=WeakNoise(4, 0.5), **given)[0], 1500)


def test_chances_against_normal_noise_are_as_computed(small: qv.SearchLog) -> None:
    given: dict[str, Any] = {"epsilon": 8, "delta": 1e-3, "max_items": 1, "trials": 1500}
    (found,) = rows(small, "weighted-gaussian", noise=seeded(4), **given)
    assert as_computed(found, 1500) and found["verdict"] != "beyond"
    assert not as_computed(rows(small, "weighted-gaussian", noise=WeakNoise(4, 0.5), **given)[0], 1500)


def test_steered_is_attacked_where_its_chance_is_even(small: qv.SearchLog) -> None:
    """About 77% of the targets' queries are published, 9 deviations of 1,000 trials away from either limit."""
    (found,) = rows(small, "steered", epsilon=4, delta=1e-3, max_items=1, trials=1000, noise=seeded(4))
    assert 0.3 < found["success"] < 0.9 and found["exact"] is None and found["verdict"] != "beyond"


@pytest.mark.parametrize("method", ["zealous", "click-graph"])
def test_a_twin_without_noise_is_beyond_the_bound(small: qv.SearchLog, method: str) -> None:
    given: dict[str, Any] = {"epsilon": 1, "delta": 1e-3, "max_items": 1, "max_queries": 1, "trials": 200}
    (found,) = rows(small, method, noise=WeakNoise(1, 0), **given)
    assert (found["success"], found["control"], found["verdict"]) == (1.0, 0.0, "beyond")
    assert surely(found, 200) > found["bound"]
    (right,) = rows(small, method, noise=seeded(1), **given)
    # Also where the bound is reached, as the click graph's is, the advantage is 6 deviations below 0.75.
    assert right["verdict"] != "beyond" and right["advantage"] < 0.75
    words = dict(qv.ActiveAttack(methods=(method,), **given).run(small, noise=WeakNoise(1, 0)).words)
    assert "beyond its bound" in words["Failed"]


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_concepts_are_drawn_as_computed(epsilon: float) -> None:
    one, other = rows(
        qv.read(many(3, ["a"])),
        "semantic",
        "profile-histogram",
        epsilon=epsilon,
        trials=1000,
        noise=seeded(3),
    )
    assert one["accounts"] == other["accounts"] == 0, "nobody's draw depends on others"
    assert as_computed(one, 1000) and one["exact"]["success"] > one["exact"]["control"]
    assert not as_computed(one | {"success": one["control"], "control": one["success"]}, 1000) or epsilon < 2
    assert one["verdict"] == other["verdict"] == "within"


# -- results -------------------------------------------------------------------------------------------------


def test_the_worst_line_is_the_headline(small: qv.SearchLog) -> None:
    made = qv.ActiveAttack(methods=("zealous", "k-query"), trials=20, epsilon=2, delta=1e-2).run(small)
    assert made.figures["worst"] == "k-query" and (made.success, made.control) == (1.0, 0.0)
    assert made.figures["log"] == {"rows": 60, "users": 30, "generated": False}
    assert len(made.table) == 3 and made.trials == 20
    json.dumps(made.as_dict(), allow_nan=False)


def test_the_worst_line_has_the_largest_advantage(small: qv.SearchLog) -> None:
    """Near one half an interval is wide, and its lower end low, whatever the advantage is."""
    for _ in range(5):
        made = qv.ActiveAttack(methods=("semantic", "zealous"), trials=50, epsilon=0.5, delta=1e-9).run(small)
        assert max(0.0, made.advantage) == max(0.0, *(row["advantage"] for row in made.figures["methods"]))


def test_intervals_of_all_lines_hold_together(small: qv.SearchLog) -> None:
    """Of two lines each misses half as often as one alone, so that the worse of them can be the headline."""
    made = [
        qv.ActiveAttack(methods=methods, trials=20).run(small)
        for methods in (("k-query",), ("k-query", "k-keyword"))
    ]
    assert [one.figures["methods"][0]["interval"] for one in made] == [
        list(difference((20, 20), (0, 20), confidence)) for confidence in (0.95, 0.975)
    ]


def test_a_log_is_generated_if_none_is_given() -> None:
    made = qv.ActiveAttack(methods=("k-query",), trials=2).run()
    assert made.figures["log"]["generated"] and made.figures["log"]["users"] == 2000


def test_a_large_interval_leaves_the_bound_open(small: qv.SearchLog) -> None:
    made = qv.ActiveAttack(methods=("zealous",), trials=2, epsilon=0.5, delta=1e-2, max_items=1).run(small)
    assert made.figures["methods"][0]["verdict"] == "open"
    assert "Pass more --trials" in dict(made.words)["Open"]


def test_a_log_with_sessions_and_no_times() -> None:
    table = pa.table({"user": [f"u{n}" for n in range(9)], "session": ["s"] * 9, "query": ["news"] * 9})
    (found,) = rows(qv.read(table), "k-query", k=3, trials=5)
    assert (found["success"], found["control"]) == (1.0, 0.0)


def test_one_user_is_enough_of_a_log() -> None:
    for one in rows(qv.read(many(1, ["only me"])), "k-query", "k-keyword", k=4, trials=5):
        assert (one["success"], one["control"]) == (1.0, 0.0)


def test_what_is_not_installed_is_left_out_unless_asked_for(
    small: qv.SearchLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise qv.UsageError("concepts of queries need the package textblob", "install queryveil[language]")

    monkeypatch.setattr(active_trials, "drawn", missing)
    monkeypatch.setattr(active_trials, "tried", lambda *_: [])
    with pytest.raises(qv.UsageError, match="textblob"):
        qv.ActiveAttack(methods=("semantic",)).run(small)
    monkeypatch.undo()
    monkeypatch.setattr(active_trials, "drawn", missing)
    made = qv.ActiveAttack(trials=2, k=2, epsilon=20, delta=0.1, max_items=1, max_queries=1).run(small)
    assert set(made.figures["left_out"]) == {"semantic", "profile-histogram"}
    assert any(label == "Left out" and "textblob" in said for label, said in made.words)


# -- wrong input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"methods": ("k-query", "k-query")}, "named twice"),
        ({"methods": ("token-hash",)}, "parameter 'methods' must be"),
        ({"methods": ()}, "parameter 'methods' must be"),
        ({"k": 1}, "parameter 'k' must be"),
        ({"trials": 0}, "parameter 'trials' must be"),
        ({"epsilon": math.nan}, "parameter 'epsilon' must be"),
        ({"delta": 1}, "parameter 'delta' must be"),
    ],
)
def test_wrong_values_are_refused_by_name(given: dict[str, Any], words: str) -> None:
    with pytest.raises(qv.UsageError, match=words):
        qv.ActiveAttack(**given)


def test_an_empty_log_is_refused() -> None:
    nothing = pa.table({"user": pa.array([], pa.string()), "query": pa.array([], pa.string())})
    with pytest.raises(qv.CannotBeMet, match="no accepted row"):
        qv.ActiveAttack(methods=("k-keyword",)).run(qv.read(nothing))


def test_more_rows_than_can_be_made_are_refused(small: qv.SearchLog) -> None:
    with pytest.raises(qv.UsageError, match="rows of fake accounts"):
        qv.ActiveAttack(methods=("click-graph",), epsilon=0.01, trials=5000).run(small)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "empty.tsv").write_text("")
    (folder / "header.tsv").write_text("user\ttime\tquery\n")
    (folder / "binary.bin").write_bytes(bytes(range(256)) * 9)
    (folder / "columns.csv").write_text("a,b\n1,2\n")
    lines = [f"u{n},dark secret {n}" for n in range(20)]
    (folder / "timeless.csv").write_text("user,query\n" + "\n".join(lines) + "\n")
    lines = [f"u{n},{at(n).isoformat()},{'x' * 50_000 if n == 3 else 'dark secret'}" for n in range(20)]
    (folder / "log.csv").write_text("user,time,query\n" + "\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("empty.tsv", 3),
        ("binary.bin", 3),
        ("columns.csv", 3),
        ("missing.csv", 3),
        ("timeless.csv --methods k-query", 3),
        ("log.csv --methods zealous --epsilon nan", 2),
        ("log.csv --methods k-query,nothing", 2),
        ("log.csv --k 1", 2),
        ("header.tsv", 3),
    ],
)
def test_wrong_commands(arguments: str, code: int, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    done = command("attack", "active", *arguments.split())
    assert done.code == code and done.out == ""
    assert done.err.count("\n") == 1 and "secret" not in done.err


def test_the_command_prints_no_text_of_the_log(files: Path) -> None:
    given = [
        "--methods",
        "k-query,zealous,click-graph",
        "--trials",
        "10",
        "--epsilon",
        "4",
        "--delta",
        "1e-2",
    ]
    for more in ([], ["--json"]):
        done = command("attack", "active", str(files / "log.csv"), *given, *more)
        assert done.code == 0 and "secret" not in done.out and "xxx" not in done.out
    found = done.document
    assert [one["method"] for one in found["methods"]] == ["k-query", "zealous", "click-graph"]
    assert {"success", "control", "advantage", "interval", "trials", "methods"} <= set(found)
