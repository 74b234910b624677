"""What to publish first: the strongest of a few settings that is expected to publish enough to be of use.

`inspect` ends with it. It looks at the log, as all that `inspect` says does: it is for the curator alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from queryveil.advice import selected
from queryveil.advice.pilot import Pilot
from queryveil.advice.purpose import LEAST_PUBLISHED, MOST_USERS, Option
from queryveil.display import cards
from queryveil.display.cards import Card
from queryveil.reading.log import SearchLog

_EPSILONS = (1.0, 2.0)
"""Strong enough to recommend without a question: at 2 a reader learns "a limited amount", above it possibly much."""
_DRAWS = 3
"""Releases whose sizes are averaged."""
_KINDS = ("keywords", "queries")
"""Words are shared by more people than whole queries are, so they come first."""


@dataclass(frozen=True, repr=False)
class Proposal:
    """A first release, or that none would be of use. It comes from the raw log: for its curator alone."""

    tried: tuple[Option, ...]
    """From the strongest promise to the weakest, up to the first that publishes enough."""
    delta: float
    """A delta that fits the number of users."""

    @property
    def option(self) -> Option | None:
        """What is proposed; None if no setting is expected to publish enough."""
        return next((one for one in self.tried if self._expected_items(one) >= LEAST_PUBLISHED), None)

    @property
    def verdict(self) -> str:
        """What to expect of it, and what was looked at."""
        best = max(self.tried, key=self._expected_items, default=None)
        if best is None:
            return "Nothing can be published from a log without users."
        much = self._expected_items(best)
        if self.option is None:
            few = f"about {much:.1f}" if much >= 0.1 else "hardly any"
            return (
                "Nothing useful can be published from this log with a strong guarantee: up to epsilon "
                f"{max(_EPSILONS):g}, the best setting would publish {few} {best.label}, fewer than "
                f"{LEAST_PUBLISHED}. More users would help; a longer log may have them."
            )
        return (
            f"This should publish about {much:,.0f} {best.label}. Up to {2 * len(_EPSILONS) * len(_KINDS)} settings "
            "were tried on the log, the strongest guarantee first, until one published enough. No guarantee covers "
            "that choice."
        )

    @staticmethod
    def _expected_items(option: Option) -> float:
        return option.figures["published"] or 0.0

    def _card(self) -> Card:
        option = self.option
        facts = [("method", option.method), ("command", option.command())] if option else []
        return Card("Proposal of a first release", self.verdict, facts, (self.verdict,))

    def as_dict(self, log: str = "LOG", reading: Sequence[str] = ()) -> dict[str, Any]:
        """`log` and `reading` are what the log is called, and how it is read, in a command."""
        proposed = self.option.as_dict(log, reading) if self.option else None
        return {"verdict": self.verdict, "proposed": proposed}

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


def propose(log: SearchLog, *, most_users: int = MOST_USERS) -> Proposal:
    """The first release of a log that is worth a try, from at most `most_users` of its users.

    Its figures are for the curator alone, and choosing by them is covered by no guarantee.
    """
    delta = _fitting_delta(log.users)
    if not log.users:
        return Proposal((), delta)
    with log.unchanged():
        return Proposal(tuple(_try_methods(Pilot.sample_log(log, most_users), delta)), delta)


def _try_methods(pilot: Pilot, delta: float) -> Iterator[Option]:
    for epsilon in _EPSILONS:
        for kind in _KINDS:
            for guess in (selected.MANY, 1.0):
                method = selected.method_for(guess, epsilon=epsilon, delta=delta, kind=kind)
                if method is None:
                    continue
                made = selected.simulate_releases(pilot, method, _DRAWS)
                published = float(np.mean([len(one) for one in made]))
                yield Option(method, "epsilon", {"published": published}, label=kind)
                if published >= LEAST_PUBLISHED:
                    return


def _fitting_delta(users: int) -> float:
    """A delta to begin with: a millionth, or a tenth of one in the number of users if that is less."""
    return float(f"1e-{max(6, len(str(users)) + 1)}")
