"""Algorithm A-hat of Goetz et al. 2012, section 6.1, and what two definitions of privacy say of a mechanism, exactly.

A-hat returns a history that is not the first user's, all others being equally likely. It is indistinguishable with a
tiny delta, and yet every output says of some history that the first user does not have it. So a check of
indistinguishability must pass it, and one of probabilistic differential privacy must not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from queryveil.privacy.noise import Noise

History = str
Log = tuple[History, ...]
Chances = Mapping[History, Fraction]
Mechanism = Callable[[Log], Chances]


def a_hat(histories: Sequence[History]) -> Mechanism:
    """The chance of each output, for a log over these histories."""

    def chances(log: Log) -> Chances:
        others = [one for one in histories if one != log[0]]
        return dict.fromkeys(others, Fraction(1, len(others)))

    return chances


def draw_a_hat(histories: Sequence[History], log: Log, noise: Noise) -> History:
    """One output, as the paper writes it: from all histories but the first user's."""
    others = [one for one in histories if one != log[0]]
    return others[int(noise.below(np.array([len(others)]))[0])]


def neighbours(log: Log, histories: Sequence[History]) -> Iterator[Log]:
    """Logs in which one user has another history."""
    for place, own in enumerate(log):
        yield from ((*log[:place], other, *log[place + 1 :]) for other in histories if other != own)


def indistinguishable(
    mechanism: Mechanism, histories: Sequence[History], users: int, ratio: Fraction
) -> Fraction:
    """The smallest delta' of definition 4; `ratio` is e^epsilon'. The worst set is all outputs that are likelier."""

    def excess(log: Log, other: Log) -> Fraction:
        ours, theirs = mechanism(log), mechanism(other)
        return sum(
            (max(Fraction(0), p - ratio * theirs.get(o, Fraction(0))) for o, p in ours.items()), Fraction(0)
        )

    return max(excess(log, other) for log, other in _pairs(histories, users))


def probabilistic(
    mechanism: Mechanism, histories: Sequence[History], users: int, ratio: Fraction
) -> Fraction:
    """The smallest delta of definition 3: the chance of an output that is much more or less likely for a neighbour."""

    def breached(log: Log, output: History) -> bool:
        p = mechanism(log).get(output, Fraction(0))
        others = (mechanism(one).get(output, Fraction(0)) for one in neighbours(log, histories))
        return any(p > ratio * q or q > ratio * p for q in others)

    return max(
        sum((p for output, p in mechanism(log).items() if breached(log, output)), Fraction(0))
        for log in product(histories, repeat=users)
    )


def _pairs(histories: Sequence[History], users: int) -> Iterable[tuple[Log, Log]]:
    return ((log, other) for log in product(histories, repeat=users) for other in neighbours(log, histories))
