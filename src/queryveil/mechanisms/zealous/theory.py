"""The arithmetic of ZEALOUS: thresholds, epsilon and delta, ours and the paper's. No data, no noise.

The statements are proven in docs/proofs/zealous.md. `T`, the second threshold, is an integer here: an item is
published if its noisy count is T + 1 or more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from queryveil.errors import UsageError
from queryveil.privacy import calibration

_MAX_THRESHOLD = 2**53
_ACCURACY = 0.01
"""The chance of being output that Corollary 1's example asks for a very frequent item."""
_FREQUENT = 50
"""Users of a very frequent item in that example."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A noise scale and two thresholds, and what they promise."""

    m: int
    scale: float
    tau: int
    top: int
    replace: bool

    @property
    def p(self) -> Decimal:
        """The chance that an item of exactly tau users is published: the only way to leak an item."""
        return calibration.tail(self.scale, self.top + 1 - self.tau)

    @property
    def moves(self) -> int:
        """By how much one user can move all counts together."""
        return 2 * self.m if self.replace else self.m

    @property
    def spread(self) -> float:
        """Standard deviation of the noise, nearly."""
        return self.scale * math.sqrt(2)

    @property
    def epsilon_approximate(self) -> float:
        return calibration.up(calibration.decimal(Fraction(self.moves) / Fraction(self.scale)))

    @property
    def delta_approximate(self) -> float:
        """Exact: no smaller one holds."""
        return min(1.0, calibration.up(calibration.any_of(self.p, self.m)))

    @property
    def epsilon_probabilistic(self) -> float:
        if self.p <= calibration.step(self.scale):
            return self.epsilon_approximate
        return calibration.up(calibration.loss(self.p, self.moves))

    def delta_probabilistic(self, users: int) -> float:
        return min(1.0, calibration.up(calibration.times(self.p, Fraction(users * self.m, self.tau))))

    def as_dict(self, users: int | None) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "noise_scale": self.scale,
            "threshold": self.tau,
            "second_threshold": self.top,
            "epsilon": self.epsilon_approximate,
            "delta_indistinguishable": self.delta_approximate,
            "users_for_half": self.top + 1,
            "users_for_99_percent": self.top + calibration.smallest_excess(self.scale, Decimal("0.01")),
        }
        if users is not None:
            shown["epsilon"] = self.epsilon_probabilistic
            shown["delta"] = self.delta_probabilistic(users)
        return shown


def approximate(
    m: int, epsilon: float, delta: float, *, tau: int | None, replace: bool, paper: bool
) -> Setting:
    """Thresholds for approximate differential privacy; tau above 1 only raises the second one."""
    scale = calibration.scale_for(2 * m if replace else m, epsilon)
    tau = tau or 1
    if paper:
        # Rounded up, the paper's threshold for continuous noise is enough for ours: q/(1+q) <= 1/2.
        top = tau - 1 + math.ceil(_paper_approximate(m, scale, delta))
    else:
        top = tau - 1 + calibration.smallest_excess(scale, calibration.each_of(calibration.decimal(delta), m))
    return _check_setting(Setting(m=m, scale=scale, tau=tau, top=max(top, tau), replace=replace))


def probabilistic(
    m: int, epsilon: float, delta: float, users: int, *, tau: int | None, paper: bool
) -> Setting:
    """Thresholds for probabilistic differential privacy, with tau chosen for the smallest second one."""
    scale = calibration.scale_for(2 * m, epsilon)

    def top(at: int) -> int:
        allowed = min(
            calibration.step(scale), calibration.decimal(Fraction(delta) * at / (Fraction(users) * m))
        )
        return at - 1 + calibration.smallest_excess(scale, allowed)

    if paper:
        tau = tau or math.ceil(scale)
        reached = math.ceil(paper_threshold(m, scale, users, delta, tau))
    else:
        tau = tau or _best_tau(top, scale, users * m / delta * float(calibration.step(scale)))
        reached = top(tau)
    return _check_setting(Setting(m=m, scale=scale, tau=tau, top=reached, replace=True))


def _best_tau(top: Any, scale: float, saturated: float) -> int:
    """The smallest tau with the smallest second threshold.

    Before rounding the threshold is convex in tau: it falls until tau is about the noise scale, or until delta
    is no longer what limits it, then rises. So the least value is near that point, and the first tau that
    attains it is found by bisection on the falling side.
    """
    turn = max(1, int(min(scale, saturated)))
    candidates = [at for at in range(turn - 2, turn + 4) if at >= 1]
    least = min(top(at) for at in candidates)
    low, high = 1, next(at for at in candidates if top(at) == least)
    while low < high:
        middle = (low + high) // 2
        if top(middle) <= least:
            high = middle
        else:
            low = middle + 1
    return low


def _check_setting(setting: Setting) -> Setting:
    """Refuse thresholds that no count can reach, where exact integers end."""
    if setting.top >= _MAX_THRESHOLD:
        raise UsageError(
            f"with these parameters only items of more than {setting.top:.3g} users would be published",
            "raise epsilon" + (" or lower max-items" if setting.m > 1 else ""),
        )
    return setting


# -- the paper's own figures, for continuous noise ------------------------------------------------------


def paper_threshold(m: int, scale: float, users: int, delta: float, tau: int) -> float:
    """Theorem 2's second threshold."""
    moved = -scale * math.log(2 * -math.expm1(-1 / scale))
    breached = -scale * (math.log(2) + math.log(delta) + math.log(tau) - math.log(users) - math.log(m))
    return tau + max(moved, breached)


def _paper_approximate(m: int, scale: float, delta: float) -> float:
    """The second threshold of the paper's table for indistinguishability."""
    return m - scale * (math.log(2) + math.log(delta) - math.log(m))


def paper(
    m: int,
    scale: float,
    users: int | None,
    *,
    delta: float | None,
    tau: int | None,
    second_threshold: float | None,
    approximate: bool = False,
) -> dict[str, Any]:
    """What the paper's formulas give for the same parameters."""
    tau = tau or (1 if second_threshold is not None or approximate else math.ceil(scale))
    shown: dict[str, Any] = {"noise_scale": scale, "threshold": tau}
    top = second_threshold
    if top is None and approximate and delta is not None:
        top = _paper_approximate(m, scale, delta)
    if top is None and users is not None and delta is not None:
        top = paper_threshold(m, scale, users, delta, tau)
    if top is not None:
        shown["second_threshold"] = top
        if users is not None:
            exponent = math.log(users) + math.log(m / (2 * tau)) - (top - tau) / scale
            shown["delta"] = 1.0 if exponent >= 0 else math.exp(exponent)
        shown["delta_indistinguishable"] = min(1.0, m / 2 * math.exp(min(700.0, (m - top) / scale)))
    return shown


def impossibility(users: int, m: int, frequent: int, epsilon: float) -> dict[str, Any]:
    """Corollary 1: the number of possible items beyond which no pure guarantee is better than publishing nothing.

    `frequent` is the paper's tau* + xi: from so many users on an item has to be output with a chance of `accuracy`.
    """
    exponent = epsilon * frequent
    bound = math.inf
    if exponent < 650:
        bound = users * m / frequent * (math.exp(exponent) / _ACCURACY + 1)
    return {
        "users": users,
        "frequent": frequent,
        "accuracy": _ACCURACY,
        "domain_bound": bound if math.isfinite(bound) else 1e300,
    }


def pure_is_impossible(m: int, epsilon: float) -> UsageError:
    """The refusal of delta 0, with Corollary 1's figure for a million users and items of 50 users."""
    known = impossibility(10**6, m, _FREQUENT, epsilon)
    return UsageError(
        "delta 0 asks for pure differential privacy, under which no useful histogram of searches exists: "
        f"once there are more than {known['domain_bound']:.3g} possible items, a method that outputs an item "
        f"of {known['frequent']} users with probability {known['accuracy']:g} is worse than publishing nothing "
        f"(for {known['users']:,} users)",
        "use a delta above 0, well below one over the number of users",
    )
