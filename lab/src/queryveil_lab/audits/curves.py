"""Gaussian guarantees promise something at every delta: at which point of their curve an audit says most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import lru_cache

from queryveil.extension import GAUSSIAN
from queryveil.privacy import calibration, gaussian
from queryveil_lab.audits.claims import Claim, epsilon_between

_STEPS = 40
_LEAST, _MOST = 0.1, 2.0
"""From a tenth of the claimed epsilon to twice it: nearer to 0, ratios of small numbers would say little."""


@dataclass(frozen=True)
class CurvePoint:
    """What is promised at one delta of the curve, and what was proven there."""

    epsilon: float
    """That the guarantee promises at this delta."""
    delta: float
    bound: float
    """No smaller epsilon holds at this delta."""

    def told(self) -> str:
        return (
            f"at delta {self.delta:.3g} of its curve, epsilon {self.epsilon:.3g} is promised and at least "
            f"{self.bound:.3g} is proven"
        )

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def best(claim: Claim, points: Iterable[tuple[float, float]]) -> CurvePoint | None:
    """The point of a Gaussian claim's curve where bounds of events come closest to the promise.

    An event's bounds of both probabilities say something at every delta, so that looking at several costs nothing.
    """
    if claim.kind != GAUSSIAN or claim.mu is None or claim.p is None:
        return None
    seen = tuple({point for point in points if point[0] > claim.p})
    if not seen:
        return None
    found = (
        CurvePoint(epsilon, delta, max(epsilon_between(low, high, delta) for low, high in seen))
        for epsilon, delta in _trade_off_curve(claim.mu, claim.p, claim.epsilon)
    )
    return max(found, key=lambda one: one.bound / one.epsilon)


@lru_cache(maxsize=32)
def _trade_off_curve(mu: float, p: float, epsilon: float) -> tuple[tuple[float, float], ...]:
    return tuple(_curve_points(mu, p, epsilon))


def _curve_points(mu: float, p: float, epsilon: float) -> Iterator[tuple[float, float]]:
    for step in range(_STEPS + 1):
        at = epsilon * _LEAST * math.pow(_MOST / _LEAST, step / _STEPS)
        yield at, calibration.up(gaussian.curve(Decimal(mu), at)) + p
