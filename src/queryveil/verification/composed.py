"""Whether a guarantee over several equal releases is too strong: computed anew, from the guarantee and draws of one.

Gaussian releases go by their curve. Others go by sums or by coins: a release of (epsilon, delta), or a count that one
user moves, is a coin of known bias. How many of n equal coins show one side has a binomial distribution, and with it
the delta of all together is a finite sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from queryveil.catalog import Sentence
from queryveil.verification import gaussian, recomputed

_SLACK = 1e-9
"""What floating-point sums may be off by, in parts of a figure."""
_MERGED = 1e-4
"""Losses of different coins are rounded up to multiples of this part of their sum, so that few remain."""


def findings(
    one: Mapping[str, Any], draws: Sequence[Mapping[str, Any]], whole: Mapping[str, Any], times: int
) -> Iterator[str]:
    """What is wrong with the guarantee `whole` of so many releases, each of which has the guarantee `one`."""
    for name in ("unit", "neighbours"):
        if one.get(name) != whole.get(name):
            yield Sentence("verify.composed.guarantee-over-series-has-another", name=name)
    if times == 1 and {**whole, "caveats": 0, "delta_too_large": 0} != {
        **one,
        "caveats": 0,
        "delta_too_large": 0,
    }:
        yield Sentence("verify.composed.guarantee-over-series-of-one-period")
    kinds = (one.get("kind"), whole.get("kind"))
    if kinds == ("gaussian-dp", "gaussian-dp"):
        yield from _gaussian_problems(one, whole, times)
        return
    if kinds[1] not in (kinds[0], "approximate-dp") or kinds[0] not in (
        "pure-dp",
        "probabilistic-dp",
        "approximate-dp",
    ):
        yield Sentence("verify.composed.guarantee-over-series-is-of-kind")
        return
    if not (
        _by_sums(one, whole, times) or (kinds[1] == "approximate-dp" and _by_coins(one, draws, whole, times))
    ):
        yield Sentence("verify.composed.epsilon-and-delta-over-series-are")


def _gaussian_problems(one: Mapping[str, Any], whole: Mapping[str, Any], times: int) -> Iterator[str]:
    square, p = times * Fraction(one["mu"]) ** 2, times * Fraction(one["p"])
    if Fraction(whole["mu"]) ** 2 < square or Fraction(whole["p"]) < p * (1 - Fraction(_SLACK)):
        yield Sentence("verify.composed.mu-or-p-over-series-is")
        return
    delta = gaussian.curve(Fraction(whole["mu"]) ** 2, Fraction(whole["epsilon"])) + Decimal(repr(whole["p"]))
    if delta > Decimal(repr(whole["delta"])) * Decimal(1 + _SLACK):
        yield Sentence("verify.composed.epsilon-over-series-is-smaller-than")


def _by_sums(one: Mapping[str, Any], whole: Mapping[str, Any], times: int) -> bool:
    def enough(name: str, most: Fraction | None = None) -> bool:
        needed = times * Fraction(repr(float(one[name])))
        needed = needed if most is None else min(most, needed)
        return Fraction(repr(float(whole[name]))) >= needed * (1 - Fraction(_SLACK))

    return enough("epsilon") and enough("delta", Fraction(1))


def _by_coins(
    one: Mapping[str, Any], draws: Sequence[Mapping[str, Any]], whole: Mapping[str, Any], times: int
) -> bool:
    epsilon, most = float(whole["epsilon"]), float(whole["delta"]) * (1 + _SLACK)
    implied = one.get("implies") or one
    plain = delta_of([(float(implied["epsilon"]), float(implied["delta"]), times)], epsilon)
    if plain <= most:
        return True
    coins, swapped = [], Decimal(0)
    for draw in draws:
        found = _moved_count(draw)
        if found is None:
            return False
        step, moved, p = found
        coins.append((step, 0.0, moved * times))
        swapped += times * p
    return bool(coins) and delta_of(coins, epsilon) + float(swapped) <= most


def _moved_count(draw: Mapping[str, Any]) -> tuple[float, int, Decimal] | None:
    """The bias of a count that one user moves, how many move, and how often a row passes that should not."""
    plain = draw["distribution"] == "discrete-laplace" and draw["norm"] == "l1" and draw["copies"] == 1
    if not plain or "weights" in draw or not draw.get("scale") or not draw.get("most"):
        return None
    replaced = draw["neighbours"] == "replace-one-user"
    moved = draw["most"] * (2 if replaced else 1)
    if draw["sensitivity"] != moved:
        return None
    p = Decimal(0)
    if draw["rows"] == "log":
        needed = draw["above"] + 1 - draw["at_least"]
        p = recomputed.published(draw["scale"], needed)
        p += recomputed.published(draw["scale"], needed + 1) if replaced else 0
    elif draw["rows"] not in ("public", "published"):
        return None
    return 1 / draw["scale"], moved, draw["most"] * p


def delta_of(coins: Sequence[tuple[float, float, int]], epsilon: float) -> float:
    """The delta at an epsilon of coins of (epsilon, delta), so many of each."""
    alive = math.exp(sum(times * math.log1p(-delta) for _, delta, times in coins))
    lost = -math.expm1(sum(times * math.log1p(-delta) for _, delta, times in coins))
    cell = _MERGED * sum(one * times for one, _, times in coins) / max(1, len(coins) - 1)
    losses = {0.0: 1.0}
    for place, (one, _, times) in enumerate(coins):
        merged: dict[float, float] = {}
        for loss, chance in _coin_losses(one, times):
            for before, weight in losses.items():
                at = before + loss
                at = at if place == 0 else math.ceil(at / cell) * cell
                merged[at] = merged.get(at, 0.0) + weight * chance
        losses = merged
    return lost + alive * math.fsum(
        chance * -math.expm1(epsilon - loss) for loss, chance in losses.items() if loss > epsilon
    )


def _coin_losses(one: float, times: int) -> Iterator[tuple[float, float]]:
    """How so many coins fall: their loss together, and its chance."""
    up, down = -math.log1p(math.exp(-one)), -math.log1p(math.exp(one))
    whole = math.lgamma(times + 1)
    for heads in range(times + 1):
        ways = whole - math.lgamma(heads + 1) - math.lgamma(times - heads + 1)
        yield one * (2 * heads - times), math.exp(ways + heads * up + (times - heads) * down)
