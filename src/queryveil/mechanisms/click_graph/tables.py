"""The three tables of the click graph: bounded, counted once by the engine, then noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.count import contribution, item_kinds, public_lists
from queryveil.count.contribution import Bound
from queryveil.count.item_kinds import ItemKind
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.click_graph.theory import Setting
from queryveil.reading.log import SearchLog

if TYPE_CHECKING:
    import ibis.expr.types as ir

_MOST_CLICKED = 10


@dataclass(frozen=True)
class Edges:
    """How clicks or reformulations are protected: on public lists, or behind a threshold of their own."""

    d: int
    scale: float
    setting: Setting | None = None
    """The threshold, if what is published is not public."""
    lists: str | Callable[[str], Iterable[str]] | None = None

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

    def queries(self, setting: Setting, fresh: float | None) -> pa.Table:
        """Queries whose noisy count is above the threshold, with that count or a fresh one."""
        kind = item_kinds.kind("queries")
        with self.run.stage("bound") as say:
            kept = self._first(kind.rows(self.log), kind, setting.d)
            say(f"each user's first {kind.counted(setting.d)}")
        with self.run.stage("count") as say:
            survivors, true, counted = self._above(kept, kind, setting)
            say(f"{kind.counted(counted)} in all")
        with self.run.stage("protect") as say:
            say(
                f"noise of about +-{setting.spread:.0f}, published above {setting.top:,}: "
                f"{kind.counted(survivors.num_rows)}"
            )
            if fresh is not None:
                noisy = true + self.run.noise.discrete_laplace(fresh, len(true))
                survivors = survivors.set_column(1, "count", pa.array(noisy, pa.int64()))
            return self._finished("queries", survivors, true, ["count", "query"])

    def clicks(self, edges: Edges, published: pa.ChunkedArray) -> pa.Table:
        kind = item_kinds.kind("clicks")
        with self.run.stage("clicks") as say:
            rows = kind.rows(self.log)
            order = ["query", "count", "url"]
            if edges.setting is not None:
                inside = rows.semi_join(self._registered(published), "query")
                return self._private("clicks", self._first(inside, kind, edges.d), kind, edges, order, say)
            kept = self._first(rows, kind, edges.d)
            if edges.lists is None:
                public = self._most_clicked(kept, published)
            else:
                public = public_lists.surfaced(edges.lists, published)
            return self._public("clicks", kept, public, edges, order, say)

    def reformulations(self, edges: Edges, published: pa.ChunkedArray) -> pa.Table:
        kind = item_kinds.kind("query-pairs")
        with self.run.stage("pairs") as say:
            rows = kind.rows(self.log)
            order = ["query", "count", "next_query"]
            if edges.setting is not None:
                # Both ends are public by now, so what a user keeps depends on public facts and her own rows.
                known = self._registered(published)
                inside = rows.semi_join(known, "query").semi_join(known, [("next_query", "query")])
                kept = self._first(inside, kind, edges.d)
                return self._private("reformulations", kept, kind, edges, order, say)
            if edges.lists is None:
                raise AssertionError("without a threshold there are lists")
            public = public_lists.surfaced(edges.lists, published, "next_query")
            return self._public("reformulations", self._first(rows, kind, edges.d), public, edges, order, say)

    # -- bounding and counting ---------------------------------------------------------------------------

    def _first(self, rows: ir.Table, kind: ItemKind, most: int) -> ir.Table:
        if self.once:
            bound = Bound(most=most, keep="first", order_key=self.run.order_key)
            return contribution.bounded_rows(self.log, rows, kind.columns, bound)
        return contribution.first_events(self.log, rows, kind.columns, most)

    def _registered(self, queries: pa.ChunkedArray) -> ir.Table:
        return self.log.engine.register(pa.table({"query": queries.cast(pa.string())}))

    def _above(self, kept: ir.Table, kind: ItemKind, setting: Setting) -> tuple[pa.Table, np.ndarray, int]:
        """Items whose noisy count is above the threshold, their true counts, and how many items there were."""
        schema = pa.schema([(column, pa.string()) for column in kind.columns] + [("count", pa.int64())])
        counted, released, true = 0, [], []
        # Evaluated once, in a stream: the engine never sees noise, and memory holds survivors only.
        for batch in self.log.engine.batches(contribution.counts(kept, kind.columns).select(*schema.names)):
            counted += batch.num_rows
            counts = batch.column("count").to_numpy().astype(np.int64)
            noisy = counts + self.run.noise.discrete_laplace(setting.scale, len(counts))
            survives = noisy > setting.top
            rows = batch.filter(pa.array(survives))
            columns = [rows.column(column).cast(pa.string()) for column in kind.columns]
            released.append(pa.record_batch([*columns, pa.array(noisy[survives], pa.int64())], schema=schema))
            true.append(counts[survives])
        found = np.concatenate(true) if true else np.empty(0, np.int64)
        return pa.Table.from_batches(released, schema), found, counted

    def _most_clicked(self, kept: ir.Table, published: pa.ChunkedArray) -> pa.Table:
        """The urls of the log itself. Not public: whoever asks for this is told so."""
        inside = kept.semi_join(self._registered(published), "query")
        found = self.log.engine.arrow(contribution.counts(inside, ("query", "url")))
        found = found.sort_by([("query", "ascending"), ("count", "descending"), ("url", "ascending")])
        best: dict[str, list[str]] = {}
        for query, url in zip(found["query"].to_pylist(), found["url"].to_pylist(), strict=True):
            best.setdefault(query, []).append(url)
        pairs = [(query, url) for query, urls in best.items() for url in urls[:_MOST_CLICKED]]
        names = ("query", "url")
        return pa.table(
            {name: pa.array([pair[at] for pair in pairs], pa.string()) for at, name in enumerate(names)}
        )

    # -- noise -------------------------------------------------------------------------------------------

    def _private(
        self,
        name: str,
        kept: ir.Table,
        kind: ItemKind,
        edges: Edges,
        order: list[str],
        say: Callable[[str], None],
    ) -> pa.Table:
        if edges.setting is None:
            raise AssertionError("the caller looked")
        survivors, true, counted = self._above(kept, kind, edges.setting)
        say(
            f"of {kind.counted(counted)}, {survivors.num_rows:,} are published: noise of about "
            f"+-{edges.setting.spread:.0f}, threshold {edges.setting.top:,}"
        )
        return self._finished(name, survivors, true, order)

    def _public(
        self,
        name: str,
        kept: ir.Table,
        public: pa.Table,
        edges: Edges,
        order: list[str],
        say: Callable[[str], None],
    ) -> pa.Table:
        """Noisy counts of every pair of the public lists, zeros included."""
        columns = tuple(public.column_names)
        inside = kept.semi_join(self.log.engine.register(public), list(columns))
        found = self.log.engine.arrow(contribution.counts(inside, columns))
        true = public_lists.aligned(found, public)
        noisy = true + self.run.noise.discrete_laplace(edges.scale, len(true))
        say(
            f"noise of about +-{edges.scale * 2**0.5:.0f} on {len(true):,} pairs of the lists of published queries"
        )
        return self._finished(name, public.append_column("count", pa.array(noisy, pa.int64())), true, order)

    def _finished(self, name: str, table: pa.Table, true: np.ndarray, order: list[str]) -> pa.Table:
        """In an order that follows from what is published alone."""
        if self.non_negative:
            at = table.schema.get_field_index("count")
            table = table.set_column(
                at, "count", pa.array(np.maximum(table["count"].to_numpy(), 0), pa.int64())
            )
        keys = [(key, "descending" if key == "count" else "ascending") for key in order]
        positions = pc.sort_indices(table, sort_keys=keys)
        self.run.private[f"{name}-true-counts"] = table.append_column(
            "true", pa.array(true, pa.int64())
        ).take(positions)
        return table.take(positions)
