"""Integer noise that publishes items with the optimal probabilities of differentially private partition selection.

One value X decides whether an item is published and with which count: n + X is published if it reaches a public number.
The weights of X are integers that sum to a power of two, so that X is sampled exactly. Labels [Cn] are conditions of
docs/proofs/truncated-geometric.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from queryveil.errors import UsageError
from queryveil.privacy.calibration import MAX_SCALE
from queryveil.privacy.draws import SELECTION, Draw
from queryveil.privacy.noise_tables import Outward

MAX_USERS = 100_000
"""No item may need more users than this for an even chance: it bounds the size of a table."""

_MAX_EPSILON = 1000.0
"""A larger epsilon is treated as this one: e^-1000 is below every delta that a float can hold."""
_DIGITS = 60
_SPARE_BITS = 192
_SLACK_BITS = 64


@dataclass(frozen=True)
class SelectionNoise:
    """The distribution of X: P[X >= even_chance - n] = cumulative[n] / 2^bits, for n users.

    `cumulative[n] / 2^bits` is the probability that an item of n users is published.
    """

    cumulative: tuple[int, ...]
    bits: int

    @property
    def even_chance(self) -> int:
        """The fewest users of an item that is published with probability 1/2 or more; the smallest published count."""
        return bisect_left(self.cumulative, 1 << (self.bits - 1))

    @property
    def always(self) -> int:
        """The fewest users of an item that is always published."""
        return len(self.cumulative) - 1

    @property
    def largest(self) -> int:
        # [C3] One below the smallest published count: an item without users is never published.
        return self.even_chance - 1

    @property
    def smallest(self) -> int:
        return self.even_chance - self.always

    @property
    def limit(self) -> int:
        """The largest absolute value of X."""
        return max(self.largest, -self.smallest)

    def release_probability(self, users: int) -> Fraction:
        """Return the probability that an item of so many users is published."""
        return Fraction(self.cumulative[min(max(users, 0), self.always)], 1 << self.bits)

    def tail(self, at: int) -> Fraction:
        """Return P[X >= at]."""
        return self.release_probability(self.even_chance - at)

    def release_probabilities(self) -> npt.NDArray[np.float64]:
        """Return the probabilities for 0, 1, ..., `always` users as floats, for estimates and figures only."""
        total = 1 << self.bits
        return np.array([weight / total for weight in self.cumulative])


@lru_cache(maxsize=32)
def selection_noise(scale: float, item_delta: float) -> SelectionNoise:
    """Return the noise that hides a change of one count by 1 at epsilon 1/scale and that delta.

    Raises:
        UsageError: An item would need more than `MAX_USERS` users for an even chance.
    """
    possible = 0 < scale <= MAX_SCALE and 0 < item_delta < 1
    epsilon = min(1 / Fraction(scale), Fraction(_MAX_EPSILON)) if possible else Fraction(1)
    if not possible or _estimate_even_chance(float(epsilon), item_delta) > MAX_USERS:
        raise UsageError(
            f"an item would need more than {MAX_USERS:,} users for an even chance of being published",
            "raise epsilon or delta, or lower the number of items per user",
        )
    # Delta is a multiple of 2^-bits, and rounding by units of 2^-bits is far below the slack.
    extra = -math.log2(item_delta) + max(0.0, math.log2(scale)) + float(epsilon) / math.log(2)
    bits = _SPARE_BITS + math.ceil(extra)
    total, unit = 1 << bits, int(Fraction(item_delta) * (1 << bits))
    # [C5] A lower bound of e^epsilon, in units of 2^-bits.
    growth = int(Fraction(Outward(_DIGITS).exp(epsilon)[0]) * total)
    weights = _optimal_weights(total, unit, growth, bits)
    # [C4] Both hockey-stick divergences of neighboring counts, in integers: privacy rests on this comparison alone.
    if max(_excess_sum(weights, growth, bits), _excess_sum(weights[::-1], growth, bits)) > unit:
        raise ArithmeticError("the weights of selection noise exceed their delta")
    return SelectionNoise(tuple(accumulate(weights, initial=0)), bits)


def _optimal_weights(total: int, unit: int, growth: int, bits: int) -> list[int]:
    """Return the steps of the optimal release probabilities, each as large as both constraints allow."""
    safe = unit - (unit >> _SLACK_BITS)
    weights: list[int] = []
    rest = total
    while rest:
        rising = growth * weights[-1] >> bits if weights else unit
        # The rest after this step is at least e^-epsilon (rest - delta), rounded up.
        falling = rest - max(0, -((safe - rest << bits) // growth))
        weights.append(min(rising, falling))
        rest -= weights[-1]
    return weights


def _excess_sum(weights: Sequence[int], growth: int, bits: int) -> int:
    """Return the sum of (W_j - floor(e^epsilon W_(j-1)))_+, with e^epsilon rounded down."""
    return sum(max(0, weight - (growth * before >> bits)) for before, weight in pairwise([0, *weights]))


def _estimate_even_chance(epsilon: float, delta: float) -> float:
    """Return the even chance to within a few users, from the closed form of the first half."""
    e = min(epsilon, 700.0)
    return (math.log((math.expm1(e) + 2 * delta) / (math.exp(e) + 1)) - math.log(delta)) / e


def noise_of(draw: Draw) -> SelectionNoise | None:
    """Return the noise of a draw; None if it has another distribution."""
    if draw.distribution != SELECTION or draw.scale is None or draw.item_delta is None:
        return None
    return selection_noise(draw.scale, draw.item_delta)


def delta_of_each(delta: float, moves: int) -> float:
    """Return 1 - (1 - delta)^(1/moves), rounded down: the delta of each of so many counts."""
    if moves == 1:
        return delta
    whole = Decimal(delta)
    # As many digits more as the subtraction from 1 cancels.
    digits = _DIGITS + 2 * max(0, -whole.adjusted())
    with localcontext(Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)) as here:
        # Each step is rounded up; exp and ln round to nearest, so that they take one step further.
        kept = ((1 - whole).ln().next_plus() / moves).exp().next_plus()
        here.rounding = ROUND_FLOOR
        share = max(Decimal(0), 1 - kept)
    found = float(share)
    return found if Decimal(found) <= share else math.nextafter(found, 0.0)
