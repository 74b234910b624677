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

from queryveil.catalog import Sentence
from queryveil.mechanisms.base import Plan, contribution
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
            self._method_description(),
            (
                Sentence("plan.even-chance", users=least),
                *users_needed.few_or_many_items(self.epsilon, self.delta, replace=self._replaces_history),
            ),
            users,
        )

    def _method_description(self) -> tuple[str, ...]:
        kept = Sentence("how.kept", kept=contribution(self.max_items, *self.items))
        return (
            kept,
            Sentence("how.steered", rounds=self.rounds),
            Sentence("how.steered.long-texts") if self.length_prior else "",
        )

    def _selector(self, setting: Setting) -> GaussianRounds:
        return GaussianRounds(setting, self.public_items, self.length_prior)
