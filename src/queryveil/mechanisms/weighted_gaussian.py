"""Weighted Gaussian selection: one vote per user, divided equally among her items, noise, and a threshold.

The plain relative of `steered`: one round, equal weights (Gopi et al. 2020), with the exact Gaussian curve of Balle and
Wang 2018 and Dong, Roth and Su 2022. Proof: docs/proofs/weighted-gaussian.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from queryveil.catalog import Sentence
from queryveil.mechanisms.base import Plan, contribution
from queryveil.mechanisms.selection import steering
from queryveil.mechanisms.selection.gaussian_account import GRID, Share
from queryveil.mechanisms.selection.gaussian_selection import GaussianSelection
from queryveil.parameters import COUNTED, param
from queryveil.privacy.draws import EQUAL

_P_SHARE = 0.5
"""Half of delta is for the threshold, as in the literature; the best share is worth 0.2 % of it."""


@dataclass(frozen=True, kw_only=True)
class WeightedGaussian(GaussianSelection):
    """Items that enough users share, by votes of equal size."""

    name: ClassVar[str] = "weighted-gaussian"
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 4, "delta": 5e-4, "max_items": 5}

    max_items: int = param("items that one user may add (d)", ge=1, le=1000, default=10, group=COUNTED)

    def _share(self, kind: str, weight: float) -> Share:
        """Return what the selection of an item kind takes of the account."""
        return Share(of=kind, weight=weight, weights=EQUAL, times=self.max_items)

    @property
    def _p_share(self) -> float:
        """The part of delta that is p, which counts twice for a replaced history."""
        return _P_SHARE / (2 if self._replaces_history else 1)

    def plan(self, *, users: int | None = None) -> Plan:
        """Return threshold and guarantee, which do not depend on the number of users."""
        account = self.account()
        least = self._users_for_half(account)
        whole = steering.calibrate(self.undivided(account))
        figures = {
            "p": whole.p,
            "noise_scale": whole.scale,
            "threshold": whole.tau,
            "grid": GRID,
            "users_for_half": least,
        }
        return self._plan_selection(
            figures,
            (Sentence("how.weighted-gaussian", kept=contribution(self.max_items, *self.items)),),
            (
                Sentence(
                    "plan.even-chance.weighted",
                    users=least,
                    most=math.ceil(least * math.sqrt(self.max_items)),
                    items=self.max_items,
                ),
            ),
            users,
        )
