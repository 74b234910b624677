"""The histories of one chunk of users: when they search, for what, and what they click. No loop over rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from queryveil.synthetic.generator.pool import Floats, Ints, Pool, mixed
from queryveil.synthetic.generator.result_lists import Results
from queryveil.synthetic.generator.settings import LogSettings
from queryveil.synthetic.generator.users import Chunk

Flags = NDArray[np.bool_]

DAY: Final = 86_400
_NEW_SESSION: Final = 0.42
# Gaps before the daily rhythm stretches them by at most 2.5 and squeezes them to at least 0.625:
# within a session they stay below 30 minutes, between sessions above.
_LONGEST_GAP: Final = 690.0
_SHORTEST_BREAK: Final = 2_900.0
_GAP_SHARES: Final = np.arange(1, 256) / 256
_GAPS: Final = np.array(
    [round(min(45 * math.exp(1.2 * NormalDist().inv_cdf(p)), _LONGEST_GAP), 3) for p in _GAP_SHARES.tolist()]
)
_HOURS: Final = np.arange(0, 25, 0.25)
# Searches per hour: a quarter as many at 4 as at 16.
_RHYTHM: Final = _HOURS - 0.6 * 12 / math.pi * (np.sin((_HOURS - 4) * math.pi / 12) + math.sin(math.pi / 3))

_REFORMULATE: Final = 0.45
_REPEAT_IN_SESSION: Final = 0.20
_REPEAT_LATER: Final = 0.36
_FAVOURITES: Final = np.cumsum([0.30, 0.18, 0.12])  # the rest goes anywhere

_RANKS: Final = np.cumsum([0.47, 0.13, 0.09, 0.07, 0.055, 0.045, 0.04, 0.035, 0.033])
_SECOND_CLICK: Final = 0.12


@dataclass(frozen=True, eq=False)
class Events:
    """Query events of a chunk, in order of user and time."""

    user: Ints
    seconds: Ints  # since the first day began
    place: Ints  # the pool query, or the one a one-off is made from
    one_off: Ints  # the event that a one-off text was made for; -1 for a pool query
    row: Ints  # per row of the log: its event
    second: Flags  # per row: a further click of the same event
    secret_events: Ints  # per secret of the chunk


class Popularity:
    """Cumulative weights of the pool: one line for all days, or one for each if popularity drifts."""

    def __init__(self, pool: Pool, settings: LogSettings) -> None:
        self.pool = pool
        weights = pool.weights(settings.zipf)
        totals = np.add.reduceat(weights, pool.topic_starts[:-1])
        self.topics = np.cumsum(totals) / totals.sum()
        self._starts = pool.topic_starts
        self._lines = [_line(weights)]
        if settings.drift > 0:
            rng = np.random.default_rng([settings.world, 60])
            walk = np.zeros(len(pool))
            for day in range(1, settings.drifted + settings.days):
                walk += settings.drift * rng.standard_normal(len(pool))
                if day >= settings.drifted:
                    self._lines.append(_line(weights * np.exp(walk - walk.max())))
            if settings.drifted:
                del self._lines[0]  # the day on which the walk began is not in the log

    def draw(self, day: Ints, topic: Ints, chance: Floats) -> Ints:
        """A pool query for each day; of a topic, or of any where topic is -1."""
        if len(self._lines) == 1:
            return self._draw(0, topic, chance)
        places = np.empty(len(day), dtype=np.int64)
        for number in range(len(self._lines)):
            today = np.flatnonzero(day == number)
            places[today] = self._draw(number, topic[today], chance[today])
        return places

    def _draw(self, number: int, topic: Ints, chance: Floats) -> Ints:
        line = self._lines[number]
        anywhere = topic < 0
        low = np.where(anywhere, 0.0, line[self._starts[topic]])
        high = np.where(anywhere, line[-1], line[self._starts[topic + 1]])
        place: Ints = np.searchsorted(line, low + chance * (high - low), side="right") - 1
        last = len(line) - 2
        return np.minimum(place, last)


def _line(weights: Floats) -> Floats:
    return np.concatenate(([0.0], np.cumsum(weights)))


def make_events(
    chunk: Chunk, settings: LogSettings, popularity: Popularity, rng: np.random.Generator
) -> Events:
    row, second, secret_rows = _rows(chunk, settings, rng)
    user = np.repeat(np.arange(len(chunk.rows)), chunk.rows)[~second]
    counts = np.bincount(user, minlength=len(chunk.rows))
    position = np.arange(len(user)) - np.repeat(np.cumsum(counts) - counts, counts)
    seconds, new_session = _times(counts, user, position, settings.days * DAY, rng)
    day = seconds // DAY
    parent, copies = _parents(position, new_session, rng)
    place, one_off = _queries(
        parent, copies, user, day, one_off_share=settings.one_off, popularity=popularity, rng=rng
    )
    return Events(user, seconds, place, one_off, row, second, row[secret_rows])


def _rows(chunk: Chunk, settings: LogSettings, rng: np.random.Generator) -> tuple[Ints, Flags, Ints]:
    """Split rows into events and their second clicks; secrets get events of one row."""
    total = int(chunk.rows.sum())
    first = np.cumsum(chunk.rows) - chunk.rows
    second = rng.random(total) < _SECOND_CLICK * settings.click_rate
    second[1:] &= ~second[:-1]
    second[first] = False
    within = (rng.random(len(chunk.secrets)) * chunk.rows[chunk.secret_users]).astype(np.int64)
    secret_rows = first[chunk.secret_users] + within
    second[secret_rows] = False
    second[np.minimum(secret_rows + 1, total - 1)] = False
    return np.cumsum(~second) - 1, second, secret_rows


def _times(
    counts: Ints, user: Ints, position: Ints, window: int, rng: np.random.Generator
) -> tuple[Ints, Flags]:
    """Sessions of a few queries, spread over the window; nobody searches twice in one second."""

    def per_user(values: Floats | Flags) -> Floats:
        return np.bincount(user, weights=values, minlength=len(counts)).astype(np.float64)

    chance_new = np.minimum(_NEW_SESSION, 0.4 * window / (_SHORTEST_BREAK * counts))
    new = (rng.random(len(user)) < chance_new[user]) | (position == 0)
    gap = np.where(new, 0.0, np.interp(rng.random(len(user)), _GAP_SHARES, _GAPS))
    scale = np.minimum(1.0, 0.3 * window / np.maximum(per_user(gap), 1.0))
    gap = gap * scale[user] + 2.0
    shortest = np.minimum(_SHORTEST_BREAK, 0.45 * window / per_user(new))
    gap += np.where(new & (position > 0), shortest[user], 0.0)
    # What is left of the window is shared out at random before, between and after the sessions.
    wait = np.where(new, rng.standard_exponential(len(user)), 0.0)
    left = (window - per_user(gap)) / (per_user(wait) + rng.standard_exponential(len(counts)))
    step = gap + wait * left[user]
    running = np.cumsum(step)
    first = np.cumsum(counts) - counts
    clock = running - np.repeat(running[first] - step[first], counts)
    day, hour = np.divmod(np.minimum(clock, window - 1.0), DAY)
    hour = np.interp(hour / 3600, _RHYTHM, _HOURS)
    return (day * DAY + hour * 3600).astype(np.int64), new


def _parents(position: Ints, new_session: Flags, rng: np.random.Generator) -> tuple[Ints, Flags]:
    """Which earlier event each event comes from (-1: none), and whether it repeats or reformulates it."""
    chance = rng.random(len(position))
    here = np.arange(len(position))
    earlier = here - position + (rng.random(len(position)) * position).astype(np.int64)
    reformulates = ~new_session & (chance < _REFORMULATE)
    limit = np.where(new_session, _REPEAT_LATER, _REFORMULATE + _REPEAT_IN_SESSION)
    copies = ~reformulates & (chance < limit) & (position > 0)
    return np.where(reformulates, here - 1, np.where(copies, earlier, -1)), copies


def _queries(
    parent: Ints,
    copies: Flags,
    user: Ints,
    day: Ints,
    *,
    one_off_share: float,
    popularity: Popularity,
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    fresh = np.flatnonzero(parent < 0)
    wish = rng.random((int(user[-1]) + 1, len(_FAVOURITES)))
    favourites = np.minimum(np.searchsorted(popularity.topics, wish), len(popularity.topics) - 1)
    slot = np.searchsorted(_FAVOURITES, rng.random(len(fresh)), side="right")
    topic = np.where(
        slot < len(_FAVOURITES), favourites[user[fresh], np.minimum(slot, len(_FAVOURITES) - 1)], -1
    )
    place = np.zeros(len(user), dtype=np.int64)
    place[fresh] = popularity.draw(day[fresh], topic, rng.random(len(fresh)))
    here = np.arange(len(user))
    one_off = np.where(~copies & (rng.random(len(user)) < one_off_share), here, -1)
    follow = rng.random(len(user))
    for now in _generations(parent):
        came_from = parent[now]
        place[now] = np.where(
            copies[now], place[came_from], popularity.pool.follow(place[came_from], follow[now])
        )
        one_off[now] = np.where(copies[now], one_off[came_from], one_off[now])
    return place, one_off


def _generations(parent: Ints) -> Iterator[Ints]:
    """Events whose parent is settled, then their children, and so on: about twenty rounds."""
    settled = parent < 0
    pending = np.flatnonzero(~settled)
    while len(pending):
        ready = settled[parent[pending]]
        now = pending[ready]
        yield now
        settled[now] = True
        pending = pending[~ready]


def make_clicks(
    events: Events, settings: LogSettings, results: Results, rng: np.random.Generator
) -> tuple[Flags, Ints, Ints]:
    """Per row of the log: whether there is a click, its rank and its url. High ranks get most clicks."""
    pool, row, second = results.pool, events.row, events.second
    place = events.place[row]
    sought = pool.navigational[place] & (events.one_off[row] < 0)
    liking = 0.72 + 0.3 * (mixed(place, 13) % np.uint64(1_024)).astype(np.float64) / 1_024
    chance = settings.click_rate * np.where(sought, 1.4, liking)
    twice = np.append(second[1:], False)
    clicked = (rng.random(len(row)) < chance) | second | twice
    clicked[np.isin(row, events.secret_events)] = False
    draw = rng.random(len(row))
    rank = 1 + np.searchsorted(_RANKS, np.where(sought, draw**3, draw), side="right")
    length = results.length(place)
    rank = 1 + (rank - 1) % length
    # The second click goes to another result, usually the next one.
    further = 1 + (draw * draw * (length - 1)).astype(np.int64)
    before = np.concatenate(([1], rank[:-1]))
    rank = np.where(second, 1 + (before - 1 + further) % length, rank)
    return clicked, rank, results.url(place, rank)
