"""Noise follows its distribution: goodness of fit that accepts the right scale and rejects the wrong ones.

Each accepting test has a false-alarm rate of 1e-6 over the choice of its bits. The bits are seeded, so a test
that passes once keeps passing; only the comparison with OpenDP draws fresh bits in each run.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, chi2_contingency

from queryveil.privacy.noise import Bits, GeometricTable, LaplaceSampler, Noise
from tests.seeded import SeededBits

FALSE_ALARM = 1e-6
SCALES = [0.1, 0.43, 1, 5, 37.5, 1000]

# Cells with fewer expected draws are merged: the chi-square tail is then accurate at 1e-6.
CELL = 100


def below(edges: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """P[X < x] of the discrete Laplace distribution."""
    q = np.exp(-1 / scale)
    return np.where(edges <= 0, q ** (1.0 - edges), 1 + q - q ** np.maximum(edges, 0.0)) / (1 + q)


def laplace_fit(draws: NDArray[np.int64], scale: float) -> float:
    """p-value of a chi-square test of the draws against the discrete Laplace distribution."""
    reach = int(scale * np.log(draws.size)) + 2
    return chi_square(draws, np.arange(-reach, reach + 1), lambda edges: below(edges, scale))


def geometric_fit(draws: NDArray[np.int64], scale: float, limit: int) -> float:
    """The same against the geometric distribution below a limit."""
    edges = np.arange(1, limit)
    return chi_square(draws, edges, lambda t: np.expm1(-t / scale) / np.expm1(-limit / scale))


def chi_square(draws, edges, distribution) -> float:  # type: ignore[no-untyped-def]
    """Cells between neighbouring edges, merged from the left until each expects CELL draws."""
    kept, last = [], 0.0
    for edge, mass in zip(edges, distribution(edges), strict=True):
        if (mass - last) * draws.size >= CELL and (1 - mass) * draws.size >= CELL:
            kept.append(edge)
            last = mass
    cut = np.array(kept)
    expected = np.diff(distribution(cut), prepend=0.0, append=1.0) * draws.size
    observed = np.bincount(np.searchsorted(cut, draws, side="right"), minlength=cut.size + 1)
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), cut.size))


def same_source(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """p-value of a two-sample chi-square test."""
    both = np.concatenate([first, second])
    cut = np.unique(np.quantile(both, np.linspace(0, 1, 60)[1:-1]).astype(np.int64))
    table = [
        np.bincount(np.searchsorted(cut, x, side="right"), minlength=cut.size + 1) for x in (first, second)
    ]
    return float(chi2_contingency(table).pvalue)


def independent(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """p-value of a chi-square test that two columns of small positive codes are independent."""
    table = np.zeros((first.max(), second.max()))
    np.add.at(table, (first - 1, second - 1), 1)
    return float(chi2_contingency(table).pvalue)


@pytest.mark.parametrize("scale", SCALES)
def test_right_scale_is_accepted_and_wrong_ones_rejected(scale: float) -> None:
    noise = Noise(SeededBits(1))
    size = 1_000_000 if scale > 0.1 else 2_500_000  # at 0.1 only one draw in 11,000 is not 0
    assert laplace_fit(noise.discrete_laplace(scale, size), scale) > FALSE_ALARM
    assert laplace_fit(noise.discrete_laplace(0.7 * scale, size), scale) < FALSE_ALARM
    assert laplace_fit(noise.discrete_laplace(1.3 * scale, size), scale) < FALSE_ALARM


@pytest.mark.parametrize("scale", SCALES[1:])
def test_an_unfair_sign_is_rejected(scale: float) -> None:
    # The twin mirrors one negative draw in twenty.
    draws = Noise(SeededBits(2)).discrete_laplace(scale, 1_000_000)
    draws[np.flatnonzero(draws < 0)[::20]] *= -1
    assert laplace_fit(draws, scale) < FALSE_ALARM


@pytest.mark.parametrize("scale", [2.5, 40.0])
def test_agrees_with_opendp(scale: float) -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = np.array(dp.m.make_laplace(*space, scale=scale)([0] * 80_000))
    assert same_source(Noise(SeededBits(6)).discrete_laplace(scale, 400_000), theirs) > FALSE_ALARM
    assert same_source(Noise(SeededBits(6)).discrete_laplace(1.1 * scale, 400_000), theirs) < FALSE_ALARM


def test_sign_is_independent_of_magnitude() -> None:
    draws = Noise(SeededBits(7)).discrete_laplace(12.0, 1_000_000)
    draws = draws[draws != 0]
    magnitude = np.minimum(np.abs(draws), 80)
    assert independent(magnitude, 1 + (draws < 0)) > FALSE_ALARM
    broken = np.where(magnitude % 7 == 0, np.abs(draws), draws)
    assert independent(magnitude, 1 + (broken < 0)) < FALSE_ALARM


@pytest.mark.parametrize("lag", [1, 2])
def test_neighbouring_draws_are_independent(lag: int) -> None:
    # Two draws share a 64-bit word, which must not show.
    codes = np.clip(Noise(SeededBits(8)).discrete_laplace(3.0, 1_000_000), -10, 10) + 11
    assert independent(codes[:-lag], codes[lag:]) > FALSE_ALARM
    broken = np.where(np.arange(codes.size) % 50 == 0, np.roll(codes, lag), codes)
    assert independent(broken[:-lag], broken[lag:]) < FALSE_ALARM


# With 8-bit words nearly every draw of a large scale starts in a cell with a boundary, so the whole
# distribution hangs on the slow path; a sampler that ignores it is visibly wrong.
COARSE = [(1.0, 100_000), (5.0, 40_000), (100.0, 8_000)]


def always_low(table: GeometricTable, word: int, bits: Bits) -> int:
    return int(np.searchsorted(table.floors, word, side="left"))


def always_high(table: GeometricTable, word: int, bits: Bits) -> int:
    return int(np.searchsorted(table.floors, word, side="right"))


@pytest.mark.parametrize(("scale", "size"), COARSE)
def test_eight_bit_words_are_exact_too(scale: float, size: int) -> None:
    draws = LaplaceSampler(Fraction(scale), width=8).draw(SeededBits(9), size)
    assert laplace_fit(draws, scale) > FALSE_ALARM


@pytest.mark.parametrize("twin", [always_low, always_high])
@pytest.mark.parametrize(("scale", "size"), COARSE)
def test_eight_bit_words_without_the_slow_path_are_rejected(
    scale: float, size: int, twin: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GeometricTable, "resolve", twin)
    draws = LaplaceSampler(Fraction(scale), width=8).draw(SeededBits(9), 4 * size)
    assert laplace_fit(draws, scale) < FALSE_ALARM


@pytest.mark.parametrize(("scale", "limit"), [(3, 2), (3, 16), (20, 64), (1000, 32)])
def test_digits_from_eight_bit_words_are_exact(
    scale: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = GeometricTable(Fraction(scale), limit, width=8)
    assert geometric_fit(table.draw(SeededBits(10), 20_000), scale, limit) > FALSE_ALARM
    monkeypatch.setattr(GeometricTable, "resolve", always_low)
    size = 3_000_000 if limit == 2 else 300_000  # one boundary among 256 words shows only in many draws
    assert geometric_fit(table.draw(SeededBits(10), size), scale, limit) < FALSE_ALARM


def test_digits_of_a_large_scale_have_their_own_scales() -> None:
    # At 66,000 a draw is made of a digit with 256 values, one with 8 values, and the rest. The twin uses the
    # first digit's scale for the second, which a histogram of the whole number would not notice.
    draws = Noise(SeededBits(12)).discrete_laplace(66_000, 2_000_000)
    magnitude = np.where(draws < 0, -1 - draws, draws)
    low, high = magnitude % 256, magnitude // 256 % 8
    assert geometric_fit(low, 66_000, 256) > FALSE_ALARM
    assert geometric_fit(high, 66_000 / 256, 8) > FALSE_ALARM
    assert geometric_fit(high, 66_000, 8) < FALSE_ALARM
    assert independent(1 + low // 32, 1 + high) > FALSE_ALARM
    assert independent(1 + np.where(low % 32 == 0, high, low // 32), 1 + high) < FALSE_ALARM


class CoarseBits(SeededBits):
    """Words with eight values only, so that keys tie all the time."""

    def words(self, n: int) -> NDArray[np.uint64]:
        return super().words(n) >> np.uint64(61)


def test_permutations_are_uniform() -> None:
    noise, bits = Noise(CoarseBits(11)), CoarseBits(11)
    weights = np.array([9, 3, 1])
    orders = np.array([noise.permutation(3) for _ in range(18_000)]) @ weights
    ties_ignored = np.array([np.argsort(bits.words(3), kind="stable") for _ in range(18_000)]) @ weights

    def fit(codes: NDArray[np.int64]) -> float:
        counts = np.unique(codes, return_counts=True)[1]
        assert counts.size == 6
        return float(chi2.sf(((counts - 3000) ** 2 / 3000).sum(), 5))

    assert fit(orders) > FALSE_ALARM
    assert fit(ties_ignored) < FALSE_ALARM


@pytest.mark.parametrize("rows", [1, 7])
def test_weighted_draws_follow_their_weights(rows: int) -> None:
    weights = np.array([[2**40, 0, 3 * 2**40, 2**39]] * rows)
    weights[:, 0] += np.arange(rows) * 2**38
    which = np.arange(50_000 * rows) % rows
    chosen = Noise(SeededBits(13)).weighted(np.cumsum(weights, axis=1), which)

    def fit(row: int, of: NDArray[np.int64]) -> float:
        counts = np.bincount(chosen[which == row], minlength=4)
        assert counts[1] == 0
        hoped = of / of.sum() * counts.sum()
        return float(chi2.sf(((counts - hoped)[hoped > 0] ** 2 / hoped[hoped > 0]).sum(), 2))

    for row in range(rows):
        assert fit(row, weights[row]) > FALSE_ALARM
        assert fit(row, weights[row] + np.array([2**38, 0, 0, 0])) < FALSE_ALARM


def test_uniform_draws_are_uniform() -> None:
    # 2^63 words onto 3/8 as many values: without drawing again, two thirds of these would come 3 times, one third 2.
    limit = 3 * 2**60
    found = Noise(SeededBits(14)).below(np.full(200_000, limit)) // 2**60
    counts = np.bincount(found, minlength=3)
    hoped = 200_000 / 3
    assert chi2.sf(((counts - hoped) ** 2 / hoped).sum(), 2) > FALSE_ALARM
    words = (SeededBits(14).words(200_000) >> np.uint64(1)) % np.uint64(limit) // np.uint64(2**60)
    counts = np.bincount(words.astype(np.int64), minlength=3)
    assert chi2.sf(((counts - hoped) ** 2 / hoped).sum(), 2) < FALSE_ALARM
