"""Checks a ledger row by row: which seals fit, and where a chain breaks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queryveil.errors import InputError
from queryveil.release.ledger import seals
from queryveil.release.ledger.schema import tables

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from queryveil.release.ledger.store import Store


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a check of a ledger found. It passes if there is no problem."""

    chains: Mapping[str, tuple[str, ...]]
    """The digests of each source: that of its budget, and those of its events."""
    problems: tuple[str, ...]

    @property
    def passes(self) -> bool:
        return not self.problems

    @property
    def heads(self) -> dict[str, dict[str, Any]]:
        """How many events each source has, and the last digest. Whoever keeps them elsewhere can tell later that
        nothing before them was rewritten."""
        return {
            source: {"events": len(chain) - 1, "head": chain[-1]} for source, chain in self.chains.items()
        }

    def since(self, kept: Mapping[str, Any]) -> Findings:
        """With what is no longer as an earlier export has it: a source that is gone, or a chain that was rewritten."""
        problems = list(self.problems)
        for source, before in sorted(kept.items()):
            count, chain = int(before["events"]), self.chains.get(source)
            if chain is None:
                problems.append(f"'{source}' is in the export and no longer in the ledger")
            elif len(chain) <= count:
                problems.append(
                    f"'{source}' had {count} events when it was exported and has {len(chain) - 1} now"
                )
            elif chain[count] != before["head"]:
                problems.append(f"'{source}': its first {count} events are not those that were exported")
        return dataclasses.replace(self, problems=tuple(problems))

    def as_dict(self) -> dict[str, Any]:
        return {
            "passes": self.passes,
            "sources": self.heads,
            "problems": list(self.problems),
        }


def findings(store: Store) -> Findings:
    """All problems of a ledger; what is no ledger at all is refused as ever."""
    try:
        with store.transaction(write=False) as connection:
            problems, expected = _compare_chains(store, connection)
    except InputError as error:
        damaged = f"{store.name} is damaged: "
        if not error.message.startswith(damaged):
            raise
        return Findings(chains={}, problems=(error.message.removeprefix(damaged),))
    chains = {source: tuple(chain) for source, chain in sorted(expected.items())}
    return Findings(chains=chains, problems=tuple(problems))


def _compare_chains(store: Store, connection: Connection) -> tuple[list[str], dict[str, list[str]]]:
    expected, there = recomputed(store, connection), found(connection)
    numbers: dict[str, list[int]] = {}
    for event in events(connection, None):
        numbers.setdefault(event.source, []).append(event.id)
    problems: list[str] = []
    for source in sorted({*expected, *there}):
        problems += _chain_breaks(
            source, expected.get(source, []), there.get(source, []), numbers.get(source, [])
        )
    return problems, expected


def _chain_breaks(source: str, expected: list[str], there: list[str], numbers: list[int]) -> list[str]:
    """Where the chain of a source first breaks: whatever comes after it cannot be told."""
    if not expected:
        return [f"'{source}' has seals and no budget: its budget was taken away"]
    if not there:
        return [f"'{source}' has no seals: they were taken away, or it was added by hand"]
    for place, (one, other) in enumerate(zip(expected, there, strict=False)):
        if one != other:
            what = f"event #{numbers[place - 1]}" if place else "the budget"
            return [f"'{source}': {what} is not as it was written, or a row before it is missing"]
    if len(expected) > len(there):
        return [f"'{source}': event #{numbers[len(there) - 1]} and later ones were added without a seal"]
    if len(expected) < len(there):
        return [f"'{source}': {len(there) - len(expected)} events at its end are missing"]
    return []


# -- rows ----------------------------------------------------------------------------------------------------


def found(connection: Connection) -> dict[str, list[str]]:
    """The seals that are there, for each source in their order; one that is out of place is empty."""
    chains: dict[str, list[str]] = {}
    for row in connection.execute(seals.rows()):
        chain = chains.setdefault(row.source, [])
        chain.append(row.digest if row.number == len(chain) else "")
    return chains


def recomputed(store: Store, connection: Connection) -> dict[str, list[str]]:
    """For each source the digests that its rows must have: that of its budget, and those of its events."""
    terms = {row.source: row.terms for row in connection.execute(seals.rows()) if row.number == 0}
    budgets = tables().budgets
    chains = {
        row.source: [seals.of_budget(row._asdict(), terms.get(row.source, ""))]
        for row in connection.execute(budgets.select().order_by(budgets.c.source))
    }
    for event in events(connection, None):
        if event.source not in chains:
            raise store.damaged("an event has no budget that it belongs to")
        chain = chains[event.source]
        chain.append(seals.of_event(chain[-1], event._asdict()))
    return chains


def events(connection: Connection, source: str | None) -> list[Any]:
    """Events in their order, of one source or of all."""
    rows = tables().events
    query = rows.select().order_by(rows.c.id)
    return list(connection.execute(query if source is None else query.where(rows.c.source == source)))
