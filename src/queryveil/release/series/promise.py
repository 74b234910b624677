"""What a series promises: to a person in one period, and to a person over all of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from queryveil.errors import UsageError
from queryveil.privacy.draws import Draw
from queryveil.privacy.guarantee import (
    APPROXIMATE,
    DELTA_TOO_LARGE,
    GAUSSIAN,
    PROBABILISTIC,
    Guarantee,
    exact_sum,
    gaussian_sum,
)
from queryveil.release.ledger import pricing
from queryveil.release.ledger.amounts import tight

USER, USER_PERIOD = "user", "user-period"
UNITS = (USER, USER_PERIOD)
_WORTH = 0.9
"""A smaller epsilon at twice the delta is stated if it is at most this part of the sum."""


@dataclass(frozen=True, kw_only=True)
class Promise:
    """Both guarantees of a series. `unit` says which of them it was published for."""

    unit: str
    period: str
    periods: int
    one: Guarantee
    """Of one period: two logs that differ in what one user did in it."""
    whole: Guarantee
    """Of all periods: two logs that differ in everything that one user did."""

    @property
    def stated(self) -> Guarantee:
        return self.whole if self.unit == USER else self.one

    @property
    def headline(self) -> str:
        if self.unit == USER:
            return f"a person over all {self.periods:,} {self.period}s: {self.whole.headline}"
        return f"a person in one {self.period}: {self._one_headline}"

    @property
    def _one_headline(self) -> str:
        """The headline of one period, which compares what one user did in it, and not the user's whole history."""
        change = "replaced" if self.one.replaces else "added or removed"
        return self.one.headline.replace(
            self.one.compared, f"if what one user did in one {self.period} is {change}"
        )

    def sentences(self) -> list[str]:
        """The promise in words, the stated one first, and then what it means for the other unit."""
        month = f"all {self.periods:,} {self.period}s"
        if self.unit == USER:
            return [
                f"This series protects a person over {month} together: {self.whole.headline}. "
                f"{self._whole_words()}",
                f"What a person did in one {self.period} alone is protected by more: {self._one_headline}.",
            ]
        return [
            f"This series protects what a person did in one {self.period}: {self._one_headline}. "
            f"{self._one_words()}",
            f"This is weaker than a promise about a person. The releases of different {self.period}s add up for "
            f"someone who searches in several. Over {month} such a person is protected only by this: "
            f"{self.whole.headline}. {self._whole_words()}",
        ]

    def _whole_words(self) -> str:
        """What is said of a release, said of all of them."""
        said: str = self.whole.plain_words()
        return said.replace("This release ", "The series ").replace("this release", "the whole series")

    def _one_words(self) -> str:
        """What is said of a person in a release, said of one period of that person, to a reader of all releases.

        The attacker of the example must know the other periods: who does not may put them together.
        """
        said: str = self.one.plain_words()
        for before, after in (
            ("This release ", "The series "),
            ("this release", "the whole series"),
            ("one person's searches", f"one person's searches of one {self.period}"),
            (
                "Suppose an attacker knows everyone else's searches",
                f"Suppose an attacker knows everyone else's searches and those of Anna in every {self.period} but one,",
            ),
            ("Anna searched for X", "Anna searched for X in that one"),
            ("Anna's searches are", "Anna's searches in that one are"),
        ):
            said = said.replace(before, after)
        return said.replace(",,", ",")

    def as_dict(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "one_period": self.one.as_dict(),
            "whole_series": self.whole.as_dict(),
            "sentences": self.sentences(),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], period: str, periods: int) -> Promise:
        return cls(
            unit=given["unit"],
            period=period,
            periods=periods,
            one=Guarantee.from_dict(given["one_period"]),
            whole=Guarantee.from_dict(given["whole_series"]),
        )


def promise(one: Guarantee, draws: Sequence[Draw], *, unit: str, period: str, periods: int) -> Promise:
    """For so many periods that are all published with the same parameters; docs/proofs/series.md."""
    if not one.composable:
        raise UsageError(
            f"a series needs releases that add up, and '{one.headline}' does not",
            "choose a method that is differentially private and publishes nothing of a user as it is, such as steered",
        )
    kept = in_a_series(one)
    return Promise(unit=unit, period=period, periods=periods, one=kept, whole=repeated(kept, draws, periods))


def in_a_series(one: Guarantee) -> Guarantee:
    """What is left of the guarantee of one release where it stands among others, and under an index.

    Probabilistic privacy asks for one rare set of outputs for every change of the log. A change may be in any period,
    so the rare sets of all periods would count together. What it implies is kept.
    """
    if one.kind != PROBABILISTIC:
        return one
    caveats = tuple(each for each in one.caveats if each.code not in ("processing-may-lose", DELTA_TOO_LARGE))
    kept = dataclasses.replace(one.approximate().bare, assumptions=one.assumptions, caveats=caveats)
    return kept.among(None, told=False)


def repeated(one: Guarantee, draws: Sequence[Draw], times: int) -> Guarantee:
    """The same release made so many times, each of other rows of the same users: the smallest that is proven."""
    if times == 1:
        return one
    delta = min(1.0, exact_sum(*[one.delta] * times))
    numbers: dict[str, Any] = {"epsilon": exact_sum(*[one.epsilon] * times), "delta": delta}
    kind = one.kind
    if kind == GAUSSIAN:
        numbers = gaussian_sum(*[one] * times)
    elif delta:
        _, cost = pricing.price(one.approximate(), str(one.neighbours), draws)
        # The sum of deltas leaves no room to trade: as much again does.
        wider = min(1.0, exact_sum(delta, delta))
        found = tight([cost] * times, wider) if cost is not None else math.inf
        if found < _WORTH * numbers["epsilon"]:
            kind, numbers = APPROXIMATE, {"epsilon": found, "delta": wider}
    return Guarantee(
        kind=kind,
        **numbers,
        unit=one.unit,
        neighbours=one.neighbours,
        assumptions=one.assumptions,
        caveats=tuple(caveat for caveat in one.caveats if caveat.code != DELTA_TOO_LARGE),
    )
