"""How much a pair of epsilon and delta lets a reader learn, in figures and in words.

Epsilon alone says nothing: with a delta of 0.04, one user in 25 may be published as a whole at any epsilon. What is
said here comes from both; docs/decisions/0013-delta.md has the reasons, docs/proofs/composition.md the bound.
"""

from __future__ import annotations

import math

MOST_DELTA = 1e-3
"""A delta from here on is too large where the number of users is not public."""
_MUCH_DELTA = 1e-2
"""A delta from here on is too large for any number of users: one in a hundred may be exposed."""

STRONG, MODERATE = (0.751, 0.051), (0.901, 0.201)
"""How often a guess between two equally likely histories may be right, and what a suspicion of 1 % may become.

For pure guarantees the first decides. A Gaussian one may leave few guesses right and still, now and then, raise a
suspicion far: then the second decides.
"""
_AMOUNTS = (((0.551, 0.021), "almost-nothing"), (STRONG, "little"), (MODERATE, "limited"))


def guessed_right(epsilon: float, delta: float) -> float:
    """How often, at the most, a guess between two equally likely neighbours is right."""
    return 0.5 + min(1.0, math.tanh(epsilon / 2) + 2 * delta / (math.exp(min(epsilon, 700)) + 1)) / 2


def within(limits: tuple[float, float], right: float, suspected: float) -> bool:
    """Whether guesses are `right` that often at most, and a suspicion of 1 % becomes what is `suspected` at most."""
    return right <= limits[0] and suspected <= limits[1]


def amount(right: float, suspected: float, delta: float | None, *, too_large: bool) -> str:
    """How much a reader learns, as the name of a sentence: by guesses and suspicions, unless delta allows more."""
    if too_large:  # the sentence about delta follows
        return "everything"
    if voids(delta):
        return "void"
    return next((name for limits, name in _AMOUNTS if within(limits, right, suspected)), "weak")


def delta_limit(users: int | None, *, told: bool) -> float:
    """The delta from which on a promise is void: publishing some users' histories as they are would keep it.

    One in the number of users; where readers are not told that number, a thousandth at the most.
    """
    by_users = 1 / users if users else 1.0
    return by_users if told and users else min(MOST_DELTA, by_users)


def voids(delta: float | None) -> bool:
    """Whether a delta is too large whatever the number of users."""
    return (delta or 0) >= _MUCH_DELTA


def rise(epsilon: float, delta: float, fails: float) -> float:
    """The logarithm of what odds rise by under approximate privacy, but for a chance: docs/proofs/composition.md."""
    return epsilon - math.log1p(-delta / fails) if delta < fails else math.inf


def before_to_after(prior: float, epsilon: float) -> float:
    """The most that a prior probability can become once the release is read."""
    if epsilon > 700:
        return 1.0
    return prior * math.exp(epsilon) / (1 - prior + prior * math.exp(epsilon))
