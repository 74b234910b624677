"""What a series promises: to a person in one period, and to a person over all of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from queryveil.catalog import Sentence, count
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
    def headline(self) -> Sentence:
        if self.unit == USER:
            return Sentence("series.headline.user", periods=self._all, headline=self.whole.headline)
        return Sentence("series.headline.period", **self._one)

    @property
    def _all(self) -> Sentence:
        """All periods: '31 days'."""
        return count(self.periods, f"{self.period}s")

    @property
    def _one(self) -> dict[str, Sentence]:
        """One period, and the headline that compares what one user did in it, not the user's whole history."""
        named = Sentence(f"period.{self.period}")
        change = "replace" if self.one.replaces else "add-remove"
        compared = Sentence(f"compared.period.{change}", period=named)
        return {"period": named, "headline": self.one.headline_for(compared)}

    def sentences(self) -> list[Sentence]:
        """The promise in words, the stated one first, and then what it means for the other unit."""
        whole = {
            "periods": self._all,
            "headline": self.whole.headline,
            "words": self.whole.plain_words("series"),
        }
        if self.unit == USER:
            return [Sentence("series.user", **whole), Sentence("series.user.one", **self._one)]
        # The attacker of the example must know the other periods: who does not may put them together.
        words = self.one.plain_words("series", self.period)
        return [
            Sentence("series.period", **self._one, words=words),
            Sentence("series.period.whole", **whole, period=self._one["period"]),
        ]

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
