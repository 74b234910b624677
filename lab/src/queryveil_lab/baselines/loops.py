"""The baselines' ways to divide users' weight, compiled: over histories in whole numbers, into whole sums.

A user has one vote, UNIT, in the norm that the noise asks for. `policy_laplace` and `greedy` keep to it exactly. The
others round each weight, so that two sums may be a few units for each user further apart; noise is inflated for that.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from queryveil.extension import compiled, inner

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

UNIT = 1 << 40
"""One vote."""


@compiled
def shortened(starts: Whole, items: Numbers, most: int, seed: int, short: Whole, kept: Numbers) -> int:
    """Keep at most so many items of each user, chosen and ordered at random; how many are kept in all."""
    np.random.seed(seed)  # numba's own state, which nothing else uses
    end = 0
    for user in range(len(starts) - 1):
        begin, length = starts[user], starts[user + 1] - starts[user]
        wanted = min(length, most)
        own = items[begin : begin + length].copy()
        for at in range(wanted):
            other = at + np.random.randint(0, length - at)
            own[at], own[other] = own[other], own[at]
            kept[end + at] = own[at]
        end += wanted
        short[user + 1] = end
    return end


@compiled
def greedy(starts: Whole, items: Numbers, order: Whole, cutoff: int, unit: int, sums: Whole) -> None:
    """Each user gives her items, in her own order, what they need up to the cutoff, until nothing is left."""
    for user in order:
        left = unit
        for at in range(starts[user], starts[user + 1]):
            given = min(left, max(0, cutoff - sums[items[at]]))
            sums[items[at]] += given
            left -= given
            if left == 0:
                break


@compiled
def policy_laplace(starts: Whole, items: Numbers, order: Whole, cutoff: int, unit: int, sums: Whole) -> None:
    """Each user raises all her items alike, those that reach the cutoff no further, until nothing is left.

    Units that cannot be divided go to her first items that are not there yet: what each item has afterwards never falls
    when some sum was larger before, which is what bounds the distance of neighbours.
    """
    for user in order:
        begin, end = starts[user], starts[user + 1]
        gaps = np.empty(end - begin, np.int64)
        for at in range(begin, end):
            gaps[at - begin] = max(0, cutoff - sums[items[at]])
        gaps.sort()
        left, level, open_items = np.int64(unit), np.int64(0), len(gaps)
        for gap in gaps:
            needed = (gap - level) * open_items
            if needed > left:
                break
            left -= needed
            level = gap
            open_items -= 1
        if open_items > 0:
            level += left // open_items
            left -= (left // open_items) * open_items
        else:
            left = np.int64(0)
        for at in range(begin, end):
            gap = max(0, cutoff - sums[items[at]])
            given = min(gap, level)
            if gap > level and left > 0:
                given += 1
                left -= 1
            sums[items[at]] += given


@compiled
def policy_gaussian(starts: Whole, items: Numbers, order: Whole, cutoff: int, unit: int, sums: Whole) -> None:
    """Each user moves her items towards the cutoff, along the vector of what they need, by a norm of one vote."""
    for user in order:
        square = 0.0
        for at in range(starts[user], starts[user + 1]):
            gap = float(max(0, cutoff - sums[items[at]]))
            square += gap * gap
        norm = math.sqrt(square)
        share = 1.0 if norm <= unit else unit / norm
        for at in range(starts[user], starts[user + 1]):
            gap = max(0, cutoff - sums[items[at]])
            sums[items[at]] += np.int64(gap * share)


@compiled
def adaptive(
    starts: Whole,
    items: Numbers,
    cutoff: int,
    most_adaptive: int,
    discount: float,
    bias: Floats,
    most_bias: float,
    unit: int,
    sums: Whole,
) -> None:
    """What items have beyond the cutoff goes back to their users, who give it to all their items (MAD).

    A user of t items adds 1/t to each, which may go back, and for good what is missing to 1/root t. Users with more
    than `most_adaptive` items, or with an item that has a bias below one, add everything for good.
    """
    returnable = np.zeros(len(sums), np.int64)
    adapts = np.zeros(len(starts) - 1, np.bool_)
    for user in range(len(starts) - 1):
        number = starts[user + 1] - starts[user]
        adapts[user] = 0 < number <= most_adaptive
        for at in range(starts[user], starts[user + 1]):
            adapts[user] = adapts[user] and bias[items[at]] >= 1.0
        if adapts[user]:
            for at in range(starts[user], starts[user + 1]):
                returnable[items[at]] += unit // number
                sums[items[at]] += np.int64(unit / math.sqrt(number)) - unit // number
        elif number > 0:
            _biased_weight(starts, items, user, bias, most_bias, unit, sums)
    _return_excess(starts, items, cutoff, discount, unit, adapts, returnable, sums)


@inner
def _biased_weight(
    starts: Whole, items: Numbers, user: int, bias: Floats, most_bias: float, unit: int, sums: Whole
) -> None:
    """Less than 1/root t where there is a bias below one, and more elsewhere: at most `most_bias` times."""
    number = starts[user + 1] - starts[user]
    square, plain = 0.0, 0
    for at in range(starts[user], starts[user + 1]):
        if bias[items[at]] < 1.0:
            square += bias[items[at]] * bias[items[at]]
        else:
            plain += 1
    more = 1.0 if plain == 0 else min(most_bias, math.sqrt((number - square) / plain))
    for at in range(starts[user], starts[user + 1]):
        low = bias[items[at]]
        sums[items[at]] += np.int64(unit * (low if low < 1.0 else more) / math.sqrt(number))


@inner
def _return_excess(
    starts: Whole,
    items: Numbers,
    cutoff: int,
    discount: float,
    unit: int,
    adapts: Flags,
    returnable: Whole,
    sums: Whole,
) -> None:
    """Cut at the cutoff, and give each user a discounted part of what was cut, divided among her items."""
    excess = np.zeros(len(sums), np.float64)
    for item in range(len(sums)):
        sums[item] += min(returnable[item], cutoff)
        if returnable[item] > cutoff:
            excess[item] = (returnable[item] - cutoff) / float(returnable[item])
    for user in range(len(starts) - 1):
        if not adapts[user]:
            continue
        back = 0.0
        for at in range(starts[user], starts[user + 1]):
            back += excess[items[at]]
        number = float(starts[user + 1] - starts[user])
        given = np.int64(unit * discount * back / (number * number))
        for at in range(starts[user], starts[user + 1]):
            sums[items[at]] += given
