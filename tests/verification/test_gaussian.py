"""Draws of rounded normal noise, computed anew: every wrong figure is found, and no manifest makes work without end."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from queryveil.mechanisms.selection import steering
from queryveil.mechanisms.steered import Steered
from queryveil.mechanisms.weighted_gaussian import WeightedGaussian
from queryveil.verification import draws, gaussian
from queryveil.verification.manifest import Manifest

Content = dict[str, Any]
PLANS: dict[str, Content] = {
    "steered": Steered(epsilon=1, delta=1e-6).plan().as_dict(),
    "one round": Steered(epsilon=1, delta=1e-6, rounds=1, max_items=1).plan().as_dict(),
    "two kinds": Steered(epsilon=2, delta=1e-5, items=("keywords", "queries"), neighbours="replace")
    .plan()
    .as_dict(),
    "equal": WeightedGaussian(epsilon=1, delta=1e-6, max_items=10).plan().as_dict(),
}


def failed(content: Content) -> list[str]:
    return [check.name for check in draws.checks(Manifest(content, ())) if not check.passes]


@pytest.mark.parametrize("name", PLANS)
def test_plans_verify(name: str) -> None:
    assert failed(PLANS[name]) == []


def less(name: str, factor: float) -> Callable[[Content], object]:
    """Another value of a draw, with the part of the guarantee that states it as well."""

    def change(content: Content) -> None:
        for one in (content["draws"][0], (content["guarantee"].get("parts") or [content["guarantee"]])[0]):
            if name in one:
                one[name] = type(one[name])(one[name] * factor)

    return change


CHANGES: dict[str, Callable[[Content], object]] = {
    "less noise": less("scale", 0.999),
    "a lower threshold": less("above", 0.999),
    "mu too small": less("mu", 0.999),
    "p too small": less("p", 0.999),
    "delta too small": less("delta", 0.999),
    "epsilon too small": less("epsilon", 0.99),
    "more weight": less("sensitivity", 1.01),
    "more items": less("most", 2),
    "more rounds": less("rounds", 2),
    "mu of all": lambda content: content["guarantee"].update(mu=content["guarantee"]["mu"] * 0.999),
    "p of all": lambda content: content["guarantee"].update(p=content["guarantee"]["p"] * 0.999),
    "delta of all": lambda content: content["guarantee"].update(delta=content["guarantee"]["delta"] * 0.999),
    "no threshold": lambda content: content["draws"][0].pop("above"),
    "another norm": lambda content: content["draws"][0].update(norm="l1"),
    "no bound": lambda content: content["draws"][0].pop("most"),
    "copies": lambda content: content["draws"][0].update(copies=2),
    "other weights": lambda content: content["draws"][0].update(weights="some"),
    "rows that are public": lambda content: content["draws"][0].update(rows="public"),
    "a threshold on counts": lambda content: content["draws"][-1].update(above=5),
    "p on counts": lambda content: content["draws"][-1].update(p=1e-9),
    "no p": lambda content: content["draws"][0].pop("p"),
    "a part less": lambda content: content["guarantee"]["parts"].pop(),
    "parts in another order": lambda content: content["guarantee"]["parts"].reverse(),
    "neighbours": lambda content: content["guarantee"].update(neighbours="replace-one-user-equal-words"),
    "another kind": lambda content: content["guarantee"].update(kind="approximate-dp"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", PLANS)
def test_wrong_figures_are_found(name: str, change: str) -> None:
    content = copy.deepcopy(PLANS[name])
    CHANGES[change](content)
    assert content != PLANS[name] and failed(content)


def test_the_threshold_for_equal_weights_is_not_enough_for_any_weights() -> None:
    content = copy.deepcopy(PLANS["equal"])
    content["draws"][0]["weights"] = "any"
    assert failed(content)


@pytest.mark.parametrize("rounds", [1, 2, 3, 8, 32, 1_000])
def test_sums_of_the_weights_of_rounds(rounds: int) -> None:
    total, squares = gaussian._round_sums(rounds)
    counted = range(rounds - 1, 2 * rounds - 1) if rounds > 1 else (1,)
    assert (total, squares) == (sum(counted), sum(one * one for one in counted))


@pytest.mark.parametrize("rounds", [1, 8])
@pytest.mark.parametrize("most", [1, 100])
def test_p_is_that_of_the_mechanism(rounds: int, most: int) -> None:
    """The threshold is the smallest that keeps it: one less would not."""
    account = Steered(epsilon=1, delta=1e-6, rounds=rounds, max_items=most).account()
    noise = account.noise("queries")
    setting = steering.calibrate(noise)
    draw: Content = {"rows": "log", "weights": "any", "neighbours": "add-remove-one-user", "rounds": rounds}
    draw |= {"most": most, "sensitivity": noise.sensitivity, "scale": noise.scale}
    assert gaussian.mu_squared(draw) == noise.mu_squared
    assert gaussian.p_of(draw | {"above": setting.tau}) <= Decimal(noise.p)
    assert gaussian.p_of(draw | {"above": setting.tau - 1}) > Decimal(noise.p) * (1 - Decimal("1e-14"))
    replaced = draw | {"above": setting.tau, "neighbours": "replace-one-user"}
    twice = 2 * gaussian.p_of(draw | {"above": setting.tau})
    assert abs(gaussian.p_of(replaced) - twice) < twice * Decimal("1e-25")
    assert gaussian.mu_squared(replaced) == 2 * noise.mu_squared


@pytest.mark.parametrize(
    "name", ["rounds", "most", "scale", "sensitivity", "above", "mu", "p", "epsilon", "delta"]
)
@pytest.mark.parametrize("value", [0, -1, 1, 10**9, 2**70, 10**300, 1e308, 5e-324, "x", None, True, [], {}])
def test_any_value_is_judged_at_once(name: str, value: Any) -> None:
    """A manifest may say anything: the verifier neither fails nor works for minutes."""
    for plan in (PLANS["steered"], PLANS["equal"]):
        for place in ("draws", "parts", "all"):
            content = copy.deepcopy(plan)
            guarantee = content["guarantee"]
            at = {"draws": content["draws"][0], "parts": guarantee["parts"][0], "all": guarantee}[place]
            at[name] = value
            begun = time.perf_counter()
            failed(content)
            assert time.perf_counter() - begun < 20


def test_equal_weights_among_very_many_rows_are_refused() -> None:
    content = copy.deepcopy(PLANS["equal"])
    content["draws"][0]["most"] = 1_001
    assert failed(content) == ["draws"]


def test_weights_among_more_rows_than_squares_fit_for_are_refused() -> None:
    content = copy.deepcopy(PLANS["steered"])
    content["draws"][0]["most"] = 1 << 23
    assert any("64 bits" in said for said in gaussian.problems(content["draws"][0]))


def test_the_curve_of_nothing_moved_far() -> None:
    assert gaussian.curve(Fraction(1, 10**8), Fraction(1)) == 0
