"""What a suspicion can become under ZEALOUS: exact odds of every set of one person's histories, by enumeration.

docs/proofs/composition.md, "What a suspicion can become": outside one bad set for each person, the odds of every set
of histories move by at most e^epsilon, whatever the attacker believed before.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

import pytest

from queryveil.mechanisms.zealous import theory

TAU, SCALE = 3, 2.0
OTHERS = (TAU - 2, TAU - 1, TAU, TAU + 2)
"""Users who kept each of four items, without Anna: she cannot lift the first to tau, but she can the second."""
Output = tuple[int | None, ...]
History = frozenset[int]


def histories(m: int) -> list[History]:
    """All sets of at most m items that Anna may have kept."""
    return [frozenset(some) for size in range(m + 1) for some in itertools.combinations(range(4), size)]


def outputs(setting: theory.Setting) -> Iterator[Output]:
    """Every item is not published, or with one of some values above the threshold."""
    shown = (None, *range(setting.top + 1, setting.top + 4))
    return itertools.product(shown, repeat=4)


def chance(output: Output, history: History, setting: theory.Setting) -> float:
    """The exact probability of an output."""
    q = math.exp(-1 / setting.scale)
    made = 1.0
    for item, value in enumerate(output):
        count = OTHERS[item] + (item in history)
        if count < setting.tau:
            made *= value is None
        elif value is not None:
            made *= (1 - q) / (1 + q) * q ** abs(value - count)
        else:
            made *= 1 - published(setting.top + 1 - count, q)
    return made


def published(needed: int, q: float) -> float:
    """P[noise >= needed]."""
    return q**needed / (1 + q) if needed >= 0 else 1 - q ** (1 - needed) / (1 + q)


def bad(output: Output, setting: theory.Setting) -> bool:
    """Anna alone can have lifted an item of the output to tau."""
    return any(value is not None and OTHERS[item] <= setting.tau - 1 for item, value in enumerate(output))


def odds(weights: dict[History, float], chances: dict[History, float], held: set[History]) -> float:
    """Odds of a set of histories: by belief, and by what an output says."""
    inside = sum(weights[one] * chances[one] for one in held)
    outside = sum(weights[one] * chances[one] for one in weights if one not in held)
    return inside / outside if outside else math.inf


def worst_rise(setting: theory.Setting, m: int, seed: int, *, good: bool) -> float:
    """By how much, as a logarithm, odds of a set rise at the most; over outputs inside or outside the bad set."""
    rng, anna = random.Random(seed), histories(m)
    beliefs = [{one: rng.random() ** 8 + 1e-9 for one in anna} for _ in range(4)]
    sets = [{one for one in anna if item in one} for item in range(4)]
    sets += [set(rng.sample(anna, rng.randint(1, len(anna) - 1))) for _ in range(4)]
    sets += [{one} for one in anna]
    largest = 0.0
    for output in outputs(setting):
        chances = {one: chance(output, one, setting) for one in anna}
        if bad(output, setting) == good or not any(chances.values()):
            continue
        for weights, held in itertools.product(beliefs, sets):
            before = odds(weights, dict.fromkeys(anna, 1.0), held)
            largest = max(largest, math.log(max(1e-300, odds(weights, chances, held) / before)))
    return largest


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("above", [1, 4])
def test_odds_of_every_set_of_histories_stay_within_epsilon(m: int, above: int) -> None:
    setting = theory.Setting(m=m, scale=SCALE, tau=TAU, top=TAU + above, replace=True)
    rise = worst_rise(setting, m, seed=above, good=True)
    assert rise <= setting.epsilon_probabilistic + 1e-9
    assert rise > 0.4 * setting.epsilon_probabilistic, "a bound of 0.4 epsilon would be found wrong"
    assert worst_rise(setting, m, seed=above, good=False) > 2 * setting.epsilon_probabilistic


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("above", [1, 4])
def test_the_bad_set_is_rare_under_every_history(m: int, above: int) -> None:
    """It is the same set for all histories, and at most as probable as Theorem 1 allows for these users."""
    setting = theory.Setting(m=m, scale=SCALE, tau=TAU, top=TAU + above, replace=True)
    q = math.exp(-1 / SCALE)
    p = published(setting.top + 1 - TAU, q)
    users = sum(OTHERS) + 1  # each kept one item at least, so that there are no more
    for history in histories(m):
        lifted = [item for item in history if OTHERS[item] == TAU - 1]
        assert 1 - (1 - p) ** len(lifted) <= users * m * p / TAU
    assert any(OTHERS[item] == TAU - 1 for history in histories(m) for item in history)
