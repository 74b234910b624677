"""Noisy counts of a public list's items: every item of the list has noise, drawn before the log is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import item_kinds, public_items
from queryveil.count.public_items import PublicItems
from queryveil.mechanisms.base import Run
from queryveil.privacy.draws import PublicList

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog


class ListedCounts:
    """Counts of a list's items, with noise on every one of them. The noise is drawn before the log is counted."""

    def __init__(self, listed: PublicItems, public: PublicList, noise: npt.NDArray[np.int64]) -> None:
        if not len(noise) == listed.rows.num_rows == public.items:
            raise TypeError("every item of a public list has noise of its own")
        self.listed, self.public = listed, public
        self.noisy, self.true = noise, np.zeros(len(noise), dtype=np.int64)

    def add(self, places: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> None:
        """Items that users have, by their places on the list; each comes once."""
        self.noisy[places] += counts
        self.true[places] = counts

    def survivors(self) -> tuple[pa.Table, npt.NDArray[np.int64]]:
        """What is above the list's own threshold, with noisy counts; and its true counts."""
        places = np.flatnonzero(self.noisy > self.public.above)
        table = self.listed.rows.take(pa.array(places))
        table = table.append_column("count", pa.array(self.noisy[places], pa.int64()))
        return table, self.true[places]


def warn_of_overlap(log: SearchLog, run: Run, kind: str, listed: PublicItems) -> None:
    """Tell the curator, and nobody else, if the list looks as if it were made from the log."""
    found = public_items.overlap(log, item_kinds.kind(kind), listed)
    if found is not None and found.warning is not None:
        run.warn(found.warning)
