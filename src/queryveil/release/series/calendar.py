"""The calendar of a series: days, weeks or months in UTC, between two dates that its curator names.

Which periods there are must not depend on the log: a first and a last day that were read off it would tell when
somebody searched. So both are given, and periods without a single search are published too.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from queryveil.errors import UsageError, argument, instead
from queryveil.release import clock

DAY, WEEK, MONTH = "day", "week", "month"
PERIODS = (DAY, WEEK, MONTH)
_MOST = 3_700
"""Ten years of days."""


@dataclass(frozen=True)
class Period:
    """One part of the calendar: from the first moment of a day to the first moment of another."""

    name: str
    first: datetime.date
    after: datetime.date
    """The first day that no longer belongs to it."""

    @property
    def last(self) -> datetime.date:
        """The last day that belongs to it."""
        return self.after - datetime.timedelta(days=1)

    @property
    def start(self) -> datetime.datetime:
        return datetime.datetime.combine(self.first, datetime.time())

    @property
    def end(self) -> datetime.datetime:
        return datetime.datetime.combine(self.after, datetime.time())


@dataclass(frozen=True, kw_only=True)
class Calendar:
    """All periods of one kind from a first to a last day, both of which belong to it."""

    period: str
    first: datetime.date
    last: datetime.date

    @classmethod
    def of(cls, period: str, first: object, last: object) -> Calendar:
        """From dates, or texts such as 2026-01-31."""
        if period not in PERIODS:
            raise UsageError(f"there is no period '{period}'", instead(period, PERIODS))
        made = cls(period=period, first=_date(first, _check_first), last=_date(last, _check_last))
        made.periods()
        return made

    def periods(self) -> list[Period]:
        """In their order; the calendar must begin and end with whole ones."""
        if self.last < self.first:
            raise UsageError(
                "the series ends before it begins",
                f"pass a {_check_last()} that is not before {_check_first()}",
            )
        found, first = [], _period_start(self.period, self.first)
        if first != self.first:
            raise UsageError(
                f"the series begins within a {self.period}",
                f"pass {_check_first(first)} or {_check_first(_next_start(self.period, first))}",
            )
        while first <= self.last:
            after = _next_start(self.period, first)
            found.append(Period(_period_name(self.period, first), first, after))
            first = after
            if len(found) > _MOST:
                raise UsageError(f"the series has more than {_MOST:,} periods", "choose longer periods")
        if first != self.last + datetime.timedelta(days=1):
            before, ends = found[-1].first - datetime.timedelta(days=1), first - datetime.timedelta(days=1)
            raise UsageError(
                f"the series ends within a {self.period}",
                f"pass {_check_last(ends)} or an earlier end such as {before}",
            )
        return found

    def refuse_future(self) -> None:
        """Raise UsageError unless every period has ended by the system clock."""
        now = clock.utc_now().replace(tzinfo=None)
        periods = self.periods()
        future = [one for one in periods if one.end > now]
        if not future:
            return
        before = future[0].first - datetime.timedelta(days=1)
        earlier = _check_last(before)
        if len(future) == len(periods):
            earlier = f"an earlier {_check_first()} and {_check_last()}"
        raise UsageError(
            f"the {self.period} {future[0].name} has not ended: it ends at {future[0].end:%Y-%m-%d %H:%M} UTC",
            f"pass {earlier}, or wait until it has ended",
        )


def named(name: str) -> tuple[str, Period]:
    """The kind of period that has this name, and the period: each has one name only, so that none is counted twice."""
    for period, layout, tail in ((DAY, "%Y-%m-%d", ""), (WEEK, "%G-W%V-%u", "-1"), (MONTH, "%Y-%m", "")):
        try:
            first = datetime.datetime.strptime(f"{name}{tail}", layout).date()
            found = Period(_period_name(period, first), first, _next_start(period, first))
        except (ValueError, OverflowError):
            continue
        if found.name == name:
            return period, found
    raise UsageError(
        "there is no such day, week or month", "name a period such as 2026-01-31, 2026-W05 or 2026-01"
    )


def _date(given: object, name_it: Callable[[datetime.date | None], str]) -> datetime.date:
    example = name_it(datetime.date(2026, 1, 31))
    if isinstance(given, datetime.datetime) or given is None:
        raise UsageError(f"a series needs {name_it(None)}, a day in UTC", f"pass {example}")
    if isinstance(given, datetime.date):
        return given
    try:
        return datetime.datetime.strptime(str(given), "%Y-%m-%d").date()
    except ValueError:
        raise UsageError(f"{name_it(None)} is not a date", f"pass a day such as {example}") from None


def _period_start(period: str, day: datetime.date) -> datetime.date:
    if period == WEEK:
        return day - datetime.timedelta(days=day.weekday())
    return day.replace(day=1) if period == MONTH else day


def _next_start(period: str, first: datetime.date) -> datetime.date:
    if period == MONTH:
        return (first.replace(day=28) + datetime.timedelta(days=4)).replace(day=1)
    return first + datetime.timedelta(days=7 if period == WEEK else 1)


def _period_name(period: str, first: datetime.date) -> str:
    if period == WEEK:
        year, week, _ = first.isocalendar()
        return f"{year}-W{week:02d}"
    return f"{first:%Y-%m}" if period == MONTH else first.isoformat()


def _check_first(day: datetime.date | None = None) -> str:
    return argument("start", day and str(day), option="from")


def _check_last(day: datetime.date | None = None) -> str:
    return argument("end", day and str(day), option="to")
