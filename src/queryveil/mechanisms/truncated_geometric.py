"""Truncated geometric selection: publish the items that enough users share, where each user has few.

Each user keeps at most d items. One draw of bounded noise per item decides whether it is published and with which
count, and the release probabilities are the optimal ones of Desfontaines, Voss, Gipson, and Mandayam, Differentially
private partition selection (2022). Proof: docs/proofs/truncated-geometric.md, whose conditions are the labels [Cn].
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from queryveil.catalog import Sentence, count, list_parts, paragraph, term
from queryveil.count import item_kinds
from queryveil.count.histories import UserCounts
from queryveil.errors import UsageError
from queryveil.mechanisms import shared_parameters as shared
from queryveil.mechanisms.base import (
    ROW_LOCAL,
    USER_IS_ACCOUNT,
    Plan,
    Run,
    assumed_of,
    public_parameters,
    warnings_of,
)
from queryveil.mechanisms.selection import count_selection, item_tables, listed_items, users_needed
from queryveil.mechanisms.selection.item_selection import ItemSelection, SelectsItems, warm_up_counting
from queryveil.parameters import COUNTED, param, validate
from queryveil.privacy.calibration import scale_for, share_down
from queryveil.privacy.declarations import PublishedTable
from queryveil.privacy.draws import LOG, SELECTION, Draw, PublicList
from queryveil.privacy.guarantee import ADD_REMOVE, APPROXIMATE, REPLACE, Guarantee
from queryveil.privacy.selection_noise import MAX_USERS, SelectionNoise, delta_of_each, selection_noise
from queryveil.privacy.statements import Statement, say

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog


_LABELS = {
    "noise_scale": "noise scale",
    "item_delta": "delta of one count",
    "limit": "largest noise (users)",
    "threshold": "published above (noisy users)",
    "even_chance": "users needed for a 50 % chance of being published",
    "always": "users that are always enough",
    **listed_items.LABELS,
}
_OF_COUNTS = say("counts-are-bounded")
_OF_SMALL_COUNTS = say("small-counts-are-high")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Optimal selection noise, and what it costs."""

    max_items: int
    moves: int
    """Counts that one user moves: as many as items, or twice that for a replaced history."""
    epsilon: float
    delta: float
    scale: float
    item_delta: float
    noise: SelectionNoise

    def as_dict(self) -> dict[str, Any]:
        return {
            "noise_scale": self.scale,
            "item_delta": self.item_delta,
            "limit": self.noise.limit,
            "threshold": self.noise.largest,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "even_chance": self.noise.even_chance,
            "always": self.noise.always,
        }


def calibrate(max_items: int, epsilon: float, delta: float, *, replace: bool) -> Setting:
    """Return the noise that keeps epsilon and delta for all counts that one user moves together."""
    # [C6] A replaced history moves the old items and the new ones.
    moves = 2 * max_items if replace else max_items
    # [C5] The scale is rounded up and the delta of one count down.
    scale, item_delta = scale_for(moves, epsilon), delta_of_each(delta, moves)
    return Setting(
        max_items=max_items,
        moves=moves,
        epsilon=epsilon,
        delta=delta,
        scale=scale,
        item_delta=item_delta,
        noise=selection_noise(scale, item_delta),
    )


@dataclass(frozen=True, kw_only=True)
class TruncatedGeometric(SelectsItems):
    """Items that enough users share, where each user has few."""

    name: ClassVar[str] = "truncated-geometric"
    needs_users: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 4, "delta": 1e-4}

    epsilon: float = param(**shared.EPSILON)
    delta: float = param(**shared.DELTA)
    max_items: int = param(
        "items that one user may add (d); best where most users have no more",
        ge=1,
        le=10**9,
        default=1,
        group=COUNTED,
        details="Noise grows with it: choose what most users have from public knowledge, not from the log",
    )
    items: tuple[str, ...] = param(**shared.ITEMS)
    keep: str = param(**shared.KEEP)
    neighbours: str = param(**shared.NEIGHBOURS, details="`replace` doubles the noise")
    epsilon_split: tuple[float, ...] | None = param(**shared.EPSILON_SPLIT)
    public: str | None = param(**shared.PUBLIC)
    public_z: float | None = param(
        **shared.PUBLIC_Z, details="Or above the limit of the noise, if that is less"
    )

    def __post_init__(self) -> None:
        shared.split_kinds(self)
        if self.delta == 0 and not isinstance(self.delta, bool):
            raise UsageError(
                "delta 0 asks for pure differential privacy, under which no item of a log can be published",
                "use a delta above 0, well below one over the number of users",
            )
        validate(self)
        shared.refuse_twice(self.items)
        shared.refuse_uneven(self.epsilon_split, self.items)
        self.check_public()

    # -- before data -------------------------------------------------------------------------------------

    def plan(self, *, users: int | None = None) -> Plan:
        """Noise, threshold and guarantee. No number of users decides anything, and none is told."""
        shares = self._budget_shares()
        settings = {kind: self._calibrate(*share) for kind, share in shares.items()}
        promises = {kind: self._kind_guarantee(kind, setting) for kind, setting in settings.items()}
        total = functools.reduce(operator.add, promises.values())
        # The shares add up to what was asked for; their rounded floats may not.
        total = dataclasses.replace(total, epsilon=self.epsilon, delta=self.delta).among(users, told=False)
        shown = {kind: setting.as_dict() for kind, setting in settings.items()}
        draws = tuple(self._declare_draw(kind, settings[kind], promises[kind]) for kind in settings)
        expected = users_needed.few_or_many_items(
            self.epsilon, self.delta, replace=self.neighbours == "replace"
        )
        for draw in draws:
            if draw.public is not None:
                number = listed_items.expected_decoys_of(draw)
                shown[draw.of] |= listed_items.calibration_figures(draw.public, number, self.public_z)
                expected = (*expected, listed_items.decoy_expectation(draw.public, number))
        return Plan(
            method=self.name,
            parameters=public_parameters(self),
            calibration=shown if len(shown) > 1 else shown[self.items[0]],
            guarantee=total,
            tables=tuple(
                self._declare_table(kind, settings[kind], draw)
                for kind, draw in zip(settings, draws, strict=True)
            ),
            draws=draws,
            what=item_tables.describe_items(self.items),
            how=_method_description(settings, draws),
            warnings=warnings_of(total, users),
            expected=expected,
            labels=_LABELS,
        )

    def _budget_shares(self) -> dict[str, tuple[float, float]]:
        """Epsilon and delta of each item kind, rounded down so that they never add up to more than was promised."""
        if len(self.items) == 1:
            return {self.items[0]: (self.epsilon, self.delta)}
        shares = self.epsilon_split or (1.0,) * len(self.items)
        return {
            kind: (
                share_down(self.epsilon, share, shares),
                share_down(self.delta, share, shares),
            )
            for kind, share in zip(self.items, shares, strict=True)
        }

    def _calibrate(self, epsilon: float, delta: float) -> Setting:
        return calibrate(self.max_items, epsilon, delta, replace=self.neighbours == "replace")

    def _kind_guarantee(self, kind: str, setting: Setting) -> Guarantee:
        single = len(self.items) == 1
        public = self._public_list(setting)
        assumed = [] if public is None else [listed_items.list_assumption(public)]
        caveats = [_OF_COUNTS, _OF_SMALL_COUNTS, _error_bound(kind, setting.noise.limit)]
        if public is not None:
            caveats.append(
                listed_items.decoy_caveat(listed_items.expected_decoys(public, setting.scale, setting.noise))
            )
        return Guarantee(
            kind=APPROXIMATE,
            of="" if single else kind,
            epsilon=setting.epsilon,
            delta=setting.delta,
            neighbours=REPLACE if self.neighbours == "replace" else ADD_REMOVE,
            assumptions=(ROW_LOCAL, USER_IS_ACCOUNT, *assumed_of(self.items), *assumed),
            caveats=tuple(caveats),
        )

    def _public_list(self, setting: Setting) -> PublicList | None:
        listed = self.public_items
        if listed is None:
            return None
        return listed_items.declare_list(listed, setting.scale, self.public_z, setting.noise.largest)

    def _declare_draw(self, kind: str, setting: Setting, promise: Guarantee) -> Draw:
        return Draw(
            of=kind,
            table=item_tables.table_name(kind, self.items),
            bounded=kind,
            rule=self.keep,
            most=setting.max_items,
            sensitivity=setting.moves,
            distribution=SELECTION,
            scale=setting.scale,
            item_delta=setting.item_delta,
            rows=LOG,
            at_least=1,
            above=setting.noise.largest,  # [C3]
            public=self._public_list(setting),
            **promise.cost,
        )

    def _declare_table(self, kind: str, setting: Setting, draw: Draw) -> PublishedTable:
        """Declare the table with the smallest count that can be published; a public list has a lower one."""
        limit = setting.noise.limit
        return item_tables.counted_items_table(
            kind,
            self.items,
            listed=draw.public is not None,
            least=(draw.public.above if draw.public else setting.noise.largest) + 1,
            helps={"count": Sentence("column.count.within", limit=limit)},
        )

    # -- with data ---------------------------------------------------------------------------------------

    def check(self, log: SearchLog) -> None:
        super().check(log)
        if self.public is None:
            users_needed.refuse_too_few(self.epsilon, log.users, self._users_needed)

    def _users_needed(self, epsilon: float) -> int:
        """Users for an even chance, at this epsilon; more than there are where no noise could be calibrated."""
        shares = dataclasses.replace(self, epsilon=epsilon)._budget_shares()
        try:
            return max(self._calibrate(*share).noise.even_chance for share in shares.values())
        except UsageError:
            return MAX_USERS + 1

    def warm_up(self) -> Iterator[None]:
        """Load the kernels that count users, step by step."""
        return warm_up_counting()

    def selections(self, run: Run) -> dict[str, ItemSelection[UserCounts]]:
        """Return the selections by the names of their tables."""
        return {
            draw.table: count_selection.threshold_selection(draw, run, self.public_items)
            for draw in run.declared(self)
        }


def _error_bound(kind: str, limit: int) -> Statement:
    """Return the caveat that bounds the error of every count."""
    said = Sentence(
        "statement.counts-are-within", items=term("noun", item_kinds.kind(kind).noun), limit=limit
    )
    return say("counts-are-within", said, limit=limit)


def _method_description(settings: Mapping[str, Setting], draws: Sequence[Draw]) -> str:
    """Return what is done, for readers of the release."""
    kept = list_parts([count(one.max_items, item_kinds.kind(kind).noun) for kind, one in settings.items()])
    noises = {one.noise for one in settings.values()}
    # Kinds with unequal shares of the budget have different noise, which their caveats state.
    selected = Sentence("how.truncated-geometric.kinds")
    if len(noises) == 1:
        noise = noises.pop()
        selected = Sentence("how.truncated-geometric", limit=noise.limit, least=noise.even_chance)
    lists = [listed_items.describe_list(draw.public) for draw in draws if draw.public]
    return paragraph(Sentence("how.kept", kept=kept), selected, *lists)
