"""Small logs with words that keep company of their own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lab.tests.inversion import naive
from queryveil_lab.inversion import Statistics, TokenCounts


def queries(
    seed: int, *, users: int = 0, words: int = 30, pool: int = 90, number: int = 1500
) -> list[list[str]]:
    """Draws from a fixed pool of queries; the pool depends on `seed`, the draws on both numbers."""
    world, people = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2, users])
    names = [f"w{word:02}" for word in range(words)]
    weights = np.arange(1, words + 1.0) ** -0.8
    made = [
        list(
            world.choice(
                names, size=min(words, 1 + int(world.integers(4))), replace=False, p=weights / weights.sum()
            )
        )
        for _ in range(pool)
    ]
    popular = np.arange(1, pool + 1.0) ** -0.6
    return [made[at] for at in people.choice(pool, size=number, p=popular / popular.sum())]


def hashed(word: str, key: str = "k") -> str:
    return hashlib.sha256((key + word).encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Log:
    """A log as lists of words, and as we count it."""

    queries: list[list[str]]

    @cached_property
    def counts(self) -> TokenCounts:
        return TokenCounts.of(pa.chunked_array([[" ".join(query) for query in self.queries]]))

    def tokens(self, n: int) -> list[str]:
        return list(self.counts.tokens[:n].to_pylist())

    def cooc(self, n: int) -> Any:
        return naive.cooc(self.queries, self.tokens(n))

    def features(self, n: int) -> Any:
        every = [token for query in self.queries for token in query]
        freq = np.array([every.count(token) for token in self.tokens(n)])
        alone = np.array([self.queries.count([token]) for token in self.tokens(n)])
        return naive.features(freq, len(every), alone, self.cooc(n))

    def at(self, n: int) -> Statistics:
        return self.counts.at(n)


def pair(seed: int, **size: Any) -> tuple[Log, Log]:
    """A hashed log and a raw one of the same world."""
    one, other = queries(seed, users=1, **size), queries(seed, users=2, **size)
    return Log([[hashed(word) for word in query] for query in one]), Log(other)
