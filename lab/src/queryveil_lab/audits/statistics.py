"""What counts of events prove: Clopper and Pearson's bounds, shared out over everything that is tested.

Statements and proofs: docs/proofs/audit.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from queryveil_lab.audits.claims import Claim, epsilon_between

VERDICT = 1e-6
"""The chance, at the most, that a sound mechanism fails an audit."""
REPORTED = 0.05
"""The chance that a reported bound is above the truth, unless another confidence is asked for."""

Counts = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]


def at_least(times: Counts | int, runs: int, chance: float) -> Shares:
    """A lower bound of a probability, which is above it with at most that chance."""
    seen = np.asarray(times, dtype=np.float64)
    found = stats.beta.ppf(chance, seen, runs - seen + 1)
    return np.where(seen > 0, found, 0.0)


def at_most(times: Counts | int, runs: int, chance: float) -> Shares:
    """An upper bound of a probability, which is below it with at most that chance."""
    seen = np.asarray(times, dtype=np.float64)
    found = stats.beta.isf(chance, seen + 1, runs - seen)
    return np.where(seen < runs, found, 1.0)


@dataclass(frozen=True, kw_only=True)
class Level:
    """A chance of error, shared out equally over so many tests."""

    chance: float
    tests: int

    @property
    def each(self) -> float:
        """For each of the two bounds of a test."""
        return self.chance / (2 * max(1, self.tests))


@dataclass(frozen=True, kw_only=True)
class Proven:
    """What an event proves at one level."""

    low: float
    """Its probability under the first log is at least this."""
    high: float
    """Its probability under the second log is at most this."""
    epsilon: float
    """No smaller epsilon holds at the claimed delta."""
    delta: float
    """No smaller delta holds at the claimed epsilon."""
    refutes: bool


def proven(claim: Claim, first: int, second: int, runs: int, level: Level, *, runs_second: int = 0) -> Proven:
    """What it proves that an event came `first` times in the runs on one log, and `second` times on the other."""
    low = float(at_least(first, runs, level.each))
    high = float(at_most(second, runs_second or runs, level.each))
    return between(claim, low, high)


def between(claim: Claim, low: float, high: float) -> Proven:
    """What bounds on the two probabilities of an event prove."""
    plain = claim.indistinguishable
    delta = max(0.0, low - math.exp(min(plain.epsilon, 700.0)) * high)
    return Proven(
        low=low,
        high=high,
        epsilon=epsilon_between(low, high, plain.delta),
        delta=delta,
        refutes=low > float(plain.allowed(high)),
    )


def cells(claim: Claim, seen: Sequence[tuple[int, int, int, int]], level: Level) -> float:
    """A lower bound of delta under probabilistic privacy, from disjoint cells of the output.

    Each cell: how often it came in how many runs on the log, and on the neighbour that it is held against.
    """
    each = level.each / max(1, len(seen))
    total = 0.0
    for times, runs, others, runs_others in seen:
        low = float(at_least(times, runs, each))
        high = float(at_most(others, runs_others, each))
        total += max(0.0, low - math.exp(min(claim.epsilon, 700.0)) * high)
    return total


def needed(claim: Claim, tests: int, chance: float = VERDICT) -> int:
    """The fewest runs on each log, half of which are tested, that could refute a claim at all.

    The plainest of all events, which always comes under one log and never under the other, must be enough.
    """
    level = Level(chance=chance, tests=tests)

    def enough(tested: int) -> bool:
        return proven(claim, tested, 0, tested, level).refutes

    high = 1
    while not enough(high):
        high *= 2
        if high > 1 << 40:
            return 2 * high
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return 2 * high
