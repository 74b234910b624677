"""Thresholds of steered selection: K rounds, one statistic with fixed weights, one threshold.

docs/proofs/steered.md has the proof; the names here are those of the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from queryveil.mechanisms import gaussian_account
from queryveil.mechanisms.gaussian_account import GRID, Noise
from queryveil.privacy import gaussian


def weights(rounds: int) -> tuple[int, ...]:
    """What the rounds count in the statistic: later ones more, because their sums were steered to what is close."""
    return tuple(range(rounds - 1, 2 * rounds - 1)) if rounds > 1 else (1,)


@dataclass(frozen=True)
class Setting:
    """The statistic T = sum of a_k Y_k over the rounds, and the threshold tau above which an item is published."""

    rounds: int
    scale: int
    p: float
    most: int
    tau: int
    listed: int | None = None
    """The threshold of items on a public list; None without a list."""

    @property
    def a(self) -> tuple[int, ...]:
        return weights(self.rounds)

    @property
    def sum(self) -> int:
        return sum(self.a)

    @property
    def square(self) -> int:
        """Sum of the squares of the weights."""
        return sum(one * one for one in self.a)

    @property
    def users_for_half(self) -> int:
        """Users whose whole weight an item needs for an even chance."""
        return -(-self.tau // (GRID * self.sum))

    @property
    def largest(self) -> int:
        """No statistic is larger in magnitude, for each user that there is; noise comes on top."""
        return GRID * self.sum

    def as_dict(self) -> dict[str, Any]:
        """As `plan` shows it; mu is that of the whole release."""
        zeta = gaussian.zeta(self.p, self.most)
        shift = GRID * self.sum / (math.sqrt(self.square) * self.scale)
        return {
            "p": self.p,
            "zeta": zeta,
            "theta": shift + zeta,
            "noise_scale": self.scale,
            "threshold": self.tau,
            "grid": GRID,
            "rounds": self.rounds,
            "users_for_half": self.users_for_half,
        }


@lru_cache(maxsize=256)
def setting(noise: Noise) -> Setting:
    """The threshold of a draw with this noise."""
    rounds, most = noise.share.rounds, noise.share.times
    made = Setting(rounds, noise.scale, noise.p, most, 0)
    # An item that one user alone has gets at most GRID from her in each round; rounding adds at most a half.
    start = Fraction(GRID * made.sum) + Fraction(made.sum, 2)
    tau = gaussian.smallest_threshold(
        gaussian.zeta(noise.p, most), made.square * noise.scale**2, Fraction(noise.p), most, start
    )
    return Setting(rounds, noise.scale, noise.p, most, tau)


def smallest_epsilon(enough: Callable[[float], bool]) -> float | None:
    """The smallest epsilon, to three digits and rounded up, that is enough; None if no sensible one is."""
    low, high = gaussian_account.LEAST_EPSILON, gaussian_account.MOST_EPSILON
    if not enough(high):
        return None
    for _ in range(16):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    step = 10.0 ** (math.floor(math.log10(high)) - 2)
    return math.ceil(high / step) * step
