"""Drawing concepts for users, some of them at a time, where the engine has their rows: here, or in Spark's workers.

What is sent to a worker is parameters, a taxonomy and where randomness comes from. That is the operating system's
generator, each worker's own: docs/proofs/noise.md says why no two of them can draw alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import pyarrow as pa

from queryveil.mechanisms.concept_profiles.domain import Choice
from queryveil.mechanisms.concept_profiles.phrases import TEXTS, Phrases, Tally, by_user, events, phrases_of
from queryveil.privacy.noise import Noise

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

_MOST_SLOTS = 2_000_000
"""Queries that are made up at once."""


class Replacing(Protocol):
    """A method that puts drawn concepts in the place of each user's own, whoever else is there."""

    @property
    def taxonomy(self) -> str | None: ...

    @property
    def slots(self) -> int | None:
        """How many queries every user has in the release; None if it is as many as she posed."""

    def choice(self) -> Choice:
        """The domains, and how concepts are drawn from them."""

    def replaced(self, found: Phrases, choice: Choice, noise: Noise, tally: Tally) -> Phrases:
        """Phrases with drawn concepts for the same users."""


@runtime_checkable
class OfUsers(Protocol):
    """Noise that hands out one of its own to each user.

    For tests: it does not matter where and together with whom a user's concepts are drawn. Nothing in this package
    makes one.
    """

    def of_user(self, name: str) -> Noise: ...


@dataclass(frozen=True)
class Drawn:
    """What was drawn for some users. Their names are for the curator alone."""

    names: pa.StringArray
    phrases: Phrases
    tally: Tally


@dataclass(frozen=True)
class _Drawing:
    """Maps rows in which users stand together to what is drawn for them; goes to workers as a value."""

    method: Replacing
    choice: Choice | None
    """None for WordNet, which every worker has and makes tables of once."""
    noise: Noise
    keep: str
    whole: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Drawn]:
        for window in by_user(batches):
            choice, tally = self.choice or self.method.choice(), Tally()
            names, found = phrases_of(window, choice.taxonomy, tally, self.keep, whole=self.whole)
            for own_names, own, noise in self._with_noise(names, found):
                replaced = self.method.replaced(own, choice, noise, tally)
                yield Drawn(own_names, replaced, tally)
                tally = Tally()

    def _with_noise(
        self, names: pa.StringArray, found: Phrases
    ) -> Iterator[tuple[pa.StringArray, Phrases, Noise]]:
        of_users = self.noise if isinstance(self.noise, OfUsers) else None
        # A user may have many more queries afterwards than before: so many users at once as fit into memory.
        some = 1 if of_users else found.users
        if self.method.slots is not None:
            some = min(some, max(1, _MOST_SLOTS // self.method.slots))
        for first in range(0, found.users, some):
            own = found.of_users(first, min(first + some, found.users))
            noise = of_users.of_user(names[first].as_py()) if of_users else self.noise
            yield names.slice(first, own.users), own, noise


def drawn(
    log: SearchLog,
    method: Replacing,
    noise: Noise,
    *,
    keep: str = "none",
    whole: bool = False,
    since: datetime | None = None,
) -> Iterator[Drawn]:
    """What is drawn for all users of a log, each of them once, in any order.

    `keep` says which words around phrases to keep, `whole` that a query is one phrase or none, `since` that earlier
    queries count as empty. Their rows stay: who is in the release must not depend on who has new ones.
    """
    import ibis

    choice = None if method.taxonomy is None else method.choice()
    rows, order = events(log)
    if since is not None:
        new = ibis.coalesce(rows["time"] >= ibis.literal(since), ibis.literal(False))
        rows = rows.mutate(query=ibis.ifelse(new, rows["query"], ibis.literal("")))
    columns = dict.fromkeys([*TEXTS, *order])
    return log.engine.map_users(rows, order, list(columns), _Drawing(method, choice, noise, keep, whole))
