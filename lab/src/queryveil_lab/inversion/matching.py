"""Two logs side by side at one vocabulary size, and the ways to match hashes with tokens by their distances."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from queryveil_lab.inversion import loops
from queryveil_lab.inversion.features import features
from queryveil_lab.inversion.growing_loop import Columns, Growing, grow, grow_surely
from queryveil_lab.inversion.kinds import (
    COSINE,
    F32,
    GREEDY,
    HEAP,
    HELLINGER,
    I32,
    L1,
    L2,
    MARRIAGE,
    MINCOST,
    MOST_PAIRS,
    NOBODY,
    PLAIN,
    RANKS,
    SUREST,
    Flags,
    too_many,
)
from queryveil_lab.inversion.loops import Lists, Rows
from queryveil_lab.inversion.statistics import Matrix, Statistics

DISTANCES = {L1: loops.L1, L2: loops.L2, COSINE: loops.COSINE, HELLINGER: loops.L2}
"""Hellinger's distance is L2 of square roots of shares: many rare neighbours count as much as a frequent one."""
CANDIDATES = 48
"""Nearest candidates that are kept of each hash. More are looked for where they run out; the result is the same."""
_BLOCK = 128
"""Hashes that a thread works on at a time."""

Told = Callable[[float], None]
"""Called with the share of an update that is done."""


@dataclass(frozen=True, eq=False)
class Sides:
    """The n most frequent hashes of one log and tokens of another, and how their distances are measured."""

    hashes: Statistics
    tokens: Statistics
    features: str = PLAIN
    distance: str = L1
    alpha: float = 1.0
    """For each hash only this share of the tokens, the nearest by features, is considered."""
    beta: float = 1.0
    """Neighbours of a token are left out beyond this share of its company."""
    told: Told | None = None

    def __len__(self) -> int:
        return len(self.hashes)

    @cached_property
    def hash_features(self) -> F32:
        return features(self.hashes, self.features)

    @cached_property
    def token_features(self) -> F32:
        return features(self.tokens, self.features)

    @cached_property
    def hash_rows(self) -> Matrix:
        return self._prune_matrix(self.hashes)

    @cached_property
    def token_rows(self) -> Matrix:
        return self._prune_matrix(self.tokens)

    @cached_property
    def token_columns(self) -> Matrix:
        return self.token_rows.tocsc()

    def _prune_matrix(self, one: Statistics) -> Matrix:
        return one.cooc_n if self.beta >= 1 else one.pruned(self.beta)

    @cached_property
    def _comparison_matrices(self) -> tuple[Matrix, Matrix, Matrix]:
        """Rows of hashes, rows of tokens and their columns, as the distance takes them."""
        if self.distance != HELLINGER:
            return self.hash_rows, self.token_rows, self.token_columns
        return (
            _square_roots(self.hash_rows),
            _square_roots(self.token_rows),
            _square_roots(self.token_columns),
        )

    @cached_property
    def reach(self) -> F32:
        """How far by features the last candidate of each hash may be."""
        reach = np.full(len(self), np.inf, np.float32)
        if self.alpha < 1:
            rows, most = self.by_features(), max(1, int(np.ceil(self.alpha * len(self.tokens))))

            def find(part: I32) -> None:
                block = np.empty((len(part), len(self.tokens)), np.float32)
                loops.fill_rows(rows, int(part[0]), block)
                reach[part] = np.partition(block, most - 1, axis=1)[:, most - 1]

            _run_blocks(np.arange(len(self), dtype=np.int32), find)
        return reach

    def by_features(self) -> Rows:
        """Distances of features alone."""
        nothing = np.zeros(len(self), np.float32)
        return self._rows(loops.BY_FEATURES, None, nothing, nothing, np.full(len(self), np.inf, np.float32))

    def by_company(self, mapping: I32) -> Rows:
        """Distances of the company that hashes and tokens keep, hashes being read through a mapping.

        A pair that shares no mapped neighbour is no candidate: under L1 and cosine it is as far apart as can be.
        """
        kind = DISTANCES[self.distance]
        hashes, tokens, columns = self._comparison_matrices
        own, other = (_row_norms(one, kind) for one in (hashes, tokens))
        return self._rows(kind, mapping, own, other, self.reach, (hashes, columns))

    def by_known_part(self, mapping: I32) -> Rows:
        """Distances of a larger vocabulary, of which only the first part is mapped; all pairs are candidates."""
        whole = np.full(len(self), NOBODY, np.int32)
        whole[: len(mapping)] = mapping
        known = self.hashes.cooc_n[:, : len(mapping)]
        gamma = np.asarray(known.sum(axis=1), dtype=np.float32).ravel()
        return self._rows(loops.EXPANDED, whole, np.minimum(gamma, 1), np.zeros(0, np.float32), self.reach)

    def _rows(
        self,
        kind: int,
        mapping: I32 | None,
        own: F32,
        other: F32,
        reach: F32,
        compared: tuple[Matrix, Matrix] | None = None,
    ) -> Rows:
        if compared is None:  # beta is for the plain update
            whole = self.tokens.cooc_n.tocsc() if self.beta < 1 else self.token_columns
            compared = self.hashes.cooc_n, whole
        rows, columns = compared
        return Rows(
            kind=kind,
            starts=rows.indptr.astype(np.int64),
            context=(mapping[rows.indices] if mapping is not None else rows.indices).astype(np.int32),
            shares=rows.data,
            token_starts=columns.indptr.astype(np.int64),
            token_rows=columns.indices.astype(np.int32),
            token_shares=columns.data,
            own=own,
            other=other,
            hash_features=self.hash_features,
            token_features=self.token_features,
            reach=reach,
            given=np.zeros((0, 0), np.float32),
        )

    # -- rules -----------------------------------------------------------------------------------------------

    def nearest(self, rows: Rows, most: int, hashes: I32 | None = None, free: Flags | None = None) -> Lists:
        """The nearest candidates of each hash, or of some hashes among the tokens that are free."""
        wanted = np.arange(len(self), dtype=np.int32) if hashes is None else hashes
        among = np.ones(len(self.tokens), np.bool_) if free is None else free
        shape = (len(self), min(most, len(self.tokens)))
        lists = Lists(np.empty(shape, np.float32), np.empty(shape, np.int32), np.zeros(len(self), np.int32))
        _run_blocks(wanted, lambda part: loops.list_nearest(rows, lists, part, among), self.told)
        return lists

    def pairs(self, rows: Rows) -> F32:
        """All distances at once, infinite where a pair is no candidate; for small vocabularies."""
        made = np.empty((len(self), len(self.tokens)), np.float32)

        def fill(part: I32) -> None:
            loops.fill_rows(rows, int(part[0]), made[part[0] : part[-1] + 1])

        _run_blocks(np.arange(len(self), dtype=np.int32), fill, self.told)
        return made

    def greedy(self, rows: Rows, first: int | None = None) -> I32:
        """Score-greedy: the closest pair of all, then the closest of what is left, and so on.

        With `first`, only so many of the most frequent hashes and tokens are matched, and all are company.
        """
        mapping, free = self._empty_matching()
        most = len(self) if first is None else first
        free[most:] = False
        hashes = np.arange(most, dtype=np.int32)
        loops.match_closest(rows, self.nearest(rows, CANDIDATES, hashes, free), hashes, free, mapping)
        return self._match_rest(mapping, free, most)[:most]

    def married(self, rows: Rows) -> I32:
        """Stable marriage."""
        mapping, free = self._empty_matching()
        hashes = np.arange(len(self), dtype=np.int32)
        everyone = free.copy()
        loops.marry(rows, self.nearest(rows, CANDIDATES), hashes, everyone, mapping)
        return self._match_rest(mapping, everyone)

    def cheapest(self, rows: Rows) -> I32:
        """Mincost: the assignment with the least sum of distances."""
        from scipy.optimize import linear_sum_assignment

        self._check_size(MINCOST)
        pairs = self.pairs(rows).astype(np.float64)
        # What is no candidate costs as much as the worst that is possible under any distance.
        none = ~np.isfinite(pairs)
        pairs[none] = 2.0
        hashes, tokens = linear_sum_assignment(pairs)
        return self._chosen_pairs(hashes, tokens, ~none[hashes, tokens])

    def by_ranks(self, rows: Rows) -> I32:
        """Rank-greedy: the pair with the least sum of ranks in each other's order, again and again."""
        self._check_size(RANKS)
        pairs = self.pairs(rows)
        ranks = _row_ranks(pairs)
        ranks += _row_ranks(pairs.T).T
        pairs[np.isfinite(pairs)] = ranks[np.isfinite(pairs)]
        return self.greedy(rows._replace(kind=loops.GIVEN, given=pairs))

    def growing(self, known: I32, rule: str = HEAP) -> I32:
        """Continuous update: every pair that is fixed changes the distances of others at once.

        `known` are pairs to start from, as rows of hash and token. `heap` fixes the closest pair next, `surest` that of
        the hash whose nearest token is farthest ahead of the second.
        """
        self._check_size(rule)
        mapping, free = self._empty_matching()
        hashes, tokens = (
            Columns(one.indptr.astype(np.int64), one.indices.astype(np.int32), one.data)
            for one in (self.hash_rows.tocsc(), self.token_columns)
        )
        work = Growing(
            hashes=hashes,
            tokens=tokens,
            distance=np.ones((len(self), len(self.tokens)), np.float32),
            mapping=mapping,
            free=free,
            best=np.ones(len(self), np.float32),
            best_token=np.full(len(self), NOBODY, np.int32),
            second=np.ones(len(self), np.float32),
            second_token=np.full(len(self), NOBODY, np.int32),
        )
        (grow_surely if rule == SUREST else grow)(
            work, np.ascontiguousarray(known, dtype=np.int32).reshape(-1, 2)
        )
        return self._match_rest(mapping, free)

    def _empty_matching(self) -> tuple[I32, Flags]:
        return np.full(len(self), NOBODY, np.int32), np.ones(len(self.tokens), np.bool_)

    def _chosen_pairs(self, hashes: np.ndarray, tokens: np.ndarray, good: np.ndarray) -> I32:
        mapping, free = self._empty_matching()
        mapping[hashes[good]] = tokens[good]
        free[tokens[good]] = False
        return self._match_rest(mapping, free)

    def _match_rest(self, mapping: I32, free: Flags, most: int | None = None) -> I32:
        """Match what a rule left over, for want of candidates, by features."""
        left = np.flatnonzero(mapping[:most] == NOBODY).astype(np.int32)
        if len(left):
            rows = self.by_features()
            lists = self.nearest(rows, CANDIDATES, left, free)
            loops.match_closest(rows, lists, left, free, mapping)
        return mapping

    def _check_size(self, rule: str) -> None:
        if len(self) > MOST_PAIRS[rule]:
            raise too_many(rule)


RULES: dict[str, Callable[[Sides, Rows], I32]] = {
    GREEDY: Sides.greedy,
    MINCOST: Sides.cheapest,
    RANKS: Sides.by_ranks,
    MARRIAGE: Sides.married,
}
"""The updates that may be repeated; `Sides.growing` is not."""


def _square_roots(rows: Matrix) -> Matrix:
    made = rows.copy()
    made.data = np.sqrt(made.data)
    return made


def _row_norms(rows: Matrix, kind: int) -> F32:
    squares = np.asarray((rows * rows if kind != loops.L1 else rows).sum(axis=1), dtype=np.float64).ravel()
    return (np.sqrt(squares) if kind == loops.COSINE else squares).astype(np.float32)


def _row_ranks(pairs: F32) -> np.ndarray:
    """The place of each token in the order of its row, from 0; equals in the order of the columns."""
    ranks = np.empty(pairs.shape, np.uint16)
    places = np.arange(pairs.shape[1], dtype=np.uint64)

    def rank(part: I32) -> None:
        for at in part:
            # Distances are not negative, so that their bits are ordered as they are.
            keys = np.ascontiguousarray(pairs[at]).view(np.uint32).astype(np.uint64) << np.uint64(32)
            keys |= places
            keys.sort()
            ranks[at, (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)] = places

    _run_blocks(np.arange(len(pairs), dtype=np.int32), rank)
    return ranks


def _run_blocks(hashes: I32, work: Callable[[I32], object], told: Told | None = None) -> None:
    """Do the work for blocks of hashes, on every core there is."""
    blocks = [hashes[at : at + _BLOCK] for at in range(0, len(hashes), _BLOCK)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if len(blocks) <= 1:
        for block in blocks:
            work(block)
        return
    with ThreadPoolExecutor(cores) as pool:
        for done, _ in enumerate(pool.map(work, blocks), 1):
            if told:
                told(done / len(blocks))
