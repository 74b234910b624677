"""What a ledger holds of one source log: its budget, what was charged, and what that leaves."""

from __future__ import annotations

import dataclasses
import datetime
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from queryveil.errors import BudgetError
from queryveil.privacy import gaussian
from queryveil.privacy.guarantee import APPROXIMATE, GAUSSIAN, PROBABILISTIC, PURE, Guarantee, rounded_up
from queryveil.release.ledger.rules import (
    Amount,
    BySums,
    Cost,
    Pair,
    Pooled,
    Sums,
    rounded_down,
    rule_of,
    words,
)


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

    @property
    def cost(self) -> Cost | None:
        """What it took from the budget, under the ledger's neighbour relation; None if no budget limits it."""
        if self.epsilon is None or self.delta is None:
            return None
        return Cost(epsilon=self.epsilon, delta=self.delta, mu=self.mu, p=self.p)

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {"time": timestamp(self.time)}


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
    sealed: bool = True
    """Rows have digests, so that a changed one is noticed; an older ledger gets them with its next charge."""

    @cached_property
    def rule(self) -> BySums:
        """How releases of this source add up."""
        return rule_of(self.budget, self.gaussian_share)

    @cached_property
    def sums(self) -> Sums:
        """What was charged, added up without rounding."""
        return Sums.of(event.cost for event in self.events if event.cost is not None)

    @property
    def spent(self) -> Amount:
        """What everything private promises together, by the rule of this source."""
        return self.rule.spent(self.sums)

    @property
    def by_sums(self) -> Amount:
        """The same by plain sums: every epsilon and every delta added up."""
        return self.sums.plain

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
            return self.rule.whatever(self.sums)
        return None

    @property
    def kind(self) -> str | None:
        """The kind of everything private together: the weakest one; None as long as nothing was charged."""
        kinds = {event.kind for event in self.events if event.composable}
        if GAUSSIAN in kinds:
            return GAUSSIAN if kinds == {GAUSSIAN} else APPROXIMATE
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
            "spent": dataclasses.asdict(self.spent),
            "by_sums": dataclasses.asdict(self.by_sums),
            "left": dataclasses.asdict(self.left),
            "mu": self.mu,
            "p": self.p,
            "mu_left": self.mu_left,
            "if_looked": dataclasses.asdict(looked) if looked else None,
            "not_composable": self.not_composable,
            "only_composable": self.only_composable,
            "sealed": self.sealed,
            "events": [event.as_dict() for event in self.events],
        }

    def refuse_unless_affordable(self, cost: Cost, guarantee: Guarantee) -> None:
        """Compare decimals as they are printed: ten times 0.1 fit into 1.

        `guarantee` is what the release promises in its own terms, for the way out.
        """
        after = self.sums.and_then(cost)
        if self.rule.fits(after):
            return
        # What the first Gaussian release would have fixed is part of what is left for it.
        before = dataclasses.replace(self.sums, p_share=after.p_share)
        need = self.rule.need(before, after)
        left = self.rule.left(before) if cost.shift is None else self.rule.room(before)
        missing = {name: wanted - there for name, wanted, there in zip(Pair._fields, need, left, strict=True)}
        short = [name for name, value in missing.items() if value > 0] or ["epsilon"]
        by = " and ".join(f"{name} {words(missing[name])}" for name in short)
        raise BudgetError(
            f"the release needs {self._needed(need, cost, after)}, the ledger has {self._there(left, after)} left "
            f"for '{self.source}' (short by {by})",
            self._way_out(before, short[0], cost, guarantee),
        )

    def _trades(self, sums: Sums) -> bool:
        """Whether more epsilon leaves less delta: in a pool with Gaussian releases."""
        return isinstance(self.rule, Pooled) and sums.gaussian

    def _needed(self, need: Pair, cost: Cost, after: Sums) -> str:
        shift = "" if cost.shift is None else f" (mu {rounded_up(cost.mu)}, p {rounded_up(cost.p)})"
        if not self._trades(after):
            return f"{_said(need) if shift else need.amount}{shift}"
        if need.delta:
            return f"delta {words(need.delta)} whatever its epsilon{shift}"
        return f"epsilon {words(need.epsilon)} more at delta {words(self.budget.delta)}{shift}"

    def _there(self, left: Pair, after: Sums) -> str:
        if not self._trades(after):
            return _said(left) if after.gaussian else str(left.amount)
        return f"epsilon {words(left.epsilon)} or delta {words(left.delta)}"

    def _way_out(self, before: Sums, short: str, cost: Cost, guarantee: Guarantee) -> str:
        new = "or open a new ledger for new data"
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


def _said(pair: Pair) -> str:
    """In the few digits that a figure off a curve deserves."""
    return f"epsilon {float(pair.epsilon):.6g} and delta {float(pair.delta):.6g}"


def timestamp(time: datetime.datetime) -> str:
    return time.astimezone(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
