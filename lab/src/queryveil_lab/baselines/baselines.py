"""Private set union from the literature, as baselines of the study: never shipped, and nothing is released with them.

So their randomness is numpy's, from the number of the run: a study should be repeatable, a release must not be. All are
for one user added or removed. Each has the threshold that its own paper proves, which for MAD2R is generous: its
weights are unequal, and the threshold of equal ones is taken.

- policy Laplace, policy Gaussian: Gopi et al. 2020. Items that one user alone has are equally far from the cutoff,
  so they have equal weights, and the largest threshold over their number t is enough.
- greedy Laplace: after Carvalho et al. 2022. Of the items that one user alone has, one at most gets any weight: each
  needs more than is left. The order of items is fixed before data: by chance, or, as a variant of this study's own, the
  shortest text first, which is what popular queries of generated logs are.
- SIPS: Swanberg et al. 2023. Three rounds of weighted Gaussian selection; what is published leaves the log, and users
  choose anew from what is left.
- MAD and MAD2R: after Chen et al. 2025, from memory of the paper.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from queryveil.count.histories import Histories
from queryveil.mechanisms.selection import gaussian_kernels as shipped
from queryveil.mechanisms.selection.gaussian_account import GRID
from queryveil.mechanisms.selection.steering import FULL
from queryveil.privacy import gaussian
from queryveil_lab.baselines import loops
from queryveil_lab.baselines.loops import UNIT
from queryveil_lab.baselines.numbered import Chosen, Numbered, Whole, shortened

Rng = np.random.Generator
Flags = npt.NDArray[np.bool_]

ALPHA = 5.0
"""Policies stop adding to an item this many noise scales above the threshold: the best of 1, 2, 3 and 5."""
SIPS_SHARES = (0.065, 0.216, 0.719)
"""Of mu^2, and of the delta that the thresholds have."""
MAD_SHARES = (0.1, 0.9)
MAD_DISCOUNT, MAD_DEGREE, MAD_BEYOND = 0.5, 50, 2.0
"""What of a returned weight is given again, up to how many items a user adapts, and where excess begins."""
_LOWER, _UPPER, _LEAST_BIAS, _MOST_BIAS = 1.0, 3.0, 0.5, 2.0
"""Deviations below and above a first noisy sum that count as surely, and the limits of the second round's bias."""


# -- thresholds, in votes --------------------------------------------------------------------------------------


def laplace_threshold(epsilon: float, delta: float, most: int) -> float:
    """For equal weights 1/t of t items that one user alone has, for every t up to the bound."""
    return max(
        1 / t + math.log(1 / (-2 * math.expm1(math.log1p(-delta) / t))) / epsilon for t in range(1, most + 1)
    )


def greedy_threshold(epsilon: float, delta: float) -> float:
    """For one item that one user alone has, with all her weight."""
    return 1 + math.log(1 / (2 * delta)) / epsilon


@functools.lru_cache(maxsize=64)
def shift(epsilon: float, delta: float) -> float:
    """The mu of half of delta; the other half is for the threshold."""
    return float(gaussian.largest_shift(epsilon, Fraction(delta) / 2))


def gaussian_threshold(scale: float, p: float, most: int) -> float:
    """For equal weights 1/root t of t items that one user alone has, for every t up to the bound."""
    return max(1 / math.sqrt(t) + scale * gaussian.zeta(p, t) for t in range(1, most + 1))


def inflated(scale: float, found: Histories, most: int) -> float:
    """Noise that covers what rounding adds to the distance of neighbours: two units of each weight of each user."""
    users = len(found.starts) - 1
    return scale * (1 + 2 * users * math.sqrt(most) / UNIT)


# -- one baseline after the other ------------------------------------------------------------------------------


def _prepare_run(original: Numbered, most: int, run: int) -> tuple[Histories, Whole, Rng]:
    """Histories, the order of users, and what noise is drawn from."""
    rng = np.random.default_rng([run, most])
    found = original.shortened(most, run)
    return found, rng.permutation(len(found.starts) - 1).astype(np.int64), rng


def _items_above(sums: Whole, noise: npt.NDArray[np.float64], threshold: float) -> Whole:
    """Items of positive weight whose noisy sum is above the threshold; noise is for these alone."""
    held = np.flatnonzero(sums)
    return held[sums[held] / UNIT + noise[: held.size] > threshold].astype(np.int64)


def policy_laplace(original: Numbered, epsilon: float, delta: float, most: int, run: int) -> Chosen:
    found, order, rng = _prepare_run(original, most, run)
    threshold = laplace_threshold(epsilon, delta, most) + 1 / UNIT
    sums = np.zeros(found.different, np.int64)
    cutoff = int((threshold + ALPHA / epsilon) * UNIT)
    loops.policy_laplace(found.starts, found.items, order, cutoff, UNIT, sums)
    return Chosen(_items_above(sums, rng.laplace(0, 1 / epsilon, len(sums)), threshold), most)


def greedy_laplace(
    original: Numbered, epsilon: float, delta: float, most: int, run: int, *, short_first: bool = False
) -> Chosen:
    found, order, rng = _prepare_run(original, most, run)
    places = rng.permutation(found.different).astype(np.int64)
    if short_first:
        places = original.lengths * found.different + places
    threshold = greedy_threshold(epsilon, delta)
    sums = np.zeros(found.different, np.int64)
    cutoff = int((threshold + ALPHA / epsilon) * UNIT)
    users = np.repeat(np.arange(len(found.starts) - 1), np.diff(found.starts))
    items = found.items[np.lexsort((places[found.items], users))]
    loops.greedy(found.starts, items, order, cutoff, UNIT, sums)
    return Chosen(_items_above(sums, rng.laplace(0, 1 / epsilon, len(sums)), threshold), most)


def policy_gaussian(original: Numbered, epsilon: float, delta: float, most: int, run: int) -> Chosen:
    found, order, rng = _prepare_run(original, most, run)
    scale = inflated(1 / shift(epsilon, delta), found, most)
    threshold = gaussian_threshold(scale, delta / 2, most)
    sums = np.zeros(found.different, np.int64)
    cutoff = int((threshold + ALPHA * scale) * UNIT)
    loops.policy_gaussian(found.starts, found.items, order, cutoff, UNIT, sums)
    return Chosen(_items_above(sums, rng.normal(0, scale, len(sums)), threshold), most)


def sips(original: Numbered, epsilon: float, delta: float, most: int, run: int) -> Chosen:
    rng = np.random.default_rng([run, most])
    whole = original.whole
    alive = np.ones(whole.different, np.bool_)
    scores = np.full(whole.different, FULL, np.int64)
    for number, share in enumerate(SIPS_SHARES):
        found = shortened(left(whole, alive), most, run * len(SIPS_SHARES) + number)
        scale = 1 / (shift(epsilon, delta) * math.sqrt(share))
        threshold = gaussian_threshold(scale, share * delta / 2, most)
        sums = np.zeros(whole.different, np.int64)
        shipped.add_weighted_sums(found.starts, found.items, scores, GRID, sums)
        held = np.flatnonzero(sums)
        alive[held[sums[held] / GRID + rng.normal(0, scale, held.size) > threshold]] = False
    return Chosen(np.flatnonzero(~alive).astype(np.int64), most)


def left(whole: Histories, alive: Flags) -> Histories:
    """The histories without items that are not alive any more."""
    starts, items = whole.starts.copy(), whole.items.copy()
    kept = shipped.prune_histories(starts, items, alive)
    return Histories(starts, items[:kept], whole.kind, whole.vocabulary, whole.different)


def mad(original: Numbered, epsilon: float, delta: float, most: int, run: int) -> Chosen:
    found, _, rng = _prepare_run(original, most, run)
    sums, noisy, threshold, _ = _adaptive_sums(
        found, epsilon, delta, most, 1.0, np.ones(found.different), rng
    )
    return Chosen(np.flatnonzero((sums > 0) & (noisy > threshold)).astype(np.int64), most)


def mad2r(original: Numbered, epsilon: float, delta: float, most: int, run: int) -> Chosen:
    found, _, rng = _prepare_run(original, most, run)
    first, second = MAD_SHARES
    nothing = np.ones(found.different)
    sums, noisy, threshold, scale = _adaptive_sums(found, epsilon, delta, most, first, nothing, rng)
    published = (sums > 0) & (noisy > threshold)
    aim = gaussian_threshold(1 / (shift(epsilon, delta) * math.sqrt(second)), second * delta / 2, most)
    hopeless = noisy + _UPPER * scale < aim
    surely = np.maximum(noisy - _LOWER * scale, 1e-9)
    bias = np.clip(aim / surely, _LEAST_BIAS, 1.0)
    # The second round chooses anew from whole histories, without what is published or has no hope.
    again = shortened(left(original.whole, ~(published | hopeless)), most, run + 1_000_000)
    sums, noisy, threshold, _ = _adaptive_sums(again, epsilon, delta, most, second, bias, rng)
    published |= (sums > 0) & (noisy > threshold)
    return Chosen(np.flatnonzero(published).astype(np.int64), most)


def _adaptive_sums(
    found: Histories,
    epsilon: float,
    delta: float,
    most: int,
    share: float,
    bias: npt.NDArray[np.float64],
    rng: Rng,
) -> tuple[Whole, npt.NDArray[np.float64], float, float]:
    """Sums, noisy sums in votes, threshold and noise of one round with a share of the budget."""
    scale = inflated(1 / (shift(epsilon, delta) * math.sqrt(share)), found, most)
    threshold = gaussian_threshold(scale, share * delta / 2, most)
    sums = np.zeros(found.different, np.int64)
    cutoff = int((threshold + MAD_BEYOND * scale) * UNIT)
    loops.adaptive(found.starts, found.items, cutoff, MAD_DEGREE, MAD_DISCOUNT, bias, _MOST_BIAS, UNIT, sums)
    return sums, sums / UNIT + rng.normal(0, scale, len(sums)), threshold, scale


Baseline = Callable[[Numbered, float, float, int, int], Chosen]
BASELINES: dict[str, Baseline] = {
    "policy Laplace": policy_laplace,
    "greedy Laplace": greedy_laplace,
    "greedy Laplace, short first": functools.partial(greedy_laplace, short_first=True),
    "policy Gaussian": policy_gaussian,
    "SIPS": sips,
    "MAD": mad,
    "MAD2R": mad2r,
}
