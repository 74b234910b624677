"""Rows that are plainly good, judged by compiled loops: the rules of `plain_rows.py`, several times as fast.

The loops have to be loaded, so small logs are judged there and large ones here. The tests compare both with SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from queryveil.compiled import shares, side_by_side
from queryveil.reading.model import LONGEST_TEXT, NO_VALUE, SPELLED_NULL
from queryveil.reading.plain_loops import (
    Bytes,
    Flags,
    Whole,
    judge_queries,
    judge_ranks,
    judge_times,
    judge_users,
    judge_values,
)
from queryveil.reading.text_places import Placed

Words = tuple[Bytes, Whole]


def _together(words: Sequence[str]) -> Words:
    texts = [word.encode() for word in words]
    return np.frombuffer(b"".join(texts), np.uint8), np.cumsum([len(one) for one in texts]).astype(np.int64)


_NOBODY, _NOTHING = _together(SPELLED_NULL), _together(NO_VALUE)


def judged(columns: Mapping[str, Any]) -> tuple[dict[str, Any], Flags, Flags]:
    """As `plain_rows.judged`; columns may be `Placed` as well, and ranks numbers already."""
    placed = {
        name: one if isinstance(one, Placed) else Placed.of(one)
        for name, one in columns.items()
        if isinstance(one, Placed) or one.type == pa.string()
    }
    rows = len(placed["user"].lengths)
    plain, empty = np.ones(rows, np.bool_), np.zeros(rows, np.bool_)
    parts = shares(rows)
    user, query = placed["user"], placed["query"]
    side_by_side(judge_users, [(*user.part(a, b), LONGEST_TEXT, *_NOBODY, plain[a:b]) for a, b in parts])
    side_by_side(judge_queries, [(*query.part(a, b), LONGEST_TEXT, empty[a:b], plain[a:b]) for a, b in parts])
    query.there[:] = True  # a query that is null is an empty one
    query.lengths[empty] = 0
    made: dict[str, Any] = {"user": _array(columns["user"], user), "query": query.kept()}
    for name in placed.keys() & {"url", "session"}:
        one = placed[name]
        side_by_side(judge_values, [(*one.part(a, b), LONGEST_TEXT, *_NOTHING, plain[a:b]) for a, b in parts])
        made[name] = one.kept()
    if "time" in placed:
        one, micros = placed["time"], np.zeros(rows, np.int64)
        side_by_side(judge_times, [(*one.part(a, b), micros[a:b], plain[a:b]) for a, b in parts])
        made["time"] = pa.array(micros.view("datetime64[us]"), pa.timestamp("us"))
    elif "time" in columns:
        made["time"] = columns["time"]
    if "rank" in placed:
        one, typed = placed["rank"], np.zeros(rows, np.int32)
        side_by_side(judge_ranks, [(*one.part(a, b), *_NOTHING, typed[a:b], plain[a:b]) for a, b in parts])
        made["rank"] = pa.array(typed, pa.int32(), mask=~one.there)
    elif "rank" in columns:
        made["rank"] = columns["rank"]
    return made, empty, plain


def _array(given: Any, placed: Placed) -> Any:
    return placed.kept() if isinstance(given, Placed) else given
