"""The compiled loops of the continuous updates: pairs are fixed one by one, and each changes the distances of others.

`heap` fixes the closest pair first, as in the paper. `surest` first fixes the hash whose nearest token is farthest
ahead of its second: words of one kind are close to each other, and the closest pair is often one of several alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from queryveil.extension import compiled, inner
from queryveil_lab.inversion.kinds import F32, I32, I64, NOBODY, Flags


class Columns(NamedTuple):
    """For each token those that it comes together with, and its share in their company."""

    starts: I64
    rows: I32
    shares: F32


class Growing(NamedTuple):
    """A mapping that grows. Distances are half of L1: 1 at first, and only falling.

    A heap of pairs would hold each of them again with every change. Since distances only fall, each hash's nearest
    token is known all the time, and looked for again only where another hash took it.
    """

    hashes: Columns
    tokens: Columns
    distance: F32
    mapping: I32
    free: Flags
    best: F32
    best_token: I32
    second: F32
    second_token: I32
    """The second nearest, for `surest`."""


@inner
def fix(work: Growing, hash: int, token: int) -> None:
    """Fix a pair, and bring those closer that come together with its two ends."""
    work.mapping[hash], work.free[token] = token, False
    for at in range(work.hashes.starts[hash], work.hashes.starts[hash + 1]):
        other, share = work.hashes.rows[at], work.hashes.shares[at]
        if work.mapping[other] != NOBODY:
            continue
        for place in range(work.tokens.starts[token], work.tokens.starts[token + 1]):
            there = work.tokens.rows[place]
            if not work.free[there]:
                continue
            work.distance[other, there] -= min(share, work.tokens.shares[place])
            place_among(work, other, there, work.distance[other, there])


@inner
def place_among(work: Growing, hash: int, token: int, value: float) -> None:
    """Note that a token came closer to a hash, if it is one of its two nearest now; the more frequent of equals."""
    if token == work.best_token[hash]:
        work.best[hash] = value
    elif value < work.best[hash] or (value == work.best[hash] and token < work.best_token[hash]):
        work.second[hash], work.second_token[hash] = work.best[hash], work.best_token[hash]
        work.best[hash], work.best_token[hash] = value, token
    elif token == work.second_token[hash] or value < work.second[hash]:
        work.second[hash], work.second_token[hash] = value, token


@inner
def look_again(work: Growing, hash: int) -> None:
    """The two nearest tokens of a hash that are still free, of those that anything is known of."""
    work.best[hash], work.best_token[hash] = 1, NOBODY
    work.second[hash], work.second_token[hash] = 1, NOBODY
    for token in range(len(work.free)):
        if work.free[token] and work.distance[hash, token] < work.second[hash]:
            place_among(work, hash, token, work.distance[hash, token])


@inner
def closest(work: Growing) -> Any:
    """The hash that is nearest to any token, the more frequent of equals."""
    found, least = NOBODY, np.float32(1)
    for hash in range(len(work.mapping)):
        if work.mapping[hash] == NOBODY and work.best[hash] < least:
            found, least = hash, work.best[hash]
    return found


@inner
def surest(work: Growing) -> Any:
    """The hash whose nearest token is farthest ahead of the second, the more frequent of equals."""
    found, most = NOBODY, np.float32(-1)
    for hash in range(len(work.mapping)):
        if work.mapping[hash] == NOBODY and work.best[hash] < 1:
            lead = work.second[hash] - work.best[hash]
            if lead > most:
                found, most = hash, lead
    return found


@inner
def fix_known(work: Growing, known: I32) -> None:
    for at in range(len(known)):
        if work.mapping[known[at, 0]] == NOBODY and work.free[known[at, 1]]:
            fix(work, known[at, 0], known[at, 1])


@compiled
def grow_surely(work: Growing, known: I32) -> None:
    """Fix the known pairs, then that of the surest hash again and again, until nothing is known of what is left."""
    fix_known(work, known)
    for hash in range(len(work.mapping)):
        look_again(work, hash)
    while True:
        hash = surest(work)
        if hash == NOBODY:
            return
        token = work.best_token[hash]
        fix(work, hash, token)
        # Who had this token in mind looks for another: its lead is no longer what it was.
        for other in range(len(work.mapping)):
            taken = work.best_token[other] == token or work.second_token[other] == token
            if work.mapping[other] == NOBODY and taken:
                look_again(work, other)


@compiled
def grow(work: Growing, known: I32) -> None:
    """Fix the known pairs, then the closest one again and again, until nothing is known of what is left."""
    fix_known(work, known)
    while True:
        hash = closest(work)
        if hash == NOBODY:
            return
        if work.free[work.best_token[hash]]:
            fix(work, hash, work.best_token[hash])
        else:
            look_again(work, hash)
