"""When people search: sessions of a few queries, spread over the log by the hour and the weekday."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from queryveil.synthetic.generator.habits import BUSIEST, Shares
from queryveil.synthetic.generator.pool import Floats, Ints
from queryveil.synthetic.generator.settings import LogSettings

Flags = NDArray[np.bool_]

DAY: Final = 86_400
_SESSION_GAP: Final = 1_800.0
_LEAST_GAP: Final = 2.0
_GAP_SHARES: Final = np.arange(1, 256) / 256
_LONG_GAPS: Final = [45 * math.exp(1.2 * NormalDist().inv_cdf(p)) for p in _GAP_SHARES.tolist()]
_LONGEST_GAP: Final = 690.0
_GAPS: Final = np.array([round(min(gap, _LONGEST_GAP), 3) for gap in _LONG_GAPS])

# Version 1. Gaps before the daily rhythm stretches them by at most 2.5 and squeezes them to at least 0.625:
# within a session they stay below 30 minutes, between sessions above.
_NEW_SESSION: Final = 0.42
_SHORTEST_BREAK: Final = 2_900.0
_HOURS: Final = np.arange(0, 25, 0.25)
# Searches per hour: a quarter as many at 4 as at 16.
_RHYTHM: Final = _HOURS - 0.6 * 12 / math.pi * (np.sin((_HOURS - 4) * math.pi / 12) + math.sin(math.pi / 3))


def make_times(
    counts: Ints, user: Ints, position: Ints, settings: LogSettings, rng: np.random.Generator
) -> tuple[Ints, Flags]:
    """The second of every query event, and whether it starts a session; nobody searches twice in one second."""
    if settings.version == 1:
        return _draw_times_v1(counts, user, position, settings.days * DAY, rng)
    return _draw_times(counts, user, position, settings, rng)


def _draw_times(
    counts: Ints, user: Ints, position: Ints, settings: LogSettings, rng: np.random.Generator
) -> tuple[Ints, Flags]:
    """Starts of sessions are bent to the busy hours, and the pauses within a session stay as they are."""
    window = settings.days * DAY
    habits = settings.total_habits

    def per_user(values: Floats | Flags) -> Floats:
        return np.bincount(user, weights=values, minlength=len(counts)).astype(np.float64)

    clock, busiest = _busy_calendar(settings.days, settings.start.weekday(), habits.hours, habits.weekdays)
    # Bending brings two starts at most this much nearer: what is between them is stretched as much beforehand.
    stretch = 1.01 * busiest
    shortest_break = stretch * _SESSION_GAP
    fitting = np.minimum(1.0, 0.8 * window / (shortest_break * counts))
    new = _session_starts(fitting[user], position == 0, habits.go_on, rng)
    gap = np.where(new, 0.0, np.interp(rng.random(len(user)), _GAP_SHARES, _GAPS))
    scale = np.minimum(1.0, 0.2 * window / stretch / np.maximum(per_user(gap), 1.0))
    gap = gap * scale[user] + _LEAST_GAP
    pause = np.minimum(shortest_break, 0.35 * window / per_user(new))
    step = stretch * gap + np.where(new & (position > 0), pause[user], 0.0)
    # What is left of the window is shared out at random before, between and after the sessions.
    wait = np.where(new, rng.standard_exponential(len(user)), 0.0)
    left = (window - per_user(step)) / (per_user(wait) + rng.standard_exponential(len(counts)))
    started = np.maximum.accumulate(np.where(new, np.arange(len(user)), 0))
    running, within = np.cumsum(step + wait * left[user]), np.cumsum(gap)
    first = np.cumsum(counts) - counts
    before = np.concatenate(([0.0], running))[first]
    start = np.interp(
        (running - np.repeat(before, counts))[started] / window, clock, _hour_edges(settings.days)
    )
    seconds = np.minimum(start + (within - within[started]), window - 1.0)
    return seconds.astype(np.int64), new


def _session_starts(
    fitting: Floats, first: Flags, go_on: tuple[float, float], rng: np.random.Generator
) -> Flags:
    """Where sessions start: the chance to go on is one after a session's first query, and another after later ones.

    One number decides each event: whether it starts a session in both cases, in neither, or only after a first query
    (or only after a later one).
    """
    chance = rng.random(len(first))
    after_first, after_later = (1 - go_on[0]) * fitting, (1 - go_on[1]) * fitting
    always, never = (
        chance < np.minimum(after_first, after_later),
        chance >= np.maximum(after_first, after_later),
    )
    settled = first | always | never
    place = np.arange(len(first))
    last = np.maximum.accumulate(np.where(settled, place, 0))
    new = (first | always)[last]
    # Going on more easily later keeps the state of the event before; going on less easily turns it around.
    turned = (place - last) % 2 == 1
    return np.where((after_first < after_later) & turned, ~new, new)


def _hour_edges(days: int) -> Floats:
    """The seconds at which hours begin, and the end of the last."""
    return np.arange(days * 24 + 1, dtype=np.float64) * 3_600


def _busy_calendar(days: int, first: int, hours: Shares, weekdays: Shares) -> tuple[Floats, float]:
    """The share of searches before each hour of the log, and how many times an even share the busiest hour has."""
    week = np.array(weekdays)[(first + np.arange(days)) % 7]
    busy = np.outer(week, hours).ravel()
    busy /= busy.mean()
    if busy.max() > BUSIEST:  # sessions would not fit between each other
        busy = 1 + (busy - 1) * (BUSIEST - 1) / (busy.max() - 1)
    running = np.concatenate(([0.0], np.cumsum(busy)))
    return running / running[-1], float(busy.max())


def _draw_times_v1(
    counts: Ints, user: Ints, position: Ints, window: int, rng: np.random.Generator
) -> tuple[Ints, Flags]:
    """Version 1: the clock of every query is bent to the hours of the day; all weekdays are alike."""

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
