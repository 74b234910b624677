"""Plain documents of UBI, taken apart by a compiled loop and judged by Arrow: most documents of most files.

What is plain here must come out as the SQL of `ubi.py` would have it; everything else is left to that. The tests
compare both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.reading import compiled_rows, plain_rows
from queryveil.reading.json_loops import ABSENT, NOTHING, NUMBER, OBJECT, TEXT
from queryveil.reading.json_values import Found, Wanted
from queryveil.reading.model import COLUMNS
from queryveil.reading.plain_rows import Mask
from queryveil.reading.text_places import Placed, in_one

_ATTRIBUTES = "event_attributes"
_PLACES = {
    "action": ["action_name"],
    "user_id": ["user_id"],
    "client_id": ["client_id"],
    "query_id": ["query_id"],
    "query": ["user_query"],
    "time": ["timestamp"],
    "session": ["session_id"],
    "page_session": [_ATTRIBUTES, "session_id"],
    "object": [_ATTRIBUTES, "object", "object_id"],
    "internal": [_ATTRIBUTES, "object", "internal_id"],
    "ordinal": [_ATTRIBUTES, "position", "ordinal"],
    "index": [_ATTRIBUTES, "position", "ordinal", "index"],
    "wrapped": ["_source"],
    "bulk_index": ["index"],
    "bulk_create": ["create"],
}
_SIMPLE = (
    "user_id",
    "client_id",
    "query_id",
    "query",
    "time",
    "session",
    "page_session",
    "object",
    "internal",
)
_BEGINNINGS = ('{"index":{', '{"index": {', '{"create":{', '{"create": {')


class QuickUbi:
    """Takes plain documents out of chunks."""

    def __init__(self, clicks: Sequence[str]) -> None:
        self._clicks = pa.array(clicks, pa.string())
        self._wanted = Wanted({name: [path] for name, path in _PLACES.items()})

    def documents(self, chunk: pa.Table) -> tuple[pa.Table, Counter[str], pa.Table]:
        """Good searches and clicks, how many documents are neither by what they are, and all that is not plain."""
        found = self._wanted.find(chunk.column("text"), plain_rows.whole(chunk))
        sure = found.sure & (found.kind("wrapped") == ABSENT)
        action = found.text("action")
        acts, silent = found.kind("action") == TEXT, found.kind("action") <= NOTHING
        bulk = sure & silent & (found.kind("query") == ABSENT) & _begins(chunk, found)
        clicks = acts & _mask(pc.is_in(action, self._clicks))
        seen = sure & acts & ~clicks & _mask(pc.equal(action, "impression"))
        others = sure & acts & ~clicks & ~seen
        rows = sure & (clicks | (silent & (found.kind("query") != ABSENT)))
        table, plain = judged_documents(chunk, found, rows, clicks)
        passed = {"bulk": bulk, "impression": seen, "other": others}
        rest = ~(plain | bulk | seen | others)
        return (
            table,
            Counter({kind: int(which.sum()) for kind, which in passed.items()}),
            chunk.filter(pa.array(rest)) if rest.any() else chunk.slice(0, 0),
        )


def _mask(array: Any) -> Mask:
    found: Mask = np.asarray(pc.fill_null(array, False))
    return found


def _begins(chunk: pa.Table, found: Found) -> Mask:
    """Whether this is a line of the bulk format: its first key is one of two, and an object."""
    begins = np.zeros(chunk.num_rows, np.bool_)
    if ((found.kind("bulk_index") == OBJECT) | (found.kind("bulk_create") == OBJECT)).any():
        texts = in_one(chunk.column("text"))
        for one in _BEGINNINGS:
            begins |= _mask(pc.starts_with(texts, one))
    return begins


def judged_documents(chunk: pa.Table, found: Found, sure: Mask, clicks: Mask) -> tuple[pa.Table, Mask]:
    """The documents that are plainly good searches or clicks as rows, and which these are."""
    for name in _SIMPLE:
        sure = sure & (found.kind(name) < OBJECT)
    ordinal = found.kind("ordinal")
    # A number, an object with the number inside, or nothing.
    sure &= (ordinal <= NOTHING) | (ordinal == NUMBER) | (ordinal == OBJECT)
    sure &= found.kind("index") < OBJECT
    user, known_user, has_user = _someone(found.placed("user_id"))
    client, known_client, has_client = _someone(found.placed("client_id"))
    sure &= known_user & known_client & (has_user | has_client)
    thing = found.placed("object")
    thing = thing.where(thing.there, found.placed("internal"))
    sure &= ~clicks | compiled_rows.seen(thing)
    rank = found.placed("index").where(ordinal == OBJECT, found.placed("ordinal"))
    session = found.placed("session")
    columns = {
        "user": user.where(has_user, client),
        "time": found.placed("time"),
        "query": found.placed("query"),
        "url": replace(thing, there=thing.there & clicks),
        "rank": replace(rank, there=rank.there & clicks),
        "session": session.where(session.there, found.placed("page_session")),
    }
    rows = np.flatnonzero(sure)
    some = len(rows) < len(sure)
    typed, empty, plain = compiled_rows.judged(
        {name: one.at(rows) for name, one in columns.items()} if some else columns
    )
    made = {
        **{name: chunk.column(name) for name in ("file", "line", "lines", "seq")},
        "kind": pc.if_else(pa.array(clicks), "click", "query"),
    }
    table = pa.table(made).take(pa.array(rows)) if some else pa.table(made)
    more = {
        "empty": pa.array(empty),
        **{name: typed[name] for name in COLUMNS},
        "query_id": found.placed("query_id").at(rows).kept(),
        "client": replace(client, there=has_client).at(rows).kept(),
        "nobody": pa.array(np.zeros(len(rows), np.bool_)),
    }
    for name, column in more.items():
        table = table.append_column(name, column)
    which = np.zeros(len(sure), np.bool_)
    which[rows[plain]] = True
    return table if plain.all() else table.filter(pa.array(plain)), which


def _someone(texts: Placed) -> tuple[Placed, Mask, Mask]:
    """The texts, where it is plain whether they name somebody, and where they do."""
    named = compiled_rows.someone(texts)
    return texts, named | ~texts.there | (texts.lengths == 0), named
