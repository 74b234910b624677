"""Privacy loss distributions: never below what is exactly true, never above the plain sum, and what noise shows."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from queryveil.mechanisms import MECHANISMS
from queryveil.privacy import gaussian
from queryveil.privacy.draws import LOG, PUBLIC, Draw
from queryveil.privacy.guarantee import ADD_REMOVE, PURE, REPLACE
from queryveil.privacy.losses import Loss, epsilon_at, of_draws
from queryveil.privacy.noise import Noise

DELTA = 1e-6


def exact_delta(coins: list[tuple[float, float]], epsilon: float) -> float:
    """The delta of coins of (epsilon, delta) together, by going through every outcome: no rounding of losses."""
    alive = math.prod(1 - delta for _, delta in coins)
    found = 1 - alive
    for signs in itertools.product((1, -1), repeat=len(coins)):
        loss = sum(sign * one for sign, (one, _) in zip(signs, coins, strict=True))
        chance = math.prod(
            1 / (1 + math.exp(-sign * one)) for sign, (one, _) in zip(signs, coins, strict=True)
        )
        found += alive * chance * max(0.0, 1 - math.exp(epsilon - loss))
    return found


coin = st.tuples(st.integers(1, 100).map(lambda n: n / 100), st.sampled_from([0.0, 1e-9, 1e-7]))


@settings(max_examples=25, deadline=None)
@given(st.lists(coin, min_size=1, max_size=8))
def test_a_total_is_never_below_the_truth_and_never_above_the_sum(coins: list[tuple[float, float]]) -> None:
    found = epsilon_at([Loss(epsilon=one, delta=delta) for one, delta in coins], DELTA)
    assert exact_delta(coins, found) <= DELTA
    summed = sum(Fraction(one) for one, _ in coins)
    assert found <= float(summed) * (1 + 1e-12)
    # And it is not much too large: a thousandth less, and it would no longer hold, or it is 0.
    assert found < 2e-3 or exact_delta(coins, found * 0.995 - 2e-3) > DELTA or found <= 2e-3


def test_many_equal_coins_are_much_less_than_their_sum() -> None:
    # 30 of 0.1: the exact value by the binomial distribution is 2.343...
    def delta(epsilon: float) -> float:
        n, one = 30, 0.1
        up = 1 / (1 + math.exp(-one))
        chances = [math.comb(n, k) * up**k * (1 - up) ** (n - k) for k in range(n + 1)]
        return sum(
            chance * max(0.0, 1 - math.exp(epsilon - one * (2 * k - n))) for k, chance in enumerate(chances)
        )

    found = epsilon_at([Loss(epsilon=0.1, times=30)], DELTA)
    assert delta(found) <= DELTA < delta(found * 0.995)
    assert found == pytest.approx(2.345, abs=0.005)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(2, 40).map(lambda n: n / 100), min_size=1, max_size=5))
def test_shifts_agree_with_their_exact_curve(shifts: list[float]) -> None:
    together = math.sqrt(sum(mu**2 for mu in shifts))
    exact = gaussian.epsilon_of(together, 3e-7, DELTA)
    found = epsilon_at([Loss(mu=shifts[0], p=3e-7), *(Loss(mu=mu) for mu in shifts[1:])], DELTA)
    assert exact * (1 - 1e-6) <= found <= exact * 1.01 + 2e-3


def test_a_coin_and_a_shift_together_are_at_most_the_rule_of_the_pool() -> None:
    found = epsilon_at([Loss(mu=0.1, p=1e-7), Loss(epsilon=0.3, delta=1e-7)], DELTA)
    pooled = 0.3 + gaussian.epsilon_of(0.1, 2e-7, DELTA)
    assert 0.3 < found <= pooled + 1e-3


@pytest.mark.parametrize(
    ("losses", "delta"),
    [([Loss(epsilon=0.5, delta=1e-6)] * 2, 1e-6), ([Loss(mu=0.1, p=1e-6)], 1e-6), ([Loss(mu=0.1)], 0.0)],
)
def test_a_delta_that_does_not_suffice_has_no_epsilon(losses: list[Loss], delta: float) -> None:
    assert epsilon_at(losses, delta) == math.inf


def test_without_a_delta_the_sum_is_all_there_is() -> None:
    assert epsilon_at([Loss(epsilon=0.1, times=10)], 0.0) == pytest.approx(1.0)


# -- draws ---------------------------------------------------------------------------------------------------


def draw(**changed: object) -> Draw:
    made = Draw(
        of="queries", table="items", bounded="queries", rule="random", most=3, sensitivity=3, scale=1.5, rows=PUBLIC,
        neighbours=ADD_REMOVE, kind=PURE, epsilon=2.0, delta=0.0,
    )  # fmt: skip
    return dataclasses.replace(made, **changed)  # type: ignore[arg-type]


def test_each_count_that_moves_is_a_coin() -> None:
    step = pytest.approx(1 / 1.5)
    (found,) = of_draws([draw()], ADD_REMOVE) or ()
    assert (found.epsilon, found.times, found.p) == (step, 3, 0)
    (found,) = of_draws([draw()], REPLACE) or ()
    assert (found.epsilon, found.times) == (step, 6)
    (found,) = of_draws([draw(sensitivity=6, neighbours=REPLACE)], REPLACE) or ()
    assert (found.epsilon, found.times) == (step, 6)


def test_rows_of_a_log_may_pass_a_threshold_that_they_should_not() -> None:
    q = math.exp(-1 / 1.5)
    (added,) = of_draws([draw(rows=LOG, at_least=1, above=5)], ADD_REMOVE) or ()
    assert added.p == pytest.approx(3 * q**5 / (1 + q))
    (replaced,) = of_draws([draw(rows=LOG, at_least=1, above=5)], REPLACE) or ()
    assert replaced.p == pytest.approx(3 * (q**5 + q**6) / (1 + q))


@pytest.mark.parametrize(
    "other",
    [
        {"copies": 3},  # one user may move a single count by more than one
        {"distribution": "optimal-selection", "item_delta": 1e-6},
        {"distribution": "exponential", "norm": "score"},
        {"most": None},
        {"scale": None},
        {"sensitivity": 4},
        {"rows": "uncovered"},
        {"rows": LOG},
        {"sensitivity": 6, "neighbours": REPLACE},  # says nothing of one user more or less
    ],
    ids=str,
)
def test_what_is_not_proven_counts_by_epsilon_and_delta(other: dict[str, object]) -> None:
    assert of_draws([draw(**other)], ADD_REMOVE) is None
    assert of_draws([draw(), draw(**other)], ADD_REMOVE) is None


@pytest.mark.parametrize("name", MECHANISMS)
def test_losses_of_shipped_methods_never_promise_more_than_exact_sums_of_their_draws(name: str) -> None:
    cls = MECHANISMS[name]
    plan = cls(**cls.example).plan(users=1000)
    neighbours = plan.guarantee.neighbours or REPLACE
    found = of_draws(plan.draws, neighbours)
    assert found is None or name == "zealous"
    for one in found or ():
        assert one.epsilon * one.times >= float(plan.guarantee.epsilon or 0) * (1 - 1e-9)


# -- what noise that is really drawn shows -------------------------------------------------------------------


def shown(scale: float, counts: int, releases: int, epsilon: float, runs: int = 40_000) -> float:
    """A lower bound on the delta at an epsilon, from noise as it is shipped; too high once in a million.

    Each release adds noise to `counts` counts that one user moves by 1. The test is the exact likelihood ratio: how
    many noises are above 0 on one side, how many are above 1 on the other.
    """
    noise = Noise()
    size = runs * counts * releases

    def losses(moved: int) -> np.ndarray:
        drawn = noise.discrete_laplace(scale, size).reshape(runs, -1) + moved
        return np.where(drawn >= 1, 1, -1).sum(axis=1) / scale

    above, others = (int((losses(moved) > epsilon).sum()) for moved in (1, 0))
    low = beta.ppf(5e-7, above, runs - above + 1) if above else 0.0
    high = beta.ppf(1 - 5e-7, others + 1, runs - others)
    return float(low - math.exp(epsilon) * high)


def test_no_set_of_releases_shows_more_than_its_total() -> None:
    scale, counts, releases, delta = 5.0, 4, 5, 0.02
    losses = [Loss(epsilon=1 / scale, times=counts)] * releases
    found = epsilon_at(losses, delta)
    assert found < 0.6 * counts * releases / scale  # far below the sum of 4
    assert shown(scale, counts, releases, found) <= delta
    # A total that is too small is caught by the same test: half the epsilon does not hold.
    assert shown(scale, counts, releases, found / 2) > delta
    # And so is noise of a smaller scale than was declared.
    assert shown(0.6 * scale, counts, releases, found) > delta
