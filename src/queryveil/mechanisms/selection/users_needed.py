"""How many users an item needs for an even chance of being published, by method and epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable

from queryveil.catalog import Sentence
from queryveil.errors import CannotBeMet, QueryveilError
from queryveil.mechanisms.selection import gaussian_account, steering
from queryveil.mechanisms.selection.gaussian_account import Share
from queryveil.privacy import calibration
from queryveil.privacy.selection_noise import delta_of_each, selection_noise

_COUNTS, _ROUNDS, _ITEMS = 0.2, 8, 100
"""The defaults of steered."""


def smallest_epsilon(enough: Callable[[float], bool]) -> float | None:
    """Return the smallest epsilon, to three digits and rounded up, that is enough; None if no sensible one is."""
    low, high = gaussian_account.LEAST_EPSILON, gaussian_account.MOST_EPSILON
    if not enough(high):
        return None
    for _ in range(16):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    step = 10.0 ** (math.floor(math.log10(high)) - 2)
    return math.ceil(high / step) * step


def refuse_too_few(
    epsilon: float, users: int, needed: Callable[[float], int], noun: str = "an item that every user has"
) -> None:
    """Refuse an epsilon at which nothing can pass, with the smallest that could.

    `needed`: how many users an item needs for an even chance, by epsilon.
    """
    least = needed(epsilon)
    if least <= users:
        return
    enough = smallest_epsilon(lambda other: needed(other) <= users)
    way = "use a log with more users"
    raise CannotBeMet(
        f"nothing can be published with epsilon {epsilon:g}: even {noun} would need {least:,} users for an even "
        f"chance, and the log has {users:,}",
        way if enough is None else f"use an epsilon of at least {enough:g}, or a log with more users",
    )


def few_or_many_items(epsilon: float, delta: float, *, replace: bool) -> tuple[str, ...]:
    """Return what an item needs with few items per user and with many; nothing at extreme parameters.

    It follows from epsilon and delta alone. Which of the two a log calls for is public knowledge or a guess, never
    looked up in the log.
    """
    moves = 2 if replace else 1
    try:
        shares = (Share("items", 1 - _COUNTS, rounds=_ROUNDS, times=_ITEMS), Share("counts", _COUNTS, norm=2))
        account = gaussian_account.open_account(epsilon, delta, shares, replace=replace)
        many = steering.calibrate(account.noises[0]).users_for_half
        few = selection_noise(calibration.scale_for(moves, epsilon), delta_of_each(delta, moves)).even_chance
    except (QueryveilError, ArithmeticError):
        return ()
    return (Sentence("plan.few-or-many", few=few, many=many, items=_ITEMS),)
