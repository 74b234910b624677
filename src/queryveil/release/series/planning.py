"""What a series would promise and cost, before a log is read, a ledger charged or a folder written."""

from __future__ import annotations

import dataclasses
import datetime
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from queryveil.display import cards
from queryveil.display.cards import Card, counted
from queryveil.errors import BudgetError, UsageError, argument, instead
from queryveil.mechanisms import Mechanism, Plan, build_mechanism
from queryveil.privacy.noise import Noise
from queryveil.release.ledger import pricing
from queryveil.release.ledger.accounts import Account
from queryveil.release.ledger.ledger import Ledger
from queryveil.release.series.calendar import Calendar, Period
from queryveil.release.series.promise import UNITS, USER, USER_PERIOD, Promise, promise
from queryveil.release.understanding import agree, judged, refuse_rows_of_users, refuse_untold_users


@dataclass(frozen=True, kw_only=True, repr=False)
class SeriesPlan:
    """What a series would promise, and what it would leave of a budget. Nothing was read, charged or written."""

    promise: Promise
    """What a person is promised, in one period and over all of them."""
    periods: tuple[str, ...]
    """Names of the periods, in their order."""
    before: Account | None = field(default=None, repr=False)
    """The account of the source as it is; None without a ledger."""
    after: Account | None = field(default=None, repr=False)
    """The account as it would be after all periods."""

    def _card(self) -> Card:
        facts: list[tuple[str, Any]] = [("periods", len(self.periods))]
        if self.before is not None and self.after is not None:
            facts += [("spent before", str(self.before.spent)), ("spent after", str(self.after.spent))]
        line = f"{counted(len(self.periods), 'release')}; {self.promise.headline}"
        return Card("Plan of a series", line, facts, self.promise.sentences())

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


def plan_series(
    mechanism: Mechanism | str,
    *,
    period: str,
    start: str | datetime.date,
    end: str | datetime.date,
    unit: str = USER,
    items: str | tuple[str, ...] | None = None,
    users: int | None = None,
    ledger: Ledger | str | Path | None = None,
    source: str | None = None,
    i_understand: bool = False,
    **parameters: Any,
) -> SeriesPlan:
    """What `publish_series` would promise and charge, or the refusal that it would meet; no log is needed.

    `mechanism` is one, or its name with its `parameters`. There is a release for each day, week or month from `start`
    to `end` (UTC, both included), all of which must have ended. `unit` says whom the promise is about, as for
    `publish_series`. `users` is a public upper bound on the users of any period. With a ledger, a budget of `source`
    that is not enough for all periods is refused.
    """
    unit = known_unit(unit, period)
    calendar = Calendar.of(period, start, end)
    calendar.refuse_future()
    periods = calendar.periods()
    plan, promised = planned(
        build_mechanism(mechanism, parameters, items), users, unit, calendar, Noise(), i_understand
    )
    names = tuple(one.name for one in periods)
    if ledger is None or not source:
        return SeriesPlan(promise=promised, periods=names)
    book = ledger if isinstance(ledger, Ledger) else Ledger(str(ledger))
    refuse_unaffordable(book, source, plan, promised, periods)
    before = book.budget(source)
    event = book.after(source, plan.method, plan.guarantee, draws=plan.draws, period=names[0]).events[-1]
    charged = tuple(dataclasses.replace(event, period=one) for one in names)
    after = dataclasses.replace(before, events=(*before.events, *charged))
    return SeriesPlan(promise=promised, periods=names, before=before, after=after)


def known_unit(unit: str, period: str) -> str:
    """The unit by its own name: user-day is user-period in a series by day."""
    unit = USER_PERIOD if unit == f"user-{period}" else unit
    if unit not in UNITS:
        raise UsageError(f"there is no unit '{unit}'", instead(unit, (*UNITS, f"user-{period}")))
    return unit


def planned(
    mechanism: Mechanism, users: int | None, unit: str, calendar: Calendar, noise: Noise, said: bool
) -> tuple[Plan, Promise]:
    """The plan of each release, and what all of them promise, from parameters alone."""
    if users is None:
        refuse_untold_users(mechanism, calendar.period)
    plan = judged(mechanism.plan(users=users), users, noise)
    agree(plan, users, said)
    refuse_rows_of_users(plan)
    periods = len(calendar.periods())
    found = (
        promise(plan.guarantee, plan.draws, unit=unit, period=calendar.period, periods=periods)
        if noise.secret
        else _of_known_noise(plan, unit, calendar.period, periods)
    )
    whole = found.whole.among(users, told=False)
    if whole.delta_too_large and unit == USER and not said:
        raise UsageError(
            f"over {periods:,} {calendar.period}s {whole.of_delta()}",
            f"lower {argument('delta')} to a {periods:,}th, choose longer periods, "
            f"or pass {argument('i_understand', True)}",
        )
    return plan, dataclasses.replace(found, whole=whole)


def _of_known_noise(plan: Plan, unit: str, period: str, periods: int) -> Promise:
    """With noise that somebody may know nothing is promised, neither once nor over all periods."""
    return Promise(unit=unit, period=period, periods=periods, one=plan.guarantee, whole=plan.guarantee)


def refuse_unaffordable(book: Ledger, source: str, plan: Plan, promised: Promise, left: list[Period]) -> None:
    """A budget that ends in the middle of a series is found before it begins; each period is charged by itself."""
    account = book.budget(source)
    if account.unit not in ("user", f"user-{promised.period}"):
        raise UsageError(
            f"the budget of '{source}' is for each {account.unit}, and the series is by {promised.period}",
            f"open a source with the unit of the series, or with {argument('unit', 'user')}",
        )
    if account.unit != "user" and promised.unit == USER:
        raise UsageError(
            f"the budget of '{source}' is for each {account.unit}, and the series promises more: a user over all",
            f"charge a source that counts per user, or pass {argument('unit', 'user-period')}",
        )
    _, cost = pricing.price(plan.guarantee, account.neighbours, plan.draws)
    if cost is None or not left:
        return
    if account.unit != "user":
        for one in left:
            account.of(one.name).refuse_unless_affordable(cost, plan.guarantee)
        return
    after = account.sums
    account.refuse_unless_affordable(cost, plan.guarantee)
    for _ in left:
        after = after.and_then(cost)
    if account.rule.fits(after):
        return
    wanted, there = account.rule.spent(after), account.rule.left(account.sums).amount
    finite = math.isfinite(wanted.epsilon)
    comes_to = f"comes to {wanted}" if finite else f"no epsilon covers at delta {wanted.delta:g}"
    raise BudgetError(
        f"the series charges {len(left):,} times {cost}, which {comes_to} with what was spent; the budget of "
        f"'{source}' is {account.budget}, and {there} of it are left",
        "lower epsilon and delta, choose fewer or longer periods, or open the "
        f"source of a new log with {argument('repeated')}",
        requested={"delta": wanted.delta} | ({"epsilon": wanted.epsilon} if finite else {}),
        remaining={"epsilon": there.epsilon, "delta": there.delta},
    )
