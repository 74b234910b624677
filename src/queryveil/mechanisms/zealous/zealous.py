"""ZEALOUS: publish the items that enough users share, with noisy user counts.

Each user keeps at most m items; items kept by fewer than tau users are dropped; discrete Laplace noise is added
to every remaining count; what is above the second threshold is published. After Goetz et al., A comparative
study of publishing search logs, with the thresholds of docs/proofs/zealous.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.catalog import Sentence, paragraph
from queryveil.count import item_kinds, public_lists
from queryveil.count.histories import UserCounts
from queryveil.errors import UsageError, argument
from queryveil.mechanisms import shared_parameters as shared
from queryveil.mechanisms.base import (
    MOST_USERS,
    ROW_LOCAL,
    USER_IS_ACCOUNT,
    Plan,
    Run,
    assumed_of,
    contribution,
    public_parameters,
    warnings_of,
)
from queryveil.mechanisms.selection import count_selection, item_tables, listed_items
from queryveil.mechanisms.selection.item_selection import ItemSelection, SelectsItems, warm_up_counting
from queryveil.mechanisms.zealous import theory
from queryveil.parameters import COUNTED, PROMISES, param, validate
from queryveil.privacy import calibration
from queryveil.privacy.declarations import PublishedTable, noisy_counts
from queryveil.privacy.draws import LOG, PUBLIC, Draw, PublicList
from queryveil.privacy.guarantee import ADD_REMOVE, APPROXIMATE, PROBABILISTIC, PURE, REPLACE, Guarantee
from queryveil.privacy.statements import Statement, say

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

_LABELS = {
    "noise_scale": "noise scale",
    "threshold": "first threshold (users)",
    "second_threshold": "published above (noisy users)",
    "delta": "delta, probabilistic",
    "delta_indistinguishable": "delta, approximate",
    "users_for_half": "users needed for a 50 % chance of being published",
    "users_for_99_percent": "users needed for a 99 % chance of being published",
    "clicks_noise_scale": "noise scale of click counts",
    **listed_items.LABELS,
}
_OF_COUNTS = say("counts-are-bounded", Sentence("statement.counts-are-bounded.m"))
_OF_CLICKS = (
    say("click-counts-are-noisy"),
    say("no-ratios", Sentence("statement.no-ratios.chosen")),
)
_OF_PROCESSING = say("processing-may-lose")
_RESULTS_ARE_PUBLIC = say("public-results")


@dataclass(frozen=True, kw_only=True)
class Zealous(SelectsItems):
    """Items that enough users share, with noisy user counts."""

    name: ClassVar[str] = "zealous"
    needs_users: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 4, "delta": 0.1, "max_items": 3}

    epsilon: float | None = param(**shared.EPSILON, default=None)
    delta: float | None = param(**shared.DELTA, default=None)
    max_items: int = param(
        "items that one user may add (m)",
        ge=1,
        le=10**9,
        default=1,
        group=COUNTED,
        details="1 publishes most",
    )
    items: tuple[str, ...] = param(**shared.ITEMS)
    epsilon_split: tuple[float, ...] | None = param(**shared.EPSILON_SPLIT)
    keep: str = param(**shared.KEEP)
    guarantee: str = param(
        "kind of guarantee",
        choices=("probabilistic", "approximate"),
        default="approximate",
        group=PROMISES,
        details="`probabilistic` is the paper's and needs the number of users",
    )
    analysis: str = param(
        "thresholds by the paper or by our proof", choices=("paper", "tight"), default="tight", group=PROMISES
    )
    neighbours: str = param(
        "what is hidden: one user's history replaced, or one user added or removed (approximate only)",
        choices=("replace", "add-remove"),
        default="replace",
        group=PROMISES,
    )
    tau: int | None = param(
        "first threshold: users that an item needs before noise; if left out, the one that publishes most",
        ge=1,
        le=MOST_USERS,
        default=None,
        group=PROMISES,
    )
    noise_scale: float | None = param(
        "scale of the noise, instead of epsilon", gt=0, le=calibration.MAX_SCALE, default=None, group=PROMISES
    )
    second_threshold: float | None = param(
        "publish above this noisy count, instead of delta", ge=0, default=None, group=PROMISES
    )
    public: str | None = param(**shared.PUBLIC)
    public_z: float | None = param(**shared.PUBLIC_Z)
    then_clicks: bool = param("publish click counts of published queries too", default=False, group=COUNTED)
    results: str | None = param(
        "file of public result lists (query, url) for --then-clicks", path=True, default=None, group=COUNTED
    )
    max_clicks: int | None = param(
        "clicks that one user may add; max-items if left out", ge=1, le=10**9, default=None, group=COUNTED
    )
    epsilon_clicks: float | None = param(
        "privacy loss of click counts; epsilon if left out", gt=0, default=None, group=PROMISES
    )

    @classmethod
    def with_users(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """A public number of users asks for the guarantee that depends on it, unless another was asked for."""
        if "guarantee" in given or given.get("neighbours") == "add-remove":
            return given
        return {**given, "guarantee": "probabilistic"}

    def __post_init__(self) -> None:
        shared.split_kinds(self)
        if self.delta == 0 and self.epsilon is not None:
            raise theory.pure_is_impossible(self.max_items, float(self.epsilon))
        validate(self)
        given = (self.noise_scale is not None, self.second_threshold is not None)
        asked = (self.epsilon is not None, self.delta is not None)
        if not ((all(given) and not any(asked)) or (all(asked) and not any(given))):
            raise UsageError(
                "zealous needs epsilon and delta, or a noise scale and a second threshold",
                f"pass {argument('epsilon')} and {argument('delta')}, or {argument('noise_scale')} "
                f"and {argument('second_threshold')}",
            )
        if self.guarantee == "probabilistic" and self.neighbours == "add-remove":
            raise UsageError(
                "probabilistic differential privacy is proven here for a replaced history only",
                f"use {argument('neighbours', 'replace')}, or {argument('guarantee', 'approximate')}",
            )
        shared.refuse_twice(self.items)
        shared.refuse_uneven(self.epsilon_split, self.items)
        self.check_public()
        if self.then_clicks and (self.items != ("queries",) or self.results is None):
            raise UsageError(
                "then-clicks publishes clicks of published queries on public result lists",
                f"use {argument('items', 'queries')} and name the lists with {argument('results')}, "
                f"or publish {argument('items', 'clicks')}",
            )

    # -- before data -------------------------------------------------------------------------------------

    def plan(self, *, users: int | None = None) -> Plan:
        """Thresholds and guarantee. Probabilistic guarantees need a public number (or bound) of users."""
        if users is not None and not 1 <= users <= MOST_USERS:
            raise UsageError(
                f"parameter 'users' must be an int >= 1 and <= {MOST_USERS:g}; got {users}",
                f"pass {argument('users', 'N')}, a public upper bound on the number of users",
            )
        if self.guarantee == "probabilistic" and users is None:
            raise UsageError(
                "a probabilistic guarantee depends on the number of users",
                f"pass {argument('users', 'N')}, a public upper bound on it, or use "
                f"{argument('guarantee', 'approximate')}",
            )
        settings = {part.items[0]: part._calibrate(users) for part in self._split_by_kind()}
        promises = [self._kind_guarantee(kind, setting, users) for kind, setting in settings.items()]
        if self.then_clicks:
            promises.append(self._clicks_promise())
        total = promises[0]
        for one in promises[1:]:
            total = total + one
        if len(settings) > 1 and self.epsilon is not None and self.delta is not None:
            # The shares add up to what was asked for; their rounded floats may not.
            total = dataclasses.replace(total, epsilon=self.epsilon, delta=self.delta)
        # What does not depend on the number of users must not tell it.
        told = users if self._users_matter else None
        total = total.among(users, told=told is not None)
        shown = {kind: self._calibration(setting, told) for kind, setting in settings.items()}
        parameters = public_parameters(self) | ({"users": told} if told else {})
        draws = self._declare_draws(settings, promises, told)
        return Plan(
            method=self.name,
            parameters=parameters,
            calibration=next(iter(shown.values())) if len(shown) == 1 else shown,
            guarantee=total,
            tables=_declare_tables(self),
            draws=draws,
            what=item_tables.describe_items(self.items, with_clicks=self.then_clicks),
            how=_method_description(self, draws),
            warnings=warnings_of(total, users),
            expected=tuple(
                listed_items.decoy_expectation(
                    one.public, listed_items.expected_decoys(one.public, one.scale)
                )
                for one in draws
                if one.public and one.scale
            ),
            labels=_LABELS,
        )

    def _declare_draws(
        self, settings: Mapping[str, theory.Setting], promises: Sequence[Guarantee], users: int | None
    ) -> tuple[Draw, ...]:
        """One for each table, in the order of the guarantee's parts."""
        made = [
            Draw(
                of=kind,
                table=item_tables.table_name(kind, self.items),
                bounded=kind,
                rule=self.keep,
                most=setting.m,
                sensitivity=setting.moves,
                scale=setting.scale,
                rows=LOG,
                at_least=setting.tau,
                above=setting.top,
                public=self._public_list(setting),
                users=users,
                **promise.cost,
            )
            for (kind, setting), promise in zip(settings.items(), promises, strict=False)
        ]
        if self.then_clicks:
            most = self.max_clicks or self.max_items
            made.append(
                Draw(
                    of="clicks",
                    table="clicks",
                    bounded="clicks",
                    rule=self.keep,
                    most=most,
                    sensitivity=2 * most if self.neighbours == "replace" else most,
                    scale=self._clicks_scale(),
                    rows=PUBLIC,
                    **promises[-1].cost,
                )
            )
        return tuple(made)

    @property
    def _users_matter(self) -> bool:
        return self.guarantee == "probabilistic"

    def _split_by_kind(self) -> list[Zealous]:
        """One single-kind mechanism for each item kind, with its share of the budget."""
        if len(self.items) == 1:
            return [dataclasses.replace(self, epsilon_split=None)]
        shares = self.epsilon_split or (1.0,) * len(self.items)
        parts = []
        for kind, share in zip(self.items, shares, strict=True):
            changes: dict[str, Any] = {"items": (kind,), "epsilon_split": None}
            if self.epsilon is not None and self.delta is not None:
                # Rounded down, so that the parts never add up to more than was promised.
                changes["epsilon"] = calibration.share_down(self.epsilon, share, shares)
                changes["delta"] = calibration.share_down(self.delta, share, shares)
            parts.append(dataclasses.replace(self, **changes))
        return parts

    def _calibrate(self, users: int | None) -> theory.Setting:
        m, replace = self.max_items, self.neighbours == "replace"
        if self.noise_scale is not None and self.second_threshold is not None:
            top = calibration.floor(self.second_threshold)
            return theory.Setting(m=m, scale=self.noise_scale, tau=self.tau or 1, top=top, replace=replace)
        if self.epsilon is None or self.delta is None:
            raise AssertionError("checked when the mechanism was made")
        if self.guarantee == "approximate":
            return theory.approximate(
                m, self.epsilon, self.delta, tau=self.tau, replace=replace, paper=self.analysis == "paper"
            )
        if users is None:
            raise AssertionError("checked by plan")
        return theory.probabilistic(
            m, self.epsilon, self.delta, users, tau=self.tau, paper=self.analysis == "paper"
        )

    def _kind_guarantee(self, of: str, setting: theory.Setting, users: int | None) -> Guarantee:
        single = len(self.items) == 1
        asked = self.epsilon is not None and single
        neighbours = REPLACE if setting.replace else ADD_REMOVE
        public = self._public_list(setting)
        assumptions = (
            *self._user_assumptions(users),
            *([listed_items.list_assumption(public)] if public else []),
        )
        common: dict[str, Any] = {"neighbours": neighbours, "assumptions": assumptions}
        if not single or self.then_clicks:
            common["of"] = of
        caveats = (_OF_COUNTS, *self._of_decoys(setting))
        approximate = Guarantee(
            kind=APPROXIMATE,
            epsilon=self.epsilon if asked else setting.epsilon_approximate,
            delta=self.delta if asked and self.guarantee == "approximate" else setting.delta_approximate,
            caveats=caveats,
            **common,
        )
        if self.guarantee == "approximate":
            return approximate
        if users is None:
            raise AssertionError("checked by plan")
        epsilon = self.epsilon if asked else setting.epsilon_probabilistic
        return Guarantee(
            kind=PROBABILISTIC,
            epsilon=epsilon,
            delta=self.delta if asked else setting.delta_probabilistic(users),
            implies=dataclasses.replace(
                approximate.bare, epsilon=min(approximate.epsilon or 0, epsilon or 0)
            ),
            caveats=(*caveats, _OF_PROCESSING),
            **common,
        )

    def _public_list(self, setting: theory.Setting) -> PublicList | None:
        listed = self.public_items
        return listed_items.declare_list(listed, setting.scale, self.public_z) if listed is not None else None

    def _of_decoys(self, setting: theory.Setting) -> list[Statement]:
        public = self._public_list(setting)
        return (
            []
            if public is None
            else [listed_items.decoy_caveat(listed_items.expected_decoys(public, setting.scale))]
        )

    def _user_assumptions(self, users: int | None) -> tuple[Statement, ...]:
        listed = [ROW_LOCAL, USER_IS_ACCOUNT]
        if users is not None and self._users_matter:
            listed.append(_users_are_public(users))
        listed += assumed_of(self.items)
        if self.then_clicks:
            listed.append(_RESULTS_ARE_PUBLIC)
        return tuple(listed)

    def _clicks_promise(self) -> Guarantee:
        return Guarantee(
            kind=PURE,
            of="clicks",
            epsilon=self._epsilon_clicks(),
            delta=0.0,
            neighbours=REPLACE if self.neighbours == "replace" else ADD_REMOVE,
            assumptions=self._user_assumptions(None),
            caveats=_OF_CLICKS,
        )

    def _epsilon_clicks(self) -> float:
        if self.epsilon_clicks is not None:
            return self.epsilon_clicks
        if self.epsilon is not None:
            return self.epsilon
        return self._calibrate(None).epsilon_approximate

    def _calibration(self, setting: theory.Setting, users: int | None) -> Mapping[str, Any]:
        shown: dict[str, Any] = setting.as_dict(users)
        paper = theory.paper(
            self.max_items,
            setting.scale,
            users,
            delta=None if len(self.items) > 1 else self.delta,
            tau=self.tau,
            second_threshold=self.second_threshold,
            approximate=self.guarantee == "approximate",
        )
        if self.then_clicks:
            shown["clicks_noise_scale"] = self._clicks_scale()
        if (public := self._public_list(setting)) is not None:
            number = listed_items.expected_decoys(public, setting.scale)
            shown |= listed_items.calibration_figures(public, number, self.public_z)
        if users is not None:
            # Corollary 1's tau* + xi is the second threshold: what ZEALOUS publishes with an even chance.
            # An item has one user at least.
            shown["pure_dp"] = theory.impossibility(
                users, self.max_items, max(setting.top, 1), setting.epsilon_approximate
            )
        return shown | {"paper": paper}

    # -- with data ---------------------------------------------------------------------------------------

    def check(self, log: SearchLog) -> None:
        super().check(log)
        if self.then_clicks and self.results is not None:
            log.need("url", "counting clicks")
            public_lists.read(Path(self.results))

    def warm_up(self) -> Iterator[None]:
        """Load the kernels that count users, step by step: it takes as long as reading many rows."""
        yield
        yield from warm_up_counting()

    def selections(self, run: Run) -> dict[str, ItemSelection[UserCounts]]:
        """Return the selections by the names of their tables."""
        return {
            draw.table: count_selection.threshold_selection(draw, run, self.public_items)
            for draw in run.declared(self)
            if draw.rows == LOG
        }

    def scan_log(self, log: SearchLog, run: Run) -> bool:
        """Collect bounded histories before the charge, unless clicks need more rows than queries."""
        return not self.then_clicks and super().scan_log(log, run)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        tables = super().protect(log, run)
        for draw in run.declared(self):
            if draw.rows != LOG and self.results is not None:
                tables[draw.table] = _count_clicks(log, tables["items"], Path(self.results), draw, run)
        return tables

    def _clicks_scale(self) -> float:
        factor = 2 if self.neighbours == "replace" else 1
        return calibration.scale_for(factor * (self.max_clicks or self.max_items), self._epsilon_clicks())


def _method_description(method: Zealous, draws: Sequence[Draw]) -> str:
    """Return what is done, for readers of the release."""
    kept = contribution(method.max_items, *method.items)
    has_first = max(draw.at_least or 1 for draw in draws) > 1
    clicks = contribution(method.max_clicks or method.max_items, "clicks")
    return paragraph(
        Sentence("how.kept", kept=kept),
        Sentence("how.zealous.first-threshold" if has_first else "how.zealous.noise"),
        Sentence("how.selected"),
        *(listed_items.describe_list(draw.public) for draw in draws if draw.public),
        Sentence("how.zealous.clicks", most=clicks) if method.then_clicks else "",
    )


def _users_are_public(users: int) -> Statement:
    """Return the assumption under which a number of users is published."""
    return say("users-are-public", users=users)


def _declare_tables(method: Zealous) -> tuple[PublishedTable, ...]:
    """Return one table for each item kind, and one of clicks on the results of published queries if it was bought."""
    listed = method.public is not None
    made = [item_tables.counted_items_table(kind, method.items, listed=listed) for kind in method.items]
    if method.then_clicks:
        made.append(
            noisy_counts(
                "clicks",
                "clicks",
                Sentence("row.zealous.clicks"),
                item_kinds.kind("clicks").columns,
                order=("query", "count", "url"),
                inside={"query": "items.query"},
            )
        )
    return tuple(made)


def _count_clicks(log: SearchLog, queries: pa.Table, results: Path, draw: Draw, run: Run) -> pa.Table:
    """Return noisy user counts for every public result of every published query, zeros included."""
    with run.stage("clicks") as say:
        surfaced = public_lists.of_queries(public_lists.read(results), queries["query"])
        counts = public_lists.click_counts(log, surfaced, count_selection.bound_of(draw, run))
        noisy = count_selection.with_noise(counts, run, draw)
        say(f"{count_selection.describe_noise(draw)} on {len(counts):,} results of published queries")
    table = surfaced.append_column("count", pa.array(noisy, pa.int64()))
    return table.sort_by([("query", "ascending"), ("count", "descending"), ("url", "ascending")])
