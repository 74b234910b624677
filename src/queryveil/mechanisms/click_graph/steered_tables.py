"""The three tables of a click graph on steered queries: selected in rounds, counted, with noise from one account.

Conditions that docs/proofs/click-graph.md asks for are marked [G1] to [G6] where the code keeps them; [C1] to [C9]
of docs/proofs/steered.md are kept by what is called here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from queryveil.count import histories, item_kinds
from queryveil.count.contribution import Bound
from queryveil.count.histories import Histories
from queryveil.count.public_items import PublicItems
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.click_graph import account, choices, pairs
from queryveil.mechanisms.click_graph import steered_words as words
from queryveil.mechanisms.click_graph.account import CLICKS, QUERIES, REFORMULATIONS, Part
from queryveil.mechanisms.selection import (
    count_selection,
    gaussian_rounds,
    steering,
    user_counts,
    users_needed,
)
from queryveil.mechanisms.selection.gaussian_account import GRID, Account, counts_of
from queryveil.mechanisms.selection.gaussian_rounds import Selected, Whole
from queryveil.mechanisms.selection.gaussian_selection import from_list
from queryveil.mechanisms.selection.steering import Setting

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.mechanisms.click_graph.click_graph import ClickGraph
    from queryveil.reading.log import SearchLog


def check(method: ClickGraph, log: SearchLog) -> None:
    """Refuse a log that lacks what a table needs, or that nothing can be published of."""
    opened, made = account.opened(method), {part.name for part in account.parts(method)}
    if CLICKS in made:
        choices.need_a_click(log, "leave clicks out with --shares 70,0,30")
    if REFORMULATIONS in made:
        item_kinds.kind("query-pairs").rows(log)
    histories.refuse_too_many(log, method.public_items)
    for name in made:
        noise = opened.noise(name)
        gaussian_rounds.refuse_overflow(Setting(noise.share.rounds, noise.scale, 0.0, 1, 0), log.users)
    if method.public is None:

        def needed(epsilon: float) -> int:
            return steering.calibrate(account.opened(method, epsilon).noise(QUERIES)).users_for_half

        users_needed.refuse_too_few(
            float(method.epsilon or 0), log.users, needed, "a query that every user made"
        )


def protect(method: ClickGraph, log: SearchLog, run: Run) -> dict[str, pa.Table]:
    """One table after the other; what an earlier one published is public for the next."""
    made = _Making(log, run, account.opened(method), method.non_negative)
    setting = account.queries_setting(method, made.account)
    tables: dict[str, pa.Table] = {}
    for part in account.parts(method):
        if part.name == QUERIES:
            tables[part.name] = made.queries(part, setting, method.public_items)
        elif part.name == CLICKS:
            tables[part.name] = made.clicks(part, tables[QUERIES])
        else:
            tables[part.name] = made.reformulations(part, tables[QUERIES], account.decoys(method))
    return tables


@dataclass(frozen=True)
class _Making:
    """One log on its way into the tables."""

    log: SearchLog
    run: Run
    account: Account
    non_negative: bool

    def queries(self, part: Part, setting: Setting, listed: PublicItems | None) -> pa.Table:
        kind = item_kinds.kind(part.kind)
        with self.run.stage("bound") as say:
            found = histories.collect_histories(self.log, kind, self._bound(part), listed=listed)
            say(f"at most {kind.counted(part.most)} per user, {count_selection.CHOSEN[account.KEEP]}")
        with self.run.stage("select") as say:
            chosen = gaussian_rounds.select(found, setting, self.run.noise, length_prior=False)
            table = self._counted(part, found.texts(chosen.codes), found, chosen.first_sums)
            of_list = from_list(self.log, self.run, chosen, listed)
            say(self._told(part, table) + of_list)
        return table

    def clicks(self, part: Part, published: pa.Table) -> pa.Table:
        rows = item_kinds.kind(part.kind).occurrences(self.log)
        with self.run.stage("clicks") as say, self._known(published["query"]) as known:
            with self._restricted(part, rows.semi_join(known, "query")) as found:
                chosen = self._selected(found, part)
                table = self._counted(part, found.texts(chosen.codes), found, chosen.first_sums)
            say(self._told(part, table))
        return table

    def reformulations(self, part: Part, published: pa.Table, decoys: float) -> pa.Table:
        # [G4] Which queries are paired follows from the published table alone: the largest counts stand first.
        queries = published["query"].slice(0, words.MOST_PAIRED).combine_chunks()
        rows = item_kinds.kind(part.kind).occurrences(self.log)
        with self.run.stage("pairs") as say, self._known(queries) as known:
            inside = rows.semi_join(known, "query").semi_join(known, [("next_query", "query")])
            with self._restricted(part, inside) as found:
                setting = pairs.setting(self.account.noise(part.name), len(queries), decoys)
                made = pairs.select(found, queries, setting, self.run.noise)
                table = self._counted(part, made.texts, found, made.first)
            say(self._told(part, table))
        return table

    def _bound(self, part: Part) -> Bound:
        return Bound(most=part.most, keep=account.KEEP, salt=self.run.salt)

    @contextlib.contextmanager
    def _known(self, queries: pa.Array | pa.ChunkedArray) -> Iterator[ir.Table]:
        """Published queries, for the engine."""
        known = self.log.engine.register(pa.table({"query": queries.cast(pa.string())}))
        try:
            yield known
        finally:
            self.log.engine.drop(known)

    @contextlib.contextmanager
    def _restricted(self, part: Part, rows: ir.Table) -> Iterator[Histories]:
        """[G1] Rows are restricted to published queries first, and what a user keeps of them is bounded then."""
        kept = self.log.engine.keep(rows)
        try:
            yield histories.collect_histories(self.log, item_kinds.kind(part.kind), self._bound(part), kept)
        finally:
            self.log.engine.drop(kept)

    def _selected(self, found: Histories, part: Part) -> Selected:
        # [G2] Candidates are what these histories hold: restricted, and bounded.
        setting = steering.calibrate(self.account.noise(part.name))
        return gaussian_rounds.select(found, setting, self.run.noise, length_prior=False)

    def _counted(self, part: Part, texts: pa.Table, found: Histories, first: Whole) -> pa.Table:
        """Published rows with noisy numbers of users, in an order that follows from what is published alone."""
        noise = self.account.noise(counts_of(part.name))
        # [G6] Whole histories count, including rows that no bounded history keeps.
        # [G5] How much of a user counts in a row follows from the row's own noisy sum of the first round.
        made, true = user_counts.count_published(self.run, found, texts, first, noise)
        order = words.order(part.name, item_kinds.kind(part.kind).columns)
        return user_counts.build_table(
            self.run, f"{part.name}-true-counts", made, true, order, non_negative=self.non_negative
        )

    def _told(self, part: Part, table: pa.Table) -> str:
        return words.published(part, table.num_rows, self.account.noise(part.name).scale / GRID)
