"""The shipped methods on a log in whole numbers: their own plans, thresholds, rounds and samplers.

Only reading and bounding are the study's, and shared by all methods, so that many runs take minutes. Noise comes from
the system, as in a release.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from queryveil import ClickGraph, Noise, Steered, TruncatedGeometric, WeightedGaussian, Zealous
from queryveil.extension import Draw, Run
from queryveil.mechanisms.selection import (
    count_selection,
    gaussian_account,
    gaussian_rounds,
    steering,
    user_counts,
)
from queryveil.mechanisms.selection.gaussian_account import Account, Share, counts_of
from queryveil_lab.baselines.numbered import Chosen, Numbered, Whole

REPLACE, ADD_REMOVE = "replace", "add-remove"
_QUERIES, _KEYWORDS = "queries", "keywords"


# -- counts with noise and a threshold -------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _declared_draw(method: type[Any], epsilon: float, delta: float, **further: Any) -> Draw:
    plan = method(epsilon=epsilon, delta=delta, **further).plan()
    draw: Draw = plan.draws[0]
    return draw


def _items_above(counts: Whole, draw: Draw) -> Whole:
    least, top = draw.at_least or 1, draw.above or 0
    held = np.flatnonzero(counts >= least)
    noisy = count_selection.with_noise(counts[held], Run(noise=Noise()), draw)
    return held[noisy > top].astype(np.int64)


def _users_per_item(original: Numbered, most: int, run: int) -> Whole:
    found = original.shortened(most, run)
    return np.bincount(found.items, minlength=found.different).astype(np.int64)


def zealous(
    original: Numbered, epsilon: float, delta: float, most: int, run: int, neighbours: str = ADD_REMOVE
) -> Chosen:
    draw = _declared_draw(Zealous, epsilon, delta, max_items=most, neighbours=neighbours)
    return Chosen(_items_above(_users_per_item(original, most, run), draw), most)


def truncated_geometric(original: Numbered, epsilon: float, delta: float, most: int, run: int) -> Chosen:
    draw = _declared_draw(TruncatedGeometric, epsilon, delta, max_items=most)
    return Chosen(_items_above(_users_per_item(original, most, run), draw), most)


def release_data(original: Numbered, epsilon: float, delta: float, most: int, run: int) -> Chosen:
    """Each user's first queries by time: nothing but noise differs from run to run."""
    draw = _declared_draw(ClickGraph, epsilon, delta, max_queries=most)
    return Chosen(_items_above(original.first_events(most), draw), most)


# -- Gaussian --------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _method_account(method: Steered | WeightedGaussian) -> Account:
    return method.account()


@functools.lru_cache(maxsize=256)
def _calibrate(noise: gaussian_account.Noise) -> steering.Setting:
    return steering.calibrate(noise)


def weighted(
    original: Numbered, epsilon: float, delta: float, most: int, run: int, *, counts: bool = True
) -> Chosen:
    method = WeightedGaussian(epsilon=epsilon, delta=delta, max_items=most)
    account = _method_account(method)
    noise = account.noise(_QUERIES) if counts else method.undivided(account)
    chosen = gaussian_rounds.select(original.shortened(most, run), _calibrate(noise), Noise())
    return Chosen(chosen.codes, most)


def steered(
    original: Numbered, epsilon: float, delta: float, run: int, *, counts: bool = True, **further: Any
) -> Chosen:
    """Steered selection with its defaults but for what is given; with counts, as it is shipped."""
    method = Steered(epsilon=epsilon, delta=delta, **further)
    account = _method_account(method)
    noise = account.noise(_QUERIES) if counts else method.undivided(account)
    drawn = Noise()
    chosen = gaussian_rounds.select(
        original.shortened(method.max_items, run), _calibrate(noise), drawn, length_prior=method.length_prior
    )
    if not counts:
        return Chosen(chosen.codes, method.max_items)
    of_counts = account.noise(counts_of(_QUERIES))
    numbers, deviations = user_counts.estimate_users(
        original.whole.starts,
        user_counts.selected_positions(original.whole, chosen.codes),
        chosen.first_sums,
        of_counts.scale,
        of_counts.share.norm,
        drawn,
    )
    return Chosen(chosen.codes, method.max_items, numbers, deviations)


def word_stage(original: Numbered, epsilon: float, delta: float, run: int, *, share: float) -> Chosen:
    """A share of mu^2 selects keywords first; a query with another keyword is steered to by nobody."""
    method = Steered(epsilon=epsilon, delta=delta)
    account = _word_account(method, share)
    drawn = Noise()
    words = gaussian_rounds.select(
        original.shortened(method.max_items, run, _KEYWORDS),
        _calibrate(account.noise(_KEYWORDS)),
        drawn,
        length_prior=False,
    )
    published = np.zeros(original.histories(_KEYWORDS).different, np.bool_)
    published[words.codes] = True
    allowed = original.with_all_words(published)
    found = original.shortened(method.max_items, run)
    # A user's histories are bounded first, so that no word decides which of her queries count.
    keep = allowed[found.items]
    ends = np.concatenate([[0], np.cumsum(keep)])
    found = dataclasses.replace(found, starts=ends[found.starts].astype(np.int64), items=found.items[keep])
    chosen = gaussian_rounds.select(found, _calibrate(account.noise(_QUERIES)), drawn, length_prior=False)
    return Chosen(chosen.codes, method.max_items)


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
    return gaussian_account.open_account(method.epsilon, method.delta, shares, replace=False)
