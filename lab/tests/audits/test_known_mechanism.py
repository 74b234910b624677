"""The auditor audited: randomised response has an epsilon that is known exactly, and no bound may be above it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom

import queryveil as qv
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.events import MOST_FOUND
from queryveil_lab.audits.outcomes import Outcomes
from queryveil_lab.audits.running import done
from queryveil_lab.audits.statistics import VERDICT, Level, at_least, at_most, between
from queryveil_lab.audits.trials import TESTS_EACH, Levels, Trial
from queryveil_lab.audits.worlds import Pair, World

AUDITS = 150
PAIR = Pair(
    shape="two answers",
    words="yes or no",
    first=World(base=(0,), target=(0,)),
    second=World(base=(0,), target=()),
)


@dataclass(frozen=True)
class Answer:
    """The truth with probability e^epsilon / (1 + e^epsilon), and the opposite otherwise: exactly epsilon."""

    epsilon: float

    name = "randomised response"

    def run(self, world: World, runs: int) -> Outcomes:
        lie = 1 / (1 + math.exp(self.epsilon))
        drawn = qv.Noise().below(np.full(runs, 1 << 52)).astype(np.float64) / (1 << 52)
        yes = (drawn >= lie) == bool(world.target)
        return Outcomes(yes.astype(np.int64)[:, np.newaxis])

    def load(self, world: World) -> int:
        return 1


def claim(epsilon: float) -> Claim:
    return Claim(kind="pure-dp", epsilon=epsilon, delta=0.0, neighbours="replace-one-user")


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_no_bound_of_a_known_mechanism_is_above_its_truth(epsilon: float) -> None:
    """Bounds at the level of the verdict: one of 150 audits is above with a chance below 150 times 1e-6."""
    strict = Levels.shared(TESTS_EACH, 1 - VERDICT)
    found = [done(Trial(Answer(epsilon), PAIR, claim(epsilon), 2_000), strict) for _ in range(AUDITS)]
    assert max(one.epsilon for one in found) <= epsilon
    assert not any(one.refutes for one in found) and max(one.delta for one in found) == 0
    # It is not blind: most of the truth is found.
    assert max(one.epsilon for one in found) > 0.4 * epsilon


def test_half_the_noise_is_caught() -> None:
    """Twice the epsilon that is claimed: 2,000 runs, missed with a chance below 1e-6."""
    assert done(Trial(Answer(2.0), PAIR, claim(1.0), 2_000), Levels.shared(TESTS_EACH, 0.95)).refutes
    assert not done(Trial(Answer(1.0), PAIR, claim(1.0), 20_000), Levels.shared(TESTS_EACH, 0.95)).refutes


@pytest.mark.parametrize("tests", [1, 10, 300])
def test_the_chance_of_a_false_alarm_summed_over_all_outcomes(tests: int) -> None:
    """No draw: every pair of counts that 60 runs can give, with its exact probability, and 1e-2 shared over tests.

    Bonferroni's share is spent: a level that forgets to divide by the tests would be above it.
    """
    runs, epsilon, chance = 60, 1.0, 1e-2
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    times = np.arange(runs + 1)
    likely = np.outer(binom.pmf(times, runs, truth), binom.pmf(times, runs, 1 - truth))

    def alarms(level: Level) -> float:
        low, high = at_least(times, runs, level.each), at_most(times, runs, level.each)
        return float(likely[low[:, np.newaxis] > math.exp(epsilon) * high[np.newaxis, :]].sum())

    assert tests * alarms(Level(chance=chance, tests=tests)) <= chance
    assert alarms(Level(chance=0.9, tests=1)) > chance, "and it can be above"


def test_every_event_that_is_tested_is_counted() -> None:
    """Both directions, the events of a search, and whether any new item is published."""
    assert TESTS_EACH == 2 * (MOST_FOUND + 1)
    new = Pair(shape="", words="", first=PAIR.first, second=PAIR.second, new=(0,))
    for pair in (PAIR, new):
        trial = Trial(Answer(1.0), pair, claim(1.0), 400)
        found = done(trial, Levels.shared(trial.tests, 0.95))
        assert len(found.points) <= trial.tests
    assert Level(chance=0.05, tests=7).each == 0.05 / 14


def test_runs_that_find_events_are_not_those_that_test_them() -> None:
    """A runner whose second half tells nothing is never refuted, whatever its first half shows."""

    @dataclass(frozen=True)
    class HalfTold(Answer):
        def run(self, world: World, runs: int) -> Outcomes:
            values = np.zeros((runs, 1), np.int64)
            values[: runs // 2] = bool(world.target)
            return Outcomes(values)

    found = done(Trial(HalfTold(1.0), PAIR, claim(0.01), 40_000), Levels.shared(TESTS_EACH, 0.95))
    assert not found.refutes and found.epsilon == 0
    assert between(claim(0.01), 1.0, 0.0).refutes
