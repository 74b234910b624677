"""Truncated geometric selection: publish the items that enough users share, where each user has few.

Each user keeps at most d items. Noise that never leaves [-k, k] is added to every count; what is above k is published
with its noisy count. After Desfontaines, Voss, Gipson and Mandayam, Differentially private partition selection (2022);
the proof is in docs/proofs/truncated-geometric.md.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from queryveil.count import contribution, item_kinds
from queryveil.errors import UsageError
from queryveil.mechanisms import few_or_many, noisy_histogram
from queryveil.mechanisms.base import (
    ROW_LOCAL,
    SESSIONS_APART,
    USER_IS_ACCOUNT,
    Plan,
    Run,
    public_parameters,
    warnings_of,
)
from queryveil.mechanisms.truncated_geometric import theory, words
from queryveil.mechanisms.zealous.theory import share_down
from queryveil.parameters import COUNTED, PROMISES, param, validate
from queryveil.privacy.draws import LOG, TRUNCATED_LAPLACE, Draw
from queryveil.privacy.guarantee import ADD_REMOVE, APPROXIMATE, REPLACE, Guarantee
from queryveil.reading.log import SearchLog


@dataclass(frozen=True, kw_only=True)
class TruncatedGeometric:
    """Items that enough users share, where each user has few."""

    name: ClassVar[str] = "truncated-geometric"
    needs_users: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 4, "delta": 1e-4}

    epsilon: float = param("privacy loss per user", gt=0, group=PROMISES)
    delta: float = param("probability that the loss is exceeded", gt=0, lt=1, group=PROMISES)
    max_items: int = param(
        "items that one user may add (d); best where most users have no more",
        ge=1,
        le=10**9,
        default=1,
        group=COUNTED,
    )
    items: tuple[str, ...] = param(
        "what is counted and published",
        choices=tuple(item_kinds.KINDS),
        many=True,
        default=("queries",),
        group=COUNTED,
    )
    keep: str = param(
        "which of a user's items count", choices=contribution.KEEP, default="random", group=COUNTED
    )
    neighbours: str = param(
        "what is hidden: one user added or removed, or one user's history replaced",
        choices=("add-remove", "replace"),
        default="add-remove",
        group=PROMISES,
    )
    epsilon_split: tuple[float, ...] | None = param(
        "shares of epsilon and delta per item kind; equal if left out",
        gt=0,
        many=True,
        default=None,
        group=PROMISES,
    )

    def __post_init__(self) -> None:
        kinds: object = self.items
        if isinstance(kinds, str):
            object.__setattr__(self, "items", tuple(kinds.split(",")))
        if self.delta == 0 and not isinstance(self.delta, bool):
            raise UsageError(
                "delta 0 asks for pure differential privacy, under which no item of a log can be published",
                "use a delta above 0, well below one over the number of users",
            )
        validate(self)
        if len(set(self.items)) < len(self.items):
            raise UsageError("an item kind is named twice", "name each kind once in --items")
        if self.epsilon_split is not None and len(self.epsilon_split) != len(self.items):
            raise UsageError(
                f"epsilon-split has {len(self.epsilon_split)} shares for {len(self.items)} item kinds",
                "give one share for each kind in --items, in the same order",
            )

    # -- before data -------------------------------------------------------------------------------------

    def plan(self, *, users: int | None = None) -> Plan:
        """Noise, threshold and guarantee. No number of users decides anything, and none is told."""
        shares = self._shares()
        settings = {
            kind: theory.calibrated(self.max_items, epsilon, delta, replace=self.neighbours == "replace")
            for kind, (epsilon, delta) in shares.items()
        }
        promises = {kind: self._promise(kind, setting) for kind, setting in settings.items()}
        total = functools.reduce(operator.add, promises.values())
        # The shares add up to what was asked for; their rounded floats may not.
        total = dataclasses.replace(total, epsilon=self.epsilon, delta=self.delta).among(users, told=False)
        shown = {kind: setting.as_dict(shares[kind][1]) for kind, setting in settings.items()}
        return Plan(
            method=self.name,
            parameters=public_parameters(self),
            calibration=shown if len(shown) > 1 else shown[self.items[0]],
            guarantee=total,
            tables=words.tables(settings),
            draws=tuple(self._draw(kind, settings[kind], promises[kind]) for kind in settings),
            what=words.what(self.items),
            how=words.how(settings),
            warnings=warnings_of(total, users),
            expected=few_or_many.in_words(self.epsilon, self.delta, replace=self.neighbours == "replace"),
            labels=words.LABELS,
        )

    def _shares(self) -> dict[str, tuple[float, float]]:
        """Epsilon and delta of each item kind, rounded down so that they never add up to more than was promised."""
        if len(self.items) == 1:
            return {self.items[0]: (self.epsilon, self.delta)}
        shares = self.epsilon_split or (1.0,) * len(self.items)
        return {
            kind: (share_down(self.epsilon, share, shares), share_down(self.delta, share, shares))
            for kind, share in zip(self.items, shares, strict=True)
        }

    def _promise(self, kind: str, setting: theory.Setting) -> Guarantee:
        single = len(self.items) == 1
        apart = (SESSIONS_APART,) if "query-pairs" in self.items else ()
        return Guarantee(
            kind=APPROXIMATE,
            of="" if single else kind,
            epsilon=self.epsilon if single else setting.epsilon,
            delta=self.delta if single else setting.delta,
            neighbours=REPLACE if self.neighbours == "replace" else ADD_REMOVE,
            assumptions=(ROW_LOCAL, USER_IS_ACCOUNT, *apart),
            caveats=(words.OF_COUNTS, words.OF_SMALL_COUNTS, words.within(kind, setting.limit)),
        )

    def _draw(self, kind: str, setting: theory.Setting, promise: Guarantee) -> Draw:
        return Draw(
            of=kind,
            table="items" if len(self.items) == 1 else kind,
            bounded=kind,
            rule=self.keep,
            most=setting.most,
            sensitivity=setting.moves,
            distribution=TRUNCATED_LAPLACE,
            scale=setting.scale,
            limit=setting.limit,
            rows=LOG,
            at_least=1,
            above=setting.limit,  # a lower one would publish items by noise alone: condition 4 of the proof
            **promise.cost,
        )

    # -- with data ---------------------------------------------------------------------------------------

    def check(self, log: SearchLog) -> None:
        for name in self.items:
            item_kinds.kind(name).rows(log)
        if self.keep == "first":
            log.need("time", "keeping each user's first items")

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        return {draw.table: noisy_histogram.frequent(log, run, draw) for draw in self.plan().draws}
