"""Many runs of Gaussian selection at once: a log of copies of a tiny one, each with users and items of its own.

What an item gets depends on its own users and noise alone, so that each copy is an independent run of the real code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import queryveil as qv
from queryveil.count.histories import Histories
from queryveil.mechanisms.selection import gaussian_account, gaussian_rounds, steering
from queryveil.mechanisms.selection.gaussian_account import Account, Share
from queryveil.mechanisms.selection.steering import Setting
from tests.seeded import SeededBits

ALPHA = 1e-6
Log = Sequence[Sequence[int]]
"""The items of each user."""


def copies(log: Log, runs: int, items: int | None = None) -> Histories:
    """So many copies of a log with so many different items."""
    per = items or 1 + max(max(user) for user in log)
    lengths = [len(user) for user in log]
    flat = np.concatenate([np.asarray(user) for user in log])
    numbers = (flat + per * np.arange(runs)[:, np.newaxis]).ravel().astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.tile(lengths, runs))]).astype(np.int64)
    nothing: Any = None  # no text is needed
    return Histories(starts, numbers, qv.KINDS["queries"], nothing, per * runs)


def account(epsilon: float, delta: float, most: int, rounds: int, **given: Any) -> Account:
    """Selection with four fifths of mu^2, and counts with one."""
    shares = (
        Share(of="queries", weight=0.8, rounds=rounds, times=most),
        Share(of="counts", weight=0.2, norm=2),
    )
    return gaussian_account.open_account(epsilon, delta, shares, **({"replace": False} | given))


def alone(epsilon: float, delta: float, most: int, rounds: int = 8, p_share: float = 0.5) -> Setting:
    """Selection that nothing else shares mu^2 with."""
    shares = (Share(of="queries", weight=1.0, rounds=rounds, times=most),)
    made = gaussian_account.open_account(epsilon, delta, shares, replace=False, p_share=p_share)
    return steering.calibrate(made.noise("queries"))


def deviation(setting: Setting) -> float:
    """Of the statistic, by noise alone."""
    return setting.scale * math.sqrt(setting.square)


def noise(seed: int) -> qv.Noise:
    return qv.Noise(SeededBits(seed))


def published(histories: Histories, setting: Setting, runs: int, seed: int = 1) -> NDArray[np.bool_]:
    """Which items of each copy are published."""
    chosen = gaussian_rounds.select(histories, setting, noise(seed), length_prior=False)
    shown = np.zeros(histories.different, np.bool_)
    shown[chosen.codes] = True
    return shown.reshape(runs, -1)


def at_most(chance: float, hits: int, runs: int) -> bool:
    """Are so many hits possible if the chance is at most that? Fails wrongly with probability 1e-6."""
    return bool(stats.binom.sf(hits - 1, runs, chance) > ALPHA)


def hidden(here: int, there: int, runs: int, epsilon: float, delta: float) -> bool:
    """May P[here] <= e^epsilon P[there] + delta be true, by so many hits of one event in runs on either log?

    Exact (Clopper-Pearson) bounds of 5e-7 on both sides: it fails wrongly with probability 1e-6 at the most.
    """
    low = float(stats.beta.ppf(ALPHA / 2, here, runs - here + 1)) if here else 0.0
    high = float(stats.beta.isf(ALPHA / 2, there + 1, runs - there)) if there < runs else 1.0
    return low <= math.exp(epsilon) * high + delta
