"""Draws from noisy histograms follow their law: marks and noise of the real tables, and scales that are off rejected.

Each accepting test has a false-alarm rate of 1e-6 over the choice of its bits, which are seeded.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, chi2_contingency

from queryveil.mechanisms.profile_histogram.noisy_histograms import NoisyHistograms, _Users
from queryveil.privacy.noise import LaplaceSampler, Noise
from tests.seeded import SeededBits
from tests.statistical.test_noise import FALSE_ALARM, laplace_fit

Numbers = NDArray[np.int64]
NOBODY = np.zeros(0, dtype=np.int64)


def fit(found: Numbers, shares: NDArray[np.float64]) -> float:
    """p-value of a chi-square test of codes against their shares; every code expects at least 100 draws."""
    hoped = shares * found.size
    assert hoped.min() > 100
    observed = np.bincount(found, minlength=shares.size)
    return float(chi2.sf(((observed - hoped) ** 2 / hoped).sum(), shares.size - 1))


@pytest.mark.parametrize("width", [8, 32])
@pytest.mark.parametrize(("scale", "rarity"), [(0.43, 1), (1, 3), (5, 2), (37.5, 5), (1000, 4)])
def test_noise_with_and_without_marks_is_laplace_together(scale: float, rarity: int, width: int) -> None:
    sampler, size = LaplaceSampler(Fraction(scale), width), 300_000 if width == 32 else 8_000
    marks = np.random.default_rng(rarity).random(size) < 0.5**rarity
    draws = sampler.draw_marked(SeededBits(4), marks, rarity)
    assert draws[~marks].max() <= sampler.limit(rarity)
    assert laplace_fit(draws, scale) > FALSE_ALARM


@pytest.mark.parametrize(("scale", "rarity"), [(1, 3), (5, 2), (37.5, 5), (1000, 4)])
def test_marks_that_are_too_rare_are_rejected(scale: float, rarity: int) -> None:
    marks = np.random.default_rng(rarity).random(300_000) < 0.7 * 0.5**rarity
    assert laplace_fit(Noise(SeededBits(4)).marked_laplace(scale, rarity, marks), scale) < FALSE_ALARM


def shares_of_pairs(scale: float, counts: list[int]) -> NDArray[np.float64]:
    """The law of two picks: the sum over all noise up to where no more than 1e-12 is left."""
    reach = int(30 * scale) + 2
    values = np.arange(-reach, reach + 1)
    q = np.exp(-1 / scale)
    law = (1 - q) / (1 + q) * q ** np.abs(values)
    axes = [np.clip(values + count, 0, None) for count in counts]
    grids = np.meshgrid(*axes, indexing="ij")
    mass = np.prod(np.meshgrid(*[law] * len(counts), indexing="ij"), axis=0)
    total = sum(grids)
    shares = [np.where(total > 0, grid / np.maximum(total, 1), 1 / len(counts)) for grid in grids]
    return np.array([float((mass * one * other).sum()) for one, other in product(shares, repeat=2)])


def pairs(scale: float, counts: list[int], rarity: int, users: int, seed: int = 5) -> Numbers:
    """Codes of the two picks of each user."""
    histograms = NoisyHistograms(Noise(SeededBits(seed)), scale, len(counts), 2, rarity)
    own = np.repeat(np.arange(len(counts)), counts)
    drawn = histograms.drawn(users, np.repeat(np.arange(users), own.size), np.tile(own, users))
    first, second = drawn.reshape(-1, 2).T
    codes: Numbers = first * len(counts) + second
    return codes


@pytest.mark.parametrize("rarity", [0, 1, 2, 4, 7])
@pytest.mark.parametrize(("scale", "counts"), [(0.6, [0, 0, 1]), (2.0, [0, 3, 0])])
def test_pairs_of_picks_follow_their_law(scale: float, counts: list[int], rarity: int) -> None:
    users = 60_000 if rarity else 20_000
    codes = pairs(scale, counts, rarity, users)
    assert fit(codes, shares_of_pairs(scale, counts)) > FALSE_ALARM
    if rarity:
        assert fit(codes, shares_of_pairs(0.7 * scale, counts)) < FALSE_ALARM
        assert fit(codes, shares_of_pairs(1.3 * scale, counts)) < FALSE_ALARM


def _forgetting(self: Any, owners: Numbers) -> Any:
    """Before each round, the noise of earlier ones is forgotten."""
    self._later.keys, self._later.counts = NOBODY, NOBODY
    return PROPOSED(self, owners)


def _unmarked(self: NoisyHistograms, users: int) -> Numbers:
    return NOBODY


PROPOSED = _Users._propose_places
TWINS = [(_Users, "_propose_places", _forgetting), (NoisyHistograms, "marked", _unmarked)]


@pytest.mark.parametrize(("owner", "name", "twin"), TWINS)
def test_broken_twins_are_rejected(
    owner: type, name: str, twin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NoisyHistograms, "proposals", lambda self, picks: 2)
    counts, scale = [0, 0, 0], 2.0
    law = shares_of_pairs(scale, counts)
    assert fit(pairs(scale, counts, 3, 50_000), law) > FALSE_ALARM
    monkeypatch.setattr(owner, name, twin)
    assert fit(pairs(scale, counts, 3, 50_000), law) < FALSE_ALARM


def same_codes(first: Numbers, second: Numbers) -> float:
    """p-value of a two-sample chi-square test; codes that came fewer than 50 times are one."""
    table = np.array(
        [np.bincount(one, minlength=int(max(first.max(), second.max())) + 1) for one in (first, second)]
    )
    rare = table.sum(axis=0) < 50
    merged = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    return float(chi2_contingency(merged[:, merged.sum(axis=0) > 0]).pvalue)


@pytest.mark.parametrize(("scale", "picks"), [(2.0, 2), (10.0, 5)])
def test_putting_off_and_drawing_all_agree_on_a_large_domain(scale: float, picks: int) -> None:
    """By how often the counted place is picked, and how often any place twice. A count that is off is rejected."""
    size, users = 1_000, 4_000
    count = int(size * scale / 8)

    def told(rarity: int, count: int) -> Numbers:
        histograms = NoisyHistograms(Noise(SeededBits(rarity + 1)), scale, size, picks, rarity)
        owners, places = np.repeat(np.arange(users), count), np.full(users * count, 11)
        drawn = np.sort(histograms.drawn(users, owners, places).reshape(users, picks))
        own, twice = (drawn == 11).sum(axis=1), (np.diff(drawn) == 0).sum(axis=1)
        codes: Numbers = own * picks + np.minimum(twice, picks - 1)
        return codes

    in_full = told(0, count)
    for rarity in (4, 9):
        assert same_codes(told(rarity, count), in_full) > FALSE_ALARM
    assert same_codes(told(9, int(1.5 * count)), in_full) < FALSE_ALARM
