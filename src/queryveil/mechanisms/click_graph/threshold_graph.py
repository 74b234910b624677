"""A click graph by noisy counts above thresholds, the paper's strategy: draws, guarantee, tables, and sentences.

Each user's first d queries count. A query whose noisy count is above K is published, then noisy click counts of its
results, then reformulations. Each table has a draw of its own, and their guarantees add up. Proof:
docs/proofs/click-graph.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from queryveil.catalog import Sentence, paragraph
from queryveil.count import histories, item_kinds, public_lists
from queryveil.count.contribution import EVENTS, Bound
from queryveil.count.histories import UserCounts
from queryveil.count.item_kinds import ItemKind
from queryveil.errors import Message, UsageError, argument
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
from queryveil.mechanisms.click_graph import theory
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
from queryveil.mechanisms.selection import listed_items
from queryveil.mechanisms.selection.count_selection import (
    CountThreshold,
    NoisyCounts,
    describe_noise,
    with_noise,
)
from queryveil.mechanisms.selection.item_selection import ItemSelection, Selected
from queryveil.privacy import calibration, statements
from queryveil.privacy.declarations import (
    GROUPED,
    LISTED,
    OCCURRENCES,
    TYPED,
    USERS,
    PublishedTable,
    noisy_counts,
)
from queryveil.privacy.draws import LOG, PUBLIC, PUBLISHED, UNCOVERED, Draw, PublicList
from queryveil.privacy.guarantee import ADD_REMOVE, APPROXIMATE, NONE, PURE, Guarantee
from queryveil.privacy.statements import NOT_EXCLUDED, Statement, say

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

Lists = str | Callable[[str], Iterable[str]] | None
"""Public lists, in a file or as a function; None where there are none."""
FRESH_COUNTS = "counts of queries"
"""The draw of fresh noise, made after the queries were chosen."""
_MOST_CLICKED = 10
_LABELS = {
    "noise_scale": "noise scale (b)",
    "threshold": "published above a noisy count of (K)",
    "alpha": "alpha of Theorem 1",
    "epsilon": "epsilon",
    "delta": "delta",
    "count_for_half": "count needed for a 50 % chance of being published",
    "count_for_99_percent": "count needed for a 99 % chance of being published",
    "counts_noise_scale": "noise scale of fresh counts (b_q)",
    **listed_items.LABELS,
    "public_threshold": "published above, on the public list (noisy count)",
}
_RESULTS_ARE_PUBLIC = say("public-results")
_SUGGESTIONS_ARE_PUBLIC = say("public-suggestions")
_NOT_COVERED = say("urls-not-covered")


@dataclass(frozen=True)
class EdgeNoise:
    """How clicks or reformulations are protected: on public lists, or behind a threshold of their own."""

    d: int
    scale: float
    setting: theory.Setting | None = None
    """The threshold, if what is published is not public."""
    lists: Lists = None

    @property
    def epsilon(self) -> float:
        return theory.Setting(self.d, self.scale, 0).epsilon

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"noise_scale": self.scale, "epsilon": self.epsilon}
        if self.setting is not None:
            shown |= {"threshold": self.setting.top, "delta": self.setting.delta}
        return shown


@dataclass(frozen=True)
class PublicPairs:
    """Selects every pair of public lists for the published queries, whether or not any user has it."""

    draw: Draw
    lists: Lists
    """None for the most clicked urls of the log itself, which no guarantee covers."""
    published: pa.ChunkedArray

    def collect(self, log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None) -> UserCounts:
        """Collect what is needed to count the users who keep each pair."""
        return histories.collect_user_counts(log, kind, bound, rows)

    def select(self, kept: UserCounts, kind: ItemKind, run: Run) -> Selected:
        """Select all pairs, with their noisy counts as evidence, zeros included."""
        if self.lists is None and self.draw.rows != UNCOVERED:
            raise TypeError(f"the draw for {self.draw.of} covers pairs of public lists, and there are none")
        counted = kept.users_per_item()
        pairs = (
            _most_clicked(counted, self.published)
            if self.lists is None
            else public_lists.surfaced(self.lists, self.published, kind.columns[1])
        )
        inside = counted.join(pairs, pairs.column_names, join_type="left semi")
        true = public_lists.aligned(inside, pairs)
        return Selected(
            items=pairs,
            evidence=with_noise(true, run, self.draw),
            summary=f"{describe_noise(self.draw)}, on all pairs of the lists of published queries",
            users=true,
        )


def _most_clicked(counted: pa.Table, published: pa.ChunkedArray) -> pa.Table:
    """Return the urls of the log itself. They are not public, as the plan tells the curator."""
    import pyarrow.compute as pc

    found = counted.filter(pc.is_in(counted["query"], published.cast(pa.string())))
    found = found.sort_by([("query", "ascending"), ("count", "descending"), ("url", "ascending")])
    best: dict[str, list[str]] = {}
    for query, url in zip(found["query"].to_pylist(), found["url"].to_pylist(), strict=True):
        best.setdefault(query, []).append(url)
    pairs = [(query, url) for query, urls in best.items() for url in urls[:_MOST_CLICKED]]
    names = ("query", "url")
    return pa.table(
        {name: pa.array([pair[at] for pair in pairs], pa.string()) for at, name in enumerate(names)}
    )


@dataclass(frozen=True)
class ThresholdGraph:
    """The strategy of thresholds, for the parameters of a click graph."""

    method: GraphParameters

    # -- before data -------------------------------------------------------------------------------------

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables, queries first."""
        return (QUERIES, *self.edges)

    @cached_property
    def setting(self) -> theory.Setting:
        """Noise and threshold that decide which queries are published."""
        return self.method.setting()

    @cached_property
    def public_list(self) -> PublicList | None:
        """The public list as the draw of queries declares it."""
        found = self.method.public_items
        if found is None:
            return None
        return listed_items.declare_list(found, self.setting.scale, self.method.public_z)

    @cached_property
    def fresh_scale(self) -> float | None:
        """The scale of the noise of fresh counts; None if counts are reused."""
        method = self.method
        if method.counts == "reuse":
            return None
        if method.counts_noise_scale is not None:
            return method.counts_noise_scale
        return calibration.scale_for(method.max_queries, float(method.epsilon_counts or 0), "max-queries")

    @cached_property
    def edges(self) -> dict[str, EdgeNoise]:
        """The noise of clicks and of reformulations, as far as they are bought."""
        found = {CLICKS: self._click_noise(), REFORMULATIONS: self._reformulation_noise()}
        return {name: one for name, one in found.items() if one is not None}

    def _click_noise(self) -> EdgeNoise | None:
        method = self.method
        if not method.has_clicks:
            return None
        d, epsilon = method.max_clicks or method.max_queries, float(method.epsilon_clicks or 0)
        if method.urls == "private":
            delta = float(method.delta_clicks or 0)
            setting = theory.tight_setting(d, epsilon, delta, once=method.counts_users, bound="max-clicks")
            return EdgeNoise(d=d, scale=setting.scale, setting=setting)
        scale = method.clicks_noise_scale or calibration.scale_for(d, epsilon, "max-clicks")
        return EdgeNoise(d=d, scale=scale, lists=method.results)

    def _reformulation_noise(self) -> EdgeNoise | None:
        method = self.method
        if method.epsilon_reformulations is None:
            return None
        d, epsilon = method.max_reformulations or method.max_queries, method.epsilon_reformulations
        bound = "max-reformulations"
        if method.delta_reformulations is None:
            return EdgeNoise(d=d, scale=calibration.scale_for(d, epsilon, bound), lists=method.suggestions)
        setting = theory.tight_setting(
            d, epsilon, method.delta_reformulations, once=method.counts_users, bound=bound
        )
        return EdgeNoise(d=d, scale=setting.scale, setting=setting)

    def plan(self, users: int | None) -> Plan:
        """Return thresholds and guarantee. They do not depend on the number of users; a warning may."""
        method, parts = self.method, self._part_guarantees()
        total = self._compose_guarantees(parts).among(users, told=False)
        draws = self._declare_draws(parts)
        return Plan(
            method=method.name,
            parameters=public_parameters(method) | {f"max_{name}": one.d for name, one in self.edges.items()},
            calibration=self._calibration(),
            guarantee=total,
            tables=self._declare_tables(),
            draws=draws,
            what=describe_graph(self.tables),
            how=self._method_description(),
            warnings=warnings_of(total, users) + self._warnings(),
            expected=tuple(
                listed_items.decoy_expectation(one.public, listed_items.expected_decoys_of(one))
                for one in draws
                if one.public
            ),
            labels=_LABELS,
            assessment=self._assessment(),
        )

    def _calibration(self) -> dict[str, Any]:
        method, setting, fresh = self.method, self.setting, self.fresh_scale
        shown = setting.as_dict()
        shown |= {"counts_noise_scale": fresh} if fresh else {}
        if self.public_list is not None:
            number = listed_items.expected_decoys(self.public_list, setting.scale)
            shown |= listed_items.calibration_figures(self.public_list, number, method.public_z)
        shown |= {name: one.as_dict() for name, one in self.edges.items()}
        more = method.max_queries / fresh if fresh else 0.0
        more += sum(one.d / one.scale for one in self.edges.values())
        if method.threshold is not None:
            threshold = method.threshold
        elif method.epsilon is not None and method.delta is not None:
            threshold = theory.paper_threshold(method.max_queries, method.epsilon, method.delta)
        else:
            raise AssertionError("checked when the mechanism was made")
        shown["paper"] = theory.theorem1(method.max_queries, setting.scale, threshold, more=more)
        return shown

    def _warnings(self) -> tuple[str, ...]:
        """Return what was asked for and has no effect, or needs something more."""
        method, found = self.method, []
        if method.max_clicks is not None and not method.has_clicks:
            found.append(_warning("no-effect.max-clicks", "max_clicks", "epsilon_clicks"))
        if method.max_reformulations is not None and method.epsilon_reformulations is None:
            found.append(
                _warning("no-effect.max-reformulations", "max_reformulations", "epsilon_reformulations")
            )
        if method.has_clicks and method.urls == "public" and method.results is None:
            found.append(_warning("needs-results", "results"))
        return tuple(found)

    # -- guarantee and draws -----------------------------------------------------------------------------

    def _compose_guarantees(self, parts: list[Guarantee]) -> Guarantee:
        total = parts[0] if len(parts) > 1 else dataclasses.replace(parts[0], of="")
        for one in parts[1:]:
            total = total + one
        if CLICKS not in self.edges or self.method.urls != "clicked":
            return total
        # The most clicked urls of the log: a url that one user alone clicked is published with certainty.
        return Guarantee(
            kind=NONE,
            neighbours=ADD_REMOVE,
            assumptions=total.assumptions,
            caveats=(_NOT_COVERED, *total.caveats),
        )

    def _part_guarantees(self) -> list[Guarantee]:
        """Return what each draw of noise costs."""
        method, setting, listed, caveats = self.method, self.setting, self.public_list, self._caveats()
        if listed is not None:
            caveats = (
                *caveats,
                listed_items.decoy_caveat(listed_items.expected_decoys(listed, setting.scale)),
            )
        made = [
            _draw_guarantee(
                QUERIES,
                APPROXIMATE,
                method.epsilon if method.epsilon is not None else setting.epsilon,
                method.delta if method.delta is not None else setting.delta,
                assumptions=() if listed is None else (listed_items.list_assumption(listed),),
                caveats=caveats,
            )
        ]
        if self.fresh_scale is not None:
            cost = method.epsilon_counts or theory.Setting(method.max_queries, self.fresh_scale, 0).epsilon
            made.append(_draw_guarantee(FRESH_COUNTS, PURE, cost, 0.0))
        if CLICKS in self.edges and method.urls != "clicked":
            assumed = (_RESULTS_ARE_PUBLIC,) if method.urls == "public" else ()
            made.append(self._edge_part(CLICKS, method.epsilon_clicks, method.delta_clicks, assumed))
        if REFORMULATIONS in self.edges:
            lists = () if method.suggestions is None else (_SUGGESTIONS_ARE_PUBLIC,)
            epsilon, delta = method.epsilon_reformulations, method.delta_reformulations
            made.append(self._edge_part(REFORMULATIONS, epsilon, delta, (SESSIONS_APART, *lists)))
        return made

    def _edge_part(
        self, name: str, epsilon: float | None, delta: float | None, assumptions: tuple[Statement, ...]
    ) -> Guarantee:
        edges = self.edges[name]
        kind = PURE if edges.setting is None else APPROXIMATE
        return _draw_guarantee(name, kind, epsilon or edges.epsilon, delta or 0.0, assumptions=assumptions)

    def _declare_draws(self, parts: Iterable[Guarantee]) -> tuple[Draw, ...]:
        """Return the draws in the order of the tables; what no part of the guarantee pays for is not covered."""
        setting = self.setting
        paid = {one.of: one.cost for one in parts}
        uncovered = Guarantee(kind=NONE, neighbours=ADD_REMOVE).cost

        def draw(of: str, table: str, d: int, scale: float, **where: Any) -> Draw:
            return Draw(
                of=of,
                table=table,
                bounded=KINDS[table],
                rule="first",
                most=d,
                copies=1 if self.method.counts_users else d,
                sensitivity=d,
                scale=scale,
                **where,
                **paid.get(of, uncovered),
            )

        made = [
            draw(
                *(QUERIES, QUERIES, setting.d, setting.scale),
                rows=LOG,
                at_least=1,
                above=setting.top,
                public=self.public_list,
            )
        ]
        if self.fresh_scale is not None:
            made.append(draw(FRESH_COUNTS, QUERIES, setting.d, self.fresh_scale, rows=PUBLISHED))
        for name, one in self.edges.items():
            if one.setting is not None:
                made.append(draw(name, name, one.d, one.scale, rows=LOG, at_least=1, above=one.setting.top))
            else:
                made.append(draw(name, name, one.d, one.scale, rows=PUBLIC if name in paid else UNCOVERED))
        return tuple(made)

    # -- tables and sentences ----------------------------------------------------------------------------

    @property
    def _unit(self) -> str:
        """What is counted: `users` or `times`."""
        return "users" if self.method.counts_users else "times"

    def _declare_tables(self) -> tuple[PublishedTable, ...]:
        # A suggestion is public whether or not enough people searched for it.
        both = REFORMULATIONS in self.edges and self.edges[REFORMULATIONS].setting is not None
        inside = {CLICKS: ("query",), REFORMULATIONS: ("query", "next_query") if both else ("query",)}
        made = [
            self._declare_table(name, Sentence(f"graph.row.{name}.{self._unit}"), inside=inside[name])
            for name in self.edges
        ]
        queries = Sentence(
            f"graph.row.queries.{self._unit}",
            what=Sentence("graph.row.group" if self.method.is_grouped else "graph.row.query"),
            listed=Sentence("graph.row.listed") if self.method.public else "",
        )
        return (self._declare_table(QUERIES, queries), *made)

    def _declare_table(self, name: str, row: str, inside: tuple[str, ...] = ()) -> PublishedTable:
        method, key = self.method, item_kinds.kind(KINDS[name]).columns
        helps = {one: GROUP_COLUMNS[one] for one in key if one in GROUP_COLUMNS}
        is_listed = name == QUERIES and method.public is not None
        return noisy_counts(
            name,
            name,
            row,
            key,
            counts=USERS if method.counts_users else OCCURRENCES,
            order=table_order(name, key),
            texts=LISTED if is_listed else GROUPED if method.is_grouped else TYPED,
            helps=helps if method.is_grouped else {},
            inside=dict.fromkeys(inside, "queries.query"),
            least=0 if method.non_negative else None,
        )

    def _method_description(self) -> str:
        """Return what is done, for readers of the release."""
        method, clicks, reformulations = self.method, self.edges.get(CLICKS), self.edges.get(REFORMULATIONS)
        said: list[str] = [
            GROUPED_FIRST if method.is_grouped else "",
            _first_items("queries", method.max_queries),
            Sentence(f"graph.how.counted.{self._unit}"),
            Sentence(f"graph.how.published.{'reuse' if method.counts == 'reuse' else 'fresh'}"),
            listed_items.describe_list(self.public_list) if self.public_list is not None else "",
        ]
        if clicks:
            said += [
                Sentence(f"graph.how.urls.{method.urls}.{self._unit}"),
                _first_items("clicks", clicks.d),
            ]
        if reformulations:
            source = "suggestions" if method.suggestions is not None else "followed"
            said += [
                Sentence(f"graph.how.{source}.{self._unit}"),
                _first_items("query-pairs", reformulations.d),
            ]
        return paragraph(*said, Sentence("how.negative-to-zero") if method.non_negative else "")

    def _caveats(self) -> tuple[Statement, ...]:
        """Return what readers of the queries must know."""
        method = self.method
        is_covered = not (method.has_clicks and method.urls == "clicked")
        uncovered = Sentence("statement.accounts-can-publish.uncovered")
        found = [say("accounts-can-publish", "" if is_covered else uncovered)]
        if method.counts == "reuse":
            found.append(say("counts-near-threshold"))
        if method.counts == "fresh" or method.has_clicks or method.suggestions is not None:
            found.append(say("counts-may-fall"))
        if method.has_clicks or method.epsilon_reformulations is not None:
            found.append(say("no-ratios", Sentence("statement.no-ratios.events")))
        return tuple(found)

    def _assessment(self) -> tuple[Statement, ...]:
        """Return nothing particular, unless urls are taken from the log as they are."""
        method = self.method
        if not method.has_clicks or method.urls != "clicked":
            return ()
        return statements.assessment(
            singling_out=(NOT_EXCLUDED, Sentence("graph.clicked.singling-out")),
            linkability=(NOT_EXCLUDED, Sentence("graph.clicked.linkability")),
            inference=(NOT_EXCLUDED, Sentence("graph.clicked.inference")),
            disclosed=Sentence("graph.clicked.disclosed"),
            learnt=(
                Sentence("graph.clicked.learnt.urls"),
                Sentence("graph.clicked.learnt.person"),
                Sentence("learnt.popular"),
            ),
        )

    # -- with data ---------------------------------------------------------------------------------------

    def check(self, log: SearchLog) -> None:
        """Refuse a log that lacks what a table needs."""
        method = self.method
        log.need("time", "keeping each user's first queries")
        if method.max_clicks is not None or method.has_clicks:
            log.need("url", "counting clicks")
            if method.has_clicks:
                require_a_click(log, f"leave out {argument('epsilon_clicks')}")
        if method.has_clicks and method.urls == "public" and method.results is None:
            raise UsageError(
                "click counts need public result lists; the log's own clicked urls are not public",
                f"pass {argument('results', 'FILE')}, or {argument('urls', 'private')} with {argument('delta_clicks')}",
            )
        if isinstance(method.results, str):
            public_lists.read(Path(method.results))
        if isinstance(method.suggestions, str):
            public_lists.read(Path(method.suggestions), "next_query")
        if REFORMULATIONS in self.edges:
            item_kinds.kind("query-pairs").rows(log)

    @cached_property
    def draws(self) -> dict[str, Draw]:
        """The draws by name."""
        return {draw.of: draw for draw in self._declare_draws(self._part_guarantees())}

    def endpoints(self, name: str, published: pa.Table) -> pa.ChunkedArray | None:
        """Return the published queries to which rows are restricted; with public lists all rows count."""
        # Both ends are public by now, so what a user keeps depends on public facts and that user's own rows.
        return published["query"] if self.draws[name].rows == LOG else None

    def selection(self, name: str, run: Run, published: pa.Table) -> ItemSelection[UserCounts]:
        """Return how the rows of a table are selected and counted."""
        draw = self.draws[name]
        kind = item_kinds.kind(draw.bounded)
        listed = self.method.public_items if name == QUERIES else None
        return ItemSelection(
            name=name,
            kind=kind,
            bound=Bound(
                most=draw.most or 0, keep="first" if self.method.counts_users else EVENTS, salt=run.salt
            ),
            selector=CountThreshold(draw, listed)
            if draw.rows == LOG
            else PublicPairs(draw, self.edges[name].lists, published["query"]),
            counter=NoisyCounts(self.draws.get(FRESH_COUNTS) if name == QUERIES else None),
            listed=listed,
            order=table_order(name, kind.columns),
            non_negative=self.method.non_negative,
            true_column="true",
            stage=STAGES[name],
        )


def _draw_guarantee(
    of: str,
    kind: str,
    epsilon: float,
    delta: float,
    *,
    assumptions: tuple[Statement, ...] = (),
    caveats: tuple[Statement, ...] = (),
) -> Guarantee:
    """Return what one draw of noise costs, which hides whether a user is in the log."""
    return Guarantee(
        kind=kind,
        of=of,
        epsilon=epsilon,
        delta=delta,
        neighbours=ADD_REMOVE,
        assumptions=(ROW_LOCAL, USER_IS_ACCOUNT, *assumptions),
        caveats=caveats,
    )


def _first_items(kind: str, number: int) -> Sentence:
    """Return that only the first items of each user counted."""
    kept = contribution(number, kind)
    return (
        Sentence("graph.how.first.one", item=kept) if number == 1 else Sentence("graph.how.first", kept=kept)
    )


def _warning(id: str, *names: str) -> str:
    """Return a warning that names parameters."""
    return Message(Sentence(f"plan.warning.{id}", **{name: argument(name) for name in names}))
