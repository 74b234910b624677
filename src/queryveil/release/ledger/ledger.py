"""The budget ledger: append-only events, charged before anything is drawn and never refunded.

What a source log has paid is the sum of its events; docs/proofs/composition.md proves the rules. The ledger
holds names and numbers only, no query and nothing else of a log.
"""

from __future__ import annotations

import dataclasses
import datetime
import getpass
import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from queryveil.errors import BudgetError, UsageError, argument, nearest
from queryveil.privacy.draws import Draw
from queryveil.privacy.guarantee import ADD_REMOVE, REPLACE, Guarantee
from queryveil.reading.text import normalise
from queryveil.release import clock
from queryveil.release.ledger import pricing, seals, verifying
from queryveil.release.ledger.accounts import PERIODS, Account, Event, timestamp
from queryveil.release.ledger.amounts import Amount
from queryveil.release.ledger.pricing import number
from queryveil.release.ledger.schema import OPTIONAL, tables
from queryveil.release.ledger.store import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Account", "Amount", "Event", "Ledger"]

_NEIGHBOURS = (REPLACE, ADD_REMOVE)
_LONGEST_NAME = 200
_EMPTY = dict.fromkeys(OPTIONAL)
WHO = "QUERYVEIL_WHO"
"""The environment variable that says who charges, where the name of the account does not: of a service, say."""
ONLY_COMPOSABLE = "only-composable"
"""The terms of a source that refuses releases which no budget limits."""
_GAUSSIAN_SHARE = "gaussian="
"""The terms of a source that keeps a share of its budget for Gaussian releases begin so."""
_REPEATED = "repeated"
"""The terms of a source whose releases are all like the first one."""
_UNIT = "unit="
"""The terms of a source whose budget is for a user in one period, and not for a user, begin so."""

# -- the ledger ----------------------------------------------------------------------------------------------


class Ledger:
    """Budgets of source logs in one SQLite file (a plain path), or in a database named by a URL."""

    def __init__(self, url_or_path: str | os.PathLike[str], *, wait: float = 30) -> None:
        """`wait`: how many seconds to wait for another process that is charging."""
        if not isinstance(url_or_path, str | os.PathLike):
            raise UsageError(
                f"a ledger is named by a path or an address, not by {type(url_or_path).__name__}",
                "write it like Ledger('ledger.db')",
            )
        self._store = Store(str(url_or_path), wait)

    def open(
        self,
        source: str,
        *,
        epsilon: float,
        delta: float,
        neighbours: str = REPLACE,
        only_composable: bool = False,
        gaussian: float | None = None,
        repeated: bool = False,
        unit: str = "user",
    ) -> None:
        """Give a source log its budget, once and for all; the file is made if it is missing.

        With `only_composable` every release that no budget limits is refused for this source. `gaussian` is the share
        of the budget that is kept for Gaussian releases, 0 to count them like others; without it, all share one pool.
        With `repeated` every release must be like the first one or give away less; more of them then fit. A `unit` of
        user-day, user-week or user-month gives each user that budget in every such period.
        """
        _check_name("the name of a source log", source)
        budget = Amount(epsilon=number("epsilon", epsilon), delta=number("delta", delta))
        if not budget.epsilon > 0:
            raise UsageError(
                f"epsilon must be above 0; got {epsilon}", f"pass a budget such as {argument('epsilon', 2)}"
            )
        if not 0 <= budget.delta < 1:
            raise UsageError(
                f"delta must be at least 0 and below 1; got {delta}", f"pass {argument('delta', 1e-6)}"
            )
        if neighbours not in _NEIGHBOURS:
            raise UsageError("no such neighbour relation", f"use one of {', '.join(_NEIGHBOURS)}")
        terms = _budget_terms(
            budget, only_composable=only_composable, gaussian=gaussian, repeated=repeated, unit=unit
        )
        row = {"source": source, "neighbours": neighbours, "opened": timestamp(clock.utc_now())}
        row |= {"epsilon": repr(budget.epsilon), "delta": repr(budget.delta)}

        def write(connection: Connection) -> None:
            if self._budget_rows(connection, source):
                raise UsageError(
                    f"source '{source}' has a budget already in {self._store.name}",
                    f"a budget is never changed: charge it, or choose another {argument('source')} for new data",
                )
            self._refuse_same_in_other_case(connection, source)
            self._chains(connection)
            connection.execute(tables().budgets.insert().values(row))
            seals.add(connection, source, 0, seals.of_budget(row, terms), terms)

        self._store.fill(write)

    def charge(
        self,
        source: str,
        method: str,
        guarantee: Guarantee,
        *,
        draws: Sequence[Draw] = (),
        period: str | None = None,
        recipe: str | None = None,
        who: str | None = None,
    ) -> int:
        """Append the event of one release, or refuse; call this before any noise is drawn.

        When it returns, the event is on disk. It stays there whatever becomes of the release. `draws` are those that
        its plan declares; `period` is the part of a series that it is for, `recipe` the name of what it was made
        from, and `who` defaults to the account that runs this.
        """
        _check_name("the name of a method", method)
        who = who or _account_name()
        for what, given in (("the name of who charges", who), ("the name of a recipe", recipe)):
            if given is not None:
                _check_name(what, given)
        with self._store.transaction(write=True) as connection:
            account = self._account(connection, source).of(_checked_period(period))
            kind, cost = pricing.price(guarantee, account.neighbours, draws)
            if cost is not None:
                account.refuse_unless_affordable(cost, guarantee)
            elif account.only_composable:
                raise _not_limited(source, guarantee)
            row: dict[str, Any] = {
                "source": source,
                "method": method,
                "headline": guarantee.headline,
                "kind": kind,
            }
            if cost is not None:
                row |= {"epsilon": repr(cost.epsilon), "delta": repr(cost.delta)}
                row |= {name: repr(value) for name, value in zip(("mu", "p"), cost.shift or (), strict=False)}
                row |= {"losses": pricing.written(cost.losses)}
            row |= {"time": timestamp(clock.utc_now()), "who": who, "recipe": recipe, "period": period}
            row |= {"neighbours": guarantee.neighbours}
            chain = self._chains(connection)[source]
            row["id"] = self._store.next_number(connection)
            connection.execute(tables().events.insert().values(row))
            seals.add(connection, source, len(chain), seals.of_event(chain[-1], _EMPTY | row))
        return int(row["id"])

    def after(
        self,
        source: str,
        method: str,
        guarantee: Guarantee,
        *,
        draws: Sequence[Draw] = (),
        period: str | None = None,
    ) -> Account:
        """The account as it would be after such a release, or the refusal that it would meet. Nothing is written."""
        account = self.budget(source).of(_checked_period(period))
        kind, cost = pricing.price(guarantee, account.neighbours, draws)
        if cost is not None:
            account.refuse_unless_affordable(cost, guarantee)
        elif account.only_composable:
            raise _not_limited(source, guarantee)
        event = Event(
            id=0,
            time=clock.utc_now(),
            method=method,
            headline=guarantee.headline,
            kind=kind,
            epsilon=None if cost is None else cost.epsilon,
            delta=None if cost is None else cost.delta,
            mu=None if cost is None else cost.mu,
            p=None if cost is None else cost.p,
            losses=None if cost is None else cost.losses,
            composable=cost is not None,
        )
        return dataclasses.replace(account, events=(*account.events, event))

    def show(self, source: str | None = None) -> list[Account]:
        """All accounts by name, or the one of a source."""
        with self._store.transaction(write=False) as connection:
            if source is not None:
                return [self._account(connection, source)]
            names = [row.source for row in self._budget_rows(connection, None)]
            return [self._account(connection, name) for name in names]

    def budget(self, source: str) -> Account:
        """The account of one source."""
        return self.show(source)[0]

    def verify(self) -> verifying.Findings:
        """Every row against its seal: what was found, and where a chain breaks."""
        return verifying.findings(self._store)

    def _refuse_same_in_other_case(self, connection: Connection, source: str) -> None:
        """Two budgets whose names differ in case alone are, as a rule, two for the same people."""
        folded = normalise(source)
        same = [row.source for row in self._budget_rows(connection, None) if normalise(row.source) == folded]
        if same:
            raise UsageError(
                f"{self._store.name} has the source '{same[0]}' already, whose name differs only in case or spacing",
                f"charge '{same[0]}', or choose a name that nobody takes for it",
            )

    # -- rows ------------------------------------------------------------------------------------------------

    def _budget_rows(self, connection: Connection, source: str | None) -> list[Any]:
        budgets = tables().budgets
        query = budgets.select().order_by(budgets.c.source)
        if source is not None:
            query = query.where(budgets.c.source == source)
        return list(connection.execute(query))

    def _account(self, connection: Connection, source: str) -> Account:
        _check_name("the name of a source log", source)
        # Of all sources: one that lost its budget must not look like one that never had any.
        self._chains(connection)
        rows = self._budget_rows(connection, source)
        if not rows:
            others = [row.source for row in self._budget_rows(connection, None)]
            raise UsageError(
                f"{self._store.name} has no source '{source}'",
                # Never how to open it: a slip of the pen must not end in a second budget for the same people.
                nearest(source, others) or f"use one of {', '.join(others)}",
            )
        found = connection.execute(seals.rows(source)).all()
        terms = found[0].terms.split()
        try:
            return Account(
                source=source,
                neighbours=rows[0].neighbours,
                budget=Amount(epsilon=_parse_number(rows[0].epsilon), delta=_parse_number(rows[0].delta)),
                events=tuple(_to_event(row) for row in self._events(connection, source)),
                only_composable=ONLY_COMPOSABLE in terms,
                gaussian_share=_gaussian_share(terms),
                repeated=_REPEATED in terms,
                unit=next((one.removeprefix(_UNIT) for one in terms if one.startswith(_UNIT)), "user"),
                head=found[-1].digest,
            )
        except (TypeError, ValueError):
            raise self._store.damaged("a row holds no number or time where one belongs") from None

    def _chains(self, connection: Connection) -> dict[str, list[str]]:
        """Compute all digests anew and compare them: a row that was changed, added or removed does not fit them."""
        chains = verifying.recomputed(self._store, connection)
        if chains != verifying.found(connection):
            raise self._store.damaged("a row is not as it was written")
        return chains

    def _events(self, connection: Connection, source: str | None) -> list[Any]:
        return verifying.events(connection, source)


# -- terms and names -----------------------------------------------------------------------------------------


def _budget_terms(
    budget: Amount, *, only_composable: bool, gaussian: float | None, repeated: bool, unit: str
) -> str:
    """What a source was opened with, as its first seal has it."""
    terms = [ONLY_COMPOSABLE] if only_composable else []
    if repeated and gaussian is not None:
        raise UsageError(
            "a source whose releases are all like the first keeps no share for Gaussian ones",
            f"leave out {argument('gaussian')}",
        )
    terms += [_REPEATED] if repeated else []
    if unit != "user" and unit not in PERIODS:
        raise UsageError("no such unit of privacy", f"use one of user, {', '.join(PERIODS)}")
    terms += [f"{_UNIT}{unit}"] if unit != "user" else []
    if gaussian is not None:
        share = number("the share for Gaussian releases", gaussian)
        if not 0 <= share <= 1:
            raise UsageError(
                f"the share for Gaussian releases must be from 0 to 1; got {gaussian}",
                f"pass {argument('gaussian', 0.5)}",
            )
        if share and not budget.delta:
            raise UsageError(
                "Gaussian releases need a delta, and this budget has none",
                f"pass a {argument('delta')} such as 1e-6",
            )
        terms.append(f"{_GAUSSIAN_SHARE}{share!r}")
    return " ".join(terms)


def _gaussian_share(terms: list[str]) -> float | None:
    """The share that is kept for Gaussian releases, of the terms of a source."""
    found = [one.removeprefix(_GAUSSIAN_SHARE) for one in terms if one.startswith(_GAUSSIAN_SHARE)]
    return _parse_number(found[0]) if found else None


def _check_name(what: str, given: str) -> None:
    if not given or given != given.strip() or not given.isprintable() or len(given) > _LONGEST_NAME:
        raise UsageError(
            f"{what} must be 1 to {_LONGEST_NAME} printable characters without spaces at its ends",
            "choose a short name such as web-2006",
        )


def _not_limited(source: str, guarantee: Guarantee) -> BudgetError:
    return BudgetError(
        f"no budget limits a release with '{guarantee.headline}', and '{source}' was opened for releases that add up "
        "only",
        "choose a method whose guarantee adds up, such as zealous, or open another source for new data",
    )


# -- rows and text -------------------------------------------------------------------------------------------


def _to_event(row: Any) -> Event:
    composable = row.epsilon is not None
    return Event(
        id=row.id,
        time=datetime.datetime.fromisoformat(row.time),
        method=row.method,
        headline=row.headline,
        kind=row.kind,
        epsilon=_parse_number(row.epsilon) if composable else None,
        delta=_parse_number(row.delta) if composable else None,
        mu=None if row.mu is None else _parse_number(row.mu),
        p=None if row.p is None else _parse_number(row.p),
        losses=pricing.read(row.losses),
        who=row.who,
        recipe=row.recipe,
        period=row.period,
        neighbours=row.neighbours,
        composable=composable,
    )


def _parse_number(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError
    return number


def _checked_period(given: str | None) -> str | None:
    if given is not None:
        _check_name("the name of a period", given)
    return given


def _account_name() -> str:
    """Who runs this, as the operating system or the environment says."""
    named = os.environ.get(WHO, "").strip()
    try:
        named = named or getpass.getuser()
    except (KeyError, OSError, ImportError):
        named = named or "unknown"
    shown = "".join(one if one.isprintable() else "?" for one in named)[:_LONGEST_NAME].strip()
    return shown or "unknown"
