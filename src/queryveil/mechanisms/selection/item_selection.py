"""The selection core: bounded histories come in, selected items with their evidence come out, and counts follow.

A mechanism declares an `ItemSelection` for each table: what one user may contribute, a selector, and a counter. One
function, `publish_items`, runs every one of them, so that each table is bounded, selected, counted, and ordered alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import bottom_k, histories, item_kinds
from queryveil.count.contribution import EVENTS, Bound
from queryveil.count.histories import UserCounts
from queryveil.count.item_kinds import ItemKind
from queryveil.count.public_items import PublicItems
from queryveil.mechanisms.base import Run, ScanCache
from queryveil.mechanisms.selection import listed_items
from queryveil.mechanisms.selection.listed_items import TakesPublicItems

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

Counts = npt.NDArray[np.int64]
H = TypeVar("H", bound=UserCounts)
H_contra = TypeVar("H_contra", bound=UserCounts, contravariant=True)
_RULES = {
    "random": "chosen at random",
    "first": "the first",
    "frequent": "the most repeated",
    EVENTS: "the first",
}


@dataclass(frozen=True)
class Selected:
    """Selected items, and the evidence that selected them."""

    items: pa.Table
    """The columns of each item, without counts."""
    evidence: Counts
    """What is known of each item by now, with noise: its noisy count, or its noisy sum of votes in the first round."""
    summary: str
    """How the items were selected, for the curator."""
    users: Counts | None = None
    """The true number of users who keep each item, where the selection counted them; it is never published."""
    from_list: int | None = None
    """How many of the items are on a public list; None without a list."""


class Selector(Protocol[H]):
    """A way to select items, with noise of its own."""

    def collect(self, log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None) -> H:
        """Collect bounded histories, of all rows of the kind if `rows` is left out."""

    def select(self, histories: H, kind: ItemKind, run: Run) -> Selected:
        """Select items of bounded histories."""


class Counter(Protocol[H_contra]):
    """A way to count the users of selected items."""

    def count(self, selected: Selected, histories: H_contra, run: Run) -> tuple[pa.Table, Counts]:
        """Return rows with the counts to publish, and the true numbers of users, which are for the curator alone."""

    @property
    def summary(self) -> str:
        """What the counts are like, for the curator; empty if there is nothing to say."""


@dataclass(frozen=True, kw_only=True)
class ItemSelection(Generic[H]):
    """How the items of one table are bounded, selected, counted, and ordered."""

    name: str
    """What is selected, for the names of the curator's files."""
    kind: ItemKind
    bound: Bound
    selector: Selector[H]
    counter: Counter[H]
    listed: PublicItems | None = None
    """The public list whose items take part, whether or not any user has them."""
    order: Sequence[str] = ()
    """The columns that order the table, counts from the largest; counts and then items if left out."""
    non_negative: bool = False
    """Publish zero in place of negative counts."""
    true_column: str = "users"
    """The name of the true counts in the curator's table."""
    stage: str = ""
    """The stage under which all steps are timed; each step is a stage if left out."""

    def scan(self, log: SearchLog, run: Run) -> bool:
        """Collect bounded histories before the charge, so that rows that cannot be read cost nothing.

        No noise is drawn.

        Returns:
            Whether these are all rows that the selection reads. If not, none were read.
        """
        # Workers of an engine elsewhere count when counts are asked for, and not before.
        if not log.engine.inside or not histories.reads_only_queries(log, self.kind, self.bound):
            return False
        found = self.collect(log, run)
        run.scan_cache = ScanCache(
            log=log, items=self.kind.name, bound=self.bound, listed=self.listed, found=found
        )
        return True

    def collect(self, log: SearchLog, run: Run, rows: ir.Table | None = None) -> H:
        """Collect bounded histories, or take those that `scan` collected."""
        scanned: H | None = (
            run.take_scan(log, self.kind.name, self.bound, self.listed) if rows is None else None
        )
        if scanned is not None:
            return scanned
        with run.stage(self.stage or "bound") as say:
            # [C1] of docs/proofs/truncated-geometric.md: items are chosen by that user's own rows and the salt.
            found = self.selector.collect(log, self.kind, self.bound, rows)
            say(f"at most {self.kind.counted(self.bound.most)} per user, {_RULES[self.bound.keep]}")
        return found


def publish_items(
    log: SearchLog, run: Run, selection: ItemSelection[Any], rows: ir.Table | None = None
) -> pa.Table:
    """Select items, count their users, and return the table to publish.

    Args:
        log: The log.
        run: The publication in progress.
        selection: How items are bounded, selected, counted, and ordered.
        rows: The occurrences of the kind that count, such as clicks on published queries; all of them if left out.
    """
    kind = selection.kind
    found = selection.collect(log, run, rows)
    with run.stage(selection.stage or "select") as say:
        selected = selection.selector.select(found, kind, run)
        of_list = "" if selected.from_list is None else f", {selected.from_list:,} from the public list"
        say(f"{selected.summary}: {kind.counted(selected.items.num_rows)} published{of_list}")
        if selection.listed is not None:
            listed_items.warn_of_overlap(log, run, kind.name, selection.listed)
    with run.stage(selection.stage or "count") as say:
        table, users = selection.counter.count(selected, found, run)
        if selection.counter.summary:
            say(selection.counter.summary)
        # [C8] of docs/proofs/steered.md. Nothing else leaves: no sums, no scores, no number of live items.
        return _build_table(run, selection, table, users)


def _build_table(run: Run, selection: ItemSelection[Any], rows: pa.Table, users: Counts) -> pa.Table:
    """Return the table to publish, in an order that follows from what is published alone.

    True counts go into a table of the curator's, in the same order.
    """
    import pyarrow.compute as pc

    if selection.non_negative:
        at = rows.schema.get_field_index("count")
        rows = rows.set_column(at, "count", pc.max_element_wise(rows["count"], pa.scalar(0, pa.int64())))
    keys = selection.order or ("count", *selection.kind.columns)
    by = [(key, "descending" if key == "count" else "ascending") for key in keys]
    order = pc.sort_indices(rows, sort_keys=by)
    true = rows.append_column(selection.true_column, pa.array(users, pa.int64()))
    run.private[f"{selection.name}-true-counts"] = true.take(order)
    return rows.take(order)


class SelectsItems(TakesPublicItems):
    """A mechanism that publishes one table for each kind of item; it declares `items` and `keep`."""

    @property
    def items(self) -> tuple[str, ...]:
        """The kinds of items."""
        raise NotImplementedError

    @property
    def keep(self) -> str:
        """Which of a user's items count."""
        raise NotImplementedError

    def selections(self, run: Run) -> Mapping[str, ItemSelection[Any]]:
        """Return the selections by the names of their tables."""
        raise NotImplementedError

    def check(self, log: SearchLog) -> None:
        for name in self.items:
            item_kinds.kind(name).check(log)
        if self.keep == "first":
            log.need("time", "keeping each user's first items")

    def scan_log(self, log: SearchLog, run: Run) -> bool:
        """Collect bounded histories before the charge, so that rows that cannot be read cost nothing."""
        first, *others = self.selections(run).values()
        return not others and first.scan(log, run)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        return {name: publish_items(log, run, one) for name, one in self.selections(run).items()}


def warm_up_counting() -> Iterator[None]:
    """Load the kernels that count users, step by step, before there are any rows."""
    from queryveil.reading import raw_rows  # with readers, of which a plan needs none

    yield from raw_rows.warm_up()
    yield from bottom_k.warm_up()
