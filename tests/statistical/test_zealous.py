"""What ZEALOUS does at random: noise, leaks and step 1, each test shown to fail for a broken twin.

False-alarm rate of every test: 1e-6 (bits are seeded, so a passing test keeps passing).
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import queryveil as qv
from queryveil.count import text_codes
from queryveil.count.contribution import Bound
from queryveil.count.histories import collect_user_counts
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.selection import count_selection
from queryveil.mechanisms.zealous import theory
from tests.seeded import SeededBits

ALPHA = 1e-6


def run(seed: int = 1) -> Run:
    return Run(noise=qv.Noise(SeededBits(seed)))


class Counted:
    """Stands for what users keep, with a histogram of these counts."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def users_per_item(self, at_least: int = 1) -> pa.Table:
        places = pa.array(np.arange(len(self.values))).cast(pa.string())
        found = pa.table({"query": places, "count": pa.array(self.values)})
        return found.filter(pa.array(self.values >= at_least))


def threshold(
    method: qv.Zealous, values: np.ndarray, setting: theory.Setting, given: Run
) -> tuple[np.ndarray, np.ndarray]:
    """Noisy counts of what is published, and whether each item is, for the method's own draw at another setting."""
    draw = method.plan(users=10_000).draws[0]
    draw = dataclasses.replace(draw, scale=setting.scale, at_least=setting.tau, above=setting.top)
    found = count_selection.CountThreshold(draw).select(Counted(values), qv.KINDS["queries"], given)
    published = np.zeros(len(values), dtype=bool)
    published[found.items["query"].to_numpy().astype(np.int64)] = True
    return found.evidence, published


# -- noise ------------------------------------------------------------------------------------------------


def noise_is(scale: float, noisy: np.ndarray, count: int) -> bool:
    """Chi-square test of noisy counts against discrete Laplace noise of that scale."""
    q = math.exp(-1 / scale)
    edges = np.arange(-int(6 * scale), int(6 * scale) + 1)
    chances = (1 - q) / (1 + q) * q ** np.abs(edges)
    inside = np.array([(noisy - count == edge).sum() for edge in edges])
    expected = np.append(chances, 1 - chances.sum()) * len(noisy)
    observed = np.append(inside, len(noisy) - inside.sum())
    return bool(stats.chisquare(observed, expected).pvalue > ALPHA)


@pytest.mark.parametrize(("m", "epsilon"), [(1, 1.0), (5, 2.0), (10, 1.0)])
def test_published_counts_carry_the_planned_noise(m: int, epsilon: float) -> None:
    method = qv.Zealous(epsilon=epsilon, delta=1e-3, max_items=m, guarantee="probabilistic")
    setting = theory.probabilistic(m, epsilon, 1e-3, 10_000, tau=None, paper=False)
    count = 10_000
    noisy, published = threshold(method, np.full(100_000, count), setting, run())
    assert published.all()
    scale = 2 * m / epsilon
    assert noise_is(scale, noisy, count)
    assert not noise_is(0.7 * scale, noisy, count)
    assert not noise_is(1.3 * scale, noisy, count)


# -- leaks ------------------------------------------------------------------------------------------------


def at_most(chance: float, hits: int, trials: int) -> bool:
    """Are so many hits possible if the chance is at most that?"""
    return bool(stats.binom.sf(hits - 1, trials, chance) > ALPHA)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_a_users_new_items_are_published_with_probability_delta_at_most(m: int, neighbours: str) -> None:
    """Any of the m items that one user alone has; delta is large so that it can be seen."""
    delta, trials = 0.1, 100_000
    method = qv.Zealous(epsilon=1, delta=delta, max_items=m, guarantee="approximate", neighbours=neighbours)
    setting = theory.approximate(m, 1, delta, tau=None, replace=neighbours == "replace", paper=False)

    def hits(used: theory.Setting) -> int:
        _, published = threshold(method, np.ones(trials * m, dtype=np.int64), used, run())
        return int(published.reshape(trials, m).any(axis=1).sum())

    assert at_most(delta, hits(setting), trials)
    lower = theory.Setting(m=m, scale=setting.scale, tau=1, top=setting.top - 1, replace=setting.replace)
    assert not at_most(delta, hits(lower), trials), "one less would leak more than delta"
    if m > 1:
        alone = theory.approximate(1, 1 / m, delta, tau=None, replace=setting.replace, paper=False)
        assert not at_most(delta, hits(alone), trials), "a forgotten factor m would leak more than delta"


def test_an_item_below_the_first_threshold_is_never_published() -> None:
    method = qv.Zealous(epsilon=1, delta=0.5, max_items=1, guarantee="probabilistic")
    setting = theory.Setting(m=1, scale=2.0, tau=4, top=4, replace=True)
    _, published = threshold(method, np.full(100_000, 3), setting, run())
    assert not published.any()
    _, published = threshold(method, np.full(100_000, 4), setting, run())
    assert published.any()


def test_a_one_user_query_end_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way: of queries that one user each poses, a share of at most delta is published."""
    trials, delta = 40_000, 0.04
    names = [f"only of {number}" for number in range(trials)]
    log = qv.read(pa.table({"user": names, "query": names}))
    method = qv.Zealous(epsilon=1, delta=delta, max_items=1, guarantee="approximate")

    def hits() -> int:
        noise = qv.Noise(SeededBits(3))
        return qv.publish(log, method, noise=noise, allow_empty=True, i_understand=True).released["items"]

    assert at_most(delta, hits(), trials)
    setting = theory.approximate(1, 1, delta, tau=None, replace=True, paper=False)
    broken = theory.Setting(m=1, scale=setting.scale, tau=1, top=setting.top - 1, replace=True)
    monkeypatch.setattr(theory, "approximate", lambda *_, **__: broken)
    assert not at_most(delta, hits(), trials), "a threshold off by one is seen"


# -- step 1 -----------------------------------------------------------------------------------------------

PEOPLE, CHOICES = 8_000, 10


def chosen(salt: bytes) -> list[int]:
    """How often each of ten queries is the one kept, by 8,000 users who pose all ten."""
    users = [f"user {number}" for number in range(PEOPLE) for _ in range(CHOICES)]
    log = qv.read(pa.table({"user": users, "query": [f"q{number}" for number in range(CHOICES)] * PEOPLE}))
    kept = collect_user_counts(log, qv.KINDS["queries"], Bound(most=1, salt=salt)).users_per_item()
    found = {row["query"]: row["count"] for row in kept.to_pylist()}
    return [found.get(f"q{number}", 0) for number in range(CHOICES)]


def uniform(observed: list[int]) -> bool:
    return bool(stats.chisquare(observed).pvalue > ALPHA)


def test_step_1_chooses_uniformly(monkeypatch: pytest.MonkeyPatch) -> None:
    assert uniform(chosen(b"one salt"))
    assert uniform(chosen(b"another salt"))
    # The twin forgets the user in the key: everybody keeps the same query.
    monkeypatch.setattr(
        text_codes.TextCodes, "hashes", property(lambda codes: codes._known[: len(codes)] * 0)
    )
    assert not uniform(chosen(b"one salt"))
