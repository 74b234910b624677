"""The compiled loops of hash inversion: distances row by row, nearest candidates, and matching.

A row of distances is made when it is needed and never kept: of each hash only its nearest candidates are, and the row
is made again if they run out. Nothing is as large as all pairs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from queryveil.extension import compiled, inner, unlocked
from queryveil_lab.inversion.kinds import F32, I32, I64, NOBODY, Flags

BY_FEATURES, L1, L2, COSINE, EXPANDED, GIVEN = range(6)
FEATURES = 5
FIRST, ANY = np.float32(-np.inf), np.int32(-1)
"""Before every candidate."""


class Rows(NamedTuple):
    """All that a row of distances is made from."""

    kind: int
    starts: I64
    context: I32
    """Neighbours of each hash, as the tokens that they are mapped to; NOBODY for a neighbour without one."""
    shares: F32
    token_starts: I64
    token_rows: I32
    token_shares: F32
    """The inverted index: for each token those that it comes together with, and its share in their company."""
    own: F32
    other: F32
    """Per hash and per token: row sums (L1), squared (L2) or plain (cosine) norms; mass of known company (expanded)."""
    hash_features: F32
    token_features: F32
    reach: F32
    """Per hash: the feature distance of the farthest candidate that is considered."""
    given: F32
    """All distances, if they were made beforehand."""


class Lists(NamedTuple):
    """The nearest candidates of each hash, nearest first."""

    distance: F32
    token: I32
    size: I32


@inner
def apart(rows: Rows, hash: int, token: int) -> float:
    """How far two are apart by features."""
    total = np.float32(0)
    for at in range(rows.hash_features.shape[1]):
        total += abs(rows.hash_features[hash, at] - rows.token_features[token, at])
    return total  # type: ignore[return-value]


@inner
def gather(rows: Rows, hash: int, row: F32) -> None:
    """What a hash has in common with each token: sums over the neighbours that are mapped."""
    row[:] = 0
    for at in range(rows.starts[hash], rows.starts[hash + 1]):
        known, share = rows.context[at], rows.shares[at]
        if known == NOBODY:
            continue
        # Views of one column each: twice as quick as places in the whole.
        there = rows.token_rows[rows.token_starts[known] : rows.token_starts[known + 1]]
        shares = rows.token_shares[rows.token_starts[known] : rows.token_starts[known + 1]]
        if rows.kind in (L2, COSINE):
            for place in range(len(there)):
                row[there[place]] += share * shares[place]
        else:
            for place in range(len(there)):
                other = shares[place]
                row[there[place]] += share if share < other else other


@inner
def fill_row(rows: Rows, hash: int, row: F32) -> None:
    """Distances of a hash to all tokens; infinite to those that are no candidates."""
    if rows.kind == BY_FEATURES:
        for token in range(len(row)):
            row[token] = apart(rows, hash, token)
        return
    if rows.kind == GIVEN:
        row[:] = rows.given[hash]
        return
    gather(rows, hash, row)
    if rows.kind == EXPANDED:
        estimate(rows, hash, row)
    else:
        measure(rows, hash, row)
    if rows.reach[hash] < np.inf:
        for token in range(len(row)):
            if row[token] < np.inf and apart(rows, hash, token) > rows.reach[hash]:
                row[token] = np.inf


@inner
def measure(rows: Rows, hash: int, row: F32) -> None:
    """Distances from what a hash and each token have in common; tokens without anything are no candidates."""
    own, zero, two = rows.own[hash], np.float32(0), np.float32(2)
    for token in range(len(row)):
        common = row[token]
        if common <= zero:
            row[token] = np.inf
        elif rows.kind == COSINE:
            row[token] = max(np.float32(1) - common / (own * rows.other[token]), zero)
        else:
            # Rounding must not make it negative.
            value = max(own + rows.other[token] - two * common, zero)
            row[token] = np.sqrt(value) if rows.kind == L2 else value


@inner
def estimate(rows: Rows, hash: int, row: F32) -> None:
    """Distances of an expanded vocabulary: by the known part of the company, and by features for the rest of it.

    Without any known company nothing is in common, and features decide.
    """
    gamma, one = rows.own[hash], np.float32(1)
    for token in range(len(row)):
        value = max(one - row[token] / gamma, np.float32(0)) if gamma > 0 else one
        row[token] = value + (one - gamma) * apart(rows, hash, token) / np.float32(FEATURES)


@inner
def before(one: float, at: int, other: float, there: int) -> bool:
    """The order of candidates: the nearer first, then the more frequent."""
    return one < other or (one == other and at < there)


@inner
def sink(distance: F32, token: I32, place: int, size: int) -> None:
    """Restore a heap whose last comes first, below `place`."""
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and before(distance[child], token[child], distance[child + 1], token[child + 1]):
            child += 1
        if not before(distance[place], token[place], distance[child], token[child]):
            return
        distance[place], distance[child] = distance[child], distance[place]
        token[place], token[child] = token[child], token[place]
        place = child


@inner
def pick(row: F32, free: Flags, after: Any, after_token: Any, distance: F32, token: I32) -> int:
    """The nearest free candidates that come after a given one, as many as there is room for; how many they are."""
    room, size = len(token), 0
    for at in range(len(row)):
        value = row[at]
        if value == np.inf or not free[at] or not before(after, after_token, value, at):
            continue
        if size < room:
            distance[size], token[size] = value, at
            size += 1
            if size == room:
                for place in range(room // 2 - 1, -1, -1):
                    sink(distance, token, place, room)
        elif before(value, at, distance[0], token[0]):
            distance[0], token[0] = value, at
            sink(distance, token, 0, room)
    if size < room:
        for place in range(size // 2 - 1, -1, -1):
            sink(distance, token, place, size)
    for end in range(size - 1, 0, -1):
        distance[0], distance[end] = distance[end], distance[0]
        token[0], token[end] = token[end], token[0]
        sink(distance, token, 0, end)
    return size


@unlocked
def list_nearest(rows: Rows, lists: Lists, hashes: I32, free: Flags) -> None:
    """The nearest free candidates of these hashes."""
    row = np.empty(len(free), np.float32)
    for hash in hashes:
        fill_row(rows, hash, row)
        lists.size[hash] = pick(row, free, FIRST, ANY, lists.distance[hash], lists.token[hash])


@unlocked
def fill_rows(rows: Rows, first: int, block: F32) -> None:
    """Distances of consecutive hashes to all tokens."""
    for at in range(len(block)):
        fill_row(rows, first + at, block[at])


@inner
def renew(rows: Rows, lists: Lists, hash: int, free: Flags, row: F32) -> int:
    """The candidates after the last one of a list; 0 if the list held all that there are."""
    size = lists.size[hash]
    if size < lists.token.shape[1]:
        return 0
    fill_row(rows, hash, row)
    after, after_token = lists.distance[hash, size - 1], lists.token[hash, size - 1]
    lists.size[hash] = pick(row, free, after, after_token, lists.distance[hash], lists.token[hash])
    return int(lists.size[hash])


@inner
def settle(distance: F32, hash: I32, size: int) -> None:
    """Move the first of a heap, which may have become farther, to where it belongs."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and before(distance[child + 1], hash[child + 1], distance[child], hash[child]):
            child += 1
        if not before(distance[child], hash[child], distance[place], hash[place]):
            return
        distance[place], distance[child] = distance[child], distance[place]
        hash[place], hash[child] = hash[child], hash[place]
        place = child


@compiled
def match_closest(rows: Rows, lists: Lists, hashes: I32, free: Flags, mapping: I32) -> None:
    """Take the closest pair that is free on both sides, again and again.

    The heap holds each hash with its first candidate that may still be free. Tokens are only taken, so that this
    distance is never above the one to its nearest free token: a pair at the top that is free is the closest of all.
    """
    distance, queue = np.empty(len(hashes), np.float32), np.empty(len(hashes), np.int32)
    place = np.zeros(len(mapping), np.int32)
    row = np.empty(len(free), np.float32)
    size = 0
    for hash in hashes:
        if lists.size[hash]:
            up = size
            while up and before(lists.distance[hash, 0], hash, distance[(up - 1) // 2], queue[(up - 1) // 2]):
                distance[up], queue[up] = distance[(up - 1) // 2], queue[(up - 1) // 2]
                up = (up - 1) // 2
            distance[up], queue[up] = lists.distance[hash, 0], hash
            size += 1
    while size:
        hash = queue[0]
        token = lists.token[hash, place[hash]]
        more = True
        if free[token]:
            mapping[hash], free[token], more = token, False, False
        else:
            while place[hash] < lists.size[hash] and not free[lists.token[hash, place[hash]]]:
                place[hash] += 1
            if place[hash] == lists.size[hash]:
                place[hash] = 0
                more = renew(rows, lists, hash, free, row) > 0
        if more:
            distance[0] = lists.distance[hash, place[hash]]
        else:
            size -= 1
            distance[0], queue[0] = distance[size], queue[size]
        settle(distance, queue, size)


@compiled
def marry(rows: Rows, lists: Lists, hashes: I32, free: Flags, mapping: I32) -> None:
    """Gale and Shapley: each hash proposes to its nearest token, which keeps the nearest of those that did."""
    kept = np.full(len(free), NOBODY, np.int32)
    nearest = np.full(len(free), np.inf, np.float32)
    place = np.zeros(len(mapping), np.int32)
    row = np.empty(len(free), np.float32)
    waiting = hashes.copy()
    size = len(waiting)
    while size:
        hash = waiting[size - 1]
        if place[hash] == lists.size[hash]:
            place[hash] = 0
            if lists.size[hash] == 0 or renew(rows, lists, hash, free, row) == 0:
                lists.size[hash] = 0
                size -= 1
                continue
        token, value = lists.token[hash, place[hash]], lists.distance[hash, place[hash]]
        place[hash] += 1
        if kept[token] == NOBODY:
            size -= 1
        elif before(value, hash, nearest[token], kept[token]):
            waiting[size - 1] = kept[token]
        else:
            continue
        kept[token], nearest[token] = hash, value
    for token in range(len(kept)):
        if kept[token] != NOBODY:
            mapping[kept[token]], free[token] = token, False
