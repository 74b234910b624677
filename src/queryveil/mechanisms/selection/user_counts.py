"""Estimated numbers of users, the counts step after Gaussian selection.

Its evidence is sums of votes, not counts. The selected items are public by now, so that all their users are counted in
a draw of its own (docs/proofs/steered.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count.histories import Histories
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.selection import gaussian_kernels as kernels
from queryveil.mechanisms.selection.gaussian_account import GRID, Noise
from queryveil.mechanisms.selection.item_selection import Selected
from queryveil.privacy import noise as noise_source

Whole = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int32]

_MOST_ROWS = 1 << 22
"""[C7] Published items of one user that count: so many squares of the grid fit into 64 bits."""
_EXPECTED = 6
"""An item with fewer users than this, by its first noisy sum, is counted in full; others in part, by a square root."""


def user_parts(first_sums: Whole) -> Whole:
    """Return how much of a user counts for each item: min(1, root of 6 over its first noisy sum), in units of the grid.

    The more users an item has, the less of each is needed to count them well beside the noise.
    """
    made = np.full(len(first_sums), GRID, np.int64)
    many = np.flatnonzero(first_sums > _EXPECTED * GRID)
    squares = (_EXPECTED * GRID**3) // first_sums[many]
    roots = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    roots -= roots * roots > squares
    roots += (roots + 1) * (roots + 1) <= squares
    made[many] = np.maximum(roots, 1)
    return made


def selected_positions(histories: Histories, codes: Whole) -> Positions:
    """Return the position of each entry of the histories among selected items; -1 for items that were not selected."""
    known = np.full(histories.different, -1, np.int32)
    known[codes] = np.arange(len(codes), dtype=np.int32)
    return known[histories.items]


def estimate_users(
    starts: Whole, positions: Positions, first_sums: Whole, scale: int, norm: int, noise: noise_source.Noise
) -> tuple[Whole, Whole]:
    """Return the noisy number of users of each published item, and its standard deviation, rounded up.

    User u has the published items `positions[starts[u]:starts[u + 1]]`. Their number is not bounded: the parts are
    scaled down to `norm`, in units of the grid, so that estimates are lower bounds on average.
    """
    share = user_parts(first_sums)
    sums = np.zeros(len(first_sums), np.int64)
    kernels.add_clipped_sums(starts, positions, share, norm * GRID, _MOST_ROWS, sums)
    noisy = sums + noise.rounded_normal(scale, len(first_sums))
    return (2 * noisy + share) // (2 * share), -(-scale // share)


@dataclass(frozen=True)
class EstimatedCounts:
    """Counts all users of each selected item again, with the noise of a draw of its own."""

    noise: Noise

    @property
    def summary(self) -> str:
        return f"noise of about +-{math.ceil(self.noise.scale / GRID):,} users on small counts"

    def count(self, selected: Selected, histories: Histories, run: Run) -> tuple[pa.Table, Whole]:
        """Return rows with estimates of users and their deviations, and true numbers, for the curator alone.

        [C9] Whole histories count, including items beyond the bound of the selection: the rows are published by now,
        and the norm bounds what one user adds.
        """
        starts, known = histories.among(selected.items)
        counts, deviations = estimate_users(
            starts, known, selected.evidence, self.noise.scale, self.noise.share.norm, run.noise
        )
        rows = selected.items.append_column("count", pa.array(counts, pa.int64()))
        rows = rows.append_column("deviation", pa.array(deviations, pa.int64()))
        return rows, np.bincount(known[known >= 0], minlength=rows.num_rows).astype(np.int64)
