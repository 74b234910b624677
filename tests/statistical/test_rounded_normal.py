"""Rounded normals follow their distribution: goodness of fit that accepts the right one and rejects its twins.

Each accepting test has a false-alarm rate of 1e-6 over the choice of its bits. The bits are seeded, so a test that
passes once keeps passing. The exact law is P[Z < z] = PHI((z - 1/2) / scale); scipy computes PHI to 15 digits, which
tests/privacy/test_rounded_normal.py does in fractions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from queryveil.privacy import noise as noise_module
from queryveil.privacy.noise import Bits, Noise
from queryveil.privacy.rounded_normal import NormalCells, RoundedNormal
from tests.seeded import SeededBits
from tests.statistical.test_noise import FALSE_ALARM, chi_square, independent

LARGE = 12_822_587
SIZE = 1_000_000


def normal_fit(draws: NDArray[np.int64], scale: int, most: float = np.inf) -> float:
    """p-value of a chi-square test of the draws against round(scale N), given |N| < most."""
    step = max(1, scale // 50)
    edges = np.arange(-7 * scale, 7 * scale + 1, step)

    def below(z: NDArray[np.int64]) -> NDArray[np.float64]:
        low, high = norm.cdf(-most), norm.cdf(most)
        found: NDArray[np.float64] = np.clip((norm.cdf((z - 0.5) / scale) - low) / (high - low), 0, 1)
        return found

    return chi_square(draws, edges, below)


def uniform_fit(codes: NDArray[np.int64], values: int) -> float:
    hoped = codes.size / values
    return float(chi2.sf(((np.bincount(codes, minlength=values) - hoped) ** 2 / hoped).sum(), values - 1))


@pytest.mark.parametrize("scale", [1, 3, 1000, LARGE, 2**40])
def test_right_scale_is_accepted_and_wrong_ones_rejected(scale: int) -> None:
    draws = Noise(SeededBits(1)).rounded_normal(scale, SIZE)
    assert normal_fit(draws, scale) > FALSE_ALARM
    # 0.7 and 1.3 are no integer scales: the twins round multiples of finer draws.
    fine = Noise(SeededBits(2)).rounded_normal(2**40, 100_000) / 2**40
    assert normal_fit(np.rint(fine * scale).astype(np.int64), scale) > FALSE_ALARM
    for wrong in (0.7, 1.3):
        assert normal_fit(np.rint(fine * wrong * scale).astype(np.int64), scale) < FALSE_ALARM


def test_rounding_down_is_rejected() -> None:
    fine = Noise(SeededBits(3)).rounded_normal(2**40, 100_000)
    assert normal_fit((fine + 2**39) >> 40, 1) > FALSE_ALARM
    assert normal_fit(fine >> 40, 1) < FALSE_ALARM
    toward_zero = np.sign(fine) * (np.abs(fine) >> 40)
    assert normal_fit(toward_zero, 1) < FALSE_ALARM


def test_the_right_share_of_draws_is_far_out() -> None:
    """Beyond 4, where cells are rare: of 10 million draws about 633."""
    draws = Noise(SeededBits(4)).rounded_normal(1000, 10_000_000)
    edges = np.array([3000, 3500, 4000, 4500])
    above = np.array([np.count_nonzero(np.abs(draws) >= edge) for edge in edges])
    hoped = 2 * norm.sf((edges - 0.5) / 1000) * draws.size
    assert np.all(np.abs(above - hoped) < 5.5 * np.sqrt(hoped))  # four times about 4e-8 by the normal law


def test_the_last_digits_of_a_large_scale_are_uniform() -> None:
    # At this scale neighbouring values are equally likely but for 1e-7: low bits show how places are rounded.
    draws = Noise(SeededBits(5)).rounded_normal(LARGE, SIZE)
    assert uniform_fit(draws % 256, 256) > FALSE_ALARM
    assert uniform_fit((draws - (draws % 50 == 0)) % 256, 256) < FALSE_ALARM


def test_sign_is_independent_of_magnitude() -> None:
    draws = Noise(SeededBits(6)).rounded_normal(20, SIZE)
    draws = draws[draws != 0]
    magnitude = np.minimum(np.abs(draws), 70)
    assert independent(magnitude, 1 + (draws < 0)) > FALSE_ALARM
    broken = np.where(magnitude % 7 == 0, np.abs(draws), draws)
    assert independent(magnitude, 1 + (broken < 0)) < FALSE_ALARM


@pytest.mark.parametrize("lag", [1, 2])
def test_neighbouring_draws_are_independent(lag: int) -> None:
    # Cells of two draws share a 64-bit word, which must not show.
    codes = np.clip(Noise(SeededBits(7)).rounded_normal(3, SIZE), -8, 8) + 9
    assert independent(codes[:-lag], codes[lag:]) > FALSE_ALARM
    broken = np.where(np.arange(codes.size) % 50 == 0, np.roll(codes, lag), codes)
    assert independent(broken[:-lag], broken[lag:]) < FALSE_ALARM


def test_one_draw_at_a_time_has_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_module, "_CHUNK", 1)
    assert normal_fit(Noise(SeededBits(8)).rounded_normal(3, 50_000), 3) > FALSE_ALARM


# Cells of 1/4 in eight bits and places of two: most draws need further bits, which they read one by one. The law is
# that of |N| < 4. A sampler that does not go on where its first bits end is visibly wrong.


def coarse(scale: int, size: int) -> NDArray[np.int64]:
    sampler = RoundedNormal(scale, NormalCells(4, width=8, more=1), place_bits=2)
    return sampler.draw(SeededBits(9), size)


TRUE_SETTLED = RoundedNormal._settle_draw


class CutOff(Exception):
    """The bits at hand are used up."""


class NoBits:
    def words(self, n: int) -> NDArray[np.uint64]:
        raise CutOff


def discarded(sampler: RoundedNormal, cell: int, word: int, bits: Bits) -> int | None:
    """A draw that the bits at hand cut off is thrown away, and another one made."""
    try:
        return TRUE_SETTLED(sampler, cell, word, NoBits())
    except CutOff:
        return None


def always_kept(sampler: RoundedNormal, *given: object) -> bool:
    return True


def kept_by_one_comparison(sampler: RoundedNormal, *given: object) -> bool:
    """exp(-E) taken for 1 - E."""
    return not sampler._is_below_exponent(*given)  # type: ignore[arg-type]


def zeros_follow(sampler: RoundedNormal, cell: int, word: int, bits: Bits) -> int | None:
    """Places are taken for what the bits at hand say, as a float would."""

    place = word >> (64 - sampler._place_bits)
    known = TRUE_SETTLED(sampler, cell, word, bits)
    shift = sampler._place_bits + sampler._step_bits
    start = ((cell << sampler._place_bits) + place) * sampler.scale
    return None if known is None else (start + (1 << shift - 1)) >> shift


@pytest.mark.parametrize("scale", [1, 3, 1000])
def test_few_bits_at_a_time_are_exact_too(scale: int) -> None:
    assert normal_fit(coarse(scale, 50_000), scale, most=4) > FALSE_ALARM


@pytest.mark.parametrize(
    ("name", "twin"),
    [
        ("_settle_draw", discarded),
        ("_settle_draw", zeros_follow),
        ("_is_kept", always_kept),
        ("_is_kept", kept_by_one_comparison),
    ],
)
def test_few_bits_without_going_on_are_rejected(
    name: str, twin: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RoundedNormal, name, twin)
    assert normal_fit(coarse(3, 100_000), 3, most=4) < FALSE_ALARM
