"""Bounds that hold: Clopper and Pearson's, the claim as a region, cells, and how many runs are enough."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from queryveil_lab.audits import statistics
from queryveil_lab.audits.claims import Claim, epsilon_between
from queryveil_lab.audits.statistics import Level, at_least, at_most, needed, proven

APPROXIMATE = Claim(kind="approximate-dp", epsilon=1.0, delta=0.01)


@pytest.mark.parametrize("share", [0.001, 0.3, 0.97])
@pytest.mark.parametrize("chance", [1e-6, 0.05])
def test_a_bound_fails_as_often_as_it_says_and_no_more(share: float, chance: float) -> None:
    runs = 400
    times = np.arange(runs + 1)
    likely = binom.pmf(times, runs, share)
    too_high = at_least(times, runs, chance) > share
    too_low = at_most(times, runs, chance) < share
    # Summed over all outcomes: no draw, no false alarm.
    assert likely[too_high].sum() <= chance and likely[too_low].sum() <= chance
    # A twin at ten times the chance fails too often.
    assert likely[at_least(times, runs, min(0.4, 30 * chance)) > share].sum() > chance or share < 0.01


def test_nothing_seen_proves_nothing_and_all_seen_not_certainty() -> None:
    assert at_least(0, 100, 0.01) == 0 and at_most(100, 100, 0.01) == 1
    assert 0 < float(at_most(0, 100, 0.01)) < 0.06 and 0.94 < float(at_least(100, 100, 0.01)) < 1


def test_epsilon_is_read_off_at_the_claimed_delta() -> None:
    assert epsilon_between(0.5, 0.1, 0.0) == pytest.approx(math.log(5))
    assert epsilon_between(0.5, 0.1, 0.2) == pytest.approx(math.log(3))
    assert epsilon_between(0.1, 0.01, 0.2) == 0 and epsilon_between(0.5, 0.0, 0.2) == math.inf


def test_a_claim_is_the_region_of_both_directions() -> None:
    for other in (0.0, 0.001, 0.2, 0.7, 1.0):
        most = float(APPROXIMATE.allowed(other))
        assert most <= math.e * other + 0.01 + 1e-12
        # The complement keeps the promise too, at the very edge.
        assert 1 - other <= math.e * (1 - most) + 0.01 + 1e-12


def test_a_gaussian_claim_holds_at_every_point_of_its_curve() -> None:
    claim = Claim(kind="gaussian-dp", epsilon=1.0, delta=0.1, mu=0.5, p=0.01)
    for other in (0.01, 0.2, 0.6):
        assert float(claim.allowed(other)) <= norm.cdf(norm.ppf(other) + 0.5) + 0.01 + 1e-9
        edge = float(claim.allowed(other))
        assert claim.shift(edge, other) <= 0.5 + 1e-9, "an event that is allowed proves no larger mu"
        assert APPROXIMATE.shift(edge, other) == 0
    # At (epsilon, delta) alone the same event would pass: the curve says more.
    plain = Claim(kind="approximate-dp", epsilon=1.0, delta=0.1)
    assert float(plain.allowed(0.2)) > float(claim.allowed(0.2)) + 0.1


def test_tests_share_the_chance_of_error() -> None:
    alone, many = (proven(APPROXIMATE, 900, 100, 1_000, Level(chance=0.05, tests=k)) for k in (1, 1_000))
    assert alone.epsilon > many.epsilon > 1.5 and alone.low > many.low and alone.high < many.high


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_needed_runs_are_the_fewest_that_can_refute(epsilon: float) -> None:
    claim = Claim(kind="approximate-dp", epsilon=epsilon, delta=1e-3)
    runs, level = needed(claim, 300), Level(chance=statistics.VERDICT, tests=300)
    assert proven(claim, runs // 2, 0, runs // 2, level).refutes
    assert not proven(claim, runs // 2 - 1, 0, runs // 2 - 1, level).refutes


def test_cells_add_up_what_neighbours_cannot_do() -> None:
    level = Level(chance=0.05, tests=1)
    claim = Claim(kind="probabilistic-dp", epsilon=1.0, delta=0.1)
    impossible = statistics.cells(claim, [(2_000, 10_000, 0, 10_000)] * 4, level)
    assert 0.75 < impossible < 0.8
    assert statistics.cells(claim, [(2_000, 10_000, 2_000, 10_000)] * 4, level) == 0
