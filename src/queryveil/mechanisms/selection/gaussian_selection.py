"""Gaussian selection of items: what steered and weighted Gaussian selection share, with data and without.

One account pays for the selection of each item kind and for estimates of users. A mechanism inherits
`GaussianSelection`, declares its parameters, and states how a user's votes are divided (`_share`) and what it tells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from queryveil.catalog import Sentence, paragraph
from queryveil.count import histories, item_kinds
from queryveil.count.contribution import Bound
from queryveil.count.histories import Histories
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
from queryveil.mechanisms.selection import (
    gaussian_account,
    gaussian_rounds,
    item_tables,
    listed_items,
    steering,
    users_needed,
)
from queryveil.mechanisms.selection.gaussian_account import (
    MOST_EPSILON,
    MOST_ITEMS,
    Account,
    Noise,
    Share,
    counts_of,
)
from queryveil.mechanisms.selection.gaussian_rounds import GaussianRounds
from queryveil.mechanisms.selection.item_selection import ItemSelection, SelectsItems
from queryveil.mechanisms.selection.listed_items import ListedSums
from queryveil.mechanisms.selection.steering import Setting
from queryveil.mechanisms.selection.user_counts import EstimatedCounts
from queryveil.parameters import COUNTED, param, validate
from queryveil.privacy.draws import ALL, L2, LOG, PUBLISHED, ROUNDED_NORMAL, Draw
from queryveil.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

_LABELS = listed_items.LABELS_OF_SUMS | {
    "mu": "shift by one user (mu)",
    "p": "chance that an item of one user alone is published (p)",
    "zeta": "standard deviations that keep this chance (zeta)",
    "theta": "standard deviations that an item needs (theta)",
    "rounds": "rounds",
    "noise_scale": "noise of a round, if counts cost nothing (in 1/grid users)",
    "threshold": "threshold, if counts cost nothing (in 1/grid users)",
    "grid": "grid",
    "counts_share": "share of mu squared that pays for counts",
    "length_prior": "long texts begin with less weight",
    "users_for_half": "users needed for a 50 % chance of being published",
}


@dataclass(frozen=True, kw_only=True)
class GaussianSelection(SelectsItems):
    """A mechanism that selects items by sums of votes with normal noise, and then estimates their users."""

    needs_users: ClassVar[bool] = False

    # [C4] of docs/proofs/steered.md: all parameters are fixed before any data is read.
    epsilon: float = param(**shared.EPSILON, le=MOST_EPSILON)
    delta: float = param(**shared.DELTA)
    max_items: int = param("items that one user may add (d)", ge=1, le=MOST_ITEMS, default=100, group=COUNTED)
    items: tuple[str, ...] = param(**shared.ITEMS)
    neighbours: str = param(**shared.NEIGHBOURS)
    keep: str = param(**shared.KEEP)
    counts_share: float = param(**shared.COUNTS_SHARE)
    public: str | None = param(**shared.PUBLIC)
    public_z: float | None = param(**shared.PUBLIC_Z | {"le": listed_items.MOST_Z_OF_SUMS})

    def __post_init__(self) -> None:
        shared.split_kinds(self)
        validate(self)
        shared.refuse_twice(self.items)
        self.check_public()

    def _share(self, kind: str, weight: float) -> Share:
        """Return what the selection of an item kind takes of the account."""
        raise NotImplementedError

    @property
    def _p_share(self) -> float | None:
        """The part of delta that is p; None for the part that makes the first threshold lowest."""
        return None

    @property
    def _replaces_history(self) -> bool:
        """Whether neighboring logs differ by a replaced history, not by an added user."""
        return self.neighbours == "replace"

    # -- before data -------------------------------------------------------------------------------------

    def account(self) -> Account:
        """Return what each draw takes of mu^2 and p: kinds have equal shares, divided between selection and counts."""
        shares = [self._share(kind, 1 - self.counts_share) for kind in self.items]
        norm = gaussian_account.norm_of_counts(self.epsilon)
        shares += [Share(of=counts_of(kind), weight=self.counts_share, norm=norm) for kind in self.items]
        return gaussian_account.open_account(
            self.epsilon, self.delta, shares, replace=self._replaces_history, p_share=self._p_share
        )

    def undivided(self, account: Account) -> Noise:
        """Return the noise of the selection if nothing were spent on counts or on other item kinds."""
        alone = dataclasses.replace(account.noise(self.items[0]).share, weight=1.0)
        return gaussian_account.open_account(
            self.epsilon, self.delta, (alone,), replace=self._replaces_history, p_share=self._p_share
        ).noises[0]

    def setting(self, account: Account, kind: str) -> Setting:
        """Return weights and thresholds of the selection of an item kind."""
        return listed_items.with_list_threshold(
            steering.calibrate(account.noise(kind)), listed=self.public is not None, z=self.public_z
        )

    def _plan_selection(
        self, figures: Mapping[str, Any], how: Sequence[str], expected: tuple[str, ...], users: int | None
    ) -> Plan:
        """Return the plan, from figures and sentences of the mechanism."""
        account = self.account()
        settings = {kind: self.setting(account, kind) for kind in self.items}
        assumed = [ROW_LOCAL, USER_IS_ACCOUNT, *assumed_of(self.items)]
        caveats = [item_tables.OF_ABSENCE, item_tables.OF_ESTIMATES]
        listed = listed_items.declare_list_of_sums(self.public_items, settings[self.items[0]], self.public_z)
        if listed is not None:
            assumed.append(listed_items.list_assumption(listed.public))
            caveats.append(listed_items.decoy_caveat(listed.decoys))
            figures, expected = {**figures, **listed.calibrated()}, (*expected, *listed.expected())
            how = (*how, listed.how(settings[self.items[0]].rounds))
        guarantee = account.guarantee(tuple(assumed), tuple(caveats)).among(users, told=False)
        return Plan(
            method=self.name,
            parameters=public_parameters(self),
            calibration={"mu": account.mu, "counts_share": self.counts_share, **figures},
            guarantee=guarantee,
            tables=tuple(
                item_tables.estimated_items_table(kind, self.items, listed=listed is not None)
                for kind in self.items
            ),
            draws=self._declare_draws(account, guarantee, settings, listed),
            what=item_tables.describe_items(self.items),
            how=paragraph(*how, Sentence("how.estimates")),
            warnings=warnings_of(guarantee, users),
            expected=expected,
            labels=_LABELS,
        )

    def _declare_draws(
        self,
        account: Account,
        guarantee: Guarantee,
        settings: Mapping[str, Setting],
        listed: ListedSums | None,
    ) -> tuple[Draw, ...]:
        """Return the draws in the order of the account, which is that of the guarantee's parts."""
        kinds = {of: kind for kind in settings for of in (kind, counts_of(kind))}
        made = []
        for noise, part in zip(account.noises, guarantee.parts or (guarantee,), strict=True):
            of = noise.share.of
            selects = of in settings
            made.append(
                Draw(
                    of=of,
                    table=item_tables.table_name(kinds[of], self.items),
                    bounded=kinds[of],
                    rule=self.keep if selects else ALL,
                    most=self.max_items if selects else None,
                    sensitivity=noise.sensitivity,
                    norm=L2,
                    distribution=ROUNDED_NORMAL,
                    scale=noise.scale,
                    rows=LOG if selects else PUBLISHED,
                    above=settings[of].tau if selects else None,
                    public=listed.public if listed is not None and selects else None,
                    weights=noise.share.weights,
                    rounds=noise.share.rounds,
                    **part.cost,
                )
            )
        return tuple(made)

    def _users_for_half(self, account: Account) -> int:
        """Return how many users an item of any kind needs for an even chance, if they have no other."""
        return max(steering.calibrate(account.noise(kind)).users_for_half for kind in self.items)

    # -- with data ---------------------------------------------------------------------------------------

    def check(self, log: SearchLog) -> None:
        super().check(log)
        histories.refuse_too_many(log, self.public_items)
        account = self.account()
        for kind in self.items:
            gaussian_rounds.refuse_overflow(self.setting(account, kind), log.users)
        if self.public is None:

            def needed_at(epsilon: float) -> int:
                other = dataclasses.replace(self, epsilon=epsilon)
                return other._users_for_half(other.account())

            users_needed.refuse_too_few(self.epsilon, log.users, needed_at)

    def selections(self, run: Run) -> dict[str, ItemSelection[Histories]]:
        """Return the selections by the names of their tables."""
        account = self.account()
        return {
            item_tables.table_name(kind, self.items): ItemSelection(
                name=kind,
                kind=item_kinds.kind(kind),
                bound=Bound(most=self.max_items, keep=self.keep, salt=run.salt),
                selector=self._selector(self.setting(account, kind)),
                counter=EstimatedCounts(account.noise(counts_of(kind))),
                listed=self.public_items,
            )
            for kind in self.items
        }

    def _selector(self, setting: Setting) -> GaussianRounds:
        return GaussianRounds(setting, self.public_items)
