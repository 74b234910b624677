"""The shipped methods on a log in whole numbers: their own plans, thresholds, rounds and samplers.

Only reading and bounding are the study's, and shared by all methods, so that many runs take minutes. Noise comes from
the system, as in a release.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from queryveil.mechanisms import gaussian_account, gaussian_histogram, noisy_histogram, weighted_gaussian
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.click_graph.click_graph import ClickGraph
from queryveil.mechanisms.gaussian_account import Account, Share
from queryveil.mechanisms.gaussian_histogram import counts_of
from queryveil.mechanisms.steered import selection, theory
from queryveil.mechanisms.steered.steered import Steered
from queryveil.mechanisms.truncated_geometric.truncated_geometric import TruncatedGeometric
from queryveil.mechanisms.weighted_gaussian import WeightedGaussian
from queryveil.mechanisms.zealous.zealous import Zealous
from queryveil.privacy.draws import Draw
from queryveil.privacy.noise import Noise
from queryveil.study.union.numbered import Chosen, Numbered, Whole

REPLACE, ADD_REMOVE = "replace", "add-remove"
_QUERIES, _KEYWORDS = "queries", "keywords"
_HALF = 0.5
"""The share of delta that weighted Gaussian selection has for its threshold."""


# -- counts with noise and a threshold -------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _draw(method: type[Any], epsilon: float, delta: float, **further: Any) -> Draw:
    plan = method(epsilon=epsilon, delta=delta, **further).plan()
    draw: Draw = plan.draws[0]
    return draw


def _above(counts: Whole, draw: Draw) -> Whole:
    least, top = draw.at_least or 1, draw.above or 0
    held = np.flatnonzero(counts >= least)
    noisy = noisy_histogram.with_noise(counts[held], Run(noise=Noise()), draw)
    return held[noisy > top].astype(np.int64)


def _counts(original: Numbered, most: int, run: int) -> Whole:
    found = original.shortened(most, run)
    return np.bincount(found.items, minlength=found.different).astype(np.int64)


def zealous(
    original: Numbered, epsilon: float, delta: float, most: int, run: int, neighbours: str = ADD_REMOVE
) -> Chosen:
    draw = _draw(Zealous, epsilon, delta, max_items=most, neighbours=neighbours)
    return Chosen(_above(_counts(original, most, run), draw), most)


def truncated_geometric(original: Numbered, epsilon: float, delta: float, most: int, run: int) -> Chosen:
    draw = _draw(TruncatedGeometric, epsilon, delta, max_items=most)
    return Chosen(_above(_counts(original, most, run), draw), most)


def release_data(original: Numbered, epsilon: float, delta: float, most: int, run: int) -> Chosen:
    """Each user's first queries by time: nothing but noise differs from run to run."""
    draw = _draw(ClickGraph, epsilon, delta, max_queries=most)
    return Chosen(_above(original.first_events(most), draw), most)


# -- Gaussian --------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _account(method: Steered | WeightedGaussian) -> Account:
    return method.account()


@functools.lru_cache(maxsize=256)
def _setting(noise: gaussian_account.Noise) -> theory.Setting:
    return theory.setting(noise)


def weighted(
    original: Numbered, epsilon: float, delta: float, most: int, run: int, *, counts: bool = True
) -> Chosen:
    account = _account(WeightedGaussian(epsilon=epsilon, delta=delta, max_items=most))
    noise = account.noise(_QUERIES) if counts else _undivided(account, _HALF)
    chosen = weighted_gaussian.select(original.shortened(most, run), noise, Run(noise=Noise()))
    return Chosen(chosen.numbers, most)


@functools.lru_cache(maxsize=256)
def _undivided(account: Account, p_share: float | None) -> gaussian_account.Noise:
    return gaussian_histogram.undivided(account, _QUERIES, p_share)


def steered(
    original: Numbered, epsilon: float, delta: float, run: int, *, counts: bool = True, **further: Any
) -> Chosen:
    """Steered selection with its defaults but for what is given; with counts, as it is shipped."""
    method = Steered(epsilon=epsilon, delta=delta, **further)
    account = _account(method)
    noise = account.noise(_QUERIES) if counts else _undivided(account, None)
    drawn = Noise()
    chosen = selection.select(
        original.shortened(method.max_items, run), _setting(noise), drawn, length_prior=method.length_prior
    )
    if not counts:
        return Chosen(chosen.numbers, method.max_items)
    of_counts = account.noise(counts_of(_QUERIES))
    numbers, deviations = selection.counted(
        original.whole.starts,
        selection.places(original.whole, chosen.numbers),
        chosen.first,
        of_counts.scale,
        of_counts.share.norm,
        drawn,
    )
    return Chosen(chosen.numbers, method.max_items, numbers, deviations)


def word_stage(original: Numbered, epsilon: float, delta: float, run: int, *, share: float) -> Chosen:
    """A share of mu^2 selects keywords first; a query with another keyword is steered to by nobody."""
    method = Steered(epsilon=epsilon, delta=delta)
    account = _word_account(method, share)
    drawn = Noise()
    words = selection.select(
        original.shortened(method.max_items, run, _KEYWORDS),
        _setting(account.noise(_KEYWORDS)),
        drawn,
        length_prior=False,
    )
    published = np.zeros(original.histories(_KEYWORDS).different, np.bool_)
    published[words.numbers] = True
    allowed = original.with_all_words(published)
    found = original.shortened(method.max_items, run)
    # A user's histories are bounded first, so that no word decides which of her queries count.
    keep = allowed[found.items]
    ends = np.concatenate([[0], np.cumsum(keep)])
    found = dataclasses.replace(found, starts=ends[found.starts].astype(np.int64), items=found.items[keep])
    chosen = selection.select(found, _setting(account.noise(_QUERIES)), drawn, length_prior=False)
    return Chosen(chosen.numbers, method.max_items)


@functools.lru_cache(maxsize=16)
def _word_account(method: Steered, share: float) -> Account:
    """Counts keep their part of what queries have."""
    spent: dict[str, Any] = {"rounds": method.rounds, "times": method.max_items}
    rest = 1 - share
    shares = (
        Share(of=_KEYWORDS, weight=share, **spent),
        Share(of=_QUERIES, weight=rest * (1 - method.counts_share), **spent),
        Share(of=counts_of(_QUERIES), weight=rest * method.counts_share, norm=2),
    )
    return gaussian_account.opened(method.epsilon, method.delta, shares, replace=False)
