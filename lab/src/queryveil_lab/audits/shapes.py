"""The library of shapes: neighbouring worlds that are built to hurt, from what a mechanism declares.

Each shape is a function of the terrain, which says what one user may add and how many users an item needs. A new shape
is one function and one line in `SHAPES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.worlds import Family, Pair, World, neighbouring

_MOST_WATCHED = 12
"""Items of one target that are watched; what more of them would show, these show too."""
_MOST_CELLS = 12
_BY_CHANCE = 2


@dataclass(frozen=True, kw_only=True)
class Terrain:
    """What is known of a table before its logs are built."""

    claim: Claim
    most: int
    """Items, or occurrences of items, that one user may add."""
    repeated: bool
    """Whether all of them may be of one item."""
    least: int
    """Users that an item needs before noise."""
    even: int
    """About so many users give an item an even chance."""
    safe: int
    """So many users make it as good as certain."""

    @property
    def some(self) -> int:
        """Items of one target."""
        return min(self.most, _MOST_WATCHED)


def items(number: int, kind: str = "") -> str:
    return f"{number} {kind}item" + ("" if number == 1 else "s")


def new_items(on: Terrain) -> Iterator[Pair]:
    """Nobody else has any of the target's items. None of them may be published, but for delta."""
    number = on.some
    mine, yours = tuple(range(number)), tuple(range(number, 2 * number))
    base = (0,) * (2 * number if on.claim.replaces else number)
    yield neighbouring(
        on.claim,
        "new items",
        f"{items(number)} that nobody else has",
        base,
        mine,
        there=yours,
        new=mine,
    )
    if number > 1:
        yield neighbouring(
            on.claim, "one new item", "one item that nobody else has", (0, 0), (0,), there=(1,), new=(0,)
        )


def one_item(on: Terrain) -> Iterator[Pair]:
    """All that the target may add goes to one item."""
    if not on.repeated:
        return
    history = (0,) * on.some
    for users, where in (
        (0, "that nobody else has"),
        (on.even, "at the threshold"),
        (on.safe, "of many users"),
    ):
        yield neighbouring(
            on.claim,
            "one item, again and again",
            f"one item {where}, {len(history)} times",
            (users, users),
            history,
            there=(1,) * on.some,
            new=(0,) if users == 0 else (),
        )


def shared_items(on: Terrain) -> Iterator[Pair]:
    """The target has what many others have: counts move by one, near the threshold or far above it."""
    for users, shape in ((on.even, "at the threshold"), (on.safe, "popular items")):
        for number in dict.fromkeys((1, on.some)):
            mine, yours = tuple(range(number)), tuple(range(number, 2 * number))
            base = (users,) * (2 * number if on.claim.replaces else number)
            words = f"{items(number)} of {users:,} other users"
            yield neighbouring(on.claim, shape, words, base, mine, there=yours)


def first_threshold(on: Terrain) -> Iterator[Pair]:
    """One user more brings items to the first threshold: below it nothing may be published."""
    if on.least < 2:
        return
    number = on.some
    mine, yours = tuple(range(number)), tuple(range(number, 2 * number))
    base = (on.least - 1,) * (2 * number if on.claim.replaces else number)
    yield neighbouring(
        on.claim,
        "at the first threshold",
        f"{items(number)} of {on.least - 1:,} other users",
        base,
        mine,
        there=yours,
        new=mine,
    )


def heavy_user(on: Terrain) -> Iterator[Pair]:
    """The target has far more than she may add."""
    number = min(2 * on.most + 2, 2 * _MOST_WATCHED)
    if number <= on.most:
        return
    for users in (on.even, on.safe):
        yield neighbouring(
            on.claim,
            "heavy user",
            f"{number} items of {users:,} other users, where {on.most:,} may count",
            (users,) * number,
            tuple(range(number)),
        )


def swing(on: Terrain) -> Iterator[Pair]:
    """Many users have more than they may add, among it A and B. The target decides which of the two is more popular."""
    fillers = tuple(range(2, 1 + on.most)) if on.most <= _MOST_WATCHED else ()
    if on.most > _MOST_WATCHED:
        return
    crowd = 3 * on.safe
    base = (0, 0, *(on.safe for _ in fillers))
    yield neighbouring(
        on.claim,
        "swing",
        f"{crowd:,} users have both A and B and may add one; the target has B alone",
        base,
        (1,),
        there=(0,),
        others=((crowd, (*fillers, 0, 1)),),
    )


def tie(on: Terrain) -> Iterator[Pair]:
    """Two items have equally many users, but for the target."""
    yield neighbouring(
        on.claim, "tie", f"two items of {on.safe:,} users each", (on.safe, on.safe), (1,), there=(0,)
    )


def empty_history(on: Terrain) -> Iterator[Pair]:
    """The target is in the log and has no item, or has all that she may add."""
    number = on.some
    base = (on.safe,) * number
    if on.claim.replaces:
        yield neighbouring(
            on.claim, "empty history", f"{items(number, 'popular ')}, or none", base, tuple(range(number))
        )
    else:
        yield neighbouring(on.claim, "empty history", "a user without any item", base, ())


Shape = Callable[[Terrain], Iterator[Pair]]
SHAPES: tuple[Shape, ...] = (
    new_items,
    one_item,
    shared_items,
    first_threshold,
    heavy_user,
    swing,
    tie,
    empty_history,
)
"""All shapes. A new one is one line here."""


def by_chance(on: Terrain, seed: int) -> Iterator[Pair]:
    """Worlds that chance puts together, the same for the same seed; chance has no part in any noise."""
    chance = np.random.default_rng(seed)
    number = min(2 * on.some, 6)
    for _ in range(_BY_CHANCE):
        base = tuple(chance.integers(0, on.safe + 1, number).tolist())
        here, there = (tuple(chance.permutation(number)[: on.some].tolist()) for _ in range(2))
        yield neighbouring(
            on.claim,
            "by chance",
            f"{number} items with {', '.join(map(str, base))} other users",
            base,
            here,
            there=there,
        )


def pairs(on: Terrain, seed: int = 0) -> list[Pair]:
    """Every pair of neighbouring worlds for a table; the seed decides those that chance puts together."""
    return [*(pair for shape in SHAPES for pair in shape(on)), *by_chance(on, seed)]


def family(on: Terrain, users: int) -> Family:
    """As many items as a log of so many users can have at the first threshold; each neighbour takes a user from one.

    Under the neighbour that item cannot be published: if it is, the loss is infinite, and delta must pay for it.
    """
    number = max(1, min(_MOST_CELLS, users * on.most // on.least))
    base = (on.least - 1,) * number
    everyone = tuple((1, (item,)) for item in range(number))
    centre = World(base=base, others=everyone)
    neighbours = tuple(
        World(
            base=base, others=tuple((0 if item == gone else 1, (item,)) for item in range(number)), target=()
        )
        for gone in range(number)
    )
    return Family(
        shape="all at the first threshold",
        words=f"{number} items of exactly {on.least:,} users, one of whom goes",
        centre=centre,
        neighbours=neighbours,
    )
