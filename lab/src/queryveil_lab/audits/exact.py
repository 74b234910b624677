"""Small cases whose output distribution is computed, not sampled: then a bound is a proof.

Counts of different items have noise of their own, so that the output of a pair of worlds is a product, and items with
equal counts in both tell nothing. Outcomes that are equally telling are put together, which can only lower a bound.
Everything is computed with 60 decimal digits. Statement and proof: docs/proofs/audit.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from queryveil.extension import DISCRETE_LAPLACE, LOG, SELECTION, Draw
from queryveil.privacy import calibration
from queryveil.privacy.selection_noise import noise_of
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.trials import ENUMERATED, AuditFinding
from queryveil_lab.audits.worlds import Family, Pair, World

_CONTEXT = Context(prec=60, Emin=-(10**12), Emax=10**12)
_SLACK = Decimal("1e-30")
"""Far more than 60 digits lose, and far less than anyone would call a violation."""
_MOST_VALUES = 4000
_MOST_CLASSES = 20_000
_SAME = 35
"""Digits by which ratios are the same."""

Class = tuple[Decimal, Decimal]
"""The probability of some outcomes under each of two logs."""


def possible(draw: Draw) -> bool:
    """Whether the outputs of a draw can be gone through."""
    known = draw.distribution in (DISCRETE_LAPLACE, SELECTION) and draw.scale is not None
    noise = noise_of(draw)
    return known and (noise is None or noise.limit <= _MOST_VALUES)


def finding(draw: Draw, pair: Pair, claim: Claim, times: int = 1) -> AuditFinding | None:
    """What one pair of worlds proves about a draw that is made so many times; None if it has too many outputs."""
    with localcontext(_CONTEXT):
        classes = outputs(draw, pair.first, pair.second, times)
        if classes is None:
            return None
        plain = claim.indistinguishable
        both = (classes, [(b, a) for a, b in classes])
        epsilon = max(smallest_epsilon(one, Decimal(plain.delta)) for one in both)
        delta = max(delta_at(one, Decimal(plain.epsilon)) for one in both)
        return AuditFinding(
            shape=pair.shape,
            words=pair.words,
            of=draw.of,
            runner="step",
            how=ENUMERATED,
            runs=0,
            claim=claim,
            event=f"all outputs, in {len(classes):,} classes",
            epsilon=float(epsilon),
            delta=float(delta),
            refutes=delta > Decimal(plain.delta) * (1 + _SLACK) + _SLACK,
            points=tuple(_trade_off_curve(both)),
        )


def of_family(draw: Draw, family: Family, claim: Claim) -> AuditFinding | None:
    """Under probabilistic privacy: the probability that something is published that some neighbour cannot publish."""
    if draw.at_least is None or draw.above is None or draw.scale is None or draw.item_delta is not None:
        return None
    counts = family.centre.counts(draw.most, repeated=draw.copies > 1).tolist()
    others = [one.counts(draw.most, repeated=draw.copies > 1).tolist() for one in family.neighbours]
    with localcontext(_CONTEXT):
        kept_back = Decimal(1)
        for item, count in enumerate(counts):
            impossible = any(one[item] < draw.at_least for one in others)
            if count >= draw.at_least and impossible:
                kept_back *= 1 - calibration.tail(draw.scale, draw.above + 1 - count)
        delta = 1 - kept_back
        return AuditFinding(
            shape=family.shape,
            words=family.words,
            of=draw.of,
            runner="step",
            how=ENUMERATED,
            runs=0,
            claim=claim,
            event="something is published that is impossible under a neighbour",
            epsilon=0.0,
            delta=float(delta),
            refutes=delta > Decimal(claim.delta) * (1 + _SLACK) + _SLACK,
        )


def outputs(draw: Draw, first: World, second: World, times: int = 1) -> list[Class] | None:
    """All outputs of so many independent draws, in classes of equally telling ones."""
    here, there = (one.counts(draw.most, repeated=draw.copies > 1).tolist() for one in (first, second))
    together: list[Class] = [(Decimal(1), Decimal(1))]
    for a, b in list(zip(here, there, strict=True)) * times:
        if a == b:
            continue
        own = list(_merge_classes(_item_outputs(draw, a, b)))
        together = list(_merge_classes((p * r, q * s) for p, q in together for r, s in own))
        if len(together) > _MOST_CLASSES:
            return None
    return together


def _item_outputs(draw: Draw, a: int, b: int) -> Iterator[Class]:
    """The outputs of one item with a and b users: each published count, and none."""
    if draw.rows == LOG and draw.above is not None and draw.at_least is not None:
        lowest, least = draw.above + 1, draw.at_least
    else:
        # Every count is published: below this one all are equally telling.
        lowest, least = min(a, b), 0
    noise = noise_of(draw)
    highest = max(a, b) + (0 if noise is None else noise.largest)
    published = [count >= max(least, 1 if draw.rows == LOG else 0) for count in (a, b)]

    def share(count: int, there: bool, low: int, high: int | None) -> Decimal:
        """P[low <= count + noise < high]."""
        if not there:
            return Decimal(0)
        return _noise_tail(draw, low - count) - (_noise_tail(draw, high - count) if high is not None else 0)

    yield (
        1 - share(a, published[0], lowest, None),
        1 - share(b, published[1], lowest, None),
    )
    for value in range(lowest, highest + 1):
        yield share(a, published[0], value, value + 1), share(b, published[1], value, value + 1)
    top = max(lowest, highest + 1)
    yield share(a, published[0], top, None), share(b, published[1], top, None)


def _noise_tail(draw: Draw, at: int) -> Decimal:
    """P[noise >= at]."""
    if draw.scale is None:
        raise TypeError(f"the draw for {draw.of} has no scale")
    noise = noise_of(draw)
    return calibration.tail(draw.scale, at) if noise is None else calibration.decimal(noise.tail(at))


def _merge_classes(classes: Iterator[Class] | list[Class]) -> Iterator[Class]:
    """Outcomes with the same ratio, put together."""
    sums: dict[str, Class] = {}
    for p, q in classes:
        if p <= 0 and q <= 0:
            continue
        ratio = f"{(p / q):.{_SAME}e}" if p > 0 and q > 0 else ("first" if p > 0 else "second")
        a, b = sums.get(ratio, (Decimal(0), Decimal(0)))
        sums[ratio] = a + max(p, Decimal(0)), b + max(q, Decimal(0))
    yield from sums.values()


def delta_at(classes: list[Class], epsilon: Decimal) -> Decimal:
    """The smallest delta that holds at an epsilon: what the most telling event has above it."""
    factor = epsilon.exp()
    return sum((p - factor * q for p, q in classes if p > factor * q), Decimal(0))


def smallest_epsilon(classes: list[Class], delta: Decimal) -> Decimal:
    """The smallest epsilon that holds at a delta, rounded down; infinite if none does."""
    if sum((p for p, q in classes if q <= 0), Decimal(0)) > delta * (1 + _SLACK):
        return Decimal("Infinity")
    if delta_at(classes, Decimal(0)) <= delta:
        return Decimal(0)
    # Between two ratios delta falls as a straight line of e^epsilon: find the line, then where it crosses.
    ordered = sorted(((p, q) for p, q in classes if q > 0), key=lambda one: one[0] / one[1], reverse=True)
    above = sum((p for p, q in classes if q <= 0), Decimal(0)) - delta
    below = Decimal(0)
    best = Decimal(0)
    for p, q in ordered:
        above, below = above + p, below + q
        if above > 0:
            best = max(best, above / below)
    return max(Decimal(0), best.ln()) if best > 0 else Decimal(0)


def _trade_off_curve(both: tuple[list[Class], list[Class]]) -> Iterator[tuple[float, float]]:
    """Points of the trade-off: the most telling events, one after another."""
    for classes in both:
        ordered = sorted(classes, key=lambda one: one[0] / one[1] if one[1] > 0 else Decimal("Infinity"))
        p = q = Decimal(0)
        for a, b in reversed(ordered):
            p, q = p + a, q + b
            yield float(p), float(q)


def largest_ratio(first: list[int], second: list[int]) -> Fraction:
    """The largest ratio of probabilities of one output, from whole weights of all outputs under two inputs."""
    totals = sum(first), sum(second)
    worst = Fraction(1)
    for a, b in set(zip(first, second, strict=True)):
        if (a == 0) != (b == 0):
            return Fraction(10**9)
        if a:
            ratio = Fraction(a, totals[0]) / Fraction(b, totals[1])
            worst = max(worst, ratio, 1 / ratio)
    return worst


def log_of(ratio: Fraction) -> float:
    """The logarithm of a ratio, which may be larger than a float."""
    return math.log(ratio.numerator) - math.log(ratio.denominator)
