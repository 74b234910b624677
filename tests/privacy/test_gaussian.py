"""Gaussian accounting: two computations and scipy agree, and every rounding is on the side of privacy."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import queryveil as qv
from queryveil.mechanisms.selection import gaussian_account
from queryveil.mechanisms.selection.gaussian_account import GRID, Share
from queryveil.privacy import gaussian
from queryveil.privacy.guarantee import GAUSSIAN, gaussian_sum
from queryveil.verification import gaussian as anew

ADD_REMOVE, REPLACE = "add-remove-one-user", "replace-one-user"
SHIFTS = [1e-5, 1e-3, 0.05, 0.231297, 1.0, 3.0, 8.0, 20.0]
DISTANCES = [-3.0, 0.0, 0.5, 2.0, 5.0, 12.0, 30.0]
"""Of epsilon from mu^2/2, in units of mu."""


def by_floats(mu: float, epsilon: float) -> float:
    """phi(t) (R(t) - R(t + mu)) with Mills' ratio R: without the large factor e^epsilon."""
    t = epsilon / mu - mu / 2
    mills = [math.sqrt(math.pi / 2) * special.erfcx(x / math.sqrt(2)) for x in (t, t + mu)]
    return float(math.exp(-t * t / 2) / math.sqrt(2 * math.pi) * (mills[0] - mills[1]))


# -- tails and curves ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [-40.0, -6.0, -1e-9, 0.0, 1e-12, 0.3, 1.0, 4.0, 11.5, 25.0, 35.9])
def test_tails_agree(x: float) -> None:
    ours, theirs = gaussian.normal_tail(Decimal(x)), anew.tail(Decimal(x))
    assert abs(ours / theirs - 1) < Decimal("1e-45")
    assert float(ours) == pytest.approx(float(stats.norm.sf(x)), rel=1e-12)


@pytest.mark.parametrize("x", [36, 40, 100])
def test_far_tails_are_bounded_from_above(x: int) -> None:
    ours = gaussian.normal_tail(Decimal(x))
    assert float(ours.ln()) == pytest.approx(float(stats.norm.logsf(x)), rel=1e-3)
    # The tail is above density times x/(x^2 + 1), and the bound is density/x.
    assert float(ours.ln()) > float(stats.norm.logsf(x)) - 1e-9


@pytest.mark.parametrize("mu", SHIFTS)
@pytest.mark.parametrize("distance", DISTANCES)
def test_curves_agree(mu: float, distance: float) -> None:
    epsilon = max(0.0, mu * (distance + mu / 2))
    ours = gaussian.curve(Decimal(mu), epsilon)
    theirs = anew.curve(Fraction(mu) ** 2, Fraction(epsilon))
    assert theirs <= ours
    if epsilon / mu + mu / 2 >= 36:  # a tail so far out is left out, which can only add
        assert ours <= gaussian.normal_tail(Decimal(epsilon / mu - mu / 2)) * (1 + Decimal("1e-10"))
        return
    assert ours <= theirs * (1 + Decimal("1e-25"))
    # Floats lose what cancels between two ratios that are mu apart.
    if epsilon / mu - mu / 2 < 25:
        assert float(ours) == pytest.approx(by_floats(mu, epsilon), rel=1e-9 + 1e-15 / mu * (1 + distance**2))


# A tail of 36 deviations or more is bounded, not computed, and the bound is above the curve: not that far.
@given(mu=st.floats(1e-2, 10), distance=st.floats(0, 12), factor=st.floats(1.001, 2))
@settings(max_examples=40)
def test_the_curve_falls_with_epsilon_and_grows_with_mu(mu: float, distance: float, factor: float) -> None:
    epsilon = distance * mu
    here = gaussian.curve(Decimal(mu), epsilon)
    assert gaussian.curve(Decimal(mu), factor * epsilon + 0.01) < here
    assert gaussian.curve(Decimal(factor * mu), epsilon) > here


@pytest.mark.parametrize("mu", [1e-6, 1e-12])
def test_a_tiny_shift_takes_no_time(mu: float) -> None:
    """A bound on a tail a million deviations out needs no more digits than another."""
    assert 0 <= gaussian.curve(Decimal(mu), 1.0) < Decimal("1e-1000")
    assert gaussian.epsilon_of(mu, 0.0, 1e-6) < 10 * mu


def test_nothing_moved_costs_nothing() -> None:
    assert gaussian.curve(Decimal(0), 1.0) == 0
    assert gaussian.epsilon_of(0.0, 1e-7, 1e-6) == 0


# -- calibration ---------------------------------------------------------------------------------------------


@given(epsilon=st.floats(1e-3, 20), exponent=st.floats(0.5, 60))
@settings(max_examples=12)
def test_the_largest_shift_keeps_the_promise_and_a_little_more_does_not(
    epsilon: float, exponent: float
) -> None:
    delta = Fraction(10**-exponent)
    mu = gaussian.largest_shift(epsilon, delta)
    assert anew.curve(mu**2, Fraction(epsilon)) <= Decimal(float(delta))
    assert anew.curve((mu * Fraction(1_000_001, 1_000_000)) ** 2, Fraction(epsilon)) > Decimal(float(delta))


@given(mu=st.floats(0.001, 5), p=st.floats(0, 1e-3), factor=st.floats(1.01, 1e6))
@settings(max_examples=12)
def test_epsilon_is_rounded_up_and_not_far(mu: float, p: float, factor: float) -> None:
    delta = min(0.9, p * factor + 1e-9)
    epsilon = gaussian.epsilon_of(mu, p, delta)
    room = Decimal(delta) - Decimal(p)
    assert anew.curve(Fraction(mu) ** 2, Fraction(epsilon)) <= room
    if epsilon > 0:
        assert anew.curve(Fraction(mu) ** 2, Fraction(epsilon * (1 - 1e-6))) > room


def test_a_delta_that_p_uses_up_leaves_no_epsilon() -> None:
    assert gaussian.epsilon_of(0.1, 1e-6, 1e-6) == math.inf
    assert not gaussian.holds(Fraction(1, 100), Fraction(1, 2), 1.0, 0.5)


@pytest.mark.parametrize("times", [1, 7, 100])
@pytest.mark.parametrize("p", [0.3, 1e-6, 1e-50, 1e-150])
def test_the_smallest_threshold_is_enough_and_one_less_is_not(p: float, times: int) -> None:
    spread, start = 12_345_678, Fraction(1_000_001, 2)
    found = gaussian.smallest_threshold(gaussian.zeta(p, times), spread**2, Fraction(p), times, start)

    def chance(above: int) -> Decimal:
        each = anew.tail(anew._to_decimal(above - start) / spread)
        return anew._one_of(each, times)

    assert chance(found) <= Decimal(p) < chance(found - 1) * (1 + Decimal("1e-14"))


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("times", [1, 100])
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-4, 0.99), (20.0, 0.9999), (1.0, 1e-200), (1e-3, 1e-9)])
def test_any_account_keeps_its_promise(epsilon: float, delta: float, times: int, replace: bool) -> None:
    """Also with a delta near 1, where p may be one half and zeta 0."""
    shares = [
        Share(of=one, weight=weight, times=times) for one, weight in (("a", 0.7), ("b", 0.2), ("c", 0.1))
    ]
    made = gaussian_account.open_account(epsilon, delta, shares, replace=replace)
    square = sum((one.mu_squared for one in made.noises), Fraction(0))
    p = made.p_factor * sum((Fraction(one.p) for one in made.noises), Fraction(0))
    assert Fraction(made.p) >= p and Fraction(made.mu) ** 2 >= square
    assert anew.curve(square, Fraction(epsilon)) + anew._to_decimal(p) <= Decimal(delta) * (
        1 + Decimal("1e-30")
    )
    for one in made.noises:
        # One less would exceed its share.
        less = Fraction(made.p_factor * GRID**2, (one.scale - 1) ** 2) if one.scale > 1 else Fraction(10**9)
        assert less > square * Fraction(one.share.weight) * (1 - Fraction(1, 10**4))


# -- words ---------------------------------------------------------------------------------------------------


def promise(mu: float, p: float, delta: float = 1e-6, neighbours: str = REPLACE) -> qv.Guarantee:
    epsilon = gaussian.epsilon_of(mu, p, delta)
    return qv.Guarantee(kind=GAUSSIAN, epsilon=epsilon, delta=delta, mu=mu, p=p, neighbours=neighbours)


@given(mu=st.floats(0.01, 4), chance=st.sampled_from([1e-2, 1e-3, 1e-6]))
@settings(max_examples=12)
def test_a_suspicion_rises_no_more_than_said(mu: float, chance: float) -> None:
    """For noise alone the rise is known: the likelihood ratio is above e^r with PHI(mu/2 - r/mu)."""
    exact = mu * (mu / 2 + float(stats.norm.isf(chance)))
    said = gaussian.largest_rise(mu, 0.0, chance)
    assert exact <= said <= 1.6 * exact + 0.02
    assert gaussian.largest_rise(mu, chance / 2, chance) > said
    assert gaussian.largest_rise(mu, chance, chance) == math.inf


@given(mu=st.floats(0.01, 3), p=st.sampled_from([0.0, 1e-6, 1e-4]), rise=st.floats(0.01, 10))
@settings(max_examples=10)
def test_the_rise_holds_for_the_worst_pair_of_laws(mu: float, p: float, rise: float) -> None:
    """Two normal laws, and with probability p an output that gives everything away."""
    said = gaussian.largest_rise(mu, p, 1e-3)
    exceeds = p + (1 - p) * float(stats.norm.cdf(mu / 2 - said / mu)) if math.isfinite(said) else 0.0
    assert exceeds <= 1e-3 * (1 + 1e-9)


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("p", [0.0, 1e-6, 0.3])
def test_guesses_are_right_no_more_often_than_said(mu: float, p: float) -> None:
    exact = min(1.0, float(stats.norm.cdf(mu / 2)) + p / 2)
    assert exact <= gaussian.guessed_right(mu, p) * (1 + 1e-15) <= exact * (1 + 1e-12)


def test_beliefs_and_guesses_compare_two_histories() -> None:
    """Of one user added or removed, two histories are root 2 times as far apart, and p counts twice."""
    added, replaced = promise(0.2, 4e-7, neighbours=ADD_REMOVE), promise(0.2 * math.sqrt(2), 8e-7, 2e-6)
    assert added.guessed_right == pytest.approx(replaced.guessed_right, rel=1e-12)
    assert added.believed(0.01) == pytest.approx(replaced.believed(0.01), rel=1e-9)
    assert added.believed(0.01) > promise(0.2, 4e-7).believed(0.01) > 0.01


def test_restated_for_replaced_histories() -> None:
    added = promise(0.231297, 3.8e-7, neighbours=ADD_REMOVE)
    restated = added.against(REPLACE)
    assert restated.neighbours == REPLACE and restated.delta == 2e-6
    assert Fraction(float(restated.mu or 0)) ** 2 >= 2 * Fraction(0.231297) ** 2 and restated.p == 7.6e-7
    assert gaussian.holds(
        Fraction(float(restated.mu or 0)) ** 2, Fraction(7.6e-7), float(restated.epsilon or 0), 2e-6
    )
    plain = added.approximate().against(REPLACE)
    assert float(restated.epsilon or 0) < float(plain.epsilon or 0) == 2 * float(added.epsilon or 0)
    with pytest.raises(qv.CannotCompose):
        restated.against(ADD_REMOVE)


@given(parts=st.lists(st.tuples(st.floats(0.001, 1), st.floats(1e-12, 1e-4)), min_size=2, max_size=5))
@settings(max_examples=10)
def test_sums_are_rounded_up(parts: list[tuple[float, float]]) -> None:
    """mu^2 and p of all together are never below the exact sums, in whatever order they are added."""
    promises = [promise(mu, p, 2 * p) for mu, p in parts]
    total = promises[0]
    for one in promises[1:]:
        total = total + one
    square = sum(Fraction(mu) ** 2 for mu, _ in parts)
    assert total.kind == GAUSSIAN and len(total.parts) == len(parts)
    assert Fraction(float(total.mu or 0)) ** 2 >= square
    assert Fraction(float(total.p or 0)) >= sum(Fraction(p) for _, p in parts)
    at_once = gaussian_sum(*promises)
    assert at_once["mu"] == pytest.approx(total.mu, rel=1e-14)
    assert gaussian.holds(
        Fraction(at_once["mu"]) ** 2, Fraction(at_once["p"]), at_once["epsilon"], at_once["delta"]
    )


def test_beside_another_kind_a_gaussian_guarantee_counts_by_epsilon_and_delta() -> None:
    ours = promise(0.2, 4e-7)
    pure = qv.Guarantee(kind="pure-dp", epsilon=1.0, delta=0.0, neighbours=REPLACE)
    total = ours + pure
    assert total.kind == "approximate-dp" and total.mu is None and total.p is None
    assert total.epsilon == pytest.approx(float(ours.epsilon or 0) + 1) and total.delta == 1e-6


def test_two_releases_cost_less_than_the_sum_of_their_epsilons() -> None:
    both = promise(0.231297, 3.8e-7) + promise(0.231297, 3.8e-7)
    assert both.delta == 2e-6 and both.p == 7.6e-7
    assert float(both.epsilon or 0) < 1.5 * float(promise(0.231297, 3.8e-7).epsilon or 0)


def test_a_gaussian_guarantee_has_mu_and_p_and_no_other_has() -> None:
    with pytest.raises(ValueError, match="mu and p"):
        qv.Guarantee(kind=GAUSSIAN, epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match="mu and p"):
        qv.Guarantee(kind="pure-dp", epsilon=1.0, delta=0.0, mu=0.1, p=0.0)
    made = promise(0.2, 4e-7)
    assert qv.Guarantee.from_dict(made.as_dict()) == made


@pytest.mark.parametrize(("mu", "p"), [(0.0, 1e-6), (0.01, 0.0), (0.3, 1e-5), (1.7, 1e-4), (6.0, 0.0)])
def test_the_rise_is_the_best_of_all_bounds_though_few_are_computed(mu: float, p: float) -> None:
    chance = 1e-3
    highest = 2 * mu * (mu + NormalDist().inv_cdf(1 - chance / 2)) + 0.01
    bounds = []
    for step in range(1, 81):
        epsilon = highest * step / 80
        share = (float(gaussian.curve(Decimal(mu), epsilon)) + p) / chance
        bounds.append(epsilon - math.log1p(-share) if share < 1 else math.inf)
    assert gaussian.largest_rise(mu, p, chance) == pytest.approx(min(bounds), rel=1e-8)
