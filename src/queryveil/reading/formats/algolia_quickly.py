"""Plain events of Algolia, one row for each object of a list, by compiled loops: most documents of most exports.

What is plain here must come out as if `algolia.py` had translated it into documents of UBI one by one; everything else
is left to that. The tests compare both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.reading import plain_rows
from queryveil.reading.formats.ubi_quickly import QuickUbi, judged_documents
from queryveil.reading.json_loops import ABSENT, NOTHING, TEXT
from queryveil.reading.json_values import Found, Wanted
from queryveil.reading.plain_rows import Mask, Numbers
from queryveil.reading.text_places import bytes_of, in_one

_KEYS = ("eventType", "queryID", "authenticatedUserToken", "userToken", "timestamp", "objectIDs", "positions")
_WRAPPING = ("events", "logs")
_AS_UBI = {
    "action": "eventType",
    "query_id": "queryID",
    "user_id": "authenticatedUserToken",
    "client_id": "userToken",
    "time": "timestamp",
}
_NOT_THERE = ("query", "session", "page_session", "internal", "index")
_LONGEST = 4000
"""Bytes of a document: a longer one may hold a number that Python does not read."""
_PER_DOCUMENT = 1 << 24
"""More rows than a document can become: each has a place of its own in the order of all."""

Translated = Callable[[pa.Table], tuple[list[str], list[int]]]


class QuickAlgolia:
    """Takes plain events out of chunks; all other documents are `translated`, and read as those of UBI."""

    def __init__(self, clicks: Sequence[str], kinds: Mapping[str, str], translated: Translated) -> None:
        self._ubi = QuickUbi(clicks)
        self._clicks = pa.array(clicks, pa.string())
        self._kinds, self._translated = kinds, translated
        self._wanted = Wanted({name: [[name]] for name in (*_KEYS, *_WRAPPING)})

    def documents(self, chunk: pa.Table) -> tuple[pa.Table, Counter[str], pa.Table]:
        """Good clicks, how many objects were not clicked by what happened, and all that is not plain, translated."""
        found = self._wanted.find(chunk.column("text"), plain_rows.whole(chunk))
        rows, events = self._events(chunk, found)
        action = events.text("action")
        for kind, name in self._kinds.items():
            if kind != name:
                action = pc.if_else(pc.equal(action, kind), name, action)
        clicks = np.asarray(pc.is_in(action, self._clicks))
        seen = ~clicks & np.asarray(pc.equal(action, "impression"))
        numbered = _numbered(chunk.select(["file", "line", "lines", "seq"]), rows)
        table, plain = judged_documents(numbered, events, clicks.copy(), clicks)
        # A document of which one row needs care is read with care as a whole.
        careful = np.ones(chunk.num_rows, np.bool_)
        careful[rows] = False
        careful[rows[clicks & ~plain]] = True
        kept = ~careful[rows]
        if not kept[plain].all():
            table = table.filter(pa.array(kept[plain]))
        passed = Counter(impression=int((seen & kept).sum()), other=int((~clicks & ~seen & kept).sum()))
        if not careful.any():
            return table, passed, chunk.slice(0, 0)
        others, more, rest = self._ubi.documents(self._as_ubi(chunk.filter(pa.array(careful))))
        both = pa.concat_tables([table, others]) if len(others) else table
        return (both.sort_by("seq") if len(others) and len(table) else both), passed + more, rest

    def _events(self, chunk: pa.Table, found: Found) -> tuple[Numbers, Found]:
        """The documents that are plain events, each as often as it has objects, and their values as those of UBI."""
        _, offsets = bytes_of(in_one(chunk.column("text")))
        sure: Mask = found.sure & (found.kind("eventType") == TEXT) & (np.diff(offsets) <= _LONGEST)
        for name in _WRAPPING:
            sure &= found.kind(name) == ABSENT
        objects, places = found.lists("objectIDs"), found.lists("positions")
        unplaced = found.kind("positions") <= NOTHING
        sure &= (objects.many > 0) & (unplaced | (places.many >= 0))
        which = np.flatnonzero(sure)
        many = objects.many[which]
        rows = np.repeat(which, many)
        # Positions count where there is one for each object.
        placed = np.flatnonzero(np.repeat(places.many[which] == many, many))
        ordinal = tuple(np.zeros(len(rows), one.dtype) for one in places.elements(which[:0]))
        ordinal[2][:] = NOTHING
        listed = places.elements(which[places.many[which] == many])
        for into, one in zip(ordinal, listed, strict=True):
            into[placed] = one
        nothing = tuple(np.zeros(len(rows), one.dtype) for one in ordinal)  # a kind of zero is ABSENT
        more: dict[str, Any] = {"object": objects.elements(which), "ordinal": ordinal}
        return rows, found.expanded(rows, more | dict.fromkeys(_NOT_THERE, nothing), _AS_UBI)

    def _as_ubi(self, rest: pa.Table) -> pa.Table:
        texts, places = self._translated(rest)
        rows = _numbered(rest.drop_columns(["text"]), np.array(places, np.int64))
        return rows.append_column("text", pa.array(texts, pa.string()))


def _numbered(documents: pa.Table, rows: Numbers) -> pa.Table:
    """These documents, which may repeat in their order, each time with a place of its own."""
    first = np.flatnonzero(np.append(True, rows[1:] != rows[:-1])) if len(rows) else rows
    within = np.arange(len(rows)) - np.repeat(first, np.diff(np.append(first, len(rows))))
    taken = documents.take(pa.array(rows))
    seq = taken.column("seq").to_numpy() * _PER_DOCUMENT + within
    return taken.set_column(taken.schema.get_field_index("seq"), "seq", pa.array(seq))
