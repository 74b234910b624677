"""Seals of a ledger's rows: digests in a chain, so that a changed, added or missing row is noticed.

The first digest of a source is that of its budget; each event's is over the digest before it and the event. A seal
finds what happens to a file: a flipped bit, a lost row, an edit by hand. It has no key, so it does not stop whoever
rewrites rows and seals together, or puts back an older copy of the whole file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from queryveil.release.ledger.schema import OPTIONAL, tables

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

_BUDGET = ("source", "neighbours", "epsilon", "delta", "opened")
_EVENT = ("id", "source", "time", "method", "headline", "kind", *OPTIONAL)


def of_budget(row: Mapping[str, Any], terms: str) -> str:
    """The digest that the chain of a source begins with."""
    return _seal_digest("budget", terms, *(row[name] for name in _BUDGET))


def of_event(before: str, row: Mapping[str, Any]) -> str:
    """The digest of an event that comes after another digest."""
    return _seal_digest("event", before, *(row[name] for name in _EVENT))


def _seal_digest(*parts: Any) -> str:
    # JSON keeps apart what a plain joint would not: ("ab", "c") and ("a", "bc"), or 1 and "1".
    # What is no text or number was never written here: its digest only has to be another one.
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True, default=repr).encode()).hexdigest()


def add(connection: Connection, source: str, number: int, digest: str, terms: str = "") -> None:
    """Write the seal of a row."""
    row = {"source": source, "number": number, "digest": digest, "terms": terms}
    connection.execute(tables().seals.insert().values(row))


def rows(source: str | None = None) -> Select[Any]:
    """Seals in their order, of one source or of all."""
    seals = tables().seals
    query = seals.select().order_by(seals.c.source, seals.c.number)
    return query if source is None else query.where(seals.c.source == source)
