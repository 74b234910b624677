"""The whole inversion: a start, updates until nothing new comes, and larger vocabularies from smaller ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from queryveil.attack.inversion.kinds import (
    DISTANCES,
    FEATURES,
    GREEDY,
    HEAP,
    I32,
    L1,
    MOST_PAIRS,
    NODESTART,
    PLAIN,
    STARTS,
    UPDATES,
    too_many,
)
from queryveil.attack.inversion.statistics import Statistics, TokenCounts
from queryveil.errors import UsageError
from queryveil.parameters import param, validate

if TYPE_CHECKING:
    from queryveil.attack.inversion.matching import Sides

DEFAULT_N = 1000
BOOTSTRAP = 100
"""Most frequent hashes whose pairs the continuous update starts from; a tenth, of a small vocabulary."""
_STEPS = 100
"""Steps of progress that an update counts."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Stage:
    """One vocabulary size: the mapping it began with, and the one after each update."""

    mappings: tuple[I32, ...]
    seconds: float

    def __len__(self) -> int:
        return len(self.mappings[0])

    @property
    def last(self) -> I32:
        return self.mappings[-1]


@dataclass(frozen=True, eq=False)
class Inverted:
    """What an attacker believes each hash to be."""

    hashes: pa.StringArray = field(repr=False)
    tokens: pa.StringArray = field(repr=False)
    stages: tuple[Stage, ...]
    """The first with all its iterations, then one of each expansion."""

    @property
    def mapping(self) -> pa.Table:
        """Columns hash and token, the most frequent hash first."""
        last = self.stages[-1].last
        return pa.table({"hash": self.hashes[: len(last)], "token": self.tokens.take(pa.array(last))})

    @property
    def iterations(self) -> int:
        """Updates of the first vocabulary."""
        return len(self.stages[0].mappings) - 1

    @property
    def seconds(self) -> float:
        return sum(stage.seconds for stage in self.stages)


@dataclass(frozen=True, kw_only=True)
class Inversion:
    """How hashes are turned back into words."""

    n: int | None = param(
        "how many of the most frequent hashes and words to match; 1,000, or all, if left out",
        ge=2,
        le=10**6,
        short="-n",
        default=None,
    )
    start: str = param("mapping to start with", choices=STARTS, default=NODESTART)
    update: str = param("how pairs are chosen from distances", choices=UPDATES, default=GREEDY)
    distance: str = param(
        "how the distance of two rows of company is measured", choices=DISTANCES, default=L1
    )
    features: str = param(
        "features of nodestart unchanged, or as logarithms", choices=FEATURES, default=PLAIN
    )
    iterations: int = param("largest number of updates", ge=0, le=1000, default=10)
    alpha: float = param(
        "share of the words, the nearest by features, that a hash may be matched with",
        gt=0,
        le=1,
        default=1.0,
    )
    beta: float = param("share of a word's company that is looked at", gt=0, le=1, default=1.0)
    expand_to: int | None = param(
        "go on to this many hashes, twice as many at a time", ge=2, le=10**6, default=None
    )
    bootstrap: int = param(
        "how many of the most frequent hashes the attacker knows beforehand, for update heap",
        ge=0,
        le=10**6,
        default=0,
    )
    seed: int = param("seed of the random start", ge=0, le=2**63 - 1, default=0)

    def __post_init__(self) -> None:
        validate(self)
        if self.expand_to is not None and self.n is not None and self.expand_to < self.n:
            raise UsageError(
                f"expanding from {self.n:,} to {self.expand_to:,} hashes is no expansion", "raise --expand-to"
            )
        if self.update == HEAP and self.start != NODESTART:
            raise UsageError("update heap begins with nodestart's pairs", "leave --start out")
        if self.bootstrap and self.update != HEAP:
            raise UsageError(
                "only update heap takes pairs that are known", "pass --update heap, or no --bootstrap"
            )
        largest = max(self.n or 0, 0 if self.update == HEAP else self.expand_to or 0)
        if largest > MOST_PAIRS.get(self.update, largest):
            raise too_many(self.update)

    def sizes(self, target: TokenCounts, reference: TokenCounts) -> list[int]:
        """The vocabulary sizes of all stages, those that were asked for if both logs have as many."""
        least = min(len(target), len(reference))
        whose = "the target has only" if len(target) <= len(reference) else "the reference has only"
        noun = "hashes" if len(target) <= len(reference) else "words"
        for flag, asked in (("-n", self.n), ("--expand-to", self.expand_to)):
            if asked is not None and asked > least:
                raise UsageError(
                    f"{asked:,} are to be matched, and {whose} {least:,} different {noun}",
                    f"pass {flag} {least} or less",
                )
        first = self.n if self.n is not None else min(DEFAULT_N, self.expand_to or DEFAULT_N, least)
        made = [first]
        while self.expand_to is not None and made[-1] < self.expand_to:
            made.append(min(2 * made[-1], self.expand_to))
        return made

    def invert(
        self,
        target: TokenCounts,
        reference: TokenCounts,
        *,
        known: I32 | None = None,
        progress: Progress | None = None,
    ) -> Inverted:
        """Match the hashes of the target with words of the reference.

        `known` has the word's rank for each hash that the attacker knows beforehand, by rank of the hash.
        """
        sizes = self.sizes(target, reference)
        both = target.at(sizes[-1]), reference.at(sizes[-1])
        stages = tuple(self.stages(*both, sizes, known=known, progress=progress))
        return Inverted(target.tokens, reference.tokens, stages)

    def stages(
        self,
        hashes: Statistics,
        tokens: Statistics,
        sizes: list[int],
        *,
        known: I32 | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Stage]:
        from queryveil.attack.inversion.matching import RULES, Sides

        said = _Said(progress, 1 + self.iterations + 2 * (len(sizes) - 1))
        for number, n in enumerate(sizes):
            began = time.perf_counter()
            sides = Sides(
                hashes.top(n),
                tokens.top(n),
                features=self.features,
                distance=self.distance,
                alpha=self.alpha,
                beta=self.beta,
                told=said.part,
            )
            if number == 0:
                mappings = tuple(self._first(sides, known, said))
            else:
                mapping = sides.greedy(sides.by_known_part(mappings[-1]))
                said.next()
                # The continuous update knows no mapping to update: larger vocabularies take the plain one.
                update = RULES.get(self.update, Sides.greedy)
                mappings = (mapping, update(sides, sides.by_company(mapping)))
                said.next()
            yield Stage(mappings, time.perf_counter() - began)
        said.end()

    def _first(self, sides: Sides, known: I32 | None, said: _Said) -> Iterator[I32]:
        from queryveil.attack.inversion.matching import RULES
        from queryveil.attack.inversion.starts import start

        mapping = start(self.start, sides, self.seed)
        said.next()
        yield mapping
        if self.update == HEAP:
            if self.iterations:
                yield sides.growing(_pairs(mapping, known, self.bootstrap))
            return
        seen = {mapping.tobytes()}
        for _ in range(self.iterations):
            mapping = RULES[self.update](sides, sides.by_company(mapping))
            said.next()
            yield mapping
            # From a mapping that was there before, everything would come again.
            if mapping.tobytes() in seen:
                return
            seen.add(mapping.tobytes())


def _pairs(mapping: I32, known: I32 | None, bootstrap: int) -> I32:
    """Pairs to start from: known ones of the most frequent hashes, or else nodestart's."""
    n = len(mapping)
    if bootstrap:
        if known is None:
            raise UsageError(
                "the attacker can know pairs beforehand only if the truth is given", "leave --bootstrap out"
            )
        given = known[: min(bootstrap, n)]
        hashes = np.flatnonzero((given >= 0) & (given < n))
        return np.column_stack((hashes, given[hashes])).astype(np.int32)
    hashes = np.arange(min(BOOTSTRAP, max(1, n // 10)))
    return np.column_stack((hashes, mapping[hashes])).astype(np.int32)


class _Said:
    """Progress over updates, each a hundred steps."""

    def __init__(self, progress: Progress | None, updates: int) -> None:
        self.progress, self.updates, self.done = progress, updates, 0

    def part(self, share: float) -> None:
        if self.progress:
            # An update may match twice, what it left over too: it is never done before `next`.
            self.progress(
                min(int(self.done * _STEPS + share * (_STEPS - 1)), self.updates * _STEPS),
                self.updates * _STEPS,
            )

    def next(self) -> None:
        self.done += 1
        self.part(0.0)

    def end(self) -> None:
        if self.progress:
            self.progress(self.updates * _STEPS, self.updates * _STEPS)
