"""Compiled kernels of Gaussian selection over all histories: sums of weights, new scores, and clipped counts.

Everything is in whole numbers of 64 bits. The sums do not depend on the order of users, and so not on how many
threads make them: each sums up some of the users, and then these sums are added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from queryveil.compiled import compiled, inner, shares, side_by_side, unlocked

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


@inner
def _integer_root(square: np.int64) -> int:
    """Return the whole part of a square root, exactly: the float is a first guess."""
    found = np.int64(math.sqrt(float(square)))
    while found * found > square:
        found -= 1
    while (found + 1) * (found + 1) <= square:
        found += 1
    return int(found)


def add_weighted_sums(starts: Whole, items: Numbers, scores: Whole, grid: int, sums: Whole) -> None:
    """Add to each item the weights of its users: score * grid // s, where s is more than the norm of a user's scores.

    So the weights of one user have a norm below the grid, whatever the scores are.
    """
    _sum_over_threads(_weighted_sums, starts, (items, scores, grid), sums)


def _sum_over_threads(
    loop: Callable[..., None], starts: Whole, given: tuple[object, ...], sums: Whole
) -> None:
    """Add to `sums` what a kernel finds for all users, who are divided among threads."""
    rows = shares(int(starts[-1] - starts[0]))
    cuts = [int(np.searchsorted(starts, starts[0] + begin)) for begin, _ in rows[1:]]
    parts = zip([0, *cuts], [*cuts, len(starts) - 1], strict=True)
    each = [sums, *(np.zeros_like(sums) for _ in cuts)]
    side_by_side(loop, [(starts, *given, *part, own) for part, own in zip(parts, each, strict=True)])
    for more in each[1:]:
        sums += more


@unlocked
def _weighted_sums(
    starts: Whole, items: Numbers, scores: Whole, grid: int, begin: int, end: int, sums: Whole
) -> None:
    for user in range(begin, end):
        square = np.int64(0)
        for at in range(starts[user], starts[user + 1]):
            score = scores[items[at]]
            square += score * score
        if square == 0:
            continue
        norm = _integer_root(square) + 1
        for at in range(starts[user], starts[user + 1]):
            score = scores[items[at]]
            if score > 0:
                sums[items[at]] += score * grid // norm


@compiled
def prune_histories(starts: Whole, items: Numbers, alive: Flags) -> int:
    """Remove dropped items from all histories, in place, and return how many entries are left."""
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
def steer_scores(
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
    """Compute new scores from each item's own noisy sums and its prior; drop items far behind."""
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


def add_clipped_sums(starts: Whole, places: Numbers, parts: Whole, most: int, rows: int, sums: Whole) -> None:
    """Add to each published item the part that each of its users may count, scaled down to a norm of `most`.

    `places` are those of published items, -1 for all others. Of a user only the first `rows` published items count.
    """
    _sum_over_threads(_clipped_sums, starts, (places, parts, most, rows), sums)


@unlocked
def _clipped_sums(
    starts: Whole,
    places: Numbers,
    parts: Whole,
    most: int,
    rows: int,
    begin: int,
    end: int,
    sums: Whole,
) -> None:
    for user in range(begin, end):
        square, left = np.int64(0), rows
        last = starts[user]
        while last < starts[user + 1] and left > 0:
            if places[last] >= 0:
                square += parts[places[last]] * parts[places[last]]
                left -= 1
            last += 1
        if square == 0:
            continue
        norm = _integer_root(square) + 1 if square > most * most else 0
        for at in range(starts[user], last):
            if places[at] >= 0:
                part = parts[places[at]]
                sums[places[at]] += part * most // norm if norm else part
