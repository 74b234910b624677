"""What a ledger holds of one source log: its budget, what was charged, and what that leaves."""

from __future__ import annotations

import dataclasses
import datetime
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from queryveil.catalog.numbers import round_up
from queryveil.errors import BudgetError, UsageError, argument
from queryveil.privacy import gaussian
from queryveil.privacy.guarantee import APPROXIMATE, GAUSSIAN, PROBABILISTIC, PURE, Guarantee
from queryveil.privacy.losses import Loss
from queryveil.release.ledger.amounts import Amount, Cost, Pair, Sums, rounded_down, words
from queryveil.release.ledger.rules import BySums, Pooled, Repeated, rule_of
from queryveil.release.series import calendar

PERIODS = ("user-day", "user-week", "user-month")
"""Units of privacy that are smaller than a user: what a user did in one period of a public calendar."""
_CURVE = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)


@dataclass(frozen=True, kw_only=True)
class Event:
    """One release that was charged, with what was promised (`headline`) and what it cost in this ledger."""

    id: int
    time: datetime.datetime
    method: str
    headline: str
    kind: str
    epsilon: float | None
    delta: float | None
    mu: float | None = None
    """Of a Gaussian release, against the neighbours of the ledger; None in a ledger that did not keep it yet."""
    p: float | None = None
    composable: bool
    neighbours: str | None = None
    """Which logs the release compares; the cost is against those of the ledger."""
    who: str | None = None
    """Who charged it; like all that follows, None in a ledger that did not keep it yet."""
    recipe: str | None = None
    period: str | None = None
    """The part of a series that it is for."""
    losses: tuple[Loss, ...] | None = None
    """What its draws lose, where that says more than epsilon and delta do."""

    @property
    def cost(self) -> Cost | None:
        """What it took from the budget, under the ledger's neighbour relation; None if no budget limits it."""
        if self.epsilon is None or self.delta is None:
            return None
        return Cost(epsilon=self.epsilon, delta=self.delta, mu=self.mu, p=self.p, losses=self.losses)

    def as_dict(self) -> dict[str, Any]:
        losses = None if self.losses is None else [one.as_dict() for one in self.losses]
        return dataclasses.asdict(self) | {"time": timestamp(self.time), "losses": losses}


@dataclass(frozen=True, kw_only=True)
class Account:
    """The budget of one source log and everything that was charged to it."""

    source: str
    neighbours: str
    budget: Amount
    events: tuple[Event, ...] = ()
    only_composable: bool = False
    """Releases that no budget limits are refused: k-anonymity, no guarantee, or one given the shape."""
    gaussian_share: float | None = None
    """The share of the budget that is kept for Gaussian releases; 0: they add up like others; None: one pool."""
    repeated: bool = False
    """Every release is like the first one or gives away less, so that more of them fit."""
    unit: str = "user"
    """Whom the budget is for: a user, or a user in each period (`PERIODS`)."""
    head: str | None = None
    """The digest of the last row; it stands for all rows before it."""

    @cached_property
    def rule(self) -> BySums:
        """How releases of this source add up."""
        return rule_of(self.budget, self.gaussian_share, repeated=self.repeated)

    def of(self, period: str | None) -> Account:
        """What counts for a release of that period: everything, or what was charged for the same period."""
        if self.unit == "user":
            return self
        if period is None:
            raise UsageError(
                f"the budget of '{self.source}' is for each {self.unit}, and this release is of no period",
                f"publish a series with {argument('unit', 'user-period')}, or charge a source that counts per user",
            )
        kind, _ = calendar.named(period)
        if self.unit != f"user-{kind}":
            raise UsageError(
                f"the budget of '{self.source}' is for each {self.unit}, and this release is of a {kind}",
                f"publish by {self.unit.removeprefix('user-')}, or charge a source that counts per user",
            )
        return self._for_period(period)

    def _for_period(self, period: str | None) -> Account:
        same = tuple(one for one in self.events if one.period == period)
        return dataclasses.replace(self, events=same, unit="user")

    @cached_property
    def periods(self) -> dict[str, Account]:
        """The account of each period, for a budget that is for each of them."""
        names = [] if self.unit == "user" else [one.period for one in self.events]
        return {str(name): self._for_period(name) for name in dict.fromkeys(names)}

    @cached_property
    def fullest(self) -> Account:
        """What the budget limits: everything, or the period for which most was charged."""
        if not self.periods:
            return self
        return max(self.periods.values(), key=lambda one: (one.spent.epsilon, one.spent.delta))

    @cached_property
    def every_sum(self) -> Sums:
        """What was charged for all periods, added up without rounding: what one person may have lost."""
        return Sums.of(event.cost for event in self.events if event.cost is not None)

    @property
    def sums(self) -> Sums:
        """What was charged and the budget limits, added up without rounding."""
        return self.fullest.every_sum

    @property
    def spent(self) -> Amount:
        """What everything private promises together, by the rule of this source."""
        return self.rule.spent(self.sums)

    @property
    def by_sums(self) -> Amount:
        """The same by plain sums: every epsilon and every delta added up."""
        return self.sums.plain

    @property
    def together(self) -> Amount:
        """For one person, over everything private: the smallest total that is proven, if parameters were planned.

        At the budget's delta, or at the sum of deltas where that is more: by sums, by the rule of the source, or by
        privacy loss distributions, whichever is smallest.
        """
        sums = self.every_sum
        if len(sums.costs) < 2:
            return self.spent
        delta = max(self.budget.delta, float(sums.every_delta) if self.periods else 0.0)
        found = sums.together(delta)
        if not self.periods and self.spent.delta <= delta:
            found = min(found, self.spent.epsilon)
        if not math.isfinite(found):
            return sums.plain
        return Amount(epsilon=found, delta=delta if sums.every_delta or found < sums.plain.epsilon else 0.0)

    def curve(self) -> list[Amount]:
        """For one person, over everything private: epsilon at several deltas, if parameters were planned."""
        deltas = sorted({*_CURVE, *([self.budget.delta] if self.budget.delta else [])})
        found = [Amount(epsilon=self.every_sum.together(delta), delta=delta) for delta in deltas]
        return [one for one in found if math.isfinite(one.epsilon)]

    @cached_property
    def used(self) -> float:
        """The share of the budget that is used, from 0 to 1, by the rule of this source."""
        return self.rule.used(self.sums)

    @cached_property
    def more_like_last(self) -> int | None:
        """How many more releases like the last one fit, counted up to 1,024; None as long as nothing was charged."""
        costs = self.sums.costs
        return self.rule.more(self.sums, costs[-1]) if costs else None

    @property
    def left(self) -> Amount:
        """The most that one release more may have, if it is not Gaussian."""
        return self.rule.left(self.sums).amount

    @property
    def mu(self) -> float:
        """Of all Gaussian releases together: the root of the sum of mu^2, rounded up."""
        return self.sums.mu

    @property
    def p(self) -> float:
        """Of all Gaussian releases together: the sum of p."""
        return float(self.sums.p)

    @property
    def mu_left(self) -> float:
        """The largest mu of one Gaussian release more, if its p is that of the last one."""
        last = [event.p for event in self.events if event.p is not None]
        return self.rule.mu_left(self.sums, last[-1] if last else 0.0)

    @property
    def if_looked(self) -> Amount | None:
        """What is proven if people chose parameters by looking at earlier releases; None if that is the budget."""
        if isinstance(self.rule, Pooled) and self.sums.gaussian:
            return self.rule.whatever()
        return None

    @property
    def kind(self) -> str | None:
        """The kind of everything private together: the weakest one; None as long as nothing was charged."""
        kinds = {event.kind for event in self.events if event.composable}
        if GAUSSIAN in kinds:
            return GAUSSIAN if kinds == {GAUSSIAN} else APPROXIMATE
        # A product of privacy losses is approximate, and no one rare set of outputs serves the changes of all periods.
        if self.repeated and len(self.sums.costs) > 1:
            return APPROXIMATE
        if self.unit != "user" and PROBABILISTIC in kinds:
            return APPROXIMATE
        return next((kind for kind in (APPROXIMATE, PROBABILISTIC, PURE) if kind in kinds), None)

    @property
    def compared(self) -> str:
        """Which change of the log the numbers are about, as in the headline of a guarantee."""
        return Guarantee(kind=PURE, epsilon=0.0, delta=0.0, neighbours=self.neighbours).compared

    @property
    def not_composable(self) -> int:
        """How many releases are listed that no total covers (k-anonymity, no guarantee, or one given the shape)."""
        return sum(not event.composable for event in self.events)

    def as_dict(self) -> dict[str, Any]:
        looked = self.if_looked
        return {
            "source": self.source,
            "neighbours": self.neighbours,
            "kind": self.kind,
            "budget": dataclasses.asdict(self.budget),
            "rule": self.rule.code,
            "gaussian_share": self.gaussian_share,
            "used": self.used,
            "more_like_last": self.more_like_last,
            "spent": dataclasses.asdict(self.spent),
            "by_sums": dataclasses.asdict(self.by_sums),
            "together": dataclasses.asdict(self.together),
            "unit": self.unit,
            "left": dataclasses.asdict(self.left),
            "mu": self.mu,
            "p": self.p,
            "mu_left": self.mu_left,
            "if_looked": dataclasses.asdict(looked) if looked else None,
            "not_composable": self.not_composable,
            "only_composable": self.only_composable,
            "head": self.head,
            "events": [event.as_dict() for event in self.events],
        }

    def refuse_unless_affordable(self, cost: Cost, guarantee: Guarantee) -> None:
        """Compare decimals as they are printed: ten times 0.1 fit into 1.

        `guarantee` is what the release promises in its own terms, for the way out.
        """
        after = self.sums.and_then(cost)
        if self.rule.fits(after):
            return
        if isinstance(self.rule, Repeated) and not self.rule.like_the_first(after):
            first = next(event for event in self.events if event.composable)
            raise BudgetError(
                f"'{self.source}' was opened for releases like its first one (#{first.id}), and this one may give away "
                f"more: {cost} where the first has {first.cost}",
                "publish with the parameters of the first, or open another source for new data",
            )
        # What the first Gaussian release would have fixed is part of what is left for it.
        before = dataclasses.replace(self.sums, p_share=after.p_share)
        need = self.rule.need(before, after)
        left = self.rule.left(before) if cost.shift is None else self.rule.room(before)
        missing = {name: wanted - there for name, wanted, there in zip(Pair._fields, need, left, strict=True)}
        short = [name for name, value in missing.items() if value > 0] or ["epsilon"]
        by = " and ".join(f"{name} {words(missing[name])}" for name in short)
        raise BudgetError(
            f"the release needs {self._needed_text(need, cost, after)}, the ledger has "
            f"{self._remaining_text(left, after)} left for '{self.source}' (short by {by})",
            self._way_out(before, short[0], cost, guarantee),
            requested={name: float(value) for name, value in zip(Pair._fields, need, strict=True)},
            remaining={name: float(value) for name, value in zip(Pair._fields, left, strict=True)},
            short_by={name: float(missing[name]) for name in short},
        )

    def _trades_epsilon(self, sums: Sums) -> bool:
        """Whether more epsilon leaves less delta: in a pool with Gaussian releases."""
        return isinstance(self.rule, Pooled) and sums.gaussian

    def _needed_text(self, need: Pair, cost: Cost, after: Sums) -> str:
        shift = "" if cost.shift is None else f" (mu {round_up(cost.mu)}, p {round_up(cost.p)})"
        if isinstance(self.rule, Repeated):
            return f"{_format_pair(need)} to be made once more"
        if not self._trades_epsilon(after):
            return f"{_format_pair(need) if shift else need.amount}{shift}"
        if need.delta:
            return f"delta {words(need.delta)} whatever its epsilon{shift}"
        return f"epsilon {words(need.epsilon)} more at delta {words(self.budget.delta)}{shift}"

    def _remaining_text(self, left: Pair, after: Sums) -> str:
        if not self._trades_epsilon(after):
            return (
                _format_pair(left) if after.gaussian or isinstance(self.rule, Repeated) else str(left.amount)
            )
        return f"epsilon {words(left.epsilon)} or delta {words(left.delta)}"

    def _way_out(self, before: Sums, short: str, cost: Cost, guarantee: Guarantee) -> str:
        new = "or open a new ledger for new data"
        if isinstance(self.rule, Repeated) and before.costs:
            times = self.rule.times(before.costs[0])
            return (
                f"the budget was enough for {times:,} releases like the first; publish no more of them, {new}"
            )
        if cost.shift is None or guarantee.mu is None or self.rule.code == BySums.code:
            return f"lower {short}, {new}"
        mu, p = cost.shift
        fits = self.rule.mu_left(before, p)
        if not fits:
            return f"lower delta: no mu fits beside this p, {new}"
        # What to type is in the release's own terms, which may be of another neighbour relation. A method that gets
        # less epsilon may choose a smaller p, and so a larger mu; the epsilon that this mu has without any p is safe.
        own = fits * guarantee.mu / mu
        epsilon = gaussian.epsilon_of(own, 0.0, float(guarantee.delta or 0))
        shown = f"{rounded_down(epsilon, 2)} still fits (mu {rounded_down(own, 3)})"
        return f"lower epsilon: at the same delta {shown}, {new}"


def _format_pair(pair: Pair) -> str:
    """In the few digits that a figure off a curve deserves."""
    return f"epsilon {float(pair.epsilon):.6g} and delta {float(pair.delta):.6g}"


def timestamp(time: datetime.datetime) -> str:
    return time.astimezone(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
