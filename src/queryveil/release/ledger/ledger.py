"""The budget ledger: append-only events, charged before anything is drawn and never refunded.

What a source log has paid is the sum of its events; docs/proofs/composition.md proves the rules. The ledger
holds names and numbers only, no query and nothing else of a log.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from typing import TYPE_CHECKING, Any

from queryveil.errors import BudgetError, CannotCompose, UsageError, nearest
from queryveil.privacy.guarantee import ADD_REMOVE, GAUSSIAN, PROBABILISTIC, PURE, REPLACE, Guarantee
from queryveil.release.ledger import seals
from queryveil.release.ledger.accounts import Account, Event, timestamp
from queryveil.release.ledger.rules import Amount, Cost
from queryveil.release.ledger.store import Store, tables

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Account", "Amount", "Event", "Ledger"]

_NEIGHBOURS = (REPLACE, ADD_REMOVE)
_LONGEST_NAME = 200
_NUMBERS = ("epsilon", "delta", "mu", "p")
ONLY_COMPOSABLE = "only-composable"
"""The terms of a source that refuses releases which no budget limits."""
_GAUSSIAN_SHARE = "gaussian="
"""The terms of a source that keeps a share of its budget for Gaussian releases begin so."""

# -- the ledger ----------------------------------------------------------------------------------------------


class Ledger:
    """Budgets of source logs in one SQLite file (a plain path), or in a database named by a URL."""

    def __init__(self, url_or_path: str, *, wait: float = 30) -> None:
        """`wait`: how many seconds to wait for another process that is charging."""
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
    ) -> None:
        """Give a source log its budget, once and for all; the file is made if it is missing.

        With `only_composable` every release that no budget limits is refused for this source. `gaussian` is the share
        of the budget that is kept for Gaussian releases, 0 to count them like others; without it, all share one pool.
        """
        _check_name("the name of a source log", source)
        budget = Amount(epsilon=_number("epsilon", epsilon), delta=_number("delta", delta))
        if not budget.epsilon > 0:
            raise UsageError(f"epsilon must be above 0; got {epsilon}", "pass a budget such as --epsilon 2")
        if not 0 <= budget.delta < 1:
            raise UsageError(f"delta must be at least 0 and below 1; got {delta}", "pass --delta 1e-6")
        if neighbours not in _NEIGHBOURS:
            raise UsageError("no such neighbour relation", f"use one of {', '.join(_NEIGHBOURS)}")
        terms = _terms(budget, only_composable=only_composable, gaussian=gaussian)
        row = {"source": source, "neighbours": neighbours, "opened": timestamp(_now())}
        row |= {"epsilon": repr(budget.epsilon), "delta": repr(budget.delta)}

        def write(connection: Connection) -> None:
            if self._budget_rows(connection, source):
                raise UsageError(
                    f"source '{source}' has a budget already in {self._store.name}",
                    "a budget is never changed: charge it, or choose another --source for new data",
                )
            self._chains(connection)
            connection.execute(tables().budgets.insert().values(row))
            seals.add(connection, source, 0, seals.of_budget(row, terms), terms)

        self._store.fill(write)

    def charge(self, source: str, method: str, guarantee: Guarantee) -> int:
        """Append the event of one release, or refuse; call this before any noise is drawn.

        When it returns, the event is on disk. It stays there whatever becomes of the release.
        """
        _check_name("the name of a method", method)
        with self._store.transaction(write=True) as connection:
            account = self._account(connection, source, lock=True)
            kind, cost = _price(guarantee, account.neighbours)
            if cost is not None:
                account.refuse_unless_affordable(cost, guarantee)
            elif account.only_composable:
                raise BudgetError(
                    f"no budget limits a release with '{guarantee.headline}', and '{source}' was opened for releases "
                    "that add up only",
                    "choose a method whose guarantee adds up, such as zealous, or open another source for new data",
                )
            row = {"source": source, "method": method, "headline": guarantee.headline, "kind": kind}
            if cost is not None:
                row |= {"epsilon": repr(cost.epsilon), "delta": repr(cost.delta)}
                row |= {name: repr(value) for name, value in zip(("mu", "p"), cost.shift or (), strict=False)}
            row["time"] = timestamp(_now())
            chain = self._chains(connection)[source]
            added = connection.execute(tables().events.insert().values(row))
            key = added.inserted_primary_key
            number = int(key[0]) if key else 0
            digest = seals.of_event(chain[-1], dict.fromkeys(_NUMBERS) | {"id": number} | row)
            seals.add(connection, source, len(chain), digest)
        return number

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

    # -- rows ------------------------------------------------------------------------------------------------

    def _budget_rows(self, connection: Connection, source: str | None, *, lock: bool = False) -> list[Any]:
        budgets = tables().budgets
        query = budgets.select().order_by(budgets.c.source)
        if source is not None:
            query = query.where(budgets.c.source == source)
        # Two charges to one source take turns: here on a server, by BEGIN IMMEDIATE on SQLite.
        return list(connection.execute(query.with_for_update() if lock else query))

    def _account(self, connection: Connection, source: str, *, lock: bool = False) -> Account:
        _check_name("the name of a source log", source)
        sealed = self._store.sealed(connection)
        if sealed:
            # Of all sources: one that lost its budget must not look like one that never had any.
            self._check_seals(connection)
        rows = self._budget_rows(connection, source, lock=lock)
        if not rows:
            others = [row.source for row in self._budget_rows(connection, None)]
            raise UsageError(
                f"{self._store.name} has no source '{source}'",
                nearest(source, others) or self._store.way_to_open(source),
            )
        found = connection.execute(seals.rows(source)).all() if sealed else []
        terms = found[0].terms.split() if found else []
        try:
            return Account(
                source=source,
                neighbours=rows[0].neighbours,
                budget=Amount(epsilon=_stored(rows[0].epsilon), delta=_stored(rows[0].delta)),
                events=tuple(_event(row) for row in self._events(connection, source)),
                only_composable=ONLY_COMPOSABLE in terms,
                gaussian_share=_share(terms),
                sealed=sealed,
            )
        except (TypeError, ValueError):
            raise self._store.damaged("a row holds no number or time where one belongs") from None

    def _check_seals(self, connection: Connection) -> None:
        """Compute all digests anew: a row that was changed, added or taken away does not fit them."""
        expected = {source: chain for source, chain in self._recomputed(connection).items() if chain}
        found: dict[str, list[str]] = {}
        for row in connection.execute(seals.rows()):
            chain = found.setdefault(row.source, [])
            chain.append(row.digest if row.number == len(chain) else "")
        if expected != found:
            raise self._store.damaged("a row is not as it was written")

    def _recomputed(self, connection: Connection) -> dict[str, list[str]]:
        """For each source the digests that its rows must have: that of its budget, and those of its events."""
        terms = {}
        if self._store.sealed(connection):
            terms = {row.source: row.terms for row in connection.execute(seals.rows()) if row.number == 0}
        chains = {
            row.source: [seals.of_budget(row._asdict(), terms.get(row.source, ""))]
            for row in self._budget_rows(connection, None)
        }
        for event in self._events(connection, None):
            if event.source not in chains:
                raise self._store.damaged("an event has no budget that it belongs to")
            chain = chains[event.source]
            chain.append(seals.of_event(chain[-1], event._asdict()))
        return chains

    def _chains(self, connection: Connection) -> dict[str, list[str]]:
        """The digests of all rows, checked; a ledger of the old format gets them now."""
        if self._store.sealed(connection):
            self._check_seals(connection)
        unsealed = self._store.update(connection)
        chains = self._recomputed(connection)
        for source, chain in chains.items() if unsealed else ():
            for number, digest in enumerate(chain):
                seals.add(connection, source, number, digest)
        return chains

    def _events(self, connection: Connection, source: str | None) -> list[Any]:
        """Events in their order, of one source or of all; an older ledger has none with mu and p."""
        import sqlalchemy

        events = tables().events
        columns: list[Any] = [column for column in events.c if column.name not in ("mu", "p")]
        if self._store.has_shifts(connection):
            columns += [events.c.mu, events.c.p]
        else:
            columns += [sqlalchemy.null().label("mu"), sqlalchemy.null().label("p")]
        query = sqlalchemy.select(*columns).order_by(events.c.id)
        return list(connection.execute(query if source is None else query.where(events.c.source == source)))


# -- rules ---------------------------------------------------------------------------------------------------


def _price(guarantee: Guarantee, neighbours: str) -> tuple[str, Cost | None]:
    """Kind and cost of a release under the ledger's neighbour relation; None if it has no sum with others."""
    if not guarantee.composable:
        return guarantee.kind, None
    if guarantee.unit != "user":
        raise CannotCompose(
            f"this ledger counts per user, and '{guarantee.headline}' does not",
            "publish with a guarantee per user",
        )
    try:
        held = _restated(guarantee, neighbours)
    except OverflowError:
        raise CannotCompose(
            f"'{guarantee.headline}' is too weak to be restated against '{neighbours}'", "lower epsilon"
        ) from None
    cost = Cost(epsilon=_number("epsilon", held.epsilon), delta=_number("delta", held.delta))
    # A negative number would be a refund.
    if cost.epsilon < 0 or not 0 <= cost.delta <= 1 or (held.kind == PURE and cost.delta > 0):
        raise UsageError("the guarantee has an impossible epsilon or delta", "check the method")
    if held.kind == GAUSSIAN:
        cost = dataclasses.replace(cost, mu=_number("mu", held.mu), p=_number("p", held.p))
        if float(cost.mu or 0) < 0 or not 0 <= float(cost.p or 0) <= cost.delta:
            raise UsageError("the guarantee has an impossible mu or p", "check the method")
    return held.kind, cost


def _restated(guarantee: Guarantee, neighbours: str) -> Guarantee:
    """A probabilistic guarantee has no conversion of its own, but the approximate one it implies may."""
    try:
        return guarantee.against(neighbours)
    except CannotCompose as refusal:
        if guarantee.kind != PROBABILISTIC:
            raise
        try:
            return guarantee.approximate().against(neighbours)
        except CannotCompose:
            raise refusal from None


def _terms(budget: Amount, *, only_composable: bool, gaussian: float | None) -> str:
    """What a source was opened with, as its first seal has it."""
    terms = [ONLY_COMPOSABLE] if only_composable else []
    if gaussian is not None:
        share = _number("the share for Gaussian releases", gaussian)
        if not 0 <= share <= 1:
            raise UsageError(
                f"the share for Gaussian releases must be from 0 to 1; got {gaussian}", "pass --gaussian 0.5"
            )
        if share and not budget.delta:
            raise UsageError(
                "Gaussian releases need a delta, and this budget has none", "pass a --delta such as 1e-6"
            )
        terms.append(f"{_GAUSSIAN_SHARE}{share!r}")
    return " ".join(terms)


def _share(terms: list[str]) -> float | None:
    """The share that is kept for Gaussian releases, of the terms of a source."""
    found = [one.removeprefix(_GAUSSIAN_SHARE) for one in terms if one.startswith(_GAUSSIAN_SHARE)]
    return _stored(found[0]) if found else None


def _number(name: str, given: float | None) -> float:
    try:
        number = math.nan if given is None else float(given)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{name} must be a finite number; got {given}", f"pass a number as {name}")
    return number + 0.0  # -0.0 becomes 0.0


def _check_name(what: str, given: str) -> None:
    if not given or given != given.strip() or not given.isprintable() or len(given) > _LONGEST_NAME:
        raise UsageError(
            f"{what} must be 1 to {_LONGEST_NAME} printable characters without spaces at its ends",
            "choose a short name such as web-2006",
        )


# -- rows and text -------------------------------------------------------------------------------------------


def _event(row: Any) -> Event:
    composable = row.epsilon is not None
    return Event(
        id=row.id,
        time=datetime.datetime.fromisoformat(row.time),
        method=row.method,
        headline=row.headline,
        kind=row.kind,
        epsilon=_stored(row.epsilon) if composable else None,
        delta=_stored(row.delta) if composable else None,
        mu=None if row.mu is None else _stored(row.mu),
        p=None if row.p is None else _stored(row.p),
        composable=composable,
    )


def _stored(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError
    return number


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
