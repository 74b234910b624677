"""Optimal selection noise follows its weights, and what it publishes follows from them; broken twins are rejected.

False-alarm rate of every test: 1e-6 (bits are seeded, so a passing test keeps passing).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats

import queryveil as qv
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.selection import count_selection
from queryveil.privacy.noise_tables import WeightTable
from tests.seeded import SeededBits

ALPHA = 1e-6
SIZE = 400_000
LAWS = [(0.43, 0.01), (1.0, 1e-6), (5.0, 0.05), (37.5, 1e-4), (1000.0, 0.001), (1.0, 0.7)]
"""Scales, and deltas of one count."""


def chances(scale: float, delta: float) -> NDArray[np.float64]:
    """Optimal release probabilities by the recursion of the paper, up to the first that is 1."""
    found = [0.0]
    while found[-1] < 1:
        last, up = found[-1], math.exp(1 / scale)
        found.append(min(up * last + delta, 1 - (1 - last - delta) / up, 1.0))
    return np.array(found)


def even_chance(of: NDArray[np.float64]) -> int:
    return int(np.flatnonzero(of >= 0.5)[0])


def fits(drawn: NDArray[np.int64], scale: float, delta: float) -> bool:
    """Chi-square test against the definition. The ends are merged until each cell expects 100 draws."""
    of = chances(scale, delta)
    users = even_chance(of) - drawn
    if users.min() < 1 or users.max() >= len(of):
        return False
    expected = np.diff(of) * drawn.size
    observed = np.bincount(users - 1, minlength=len(expected))
    for _ in range(2):
        while expected[0] < 100:
            expected = np.concatenate([[expected[:2].sum()], expected[2:]])
            observed = np.concatenate([[observed[:2].sum()], observed[2:]])
        expected, observed = expected[::-1], observed[::-1]
    return bool(stats.chisquare(observed, expected, sum_check=False).pvalue > ALPHA)


def drawn(scale: float, delta: float, seed: int = 1) -> NDArray[np.int64]:
    return qv.Noise(SeededBits(seed)).selection_noise(scale, delta, SIZE)


@pytest.mark.parametrize(("scale", "delta"), LAWS)
def test_the_right_distribution_is_accepted_and_others_are_rejected(scale: float, delta: float) -> None:
    values = drawn(scale, delta)
    assert fits(values, scale, delta)
    if len(chances(scale, delta)) > 3:  # otherwise delta decides alone
        assert not fits(drawn(0.7 * scale, delta), scale, delta)
        assert not fits(drawn(1.3 * scale, delta), scale, delta)
    assert not fits(values + 1, scale, delta) and not fits(values - 1, scale, delta)
    beyond = even_chance(chances(scale, delta))
    assert not fits(np.append(values, beyond), scale, delta)


def test_draws_are_independent() -> None:
    codes = drawn(1.0, 0.05) + 3
    codes = np.clip(codes, 1, 5) - 1
    table = np.zeros((5, 5))
    np.add.at(table, (codes[:-1], codes[1:]), 1)
    assert stats.chi2_contingency(table).pvalue > ALPHA
    codes[::50] = np.roll(codes, -1)[::50]
    np.add.at(table := np.zeros((5, 5)), (codes[:-1], codes[1:]), 1)
    assert stats.chi2_contingency(table).pvalue < ALPHA


class Scripted:
    """The same word again and again."""

    def __init__(self, word: int) -> None:
        self.word = word

    def words(self, n: int) -> NDArray[np.uint64]:
        return np.full(n, self.word, np.uint64)


class Hasty(WeightTable):
    """A broken twin: a first word on a boundary is settled without further bits."""

    def resolve(self, word: int, bits: Any) -> int:
        return super().resolve(word, Scripted(0))


@pytest.mark.parametrize(
    "weights", [(1, 3, 9, 27, 2000, 14_000, 344), (1,) * 16_384, (8192, 8192), (1, 16_383)]
)
def test_every_bit_pattern_gives_the_weights_exactly(weights: tuple[int, ...]) -> None:
    """14 bits, of which the first 8 decide where they can."""
    bounds = tuple(itertools.accumulate(weights))[:-1]

    def counted(table: WeightTable) -> list[int]:
        found = [
            int(table.at(np.array([first], np.uint8), Scripted(rest << 58))[0])
            for first in range(256)
            for rest in range(64)
        ]
        return np.bincount(found, minlength=len(weights)).tolist()

    assert counted(WeightTable(bounds, 14, width=8)) == list(weights)
    on_words = all(bound % 64 == 0 for bound in bounds)
    assert (counted(Hasty(bounds, 14, width=8)) == list(weights)) == on_words


# -- what is published ---------------------------------------------------------------------------------------


class Counted:
    """Stands for what users keep, with a histogram of these counts."""

    def __init__(self, values: NDArray[np.int64]) -> None:
        self.values = values

    def users_per_item(self, at_least: int = 1) -> pa.Table:
        places = pa.array(np.arange(len(self.values))).cast(pa.string())
        found = pa.table({"query": places, "count": pa.array(self.values)})
        return found.filter(pa.array(self.values >= at_least))


SCALE, DELTA, TRIALS = 1.0, 0.05, 100_000
OPTIMAL = chances(SCALE, DELTA)
EVEN = even_chance(OPTIMAL)


def published(users: int, **changed: Any) -> NDArray[np.int64]:
    """The published counts of many items of so many users, by the method's own draw or a twin of it."""
    (draw,) = qv.TruncatedGeometric(epsilon=1 / SCALE, delta=DELTA).plan().draws
    twin = dataclasses.replace(draw, **changed)
    run = Run(noise=qv.Noise(SeededBits(users + 5)))
    counted = Counted(np.full(TRIALS, users))
    return count_selection.CountThreshold(twin).select(counted, qv.KINDS["queries"], run).evidence


@pytest.mark.parametrize("users", range(1, len(OPTIMAL) - 1))
def test_items_are_published_as_often_as_is_optimal(users: int) -> None:
    def is_optimal(counts: NDArray[np.int64]) -> bool:
        return bool(stats.binomtest(len(counts), TRIALS, float(OPTIMAL[users])).pvalue > ALPHA)

    assert is_optimal(published(users))
    assert not is_optimal(published(users, above=EVEN - 2)), "a lower threshold"
    assert not is_optimal(published(users, above=EVEN)), "a threshold that was rounded up"


def test_an_item_of_enough_users_is_always_published() -> None:
    always = len(OPTIMAL) - 1
    assert len(published(always)) == TRIALS > len(published(always - 1))


@pytest.mark.parametrize("users", [EVEN - 1, EVEN, EVEN + 1])
def test_the_draw_that_publishes_an_item_makes_its_count(users: int) -> None:
    """Given that an item is published, its count has the rest of that draw's law; a second draw does not."""
    counts = published(users)
    shares = np.diff(OPTIMAL)[:users] / OPTIMAL[users]

    def fits_rest(counts: NDArray[np.int64]) -> bool:
        observed = np.bincount(users + EVEN - 1 - counts, minlength=users)
        if len(observed) > users:
            return False
        return bool(stats.chisquare(observed, shares * len(counts)).pvalue > ALPHA)

    assert counts.min() >= EVEN and fits_rest(counts)
    again = users + qv.Noise(SeededBits(9)).selection_noise(SCALE, DELTA, len(counts))
    assert not fits_rest(again)
