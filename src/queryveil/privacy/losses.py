"""Privacy losses of releases as distributions, and what several releases promise together by them.

A release is compared with a fixed pair of distributions that is at least as easy to tell apart: a coin of bias epsilon,
several such coins, or a shift of a normal variable. Pairs are multiplied by `dp_accounting`, always rounded so that the
result is not too small. docs/proofs/composition.md, "Privacy loss distributions", says what is proven, and when.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from queryveil.privacy import calibration
from queryveil.privacy.draws import DISCRETE_LAPLACE, L1, LOG, PUBLIC, PUBLISHED, Draw
from queryveil.privacy.kinds import REPLACE

_FINEST, _CELLS = 1e-6, 1_000_000
"""Losses are rounded up to multiples of a step: the finest one, and how many steps there may be from 0 to the sum."""
_LOST = 1e-11
"""More than all that floating-point arithmetic can lose; it is taken from the delta that is asked for."""
_LEAST_DELTA = 1e-9
"""Below this the sum of epsilons is the only answer."""
_MOST = 200.0
"""An epsilon above which nothing is promised that is worth computing."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A pair that dominates a release, or a part of it: `times` coins of (epsilon, delta), or a shift by mu.

    p is the chance that the release differs from the stand-in that the pair dominates; it adds to delta once.
    """

    epsilon: float = 0.0
    delta: float = 0.0
    times: int = 1
    mu: float = 0.0
    p: float = 0.0

    def within(self, other: Loss) -> bool:
        """Whether the other pair, which was fixed before, dominates this one too."""
        mine, others = dataclasses.astuple(self), dataclasses.astuple(other)
        return all(one <= most for one, most in zip(mine, others, strict=True))

    def as_dict(self) -> dict[str, Any]:
        empty = Loss()
        return {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if value != getattr(empty, name) or (name == "epsilon" and not self.mu)
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Loss:
        known = {field.name for field in dataclasses.fields(cls)}
        if not set(given) <= known or any(isinstance(one, bool) for one in given.values()):
            raise ValueError("not a loss")
        found = cls(**given)
        numbers = (found.epsilon, found.delta, found.mu, found.p)
        if (
            not all(math.isfinite(one) and one >= 0 for one in numbers)
            or not 1 <= int(found.times) == found.times
        ):
            raise ValueError("not a loss")
        return found


def of_draws(draws: Sequence[Draw], neighbours: str) -> tuple[Loss, ...] | None:
    """The losses of a release whose every draw is discrete Laplace noise, one unit per moved count; None for others.

    With `neighbours` replaced, a user's old items lose one and the new ones gain one: twice as many counts move.
    """
    found = [_of_draw(one, replaced=neighbours == REPLACE) for one in draws]
    return tuple(one for one in found if one is not None) if found and all(found) else None


def _of_draw(draw: Draw, *, replaced: bool) -> Loss | None:
    plain = draw.distribution == DISCRETE_LAPLACE and draw.norm == L1 and draw.copies == 1
    if not plain or draw.scale is None or draw.most is None or draw.weights is not None:
        return None
    moved = draw.most * (2 if replaced else 1)
    own = draw.most * (2 if draw.neighbours == REPLACE else 1)
    if draw.sensitivity != own or (draw.neighbours == REPLACE and not replaced):
        return None
    step = calibration.up(1 / calibration.decimal(draw.scale))
    if draw.rows in (PUBLIC, PUBLISHED):
        return Loss(epsilon=step, times=moved)
    if draw.rows != LOG or draw.at_least is None or draw.above is None:
        return None
    # A row that only one of the two logs has passes with that chance, at the least count that a row may have; where a
    # history is replaced, the stand-in also has rows of the other log, at one user less.
    excess = draw.above + 1 - draw.at_least
    passes = calibration.tail(draw.scale, excess)
    passes += calibration.tail(draw.scale, excess + 1) if replaced else 0
    return Loss(epsilon=step, times=moved, p=min(1.0, calibration.up(draw.most * passes)))


# -- together ------------------------------------------------------------------------------------------------


def epsilon_at(losses: Iterable[Loss], delta: float) -> float:
    """The epsilon that all these have together at a delta, rounded up; infinite if that delta does not suffice.

    Never above the sum of all epsilons where the deltas sum to at most `delta` and nothing is Gaussian.
    """
    counted: Counter[Loss] = Counter()
    swapped, summed, deltas = Fraction(0), Fraction(0), Fraction(0)
    shifts = False
    for one in losses:
        swapped += Fraction(one.p)
        summed += Fraction(one.epsilon) * one.times
        deltas += Fraction(one.delta) * one.times
        shifts = shifts or one.mu > 0
        counted[dataclasses.replace(one, p=0.0, times=1)] += one.times
    room = Fraction(delta) - swapped
    by_sum = math.inf
    if not shifts and deltas <= room:
        by_sum = calibration.float_at_least(summed)
    if room < _LEAST_DELTA or by_sum == 0 or summed > _MOST:
        return by_sum
    key = tuple(sorted(counted.items(), key=lambda one: dataclasses.astuple(one[0])))
    return min(by_sum, _read_epsilon(key, float(room) * (1 - 1e-9) - _LOST))


@lru_cache(maxsize=128)
def _read_epsilon(counted: tuple[tuple[Loss, int], ...], delta: float) -> float:
    found = float(_compose_losses(counted).get_epsilon_for_delta(delta))
    # Epsilon is not below 0 here, and its last digits are not worth having.
    return math.inf if not math.isfinite(found) else max(0.0, found * (1 + 1e-9) + 1e-9)


@lru_cache(maxsize=8)
def _compose_losses(counted: tuple[tuple[Loss, int], ...]) -> Any:
    """The distribution of all losses together, none of them too small."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as distributions

    step = _cell_width(counted)
    total = distributions.identity(value_discretization_interval=step)
    for one, times in counted:
        if one.mu:
            # Shifts add up by their squares: one shift stands for all equal ones.
            mu = math.nextafter(one.mu * math.sqrt(times), math.inf) * (1 + 1e-12)
            made = distributions.from_gaussian_mechanism(1 / mu, value_discretization_interval=step)
        else:
            coin = common.DifferentialPrivacyParameters(one.epsilon, one.delta)
            made = distributions.from_privacy_parameters(coin, value_discretization_interval=step)
            made = made.self_compose(times) if times > 1 else made
        total = total.compose(made)
    return total


def _cell_width(counted: tuple[tuple[Loss, int], ...]) -> float:
    """The width of a cell: rounding up every coin by less than one cell must cost little."""
    coins = sum(times for one, times in counted if not one.mu)
    reach = sum((one.epsilon or 10 * one.mu) * times for one, times in counted)
    wanted = reach / (1000 * max(1, coins))
    return max(min(wanted, 1e-3), reach / _CELLS, _FINEST)
