"""Plain documents of UBI, taken apart by a compiled loop and judged by Arrow: most documents of most files.

What is plain here must come out as the SQL of `ubi.py` would have it; everything else is left to that. The tests
compare both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.reading import plain_rows
from queryveil.reading.json_loops import ABSENT, NOTHING, NUMBER, OBJECT, TEXT
from queryveil.reading.json_values import Found, Wanted
from queryveil.reading.model import COLUMNS, SPELLED_NULL
from queryveil.reading.plain_rows import Mask, Texts

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
_NOBODY = pa.array(SPELLED_NULL, pa.string())


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
        table, plain = _judged(chunk, found, rows, clicks)
        passed = {"bulk": bulk, "impression": seen, "other": others}
        rest = ~(plain | bulk | seen | others)
        return (
            table.filter(pa.array(plain)),
            Counter({kind: int(which.sum()) for kind, which in passed.items()}),
            chunk.filter(pa.array(rest)),
        )


def _mask(array: Any) -> Mask:
    found: Mask = np.asarray(pc.fill_null(array, False))
    return found


def _begins(chunk: pa.Table, found: Found) -> Mask:
    """Whether this is a line of the bulk format: its first key is one of two, and an object."""
    begins = np.zeros(chunk.num_rows, np.bool_)
    if ((found.kind("bulk_index") == OBJECT) | (found.kind("bulk_create") == OBJECT)).any():
        texts = chunk.column("text").combine_chunks()
        for one in _BEGINNINGS:
            begins |= _mask(pc.starts_with(texts, one))
    return begins


def _judged(chunk: pa.Table, found: Found, sure: Mask, clicks: Mask) -> tuple[pa.Table, Mask]:
    """All documents as rows, and which of them are plainly good searches or clicks."""
    for name in _SIMPLE:
        sure = sure & (found.kind(name) < OBJECT)
    ordinal = found.kind("ordinal")
    # A number, an object with the number inside, or nothing.
    sure &= (ordinal <= NOTHING) | (ordinal == NUMBER) | (ordinal == OBJECT)
    sure &= found.kind("index") < OBJECT
    user, known_user, has_user = _someone(found.text("user_id"))
    client, known_client, has_client = _someone(found.text("client_id"))
    sure &= known_user & known_client & (has_user | has_client)
    thing = pc.coalesce(found.text("object"), found.text("internal"))
    sure &= ~clicks | Texts(thing).begins_visibly()
    rank = pc.if_else(pa.array(ordinal == OBJECT), found.text("index"), found.text("ordinal"))
    is_click = pa.array(clicks)
    none = pa.scalar(None, pa.string())
    columns = {
        "user": pc.if_else(pa.array(has_user), user, client),
        "time": found.text("time"),
        "query": found.text("query"),
        "url": pc.if_else(is_click, thing, none),
        "rank": pc.if_else(is_click, rank, none),
        "session": pc.coalesce(found.text("session"), found.text("page_session")),
    }
    typed, empty, plain = plain_rows.judged(columns)
    kind = pc.if_else(is_click, "click", "query")
    rows = chunk.num_rows
    made = {
        **{name: chunk.column(name) for name in ("file", "line", "lines", "seq")},
        "empty": pa.array(empty),
        **{name: typed[name] for name in COLUMNS},
        "kind": kind,
        "query_id": found.text("query_id"),
        "client": pc.if_else(pa.array(has_client), client, none),
        "nobody": pa.array(np.zeros(rows, np.bool_)),
    }
    return pa.table(made), plain & sure


def _someone(texts: Any) -> tuple[Any, Mask, Mask]:
    """The texts, where it is plain whether they name somebody, and where they do."""
    there = Texts(texts)
    visible = there.begins_visibly()
    return texts, visible | (there.lengths == 0), visible & ~_mask(pc.is_in(there.array, _NOBODY))
