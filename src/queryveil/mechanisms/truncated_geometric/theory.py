"""The arithmetic of truncated geometric selection: noise, its limit, and the best that any method could do.

The statements are proven in docs/proofs/truncated-geometric.md. A user moves at most `moves` counts, each by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

from queryveil.errors import UsageError
from queryveil.mechanisms.zealous.theory import scale_for
from queryveil.privacy import calibration
from queryveil.privacy.noise import MAX_LIMIT

_DIGITS = 60
_ROUNDED = Decimal("1e-50")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Noise of a scale that ends at a limit, which is the threshold too; and what that promises."""

    most: int
    """Items of one user."""
    moves: int
    """Counts that one user moves: as many as items, or twice that for a replaced history."""
    scale: float
    limit: int

    @property
    def epsilon(self) -> float:
        return calibration.up(calibration.decimal(Fraction(self.moves) / Fraction(self.scale)))

    @property
    def delta(self) -> float:
        """Exact but for its rounding: no smaller one holds for this epsilon."""
        end = calibration.truncated_end(self.scale, self.limit)
        return min(1.0, calibration.up(calibration.any_of(end, self.moves)))

    def chance(self, users: int) -> Decimal:
        """The probability that an item of so many users is published."""
        return calibration.truncated_tail(self.scale, self.limit, self.limit + 1 - users)

    @property
    def even_chance(self) -> int:
        """The fewest users of an item with a chance of 1/2: noise of 0 or more is enough, and noise of 1 is not."""
        return self.limit + 1

    @property
    def always(self) -> int:
        """The fewest users of an item that every noise leaves above the threshold."""
        return 2 * self.limit + 1

    def as_dict(self, delta: float) -> dict[str, Any]:
        return {
            "noise_scale": self.scale,
            "limit": self.limit,
            "threshold": self.limit,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "even_chance": self.even_chance,
            "always": self.always,
            "even_chance_without_counts": best_even_chance(self.scale, each(delta, self.moves)),
        }


def calibrated(most: int, epsilon: float, delta: float, *, replace: bool) -> Setting:
    """The least noise, and the smallest limit, that keep epsilon and delta for everything that one user adds."""
    moves = 2 * most if replace else most
    scale, share = scale_for(moves, epsilon), each(delta, moves)
    # Told from the limit's own inequality at the largest limit, so that no huge one is searched for.
    if calibration.truncated_end(scale, MAX_LIMIT) > share:
        raise UsageError(
            f"with epsilon {epsilon:.3g} and delta {delta:.3g} only items of more than a trillion users would be "
            "published",
            "raise epsilon" + (" or lower max-items" if most > 1 else ""),
        )
    return Setting(most=most, moves=moves, scale=scale, limit=calibration.smallest_limit(scale, share))


def each(delta: float, moves: int) -> Decimal:
    """1 - (1 - delta)^(1/moves), rounded down: what each of so many counts may take of delta."""
    whole = Decimal(delta)
    # As many digits more as the subtraction from 1 cancels.
    digits = _DIGITS + 2 * max(0, -whole.adjusted())
    with localcontext(Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)) as here:
        # Each step is rounded up; exp and ln round to nearest, so that they take one step further.
        kept = ((1 - whole).ln().next_plus() / moves).exp().next_plus()
        here.rounding = ROUND_FLOOR
        return max(Decimal(0), 1 - kept)


# -- the best selection that publishes no counts -------------------------------------------------------------


def best_chances(loss: Decimal, delta: Decimal) -> Iterator[Decimal]:
    """The largest chances to publish an item of 0, 1, 2, ... users that one moved count allows, without its count.

    `loss` and `delta` are those of one count. No selection has more at any number of users.
    """
    with localcontext(prec=_DIGITS):
        up, down = loss.exp(), (-loss).exp()
    chance = Decimal(0)
    while True:
        yield chance
        with localcontext(prec=_DIGITS):
            chance = min(up * chance + delta, 1 - down * (1 - chance - delta), Decimal(1))


def best_even_chance(scale: float, delta: Decimal) -> int:
    """The first number of users with a chance of 1/2 at least in `best_chances`, for 1/scale of a loss.

    They grow as delta (e^(n/scale) - 1)/(e^(1/scale) - 1) up to n = k, the limit of noise with counts, and are above
    1/2 at k + 1: the proof page has why. So nothing is searched for, however large k is.
    """
    limit = calibration.smallest_limit(scale, delta)
    with localcontext(Context(prec=_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        # Divided by e^(k/scale) above and below, which may be larger than any number.
        loss = 1 / calibration.decimal(Fraction(scale))
        past = (-loss * limit).exp()
        reached = delta * (1 - past) / (((1 - limit) * loss).exp() - past)
        # Delta was rounded down: what is a half but for that is one.
        return limit if 2 * reached >= 1 - _ROUNDED else limit + 1
