"""Gaussian selection: bounded histories go through rounds of noisy sums, and items above a threshold come out.

Steered selection has several rounds, which steer users' weight; weighted Gaussian selection has one, of equal weights.
Lines that satisfy a condition [Cn] of docs/proofs/steered.md are marked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from queryveil.count import histories as counting
from queryveil.count.contribution import Bound
from queryveil.count.histories import Histories
from queryveil.count.item_kinds import ItemKind
from queryveil.count.public_items import PublicItems
from queryveil.errors import CannotBeMet
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.selection import gaussian_kernels as kernels
from queryveil.mechanisms.selection import steering
from queryveil.mechanisms.selection.gaussian_account import GRID, MOST_ITEMS
from queryveil.mechanisms.selection.item_selection import Selected
from queryveil.mechanisms.selection.steering import Setting
from queryveil.privacy.noise import Noise

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_FULL_BITS = steering.FULL.bit_length() - 1
_MOST_TOTAL = 1 << 63
_FAR = 256
"""No draw is further away, in standard deviations: docs/proofs/noise.md."""


@dataclass(frozen=True)
class SelectedCodes:
    """Selected items, by their codes in the histories that they come from."""

    codes: Whole
    first_sums: Whole
    """The noisy sum that each had in the first round."""
    histories: Histories


@dataclass(frozen=True)
class GaussianRounds:
    """Selects items by noisy sums of votes in rounds."""

    setting: Setting
    listed: PublicItems | None = None
    length_prior: bool = False

    def collect(self, log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None) -> Histories:
        """Collect bounded histories; a public list's items have codes beside those of the log."""
        return counting.collect_histories(log, kind, bound, rows, listed=self.listed)

    def select(self, histories: Histories, kind: ItemKind, run: Run) -> Selected:
        """Select items, with their noisy sums of the first round as evidence."""
        found = select(histories, self.setting, run.noise, length_prior=self.length_prior)
        flags = histories.listed
        return Selected(
            items=histories.texts(found.codes),
            evidence=found.first_sums,
            summary=describe_noise(self.setting),
            from_list=None if flags is None else int(flags[found.codes].sum()),
        )


def describe_noise(setting: Setting) -> str:
    """Return how much noise the rounds have, for the curator."""
    rounds = "" if setting.rounds == 1 else f"{setting.rounds} rounds with "
    return f"{rounds}noise of about +-{setting.scale / GRID:.0f} users"


def refuse_overflow(setting: Setting, users: int) -> None:
    """Refuse what might not fit into 64 bits: sums of so many users, times weights, with noise on top [C7]."""
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
    length_prior: bool = False,
    tables_of: Callable[[Setting], tuple[steering.Round, ...]] = steering.score_tables,
) -> SelectedCodes:
    """Return the items whose statistic is above the threshold after all rounds.

    `tables_of` makes the public tables of scores; previews use an approximation that is faster.
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
        priors = steering.length_priors(histories.lengths())
    scores = steering.first_scores(priors)
    totals, first = np.zeros(number, np.int64), np.zeros(number, np.int64)
    # An item of the list needs less to pass, so it is steered by its own threshold; which items these are is public.
    of_list = (
        []
        if setting.listed is None
        else steering.score_tables(dataclasses.replace(setting, tau=setting.listed))
    )
    # One thread draws noise and computes tables while others add up sums; neither depends on the other's result.
    with ThreadPoolExecutor(1) as beside:
        made: Future[tuple[steering.Round, ...]] | None = None
        for done, weight in enumerate(setting.a):
            here = np.flatnonzero(alive)
            # [C5] Fresh noise for every item that is left, whatever its score and its sum.
            drawn = beside.submit(noise.rounded_normal, setting.scale, here.size)
            made = made or beside.submit(tables_of, setting)
            sums = np.zeros(number, np.int64)
            kernels.add_weighted_sums(starts, items, scores, GRID, sums)
            noisy = sums[here] + drawn.result()
            totals[here] += weight * noisy
            if done == 0:
                first[here] = noisy
            tables = made.result()
            if done < len(tables):
                mine = None if histories.listed is None else np.flatnonzero(alive & histories.listed)
                # [C3] A score follows from the item's own noisy sums, its text, and public tables.
                _update_scores(tables[done], totals, priors, alive, scores)
                if mine is not None:
                    _update_scores(of_list[done], totals, priors, alive, scores, mine)
                left = kernels.prune_histories(starts, items, alive)
                items = items[:left]
    passes = totals > setting.tau
    if histories.listed is not None and setting.listed is not None:
        passes[histories.listed] = totals[histories.listed] > setting.listed
    codes = np.flatnonzero(alive & passes)
    return SelectedCodes(codes, first[codes], histories)


def _update_scores(
    table: steering.Round,
    totals: Whole,
    priors: Whole,
    alive: Flags,
    scores: Whole,
    mine: Whole | None = None,
) -> None:
    """Compute new scores, of all items or of `mine` alone."""
    tables = (table.width, table.first, table.gates, table.paces, _FULL_BITS)
    if mine is None:
        kernels.steer_scores(totals, priors, *tables, alive, scores)
        return
    left, own = np.ones(mine.size, np.bool_), np.zeros(mine.size, np.int64)
    kernels.steer_scores(totals[mine], priors[mine], *tables, left, own)
    alive[mine], scores[mine] = left, own
