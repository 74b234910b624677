"""Itemsets: unordered sets of two or three different items of one user, or of one session.

A basket, a patient's diagnoses and a session of searches have the same shape: items that belong together. A set stands
in the order of its items' bytes, so that it is the same set whichever item came first.

The number of sets grows with the square or the cube of the items. So each group, which is a session or a whole history,
lends at most `MOST_TOGETHER` of its different items: those with the smallest SHA-256 of their text. That looks at the
user's own rows alone, and chooses alike on every engine and for all users, so that people who share items keep sharing
them. Contribution bounds come after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

MOST_TOGETHER: Final = {2: 100, 3: 30}
"""Different items that one group lends, by the size of sets: 4,950 pairs, or 4,060 sets of three."""


def columns(size: int) -> tuple[str, ...]:
    return tuple(f"item_{number}" for number in range(1, size + 1))


def rows(log: SearchLog, size: int, *, sessions: bool) -> ir.Table:
    """Rows of user and the items of a set, one for each group that has it; `time` is when the set was complete."""
    import ibis

    items, keys = _bounded_group_items(log, MOST_TOGETHER[size], sessions=sessions)
    made = _number_items(items, keys, 1)
    for number in range(2, size + 1):
        more = _number_items(items.view(), keys, number)
        in_order = made[f"item_{number - 1}"] < more[f"item_{number}"]
        made = made.join(more, [*keys, in_order])
    times = [made[f"time_{number}"] for number in range(1, size + 1) if "time" in log.columns]
    return made.select("user", *columns(size), **({"time": ibis.greatest(*times)} if times else {}))


def _bounded_group_items(log: SearchLog, most: int, *, sessions: bool) -> tuple[ir.Table, list[str]]:
    """The different items of each group, and the columns that tell groups apart."""
    import ibis

    found, keys = _grouped_items(log, sessions=sessions)
    groups = found.group_by([*keys, "query"])
    items = groups.aggregate(time=found["time"].min()) if "time" in log.columns else groups.aggregate()
    items = items.mutate(together=items.count().over(ibis.window(group_by=keys)))
    # Only large groups are worth a hash; the text breaks its ties, so that the order is total.
    digest = ibis.ifelse(items["together"] > most, log.engine.sha256(items["query"]), "")
    items = items.mutate(digest=digest)
    order = ibis.window(group_by=keys, order_by=[items["digest"], items["query"]])
    items = items.mutate(place=ibis.row_number().over(order))
    return items.filter(items["place"] < most).drop("together", "digest", "place"), keys


def _grouped_items(log: SearchLog, *, sessions: bool) -> tuple[ir.Table, list[str]]:
    """Rows with an item, in their groups. A log without times and sessions has one group for each user."""
    if sessions and "time" in log.columns:
        found = log.sessions()
        return found.filter(found["query"] != ""), ["user", "session"]
    if sessions and "session" in log.columns:
        # Without a time nothing tells which session a row without one belongs to.
        return log.queries.filter(log.queries["session"].notnull()), ["user", "session"]
    return log.queries, ["user"]


def _number_items(items: ir.Table, keys: list[str], number: int) -> ir.Table:
    timed = {f"time_{number}": items["time"]} if "time" in items.columns else {}
    return items.select(*keys, **{f"item_{number}": items["query"]}, **timed)
