"""What a budget allows: how releases add up, what is left, and what still fits.

Other kinds add up by epsilon and delta, Gaussian releases by mu^2 and p. Each rule is proven in
docs/proofs/composition.md; docs/decisions/0018-gaussian-releases-in-the-ledger.md says why there are three.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

from queryveil.privacy import calibration, gaussian

_NOTHING = Fraction(0)
_DIGITS = 6
"""Of figures read off a curve: what was spent is rounded up to so many, what is left is rounded down."""
_LEAST_EPSILON = 1e-9
"""Less than this buys no Gaussian release: its noise could not be drawn."""


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

    @property
    def shift(self) -> tuple[float, float] | None:
        """Mu and p of a Gaussian release."""
        return None if self.mu is None or self.p is None else (self.mu, self.p)


@dataclass(frozen=True, kw_only=True)
class Sums:
    """What releases add up to, without any rounding."""

    epsilon: Fraction = _NOTHING
    """Of all kinds but Gaussian."""
    delta: Fraction = _NOTHING
    mu_squared: Fraction = _NOTHING
    p: Fraction = _NOTHING
    every_epsilon: Fraction = _NOTHING
    """Of all kinds, Gaussian ones counted by their own epsilon and delta."""
    every_delta: Fraction = _NOTHING
    p_share: Fraction | None = None
    """How much of its delta the first Gaussian release has as p; None as long as there is none."""

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
        if cost.shift is None:
            return dataclasses.replace(
                self, epsilon=self.epsilon + epsilon, delta=self.delta + delta, **every
            )
        mu, p = cost.shift
        share = self.p_share
        if share is None:
            share = min(Fraction(1), exact(p) / delta) if delta else _NOTHING
        return dataclasses.replace(
            self, mu_squared=self.mu_squared + Fraction(mu) ** 2, p=self.p + exact(p), p_share=share, **every
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


# -- rules ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BySums:
    """Epsilons and deltas add up, also those of Gaussian releases: proven whatever people looked at."""

    code: ClassVar[str] = "sums"
    budget: Amount

    @cached_property
    def epsilon(self) -> Fraction:
        return exact(self.budget.epsilon)

    @cached_property
    def delta(self) -> Fraction:
        return exact(self.budget.delta)

    def fits(self, sums: Sums) -> bool:
        """Whether these releases together are within the budget."""
        return sums.every_epsilon <= self.epsilon and sums.every_delta <= self.delta

    def spent(self, sums: Sums) -> Amount:
        """What these releases promise together."""
        return sums.plain

    def left(self, sums: Sums) -> Pair:
        """The most that one release more, not a Gaussian one, may have."""
        return Pair(self.epsilon - sums.every_epsilon, self.delta - sums.every_delta)

    def room(self, sums: Sums) -> Pair:
        """The most that a Gaussian release more may add to what all have: epsilon, and delta or p."""
        return self.left(sums)

    def need(self, before: Sums, after: Sums) -> Pair:
        """What a release adds, in the terms of `left` or, if it is Gaussian, of `room`."""
        return Pair(after.every_epsilon - before.every_epsilon, after.every_delta - before.every_delta)

    def mu_left(self, sums: Sums, p: float) -> float:
        """The largest mu that one Gaussian release more with that p may have, rounded down."""
        room = self.delta - sums.every_delta - exact(p)
        return _float_down(_largest_mu(self.epsilon - sums.every_epsilon, room))


class Pooled(BySums):
    """Gaussian releases add up by mu^2 and p; their epsilon is read off the curve at the delta that others leave.

    Proven for parameters that were chosen without looking at earlier releases; for others, see `whatever`.
    """

    code = "pooled"

    def fits(self, sums: Sums) -> bool:
        if not sums.gaussian:
            return super().fits(sums)
        room = self.delta - sums.delta - sums.p
        if sums.epsilon > self.epsilon or room < 0:
            return False
        if not sums.mu_squared:
            return True
        curve = gaussian.curve(gaussian.root(sums.mu_squared), self.epsilon - sums.epsilon)
        return room > 0 and curve <= calibration.decimal(room)

    def spent(self, sums: Sums) -> Amount:
        if not sums.gaussian:
            return super().spent(sums)
        read = _epsilon(sums.mu_squared, self.delta - sums.delta - sums.p)
        if read is None:
            return Amount(epsilon=math.inf, delta=self.budget.delta)
        total = sums.epsilon + read
        return Amount(
            epsilon=float(min(total, self.epsilon) if self.fits(sums) else total), delta=self.budget.delta
        )

    def left(self, sums: Sums) -> Pair:
        if not sums.gaussian:
            return super().left(sums)
        room = self.delta - sums.delta - sums.p - _curve(sums.mu_squared, self.epsilon - sums.epsilon)
        epsilon = self.epsilon - exact(self.spent(sums).epsilon)
        return Pair(epsilon, max(_NOTHING, _rounded(room, ROUND_FLOOR)))

    def need(self, before: Sums, after: Sums) -> Pair:
        if not after.gaussian:
            return super().need(before, after)
        more = self.spent(after).epsilon
        if math.isfinite(more):
            return Pair(exact(more) - exact(self.spent(before).epsilon), _NOTHING)
        # No epsilon helps where p and the deltas alone are too much.
        return Pair(_NOTHING, after.p + after.delta - before.p - before.delta)

    def mu_left(self, sums: Sums, p: float) -> float:
        cap = _largest_mu(self.epsilon - sums.epsilon, self.delta - sums.delta - sums.p - exact(p))
        return _below(cap, sums)

    def whatever(self, sums: Sums) -> Amount:
        """What is proven even if parameters were chosen by looking at earlier releases."""
        times = 2 if sums.epsilon or sums.delta else 1
        return Amount(epsilon=times * self.budget.epsilon, delta=min(1.0, 2 * self.budget.delta))


@dataclass(frozen=True)
class Reserved(BySums):
    """A share of the budget is kept for Gaussian releases, with fixed caps: proven whatever people looked at.

    How much of that share is for p is fixed by the first Gaussian release, which has the same share of its own delta.
    """

    code: ClassVar[str] = "reserved"
    share: float

    @cached_property
    def for_gaussian(self) -> Fraction:
        """Of epsilon."""
        return exact(self.share) * self.epsilon

    def for_curve(self, sums: Sums) -> Fraction:
        """Of delta: what the curve at the largest mu has. The rest is for p and for the deltas of other kinds."""
        return exact(self.share) * self.delta * (1 - (sums.p_share or 0))

    def largest_mu(self, sums: Sums) -> Fraction:
        return _largest_mu(self.for_gaussian, self.for_curve(sums))

    def fits(self, sums: Sums) -> bool:
        return (
            sums.epsilon <= self.epsilon - self.for_gaussian
            and sums.delta + sums.p <= self.delta - self.for_curve(sums)
            and sums.mu_squared <= self.largest_mu(sums) ** 2
        )

    def spent(self, sums: Sums) -> Amount:
        curve = self.for_curve(sums) if sums.gaussian else _NOTHING
        return Pair(sums.epsilon + self._read(sums), sums.delta + sums.p + curve).amount

    def left(self, sums: Sums) -> Pair:
        return Pair(
            self.epsilon - self.for_gaussian - sums.epsilon,
            self.delta - self.for_curve(sums) - sums.delta - sums.p,
        )

    def room(self, sums: Sums) -> Pair:
        return self.left(sums)._replace(epsilon=self.for_gaussian - self._read(sums))

    def need(self, before: Sums, after: Sums) -> Pair:
        if after.mu_squared == before.mu_squared and after.p == before.p:
            return super().need(before, after)
        return Pair(self._read(after) - self._read(before), after.p - before.p)

    def mu_left(self, sums: Sums, p: float) -> float:
        if sums.gaussian and sums.delta + sums.p + exact(p) > self.delta - self.for_curve(sums):
            return 0.0
        return _below(self.largest_mu(sums), sums)

    def _read(self, sums: Sums) -> Fraction:
        """Epsilon of the Gaussian releases, at the delta that is kept for their curve."""
        if not sums.mu_squared:
            return _NOTHING
        read = _epsilon(sums.mu_squared, self.for_curve(sums))
        if read is None:
            return Fraction(10**6)
        return min(read, self.for_gaussian) if sums.mu_squared <= self.largest_mu(sums) ** 2 else read


def rule_of(budget: Amount, gaussian_share: float | None) -> BySums:
    """The rule of a source: one pool, a share that is kept for Gaussian releases, or plain sums if that is 0."""
    if gaussian_share is None:
        return Pooled(budget)
    return Reserved(budget, gaussian_share) if gaussian_share else BySums(budget)


# -- numbers -------------------------------------------------------------------------------------------------


def exact(number: float) -> Fraction:
    """The decimal that is printed for a number and that people mean by it: 0.1 is a tenth."""
    return Fraction(repr(float(number)))


def words(number: float | Fraction) -> str:
    return f"{float(number):.12g}"


@lru_cache(maxsize=256)
def _epsilon(mu_squared: Fraction, room: Fraction) -> Fraction | None:
    """The epsilon of a shift at a delta, rounded up; None if there is none."""
    if not mu_squared:
        return _NOTHING if room >= 0 else None
    if room <= 0:
        return None
    mu = calibration.up(gaussian.root(mu_squared))
    read = gaussian.epsilon_of(mu, 0.0, _float_down(room))
    return _rounded(Fraction(read), ROUND_CEILING) if math.isfinite(read) else None


@lru_cache(maxsize=256)
def _curve(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    return Fraction(gaussian.curve(gaussian.root(mu_squared), epsilon)) if mu_squared else _NOTHING


def _largest_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    if epsilon < _LEAST_EPSILON or delta < gaussian.LEAST_DELTA:
        return _NOTHING
    return gaussian.largest_shift(_float_down(epsilon), delta)


def _below(cap: Fraction, sums: Sums) -> float:
    """What is left of a cap on mu, rounded down."""
    square = cap**2 - sums.mu_squared
    if square <= 0:
        return 0.0
    with localcontext(prec=50, rounding=ROUND_FLOOR):
        root = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()
    return float(_rounded(Fraction(root), ROUND_FLOOR))


def rounded_down(number: float, digits: int) -> str:
    """What still fits, in few digits."""
    return words(_rounded(Fraction(number), ROUND_FLOOR, digits))


def _rounded(number: Fraction, rounding: str, digits: int = _DIGITS) -> Fraction:
    """To a few digits, up or down."""
    if not number:
        return number
    with localcontext(prec=digits, rounding=rounding, Emin=-(10**6), Emax=10**6):
        return Fraction(Decimal(number.numerator) / Decimal(number.denominator))


def _float_down(number: Fraction) -> float:
    found = float(number)
    return found if Fraction(found) <= number else math.nextafter(found, -math.inf)
