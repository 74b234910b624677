"""Weighted Gaussian selection: one vote per user, divided equally among her items, noise, and a threshold.

The plain relative of `steered`: one round, equal weights (Gopi et al. 2020), with the exact Gaussian curve of Balle and
Wang 2018 and Dong, Roth and Su 2022. Proof: docs/proofs/weighted-gaussian.md.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from queryveil.count import histories, item_kinds
from queryveil.count.histories import Histories
from queryveil.mechanisms import gaussian_histogram, listed_sums
from queryveil.mechanisms import shared_parameters as shared
from queryveil.mechanisms.base import Plan, Run
from queryveil.mechanisms.gaussian_account import GRID, MOST_EPSILON, Account, Noise, Share
from queryveil.mechanisms.gaussian_histogram import counts_of
from queryveil.mechanisms.listed_items import TakesPublicItems
from queryveil.mechanisms.steered import loops, selection, steering, words
from queryveil.mechanisms.steered.selection import Selected
from queryveil.parameters import COUNTED, param, validate
from queryveil.privacy import gaussian
from queryveil.privacy.draws import EQUAL

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

_P_SHARE = 0.5
"""Half of delta is for the threshold, as in the literature; the best share is worth 0.2 % of it."""


@dataclass(frozen=True, kw_only=True)
class WeightedGaussian(TakesPublicItems):
    """Items that enough users share, by votes of equal size."""

    name: ClassVar[str] = "weighted-gaussian"
    needs_users: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 4, "delta": 5e-4, "max_items": 5}

    epsilon: float = param(**shared.EPSILON, le=MOST_EPSILON)
    delta: float = param(**shared.DELTA)
    max_items: int = param("items that one user may add (d)", ge=1, le=1000, default=10, group=COUNTED)
    items: tuple[str, ...] = param(**shared.ITEMS)
    neighbours: str = param(**shared.NEIGHBOURS)
    keep: str = param(**shared.KEEP)
    counts_share: float = param(**shared.COUNTS_SHARE)
    public: str | None = param(**shared.PUBLIC)
    public_z: float | None = param(**shared.PUBLIC_Z | {"le": listed_sums.MOST_Z})

    def __post_init__(self) -> None:
        shared.split_kinds(self)
        validate(self)
        shared.refuse_twice(self.items)
        self.check_public()

    def account(self) -> Account:
        """What each table takes of mu^2 and p."""
        return gaussian_histogram.account(self, self._selecting, _P_SHARE / (2 if self._replace else 1))

    def _selecting(self, kind: str, weight: float) -> Share:
        return Share(of=kind, weight=weight, weights=EQUAL, times=self.max_items)

    @property
    def _replace(self) -> bool:
        return self.neighbours == "replace"

    def plan(self, *, users: int | None = None) -> Plan:
        """Threshold and guarantee, which depend on no number of users."""
        account = self.account()
        above = {kind: threshold(account.noise(kind)) for kind in self.items}
        whole = gaussian_histogram.undivided(account, self.items[0], _P_SHARE / (2 if self._replace else 1))
        least = math.ceil(max(above.values()) / GRID)
        figures = {
            "p": whole.p,
            "noise_scale": whole.scale,
            "threshold": threshold(whole),
            "grid": GRID,
            "users_for_half": least,
        }
        kept = " and ".join(item_kinds.kind(kind).counted(self.max_items) for kind in self.items)
        listed = self._listed(account.noise(self.items[0]))
        return gaussian_histogram.plan(
            self,
            account,
            figures,
            above,
            users=users,
            how=f"Each user contributed at most {kept}, and divided one vote equally among them. Random noise was "
            "added to every sum of votes. An item was published if its noisy sum was above a threshold."
            + (listed.how(1) if listed else "")
            + words.HOW_COUNTS,
            listed=listed,
            expected=(
                f"An item has an even chance of being published with about {least:,} users if these users have no "
                f"other item, and with about {math.ceil(least * math.sqrt(self.max_items)):,} users if each user has "
                f"{self.max_items:,} items.",
            ),
        )

    def _listed(self, noise: Noise) -> listed_sums.ListedSums | None:
        listed = self.public_items
        return None if listed is None else listed_sums.declared(listed, noise.scale, (1,), self.public_z)

    def check(self, log: SearchLog) -> None:
        gaussian_histogram.check(self, log)
        histories.refuse_too_many(log, self.public_items)
        if self.public is None:
            gaussian_histogram.refuse_too_few(self.epsilon, log.users, self._needed)

    def _needed(self, epsilon: float) -> int:
        """Users for an even chance, at this epsilon, if the item is all that they have."""
        account = dataclasses.replace(self, epsilon=epsilon).account()
        return math.ceil(max(threshold(account.noise(kind)) for kind in self.items) / GRID)

    def scan_log(self, log: SearchLog, run: Run) -> bool:
        """Go over the rows before anything is charged; whether that was all that is read of them."""
        return gaussian_histogram.scan_log(self, log, run, self.public_items)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        account = self.account()
        tables: dict[str, pa.Table] = {}
        for kind in self.items:
            noise = account.noise(kind)
            found = gaussian_histogram.bounded(self, log, run, kind, self.public_items)
            with run.stage("select") as say:
                chosen = select(found, noise, run, self.public_z)
                published = item_kinds.kind(kind).counted(len(chosen.numbers))
                say(
                    f"noise of about +-{noise.scale / GRID:.0f} users: {published} published"
                    + gaussian_histogram.told_of_list(log, run, chosen, self.public_items)
                )
            counts = account.noise(counts_of(kind))
            tables["items" if len(self.items) == 1 else kind] = gaussian_histogram.table(run, chosen, counts)
            found.forget()
        return tables


def threshold(noise: Noise) -> int:
    """The noisy sum that an item must exceed: enough for t items of one user, each with 1/root t, for all t to d."""
    most, p = noise.share.times, noise.p

    def needed(rows: int) -> float:
        return GRID / math.sqrt(rows) + noise.scale * gaussian.zeta(p, rows)

    # The largest of all, by floats; what they lose is far less than a millionth, which is added.
    worst = max(range(1, most + 1), key=needed)
    start = Fraction(math.isqrt(GRID * GRID // worst) + 1) + Fraction(1, 2)
    exact = gaussian.smallest_threshold(gaussian.zeta(p, worst), noise.scale**2, Fraction(p), worst, start)
    return exact + exact // 10**6 + 1


def select(found: Histories, noise: Noise, run: Run, z: float | None = None) -> Selected:
    """Equal scores give equal weights: a user's t items have GRID / root t each, rounded down."""
    sums = np.zeros(found.different, np.int64)
    scores = np.full(found.different, steering.FULL, np.int64)
    loops.weighted_sums(found.starts, found.items, scores, GRID, sums)
    # Only what some user holds after bounding can be published, and every item of a public list.
    alive = np.zeros(found.different, np.bool_) if found.listed is None else found.listed.copy()
    alive[found.items] = True
    here = np.flatnonzero(alive)
    # Each such item has noise of its own, whatever its sum.
    noisy = sums[here] + run.noise.rounded_normal(noise.scale, here.size)
    listed = None if found.listed is None else found.listed[here]
    passes = selection.passing(noisy, threshold(noise), listed, listed_sums.threshold(noise.scale, (1,), z))
    return Selected(here[passes], noisy[passes], found)
