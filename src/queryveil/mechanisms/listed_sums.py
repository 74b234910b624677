"""Public lists in Gaussian selection: the threshold of their items, how many decoys to expect, and words for it.

Every item of the list has noise in each round in which it is left, whether or not anyone has it. It is published if its
sum is above z standard deviations of what noise alone gives over all rounds. Proof: docs/proofs/steered.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, localcontext
from fractions import Fraction
from typing import Any, Final

from queryveil.count.public_items import PublicItems
from queryveil.mechanisms import listed_items
from queryveil.mechanisms.gaussian_account import GRID
from queryveil.privacy import calibration, gaussian
from queryveil.privacy.draws import PublicList

MOST_Z: Final = 40.0
"""Nothing that is noise comes so far: the chance is below 1e-340."""
LABELS: Final = listed_items.LABELS | {
    "public_threshold": "threshold on the public list (in 1/grid users)",
    "public_users_for_half": "users needed for a 50 % chance, on the public list",
}


@dataclass(frozen=True)
class ListedSums:
    """A list as a draw declares it, with what noise alone makes of it."""

    public: PublicList
    decoys: float
    users_for_half: int
    z: float | None

    def calibrated(self) -> dict[str, Any]:
        figures = listed_items.calibrated(self.public, self.decoys, self.z)
        return figures | {"public_users_for_half": self.users_for_half}

    def how(self, rounds: int) -> str:
        """What was done, for readers of the release."""
        each = " in every round until it was dropped" if rounds > 1 else ""
        return (
            f" A public list has {self.public.items:,} items. Random noise was added to the sum of votes of every "
            f"item on it{each}, even if nobody had voted for it. These items had a threshold of their own."
        )

    def expected(self) -> tuple[str, ...]:
        """What the curator may expect."""
        return (
            f"An item on the public list needs only about {self.users_for_half:,} users for an even chance.",
            listed_items.expected(self.public, self.decoys),
        )


def threshold(scale: int, weights: Sequence[int], z: float | None) -> int:
    """z standard deviations of a sum of rounds that count by these weights, rounded up."""
    deviations = Fraction(listed_items.USUAL_Z if z is None else z)
    square = math.ceil(deviations**2 * sum(one * one for one in weights) * scale**2)
    found = math.isqrt(square)
    return found if found * found == square else found + 1


def decoys(public: PublicList, scale: int, weights: Sequence[int]) -> float:
    """How many items of the list would be published on average if nobody had any; items that are dropped are fewer.

    Each round is rounded to a whole number, by at most a half.
    """
    spread = gaussian.root(Fraction(sum(one * one for one in weights) * scale**2))
    gap = calibration.decimal(public.above - Fraction(sum(weights), 2))
    with localcontext(prec=60, rounding=ROUND_FLOOR):
        at = gap / spread
    return calibration.up(calibration.times(gaussian.normal_tail(at), Fraction(public.items)))


def declared(listed: PublicItems, scale: int, weights: Sequence[int], z: float | None) -> ListedSums:
    """The list as a draw of rounded normal noise declares it."""
    above = threshold(scale, weights, z)
    public = PublicList(items=listed.items, lines=listed.lines, sha256=listed.sha256, above=above)
    users = -(-above // (GRID * sum(weights)))
    return ListedSums(public, decoys(public, scale, weights), users, z)
