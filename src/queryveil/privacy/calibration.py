"""Thresholds for discrete Laplace noise, with every rounding on the side of privacy.

Write q = e^(-1/scale). The noise X has P[X >= t] = q^t/(1+q) for integers t >= 0. All figures are computed
with 60 decimal digits, a float scale being read as the exact number that it is, and are rounded up where they
become a promise. Proofs: docs/proofs/zealous.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

from queryveil.errors import UsageError

MAX_SCALE = 2**40
"""Above this scale, values near the ends of int64 would stop being astronomically improbable."""

_DIGITS = 60
_CONTEXT = Context(prec=_DIGITS, Emin=-(10**15), Emax=10**15)


def scale_for(moves: int, epsilon: float, bound: str = "max-items") -> float:
    """Return the smallest noise scale under which so many unit moves cost at most epsilon.

    `bound`: the parameter that lowers the number of moves, for the error message.
    """
    needed = Fraction(moves) / Fraction(epsilon)
    if needed > MAX_SCALE:
        raise UsageError(
            f"epsilon {epsilon:.3g} would need noise of more than a trillion users",
            "raise epsilon" + (f" or lower {bound}" if moves > 2 else ""),
        )
    return float_at_least(needed)


def share_down(whole: float, share: float, shares: Sequence[float]) -> float:
    """Return whole * share / sum(shares), rounded down."""
    exact = Fraction(whole) * Fraction(share) / sum(Fraction(one) for one in shares)
    part = float(exact)
    return part if Fraction(part) <= exact else math.nextafter(part, 0.0)


def float_at_least(needed: Fraction) -> float:
    """The smallest float that is not below a fraction."""
    found = float(needed)
    return found if Fraction(found) >= needed else math.nextafter(found, math.inf)


def tail(scale: float, at: int) -> Decimal:
    """P[X >= at] for discrete Laplace noise of that scale."""
    with localcontext(_CONTEXT):
        q = _decay_ratio(scale)
        if at < 1:
            return 1 - q ** (1 - at) / (1 + q)
        return q**at / (1 + q)


def deviations(scale: float, number: float) -> int:
    """So many standard deviations of the noise, rounded up: the variance is 2q/(1-q)^2."""
    with localcontext(_CONTEXT):
        q = _decay_ratio(scale)
        spread = (2 * q).sqrt() / (1 - q)
        return int((_exact_decimal(Fraction(number)) * spread).to_integral_value(ROUND_CEILING))


def step(scale: float, units: int = 1) -> Decimal:
    """1 - e^(-units/scale): how far a count's probabilities move when the count moves by that much."""
    with localcontext(_CONTEXT):
        return 1 - _decay_ratio(scale) ** units


def smallest_excess(scale: float, probability: Decimal) -> int:
    """The smallest t >= 1 with P[X >= t] <= probability."""
    with localcontext(_CONTEXT):
        q = _decay_ratio(scale)
        bound = -(((1 + q) * probability).ln()) * _exact_decimal(Fraction(scale))
        excess = max(1, int(bound.to_integral_value(ROUND_CEILING)))
    # The logarithm is rounded: step to the exact boundary by the inequality itself.
    while excess > 1 and tail(scale, excess - 1) <= probability:
        excess -= 1
    while tail(scale, excess) > probability:
        excess += 1
    return excess


def any_of(probability: Decimal, times: int) -> Decimal:
    """1 - (1 - p)^times: at least one of so many independent events."""
    with localcontext(_CONTEXT):
        if probability == 1:
            return Decimal(1)
        # Through the logarithm near 0, where 1 - (1 - p)^n would cancel.
        if probability * times < Decimal("1e-40"):
            return probability * times
        return 1 - (1 - probability) ** times


def each_of(probability: Decimal, times: int) -> Decimal:
    """The p with 1 - (1 - p)^times = probability, rounded down."""
    with localcontext(_CONTEXT):
        if probability < Decimal("1e-40"):
            return probability / times
        root = (1 - probability).ln() / times
        p = 1 - root.exp()
        return p * (1 - Decimal(10) ** -(_DIGITS // 2 - 15))


def times(probability: Decimal, factor: Fraction) -> Decimal:
    """probability * factor, rounded up."""
    with localcontext(_CONTEXT, rounding=ROUND_CEILING):
        return probability * factor.numerator / factor.denominator


def loss(probability: Decimal, moves: int) -> Decimal:
    """-moves * ln(1 - p), rounded up: what it costs that so many items may cross a threshold."""
    with localcontext(_CONTEXT, rounding=ROUND_CEILING):
        return -moves * (1 - probability).ln()


def up(number: Decimal) -> float:
    """The smallest float that is not below `number`."""
    value = float(number)
    return value if Decimal(value) >= number else math.nextafter(value, math.inf)


def decimal(number: float | Fraction | int) -> Decimal:
    """A number as an exact or 60-digit decimal."""
    with localcontext(_CONTEXT):
        return _exact_decimal(Fraction(number))


def floor(number: float) -> int:
    return int(Decimal(number).to_integral_value(ROUND_FLOOR))


def _decay_ratio(scale: float) -> Decimal:
    return (-1 / _exact_decimal(Fraction(scale))).exp()


def _exact_decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
