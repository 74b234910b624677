"""The loops of Gaussian selection over all histories, compiled: sums of weights, new scores, and clipped counts.

Everything is in whole numbers of 64 bits. The sums do not depend on the order of users.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from queryveil.compiled import compiled, inner

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


@inner
def _root(square: np.int64) -> int:
    """The whole part of a square root, exactly: a float only says where to look."""
    found = np.int64(math.sqrt(float(square)))
    while found * found > square:
        found -= 1
    while (found + 1) * (found + 1) <= square:
        found += 1
    return int(found)


@compiled
def weighted_sums(starts: Whole, items: Numbers, scores: Whole, grid: int, sums: Whole) -> None:
    """Add to each item the weights of its users: score * grid // s, where s is more than the norm of a user's scores.

    So the weights of one user have a norm below the grid, whatever the scores are.
    """
    for user in range(len(starts) - 1):
        square = np.int64(0)
        for at in range(starts[user], starts[user + 1]):
            score = scores[items[at]]
            square += score * score
        if square == 0:
            continue
        norm = _root(square) + 1
        for at in range(starts[user], starts[user + 1]):
            score = scores[items[at]]
            if score > 0:
                sums[items[at]] += score * grid // norm


@compiled
def pruned(starts: Whole, items: Numbers, alive: Flags) -> int:
    """Leave items that were dropped out of all histories, in place; how many entries are left."""
    kept = 0
    begin = starts[0]
    for user in range(len(starts) - 1):
        end = starts[user + 1]
        for at in range(begin, end):
            if alive[items[at]]:
                items[kept] = items[at]
                kept += 1
        begin = end
        starts[user + 1] = kept
    return kept


@compiled
def steer(
    totals: Whole,
    priors: Whole,
    width: int,
    first: int,
    gates: Whole,
    paces: Whole,
    full_bits: int,
    alive: Flags,
    scores: Whole,
) -> None:
    """New scores from an item's own noisy sums and its prior; items far behind are dropped."""
    for item in range(len(totals)):
        scores[item] = 0
        if not alive[item]:
            continue
        step = totals[item] // width
        gate = step - priors[item] - first
        if gate < 0:
            alive[item] = False
            continue
        score = gates[gate] if gate < len(gates) else np.int64(1) << full_bits
        if step >= 0:
            pace = paces[step] if step < len(paces) else np.int64(0)
            score = score * pace >> full_bits
        scores[item] = score


@compiled
def clipped_sums(starts: Whole, places: Numbers, parts: Whole, most: int, rows: int, sums: Whole) -> None:
    """Add to each published item the part that each of its users may count, scaled down to a norm of `most`.

    `places` are those of published items, -1 for all others. Of a user only the first `rows` published items count.
    """
    for user in range(len(starts) - 1):
        square, left = np.int64(0), rows
        end = starts[user]
        while end < starts[user + 1] and left > 0:
            if places[end] >= 0:
                square += parts[places[end]] * parts[places[end]]
                left -= 1
            end += 1
        if square == 0:
            continue
        norm = _root(square) + 1 if square > most * most else 0
        for at in range(starts[user], end):
            if places[at] >= 0:
                part = parts[places[at]]
                sums[places[at]] += part * most // norm if norm else part
