"""Hash inversion by its definitions: dense matrices in double precision, and loops over all pairs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def cooc(queries: list[list[str]], tokens: list[str]) -> Array:
    """Queries that hold both, of different tokens."""
    made = np.zeros((len(tokens), len(tokens)))
    for query in queries:
        for one, other in itertools.permutations(set(query) & set(tokens), 2):
            made[tokens.index(one), tokens.index(other)] += 1
    return made


def shares(counts: Array) -> Array:
    sums = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0)


def pruned(rows: Array, beta: float) -> Array:
    """The fewest neighbours with this share; of equally frequent ones the first."""
    made = np.zeros_like(rows)
    for at, row in enumerate(rows):
        order = sorted(np.flatnonzero(row), key=lambda other: (-row[other], other))
        for other in order:
            if made[at].sum() >= beta - 1e-6:
                break
            made[at, other] = row[other]
    return made


def features(freq: Array, total: float, alone: Array, counts: Array) -> Array:
    freq_n = freq / total
    company = counts.sum(axis=1)
    near = np.array([(freq_n * row).sum() / max(row.sum(), 1) for row in counts])
    columns = np.column_stack((freq_n, alone / freq, company, (counts > 0).sum(axis=1), near))
    spread = columns.std(axis=0)
    return (columns - columns.mean(axis=0)) / np.where(spread > 1e-12, spread, 1)


def feature_distances(ours: Array, theirs: Array) -> Array:
    return np.abs(ours[:, None] - theirs[None]).sum(axis=2)


def distances(ours: Array, theirs: Array, mapping: Array, kind: str) -> Array:
    """Of rows, ours re-indexed by a mapping that may be partial; infinite without a mapped neighbour in common."""
    through = np.zeros((len(ours), theirs.shape[1]))
    for hash, token in enumerate(mapping):
        if token >= 0:
            through[:, token] += ours[:, hash]
    made = np.full((len(ours), len(theirs)), np.inf)
    for hash, token in itertools.product(range(len(ours)), range(len(theirs))):
        a, b, row = through[hash], theirs[token], ours[hash]
        if not np.minimum(a, b).sum() > 0:
            continue
        made[hash, token] = {
            "l1": row.sum() + b.sum() - 2 * np.minimum(a, b).sum(),
            "l2": np.sqrt(max((row**2).sum() + (b**2).sum() - 2 * (a * b).sum(), 0)),
            "hellinger": np.sqrt(max(row.sum() + b.sum() - 2 * np.sqrt(a * b).sum(), 0)),
            "cosine": 1 - (a * b).sum() / np.sqrt((row**2).sum() * (b**2).sum()),
        }[kind]
    return made


def expanded(ours: Array, theirs: Array, mapping: Array, ours_g: Array, theirs_g: Array) -> Array:
    made = np.zeros((len(ours), len(theirs)))
    for hash, token in itertools.product(range(len(ours)), range(len(theirs))):
        gamma = sum(ours[hash, known] for known in range(len(mapping)))
        rho = sum(min(ours[hash, known], theirs[token, mapping[known]]) for known in range(len(mapping)))
        delta = 1 - rho / gamma if gamma > 0 else 1
        made[hash, token] = delta + (1 - gamma) * np.abs(ours_g[hash] - theirs_g[token]).sum() / 5
    return made


# -- rules; each ends with the rest by features ---------------------------------------------------------------


def greedy(pairs: Array, by_features: Array) -> list[int]:
    return rest(one_by_one(pairs, {}), by_features)


def one_by_one(pairs: Array, mapping: dict[int, int]) -> dict[int, int]:
    """Pairs by distance, then hash, then token; those that are free."""
    order = sorted(zip(*np.nonzero(np.isfinite(pairs)), strict=True), key=lambda at: (pairs[at], at))
    for hash, token in order:
        if hash not in mapping and token not in mapping.values():
            mapping[int(hash)] = int(token)
    return mapping


def rest(mapping: dict[int, int], by_features: Array) -> list[int]:
    done = one_by_one(by_features, dict(mapping))
    return [done[hash] for hash in range(len(by_features))]


def by_ranks(pairs: Array, by_features: Array) -> list[int]:
    ranks = np.argsort(np.argsort(pairs, axis=1, kind="stable"), axis=1)
    ranks += np.argsort(np.argsort(pairs, axis=0, kind="stable"), axis=0)
    return greedy(np.where(np.isfinite(pairs), ranks, np.inf), by_features)


def least_cost(pairs: Array) -> float:
    """The least sum over all assignments, what is no candidate costing 2; for very small n."""
    cost = np.where(np.isfinite(pairs), pairs, 2.0)
    return min(
        sum(cost[hash, token] for hash, token in enumerate(chosen))
        for chosen in itertools.permutations(range(len(cost)))
    )


def unstable(pairs: Array, mapping: list[int]) -> list[tuple[int, int]]:
    """Pairs who would both rather have each other than whom they have."""
    holder = {token: hash for hash, token in enumerate(mapping)}
    return [
        (hash, token)
        for hash, token in itertools.product(range(len(pairs)), range(len(pairs)))
        if pairs[hash, token] < pairs[hash, mapping[hash]]
        and pairs[hash, token] < pairs[holder[token], token]
    ]


def surest(pairs: Array, free: list[tuple[Any, tuple[int, int]]]) -> tuple[int, int]:
    """The hash with the largest lead of its nearest token before the second; one that nothing is known of is at 1."""
    leads = []
    for hash in sorted({at[0] for _, at in free}):
        near = sorted((value, at[1]) for value, at in free if at[0] == hash)
        second = near[1][0] if len(near) > 1 else np.float32(1)
        leads.append((-(second - near[0][0]), hash, near[0][1]))
    _, hash, token = min(leads)
    return hash, token


def growing(
    ours: Array, theirs: Array, known: list[tuple[int, int]], by_features: Array, rule: str = "heap"
) -> list[int]:
    """The continuous updates with a list for a heap, in single precision as ours are."""
    ours, theirs = ours.astype(np.float32), theirs.astype(np.float32)
    pairs = np.ones((len(ours), len(theirs)), np.float32)
    mapping: dict[int, int] = {}
    waiting = list(known)
    while True:
        if waiting:
            hash, token = waiting.pop(0)
        else:
            free = [
                (pairs[at], at)
                for at in itertools.product(range(len(ours)), range(len(theirs)))
                if pairs[at] < 1 and at[0] not in mapping and at[1] not in mapping.values()
            ]
            if not free:
                return rest(mapping, by_features)
            hash, token = min(free)[1] if rule == "heap" else surest(pairs, free)
        if hash in mapping or token in mapping.values():
            continue
        mapping[hash] = token
        for near, there in itertools.product(range(len(ours)), range(len(theirs))):
            pairs[near, there] -= min(ours[near, hash], theirs[there, token])
