"""What a budget allows: how releases add up, what is left, and what still fits.

Other kinds add up by epsilon and delta, Gaussian releases by mu^2 and p. Each rule is proven in
docs/proofs/composition.md; docs/decisions/0018-how-releases-add-up.md says why there are three.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from queryveil.privacy import calibration, gaussian
from queryveil.release.ledger.amounts import (
    NOTHING,
    Amount,
    Cost,
    Pair,
    Sums,
    exact,
    float_down,
    rounded,
    tight,
)

_MOST_REPEATED = 1 << 14
"""More releases like the first are not counted ahead."""
_MOST_MORE = 1 << 10
"""More releases like the last are not counted either."""
_LEAST_EPSILON = 1e-9
"""Less than this buys no Gaussian release: its noise could not be drawn."""


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

    def used(self, sums: Sums) -> float:
        """Return the share of the budget that these releases use: of its epsilon or its delta, whichever is larger."""
        return min(1.0, max(_share(exact(self.spent(sums).epsilon), self.epsilon), self._delta_used(sums)))

    def _delta_used(self, sums: Sums) -> float:
        return _share(sums.every_delta, self.delta)

    def more(self, sums: Sums, cost: Cost) -> int:
        """Return how many more releases of this cost fit, at least; no more than `_MOST_MORE` are counted."""
        return _largest_fitting(lambda many: self.fits(Sums.of([*sums.costs, *[cost] * many])), _MOST_MORE)

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
        return float_down(_largest_mu(self.epsilon - sums.every_epsilon, room))


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
        read = _epsilon_at(sums.mu_squared, self.delta - sums.delta - sums.p)
        if read is None:
            return Amount(epsilon=math.inf, delta=self.budget.delta)
        total = sums.epsilon + read
        return Amount(
            epsilon=float(min(total, self.epsilon) if self.fits(sums) else total), delta=self.budget.delta
        )

    def _delta_used(self, sums: Sums) -> float:
        """The share that is gone for good: what other kinds leave is where epsilon is read off the curve."""
        return _share(sums.delta + sums.p, self.delta) if sums.gaussian else super()._delta_used(sums)

    def left(self, sums: Sums) -> Pair:
        if not sums.gaussian:
            return super().left(sums)
        room = self.delta - sums.delta - sums.p - _delta_at(sums.mu_squared, self.epsilon - sums.epsilon)
        epsilon = self.epsilon - exact(self.spent(sums).epsilon)
        return Pair(epsilon, max(NOTHING, rounded(room, ROUND_FLOOR)))

    def need(self, before: Sums, after: Sums) -> Pair:
        if not after.gaussian:
            return super().need(before, after)
        more = self.spent(after).epsilon
        if math.isfinite(more):
            return Pair(exact(more) - exact(self.spent(before).epsilon), NOTHING)
        # No epsilon helps where p and the deltas alone are too much.
        return Pair(NOTHING, after.p + after.delta - before.p - before.delta)

    def mu_left(self, sums: Sums, p: float) -> float:
        cap = _largest_mu(self.epsilon - sums.epsilon, self.delta - sums.delta - sums.p - exact(p))
        return _remaining_shift(cap, sums)

    def whatever(self) -> Amount:
        """Return what is proven even if parameters were chosen by looking at earlier releases.

        That only Gaussian releases were charged so far does not help: epsilon is kept only if no other kind would have
        been charged, whatever the releases had shown.
        """
        return Amount(epsilon=2 * self.budget.epsilon, delta=min(1.0, 2 * self.budget.delta))


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
        curve = self.for_curve(sums) if sums.gaussian else NOTHING
        return Pair(sums.epsilon + self._read(sums), sums.delta + sums.p + curve).amount

    def _delta_used(self, sums: Sums) -> float:
        return _share(sums.delta + sums.p, self.delta - self.for_curve(sums))

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
        return _remaining_shift(self.largest_mu(sums), sums)

    def _read(self, sums: Sums) -> Fraction:
        """Epsilon of the Gaussian releases, at the delta that is kept for their curve."""
        if not sums.mu_squared:
            return NOTHING
        read = _epsilon_at(sums.mu_squared, self.for_curve(sums))
        if read is None:
            return Fraction(10**6)
        return min(read, self.for_gaussian) if sums.mu_squared <= self.largest_mu(sums) ** 2 else read


@dataclass(frozen=True)
class Repeated(BySums):
    """Every release is like the first one or gives away less, so the privacy losses are fixed by the first charge.

    As many fit as the distribution of that many equal losses allows: proven whatever people looked at.
    """

    code: ClassVar[str] = "repeated"

    def like_the_first(self, sums: Sums) -> bool:
        """Whether the pair of the first release dominates the last one."""
        return not sums.costs or _is_within(sums.costs[-1], sums.costs[0])

    def fits(self, sums: Sums) -> bool:
        if not sums.costs:
            return True
        if not self.like_the_first(sums) or self.delta < exact(sums.costs[0].delta):
            return False
        alike = self._repeat_first(sums)
        # Sums are compared as fractions: rounded to a number that is printed, one just above the budget would fit.
        if super().fits(alike):
            return True
        epsilon = tight(alike.costs, self.budget.delta)
        return math.isfinite(epsilon) and exact(epsilon) <= self.epsilon

    def spent(self, sums: Sums) -> Amount:
        if len(sums.costs) < 2:
            return sums.plain
        return Amount(epsilon=self._epsilon(sums), delta=self.budget.delta)

    def left(self, sums: Sums) -> Pair:
        spent = self._epsilon(sums) if sums.costs else 0.0
        return Pair(max(NOTHING, self.epsilon - exact(spent)), self.delta)

    def need(self, before: Sums, after: Sums) -> Pair:
        grown = [self._epsilon(one) if one.costs else 0.0 for one in (before, after)]
        if not math.isfinite(grown[1]):
            return Pair(NOTHING, after.every_delta)
        return Pair(exact(grown[1]) - exact(grown[0]), exact(after.costs[-1].delta))

    def mu_left(self, sums: Sums, p: float) -> float:
        """That of the first release, if one more of it fits."""
        first = sums.costs[0] if sums.costs else None
        if first is None:
            return super().mu_left(sums, p)
        return float(first.mu or 0) if self.fits(sums.and_then(first)) else 0.0

    def times(self, first: Cost) -> int:
        """How many releases like this one the budget is enough for."""
        return _largest_fitting(lambda many: self.fits(Sums.of([first] * many)), _MOST_REPEATED)

    def used(self, sums: Sums) -> float:
        return len(sums.costs) / max(1, self.times(sums.costs[0])) if sums.costs else 0.0

    def more(self, sums: Sums, cost: Cost) -> int:
        first = sums.costs[0] if sums.costs else cost
        return max(0, self.times(first) - len(sums.costs))

    def _epsilon(self, sums: Sums) -> float:
        return self._repeat_first(sums).together(self.budget.delta)

    def _repeat_first(self, sums: Sums) -> Sums:
        """As if all were the first: what was fixed, and not what was drawn, is composed."""
        return Sums.of([sums.costs[0]] * len(sums.costs))


def _share(part: Fraction, whole: Fraction) -> float:
    return float(part / whole) if whole else float(part > 0)


def _largest_fitting(fits: Callable[[int], bool], limit: int) -> int:
    """Return the largest number that fits, or one of at least `limit`: if a number fits, smaller ones do."""
    found = 0
    while found < limit and fits(2 * found or 1):
        found = 2 * found or 1
    step = found // 2
    while step and found < limit:
        if fits(found + step):
            found += step
        step //= 2
    return found


def _is_within(cost: Cost, first: Cost) -> bool:
    mine, fixed = cost.losses or cost.coins, first.losses or first.coins
    by_draws = len(mine) == len(fixed) and all(
        one.within(other) for one, other in zip(mine, fixed, strict=True)
    )
    return by_draws and cost.coins[0].within(first.coins[0])


def rule_of(budget: Amount, gaussian_share: float | None, *, repeated: bool = False) -> BySums:
    """The rule of a source: one pool, a share that is kept for Gaussian releases, or plain sums if that is 0."""
    if repeated:
        return Repeated(budget)
    if gaussian_share is None:
        return Pooled(budget)
    return Reserved(budget, gaussian_share) if gaussian_share else BySums(budget)


# -- numbers -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _epsilon_at(mu_squared: Fraction, room: Fraction) -> Fraction | None:
    """The epsilon of a shift at a delta, rounded up; None if there is none."""
    if not mu_squared:
        return NOTHING if room >= 0 else None
    if room <= 0:
        return None
    mu = calibration.up(gaussian.root(mu_squared))
    read = gaussian.epsilon_of(mu, 0.0, float_down(room))
    return rounded(Fraction(read), ROUND_CEILING) if math.isfinite(read) else None


@lru_cache(maxsize=256)
def _delta_at(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    return Fraction(gaussian.curve(gaussian.root(mu_squared), epsilon)) if mu_squared else NOTHING


def _largest_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    if epsilon < _LEAST_EPSILON or delta < gaussian.LEAST_DELTA:
        return NOTHING
    return gaussian.largest_shift(float_down(epsilon), delta)


def _remaining_shift(cap: Fraction, sums: Sums) -> float:
    """What is left of a cap on mu, rounded down."""
    square = cap**2 - sums.mu_squared
    if square <= 0:
        return 0.0
    with localcontext(prec=50, rounding=ROUND_FLOOR):
        root = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()
    return float(rounded(Fraction(root), ROUND_FLOOR))
