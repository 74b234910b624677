"""The compiled loops of k-session grouping. They know codes and numbers only; `k_session_grouping` drives them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from queryveil.compiled import compiled

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Shorts = npt.NDArray[np.int16]

NO_GROUP = -1
TAKEN = -1
_POOL = 6
"""A group of k is chosen among this many times k nearest candidates, if their users are different enough."""
_FILLERS = 2
"""Where too few share a keyword, up to this many times k of the smallest sets are candidates too."""
_FARTHEST = 512
"""Set distances from here on count as one."""
_LONGEST = 30_000
"""Sizes from here on count as one."""


class Sets(NamedTuple):
    """Sets of coded keywords, and whose each is."""

    starts: Ints
    items: Codes
    users: Codes


class Lists(NamedTuple):
    """For each keyword the rows that have it, smallest first, with their sizes."""

    starts: Ints
    rows: Codes
    sizes: Shorts
    heads: Ints
    """Where the rows that are not taken begin."""


class Fillers(NamedTuple):
    """The smallest rows first, and of each size those of different users first: they have little to lose."""

    rows: Codes
    head: Ints
    """Where the rows that are not taken begin."""


class Bench(NamedTuple):
    """Memory that the loops share."""

    overlap: Shorts
    """Keywords shared with the set in hand; zero between uses, but TAKEN for rows that nothing can join."""
    touched: Codes
    apart: Shorts
    used: Ints
    """For each user the last round in which one of its sets was chosen."""
    counts: Codes
    counted: Codes
    far: Codes
    pool: Codes
    members: Codes


def bench(taken: npt.NDArray[np.bool_], people: int, keywords: int, k: int) -> Bench:
    rows = len(taken)
    return Bench(
        overlap=np.where(taken, TAKEN, 0).astype(np.int16),
        touched=np.zeros(rows, dtype=np.int32),
        apart=np.zeros(rows, dtype=np.int16),
        used=np.zeros(people, dtype=np.int64),
        counts=np.zeros(keywords, dtype=np.int32),
        counted=np.zeros(keywords, dtype=np.int32),
        far=np.zeros(_FARTHEST + 1, dtype=np.int32),
        pool=np.zeros(rows + _FILLERS * k, dtype=np.int32),
        members=np.zeros(k, dtype=np.int32),
    )


@compiled
def listed(starts: Ints, items: Codes, order: Ints, keywords: int) -> Lists:
    """The lists of the rows in `order`, which is also the order within each list."""
    ends = np.zeros(keywords + 1, dtype=np.int64)
    for row in order:
        for place in range(starts[row], starts[row + 1]):
            ends[items[place] + 1] += 1
    for item in range(keywords):
        ends[item + 1] += ends[item]
    rows = np.empty(ends[keywords], dtype=np.int32)
    sizes = np.empty(ends[keywords], dtype=np.int16)
    filled = ends[:-1].copy()
    for row in order:
        for place in range(starts[row], starts[row + 1]):
            at = filled[items[place]]
            rows[at] = row
            sizes[at] = min(_LONGEST, starts[row + 1] - starts[row])
            filled[items[place]] = at + 1
    return Lists(ends, rows, sizes, ends[:-1].copy())


@compiled
def _gather_neighbors(own: Codes, lists: Lists, most: int, at: Bench) -> int:
    """Gather rows that share keywords with `own`, and how far apart they are; returns how many there are."""
    met = 0
    for item in own[:_LONGEST]:
        place, end = lists.heads[item], lists.starts[item + 1]
        while place < end and at.overlap[lists.rows[place]] == TAKEN:
            place += 1
        lists.heads[item] = place
        looked = 0
        while place < end and looked < most:
            row = lists.rows[place]
            shared = at.overlap[row]
            if shared != TAKEN:
                looked += 1
                at.overlap[row] = shared + 1
                if shared == 0:
                    at.touched[met] = row
                    at.apart[met] = lists.sizes[place]
                    met += 1
            place += 1
    for one in range(met):
        row = at.touched[one]
        at.apart[one] = max(0, min(_FARTHEST - 1, len(own) + at.apart[one] - 2 * at.overlap[row]))
        at.overlap[row] = 0
    return met


@compiled
def _select_nearest(met: int, wanted: int, at: Bench) -> int:
    """Put the `wanted` nearest of the rows that were met into the pool, nearest first; returns how many there are."""
    at.far[:] = 0
    for one in range(met):
        at.far[at.apart[one] + 1] += 1
    for apart in range(_FARTHEST):
        at.far[apart + 1] += at.far[apart]
    # A counting sort that drops what is beyond the wanted number; ties stay in the order in which they were met.
    for one in range(met):
        place = at.far[at.apart[one]]
        if place < wanted:
            at.pool[place] = at.touched[one]
            at.far[at.apart[one]] = place + 1
    return min(wanted, met)


@compiled
def _add_fillers(fillers: Fillers, pool: int, most: int, at: Bench) -> int:
    """Add the smallest sets to the pool; returns how many there are then."""
    place = fillers.head[0]
    while place < len(fillers.rows) and at.overlap[fillers.rows[place]] == TAKEN:
        place += 1
    fillers.head[0] = place
    end = min(len(fillers.rows), place + _FILLERS * most)
    while place < end:
        if at.overlap[fillers.rows[place]] != TAKEN:
            at.pool[pool] = fillers.rows[place]
            pool += 1
        place += 1
    return pool


@compiled
def _count_overlap(sets: Sets, row: int, met: int, at: Bench) -> int:
    for place in range(sets.starts[row], sets.starts[row + 1]):
        item = sets.items[place]
        if at.counts[item] == 0:
            at.counted[met] = item
            met += 1
        at.counts[item] += 1
    return met


@compiled
def _choose_members(sets: Sets, seed: int, pool: int, k: int, round_: int, at: Bench) -> tuple[int, float]:
    """Choose members from the pool one by one, each nearest to the mean of those before; their cost per keyword."""
    at.members[0] = seed
    at.used[sets.users[seed]] = round_
    kinds = _count_overlap(sets, seed, 0, at)
    keywords = sets.starts[seed + 1] - sets.starts[seed]
    chosen = 1
    while chosen < k:
        best, least = -1, np.inf
        for one in range(pool):
            row = at.pool[one]
            if at.used[sets.users[row]] != round_:
                apart = 0.0
                for place in range(sets.starts[row], sets.starts[row + 1]):
                    apart += 1 - 2 * at.counts[sets.items[place]] / chosen
                if apart < least:
                    best, least = row, apart
        if best < 0:
            break
        at.members[chosen] = best
        at.used[sets.users[best]] = round_
        kinds = _count_overlap(sets, best, kinds, at)
        keywords += sets.starts[best + 1] - sets.starts[best]
        chosen += 1
    cost = 0
    for one in range(kinds):
        count = at.counts[at.counted[one]]
        cost += chosen - count if 2 * count > chosen else count
        at.counts[at.counted[one]] = 0
    return chosen, cost / keywords


@compiled
def form(
    sets: Sets,
    group: Codes,
    due: npt.NDArray[np.int8],
    lists: Lists,
    fillers: Fillers,
    at: Bench,
    first: int,
    groups: int,
    round_: int,
    level: int,
    levels: int,
    most: int,
    patience: int,
    effort: int,
) -> tuple[int, int, int]:
    """Make groups around the sets from `first` on that are due, where cost per keyword is within the level.

    Stops once `patience` sets have a group, so that the lists can be made anew, and after about `effort` steps, so that
    a request to stop is heard; the next call goes on where this one stopped. What a set can get only becomes dearer
    while others are taken, so one that was found too dear waits for the level of what it would have cost.
    """
    k = len(at.members)
    for seed in range(first, len(group)):
        if patience <= 0 or effort <= 0:
            return seed, groups, round_
        if group[seed] != NO_GROUP or due[seed] > level or sets.starts[seed] == sets.starts[seed + 1]:
            continue
        met = _gather_neighbors(sets.items[sets.starts[seed] : sets.starts[seed + 1]], lists, most, at)
        wanted, chosen, cost = _POOL * k, 0, 1.0
        effort -= met + _FARTHEST
        while True:
            pool = _select_nearest(met, wanted, at)
            effort -= pool * k
            round_ += 1
            chosen, cost = _choose_members(sets, seed, pool, k, round_, at)
            if chosen == k:
                break
            if pool < wanted:
                round_ += 1
                chosen, cost = _choose_members(sets, seed, _add_fillers(fillers, pool, k, at), k, round_, at)
                break
            wanted *= 16
        needed = levels + 1 if chosen < k else int(np.ceil(cost * levels))
        if needed > level:
            due[seed] = needed
            continue
        for one in range(k):
            group[at.members[one]] = groups
            at.overlap[at.members[one]] = TAKEN
        groups += 1
        patience -= k
    return len(group), groups, round_


@compiled
def join(
    sets: Sets,
    group: Codes,
    lists: Lists,
    room: Ints,
    joined: npt.NDArray[np.bool_],
    at: Bench,
    first: int,
    allowed: float,
    most: int,
    effort: int,
) -> int:
    """Put each set from `first` on without a group into the group whose keywords are nearest, if that costs little.

    `room` is how many more users each group may have; the sets that joined are marked. Stops after about `effort`
    steps, and returns where to go on.
    """
    for row in range(first, len(group)):
        if effort <= 0:
            return row
        if group[row] != NO_GROUP:
            continue
        own = sets.items[sets.starts[row] : sets.starts[row + 1]]
        met = _gather_neighbors(own, lists, most, at)
        effort -= met + len(own)
        best, least = -1, len(own)
        for one in range(met):
            if at.apart[one] < least:
                best, least = at.touched[one], at.apart[one]
        if best >= 0 and least <= allowed * len(own):
            group[row] = best
            joined[row] = True
            room[best] -= 1
            if room[best] == 0:
                at.overlap[best] = TAKEN
    return len(group)
