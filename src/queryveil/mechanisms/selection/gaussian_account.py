"""One Gaussian account for all tables of a release: how much of mu^2 and p each draw has, and what noise that buys.

Every draw adds a user's whole numbers, of a bounded norm, and normal noise. With shares of mu^2 that add up to one, the
draws together are (mu, p)-Gaussian, and (epsilon, delta) follows. Proof: docs/proofs/gaussian.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from queryveil.errors import CannotBeMet, UsageError
from queryveil.privacy import calibration, gaussian
from queryveil.privacy.draws import ANY
from queryveil.privacy.guarantee import ADD_REMOVE, GAUSSIAN, REPLACE, Guarantee
from queryveil.privacy.statements import Statement

GRID = 1 << 20
"""What one user may add to all sums of one round, as a root of a sum of squares, in whole numbers."""
MOST_ITEMS = 10**6
"""[C7] of docs/proofs/steered.md. Most items of one user: squares of so many full scores, 2^40 each, fit 64 bits."""
LEAST_EPSILON, MOST_EPSILON = 1e-4, 20.0
"""Below, noise would outgrow what can be drawn; above, nothing is promised that a person would notice."""
_MUCH_EPSILON = 1.5
"""From here on noise is small enough that users with many published items may count more."""


@dataclass(frozen=True)
class Share:
    """What one draw takes of the account."""

    of: str
    weight: float
    """Its part of mu^2, beside those of the other draws."""
    rounds: int = 1
    norm: int = 1
    """The largest norm of what a user adds in one round, in units of the grid."""
    weights: str = ANY
    """How a user's weight is divided among items."""
    times: int = 0
    """How many rows one user alone may have that a threshold must keep back; 0 if all rows are public by then."""


@dataclass(frozen=True)
class Noise:
    """The noise of one draw: its scale, and what it costs."""

    share: Share
    scale: int
    mu_squared: Fraction
    p: float

    @property
    def sensitivity(self) -> int:
        return self.share.norm * GRID


@dataclass(frozen=True)
class Account:
    """Epsilon, delta, and the noise of every draw."""

    epsilon: float
    delta: float
    replace: bool
    noises: tuple[Noise, ...]

    @property
    def mu(self) -> float:
        """The shift of all draws together between neighboring logs, rounded up."""
        return calibration.up(gaussian.root(sum((one.mu_squared for one in self.noises), Fraction(0))))

    @property
    def p(self) -> float:
        """The p of all draws together, rounded up."""
        return calibration.float_at_least(
            self.p_factor * sum((Fraction(one.p) for one in self.noises), Fraction(0))
        )

    @property
    def p_factor(self) -> int:
        """How often p counts: a replaced history may bring rows of its own and take others away."""
        return 2 if self.replace else 1

    def noise(self, of: str) -> Noise:
        return next(one for one in self.noises if one.share.of == of)

    def guarantee(self, assumptions: tuple[Statement, ...], caveats: tuple[Statement, ...]) -> Guarantee:
        """Return the guarantee of all draws together, with a part for each draw if there are several."""
        common: dict[str, Any] = {"neighbours": REPLACE if self.replace else ADD_REMOVE}
        parts = tuple(
            Guarantee(
                kind=GAUSSIAN,
                of=one.share.of if len(self.noises) > 1 else "",
                epsilon=self.epsilon,
                delta=self._draw_delta(one),
                mu=calibration.up(gaussian.root(one.mu_squared)),
                p=one.p * self.p_factor,
                assumptions=assumptions,
                caveats=caveats,
                **common,
            )
            for one in self.noises
        )
        total = Guarantee(
            kind=GAUSSIAN,
            epsilon=self.epsilon,
            delta=self.delta,
            mu=self.mu,
            p=self.p,
            assumptions=assumptions,
            caveats=caveats,
            parts=parts if len(parts) > 1 else (),
            **common,
        )
        return total

    def _draw_delta(self, one: Noise) -> float:
        """Return the delta of one draw alone, at the same epsilon."""
        if len(self.noises) == 1:
            return self.delta
        found = gaussian.curve(gaussian.root(one.mu_squared), self.epsilon)
        return calibration.up(found + calibration.decimal(Fraction(one.p) * self.p_factor))


def counts_of(kind: str) -> str:
    """Return the name of the draw that counts users of a kind of item."""
    return f"counts of {kind.replace('-', ' ')}"


def norm_of_counts(epsilon: float) -> int:
    """Return the norm to which a user's counts are scaled down, in units of the grid: fixed by epsilon alone."""
    return 3 if epsilon >= _MUCH_EPSILON else 2


def open_account(
    epsilon: float, delta: float, shares: Sequence[Share], *, replace: bool, p_share: float | None = None
) -> Account:
    """Return the account of an epsilon and a delta, with the noise of every draw.

    Args:
        epsilon: The epsilon of all draws together.
        delta: The delta of all draws together.
        shares: What each draw takes of mu^2.
        replace: Whether neighboring logs differ by a replaced history, not by an added user.
        p_share: How much of delta is p; if left out, the share that makes the first threshold lowest.

    Raises:
        CannotBeMet: If the noise of a draw would be larger than can be drawn.
        UsageError: If delta is too small.
    """
    _refuse_extremes(epsilon, delta)
    paid = 2 if replace else 1
    with_threshold = [one for one in shares if one.times]
    p = 0.0
    if with_threshold:
        times = with_threshold[0].times
        p = delta * p_share if p_share else gaussian.best_p(epsilon, delta, times, paid)
    each = p / max(1, len(with_threshold))
    spent = sum((Fraction(each) * paid for _ in with_threshold), Fraction(0))
    mu = gaussian.largest_shift(epsilon, Fraction(delta) - spent)
    total = sum((Fraction(one.weight) for one in shares), Fraction(0))
    noises = []
    for one in shares:
        moved = paid * (one.norm * GRID) ** 2 * one.rounds
        scale = _root_up(moved * total / (mu**2 * Fraction(one.weight)))
        if scale > calibration.MAX_SCALE:
            raise CannotBeMet(
                f"the noise for {one.of} would be larger than can be drawn", "raise epsilon or its share"
            )
        noises.append(Noise(one, scale, Fraction(moved, scale**2), each if one.times else 0.0))
    return Account(epsilon, delta, replace, tuple(noises))


def _refuse_extremes(epsilon: float, delta: float) -> None:
    if delta < gaussian.LEAST_DELTA:
        raise UsageError(
            f"delta {delta:g} leaves nothing for the chance that a threshold fails",
            f"use a delta of at least {gaussian.LEAST_DELTA:g}; one well below 1/users is enough, such as 1e-6",
        )
    if epsilon < LEAST_EPSILON:
        raise CannotBeMet(
            f"nothing can be published with epsilon {epsilon:g}: the noise would be larger than any count",
            f"use an epsilon of at least {LEAST_EPSILON:g}; about 1 is usual",
        )


def _root_up(square: Fraction) -> int:
    """Return the smallest whole number whose square is not below a fraction."""
    whole = math.ceil(square)
    found = math.isqrt(whole)
    return found if found * found >= whole else found + 1
