"""The compiled loop of the continuous update: pairs are fixed one by one, and each changes the distances of others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from queryveil.attack.inversion.kinds import F32, I32, I64, NOBODY, Flags
from queryveil.compiled import compiled, inner


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
            value = work.distance[other, there]
            if value < work.best[other] or (value == work.best[other] and there < work.best_token[other]):
                work.best[other], work.best_token[other] = value, there


@inner
def look_again(work: Growing, hash: int) -> None:
    """The nearest token of a hash that is still free, of those that anything is known of."""
    work.best[hash], work.best_token[hash] = 1, NOBODY
    for token in range(len(work.free)):
        if work.free[token] and work.distance[hash, token] < work.best[hash]:
            work.best[hash], work.best_token[hash] = work.distance[hash, token], token


@inner
def closest(work: Growing) -> Any:
    """The hash that is nearest to any token, the more frequent of equals."""
    found, least = NOBODY, np.float32(1)
    for hash in range(len(work.mapping)):
        if work.mapping[hash] == NOBODY and work.best[hash] < least:
            found, least = hash, work.best[hash]
    return found


@compiled
def grow(work: Growing, known: I32) -> None:
    """Fix the known pairs, then the closest one again and again, until nothing is known of what is left."""
    for at in range(len(known)):
        if work.mapping[known[at, 0]] == NOBODY and work.free[known[at, 1]]:
            fix(work, known[at, 0], known[at, 1])
    while True:
        hash = closest(work)
        if hash == NOBODY:
            return
        if work.free[work.best_token[hash]]:
            fix(work, hash, work.best_token[hash])
        else:
            look_again(work, hash)
