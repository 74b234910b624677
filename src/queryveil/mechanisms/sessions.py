"""Logs that keep sessions together and nothing else: random numbers for users, no times, no clicks.

For methods that publish rows of (session, query). Sessions are numbered and ordered by a random permutation, so
that neither says who they belong to, when they were, or which of them are one user's. Inside a session queries
stay in the order in which they were posed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.errors import InputError, argument
from queryveil.privacy.noise import Noise

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

_CHUNK_ROWS = 1_000_000
"""Rows put together at once: a chunk of text must stay below two gigabytes."""


def check(log: SearchLog) -> None:
    """Refuse a log whose rows cannot be put into sessions."""
    if "time" in log.columns:
        return
    if "session" not in log.columns:
        raise InputError(
            "putting queries into sessions needs a 'time' or a 'session' column, and the log has neither",
            f"name one with {argument('columns', {'time': '...'})} or {argument('columns', {'session': '...'})}",
        )
    without = log.queries.filter(log.queries["session"].isnull()).select("user").limit(1)
    if log.engine.arrow(without).num_rows:
        raise InputError(
            "some rows have no session, and the log has no times to cut sessions by",
            f"name the column of times with {argument('columns', {'time': '...'})}, or leave these rows out",
        )


def events(log: SearchLog) -> ir.Table:
    """Query events with their session: user, session, query, and time where the log has it.

    Without times a query counts once per session: its repeats cannot be told from its clicks.
    """
    if "time" in log.columns:
        return log.events()
    return log.queries.select("user", "session", "query").distinct()


def shuffled(log: SearchLog, rows: ir.Table, text: str, noise: Noise, also: Sequence[str] = ()) -> pa.Table:
    """Rows of events as a table (session, query): sessions under random numbers, in the order of these numbers.

    `text` is the column to publish as the query. The order inside a session is by time, then by this text. Further
    columns of text or integers to publish are named by `also`, and stand in front.
    """
    order = [column for column in ("user", "session", "time", text, *also) if column in rows.columns]
    shown = {**{name: rows[name] for name in also}, "query": rows[text]}
    published = {f"published_{name}": column for name, column in shown.items()}
    rows = rows.order_by(order).select("user", "session", **published)
    sessions, last, reached = [], None, -1
    texts: dict[str, list[pa.Array]] = {name: [] for name in shown}
    # One pass over rows in order, in a stream: who and when is seen here and not kept.
    for batch in log.engine.batches(rows):
        if batch.num_rows == 0:
            continue
        starts = _session_starts(batch, last)
        sessions.append(reached + np.cumsum(starts))
        reached, last = int(sessions[-1][-1]), batch.slice(batch.num_rows - 1)
        for name, parts in texts.items():
            column = batch.column(f"published_{name}")
            whole = pa.types.is_integer(column.type)
            parts.append(column if whole else column.cast(pa.string()).dictionary_encode())
    numbers = noise.permutation(reached + 1)[np.concatenate([np.zeros(0, dtype=np.int64), *sessions])]
    # Stable, so that the order inside a session stays.
    place = np.argsort(numbers, kind="stable")
    taken = {name: _reorder(parts, place) for name, parts in texts.items()}
    return pa.table(
        {**{name: taken[name] for name in also}, "session": numbers[place], "query": taken["query"]}
    )


def _session_starts(batch: pa.RecordBatch, last: pa.RecordBatch | None) -> NDArray[np.bool_]:
    """Which rows start a session: those whose user or session is not that of the row before."""
    import pyarrow.compute as pc

    changed = np.ones(batch.num_rows, dtype=bool)
    columns = [batch.column(name) for name in ("user", "session")]
    inside = [pc.not_equal(column.slice(1), column.slice(0, len(column) - 1)) for column in columns]
    changed[1:] = pc.or_(*inside).to_numpy(zero_copy_only=False)
    if last is not None:
        changed[0] = any(batch.column(name)[0] != last.column(name)[0] for name in ("user", "session"))
    return changed


def _reorder(texts: list[pa.Array], place: NDArray[np.int64]) -> pa.ChunkedArray:
    """The texts, or integers, in another order."""
    if not texts:
        return pa.chunked_array([], pa.string())
    if pa.types.is_integer(texts[0].type):
        return pa.chunked_array([pa.array(np.concatenate([part.to_numpy() for part in texts])[place])])
    unified = pa.chunked_array(texts).unify_dictionaries()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in unified.chunks])[place]
    dictionary = unified.chunk(0).dictionary
    return pa.chunked_array(
        [
            dictionary.take(pa.array(codes[start : start + _CHUNK_ROWS]))
            for start in range(0, len(codes), _CHUNK_ROWS)
        ],
        pa.string(),
    )
