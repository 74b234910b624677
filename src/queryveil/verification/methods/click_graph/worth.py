"""What the noise and thresholds of a click graph are worth, computed anew from the formulas of the proofs.

One user has d copies of queries to spread. A query that nobody else posed appears with probability
p_k = P[k + noise > K] if the user spent k copies on it. As -ln(1 - p_k) is convex in k, the worst spread is all
copies on one query, or one on each:

    epsilon = d/scale    delta = max(p_d, 1 - (1 - p_1)^d)

Where a user counts once per query, only the second can happen.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext

from queryveil.verification.recomputed import Setting, Worth

_CONTEXT = Context(prec=100, Emin=MIN_EMIN, Emax=MAX_EMAX)


def thresholded(most: int, scale: float, top: int, *, once: bool) -> Worth:
    """Items published above a threshold, of users with so many copies; `once`: at most one of each item."""
    spread = Setting(m=most, scale=scale, tau=1, top=top, replace=False).approximate()
    if once:
        return spread
    return Worth(spread.epsilon, max(spread.delta, chance(most, scale, top)))


def chance(count: int, scale: float, top: int) -> Decimal:
    """P[count + noise > top]: how likely an item of that count is published."""
    return Setting(m=1, scale=scale, tau=count, top=top, replace=False).approximate().delta


def paper_threshold(most: int, epsilon: float, delta: float) -> Decimal:
    """K = d (1 - ln(2 delta/d)/epsilon), the paper's optimum for continuous noise."""
    with localcontext(_CONTEXT):
        return most * (1 - (2 * Decimal(delta) / most).ln() / Decimal(epsilon))


def total(worths: list[Worth]) -> Worth:
    """Epsilons and deltas add."""
    added = worths[0]
    for one in worths[1:]:
        added = added + one
    return added
