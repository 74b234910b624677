"""The shapes that results are expected to have: each is defined here, and nowhere else.

A shape is a question about the values of a line in the order of its points, or about two lines point by point. Values
that stay where they are neither fall nor grow, and are not below each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

Values = Sequence[float]


class Line(dict[Any, float]):
    """A value at each point of an axis, the points in order."""

    @property
    def heights(self) -> list[float]:
        return list(self.values())

    @property
    def start(self) -> Any:
        return next(iter(self))

    @property
    def end(self) -> Any:
        return next(reversed(self))

    @property
    def first(self) -> float:
        return self[self.start]

    @property
    def last(self) -> float:
        return self[self.end]

    @property
    def peak(self) -> Any:
        """The first point with the largest value."""
        return max(self, key=self.__getitem__)

    @property
    def dip(self) -> Any:
        """The first point with the smallest value."""
        return min(self, key=self.__getitem__)

    @property
    def highest(self) -> float:
        return self[self.peak]

    @property
    def lowest(self) -> float:
        return self[self.dip]


# -- one line ------------------------------------------------------------------------------------------------


def falls(values: Values, *, slack: float = 0.0, noise: float = 0.0) -> bool:
    """Lower in the end, and no step up beyond chance: `slack` of the line's range, or `noise`."""
    most = max(slack * (max(values) - min(values)), noise)
    return values[-1] < values[0] and all(b - a <= most for a, b in pairwise(values))


def falls_clearly(values: Values, *, noise: float) -> bool:
    """Falls, and by more than noise."""
    return falls(values, noise=noise) and values[-1] < values[0] - noise


def grows(values: Values, *, slack: float = 0.0, noise: float = 0.0) -> bool:
    """Falls, read from its end."""
    return falls(values[::-1], slack=slack, noise=noise)


def ends_lower(values: Values) -> bool:
    """Whatever is between the ends."""
    return values[-1] < values[0]


def ends_higher(values: Values) -> bool:
    return values[-1] > values[0]


def stays(values: Values, *, slack: float = 0.0, noise: float = 0.0) -> bool:
    """Its range is chance: at most `slack` of its largest value, or `noise`."""
    reach = max(values) - min(values)
    return reach <= max(slack * max(1e-12, *map(abs, values)), noise)


def peaks_inside(values: Values) -> bool:
    """Largest at neither end."""
    return 0 < values.index(max(values)) < len(values) - 1


def falls_from_its_peak(values: Values) -> bool:
    """Falls from where it is largest, which is in its first half."""
    after = values[values.index(max(values)) :]
    return 2 * len(after) > len(values) and falls(after)


def dips_beyond_its_start(values: Values) -> bool:
    """Somewhere smaller than at its first point."""
    return min(values) < values[0]


# -- two lines -----------------------------------------------------------------------------------------------


def below(ours: Values, theirs: Values, *, noise: float = 0.0) -> bool:
    """Nowhere above by more than noise, and lower over all."""
    return never_above(ours, theirs, noise=noise) and sum(ours) < sum(theirs)


def above(ours: Values, theirs: Values, *, noise: float = 0.0) -> bool:
    return below(theirs, ours, noise=noise)


def below_everywhere(ours: Values, theirs: Values) -> bool:
    return all(one < other for one, other in zip(ours, theirs, strict=True))


def never_above(ours: Values, theirs: Values, *, noise: float = 0.0) -> bool:
    return all(one <= other + noise for one, other in zip(ours, theirs, strict=True))


def never_below(ours: Values, theirs: Values, *, noise: float = 0.0) -> bool:
    return never_above(theirs, ours, noise=noise)


def within_a_factor(ours: Values, theirs: Values, *, factor: float) -> bool:
    """At most `factor` times as large or as small; 0 is comparable to nothing."""
    return all(
        one > 0 and other / factor <= one <= other * factor for one, other in zip(ours, theirs, strict=True)
    )


_SLACK = 0.05
NAMED: Mapping[str, Callable[[Values], bool]] = {
    "rising": partial(grows, slack=_SLACK),
    "falling": partial(falls, slack=_SLACK),
    "flat": partial(stays, slack=_SLACK),
}
"""Shapes by the names that a study of one's own gives them; a twentieth against their direction is chance."""
