"""The arithmetic of Release-Data: thresholds, epsilon and delta. Proofs: docs/proofs/click-graph.md.

An item that nobody else has, held k times by one user, is published with probability p_k = P[k + X > K]. One
user splits d occurrences over items as she likes; the worst splits are all on one item and one on each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from queryveil.errors import UsageError, argument
from queryveil.privacy import calibration

_MAX_THRESHOLD = 2**53
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True)
class Setting:
    """A noisy threshold on items that are not public, and what it promises when a user is added or removed."""

    d: int
    """Occurrences that one user may add."""
    scale: float
    top: int
    """Published above this noisy count (K)."""
    once: bool = False
    """A user counts once per item, however often she had it."""

    def p(self, copies: int) -> Decimal:
        """Return the chance that an item is published that one user alone has, so many times."""
        return calibration.tail(self.scale, self.top + 1 - copies)

    @property
    def epsilon(self) -> float:
        return calibration.up(calibration.decimal(Fraction(self.d) / Fraction(self.scale)))

    @property
    def delta(self) -> float:
        """Exact: no smaller one holds."""
        spread = calibration.any_of(self.p(1), self.d)
        return min(1.0, calibration.up(spread if self.once else max(spread, self.p(self.d))))

    @property
    def spread(self) -> float:
        """Standard deviation of the noise, nearly."""
        return self.scale * math.sqrt(2)

    def as_dict(self) -> dict[str, Any]:
        return {
            "noise_scale": self.scale,
            "threshold": self.top,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "count_for_half": self.top + 1,
            "count_for_99_percent": self.top + calibration.smallest_excess(self.scale, Decimal("0.01")),
        }


def tight_setting(d: int, epsilon: float, delta: float, *, once: bool, bound: str = "max-queries") -> Setting:
    """Return the setting with the smallest threshold under which delta holds."""
    scale = calibration.scale_for(d, epsilon, bound)
    top = calibration.smallest_excess(scale, calibration.each_of(calibration.decimal(delta), d))
    if not once:
        top = max(top, d - 1 + calibration.smallest_excess(scale, calibration.decimal(delta)))
    return _refuse_unreachable(Setting(d=d, scale=scale, top=top, once=once), bound)


def paper_setting(d: int, epsilon: float, delta: float, *, once: bool) -> Setting:
    """Return the setting of the paper for continuous noise, rounded up: enough for ours, and higher than needed."""
    threshold = paper_threshold(d, epsilon, delta)
    if threshold < d:
        raise UsageError(
            f"the paper's theorem needs a threshold of at least d = {d}, and these parameters give {threshold:.4g}",
            f"lower delta, or use {argument('analysis', 'tight')}",
        )
    setting = Setting(
        d=d, scale=calibration.scale_for(d, epsilon, "max-queries"), top=math.ceil(threshold), once=once
    )
    while setting.delta > delta:  # the proof leaves room; rounding of doubles must not use it up
        setting = replace(setting, top=setting.top + 1)
    return _refuse_unreachable(setting, "max-queries")


def given_setting(d: int, scale: float, threshold: float, *, once: bool, by_paper: bool) -> Setting:
    """Return noise and threshold as they were chosen; refuse those that leave no delta below a half."""
    if by_paper and threshold < d:
        raise UsageError(
            f"the paper's theorem needs a threshold of at least d = {d}; got {threshold:g}: below it, a query that "
            "one user alone makes d times is published more often than not",
            f"raise {argument('threshold')}, lower {argument('max_queries')}, or use "
            f"{argument('analysis', 'tight')} with {argument('count_by', 'users')}",
        )
    setting = Setting(d=d, scale=scale, top=calibration.floor(threshold), once=once)
    least = 1 if once else d
    if setting.top < least:
        raise UsageError(
            f"with a threshold below {least} a query that one user alone makes is published more often than not",
            f"raise {argument('threshold')} or lower {argument('max_queries')}",
        )
    return _refuse_unreachable(setting, "max-queries")


def _refuse_unreachable(setting: Setting, bound: str) -> Setting:
    """Refuse thresholds that no count can reach, where exact integers end."""
    if setting.top >= _MAX_THRESHOLD:
        raise UsageError(
            f"with these parameters only counts above {setting.top:.3g} would be published",
            f"raise epsilon or lower {bound}",
        )
    return setting


# -- the paper's own figures, for continuous noise -----------------------------------------------------------


def paper_threshold(d: int, epsilon: float, delta: float) -> float:
    """Return the optimal K: d (1 - ln(2 delta/d)/epsilon)."""
    return d * (1 - math.log(2 * delta / d) / epsilon)


def theorem1(d: int, scale: float, threshold: float, *, more: float = 0.0) -> dict[str, Any]:
    """Return alpha, epsilon, and delta of the paper's Theorem 1; `more` is what the other tables cost."""
    shown: dict[str, Any] = {"noise_scale": scale, "threshold": threshold}
    if threshold < d:
        return shown  # the theorem says nothing
    exponent = min(_LARGEST_EXPONENT, (threshold - 1) / scale)
    log_alpha = max(1 / scale, math.log1p(1 / (2 * math.exp(exponent) - 1)))
    if log_alpha < _LARGEST_EXPONENT:
        shown["alpha"] = math.exp(log_alpha)
    shown["epsilon"] = d * log_alpha + more
    shown["delta"] = min(1.0, d / 2 * math.exp((d - threshold) / scale))
    return shown
