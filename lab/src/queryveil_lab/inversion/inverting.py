"""The whole inversion: a start, updates until nothing new comes, and larger vocabularies from smaller ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from queryveil import UsageError
from queryveil.extension import Declared, argument, param, validate
from queryveil_lab.inversion.kinds import (
    CONTINUOUS,
    DISTANCES,
    FEATURES,
    GREEDY,
    I32,
    L1,
    MOST_PAIRS,
    NODESTART,
    PLAIN,
    STARTS,
    UPDATES,
    too_many,
)
from queryveil_lab.inversion.statistics import Statistics, TokenCounts

if TYPE_CHECKING:
    from queryveil_lab.inversion.matching import Sides

DEFAULT_N = 1000
COMPANY = 4000
"""Words whose company is read to tell the n most frequent ones apart, if n is no larger."""
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
    closer: I32 | None = None
    """The same words told apart by the company of further ones, if there was any: the last mapping then."""

    def __len__(self) -> int:
        return len(self.mappings[0])

    @property
    def last(self) -> I32:
        return self.mappings[-1] if self.closer is None else self.closer


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
class Inversion(Declared):
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
    company: int | None = param(
        "how many of the most frequent words count as company; 4,000, or n if that is more",
        ge=2,
        le=10**6,
        default=None,
    )
    bootstrap: int = param(
        "how many of the most frequent hashes the attacker knows beforehand, for updates heap and surest",
        ge=0,
        le=10**6,
        default=0,
    )
    seed: int = param("seed of the random start", ge=0, le=2**63 - 1, default=0)

    def __post_init__(self) -> None:
        validate(self)
        if self.expand_to is not None and self.n is not None and self.expand_to < self.n:
            raise UsageError(
                f"expanding from {self.n:,} to {self.expand_to:,} hashes is no expansion",
                f"raise {argument('expand_to')}",
            )
        continuous = self.update in CONTINUOUS
        if continuous and self.start != NODESTART:
            raise UsageError(
                f"update {self.update} begins with nodestart's pairs", f"leave {argument('start')} out"
            )
        if self.bootstrap and not continuous:
            raise UsageError(
                "only updates heap and surest take pairs that are known",
                f"pass {argument('update', 'surest')}, or no {argument('bootstrap')}",
            )
        if self.company is not None and (continuous or not self.iterations):
            raise UsageError(
                "company beyond the words that are matched is read by an update of its own, which "
                f"{f'update {self.update}' if continuous else argument('iterations', 0)} leaves out",
                f"leave {argument('company')} out",
            )
        asked = max(self.n or 0, self.expand_to or 0)
        if self.company is not None and self.company < asked:
            raise UsageError(
                f"{asked:,} words are matched, and the company of only {self.company:,} is to be read",
                f"raise {argument('company')}, or leave it out",
            )
        largest = max(self.n or 0, 0 if continuous else self.expand_to or 0)
        if largest > MOST_PAIRS.get(self.update, largest):
            raise too_many(self.update)

    @property
    def doubled(self) -> list[int]:
        """All sizes from n to the one that is expanded to."""
        first = self.n or DEFAULT_N
        return _doubling_sizes(first, self.expand_to or first)

    def sizes(self, target: TokenCounts, reference: TokenCounts) -> list[int]:
        """The vocabulary sizes of all stages, those that were asked for if both logs have as many."""
        least = min(len(target), len(reference))
        whose = "the target has only" if len(target) <= len(reference) else "the reference has only"
        noun = "hashes" if len(target) <= len(reference) else "words"
        for name in ("n", "expand_to", "company"):
            asked = getattr(self, name)
            if asked is not None and asked > least:
                raise UsageError(
                    f"{asked:,} are to be matched, and {whose} {least:,} different {noun}",
                    f"pass {argument(name, least)} or less",
                )
        first = self.n if self.n is not None else min(DEFAULT_N, self.expand_to or DEFAULT_N, least)
        return _doubling_sizes(first, self.expand_to or first)

    def reach(self, target: TokenCounts, reference: TokenCounts) -> int:
        """How many of the most frequent words have to be counted: those that are matched, and further company."""
        most = self.sizes(target, reference)[-1]
        if self.update in CONTINUOUS or not self.iterations:
            return most
        return max(most, min(self.company or COMPANY, len(target), len(reference)))

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
        sizes, reach = self.sizes(target, reference), self.reach(target, reference)
        both = target.at(reach), reference.at(reach)
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
        """A stage for each size. Statistics of more words than the last size are company, for one more update of it."""
        from queryveil_lab.inversion.matching import RULES, Sides

        last = sizes[-1]
        every = [*sizes, *_doubling_sizes(last, len(hashes))[1:]]
        said = _Said(progress, 1 + self.iterations + 2 * (len(every) - 1) + (len(every) > len(sizes)))
        held, since = None, 0.0
        for number, n in enumerate(every):
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
                mappings = tuple(self._first_stage(sides, known, said))
            else:
                mapping = sides.greedy(sides.by_known_part(mappings[-1]))
                said.next()
                # The continuous update knows no mapping to update: larger vocabularies take the plain one.
                update = RULES.get(self.update, Sides.greedy)
                mappings = (mapping, update(sides, sides.by_company(mapping)))
                said.next()
            taken = time.perf_counter() - began
            if n < last or last == every[-1]:
                yield Stage(mappings, taken)
                continue
            held, since = held or mappings, since + taken
        if held is not None:
            began = time.perf_counter()
            closer = sides.greedy(sides.by_company(mappings[-1]), last)
            yield Stage(held, since + time.perf_counter() - began, closer)
        said.end()

    def _first_stage(self, sides: Sides, known: I32 | None, said: _Said) -> Iterator[I32]:
        from queryveil_lab.inversion.matching import RULES
        from queryveil_lab.inversion.starts import start

        mapping = start(self.start, sides, self.seed)
        said.next()
        yield mapping
        if self.update in CONTINUOUS:
            if self.iterations:
                yield sides.growing(_initial_pairs(mapping, known, self.bootstrap), self.update)
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


def _doubling_sizes(first: int, last: int) -> list[int]:
    made = [first]
    while made[-1] < last:
        made.append(min(2 * made[-1], last))
    return made


def _initial_pairs(mapping: I32, known: I32 | None, bootstrap: int) -> I32:
    """Pairs to start from: known ones of the most frequent hashes, or else nodestart's."""
    n = len(mapping)
    if bootstrap:
        if known is None:
            raise UsageError(
                "the attacker can know pairs beforehand only if the truth is given",
                f"leave {argument('bootstrap')} out",
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
