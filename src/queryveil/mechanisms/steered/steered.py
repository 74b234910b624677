"""Steered selection: publish items that enough users share, after several noisy rounds that steer users' weight.

Every user has a fixed weight to give in each of K rounds. The noisy sums of a round decide, item by item, where weight
is still needed: what is far behind is dropped, what is ahead needs less. One statistic over all rounds and one
threshold decide what is published. It builds on Korolova et al. 2009 and Gopi et al. 2020 (private set union), Swanberg
et al. 2023 (several rounds), Chen et al. 2025 (a first round that biases a second), and on statistics with fixed
weights for adaptive trials (Cui, Hung and Wang 1999; Lehmacher and Wassmer 1999). Proof: docs/proofs/steered.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.count import histories, item_kinds
from queryveil.mechanisms import few_or_many, gaussian_histogram, listed_sums
from queryveil.mechanisms import shared_parameters as shared
from queryveil.mechanisms.base import Plan, Run
from queryveil.mechanisms.gaussian_account import GRID, MOST_EPSILON, MOST_ITEMS, Account, Share
from queryveil.mechanisms.gaussian_histogram import counts_of
from queryveil.mechanisms.listed_items import TakesPublicItems
from queryveil.mechanisms.listed_sums import ListedSums
from queryveil.mechanisms.steered import selection, theory, words
from queryveil.parameters import COUNTED, METHOD, param, validate

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog


@dataclass(frozen=True, kw_only=True)
class Steered(TakesPublicItems):
    """Items that enough users share. Usually finds the most."""

    name: ClassVar[str] = "steered"
    needs_users: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 4, "delta": 5e-4, "max_items": 20}

    # [C4] All of these are fixed before any data is read.
    epsilon: float = param(**shared.EPSILON, le=MOST_EPSILON)
    delta: float = param(**shared.DELTA)
    max_items: int = param("items that one user may add (d)", ge=1, le=MOST_ITEMS, default=100, group=COUNTED)
    items: tuple[str, ...] = param(**shared.ITEMS)
    neighbours: str = param(**shared.NEIGHBOURS)
    keep: str = param(**shared.KEEP)
    counts_share: float = param(**shared.COUNTS_SHARE)
    public: str | None = param(**shared.PUBLIC)
    public_z: float | None = param(**shared.PUBLIC_Z | {"le": listed_sums.MOST_Z})
    rounds: int = param("rounds in which weight is steered (K)", ge=1, le=32, default=8, group=METHOD)
    length_prior: bool = param(
        "begin with less weight for long texts, which are rarely shared", default=False, group=METHOD
    )

    def __post_init__(self) -> None:
        shared.split_kinds(self)
        validate(self)
        shared.refuse_twice(self.items)
        self.check_public()

    # -- before data -------------------------------------------------------------------------------------

    def account(self) -> Account:
        """What each table takes of mu^2 and p."""
        return gaussian_histogram.account(self, self._selecting)

    def _selecting(self, kind: str, weight: float) -> Share:
        return Share(of=kind, weight=weight, rounds=self.rounds, times=self.max_items)

    def plan(self, *, users: int | None = None) -> Plan:
        """Thresholds and guarantee, which depend on no number of users."""
        account = self.account()
        settings = {kind: self._setting(account, kind) for kind in self.items}
        listed = self._listed(settings[self.items[0]])
        least = max(setting.users_for_half for setting in settings.values())
        whole = theory.setting(gaussian_histogram.undivided(account, self.items[0]))
        return gaussian_histogram.plan(
            self,
            account,
            whole.as_dict() | {"users_for_half": least, "length_prior": self.length_prior},
            {kind: setting.tau for kind, setting in settings.items()},
            users=users,
            how=self._how() + (listed.how(self.rounds) if listed else "") + words.HOW_COUNTS,
            listed=listed,
            expected=(
                f"An item with about {least:,} users has an even chance of being published if these users have "
                "hardly any other popular item. Otherwise it needs more users.",
                *few_or_many.in_words(self.epsilon, self.delta, replace=self.neighbours == "replace"),
            ),
        )

    def _how(self) -> str:
        kept = " and ".join(item_kinds.kind(kind).counted(self.max_items) for kind in self.items)
        told = (
            f"Each user contributed at most {kept}. In {self.rounds} rounds each user divided one vote among these "
            "items, and random noise was added to every sum of votes. After each round, votes moved to items whose "
            "noisy sums showed that they might still pass. An item was published if its noisy sums, added up over "
            "all rounds, were above a threshold."
        )
        return told + (words.HOW_PRIOR if self.length_prior else "")

    def _setting(self, account: Account, kind: str) -> theory.Setting:
        found = theory.setting(account.noise(kind))
        if self.public is None:
            return found
        return dataclasses.replace(found, listed=listed_sums.threshold(found.scale, found.a, self.public_z))

    def _listed(self, setting: theory.Setting) -> ListedSums | None:
        listed = self.public_items
        if listed is None:
            return None
        return listed_sums.declared(listed, setting.scale, setting.a, self.public_z)

    # -- with data ---------------------------------------------------------------------------------------

    def check(self, log: SearchLog) -> None:
        gaussian_histogram.check(self, log)
        histories.refuse_too_many(log, self.public_items)
        for kind in self.items:
            selection.refuse_overflow(self._setting(self.account(), kind), log.users)
        if self.public is None:
            gaussian_histogram.refuse_too_few(self.epsilon, log.users, self._needed)

    def _needed(self, epsilon: float) -> int:
        """Users for an even chance, at this epsilon."""
        account = dataclasses.replace(self, epsilon=epsilon).account()
        return max(theory.setting(account.noise(kind)).users_for_half for kind in self.items)

    def scan_log(self, log: SearchLog, run: Run) -> bool:
        """Go over the rows before anything is charged; whether that was all that is read of them."""
        return gaussian_histogram.scan_log(self, log, run, self.public_items)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        account = self.account()
        tables: dict[str, pa.Table] = {}
        for kind in self.items:
            setting = self._setting(account, kind)
            found = gaussian_histogram.bounded(self, log, run, kind, self.public_items)
            with run.stage("select") as say:
                chosen = selection.select(found, setting, run.noise, length_prior=self.length_prior)
                say(
                    f"{self.rounds} rounds with noise of about +-{setting.scale / GRID:.0f} users: "
                    f"{item_kinds.kind(kind).counted(len(chosen.numbers))} published"
                    + gaussian_histogram.told_of_list(log, run, chosen, self.public_items)
                )
            noise = account.noise(counts_of(kind))
            tables["items" if len(self.items) == 1 else kind] = gaussian_histogram.table(run, chosen, noise)
            found.forget()
        return tables
