"""Noise that ends follows its distribution, and what it publishes follows from it; broken twins are rejected.

False-alarm rate of every test: 1e-6 (bits are seeded, so a passing test keeps passing).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats

import queryveil as qv
from queryveil.mechanisms import noisy_histogram
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.truncated_geometric import theory
from tests.seeded import SeededBits

ALPHA = 1e-6
SIZE = 400_000
WITHIN = [(0.43, 1), (1.0, 14), (5.0, 12), (5.0, 5), (37.5, 60)]
"""Scales and limits at which draws outside are made again."""
BELOW = [(5.0, 4), (37.5, 20), (1e6, 3), (2.0**40, 200)]
"""Limits below the scale, where uniform draws are thinned out."""


def weights(scale: float, limit: int) -> NDArray[np.float64]:
    shares = np.exp(-np.abs(np.arange(-limit, limit + 1)) / scale)
    return shares / shares.sum()


def fits(drawn: NDArray[np.int64], scale: float, limit: int) -> bool:
    """Chi-square test against the definition. The ends are merged until each cell expects 100 draws."""
    if np.abs(drawn).max() > limit:
        return False
    expected = weights(scale, limit) * drawn.size
    observed = np.bincount(drawn + limit, minlength=2 * limit + 1)
    while expected[0] < 100:  # both ends alike: the weights are symmetric
        expected = np.concatenate([[expected[:2].sum()], expected[2:-2], [expected[-2:].sum()]])
        observed = np.concatenate([[observed[:2].sum()], observed[2:-2], [observed[-2:].sum()]])
    return bool(stats.chisquare(observed, expected).pvalue > ALPHA)


def drawn(scale: float, limit: int, seed: int = 1) -> NDArray[np.int64]:
    return qv.Noise(SeededBits(seed)).truncated_laplace(scale, limit, SIZE)


@pytest.mark.parametrize(("scale", "limit"), WITHIN + BELOW)
def test_the_right_distribution_is_accepted(scale: float, limit: int) -> None:
    assert fits(drawn(scale, limit), scale, limit)


@pytest.mark.parametrize(("scale", "limit"), [one for one in WITHIN + BELOW if one[0] < 1e5])
@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_wrong_scales_are_rejected(scale: float, limit: int, factor: float) -> None:
    assert not fits(drawn(factor * scale, limit), scale, limit)


@pytest.mark.parametrize(("scale", "limit"), WITHIN + BELOW)
def test_wrong_limits_are_rejected(scale: float, limit: int) -> None:
    """Where noise gets that far at all; and noise that is cut off at the limit, instead of being made again."""
    assert not fits(np.append(drawn(scale, limit), limit + 1), scale, limit)
    if weights(scale, limit)[0] * SIZE > 1_000:
        cut = np.clip(drawn(scale, 3 * limit), -limit, limit)
        assert not fits(cut, scale, limit)
    if limit > 1 and weights(scale, limit)[0] * SIZE > 1_000:
        assert not fits(drawn(scale, limit - 1), scale, limit)


def test_both_ways_to_draw_are_one_distribution() -> None:
    """At a limit of the scale draws are made again, and at one bit below the scale uniform draws are thinned out."""
    again, thinned = drawn(6.0, 6), drawn(math.nextafter(6.0, 7.0), 6, seed=2)
    table = [np.bincount(one + 6, minlength=13) for one in (again, thinned)]
    assert stats.chi2_contingency(table).pvalue > ALPHA
    twin = [table[0], np.bincount(drawn(6.0 * 1.3, 6, seed=2) + 6, minlength=13)]
    assert stats.chi2_contingency(twin).pvalue < ALPHA


def test_draws_are_independent() -> None:
    """Neighbours in the result, though those that are made again come later."""
    codes = drawn(3.0, 2) + 2
    table = np.zeros((5, 5))
    np.add.at(table, (codes[:-1], codes[1:]), 1)
    assert stats.chi2_contingency(table).pvalue > ALPHA
    codes[::50] = np.roll(codes, -1)[::50]
    np.add.at(table := np.zeros((5, 5)), (codes[:-1], codes[1:]), 1)
    assert stats.chi2_contingency(table).pvalue < ALPHA


# -- what is published ---------------------------------------------------------------------------------------


class Counted:
    """Stands for a log and its engine, with a histogram of these counts."""

    def __init__(self, values: NDArray[np.int64]) -> None:
        self.engine, self.values = self, values

    def select(self, *_: str) -> Counted:
        return self

    def batches(self, _: object) -> list[pa.RecordBatch]:
        places = pa.array(np.arange(len(self.values))).cast(pa.string())
        return [pa.record_batch([places, pa.array(self.values)], names=["query", "count"])]


def hits(users: int, trials: int, monkeypatch: pytest.MonkeyPatch, **changed: Any) -> int:
    """How many of so many items of so many users are published, by the method's own draw or a twin of it."""
    (draw,) = qv.TruncatedGeometric(epsilon=1, delta=0.05).plan().draws
    counted: Any = Counted(np.full(trials, users))
    monkeypatch.setattr("queryveil.count.contribution.counts", lambda *_, **__: counted)
    twin = dataclasses.replace(draw, **changed)
    run = Run(noise=qv.Noise(SeededBits(users + 5)))
    return noisy_histogram.above(counted, run, counted, ("query",), twin).table.num_rows


TRIALS = 100_000


@pytest.mark.parametrize("users", [1, 2, 3, 4, 5, 6])
def test_items_are_published_as_often_as_computed(users: int, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = theory.calibrated(1, 1, 0.05, replace=False)
    chance = float(setting.chance(users))

    def as_computed(found: int) -> bool:
        return bool(stats.binomtest(found, TRIALS, chance).pvalue > ALPHA)

    assert setting.limit == 3 and as_computed(hits(users, TRIALS, monkeypatch))
    assert not as_computed(hits(users, TRIALS, monkeypatch, above=2))
    assert not as_computed(hits(users, TRIALS, monkeypatch, scale=0.7))


def test_an_item_of_one_user_is_published_with_probability_delta_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def at_most_delta(found: int) -> bool:
        return bool(stats.binom.sf(found - 1, TRIALS, 0.05) > ALPHA)

    assert at_most_delta(hits(1, TRIALS, monkeypatch))
    assert not at_most_delta(hits(1, TRIALS, monkeypatch, limit=2, above=2)), "a limit that is too small"
    assert not at_most_delta(hits(1, TRIALS, monkeypatch, above=2)), "a threshold below the limit"


def test_an_item_of_many_users_is_always_published(monkeypatch: pytest.MonkeyPatch) -> None:
    always = theory.calibrated(1, 1, 0.05, replace=False).always
    assert hits(always, TRIALS, monkeypatch) == TRIALS
    assert hits(always - 1, TRIALS, monkeypatch) < TRIALS
