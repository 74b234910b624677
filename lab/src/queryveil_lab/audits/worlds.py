"""Neighbouring logs as small worlds: who has which item, before any item is a text and any user a row.

A world is one log, without its bystanders: items are numbers, and one person of it is the target, whose history
makes the difference between neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from queryveil_lab.audits.claims import Claim

History = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class World:
    """One log: for each item so many users who have nothing else, others with longer histories, and the target."""

    base: tuple[int, ...]
    others: tuple[tuple[int, History], ...] = ()
    """How many users have which history."""
    target: History | None = None
    """None: not in the log. An empty one: in it, without any item."""

    @property
    def items(self) -> int:
        return len(self.base)

    @property
    def users(self) -> int:
        crowd = sum(self.base) + sum(number for number, _ in self.others)
        return crowd + (self.target is not None)

    def histories(self) -> Iterator[History]:
        """Everyone's, the target's last."""
        for item, number in enumerate(self.base):
            for _ in range(number):
                yield (item,)
        for number, history in self.others:
            for _ in range(number):
                yield history
        if self.target is not None:
            yield self.target

    def counts(self, most: int | None, *, repeated: bool) -> npt.NDArray[np.int64]:
        """Users, or occurrences, of each item, if of each history the first so many count."""
        found = np.array(self.base, dtype=np.int64)
        crowd = [*self.others, *([(1, self.target)] if self.target is not None else [])]
        for number, history in crowd:
            for item in bounded(history, most, repeated=repeated):
                found[item] += number
        return found


def bounded(history: History, most: int | None, *, repeated: bool) -> History:
    """The first so many items of a history: each once, or as often as it comes."""
    kept = history if repeated else tuple(dict.fromkeys(history))
    return kept if most is None else kept[:most]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two neighbouring worlds, and what makes them hurt."""

    shape: str
    words: str
    first: World
    second: World
    new: tuple[int, ...] = ()
    """Items that nobody but the target has: whether any of them is published is tested as it is."""

    @property
    def items(self) -> int:
        return self.first.items

    @property
    def sides(self) -> tuple[World, World]:
        return self.first, self.second


@dataclass(frozen=True, kw_only=True)
class Family:
    """A world with several neighbours, for probabilistic privacy: each neighbour makes an output impossible."""

    shape: str
    words: str
    centre: World
    neighbours: tuple[World, ...] = field(default=())


def neighbouring(
    claim: Claim,
    shape: str,
    words: str,
    base: tuple[int, ...],
    here: History,
    *,
    there: History | None = None,
    others: tuple[tuple[int, History], ...] = (),
    new: tuple[int, ...] = (),
) -> Pair:
    """A target with the history `here`, and the same log without her, or with `there` instead of it."""
    away: History | None = (there or ()) if claim.replaces else None
    return Pair(
        shape=shape,
        words=words,
        first=World(base=base, others=others, target=here),
        second=World(base=base, others=others, target=away),
        new=new,
    )
