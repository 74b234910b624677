"""Steered selection: publish items that enough users share, after several noisy rounds that steer users' weight.

Every user has a fixed weight to give in each of K rounds. The noisy sums of a round decide, item by item, where weight
is still needed: what is far behind is dropped, what is ahead needs less. One statistic over all rounds and one
threshold decide what is published. It builds on Korolova et al. 2009 and Gopi et al. 2020 (private set union), Swanberg
et al. 2023 (several rounds), Chen et al. 2025 (a first round that biases a second), and on statistics with fixed
weights for adaptive trials (Cui, Hung and Wang 1999; Lehmacher and Wassmer 1999). Proof: docs/proofs/steered.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from queryveil.count import item_kinds
from queryveil.mechanisms.base import Plan
from queryveil.mechanisms.selection import steering, users_needed
from queryveil.mechanisms.selection.gaussian_account import Share
from queryveil.mechanisms.selection.gaussian_rounds import GaussianRounds
from queryveil.mechanisms.selection.gaussian_selection import GaussianSelection
from queryveil.mechanisms.selection.steering import Setting
from queryveil.parameters import METHOD, param


@dataclass(frozen=True, kw_only=True)
class Steered(GaussianSelection):
    """Items that enough users share. Usually finds the most."""

    name: ClassVar[str] = "steered"
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 4, "delta": 5e-4, "max_items": 20}

    rounds: int = param("rounds in which weight is steered (K)", ge=1, le=32, default=8, group=METHOD)
    length_prior: bool = param(
        "begin with less weight for long texts, which are rarely shared", default=False, group=METHOD
    )

    def _share(self, kind: str, weight: float) -> Share:
        """Return what the selection of an item kind takes of the account."""
        return Share(of=kind, weight=weight, rounds=self.rounds, times=self.max_items)

    def plan(self, *, users: int | None = None) -> Plan:
        """Return thresholds and guarantee, which do not depend on the number of users."""
        account = self.account()
        least = self._users_for_half(account)
        whole = steering.calibrate(self.undivided(account))
        return self._plan_selection(
            whole.as_dict() | {"users_for_half": least, "length_prior": self.length_prior},
            self._how(),
            (
                f"An item with about {least:,} users has an even chance of being published if these users have "
                "hardly any other popular item. Otherwise it needs more users.",
                *users_needed.few_or_many_items(self.epsilon, self.delta, replace=self._replace),
            ),
            users,
        )

    def _how(self) -> str:
        kept = " and ".join(item_kinds.kind(kind).counted(self.max_items) for kind in self.items)
        told = (
            f"Each user contributed at most {kept}. In {self.rounds} rounds each user divided one vote among these "
            "items, and random noise was added to every sum of votes. After each round, votes moved to items whose "
            "noisy sums showed that they might still pass. An item was published if its noisy sums, added up over "
            "all rounds, were above a threshold."
        )
        if self.length_prior:
            told += " Long texts began with less weight than short ones, whatever is in the log."
        return told

    def _selector(self, setting: Setting) -> GaussianRounds:
        return GaussianRounds(setting, self.public_items, self.length_prior)
