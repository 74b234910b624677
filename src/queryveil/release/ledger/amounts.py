"""Epsilon and delta, what a release costs, and what several add up to: values without any rounding."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

from queryveil.privacy import calibration, gaussian
from queryveil.privacy.losses import Loss, epsilon_at

NOTHING = Fraction(0)
_DIGITS = 6
"""Of figures read off a curve: what was spent is rounded up to so many, what is left is rounded down."""


# -- values --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A pair of epsilon and delta: a budget, or what was taken from it, or what is left."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"epsilon {words(self.epsilon)} and delta {words(self.delta)}"


class Pair(NamedTuple):
    """Epsilon and delta without rounding: a delta of 1e-300 beside one of 0.1 still counts."""

    epsilon: Fraction
    delta: Fraction

    @property
    def amount(self) -> Amount:
        return Amount(epsilon=float(self.epsilon), delta=float(self.delta))


@dataclass(frozen=True, kw_only=True)
class Cost(Amount):
    """What one release takes, against the neighbours of its ledger; mu and p only if it is Gaussian."""

    mu: float | None = None
    p: float | None = None
    losses: tuple[Loss, ...] | None = None
    """The pairs that dominate it, where its draws say more than epsilon and delta do."""

    @property
    def coins(self) -> tuple[Loss, ...]:
        """The pair that dominates it by its numbers alone."""
        if self.shift is not None:
            return (Loss(mu=self.shift[0], p=self.shift[1]),)
        return (Loss(epsilon=self.epsilon, delta=self.delta),)

    @property
    def shift(self) -> tuple[float, float] | None:
        """Mu and p of a Gaussian release."""
        return None if self.mu is None or self.p is None else (self.mu, self.p)


@dataclass(frozen=True, kw_only=True)
class Sums:
    """What releases add up to, without any rounding."""

    epsilon: Fraction = NOTHING
    """Of all kinds but Gaussian."""
    delta: Fraction = NOTHING
    mu_squared: Fraction = NOTHING
    p: Fraction = NOTHING
    every_epsilon: Fraction = NOTHING
    """Of all kinds, Gaussian ones counted by their own epsilon and delta."""
    every_delta: Fraction = NOTHING
    p_share: Fraction | None = None
    """How much of its delta the first Gaussian release has as p; None as long as there is none."""
    costs: tuple[Cost, ...] = ()
    """One by one, in the order in which they were charged."""

    @classmethod
    def of(cls, costs: Iterable[Cost]) -> Sums:
        """Of releases in the order in which they were charged."""
        total = cls()
        for cost in costs:
            total = total.and_then(cost)
        return total

    def and_then(self, cost: Cost) -> Sums:
        """With one release more."""
        epsilon, delta = exact(cost.epsilon), exact(cost.delta)
        every = {"every_epsilon": self.every_epsilon + epsilon, "every_delta": self.every_delta + delta}
        costs = (*self.costs, cost)
        if cost.shift is None:
            return dataclasses.replace(
                self, epsilon=self.epsilon + epsilon, delta=self.delta + delta, costs=costs, **every
            )
        mu, p = cost.shift
        share = self.p_share
        if share is None:
            share = min(Fraction(1), exact(p) / delta) if delta else NOTHING
        return dataclasses.replace(
            self,
            mu_squared=self.mu_squared + Fraction(mu) ** 2,
            p=self.p + exact(p),
            p_share=share,
            costs=costs,
            **every,
        )

    @property
    def gaussian(self) -> bool:
        return self.p_share is not None

    @property
    def mu(self) -> float:
        """Of all Gaussian releases together, rounded up."""
        return calibration.up(gaussian.root(self.mu_squared)) if self.mu_squared else 0.0

    @property
    def plain(self) -> Amount:
        """Every epsilon and every delta, added up."""
        return Amount(epsilon=float(self.every_epsilon), delta=float(self.every_delta))

    def together(self, delta: float) -> float:
        """The smallest epsilon that is proven at a delta for releases whose parameters were planned; rounded up."""
        found = [tight(self.costs, delta)]
        if self.every_delta <= exact(delta):
            found.append(float(self.every_epsilon))
        return min(found)


def tight(costs: Iterable[Cost], delta: float) -> float:
    """Epsilon by privacy loss distributions, at a delta: by the numbers of each release, or by its draws."""
    several = tuple(costs)
    if not several:
        return 0.0
    by_numbers = epsilon_at([loss for cost in several for loss in cost.coins], delta)
    by_draws = epsilon_at([loss for cost in several for loss in cost.losses or cost.coins], delta)
    found = min(by_numbers, by_draws)
    return float(rounded(Fraction(found), ROUND_CEILING)) if math.isfinite(found) else found


# -- numbers -------------------------------------------------------------------------------------------------


def exact(number: float) -> Fraction:
    """The decimal that is printed for a number and that people mean by it: 0.1 is a tenth."""
    return Fraction(repr(float(number)))


def words(number: float | Fraction) -> str:
    return f"{float(number):.12g}"


def rounded_down(number: float, digits: int) -> str:
    """What still fits, in few digits."""
    return words(rounded(Fraction(number), ROUND_FLOOR, digits))


def rounded(number: Fraction, rounding: str, digits: int = _DIGITS) -> Fraction:
    """To a few digits, up or down."""
    if not number:
        return number
    with localcontext(prec=digits, rounding=rounding, Emin=-(10**6), Emax=10**6):
        return Fraction(Decimal(number.numerator) / Decimal(number.denominator))


def float_down(number: Fraction) -> float:
    found = float(number)
    return found if Fraction(found) <= number else math.nextafter(found, -math.inf)
