"""Few items per user, or many: how many users an item needs by the method for each, in a sentence for curators.

It follows from epsilon and delta alone. Which of the two a log calls for is public knowledge or a guess, never looked
up in the log.
"""

from __future__ import annotations

from queryveil.errors import QueryveilError
from queryveil.mechanisms import gaussian_account
from queryveil.mechanisms.gaussian_account import Share
from queryveil.mechanisms.steered import theory as steered
from queryveil.mechanisms.truncated_geometric import theory as truncated

_COUNTS, _ROUNDS, _ITEMS = 0.2, 8, 100
"""The defaults of steered."""


def in_words(epsilon: float, delta: float, *, replace: bool) -> tuple[str, ...]:
    """What an item needs for an even chance, with few items per user and with many; nothing at extreme parameters."""
    try:
        shares = (Share("items", 1 - _COUNTS, rounds=_ROUNDS, times=_ITEMS), Share("counts", _COUNTS, norm=2))
        account = gaussian_account.opened(epsilon, delta, shares, replace=replace)
        many = steered.setting(account.noises[0]).users_for_half
        few = truncated.calibrate(1, epsilon, delta, replace=replace).noise.even_chance
    except (QueryveilError, ArithmeticError):
        return ()
    return (
        "Which method publishes more depends on how many items a user has. With truncated-geometric and one item per "
        f"user, an item that {few:,} users add has an even chance of being published. With steered and up to "
        f"{_ITEMS} items per user, it takes about {many:,} users who have hardly any other popular item. If users "
        "have fewer than about 2 items each, truncated-geometric publishes more. Decide from public knowledge, not "
        "from the log.",
    )
