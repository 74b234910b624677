"""Which of a user's items count: at most m distinct ones, chosen from that user's own rows alone.

The choice orders a user's distinct items by a key and keeps the first m. The key is a function of the user's
rows and of constants (the salt); the item itself breaks ties, so the order is total and no engine can let one
user's rows change what another keeps. That is all the privacy proofs need of this module, for every salt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from queryveil.count.item_kinds import ItemKind
from queryveil.errors import InputError, UsageError, instead

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.engine import Engine
    from queryveil.reading.log import SearchLog

KEEP = ("random", "first", "frequent")
ORDER_KEYS = ("engine", "portable")

_PORTABLE_DIGITS = 12
"""Hexadecimal digits of SHA-256 that order items: 48 bits, ties broken by the item."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """At most `most` distinct items of a kind per user, kept by a rule."""

    most: int
    keep: str = "random"
    salt: bytes = b""
    order_key: str = "engine"

    def __post_init__(self) -> None:
        if self.keep not in KEEP:
            raise UsageError(f"there is no rule '{self.keep}' to keep items", instead(self.keep, KEEP))
        if self.order_key not in ORDER_KEYS:
            raise UsageError(f"there is no order key '{self.order_key}'", instead(self.order_key, ORDER_KEYS))


def bounded(log: SearchLog, kind: ItemKind, bound: Bound) -> ir.Table:
    """Rows (user, item columns): exactly min(m, distinct items) per user."""
    return bounded_rows(log, kind.rows(log), kind.columns, bound)


def bounded_rows(
    log: SearchLog, rows: ir.Table, item: tuple[str, ...], bound: Bound, users: int | None = None
) -> ir.Table:
    """The same for rows that the caller made, for instance clicks on published queries only.

    `users`: how many users these rows have, if fewer than the log has; engines plan by it, and that is all.
    """
    users = log.users if users is None else users
    engine = log.engine
    # [C6] of docs/proofs/steered.md: below, the item itself breaks ties of the hash.
    if bound.keep == "random":
        rows = rows.select("user", *item)
        key = _hash(engine, rows, item, bound)
        return engine.smallest_items_per_user(rows, item, key, bound.most, users)
    keyed = _own_order(log, rows.filter(rows[item[0]] != ""), item, bound.keep)
    return engine.smallest_per_user(keyed, ["order_key", *item], item, bound.most, users)


def first_events(log: SearchLog, rows: ir.Table, item: tuple[str, ...], most: int) -> ir.Table:
    """Each user's first `most` events, by time and then item: rows (user, item columns), repeats included.

    An event is a distinct (time, item): several rows of one query, or a line that a log has twice, are one.
    """
    if "time" not in rows.columns:
        raise InputError(
            "keeping each user's first events needs a 'time' column, and the log has none",
            "name it with --columns time=...",
        )
    rows = rows.select("user", "time", *item)
    return log.engine.smallest_items_per_user(rows, item, rows["time"], most, log.users)


def _own_order(log: SearchLog, rows: ir.Table, item: tuple[str, ...], keep: str) -> ir.Table:
    timed = "time" in rows.columns
    if keep == "first" and not timed:
        raise InputError(
            "keeping each user's first items needs a 'time' column, and the log has none",
            "name it with --columns time=..., or use --keep random",
        )
    groups = rows.group_by(["user", *item])
    if keep == "first":
        return groups.aggregate(order_key=rows["time"].min())
    # A query event is a distinct (user, time, query): click rows of one event must not count again.
    times = rows["time"].nunique() if timed else rows.count()
    return groups.aggregate(order_key=-times)


def _hash(engine: Engine, rows: ir.Table, item: tuple[str, ...], bound: Bound) -> ir.Value:
    """The order key of a row: a keyed hash of user and item."""
    import ibis

    if bound.order_key == "engine":
        return engine.keyed_hash(bound.salt.hex(), [rows[column] for column in ("user", *item)])
    # Within one user the text before the item is constant, so only the item's own columns need a separator.
    text = ibis.literal(bound.salt.hex()) + rows["user"]
    for column in item:
        text = text + ibis.literal("\x1f") + rows[column]
    return engine.sha256(text).substr(0, _PORTABLE_DIGITS)


def counts(kept: ir.Table, item: tuple[str, ...], at_least: int = 1) -> ir.Table:
    """How many users kept each item, for items that at least `at_least` users kept."""
    histogram = kept.group_by(list(item)).aggregate(count=kept.count())
    return histogram.filter(histogram["count"] >= at_least)
