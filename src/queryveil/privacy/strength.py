"""How much a pair of epsilon and delta lets a reader learn, in figures and in words.

Epsilon alone says nothing: with a delta of 0.04, one user in 25 may be published as a whole at any epsilon. What is
said here comes from both; docs/decisions/0013-delta.md has the reasons, docs/proofs/composition.md the bound.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal

MOST_DELTA = 1e-3
"""A delta from here on is too large where the number of users is not public."""
_MUCH_DELTA = 1e-2
"""A delta from here on is too large for any number of users: one in a hundred may be exposed."""

# Guessing right which of two equally likely histories it was: so many times in 100 at the most.
_AMOUNTS = ((0.551, "almost nothing"), (0.751, "little"), (0.901, "a limited amount"))


def guessed_right(epsilon: float, delta: float) -> float:
    """How often, at the most, a guess between two equally likely neighbours is right."""
    return 0.5 + min(1.0, math.tanh(epsilon / 2) + 2 * delta / (math.exp(min(epsilon, 700)) + 1)) / 2


def amount(epsilon: float, delta: float, *, too_large: bool) -> str:
    """What a reader learns of one person, in words: the weaker of what epsilon and delta allow."""
    if too_large or delta >= _MUCH_DELTA:
        return "possibly everything (delta is too large)"
    right = guessed_right(epsilon, delta)
    for most, words in _AMOUNTS:
        if right <= most:
            return words
    return "possibly much (this is a weak guarantee)"


def delta_limit(users: int | None, *, told: bool) -> float:
    """The delta from which on a promise is void: publishing some users' histories as they are would keep it.

    One in the number of users; where readers are not told that number, a thousandth at the most.
    """
    by_users = 1 / users if users else 1.0
    return by_users if told and users else min(MOST_DELTA, by_users)


def voids(delta: float | None) -> bool:
    """Whether a delta is too large whatever the number of users."""
    return (delta or 0) >= _MUCH_DELTA


def odds(probability: float) -> str:
    """A probability as people say it, never rounded down: 1 in 37, 74 in 100, or near certainty."""
    if probability > 0.99:
        return "near certainty"
    if probability > 0.2:
        return f"{math.ceil(100 * probability)} in 100"
    return f"1 in {math.floor(1 / probability)}"


def of_hundred(probability: float) -> str:
    """A percentage, never rounded down; near 100 with as many digits as it needs not to look certain."""
    exact = Decimal(min(1.0, probability)) * 100
    for digits in range(6):
        shown = exact.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)
        if shown < 100:
            break
    return f"{shown.normalize():f}"
