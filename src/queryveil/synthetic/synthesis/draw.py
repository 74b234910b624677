"""Rows drawn from a click graph, one chunk of users at a time, each from a random stream of its own.

All users of a chunk share one long walk, cut into sessions and users afterwards. It starts at a query by released
frequency; so every query event, wherever it stands and whatever is cut, has the released shares as its
distribution. No loop over rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.synthetic.synthesis.model import Floats, GraphModel, Ints
from queryveil.synthetic.synthesis.size import SESSION_GAP, Size

CHUNK_ROWS: Final = 100_000
MOST_EVENTS_PER_SESSION: Final = 20
"""A longer session goes on after a pause, as a new one."""
USER_PREFIX: Final = "synthetic-"
SOURCE: Final = "synthetic"
SCHEMA: Final = pa.schema(
    [
        ("user", pa.string()),
        ("time", pa.timestamp("us")),
        ("query", pa.string()),
        ("url", pa.string()),
        ("rank", pa.int32()),
        ("source", pa.string()),
    ]
)
_MEAN_PAUSE: Final = 90.0
_LONGEST_PAUSE: Final = 25 * 60


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one chunk of users, and what they make up."""

    batch: pa.RecordBatch
    counts: Mapping[str, int]


def draw_parts(model: GraphModel, size: Size) -> Iterator[Part]:
    """The rows of a log, user by user, each in order of time; a filled `size` is met exactly."""
    rows, users = size.rows or 0, size.users or 0
    step = max(1, round(CHUNK_ROWS * users / rows))
    for number, low in enumerate(range(0, users, step)):
        high = min(low + step, users)
        chunk_rows = rows * high // users - rows * low // users
        rng = np.random.default_rng([size.seed, number])
        yield _draw_part(model, size, low, high - low, chunk_rows, rng)


def _draw_part(
    model: GraphModel, size: Size, low: int, users: int, rows: int, rng: np.random.Generator
) -> Part:
    # As many events as rows are always enough, as an event has at least one row.
    query, starts = walk_sessions(model, rows, rng)
    place = rng.random(rows)
    clicks = _draw_clicks(model, query, place, users)
    events = len(clicks)
    query, place, starts = query[:events], place[:events], starts[:events]
    user = _assign_users(events, users, size.most_events_per_user, rng)
    starts[_first_of_each(user)] = True
    seconds = _epoch_seconds(size.start) + _draw_times(user, starts, size.seconds, rng)

    lines = np.maximum(clicks, 1)
    row = np.repeat(np.arange(events), lines)
    nth = np.arange(rows) - np.repeat(np.cumsum(lines) - lines, lines)
    clicked = (clicks > 0)[row]
    url = np.zeros(rows, np.int64)
    url[clicked] = model.clicks.target_at(query[row[clicked]], place[row[clicked]] + nth[clicked])
    ids = pc.binary_join_element_wise(USER_PREFIX, pa.array(low + 1 + user[row]).cast(pa.string()), "")
    batch = pa.RecordBatch.from_arrays(
        [
            ids,
            pa.array(seconds[row] * 1_000_000, pa.timestamp("us")),
            model.queries.take(pa.array(query[row])),
            model.urls.take(pa.array(url, mask=~clicked)),
            pa.nulls(rows, pa.int32()),  # a release says nothing of ranks
            pa.repeat(SOURCE, rows),
        ],
        schema=SCHEMA,
    )
    counts = {"sessions": int(starts.sum()), "queries": events, "clicks": int(clicks.sum())}
    return Part(batch, {"rows": rows, "users": users, **counts})


def walk_sessions(model: GraphModel, events: int, rng: np.random.Generator) -> tuple[Ints, NDArray[np.bool_]]:
    """So many query events one after the other, and whether each starts a session."""
    starts, frequency = np.cumsum(model.starts), np.cumsum(model.frequency)
    found = 0
    queries: list[Ints] = []
    steps: list[Ints] = []
    while found < events:
        sessions = int((events - found) / model.session_length) + 16
        opening = _draw_positions(starts, sessions, rng)
        if not queries:
            # As if the walk had been going on for ever; otherwise early events would favour starts.
            opening[0] = _draw_positions(frequency, 1, rng)[0]
        query, step = _draw_sessions(model, opening, rng)
        queries.append(query)
        steps.append(step)
        found += len(query)
    step = np.concatenate(steps)[:events]
    return np.concatenate(queries)[:events], step % MOST_EVENTS_PER_SESSION == 0


def _draw_positions(ends: Floats, number: int, rng: np.random.Generator) -> Ints:
    """Positions in proportion to the weights whose running sum is `ends`."""
    found: Ints = np.searchsorted(ends, rng.random(number) * ends[-1], side="right")
    # A product may round up to the sum itself, which is beyond the last weight above 0.
    last = int(np.searchsorted(ends, ends[-1]))
    return np.minimum(found, last)


def _draw_sessions(model: GraphModel, opening: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Walk from every opening query to its session's end, all at once; one session after the other."""
    who, query = np.arange(len(opening)), opening
    length = np.ones(len(opening), np.int64)
    visits = [(who, query)]
    while len(who):
        place = rng.random(len(who))
        goes_on = place < model.following.total[query]
        who, query = who[goes_on], model.following.target_at(query[goes_on], place[goes_on])
        length[who] += 1
        visits.append((who, query))
    first = np.cumsum(length) - length
    queries, steps = np.empty(length.sum(), np.int64), np.empty(length.sum(), np.int64)
    for step, (who, query) in enumerate(visits):
        queries[first[who] + step] = query
        steps[first[who] + step] = step
    return queries, steps


def _draw_clicks(model: GraphModel, query: Ints, place: Floats, users: int) -> Ints:
    """Clicks of each event, for as many events as make up `len(query)` rows.

    Urls are met at `place`, `place` + 1, ... on the query's line: each with its own probability, and at most once.
    """
    rows = len(query)
    clicks = np.maximum(np.ceil(model.clicks.total[query] - place), 0).astype(np.int64)
    ends = np.cumsum(np.maximum(clicks, 1))
    events = int(np.searchsorted(ends, rows)) + 1
    if events < users:
        # About one row per user leaves no room for a second click.
        return np.minimum(clicks, 1)
    clicks = clicks[:events]
    clicks[-1] -= ends[events - 1] - rows
    return clicks


def _assign_users(events: int, users: int, most: int, rng: np.random.Generator) -> Ints:
    """Whose event each is: everyone has at least one and at most `most`, and some have many more than others."""
    spare = events - users
    share = rng.exponential(size=users)
    share /= share.sum()
    # One for everyone, and one for rounding.
    limit, even = (most - 2) / max(spare, 1), 1 / users
    if share.max() > limit:
        share = even + (share - even) * (limit - even) / (share.max() - even)
    ends = np.floor(np.cumsum(share) * spare).astype(np.int64)
    ends[-1] = spare
    return np.repeat(np.arange(users), 1 + np.diff(ends, prepend=0))


def _draw_times(user: Ints, starts: NDArray[np.bool_], span: int, rng: np.random.Generator) -> Ints:
    """Seconds from the log's start: short pauses inside sessions, and between them more than ends a session."""
    pause = 1 + np.minimum(rng.exponential(_MEAN_PAUSE, len(user)), _LONGEST_PAUSE).astype(np.int64)
    step = np.where(starts, SESSION_GAP, pause)
    first = _first_of_each(user)
    step[first] = 0
    busy = np.cumsum(step)
    busy -= busy[first][user]
    free = span - 1 - np.append(busy[first[1:] - 1], busy[-1])
    # A user's sessions lie at random in the time that they leave.
    session_user = user[starts]
    drawn = np.cumsum(rng.exponential(size=len(session_user)))
    session_first = _first_of_each(session_user)
    before = np.append(0.0, drawn)[session_first]
    whole = np.append(drawn[session_first[1:] - 1], drawn[-1]) - before + rng.exponential(size=len(first))
    share = np.minimum((drawn - before[session_user]) / whole[session_user], 1.0)
    later: Ints = np.floor(free[session_user] * share).astype(np.int64)
    seconds: Ints = busy + later[np.cumsum(starts) - 1]
    return seconds


def _first_of_each(user: Ints) -> Ints:
    """Where each user's entries begin; users are numbered from 0 and in order."""
    return np.flatnonzero(np.diff(user, prepend=-1))


def _epoch_seconds(day: date) -> int:
    return (day - date(1970, 1, 1)).days * 86_400
