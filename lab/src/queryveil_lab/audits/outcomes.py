"""What runs of a mechanism have published of the items that are watched, one row a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ABSENT = np.iinfo(np.int64).min
"""Stands for the count of an item that was not published."""

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Outcomes:
    """The published count of each watched item, and its place among the watched items of the run; columns are items."""

    values: Whole
    places: Whole | None = None
    """-1 where an item was not published; None where a runner has no order."""
    beside: Whole | None = None
    """The published deviation of each count; None where there is none."""

    @property
    def runs(self) -> int:
        return len(self.values)

    @property
    def items(self) -> int:
        return int(self.values.shape[1])

    @property
    def present(self) -> Flags:
        found: Flags = self.values != ABSENT
        return found

    def some(self, rows: slice) -> Outcomes:
        return Outcomes(
            self.values[rows],
            None if self.places is None else self.places[rows],
            None if self.beside is None else self.beside[rows],
        )

    def halves(self) -> tuple[Outcomes, Outcomes]:
        """One half to find events on, and the other to test them on."""
        middle = self.runs // 2
        return self.some(slice(0, middle)), self.some(slice(middle, None))

    @staticmethod
    def joined(parts: Sequence[Outcomes]) -> Outcomes:
        return Outcomes(
            np.concatenate([one.values for one in parts]),
            _concatenate([one.places for one in parts]),
            _concatenate([one.beside for one in parts]),
        )


def _concatenate(parts: Sequence[Whole | None]) -> Whole | None:
    known = [one for one in parts if one is not None]
    return np.concatenate(known) if len(known) == len(parts) else None
