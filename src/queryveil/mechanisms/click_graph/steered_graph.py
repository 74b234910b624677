"""A click graph by steered Gaussian selection: one account for all tables, their draws, guarantee, and sentences.

Epsilon and delta are those of the whole release. Each table has a share of mu^2, divided between selecting its rows and
counting their users. Proof: docs/proofs/click-graph.md, "On steered queries"; lines that satisfy its conditions [Gn]
are marked. [C1] to [C9] of docs/proofs/steered.md are kept by the selection core.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from queryveil.catalog import Sentence, paragraph
from queryveil.count import histories, item_kinds
from queryveil.count.contribution import Bound
from queryveil.count.histories import Histories
from queryveil.errors import argument
from queryveil.mechanisms.base import (
    ROW_LOCAL,
    SESSIONS_APART,
    USER_IS_ACCOUNT,
    Plan,
    Run,
    contribution,
    public_parameters,
    warnings_of,
)
from queryveil.mechanisms.click_graph.graph_parameters import GraphParameters
from queryveil.mechanisms.click_graph.graph_tables import (
    CLICKS,
    GROUP_COLUMNS,
    GROUPED_FIRST,
    KINDS,
    QUERIES,
    REFORMULATIONS,
    STAGES,
    describe_graph,
    require_a_click,
    table_order,
)
from queryveil.mechanisms.click_graph.query_pairs import PairRounds, calibrate_pairs
from queryveil.mechanisms.selection import (
    gaussian_account,
    gaussian_rounds,
    listed_items,
    steering,
    users_needed,
)
from queryveil.mechanisms.selection.gaussian_account import GRID, Account, Share, counts_of, norm_of_counts
from queryveil.mechanisms.selection.gaussian_rounds import GaussianRounds
from queryveil.mechanisms.selection.item_selection import ItemSelection
from queryveil.mechanisms.selection.item_tables import DEVIATION_HELP, OF_ABSENCE, OF_ESTIMATES
from queryveil.mechanisms.selection.listed_items import ListedSums
from queryveil.mechanisms.selection.steering import Setting
from queryveil.mechanisms.selection.user_counts import EstimatedCounts
from queryveil.parameters import parameters
from queryveil.privacy.declarations import GROUPED, LISTED, TYPED, USERS, WHOLE, PublishedTable, columns
from queryveil.privacy.draws import ALL, L2, LOG, PUBLIC, PUBLISHED, ROUNDED_NORMAL, Draw
from queryveil.privacy.guarantee import Guarantee
from queryveil.privacy.statements import Statement, say

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

SHARES = (50.0, 30.0, 20.0)
COUNTS_SHARE = 0.2
DECOYS = 1.0
ROUNDS = 8
KEEP = "random"
"""Which of a user's items count."""
MAX_PAIRED = 5_000
"""Of more published queries, only so many are paired: noise is drawn for each two."""
THRESHOLD_PARAMETERS = (
    *("count_by", "counts", "epsilon_counts", "urls", "results", "epsilon_clicks", "delta_clicks"),
    *("suggestions", "epsilon_reformulations", "delta_reformulations", "analysis", "noise_scale"),
    *("threshold", "counts_noise_scale", "clicks_noise_scale"),
)
"""Parameters of the other strategy."""
_LABELS = listed_items.LABELS_OF_SUMS | {
    "mu": "shift by one user (mu)",
    "p": "chance that a row of one user alone is published (p)",
    "share": "share of the budget (of mu squared), relative to the other tables",
    "counts_share": "the part of that share that pays for counts",
    "rounds": "rounds",
    "noise_scale": "noise of a round (in 1/grid users)",
    "threshold": "threshold (in 1/grid users)",
    "users_for_half": "users needed for a 50 % chance of being published",
    "counts_noise_scale": "noise of counts (in 1/grid users)",
    "grid": "grid",
}
_ONE_ACCOUNT = say("one-account")
_ACCOUNTS = say("accounts-can-publish")
_NO_RATIOS = say("no-ratios", Sentence("statement.no-ratios.users"))


@dataclass(frozen=True)
class TableShare:
    """One table: the bound on what a user adds to it, and its share of mu^2 beside those of the others."""

    name: str
    most: int
    share: float

    @property
    def kind(self) -> str:
        return KINDS[self.name]


@dataclass(frozen=True)
class SteeredGraph:
    """The strategy of steered selection, for the parameters of a click graph."""

    method: GraphParameters

    # -- before data -------------------------------------------------------------------------------------

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables, queries first."""
        return tuple(self.parts)

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of queries, clicks, and reformulations."""
        return SHARES if self.method.shares is None else self.method.shares

    @property
    def counts_share(self) -> float:
        return COUNTS_SHARE if self.method.counts_share is None else self.method.counts_share

    @property
    def decoys(self) -> float:
        """How many reformulations noise alone may publish, on average."""
        return DECOYS if self.method.decoys is None else self.method.decoys

    @cached_property
    def parts(self) -> dict[str, TableShare]:
        """The tables that have a share, in the order in which they are made."""
        bounds = (self.method.max_queries, self.method.max_clicks, self.method.max_reformulations)
        every = zip(KINDS, bounds, self.shares, strict=True)
        return {
            name: TableShare(name, most or self.method.max_queries, share)
            for name, most, share in every
            if share
        }

    @cached_property
    def account(self) -> Account:
        return self.account_of(float(self.method.epsilon or 0))

    def account_of(self, epsilon: float) -> Account:
        """Return what each draw takes of mu^2 and p. Rows of reformulations are public by then, and need no p."""
        made = []
        for part in self.parts.values():
            times = 0 if part.name == REFORMULATIONS else part.most
            weight = part.share * (1 - self.counts_share)
            counts_weight = part.share * self.counts_share
            made += [
                Share(of=part.name, weight=weight, rounds=ROUNDS, times=times),
                Share(of=counts_of(part.name), weight=counts_weight, norm=norm_of_counts(epsilon)),
            ]
        return gaussian_account.open_account(
            epsilon, float(self.method.delta or 0), made, replace=self.method.neighbours == "replace"
        )

    @cached_property
    def public_list(self) -> ListedSums | None:
        """The public list of queries, as their draw declares it."""
        setting = steering.calibrate(self.account.noise(QUERIES))
        return listed_items.declare_list_of_sums(self.method.public_items, setting, self.method.public_z)

    def plan(self, users: int | None) -> Plan:
        """Return thresholds and guarantee, which depend on no number of users."""
        method, listed = self.method, self.public_list
        guarantee = self._guarantee().among(users, told=False)
        least = steering.calibrate(self.account.noise(QUERIES)).users_for_half
        return Plan(
            method=method.name,
            parameters=self._parameters(),
            calibration=self._calibration(),
            guarantee=guarantee,
            tables=tuple(self._declare_table(part) for part in self.parts.values()),
            draws=self._declare_draws(guarantee),
            what=describe_graph(self.tables),
            how=self._method_description(),
            warnings=warnings_of(guarantee, users),
            expected=(
                Sentence("plan.even-chance.query", users=least),
                *(listed.expected() if listed else ()),
            ),
            labels=_LABELS,
        )

    def _guarantee(self) -> Guarantee:
        """Return the guarantee of all tables together, which states every sentence once for all of its parts."""
        has_pairs = REFORMULATIONS in self.parts
        assumed = [ROW_LOCAL, USER_IS_ACCOUNT, *([SESSIONS_APART] if has_pairs else [])]
        caveats = [_ONE_ACCOUNT, _ACCOUNTS, OF_ABSENCE, OF_ESTIMATES]
        caveats += [_NO_RATIOS] if len(self.parts) > 1 else []
        caveats += [_pairs_by_noise(self.decoys)] if has_pairs else []
        if self.public_list is not None:
            assumed.append(listed_items.list_assumption(self.public_list.public))
            caveats.append(listed_items.decoy_caveat(self.public_list.decoys))
        whole = self.account.guarantee(tuple(assumed), tuple(caveats))
        paid = tuple(dataclasses.replace(part.bare, of=part.of) for part in whole.parts)
        return dataclasses.replace(whole, parts=paid)

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters as they are used, in the order of their declaration, without the other strategy's."""
        used: dict[str, Any] = {f"max_{part.name}": part.most for part in self.parts.values()}
        used |= {"shares": list(self.shares), "counts_share": self.counts_share}
        used |= {"decoys": self.decoys} if REFORMULATIONS in self.parts else {}
        used = public_parameters(self.method) | used
        names = [one.name for one in parameters(type(self.method)) if one.name not in THRESHOLD_PARAMETERS]
        return {name: used[name] for name in names if name in used}

    def _calibration(self) -> dict[str, Any]:
        account = self.account
        shown: dict[str, Any] = {"mu": account.mu, "p": account.p, "grid": GRID}
        for name, part in self.parts.items():
            noise = account.noise(name)
            figures: dict[str, Any] = {"share": part.share, "counts_share": self.counts_share}
            figures |= {"noise_scale": noise.scale, "rounds": ROUNDS}
            if name != REFORMULATIONS:
                setting = steering.calibrate(noise)
                figures |= {"p": noise.p, "threshold": setting.tau, "users_for_half": setting.users_for_half}
            figures["counts_noise_scale"] = account.noise(counts_of(name)).scale
            figures |= self.public_list.calibrated() if self.public_list and name == QUERIES else {}
            shown[name] = figures
        return shown

    def _declare_draws(self, guarantee: Guarantee) -> tuple[Draw, ...]:
        """Return the draws in the order of the account, which is that of the guarantee's parts."""
        tables = {of: part for name, part in self.parts.items() for of in (name, counts_of(name))}
        made = []
        for noise, paid in zip(self.account.noises, guarantee.parts, strict=True):
            of = noise.share.of
            part = tables[of]
            rows = PUBLISHED if of != part.name else PUBLIC if of == REFORMULATIONS else LOG
            made.append(
                Draw(
                    of=of,
                    table=part.name,
                    bounded=part.kind,
                    rule=KEEP if rows != PUBLISHED else ALL,
                    most=part.most if rows != PUBLISHED else None,
                    sensitivity=noise.sensitivity,
                    norm=L2,
                    distribution=ROUNDED_NORMAL,
                    scale=noise.scale,
                    rows=rows,
                    above=steering.calibrate(noise).tau if rows == LOG else None,
                    public=self.public_list.public
                    if self.public_list is not None and of == QUERIES
                    else None,
                    weights=noise.share.weights,
                    rounds=noise.share.rounds,
                    **paid.cost,
                )
            )
        return tuple(made)

    def _declare_table(self, part: TableShare) -> PublishedTable:
        """Declare a table; that of queries has the items of a public list too, if there is one."""
        key = item_kinds.kind(part.kind).columns
        is_listed = part.name == QUERIES and self.public_list is not None
        inside = {CLICKS: key[:1], REFORMULATIONS: key}.get(part.name, ())
        helps = {name: GROUP_COLUMNS[name] for name in key if name in GROUP_COLUMNS}
        negative = "" if self.method.non_negative else Sentence("graph.count.negative")
        return PublishedTable(
            name=part.name,
            noun=part.name,
            row=Sentence(f"graph.row.estimated.{part.name}{'.listed' if is_listed else ''}"),
            columns=columns(
                (*key, "count", "deviation"),
                {
                    "count": Sentence(f"graph.count.estimated.{part.name}", negative=negative),
                    "deviation": DEVIATION_HELP,
                    **(helps if self.method.is_grouped else {}),
                },
                deviation=WHOLE,
            ),
            counts=USERS,
            texts=LISTED if is_listed else GROUPED if self.method.is_grouped else TYPED,
            noisy=True,
            unique=key,
            order=table_order(part.name, key),
            inside=tuple((column, "queries.query") for column in inside),
            least=0 if self.method.non_negative else None,
        )

    def _method_description(self) -> str:
        """Return what is done, for readers of the release."""
        kept = {name: contribution(part.most, part.kind) for name, part in self.parts.items()}
        others: dict[str, dict[str, Any]] = {CLICKS: {}, REFORMULATIONS: {"most": MAX_PAIRED}}
        return paragraph(
            GROUPED_FIRST if self.method.is_grouped else "",
            Sentence("graph.how.selected", kept=kept[QUERIES]),
            self.public_list.how(ROUNDS) if self.public_list else "",
            *(
                Sentence(f"graph.how.{name}", kept=kept[name], **fields)
                for name, fields in others.items()
                if name in kept
            ),
            Sentence("graph.how.estimates"),
            Sentence("how.negative-to-zero") if self.method.non_negative else "",
        )

    # -- with data ---------------------------------------------------------------------------------------

    def check(self, log: SearchLog) -> None:
        """Refuse a log that lacks what a table needs, or of which nothing can be published."""
        if CLICKS in self.parts:
            require_a_click(log, f"leave clicks out with {argument('shares', '70,0,30')}")
        if REFORMULATIONS in self.parts:
            item_kinds.kind("query-pairs").rows(log)
        histories.refuse_too_many(log, self.method.public_items)
        for name in self.parts:
            noise = self.account.noise(name)
            gaussian_rounds.refuse_overflow(Setting(noise.share.rounds, noise.scale, 0.0, 1, 0), log.users)
        if self.method.public is None:

            def needed_at(epsilon: float) -> int:
                return steering.calibrate(self.account_of(epsilon).noise(QUERIES)).users_for_half

            users_needed.refuse_too_few(
                float(self.method.epsilon or 0), log.users, needed_at, "a query that every user made"
            )

    def endpoints(self, name: str, published: pa.Table) -> pa.ChunkedArray:
        """Return the published queries to which rows are restricted.

        [G4] Which queries are paired follows from the published table alone: the largest counts stand first.
        """
        queries = published["query"]
        return queries.slice(0, MAX_PAIRED) if name == REFORMULATIONS else queries

    def selection(self, name: str, run: Run, published: pa.Table) -> ItemSelection[Histories]:
        """Return how the rows of a table are selected and counted."""
        part = self.parts[name]
        kind = item_kinds.kind(part.kind)
        listed = self.method.public_items if name == QUERIES else None
        return ItemSelection(
            name=name,
            kind=kind,
            bound=Bound(most=part.most, keep=KEEP, salt=run.salt),
            selector=self._selector(name, published),
            # [G6] Whole histories count, including rows that no bounded history keeps.
            # [G5] How much of a user counts in a row follows from the row's own noisy sum of the first round.
            counter=EstimatedCounts(self.account.noise(counts_of(name))),
            listed=listed,
            order=table_order(name, kind.columns),
            non_negative=self.method.non_negative,
            stage=STAGES[name],
        )

    def _selector(self, name: str, published: pa.Table) -> GaussianRounds | PairRounds:
        noise = self.account.noise(name)
        if name == REFORMULATIONS:
            queries = self.endpoints(name, published).combine_chunks()
            return PairRounds(calibrate_pairs(noise, len(queries), self.decoys), queries)
        # [G2] Candidates are what these histories hold: restricted, and bounded.
        setting = steering.calibrate(noise)
        if name != QUERIES:
            return GaussianRounds(setting)
        setting = listed_items.with_list_threshold(
            setting, listed=self.method.public is not None, z=self.method.public_z
        )
        return GaussianRounds(setting, self.method.public_items)


def _pairs_by_noise(decoys: float) -> Statement:
    """Return the caveat that noise alone publishes some reformulations."""
    return say("pairs-by-noise", decoys=decoys)
