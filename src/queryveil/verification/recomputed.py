"""What noise and thresholds are worth, computed anew from the formulas of the proofs.

This is a second computation on purpose: it shares no line with the one that made the release, so that an error in
either shows. With q = e^(-1/scale), one user who can move all counts together by s, a single count by c, and m rows of
the log, and with p_k the chance that a row of k users is published:

    rows that are public        epsilon = s/scale                  delta = 0
    rows of the log             epsilon = s/scale                  delta = max(1 - (1 - p_1)^m, p_c)
    the same, probabilistic     epsilon = s max(1/scale, L)        delta = U m p/tau
    the same, optimal selection epsilon = s/scale                  delta = 1 - (1 - d)^s

A public list among the rows of the log changes none of this: its rows have the same noise, searched for or not, and s
and m bound one user over listed and other rows together. Only rows off the list can cost delta.

There p_1 is taken at the first threshold, and c above 1 only where there is none. For probabilistic privacy p is the
chance of a row of tau users, L = -ln(1 - p), and U the public number of users. The delta of one count is d. The
proofs are in docs/proofs/zealous.md, click-graph.md and truncated-geometric.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

_CONTEXT = Context(prec=100, Emin=MIN_EMIN, Emax=MAX_EMAX)
_EXACT = Context(prec=1_200, Emin=MIN_EMIN, Emax=MAX_EMAX)
"""Enough digits for every float times an integer."""
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


def of_draw(draw: Mapping[str, Any], *, probabilistic: bool) -> Worth:
    """What a draw of discrete Laplace noise is worth, as a manifest declares it."""
    with localcontext(_CONTEXT):
        epsilon = _units_over_scale(draw["sensitivity"], draw["scale"])
        if draw["rows"] != "log":
            return Worth(epsilon, Decimal(0))
        p = published(draw["scale"], draw["above"] + 1 - draw["at_least"])
        if probabilistic:
            loss = draw["sensitivity"] * _selection_loss(p)
            delta = p * draw["users"] * draw["most"] / draw["at_least"]
            return Worth(max(epsilon, loss), min(Decimal(1), delta))
        # Below, the difference of nearly equal numbers is replaced by an upper bound that is as good.
        most = draw["most"]
        spread = p * most if p * most < _TINY else 1 - (1 - p) ** most
        return Worth(epsilon, max(spread, published(draw["scale"], draw["above"] + 1 - draw["copies"])))


def of_selection(draw: Mapping[str, Any]) -> Worth:
    """Return the cost of optimal selection noise: its law is fixed by the scale and the delta of one count."""
    counts, each = int(draw["sensitivity"]), Decimal(draw["item_delta"])
    with localcontext(_EXACT):
        delta = each * counts
    with localcontext(_CONTEXT):
        # Below, the difference of nearly equal numbers is replaced by an upper bound that is as good.
        if counts > 1 and delta >= _TINY:
            delta = 1 - (1 - each) ** counts
        return Worth(_units_over_scale(counts, draw["scale"]), min(Decimal(1), delta))


def even_chance(scale: float, delta: float) -> int:
    """Return the fewest users with an optimal release probability of 1/2 or more.

    Up to the first n at which it exceeds (1 - delta)/(e^epsilon + 1), the probability is
    delta (e^(n epsilon) - 1)/(e^epsilon - 1), and one user later it exceeds 1/2.
    """
    with localcontext(_CONTEXT):
        loss, each = _units_over_scale(1, scale), Decimal(delta)
        # Divided by e^epsilon, which may exceed every number.
        shrink = (-loss).exp()
        ratio = (1 - shrink + 2 * each * shrink) / (each * (1 + shrink))
        users = int((ratio.ln() / loss).to_integral_value(ROUND_FLOOR)) + 1
        rising = each * ((users - 1) * loss).exp() * (1 - (-users * loss).exp()) / (1 - shrink)
        return users if 2 * rising >= 1 else users + 1


def published(scale: float, needed: int) -> Decimal:
    """P[noise >= needed]."""
    with localcontext(_CONTEXT):
        one_more = 1 + (-_units_over_scale(1, scale)).exp()
        if needed >= 0:
            return (-_units_over_scale(needed, scale)).exp() / one_more
        return 1 - (-_units_over_scale(1 - needed, scale)).exp() / one_more


def at_least(stated: float, needed: Decimal, *, is_sum: bool) -> bool:
    """Exact for a single figure; a sum may be short by its rounding."""
    with localcontext(_CONTEXT):
        return Decimal(stated) * (_ROUNDED_SUM if is_sum else 1) >= needed


def _units_over_scale(units: float, scale: float) -> Decimal:
    ratio = Fraction(units) / Fraction(scale)
    return Decimal(ratio.numerator) / Decimal(ratio.denominator)


def _selection_loss(p: Decimal) -> Decimal:
    return p * (1 + p) if p < _TINY else -(1 - p).ln()
