"""Public lists of items (`--public FILE`): thresholds, expected decoys, and sentences about them, before any data.

Every item of a public list gets noise, whether or not any user has it. So its publication reveals no more about one
user than its noisy count does: it costs no delta, and needs only a threshold that keeps out most of the noise. Items
that noise alone lifts over it are decoys, and their expected number is stated. Proofs: docs/proofs/zealous.md,
truncated-geometric.md, click-graph.md and, for sums over rounds of Gaussian selection, steered.md.

A mechanism that takes lists inherits `TakesPublicItems`, declares `public` and `public_z`, puts `declare_list(...)` or
`declare_list_of_sums(...)` into its draw, and passes `public_items` to its selection, which draws noise for all items.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from queryveil.catalog import Sentence
from queryveil.count import item_kinds
from queryveil.errors import Message, UsageError, argument
from queryveil.mechanisms.base import Mechanism, Run
from queryveil.mechanisms.selection.gaussian_account import GRID
from queryveil.parameters import value_of
from queryveil.privacy import calibration, gaussian
from queryveil.privacy.draws import Draw, PublicList
from queryveil.privacy.selection_noise import SelectionNoise, noise_of
from queryveil.privacy.statements import Statement, say

if TYPE_CHECKING:
    from queryveil.count.public_items import PublicItems
    from queryveil.mechanisms.selection.steering import Setting
    from queryveil.reading.log import SearchLog

USUAL_Z: Final = 4.0
LABELS: Final = {
    "public_threshold": "published above, on the public list (noisy users)",
    "public_deviations": "that threshold in standard deviations of the noise",
    "expected_decoys": "decoys expected, at most (items)",
}
MOST_Z_OF_SUMS: Final = 40.0
"""No noise reaches so many standard deviations: the chance is below 1e-340."""
LABELS_OF_SUMS: Final = LABELS | {
    "public_threshold": "threshold on the public list (in 1/grid users)",
    "public_users_for_half": "users needed for a 50 % chance, on the public list",
}
_M = TypeVar("_M")


class StatedList(str):
    """In place of a file name: a public list of which only the identity is known. It can be planned, not published."""

    identity: PublicItems

    def __new__(cls, identity: PublicItems) -> StatedList:
        made = super().__new__(cls, identity.sha256)
        made.identity = identity
        return made


class TakesPublicItems(Mechanism):
    """A mechanism with `public`, the file of a list, and `public_z`, the threshold of its items."""

    @property
    def public(self) -> str | None: ...
    @property
    def public_z(self) -> float | None: ...
    @property
    def listed_kinds(self) -> tuple[str, ...]:
        """What is counted; a list is of one kind."""
        return tuple(value_of(self, "items"))

    @functools.cached_property
    def public_items(self) -> PublicItems | None:
        """The list, read once: what was planned for is what gets noise. None without a list."""
        if self.public is None:
            return None
        if isinstance(self.public, StatedList):
            return self.public.identity
        from queryveil.count import public_items

        return public_items.read(Path(self.public), item_kinds.kind(self.listed_kinds[0]))

    def check_public(self) -> None:
        """Refuse parameters that a list cannot go with."""
        if self.public is not None and len(self.listed_kinds) != 1:
            raise UsageError(
                "a public list has one kind of item, and several kinds are counted",
                f"name one kind in {argument('items')}",
            )
        if self.public is None and self.public_z is not None:
            raise UsageError(
                "public-z is the threshold of a public list", f"name its file with {argument('public')}"
            )


def with_stated_list(mechanism: _M, stated: PublicList) -> _M:
    """Return the mechanism with a list of which only the identity is known: enough to plan, not to publish."""
    from queryveil.count.public_items import PublicItems

    identity = PublicItems(items=stated.items, lines=stated.lines, sha256=stated.sha256, table=None)
    return dataclasses.replace(mechanism, public=StatedList(identity))  # type: ignore[type-var]


# -- before data ---------------------------------------------------------------------------------------------


def declare_list(
    listed: PublicItems, scale: float, z: float | None, largest: int | None = None
) -> PublicList:
    """Return the list as a draw declares it; its threshold is at most the largest noise, if there is one."""
    above = calibration.deviations(scale, USUAL_Z if z is None else z)
    above = above if largest is None else max(1, min(above, largest))
    return PublicList(items=listed.items, lines=listed.lines, sha256=listed.sha256, above=above)


def expected_decoys(public: PublicList, scale: float, noise: SelectionNoise | None = None) -> float:
    """Return how many items of the list are published on average if no user has any of them."""
    chance: Decimal = (
        calibration.tail(scale, public.above + 1)
        if noise is None
        else calibration.decimal(noise.tail(public.above + 1))
    )
    return calibration.up(calibration.times(chance, Fraction(public.items))) if chance else 0.0


def expected_decoys_of(draw: Draw) -> float:
    """Return that number for a draw that declares a list."""
    if draw.public is None or draw.scale is None:
        raise TypeError(f"the draw for {draw.of} has no public list")
    return expected_decoys(draw.public, draw.scale, noise_of(draw))


def calibration_figures(public: PublicList, number: float, z: float | None) -> dict[str, Any]:
    """Return the figures of a list for the calibration of a plan; `number`: the expected decoys."""
    return {
        "public_threshold": public.above,
        "public_deviations": USUAL_Z if z is None else z,
        "expected_decoys": number,
    }


def describe_list(public: PublicList) -> str:
    """Return what was done, for readers of the release."""
    return Sentence("how.list", items=public.items, above=public.above)


def list_assumption(public: PublicList) -> Statement:
    """Return the assumption that the list is public."""
    return say(
        "public-list",
        items=public.items,
        lines=public.lines,
        sha256=public.sha256,
    )


def decoy_caveat(number: float) -> Statement:
    """Return the caveat that so many decoys are expected."""
    return say("decoys", decoys=number)


def decoy_expectation(public: PublicList, number: float) -> str:
    """Return what the curator may expect: so many decoys."""
    return Message(Sentence("plan.decoys", decoys=number, items=public.items, public_z=argument("public_z")))


# -- sums over rounds of Gaussian noise ----------------------------------------------------------------------


@dataclass(frozen=True)
class ListedSums:
    """A list as a draw declares it, with what noise alone makes of it."""

    public: PublicList
    decoys: float
    users_for_half: int
    z: float | None

    def calibrated(self) -> dict[str, Any]:
        figures = calibration_figures(self.public, self.decoys, self.z)
        return figures | {"public_users_for_half": self.users_for_half}

    def how(self, rounds: int) -> str:
        """Return what was done, for readers of the release."""
        id = "how.list.rounds" if rounds > 1 else "how.list.votes"
        return Sentence(id, items=self.public.items)

    def expected(self) -> tuple[str, ...]:
        """Return what the curator may expect."""
        return (
            Sentence("plan.even-chance.listed", users=self.users_for_half),
            decoy_expectation(self.public, self.decoys),
        )


def list_threshold_of_sums(scale: int, weights: Sequence[int], z: float | None) -> int:
    """Return z standard deviations of the weighted sum over the rounds, rounded up."""
    deviations = Fraction(USUAL_Z if z is None else z)
    square = math.ceil(deviations**2 * sum(one * one for one in weights) * scale**2)
    found = math.isqrt(square)
    return found if found * found == square else found + 1


def expected_decoys_of_sums(public: PublicList, scale: int, weights: Sequence[int]) -> float:
    """Return how many items of the list are published on average, at most, if no user has any of them.

    Each round is rounded to a whole number, by at most a half.
    """
    spread = gaussian.root(Fraction(sum(one * one for one in weights) * scale**2))
    gap = calibration.decimal(public.above - Fraction(sum(weights), 2))
    with localcontext(prec=60, rounding=ROUND_FLOOR):
        at = gap / spread
    return calibration.up(calibration.times(gaussian.normal_tail(at), Fraction(public.items)))


def with_list_threshold(setting: Setting, *, listed: bool, z: float | None) -> Setting:
    """Return the setting with a threshold of its own for the items of a list, if there is one."""
    above = list_threshold_of_sums(setting.scale, setting.a, z) if listed else None
    return dataclasses.replace(setting, listed=above)


def declare_list_of_sums(listed: PublicItems | None, setting: Setting, z: float | None) -> ListedSums | None:
    """Return the list as a draw of rounded normal noise declares it; None without a list."""
    if listed is None:
        return None
    scale, weights = setting.scale, setting.a
    above = list_threshold_of_sums(scale, weights, z)
    public = PublicList(items=listed.items, lines=listed.lines, sha256=listed.sha256, above=above)
    users = -(-above // (GRID * sum(weights)))
    return ListedSums(public, expected_decoys_of_sums(public, scale, weights), users, z)


# -- with data -------------------------------------------------------------------------------------------------


def warn_of_overlap(log: SearchLog, run: Run, kind: str, listed: PublicItems) -> None:
    """Warn the curator alone if the list looks as if it were made from the log."""
    from queryveil.count import public_items

    found = public_items.overlap(log, item_kinds.kind(kind), listed)
    if found is not None and found.warning is not None:
        run.warn(found.warning)
