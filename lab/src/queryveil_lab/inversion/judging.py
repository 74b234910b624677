"""How right an inversion is, for whoever knows the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from queryveil import CannotBeMet, UsageError
from queryveil.extension import argument
from queryveil_lab.inversion.kinds import I32, NOBODY
from queryveil_lab.inversion.statistics import Statistics, TokenCounts

if TYPE_CHECKING:
    from queryveil_lab.inversion.matching import Sides

NEAR = 10
"""A wrong word is a near miss if it is among so many that keep most nearly the company of the true one."""


@dataclass(frozen=True)
class Score:
    """Hashes whose word was found, of those whose word could be: it is among the reference's most frequent."""

    correct: int
    matchable: int

    @property
    def accuracy(self) -> float | None:
        return self.correct / self.matchable if self.matchable else None

    def as_dict(self) -> dict[str, Any]:
        return {"accuracy": self.accuracy, "correct": self.correct, "matchable": self.matchable}


def score(mapping: I32, truth: I32, first: int = 0, end: int | None = None) -> Score:
    """Of all hashes of a mapping, or of those with ranks from `first` to `end`."""
    n = len(mapping)
    true = truth[first : n if end is None else end]
    matchable = (true >= 0) & (true < n)
    return Score(int((mapping[first : first + len(true)] == true)[matchable].sum()), int(matchable.sum()))


def bands(mapping: I32, truth: I32, parts: int = 10, first: int = 0) -> list[tuple[int, int, Score]]:
    """First rank, end and score of equal parts of the hashes from `first` on, the most frequent first."""
    edges = [first + (len(mapping) - first) * part // parts for part in range(parts + 1)]
    return [(first, end, score(mapping, truth, first, end)) for first, end in pairwise(edges) if end > first]


def ceiling(sides: Sides, truth: I32, first: int = 0) -> Score:
    """Hashes from `first` on whose nearest token would be the true one, were all others known.

    Each hash chooses for itself. Matching one to one can find more, for words that are others' are no longer free.
    """
    n = len(sides)
    known = np.where((truth[:n] >= 0) & (truth[:n] < n), truth[:n], NOBODY).astype(np.int32)
    nearest = sides.nearest(sides.by_company(known), 1)
    right = (nearest.token[:, 0] == known) & (nearest.size > 0) & (known != NOBODY)
    return Score(int(right[first:].sum()), int((known[first:] != NOBODY).sum()))


def migration(truth: I32, n: int, parts: int = 10) -> list[tuple[int, int, float]]:
    """First rank, end, and how far hashes are on average from the rank of their token, wherever that is."""
    edges = [n * part // parts for part in range(parts + 1)]
    rank = np.arange(n)
    known = truth[:n] >= 0
    return [
        (first, end, float(np.abs(rank - truth[:n])[first:end][known[first:end]].mean()))
        for first, end in pairwise(edges)
        if known[first:end].any()
    ]


def near_misses(tokens: Statistics, mapping: I32, truth: I32, first: int = 0) -> tuple[int, int]:
    """Of the wrong pairs from `first` on whose true token is there: those with a word of like company, and all."""
    n = len(mapping)
    true = truth[:n]
    missed = (true >= 0) & (true < n) & (true != mapping)
    wrong = first + np.flatnonzero(missed[first:])
    if not len(wrong):
        return 0, 0
    from queryveil_lab.inversion.matching import Sides

    alike = Sides(tokens.top(n), tokens.top(n))  # of further words only company was counted
    rows = alike.by_company(np.arange(n, dtype=np.int32))
    # One more than wanted: nearest to a token is that token.
    nearest = alike.nearest(rows, NEAR + 1, np.unique(true[wrong]).astype(np.int32))
    shown = nearest.token[true[wrong]]
    there = np.arange(shown.shape[1]) < nearest.size[true[wrong], None]
    return int(((shown == mapping[wrong, None]) & there).any(axis=1).sum()), len(wrong)


def shape(counts: Statistics) -> Mapping[str, float]:
    """What a log tells at this size: occurrences of its least frequent token, and neighbours on average."""
    return {"least_frequency": int(counts.freq[-1]), "degree": float(counts.degree.mean())}


# -- the truth -----------------------------------------------------------------------------------------------


def truth_of(target: TokenCounts, reference: TokenCounts, words: Mapping[str, str]) -> I32:
    """For each hash of the target the rank of its word in the reference; NOBODY where that does not have it."""
    ranks = {token: rank for rank, token in enumerate(reference.tokens.to_pylist())}
    made = (ranks.get(words.get(one, ""), NOBODY) for one in target.tokens.to_pylist())
    return np.fromiter(made, dtype=np.int32, count=len(target))


def check_matchable(truth: I32, n: int, given: int = 0) -> None:
    """Refuse two logs that share no word, and to find what was given: the words of so many most frequent hashes."""
    nothing = np.full(n, NOBODY, np.int32)
    if given >= n:
        raise UsageError(
            f"the words of all {n:,} hashes are given by {argument('bootstrap', given)}, "
            "and nothing is left to be found",
            f"pass a smaller {argument('bootstrap')}, or a larger {argument('n')}",
        )
    if given and score(nothing, truth).matchable and not score(nothing, truth, given).matchable:
        raise CannotBeMet(
            f"{argument('bootstrap', given)} gives every word that could be found: "
            f"none of the other {n - given:,} hashes stands "
            f"for one of the {n:,} most frequent words of the reference",
            f"pass a smaller {argument('bootstrap')}, or a larger {argument('n')}",
        )
    if score(nothing, truth).matchable == 0:
        raise CannotBeMet(
            f"none of the {n:,} most frequent hashes stands for one of the {n:,} most frequent words of the "
            "reference, so none of them can be found",
            "check that the true map is of this target, give a reference of the same language and kind, or raise n",
        )
