"""Worlds as logs: items become queries, keywords, clicks, pairs or sets, and copies of a world stand side by side.

Copies share no user and no item. So one publication of many copies shows as many outcomes of one world, and each copy
has neighbours like the world alone.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil_lab.audits.worlds import World

_START = datetime.datetime(2024, 3, 1, 6, tzinfo=datetime.UTC)
_STEP, _PAUSE = datetime.timedelta(minutes=1), datetime.timedelta(hours=2)

Event = tuple[str, str | None]
"""A query, and the url that was clicked; each is the end of a text that begins with the name of the copy."""
SCHEMA = pa.schema(
    [("user", pa.string()), ("time", pa.timestamp("us", "UTC")), ("query", pa.string()), ("url", pa.string())]
)
_Row = tuple[str, datetime.datetime, str | None, str | None]


@dataclass(frozen=True)
class Dress:
    """How items of a kind look in a log."""

    kind: str
    support: int = 0
    """Users who make what an item consists of, so that its parts are published: of clicks and pairs."""

    def events(self, item: int) -> list[Event]:
        """What a user does to have an item; events of one item are of one session."""
        if self.kind == "clicks":
            return [("hub", f".example/{item}")]
        if self.kind in ("query-pairs", "itemsets", "user-itemsets"):
            return [(f"a{item}", None), (f"b{item}", None)]
        if self.kind in ("itemsets-of-3", "user-itemsets-of-3"):
            return [(f"{part}{item}", None) for part in "abd"]
        return [(f"x{item}", None)]

    def key(self, item: int) -> tuple[str, ...]:
        """The columns of an item as they are published, without the name of the copy."""
        events = self.events(item)
        if self.kind == "clicks":
            return events[0][0], str(events[0][1])
        return tuple(query for query, _ in events)

    def supporters(self, items: int) -> Iterator[Event]:
        """What each supporter does, one event each."""
        if self.kind == "clicks":
            wanted = ["hub"]
        elif self.kind == "query-pairs":
            wanted = [query for item in range(items) for query, _ in self.events(item)]
        else:
            wanted = []
        for query in wanted:
            for _ in range(self.support):
                yield query, None


def log_of(world: World, dress: Dress, copies: int, bystanders: int = 1) -> pa.Table:
    """A log with so many copies of a world, in the order of copies; the target's rows come first of each.

    The target's name sorts before all others of the copy: whoever goes through users in order meets her first.
    Bystanders are in both logs of a pair, so that neither is empty.
    """
    rows = list(_copy_rows(world, dress))
    names = names_of(copies)
    of_copy = names.take(pa.array(np.repeat(np.arange(copies), len(rows))))
    users, times, queries, urls = (list(one) for one in zip(*rows, strict=True)) if rows else ([], [], [], [])
    # An empty query has no name of a copy in front of it: then it would be an item.
    ends = pa.array(queries * copies, pa.string())
    made = pa.table(
        [
            pc.binary_join_element_wise(of_copy, pa.array(users * copies, pa.string()), ""),
            pa.array(times * copies, SCHEMA.field("time").type),
            pc.fill_null(pc.binary_join_element_wise(of_copy, ends, ""), ""),
            pc.binary_join_element_wise(of_copy, pa.array(urls * copies, pa.string()), ""),
        ],
        schema=SCHEMA,
    )
    return pa.concat_tables([made, _bystander_table(bystanders)]).combine_chunks()


def names_of(copies: int) -> pa.Array:
    """The names of copies, which all their texts begin with."""
    return pa.array([f"c{copy:07d}" for copy in range(copies)], pa.string())


def keys_of(dress: Dress, items: int, copies: int, separator: str) -> pa.Array:
    """The keys of all watched items, copy by copy, item by item; columns are joined."""
    names = names_of(copies).take(pa.array(np.repeat(np.arange(copies), items)))
    columns = zip(*(dress.key(item) for item in range(items)), strict=True)
    parts = [
        pc.binary_join_element_wise(names, pa.array(list(column) * copies, pa.string()), "")
        for column in columns
    ]
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, separator)


def _copy_rows(world: World, dress: Dress) -> Iterator[_Row]:
    """The rows of one copy, without its name; None stands for an empty query."""
    # Everyone but the target has the same name in both logs of a pair.
    for number, history in enumerate(reversed(list(world.histories())), start=int(world.target is None)):
        user = f"u{number:06d}"
        if not history:
            yield user, _START, None, None
        for place, item in enumerate(history):
            for at, (query, url) in enumerate(dress.events(item)):
                yield user, _START + place * _PAUSE + at * _STEP, query, url
    for number, (query, url) in enumerate(dress.supporters(world.items)):
        yield f"v{number:06d}", _START, query, url


def _bystander_table(bystanders: int) -> pa.Table:
    users = [f"d{number:06d}" for number in range(bystanders) for _ in range(2)]
    times = [_START, _START + _STEP] * bystanders
    queries = ["bystander", "bystanders"] * bystanders
    return pa.table([users, times, queries, ["bystander.example", None] * bystanders], schema=SCHEMA)
