"""The histories of one chunk of users: when they search, for what, and what they click. No loop over rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from queryveil.synthetic.generator.habits import Habits
from queryveil.synthetic.generator.pool import Floats, Ints, Pool, mix_bits
from queryveil.synthetic.generator.result_lists import Results
from queryveil.synthetic.generator.settings import LogSettings
from queryveil.synthetic.generator.times import DAY, Flags, make_times
from queryveil.synthetic.generator.users import Chunk

_FAVOURITES: Final = np.cumsum([0.30, 0.18, 0.12])  # the rest goes anywhere
_SECOND_CLICK: Final = 0.12


@dataclass(frozen=True, eq=False)
class Events:
    """Query events of a chunk, in order of user and time."""

    user: Ints
    seconds: Ints  # since the first day began
    place: Ints  # the pool query, or the one a one-off is made from
    one_off: Ints  # the event that a one-off text was made for; -1 for a pool query
    origin: Ints  # the event whose search this one repeats; itself for a new query
    row: Ints  # per row of the log: its event
    second: Flags  # per row: a further click of the same event
    secret_events: Ints  # per secret of the chunk


class Popularity:
    """Cumulative weights of the pool: one line for all days, or one for each if popularity drifts."""

    def __init__(self, pool: Pool, settings: LogSettings) -> None:
        self.pool = pool
        habits = settings.total_habits
        weights = pool.weights(habits.zipf, habits.head)
        totals = np.add.reduceat(weights, pool.topic_starts[:-1])
        self.topics = np.cumsum(totals) / totals.sum()
        self._starts = pool.topic_starts
        self._lines = [_running_sum(weights)]
        self._step = settings.days_per_drift
        if habits.drift > 0:
            rng = np.random.default_rng([settings.world, 60])
            walk = np.zeros(len(pool))
            for day in range(1, settings.drifted + settings.days):
                walk += habits.drift * rng.standard_normal(len(pool))
                if day >= settings.drifted and (day - settings.drifted) % self._step == 0:
                    self._lines.append(_running_sum(weights * np.exp(walk - walk.max())))
            if settings.drifted:
                del self._lines[0]  # the day on which the walk began is not in the log

    def draw_queries(self, day: Ints, topic: Ints, chance: Floats) -> Ints:
        """A pool query for each day; of a topic, or of any where topic is -1."""
        if len(self._lines) == 1:
            return self._draw_places(0, topic, chance)
        places = np.empty(len(day), dtype=np.int64)
        step = day // self._step
        for number in range(len(self._lines)):
            today = np.flatnonzero(step == number)
            places[today] = self._draw_places(number, topic[today], chance[today])
        return places

    def _draw_places(self, number: int, topic: Ints, chance: Floats) -> Ints:
        line = self._lines[number]
        anywhere = topic < 0
        low = np.where(anywhere, 0.0, line[self._starts[topic]])
        high = np.where(anywhere, line[-1], line[self._starts[topic + 1]])
        place: Ints = np.searchsorted(line, low + chance * (high - low), side="right") - 1
        last = len(line) - 2
        return np.minimum(place, last)


def _running_sum(weights: Floats) -> Floats:
    return np.concatenate(([0.0], np.cumsum(weights)))


def make_events(
    chunk: Chunk, settings: LogSettings, popularity: Popularity, rng: np.random.Generator
) -> Events:
    row, second, secret_rows = _split_rows(chunk, settings, rng)
    user = np.repeat(np.arange(len(chunk.rows)), chunk.rows)[~second]
    counts = np.bincount(user, minlength=len(chunk.rows))
    position = np.arange(len(user)) - np.repeat(np.cumsum(counts) - counts, counts)
    seconds, new_session = make_times(counts, user, position, settings, rng)
    day = seconds // DAY
    habits = settings.total_habits
    parent, copies = _draw_parents(position, new_session, habits, rng)
    place, one_off, origin = _draw_queries(
        parent, copies, user, day, one_off_share=habits.one_off, popularity=popularity, rng=rng
    )
    return Events(user, seconds, place, one_off, origin, row, second, row[secret_rows])


def _split_rows(chunk: Chunk, settings: LogSettings, rng: np.random.Generator) -> tuple[Ints, Flags, Ints]:
    """Split rows into events and their second clicks; secrets get events of one row."""
    total = int(chunk.rows.sum())
    first = np.cumsum(chunk.rows) - chunk.rows
    second = rng.random(total) < _SECOND_CLICK * settings.total_habits.click_rate
    second[1:] &= ~second[:-1]
    second[first] = False
    within = (rng.random(len(chunk.secrets)) * chunk.rows[chunk.secret_users]).astype(np.int64)
    secret_rows = first[chunk.secret_users] + within
    second[secret_rows] = False
    second[np.minimum(secret_rows + 1, total - 1)] = False
    return np.cumsum(~second) - 1, second, secret_rows


def _draw_parents(
    position: Ints, new_session: Flags, habits: Habits, rng: np.random.Generator
) -> tuple[Ints, Flags]:
    """Which earlier event each event comes from (-1: none), and whether it repeats or reformulates it."""
    chance = rng.random(len(position))
    here = np.arange(len(position))
    earlier = here - position + (rng.random(len(position)) * position).astype(np.int64)
    within, later = habits.repeat
    reformulates = ~new_session & (chance < habits.reformulate)
    limit = np.where(new_session, later, habits.reformulate + within)
    copies = ~reformulates & (chance < limit) & (position > 0)
    return np.where(reformulates, here - 1, np.where(copies, earlier, -1)), copies


def _draw_queries(
    parent: Ints,
    copies: Flags,
    user: Ints,
    day: Ints,
    *,
    one_off_share: float,
    popularity: Popularity,
    rng: np.random.Generator,
) -> tuple[Ints, Ints, Ints]:
    fresh = np.flatnonzero(parent < 0)
    wish = rng.random((int(user[-1]) + 1, len(_FAVOURITES)))
    favourites = np.minimum(np.searchsorted(popularity.topics, wish), len(popularity.topics) - 1)
    slot = np.searchsorted(_FAVOURITES, rng.random(len(fresh)), side="right")
    topic = np.where(
        slot < len(_FAVOURITES), favourites[user[fresh], np.minimum(slot, len(_FAVOURITES) - 1)], -1
    )
    place = np.zeros(len(user), dtype=np.int64)
    place[fresh] = popularity.draw_queries(day[fresh], topic, rng.random(len(fresh)))
    here = np.arange(len(user))
    one_off = np.where(~copies & (rng.random(len(user)) < one_off_share), here, -1)
    follow = rng.random(len(user))
    origin = here.copy()
    for now in _generations(parent):
        came_from = parent[now]
        place[now] = np.where(
            copies[now], place[came_from], popularity.pool.reformulate(place[came_from], follow[now])
        )
        one_off[now] = np.where(copies[now], one_off[came_from], one_off[now])
        origin[now] = np.where(copies[now], origin[came_from], now)
    return place, one_off, origin


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
    pool, row, second, habits = results.pool, events.row, events.second, settings.total_habits
    place = events.place[row]
    sought = pool.navigational[place] & (events.one_off[row] < 0)
    liking = 0.72 + 0.3 * (mix_bits(place, 13) % np.uint64(1_024)).astype(np.float64) / 1_024
    chance = habits.click_rate * np.where(sought, 1.4, liking)
    twice = np.append(second[1:], False)
    clicked = (rng.random(len(row)) < chance) | second | twice
    clicked[np.isin(row, events.secret_events)] = False
    draw = rng.random(len(row))
    if habits.same_result > 0:
        draw = _as_before(draw, events, habits, rng)
    ranks = np.cumsum(habits.ranks[:-1])
    rank = 1 + np.searchsorted(ranks, np.where(sought, draw**3, draw), side="right")
    length = results.list_length(place)
    rank = 1 + (rank - 1) % length
    # The second click goes to another result, usually the next one.
    further = 1 + (draw * draw * (length - 1)).astype(np.int64)
    before = np.concatenate(([1], rank[:-1]))
    rank = np.where(second, 1 + (before - 1 + further) % length, rank)
    return clicked, rank, results.url(place, rank)


def _as_before(draw: Floats, events: Events, habits: Habits, rng: np.random.Generator) -> Floats:
    """The chances that decide the rank; whoever repeats a search usually has those of the first time."""
    first = np.searchsorted(events.row, events.origin)[events.row]  # per row: the first row of the first time
    again = (events.origin != np.arange(len(events.origin)))[events.row] & ~events.second
    return np.where(again & (rng.random(len(draw)) < habits.same_result), draw[first], draw)
