"""One contract for every registered attack: what its declaration promises to the command line and to readers."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from scipy import stats

import queryveil as qv
from queryveil.attack.protocol import clopper_pearson, difference
from queryveil.parameters import parameters
from tests.command import command
from tests.conftest import many

EXAMPLES: dict[str, dict[str, Any]] = {
    "sybil": {"epsilon": 2, "delta": 1e-2, "max_queries": 2, "trials": 50},
    "active": {"methods": ("k-query", "zealous"), "epsilon": 4, "delta": 1e-2, "max_items": 1, "trials": 20},
    "homogeneity": {"query": "weather", "size": 20, "known": 1},
    "linkage": {"trials": 50},
    "exposure": {"seed": 1},
}
"""Working parameters of each attack; a new attack adds a line."""

INPUTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "active": lambda: (_log(),),
    "homogeneity": lambda: (qv.publish(_log(), qv.KQuery(k=3)),),
    "linkage": lambda: (_log(), [qv.publish(_log(), qv.KQuery(k=3))]),
    "exposure": lambda: ([_log(), qv.publish(_log(), qv.KQuery(k=3))],),
}
"""What each attack is let loose on, unless it needs nothing."""


def _log() -> qv.SearchLog:
    """Users who share two queries, some with another one."""
    return qv.read(pa.concat_tables([many(9, ["weather", "news"]), many(4, ["weather", "maps"], prefix="v")]))


@pytest.fixture(params=list(qv.ATTACKS.built_in))
def attack(request: pytest.FixtureRequest) -> qv.Attack:
    return qv.ATTACKS[request.param](**EXAMPLES[request.param])


def test_every_attack_has_an_example() -> None:
    built_in = qv.ATTACKS.built_in
    assert set(EXAMPLES) == set(built_in)
    assert set(INPUTS) >= {name for name, cls in built_in.items() if any(one.needed for one in cls.inputs)}
    assert all(name == cls.name for name, cls in built_in.items())


def test_it_is_a_frozen_value_with_declared_fields(attack: qv.Attack) -> None:
    check_declaration(attack)


def check_declaration(attack: qv.Attack) -> None:
    """Check that an attack is a frozen value with declared fields."""
    assert dataclasses.is_dataclass(attack) and hash(attack) == hash(dataclasses.replace(attack))
    with pytest.raises(dataclasses.FrozenInstanceError):
        attack.trials = 1  # type: ignore[attr-defined]
    declared = {one.name: one for one in parameters(type(attack))}
    assert set(declared) == {one.name for one in dataclasses.fields(attack)}
    assert all(len(one.declaration.help) > 10 for one in declared.values())
    assert (inspect.getdoc(type(attack)) or "").endswith(".")
    assert attack.inputs and all(one.help.endswith(".") for one in attack.inputs)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, -1, "many", True])
def test_wrong_numbers_are_refused_by_name(attack: qv.Attack, wrong: Any) -> None:
    numbers = [one for one in parameters(type(attack)) if one.type in (int, float)]
    assert numbers
    for one in numbers:
        with pytest.raises(qv.UsageError, match=f"parameter '{one.name}' must be"):
            dataclasses.replace(attack, **{one.name: wrong})  # type: ignore[type-var]


def test_it_reports_success_over_control_with_an_interval(attack: qv.Attack) -> None:
    check_result(attack, attack.run(*INPUTS.get(attack.name, tuple)()))


def check_result(attack: qv.Attack, result: qv.AttackResult) -> None:
    """Check that an attack reports its success over a control, with an interval."""
    assert isinstance(result, qv.AttackResult)
    found = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert found["attack"] == attack.name
    assert 0 <= found["control"] <= 1 and 0 <= found["success"] <= 1
    assert found["advantage"] == pytest.approx(found["success"] - found["control"])
    low, high = found["interval"]
    assert low <= found["advantage"] <= high and "advantage" in found["interval_is"]
    assert found["trials"] > 0
    assert result.words and len({len(row) for row in result.table}) <= 1


def test_every_attack_is_a_command() -> None:
    for name in qv.ATTACKS.built_in:
        done = command("attack", name, "--help")
        assert done.code == 0 and "--json" in done.out
    assert command("attack", "nothing").code == 2


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (10, 10), (3, 10), (500, 1000), (1, 1)])
def test_intervals_of_shares_are_clopper_and_pearsons(hits: int, trials: int) -> None:
    for confidence in (0.95, 0.975):
        wanted = stats.binomtest(hits, trials).proportion_ci(confidence, method="exact")
        assert clopper_pearson(hits, trials, confidence) == pytest.approx((wanted.low, wanted.high))


@pytest.mark.parametrize(("success", "control"), [(0.5, 0.5), (0.9, 0.1), (0.99, 0.0), (0.3, 0.6)])
def test_the_interval_of_a_difference_covers_it(success: float, control: float) -> None:
    """Exact coverage over both binomials, at least 95 %; intervals a third as wide do not reach it."""
    trials = 40

    def coverage(width: float) -> float:
        covered = 0.0
        for hits in range(trials + 1):
            for control_hits in range(trials + 1):
                low, high = difference((hits, trials), (control_hits, trials))
                middle, half = (low + high) / 2, width * (high - low) / 2
                if abs(success - control - middle) <= half:
                    covered += stats.binom.pmf(hits, trials, success) * stats.binom.pmf(
                        control_hits, trials, control
                    )
        return covered

    assert coverage(1.0) >= 0.95
    assert coverage(1 / 3) < 0.95
