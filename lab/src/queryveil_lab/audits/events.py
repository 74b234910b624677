"""Events of an output: found on one half of the runs, to be tested on the other.

An event is a feature of the output, held against a number. Features are counts of items, how many of some items are
published, differences of two counts, which of two rows stands first, sums, and a score that is learned.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from queryveil_lab.audits import statistics
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.outcomes import ABSENT, Outcomes
from queryveil_lab.audits.statistics import Level

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_NOT = -1e300
"""Where a feature does not exist, below everything else."""
_CUTS = 24
_COMMON = 6
_MOST_LOOKED_AT = 60_000
_MOST_PAIRED = 6
_CATEGORIES = 40
_CHOSEN = 2
"""Events of each kind of strength that go on to the test."""


class Feature(Protocol):
    """A number that an output has."""

    def of(self, found: Outcomes) -> Numbers: ...

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Count:
    """The published count of an item."""

    item: int

    def of(self, found: Outcomes) -> Numbers:
        values = found.values[:, self.item]
        return np.where(values == ABSENT, _NOT, values.astype(np.float64))

    def __str__(self) -> str:
        return f"count of item {self.item}"


@dataclass(frozen=True)
class Deviation:
    """The published deviation of an item's count, which follows from its first noisy sum."""

    item: int

    def of(self, found: Outcomes) -> Numbers:
        if found.beside is None:
            return np.full(found.runs, _NOT)
        values = found.beside[:, self.item]
        return np.where(values == ABSENT, _NOT, values.astype(np.float64))

    def __str__(self) -> str:
        return f"deviation of item {self.item}"


@dataclass(frozen=True)
class Published:
    """How many of some items are published."""

    items: tuple[int, ...]

    def of(self, found: Outcomes) -> Numbers:
        number: Numbers = found.present[:, list(self.items)].sum(axis=1).astype(np.float64)
        return number

    def __str__(self) -> str:
        return f"published of items {', '.join(map(str, self.items))}"


@dataclass(frozen=True)
class Difference:
    """The difference of two published counts."""

    one: int
    other: int

    def of(self, found: Outcomes) -> Numbers:
        a, b = found.values[:, self.one], found.values[:, self.other]
        both = (a != ABSENT) & (b != ABSENT)
        return np.where(both, a.astype(np.float64) - b.astype(np.float64), _NOT)

    def __str__(self) -> str:
        return f"count of item {self.one} less that of item {self.other}"


@dataclass(frozen=True)
class Sum:
    """The sum of published counts."""

    items: tuple[int, ...]

    def of(self, found: Outcomes) -> Numbers:
        values = found.values[:, list(self.items)]
        total: Numbers = np.where(values == ABSENT, 0, values).sum(axis=1).astype(np.float64)
        return total

    def __str__(self) -> str:
        return f"sum of the counts of items {', '.join(map(str, self.items))}"


@dataclass(frozen=True)
class Before:
    """1 if the row of one item stands before that of another, 0 if after."""

    one: int
    other: int

    def of(self, found: Outcomes) -> Numbers:
        if found.places is None:
            return np.full(found.runs, _NOT)
        a, b = found.places[:, self.one], found.places[:, self.other]
        return np.where((a >= 0) & (b >= 0), (a < b).astype(np.float64), _NOT)

    def __str__(self) -> str:
        return f"item {self.one} stands before item {self.other}"


@dataclass(frozen=True, eq=False)
class Score:
    """A linear score, learned on the first half: for each item, how much its numbers speak for one of the logs."""

    features: tuple[Feature, ...]
    cuts: tuple[Numbers, ...]
    weights: tuple[Numbers, ...]

    @staticmethod
    def learned(first: Outcomes, second: Outcomes) -> Score:
        cuts, weights, features = [], [], tuple(_item_features(first))
        for feature in features:
            a, b = feature.of(first), feature.of(second)
            edges = _bin_edges(np.concatenate([a, b]))
            sides = [
                np.bincount(np.searchsorted(edges, one, side="right"), minlength=len(edges) + 1) + 0.5
                for one in (a, b)
            ]
            cuts.append(edges)
            weights.append(np.log(sides[0] / sides[0].sum()) - np.log(sides[1] / sides[1].sum()))
        return Score(features, tuple(cuts), tuple(weights))

    def of(self, found: Outcomes) -> Numbers:
        total = np.zeros(found.runs)
        for feature, cuts, weights in zip(self.features, self.cuts, self.weights, strict=True):
            total += weights[np.searchsorted(cuts, feature.of(found), side="right")]
        return np.round(total, 9)

    def __str__(self) -> str:
        return "learned score"


def _bin_edges(values: Numbers) -> Numbers:
    """Where to cut a feature into bins: at every value if there are few, at quantiles if there are many."""
    found = np.unique(values)
    if len(found) > _CATEGORIES:
        found = np.unique(np.quantile(values, np.linspace(0, 1, _CUTS + 1)[1:-1], method="nearest"))
    return found


@dataclass(frozen=True, eq=False)
class Event:
    """A feature above a number, not above it, or equal to it."""

    feature: Feature
    how: str
    number: float

    def holds(self, found: Outcomes) -> Flags:
        return _hold(self.feature.of(found), self.how, self.number)

    def __str__(self) -> str:
        if isinstance(self.feature, Before):
            return str(self.feature) if (self.how, self.number) == (">", 0.0) else f"not: {self.feature}"
        if self.number == _NOT:
            return f"{self.feature}: {'published' if self.how == '>' else 'not published'}"
        return f"{self.feature} {self.how} {self.number:g}"


def _hold(values: Numbers, how: str, number: float) -> Flags:
    found: Flags = values > number if how == ">" else values <= number if how == "<=" else values == number
    return found


def any_of(items: Sequence[int]) -> Event:
    """Any of these items is published."""
    return Event(Published(tuple(items)), ">", 0.0)


def found_on(first: Outcomes, second: Outcomes, claim: Claim, level: Level) -> list[Event]:
    """The events that look strongest for the first log over the second."""
    first, second = (one.some(slice(0, _MOST_LOOKED_AT)) for one in (first, second))
    events: list[Event] = []
    times: list[tuple[int, int]] = []
    for feature in _candidate_features(first, second):
        for event, *both in _candidate_events(feature, feature.of(first), feature.of(second)):
            events.append(event)
            times.append((both[0], both[1]))
    counted, plain = np.array(times, dtype=np.int64), claim.indistinguishable
    low = statistics.at_least(counted[:, 0], first.runs, level.each)
    high = statistics.at_most(counted[:, 1], second.runs, level.each)
    epsilons = np.where(low > plain.delta, np.log(np.maximum(low - plain.delta, 1e-300) / high), -1e3)
    margins = low - plain.allowed(high)
    chosen = {
        at: events[at] for strengths in (epsilons, margins) for at in np.argsort(strengths)[::-1][:_CHOSEN]
    }
    return list(chosen.values())


MOST_FOUND = 2 * _CHOSEN
"""Events that a search hands on, at the most."""


def _candidate_features(first: Outcomes, second: Outcomes) -> Iterator[Feature]:
    items = range(first.items)
    yield from _item_features(first)
    yield Published(tuple(items))
    yield Sum(tuple(items))
    for one, other in itertools.combinations(range(min(first.items, _MOST_PAIRED)), 2):
        yield Difference(one, other)
        if first.places is not None:
            yield Before(one, other)
    yield Score.learned(first, second)


def _item_features(found: Outcomes) -> Iterator[Feature]:
    """What is published of each item."""
    yield from (Count(item) for item in range(found.items))
    if found.beside is not None:
        yield from (Deviation(item) for item in range(found.items))


def _candidate_events(feature: Feature, first: Numbers, second: Numbers) -> Iterator[tuple[Event, int, int]]:
    """Cuts of a feature and its most common values, and how often each comes on both sides."""
    a, b = np.sort(first), np.sort(second)
    both = np.concatenate([first, second])
    cuts = _bin_edges(both)
    upto = [np.searchsorted(side, cuts, side="right").tolist() for side in (a, b)]
    for cut, one, other in zip(cuts.tolist(), *upto, strict=True):
        yield Event(feature, ">", cut), len(a) - one, len(b) - other
        yield Event(feature, "<=", cut), one, other
    there, times = np.unique(both, return_counts=True)
    common = there[np.argsort(times)[::-1][:_COMMON]]
    ends = [
        (np.searchsorted(side, common, side="right") - np.searchsorted(side, common, side="left")).tolist()
        for side in (a, b)
    ]
    for value, one, other in zip(common.tolist(), *ends, strict=True):
        yield Event(feature, "=", value), one, other
