"""What a study expects, declared: a line that has a shape, or one line beside another.

Whatever takes findings and yields checks is an expectation, so a statistical test of its own can stand beside these.
What is said is a format of what was found: `{line.first:.2f}`, `{pair.lower}`, and the columns that tell lines apart.

A log may be too small to judge by. Then nothing passes and nothing fails: `enough` says what there must be, and
otherwise the answer is that it is too small to tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from queryveil_lab.studies.declaration import Check, Findings, Interval, Row, everything, too_small
from queryveil_lab.studies.shapes import Line, Values

Expectation = Callable[[Findings], Iterable[Check]]
Noise = Callable[[Findings, Row], float]
"""How far from each other values may be by chance, at one setting of the columns that tell lines apart."""
Enough = Callable[[Findings, Row], str | None]
"""What there is too little of to judge by, at one setting of these columns; None if there is enough."""


@dataclass(frozen=True)
class _Spread:
    metric: str

    def __call__(self, found: Findings, at: Row) -> float:
        chosen = found.where(metric=self.metric, **at)
        runs = ([row["value"] for row in chosen.where(**one)] for one in chosen.settings(*chosen.axes))
        return max((one.high - one.low for one in map(Interval.of, runs)), default=0.0)


def spread(metric: str) -> Noise:
    """Two means may differ by this much by chance: the longest 95 % interval of a cell's runs."""
    return _Spread(metric)


@dataclass(frozen=True)
class _AtLeast:
    metric: str
    least: float
    what: str
    where: Mapping[str, object]

    def __call__(self, found: Findings, at: Row) -> str | None:
        chosen = found.where(metric=self.metric, **{**at, **self.where})
        # Of what was not measured nothing is said.
        most = max((row["value"] for row in chosen), default=math.inf)
        return None if most >= self.least else f"{most:,.0f} {self.what}, fewer than {self.least:,.0f}"


def at_least(least: float, metric: str, what: str, **where: object) -> Enough:
    """Enough is there if a metric reaches this number somewhere along the line."""
    return _AtLeast(metric, least, what, where)


@dataclass(frozen=True)
class Expectations:
    """Everything that a study expects; of what was not measured nothing is said."""

    every: tuple[Expectation, ...]

    def __call__(self, found: Findings) -> list[Check]:
        return [check for one in self.every for check in one(found)]


def expected(*expectations: Expectation) -> Expectations:
    return Expectations(expectations)


@dataclass(frozen=True, kw_only=True)
class Along:
    """Every line of a metric along an axis has a shape: one check for each line."""

    says: str
    metric: str
    along: str
    shape: Callable[..., bool]
    told: str | Callable[[Line], str]
    by: tuple[str, ...] = ()
    """Columns that tell lines apart."""
    where: Mapping[str, object] = field(default_factory=dict)
    among: Callable[[Findings], Findings] = everything
    """What of the findings it is about, where that depends on them."""
    least: int = 2
    """Points of a line that has a shape at all."""
    noise: Noise | None = None
    missing: str | None = None
    """What cannot be told where no line has as many points; by default nothing is said."""
    enough: Enough | None = None

    def __call__(self, found: Findings) -> Iterator[Check]:
        chosen = self.among(found).where(metric=self.metric, **self.where)
        lines = [one for one in chosen.lines(self.along, *self.by) if len(one[1]) >= self.least]
        if not lines and self.missing is not None:
            yield too_small(self.missing, f"not measured at {self.least} values or more")
        for setting, line in lines:
            words = {**setting, "line": line}
            if self.enough and (lacking := self.enough(found, setting)):
                yield too_small(self.says.format(**words), lacking)
                continue
            noise = {"noise": self.noise(found, setting)} if self.noise else {}
            told = self.told(line) if callable(self.told) else self.told.format(**words, **noise)
            yield Check(self.says.format(**words), self.shape(line.heights, **noise), told)


class Range(NamedTuple):
    least: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Range:
        found = list(values)
        return cls(min(found), max(found))


@dataclass(frozen=True)
class Pair:
    """Two lines at the points that both have."""

    ours: Values
    theirs: Values

    def __len__(self) -> int:
        return len(self.ours)

    @property
    def lower(self) -> int:
        """At how many points ours is below."""
        return sum(one < other for one, other in self)

    @property
    def no_higher(self) -> int:
        return sum(one <= other for one, other in self)

    @property
    def gaps(self) -> Range:
        """How far ours is below."""
        return Range.of(other - one for one, other in self)

    @property
    def times(self) -> Range:
        """How many times as large ours is."""
        return Range.of(one / other if other else math.inf for one, other in self)

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return zip(self.ours, self.theirs, strict=True)


@dataclass(frozen=True, kw_only=True)
class Beside:
    """One value of a column beside another, point by point of the columns `at`; without any, by their means."""

    says: str
    metric: str
    column: str
    ours: Any
    theirs: Any
    shape: Callable[..., bool]
    told: str
    at: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    where: Mapping[str, object] = field(default_factory=dict)
    noise: Noise | None = None
    enough: Enough | None = None
    apart: Noise | None = None
    """Means that are no further apart than this cannot be told from each other."""

    def __call__(self, found: Findings) -> Iterator[Check]:
        chosen = found.where(metric=self.metric, **self.where)
        for setting in chosen.settings(*self.by):
            pair = self.pair(chosen.where(**setting))
            if len(pair):
                words = {**setting, "pair": pair, "of": len(pair)}
                if self.enough and (lacking := self.enough(found, setting)):
                    yield too_small(self.says.format(**words), lacking)
                    continue
                chance = self.apart(found, setting) if self.apart else 0.0
                if self.apart and abs(sum(pair.ours) - sum(pair.theirs)) / len(pair) <= chance:
                    yield too_small(
                        self.says.format(**words), f"{self.told.format(**words)}; chance is {chance:.2g}"
                    )
                    continue
                noise = {"noise": self.noise(found, setting)} if self.noise else {}
                passed = self.shape(pair.ours, pair.theirs, **noise)
                yield Check(self.says.format(**words), passed, self.told.format(**words))

    def pair(self, found: Findings) -> Pair:
        ours, theirs = (found.where(**{self.column: side}) for side in (self.ours, self.theirs))
        both = [place for place in ours.settings(*self.at) if len(theirs.where(**place))]
        return Pair(
            [ours.where(**place).value for place in both], [theirs.where(**place).value for place in both]
        )
