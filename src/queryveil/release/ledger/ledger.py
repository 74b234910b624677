"""The budget ledger: append-only events, charged before anything is drawn and never refunded.

What a source log has paid is the sum of its events; docs/proofs/composition.md proves the rules. The ledger
holds names and numbers only, no query and nothing else of a log.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import TYPE_CHECKING, Any

from queryveil.errors import BudgetError, CannotCompose, UsageError, nearest
from queryveil.privacy.guarantee import ADD_REMOVE, APPROXIMATE, PROBABILISTIC, PURE, REPLACE, Guarantee
from queryveil.release.ledger import seals
from queryveil.release.ledger.store import Store, tables

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

__all__ = ["Account", "Amount", "Event", "Ledger"]

_NEIGHBOURS = (REPLACE, ADD_REMOVE)
_LONGEST_NAME = 200
ONLY_COMPOSABLE = "only-composable"
"""The terms of a source that refuses releases which no budget limits."""

# Any sum of doubles, from 5e-324 to 1.8e308, has fewer digits than this; a sum that had more would raise.
_EXACT = Context(prec=1000, traps=[Inexact, InvalidOperation])


# -- values --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A pair of epsilon and delta: a budget, or what was taken from it, or what is left."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"epsilon {_words(self.epsilon)} and delta {_words(self.delta)}"


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
    composable: bool

    @property
    def cost(self) -> Amount | None:
        """What it took from the budget, under the ledger's neighbour relation; None if no budget limits it."""
        if self.epsilon is None or self.delta is None:
            return None
        return Amount(epsilon=self.epsilon, delta=self.delta)

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {"time": _timestamp(self.time)}


@dataclass(frozen=True, kw_only=True)
class Account:
    """The budget of one source log and everything that was charged to it."""

    source: str
    neighbours: str
    budget: Amount
    events: tuple[Event, ...] = ()
    only_composable: bool = False
    """Releases that no budget limits are refused: k-anonymity, no guarantee, or one given the shape."""
    sealed: bool = True
    """Rows have digests, so that a changed one is noticed; an older ledger gets them with its next charge."""

    @property
    def spent(self) -> Amount:
        return Amount(epsilon=float(self._spent("epsilon")), delta=float(self._spent("delta")))

    @property
    def left(self) -> Amount:
        return Amount(epsilon=float(self._left("epsilon")), delta=float(self._left("delta")))

    @property
    def kind(self) -> str | None:
        """The kind of everything private together: the weakest one; None as long as nothing was charged."""
        kinds = {event.kind for event in self.events if event.composable}
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
        return {
            "source": self.source,
            "neighbours": self.neighbours,
            "kind": self.kind,
            "budget": dataclasses.asdict(self.budget),
            "spent": dataclasses.asdict(self.spent),
            "left": dataclasses.asdict(self.left),
            "not_composable": self.not_composable,
            "only_composable": self.only_composable,
            "sealed": self.sealed,
            "events": [event.as_dict() for event in self.events],
        }

    def refuse_unless_affordable(self, cost: Amount) -> None:
        """Compare decimals as they are printed: ten times 0.1 fit into 1."""
        missing = {
            name: _EXACT.subtract(_decimal(getattr(cost, name)), self._left(name))
            for name in ("epsilon", "delta")
        }
        short = [name for name, value in missing.items() if value > 0]
        if short:
            by = " and ".join(f"{name} {_words(missing[name])}" for name in short)
            raise BudgetError(
                f"the release needs {cost}, the ledger has {self.left} left for '{self.source}' "
                f"(short by {by})",
                f"lower {short[0]}, or open a new ledger for new data",
            )

    def _spent(self, name: str) -> Decimal:
        return _exact_sum(getattr(event, name) for event in self.events if event.composable)

    def _left(self, name: str) -> Decimal:
        return _EXACT.subtract(_decimal(getattr(self.budget, name)), self._spent(name))


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
    ) -> None:
        """Give a source log its budget, once and for all; the file is made if it is missing.

        With `only_composable` every release that no budget limits is refused for this source.
        """
        _check_name("the name of a source log", source)
        budget = Amount(epsilon=_number("epsilon", epsilon), delta=_number("delta", delta))
        if not budget.epsilon > 0:
            raise UsageError(f"epsilon must be above 0; got {epsilon}", "pass a budget such as --epsilon 2")
        if not 0 <= budget.delta < 1:
            raise UsageError(f"delta must be at least 0 and below 1; got {delta}", "pass --delta 1e-6")
        if neighbours not in _NEIGHBOURS:
            raise UsageError("no such neighbour relation", f"use one of {', '.join(_NEIGHBOURS)}")
        row = {"source": source, "neighbours": neighbours, "opened": _timestamp(_now())}
        row |= {"epsilon": repr(budget.epsilon), "delta": repr(budget.delta)}

        def write(connection: Connection) -> None:
            if self._budget_rows(connection, source):
                raise UsageError(
                    f"source '{source}' has a budget already in {self._store.name}",
                    "a budget is never changed: charge it, or choose another --source for new data",
                )
            self._chains(connection)
            connection.execute(tables().budgets.insert().values(row))
            terms = ONLY_COMPOSABLE if only_composable else ""
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
                account.refuse_unless_affordable(cost)
            elif account.only_composable:
                raise BudgetError(
                    f"no budget limits a release with '{guarantee.headline}', and '{source}' was opened for releases "
                    "that add up only",
                    "choose a method whose guarantee adds up, such as zealous, or open another source for new data",
                )
            row = {"source": source, "method": method, "headline": guarantee.headline, "kind": kind}
            if cost is not None:
                row |= {"epsilon": repr(cost.epsilon), "delta": repr(cost.delta)}
            row["time"] = _timestamp(_now())
            chain = self._chains(connection)[source]
            added = connection.execute(tables().events.insert().values(row))
            key = added.inserted_primary_key
            number = int(key[0]) if key else 0
            digest = seals.of_event(chain[-1], {"id": number, "epsilon": None, "delta": None} | row)
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
        try:
            return Account(
                source=source,
                neighbours=rows[0].neighbours,
                budget=Amount(epsilon=_stored(rows[0].epsilon), delta=_stored(rows[0].delta)),
                events=tuple(_event(row) for row in connection.execute(_events_of(source))),
                only_composable=bool(found) and found[0].terms == ONLY_COMPOSABLE,
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
        for event in connection.execute(_events_of(None)):
            if event.source not in chains:
                raise self._store.damaged("an event has no budget that it belongs to")
            chain = chains[event.source]
            chain.append(seals.of_event(chain[-1], event._asdict()))
        return chains

    def _chains(self, connection: Connection) -> dict[str, list[str]]:
        """The digests of all rows, checked; a ledger of the old format gets them now."""
        if self._store.sealed(connection):
            self._check_seals(connection)
            return self._recomputed(connection)
        self._store.add_seals(connection)
        chains = self._recomputed(connection)
        for source, chain in chains.items():
            for number, digest in enumerate(chain):
                seals.add(connection, source, number, digest)
        return chains


# -- rules ---------------------------------------------------------------------------------------------------


def _price(guarantee: Guarantee, neighbours: str) -> tuple[str, Amount | None]:
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
    cost = Amount(epsilon=_number("epsilon", held.epsilon), delta=_number("delta", held.delta))
    # A negative number would be a refund.
    if cost.epsilon < 0 or not 0 <= cost.delta <= 1 or (held.kind == PURE and cost.delta > 0):
        raise UsageError("the guarantee has an impossible epsilon or delta", "check the method")
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


def _events_of(source: str | None) -> Select[Any]:
    """Events in their order, of one source or of all."""
    events = tables().events
    query = events.select().order_by(events.c.id)
    return query if source is None else query.where(events.c.source == source)


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
        composable=composable,
    )


def _stored(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError
    return number


def _decimal(number: float) -> Decimal:
    """The decimal that is printed for a number and that people mean by it: 0.1 is a tenth."""
    return Decimal(repr(float(number)))


def _exact_sum(numbers: Iterable[float]) -> Decimal:
    """Without any rounding: a delta of 1e-300 beside one of 0.1 still counts."""
    total = Decimal(0)
    for number in numbers:
        total = _EXACT.add(total, _decimal(number))
    return total


def _words(number: float | Decimal) -> str:
    return f"{float(number):.12g}"


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _timestamp(time: datetime.datetime) -> str:
    return time.astimezone(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
