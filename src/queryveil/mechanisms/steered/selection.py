"""Which items are published, and how many users they have: the rounds over all histories, with noise.

The conditions that docs/proofs/steered.md asks for are marked [C1] to [C9] where the code keeps them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from queryveil.count.histories import Histories
from queryveil.errors import CannotBeMet
from queryveil.mechanisms.gaussian_account import GRID, MOST_ITEMS
from queryveil.mechanisms.steered import loops, steering
from queryveil.mechanisms.steered.theory import Setting
from queryveil.privacy.noise import Noise

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

_FULL_BITS = steering.FULL.bit_length() - 1
_MOST_TOTAL = 1 << 63
_FAR = 256
"""No draw is further away, in standard deviations: docs/proofs/noise.md."""
_MOST_ROWS = 1 << 22
"""[C7] Published items of one user that count: so many squares of the grid fit into 64 bits."""
_EXPECTED = 6
"""An item with fewer users than this, by its first noisy sum, is counted in full; others in part, by a square root."""


@dataclass(frozen=True)
class Selected:
    """Published items by their numbers, and the noisy sum that each had in the first round."""

    numbers: Whole
    first: Whole
    left: Histories
    """The histories without items that were dropped on the way; all published items are in them."""


def refuse_overflow(setting: Setting, users: int) -> None:
    """[C7] Sums of so many users, times weights, and noise on top must fit into 64 bits."""
    noise = _FAR * setting.sum * setting.scale
    if setting.largest * users + noise >= _MOST_TOTAL:
        raise CannotBeMet(
            f"sums over {users:,} users do not fit into whole numbers of 64 bits", "use fewer rounds"
        )


def select(
    histories: Histories,
    setting: Setting,
    noise: Noise,
    *,
    length_prior: bool,
    steered_by: Callable[[Setting], tuple[steering.Round, ...]] = steering.rounds,
) -> Selected:
    """The items whose statistic is above the threshold after all rounds.

    `steered_by` makes the public tables of scores; previews take some that are nearly the same and quicker.
    """
    refuse_overflow(setting, len(histories.starts) - 1)
    if np.any(np.diff(histories.starts) > MOST_ITEMS):
        raise TypeError("a history is longer than squares of its scores fit into 64 bits")
    if (histories.listed is None) != (setting.listed is None):
        raise TypeError("a public list has a threshold, and a threshold for a list has one")
    number, starts, items = histories.different, histories.starts.copy(), histories.items.copy()
    # [C2] Only what some user holds after bounding can be published, and every item of a public list.
    alive = np.zeros(number, np.bool_) if histories.listed is None else histories.listed.copy()
    alive[items] = True
    priors = np.zeros(number, np.int64)
    if length_prior:
        priors = steering.priors(histories.lengths())
    scores = steering.first_scores(priors)
    totals, first = np.zeros(number, np.int64), np.zeros(number, np.int64)
    # An item of the list needs less to pass, so it is steered by its own threshold; which items these are is public.
    of_list = (
        [] if setting.listed is None else steering.rounds(dataclasses.replace(setting, tau=setting.listed))
    )
    # One thread draws, and works out tables, while others add up: neither asks what the other finds.
    with ThreadPoolExecutor(1) as beside:
        made: Future[tuple[steering.Round, ...]] | None = None
        for done, weight in enumerate(setting.a):
            here = np.flatnonzero(alive)
            # [C5] Fresh noise for every item that is left, whatever its score and its sum.
            drawn = beside.submit(noise.rounded_normal, setting.scale, here.size)
            made = made or beside.submit(steered_by, setting)
            sums = np.zeros(number, np.int64)
            loops.weighted_sums(starts, items, scores, GRID, sums)
            noisy = sums[here] + drawn.result()
            totals[here] += weight * noisy
            if done == 0:
                first[here] = noisy
            tables = made.result()
            if done < len(tables):
                mine = None if histories.listed is None else np.flatnonzero(alive & histories.listed)
                # [C3] A score follows from the item's own noisy sums, its text, and public tables.
                _steer(tables[done], totals, priors, alive, scores)
                if mine is not None:
                    _steer(of_list[done], totals, priors, alive, scores, mine)
                left = loops.pruned(starts, items, alive)
                items = items[:left]
    published = np.flatnonzero(alive & passing(totals, setting.tau, histories.listed, setting.listed))
    kept = dataclasses.replace(histories, starts=starts, items=items)
    return Selected(published, first[published], kept)


def passing(totals: Whole, tau: int, listed: Flags | None, above: int | None) -> Flags:
    """Which statistics are above the threshold: tau, or that of the list for its items."""
    passes: Flags = totals > tau
    if listed is not None and above is not None:
        passes[listed] = totals[listed] > above
    return passes


def _steer(
    table: steering.Round,
    totals: Whole,
    priors: Whole,
    alive: Flags,
    scores: Whole,
    mine: Whole | None = None,
) -> None:
    """New scores, of all items or of `mine` alone."""
    tables = (table.width, table.first, table.gates, table.paces, _FULL_BITS)
    if mine is None:
        loops.steer(totals, priors, *tables, alive, scores)
        return
    left, own = np.ones(mine.size, np.bool_), np.zeros(mine.size, np.int64)
    loops.steer(totals[mine], priors[mine], *tables, left, own)
    alive[mine], scores[mine] = left, own


def parts(first: Whole) -> Whole:
    """How much of a user counts for each item, in units of the grid: min(1, root of 6 over its first noisy sum).

    The more users an item has, the less of each is needed to count them well beside the noise.
    """
    made = np.full(len(first), GRID, np.int64)
    many = np.flatnonzero(first > _EXPECTED * GRID)
    squares = (_EXPECTED * GRID**3) // first[many]
    roots = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    roots -= roots * roots > squares
    roots += (roots + 1) * (roots + 1) <= squares
    made[many] = np.maximum(roots, 1)
    return made


def places(histories: Histories, numbers: Whole) -> Numbers:
    """Where each entry of the histories stands among published items; -1 for what is not published."""
    known = np.full(histories.different, -1, np.int32)
    known[numbers] = np.arange(len(numbers), dtype=np.int32)
    return known[histories.items]


def counted(
    starts: Whole, places: Numbers, first: Whole, scale: int, norm: int, noise: Noise
) -> tuple[Whole, Whole]:
    """The noisy number of users of each published item, and its standard deviation, rounded up.

    A user has the published items `places[starts[u]:starts[u + 1]]`, as many as there are: the norm alone bounds her.
    `norm`: a user's parts are scaled down to this norm, in units of the grid, so estimates are lower bounds on average.
    """
    share = parts(first)
    sums = np.zeros(len(first), np.int64)
    loops.clipped_sums(starts, places, share, norm * GRID, _MOST_ROWS, sums)
    noisy = sums + noise.rounded_normal(scale, len(first))
    return (2 * noisy + share) // (2 * share), -(-scale // share)
