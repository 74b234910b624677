"""Release-Data: the private query click graph. Queries, clicks on their results, and what was searched next.

Each user's first d queries count; a query whose noisy count is above K is published, then noisy click counts of
its results, then reformulations. After Korolova et al., Releasing search queries and clicks privately, with the
thresholds of docs/proofs/click-graph.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.count import item_kinds, public_lists
from queryveil.errors import UsageError
from queryveil.language import groups
from queryveil.mechanisms import shared_parameters as shared
from queryveil.mechanisms.base import MOST_USERS, SESSIONS_APART, Plan, Run, public_parameters, warnings_of
from queryveil.mechanisms.click_graph import (
    account,
    choices,
    declared,
    parts,
    steered_tables,
    theory,
    words,
)
from queryveil.mechanisms.click_graph.tables import Edges, Tables
from queryveil.mechanisms.selection import listed_items
from queryveil.mechanisms.selection.listed_items import TakesPublicItems
from queryveil.parameters import COUNTED, METHOD, PROMISES, param, validate
from queryveil.privacy import calibration
from queryveil.privacy.draws import PublicList
from queryveil.privacy.guarantee import APPROXIMATE, PURE, Guarantee

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

MAX_QUERIES = 20
"""Of one user, if nothing else is asked for."""
_MOST = 10**9
_BOUND = {"ge": 1, "le": _MOST, "group": COUNTED}
_PRICE = {"gt": 0, "default": None, "group": PROMISES}
_CHANCE = {"gt": 0, "lt": 1, "default": None, "group": PROMISES}
_SCALE = {"gt": 0, "le": calibration.MAX_SCALE, "default": None, "group": PROMISES}


@dataclass(frozen=True, kw_only=True)
class ClickGraph(TakesPublicItems):
    """Frequent queries, clicks and reformulations with noise."""

    name: ClassVar[str] = "click-graph"
    needs_users: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 4, "delta": 0.1, "max_queries": 3}

    epsilon: float | None = param(
        "privacy loss per user, for choosing queries; with --selection steered, for all tables together",
        **_PRICE,
    )
    delta: float | None = param("probability that the loss is exceeded, for the same tables", **_CHANCE)
    selection: str = param(
        "how queries are chosen: noisy counts above a threshold, or steered Gaussian selection, which publishes more",
        choices=("threshold", "steered"),
        default="threshold",
        group=METHOD,
    )
    max_queries: int = param(
        f"queries that one user may add (d): the first {MAX_QUERIES} by time if left out, or "
        f"{account.MAX_QUERIES} at random with --selection steered",
        default=None,
        **_BOUND,
    )
    shares: tuple[float, ...] | None = param(
        "with --selection steered: shares of the privacy budget (of mu squared) for queries, clicks and "
        "reformulations; 50,30,20 if left out, and 0 leaves a table out",
        ge=0,
        many=True,
        default=None,
        group=PROMISES,
    )
    counts_share: float | None = param(
        "with --selection steered: the part of each share that pays for counts of users; 0.2 if left out",
        ge=0.01,
        le=0.9,
        default=None,
        group=PROMISES,
    )
    decoys: float | None = param(
        "with --selection steered: reformulations that noise alone may publish, on average; 1 if left out",
        ge=1e-6,
        le=1000,
        default=None,
        group=METHOD,
    )
    count_by: str = param(
        "count every time a query is made, or every user once",
        choices=("occurrences", "users"),
        default="occurrences",
        group=COUNTED,
    )
    group_queries: str = param(
        "count queries with the same words as one, in any order, singular or plural; the group's words are published",
        choices=("none", "words"),
        default="none",
        group=COUNTED,
    )
    counts: str = param(
        "publish the noisy count that chose a query (free, biased near the threshold) or a fresh one",
        choices=("reuse", "fresh"),
        default="reuse",
        group=COUNTED,
    )
    epsilon_counts: float | None = param("privacy loss of fresh counts", **_PRICE)
    urls: str = param(
        "urls from public result lists, from the log behind a threshold, or the most clicked ones (no guarantee "
        "covers them)",
        choices=("public", "private", "clicked"),
        default="public",
        group=COUNTED,
    )
    results: str | Callable[[str], Iterable[str]] | None = param(  # noqa: RUF009 (a frozen value)
        "file of public result lists (query, url)", path=True, function=True, default=None, group=COUNTED
    )
    max_clicks: int | None = param(
        "clicks that one user may add, chosen like queries (d_c); max-queries if left out",
        default=None,
        **_BOUND,
    )
    epsilon_clicks: float | None = param("privacy loss of click counts", **_PRICE)
    delta_clicks: float | None = param("delta of private urls", **_CHANCE)
    suggestions: str | Callable[[str], Iterable[str]] | None = param(  # noqa: RUF009 (a frozen value)
        "file of public suggestion lists (query, suggestion); query pairs of the log if left out",
        path=True,
        function=True,
        default=None,
        group=COUNTED,
    )
    max_reformulations: int | None = param(
        "reformulations that one user may add, chosen like queries (d_r); max-queries if left out",
        default=None,
        **_BOUND,
    )
    epsilon_reformulations: float | None = param("privacy loss of reformulation counts", **_PRICE)
    delta_reformulations: float | None = param("delta of reformulations", **_CHANCE)
    neighbours: str = param(
        **shared.NEIGHBOURS
        | {
            "help": "what is hidden: one user added or removed, or one user's history replaced "
            "(with --selection steered)"
        }
    )
    public: str | None = param(
        **shared.PUBLIC
        | {"help": "file of public queries (a catalogue, page titles): all get noise, and need no delta"}
    )
    public_z: float | None = param(**shared.PUBLIC_Z)
    analysis: str = param(
        "thresholds by the paper or by our proof", choices=("paper", "tight"), default="tight", group=PROMISES
    )
    noise_scale: float | None = param("scale of the noise (b), instead of epsilon", **_SCALE)
    threshold: float | None = param(
        "publish queries above this noisy count (K), instead of delta", ge=1, default=None, group=PROMISES
    )
    counts_noise_scale: float | None = param(
        "scale of the noise of fresh counts (b_q), instead of epsilon-counts", **_SCALE
    )
    clicks_noise_scale: float | None = param(
        "scale of the noise of click counts (b_c), instead of epsilon-clicks", **_SCALE
    )
    non_negative: bool = param("set negative counts to zero", default=False, group=COUNTED)

    def __post_init__(self) -> None:
        choices.refuse_pure(self.delta)
        asked: object = self.max_queries
        if asked is None:
            most = account.MAX_QUERIES if self.on_steered else MAX_QUERIES
            object.__setattr__(self, "max_queries", most)
        validate(self)
        choices.refuse_contradictions(self)
        self.check_public()

    # -- before data -------------------------------------------------------------------------------------

    @property
    def on_steered(self) -> bool:
        """Whether queries are selected by the steered Gaussian mechanism, and all tables share one account."""
        return self.selection == "steered"

    @property
    def on_groups(self) -> bool:
        """Whether queries with the same words count as one."""
        return self.group_queries == "words"

    @property
    def listed_kinds(self) -> tuple[str, ...]:
        """A public list is of queries."""
        return ("queries",)

    @property
    def clicks_bought(self) -> bool:
        """Whether there will be a table of clicks."""
        return self.epsilon_clicks is not None or self.clicks_noise_scale is not None

    @property
    def once(self) -> bool:
        """Whether a user counts once per item."""
        return self.count_by == "users"

    def setting(self) -> theory.Setting:
        """Noise and threshold that decide which queries are published."""
        d, once, by_paper = self.max_queries, self.once, self.analysis == "paper"
        if self.noise_scale is not None and self.threshold is not None:
            return theory.given(d, self.noise_scale, self.threshold, once=once, by_paper=by_paper)
        if self.epsilon is None or self.delta is None:
            raise AssertionError("checked when the mechanism was made")
        if by_paper:
            return theory.paper(d, self.epsilon, self.delta, once=once)
        return theory.tight(d, self.epsilon, self.delta, once=once)

    def listed(self, setting: theory.Setting) -> PublicList | None:
        """The public list as the draw of queries declares it."""
        found = self.public_items
        return None if found is None else listed_items.declared(found, setting.scale, self.public_z)

    def _counts_scale(self) -> float | None:
        if self.counts == "reuse":
            return None
        if self.counts_noise_scale is not None:
            return self.counts_noise_scale
        return calibration.scale_for(self.max_queries, float(self.epsilon_counts or 0), "max-queries")

    def _clicks(self) -> Edges | None:
        if not self.clicks_bought:
            return None
        d = self.max_clicks or self.max_queries
        if self.urls == "private":
            epsilon, delta = float(self.epsilon_clicks or 0), float(self.delta_clicks or 0)
            setting = theory.tight(d, epsilon, delta, once=self.once, bound="max-clicks")
            return Edges(d=d, scale=setting.scale, setting=setting)
        scale = self.clicks_noise_scale or calibration.scale_for(
            d, float(self.epsilon_clicks or 0), "max-clicks"
        )
        return Edges(d=d, scale=scale, lists=self.results)

    def _reformulations(self) -> Edges | None:
        if self.epsilon_reformulations is None:
            return None
        d = self.max_reformulations or self.max_queries
        if self.delta_reformulations is None:
            scale = calibration.scale_for(d, self.epsilon_reformulations, "max-reformulations")
            return Edges(d=d, scale=scale, lists=self.suggestions)
        setting = theory.tight(
            d,
            self.epsilon_reformulations,
            self.delta_reformulations,
            once=self.once,
            bound="max-reformulations",
        )
        return Edges(d=d, scale=setting.scale, setting=setting)

    def plan(self, *, users: int | None = None) -> Plan:
        """Thresholds and guarantee. They do not depend on the number of users; a warning may."""
        if users is not None and not 1 <= users <= MOST_USERS:
            raise UsageError(
                f"parameter 'users' must be an int >= 1 and <= {MOST_USERS:g}; got {users}",
                "pass --users N, a public upper bound on the number of users",
            )
        if self.on_steered:
            return account.plan(self, users)
        clicks, reformulations = self._clicks(), self._reformulations()
        total = self._guarantee(clicks, reformulations).among(users, told=False)
        shown = public_parameters(self)
        shown |= {"max_clicks": clicks.d} if clicks else {}
        shown |= {"max_reformulations": reformulations.d} if reformulations else {}
        made = self._parts(clicks, reformulations)
        draws = declared.draws(self, made, self._counts_scale(), clicks, reformulations)
        return Plan(
            method=self.name,
            parameters=shown,
            calibration=self._calibration(clicks, reformulations),
            guarantee=total,
            tables=declared.tables(self, clicks, reformulations),
            draws=draws,
            what=words.what(clicks, reformulations),
            how=words.how(self, clicks, reformulations),
            warnings=warnings_of(total, users) + choices.warnings(self),
            expected=tuple(
                listed_items.expected(one.public, listed_items.decoys_of(one)) for one in draws if one.public
            ),
            labels=words.LABELS,
            assessment=words.assessment(self),
        )

    def _calibration(self, clicks: Edges | None, reformulations: Edges | None) -> dict[str, Any]:
        setting, fresh = self.setting(), self._counts_scale()
        shown = setting.as_dict()
        shown |= {"counts_noise_scale": fresh} if fresh else {}
        if (public := self.listed(setting)) is not None:
            number = listed_items.decoys(public, setting.scale)
            shown |= listed_items.calibrated(public, number, self.public_z)
        shown |= {"clicks": clicks.as_dict()} if clicks else {}
        shown |= {"reformulations": reformulations.as_dict()} if reformulations else {}
        more = self.max_queries / fresh if fresh else 0.0
        more += sum(one.d / one.scale for one in (clicks, reformulations) if one)
        if self.threshold is not None:
            threshold = self.threshold
        elif self.epsilon is not None and self.delta is not None:
            threshold = theory.paper_threshold(self.max_queries, self.epsilon, self.delta)
        else:
            raise AssertionError("checked when the mechanism was made")
        shown["paper"] = theory.theorem1(self.max_queries, setting.scale, threshold, more=more)
        return shown

    # -- what is promised --------------------------------------------------------------------------------

    def _guarantee(self, clicks: Edges | None, reformulations: Edges | None) -> Guarantee:
        made = self._parts(clicks, reformulations)
        total = made[0] if len(made) > 1 else dataclasses.replace(made[0], of="")
        for one in made[1:]:
            total = total + one
        if clicks is not None and self.urls == "clicked":
            return parts.not_covered(total)
        return total

    def _parts(self, clicks: Edges | None, reformulations: Edges | None) -> list[Guarantee]:
        """What each draw of noise costs."""
        setting = self.setting()
        public, caveats = self.listed(setting), words.caveats(self)
        if public is not None:
            caveats = (*caveats, listed_items.caveat(listed_items.decoys(public, setting.scale)))
        made = [
            parts.part(
                "queries",
                APPROXIMATE,
                self.epsilon if self.epsilon is not None else setting.epsilon,
                self.delta if self.delta is not None else setting.delta,
                assumptions=() if public is None else (listed_items.assumed(public),),
                caveats=caveats,
            )
        ]
        fresh = self._counts_scale()
        if fresh is not None:
            cost = self.epsilon_counts or theory.Setting(self.max_queries, fresh, 0).epsilon
            made.append(parts.part(declared.OF_COUNTS, PURE, cost, 0.0))
        if clicks is not None and self.urls != "clicked":
            lists = (words.RESULTS_ARE_PUBLIC,)
            made.append(
                parts.of_edges(
                    "clicks",
                    clicks,
                    self.epsilon_clicks,
                    self.delta_clicks,
                    lists if self.urls == "public" else (),
                )
            )
        if reformulations is not None:
            assumed = [SESSIONS_APART]
            if self.suggestions is not None:
                assumed.append(words.SUGGESTIONS_ARE_PUBLIC)
            made.append(
                parts.of_edges(
                    "reformulations",
                    reformulations,
                    self.epsilon_reformulations,
                    self.delta_reformulations,
                    tuple(assumed),
                )
            )
        return made

    # -- with data ---------------------------------------------------------------------------------------

    def check(self, log: SearchLog) -> None:
        if self.on_steered:
            steered_tables.check(self, log)
            return
        log.need("time", "keeping each user's first queries")
        if self.max_clicks is not None or self.clicks_bought:
            log.need("url", "counting clicks")
            if self.clicks_bought:
                choices.need_a_click(log, "leave out --epsilon-clicks")
        if self.clicks_bought and self.urls == "public" and self.results is None:
            raise UsageError(
                "click counts need public result lists; the log's own clicked urls are not public",
                "pass --results FILE, or --urls private with --delta-clicks",
            )
        if isinstance(self.results, str):
            public_lists.read(Path(self.results))
        if isinstance(self.suggestions, str):
            public_lists.read(Path(self.suggestions), "next_query")
        if self.epsilon_reformulations is not None:
            item_kinds.kind("query-pairs").rows(log)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        if self.on_groups:
            # Row by row, from the text alone, and before anything is bounded: the proof needs no more.
            log = groups.grouped(log)
        if self.on_steered:
            return steered_tables.protect(self, log, run)
        made = Tables(log, run, once=self.once, non_negative=self.non_negative)
        draws = {draw.of: draw for draw in self.plan().draws}
        fresh = draws.get(declared.OF_COUNTS)
        tables = {"queries": made.queries(draws["queries"], fresh, self.public_items)}
        published = tables["queries"]["query"]
        if "clicks" in draws:
            tables["clicks"] = made.clicks(draws["clicks"], self.results, published)
        if "reformulations" in draws:
            found = made.reformulations(draws["reformulations"], self.suggestions, published)
            tables["reformulations"] = found
        return tables
