"""The three tables of the click graph: bounded, counted once by the engine, then noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from queryveil.count import histories, item_kinds, public_lists
from queryveil.count.contribution import EVENTS, Bound
from queryveil.count.histories import UserCounts
from queryveil.count.item_kinds import ItemKind
from queryveil.count.public_items import PublicItems
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.click_graph.theory import Setting
from queryveil.mechanisms.selection import count_selection, listed_items, user_counts
from queryveil.privacy.draws import LOG, Draw

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

_MOST_CLICKED = 10

Lists = str | Callable[[str], Iterable[str]] | None
"""Public lists, in a file or as a function; None where there are none."""


@dataclass(frozen=True)
class Edges:
    """How clicks or reformulations are protected: on public lists, or behind a threshold of their own."""

    d: int
    scale: float
    setting: Setting | None = None
    """The threshold, if what is published is not public."""
    lists: Lists = None

    @property
    def epsilon(self) -> float:
        return Setting(self.d, self.scale, 0).epsilon

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"noise_scale": self.scale, "epsilon": self.epsilon}
        if self.setting is not None:
            shown |= {"threshold": self.setting.top, "delta": self.setting.delta}
        return shown


@dataclass(frozen=True)
class Tables:
    """One log on its way into the three tables."""

    log: SearchLog
    run: Run
    once: bool
    non_negative: bool

    def queries(self, draw: Draw, fresh: Draw | None, listed: PublicItems | None = None) -> pa.Table:
        """Queries whose noisy count is above the threshold, with that count or a fresh one."""
        kind, most = item_kinds.kind("queries"), draw.most or 0
        with self.run.stage("bound") as say:
            kept = self._first(None, kind, most)
            say(f"each user's first {kind.counted(most)}")
        with self.run.stage("count") as say:
            found = count_selection.survivors(self.run, kind, kept, draw, listed)
            say(f"{kind.counted(found.counted)} in all")
        with self.run.stage("protect") as say:
            table = found.table
            say(
                f"noise of {count_selection.about(draw)}, published above {draw.above:,}: "
                f"{kind.counted(table.num_rows)}{count_selection.of_list(draw, found)}"
            )
            if listed is not None:
                listed_items.warn_of_overlap(self.log, self.run, kind.name, listed)
            if fresh is not None:
                noisy = count_selection.with_noise(found.true, self.run, fresh)
                table = table.set_column(1, "count", pa.array(noisy, pa.int64()))
            return self._finished("queries", table, found.true, ["count", "query"])

    def clicks(self, draw: Draw, lists: Lists, published: pa.ChunkedArray) -> pa.Table:
        kind = item_kinds.kind("clicks")
        with self.run.stage("clicks") as say:
            rows, most = kind.rows(self.log), draw.most or 0
            order = ["query", "count", "url"]
            if draw.rows == LOG:
                inside = rows.semi_join(self._registered(published), "query")
                return self._private(draw, self._first(inside, kind, most), kind, order, say)
            counted = self._first(None, kind, most).users_per_item()
            if lists is None:
                return self._public(draw, counted, _most_clicked(counted, published), order, say)
            return self._public(draw, counted, public_lists.surfaced(lists, published), order, say)

    def reformulations(self, draw: Draw, lists: Lists, published: pa.ChunkedArray) -> pa.Table:
        kind = item_kinds.kind("query-pairs")
        with self.run.stage("pairs") as say:
            rows, most = kind.rows(self.log), draw.most or 0
            order = ["query", "count", "next_query"]
            if draw.rows == LOG:
                # Both ends are public by now, so what a user keeps depends on public facts and her own rows.
                known = self._registered(published)
                inside = rows.semi_join(known, "query").semi_join(known, [("next_query", "query")])
                return self._private(draw, self._first(inside, kind, most), kind, order, say)
            if lists is None:
                raise AssertionError("without a threshold there are lists")
            public = public_lists.surfaced(lists, published, "next_query")
            return self._public(draw, self._first(None, kind, most).users_per_item(), public, order, say)

    # -- bounding and counting ---------------------------------------------------------------------------

    def _first(self, rows: ir.Table | None, kind: ItemKind, most: int) -> UserCounts:
        bound = Bound(most=most, keep="first" if self.once else EVENTS)
        return histories.collect_user_counts(self.log, kind, bound, rows)

    def _registered(self, queries: pa.ChunkedArray) -> ir.Table:
        return self.log.engine.register(pa.table({"query": queries.cast(pa.string())}))

    # -- noise -------------------------------------------------------------------------------------------

    def _private(
        self, draw: Draw, kept: UserCounts, kind: ItemKind, order: list[str], say: Callable[[str], None]
    ) -> pa.Table:
        found = count_selection.survivors(self.run, kind, kept, draw)
        say(
            f"of {kind.counted(found.counted)}, {found.table.num_rows:,} are published: noise of "
            f"{count_selection.about(draw)}, threshold {draw.above:,}"
        )
        return self._finished(draw.table, found.table, found.true, order)

    def _public(
        self, draw: Draw, counted: pa.Table, public: pa.Table, order: list[str], say: Callable[[str], None]
    ) -> pa.Table:
        """Noisy counts of every pair of the public lists, zeros included."""
        inside = counted.join(public, public.column_names, join_type="left semi")
        true = public_lists.aligned(inside, public)
        noisy = count_selection.with_noise(true, self.run, draw)
        say(
            f"noise of {count_selection.about(draw)} on {len(true):,} pairs of the lists of published queries"
        )
        table = public.append_column("count", pa.array(noisy, pa.int64()))
        return self._finished(draw.table, table, true, order)

    def _finished(self, name: str, table: pa.Table, true: np.ndarray, order: list[str]) -> pa.Table:
        """In an order that follows from what is published alone."""
        return user_counts.build_table(
            self.run, f"{name}-true-counts", table, true, order, non_negative=self.non_negative
        )


def _most_clicked(counted: pa.Table, published: pa.ChunkedArray) -> pa.Table:
    """The urls of the log itself. Not public: whoever asks for this is told so."""
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
