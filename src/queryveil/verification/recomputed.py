"""What a noise scale and two thresholds of ZEALOUS are worth, computed anew from the formulas of the proofs.

This is a second computation on purpose: it shares no line with the one that made the release, so that an
error in either shows. Everything is a function of one loss: with q = e^(-1/scale) and p the chance that an
item of tau users is published, an item that drops out of reach changes the chance of not seeing it from 1 - p
to 1, a loss of L = -ln(1 - p).

    probabilistic, replace     epsilon = 2m max(1/scale, L)    delta = U m p / tau
    approximate, replace       epsilon = 2m/scale              delta = 1 - (1 - p)^m
    approximate, add/remove    epsilon = m/scale               delta = 1 - (1 - p)^m

The usual condition p <= 1 - q says that the maximum is its first argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

_CONTEXT = Context(prec=100, Emin=MIN_EMIN, Emax=MAX_EMAX)
_TINY = Decimal("1e-40")
_ROUNDED_SUM = Decimal(1) + Decimal("1e-12")
"""A sum of printed numbers is rounded to a float once more; this much may be lost by it."""


@dataclass(frozen=True)
class Worth:
    """An epsilon and a delta that hold."""

    epsilon: Decimal
    delta: Decimal

    def __add__(self, other: Worth) -> Worth:
        with localcontext(_CONTEXT):
            return Worth(self.epsilon + other.epsilon, min(Decimal(1), self.delta + other.delta))


@dataclass(frozen=True)
class Setting:
    """Noise scale, thresholds and contribution bound of one published histogram."""

    m: int
    scale: float
    tau: int
    top: int
    replace: bool

    def probabilistic(self, users: int) -> Worth:
        p = self._published_at_tau()
        with localcontext(_CONTEXT):
            epsilon = max(_over(2 * self.m, self.scale), 2 * self.m * _loss(p))
            return Worth(epsilon, min(Decimal(1), p * users * self.m / self.tau))

    def approximate(self) -> Worth:
        p = self._published_at_tau()
        with localcontext(_CONTEXT):
            epsilon = _over(2 * self.m if self.replace else self.m, self.scale)
            # Below, the difference of nearly equal numbers is replaced by an upper bound that is as good.
            delta = p * self.m if p * self.m < _TINY else 1 - (1 - p) ** self.m
            return Worth(epsilon, delta)

    def _published_at_tau(self) -> Decimal:
        """P[noise >= T + 1 - tau]."""
        needed = self.top + 1 - self.tau
        with localcontext(_CONTEXT):
            one_more = 1 + (-_over(1, self.scale)).exp()
            if needed >= 0:
                return (-_over(needed, self.scale)).exp() / one_more
            return 1 - (-_over(1 - needed, self.scale)).exp() / one_more


def counts_only(moves: int, scale: float) -> Worth:
    """Noisy counts of a public list of items: no item can give anyone away, only its count."""
    with localcontext(_CONTEXT):
        return Worth(_over(moves, scale), Decimal(0))


def at_least(stated: float, needed: Decimal, *, is_sum: bool) -> bool:
    """Exact for a single figure; a sum may be short by its rounding."""
    with localcontext(_CONTEXT):
        return Decimal(stated) * (_ROUNDED_SUM if is_sum else 1) >= needed


def _over(units: int, scale: float) -> Decimal:
    ratio = Fraction(units) / Fraction(scale)
    return Decimal(ratio.numerator) / Decimal(ratio.denominator)


def _loss(p: Decimal) -> Decimal:
    return p * (1 + p) if p < _TINY else -(1 - p).ln()
