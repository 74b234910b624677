"""Selection by noisy counts: bound, count users once, add noise, and keep the items above a threshold.

Bound, noise, and thresholds come from the same `Draw` that the manifest states and that the guarantee is computed from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import contribution, item_kinds, kept_items, public_items
from queryveil.count.contribution import Bound
from queryveil.count.kept_items import KeptItems
from queryveil.count.public_items import PublicItems
from queryveil.mechanisms import listed_items, user_counts
from queryveil.mechanisms.base import Run, ScanCache
from queryveil.privacy.draws import DISCRETE_LAPLACE, LOG, SELECTION, Draw, PublicList
from queryveil.privacy.selection_noise import noise_of

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

CHOSEN = {"random": "chosen at random", "first": "the first", "frequent": "the most repeated"}

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Survivors:
    """Items above the threshold with their noisy counts, their true counts, and how many items there were."""

    table: pa.Table
    true: Counts
    counted: int
    """Items of the log; of those off a public list, the ones that reach the first threshold."""
    listed: int = 0
    """How many of the survivors are on a public list."""


class ListedCounts:
    """Noisy counts of every item of a public list. The noise is drawn before the log is counted."""

    def __init__(self, listed: PublicItems, public: PublicList, noise: npt.NDArray[np.int64]) -> None:
        if not len(noise) == listed.rows.num_rows == public.items:
            raise TypeError("every item of a public list has noise of its own")
        self.listed, self.public = listed, public
        self.noisy, self.true = noise, np.zeros(len(noise), dtype=np.int64)

    def add(self, places: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> None:
        """Items that users have, by their places on the list; each comes once."""
        self.noisy[places] += counts
        self.true[places] = counts

    def survivors(self) -> tuple[pa.Table, npt.NDArray[np.int64]]:
        """What is above the list's own threshold, with noisy counts; and its true counts."""
        places = np.flatnonzero(self.noisy > self.public.above)
        table = self.listed.rows.take(pa.array(places))
        table = table.append_column("count", pa.array(self.noisy[places], pa.int64()))
        return table, self.true[places]


def warm_up() -> Iterator[None]:
    """Load the loops that count here, step by step, before there are any rows."""
    from queryveil.reading import raw_rows  # with readers, of which a plan needs none

    yield from raw_rows.warm_up()
    yield from kept_items.warm_up()


def spread(draw: Draw) -> float:
    """Standard deviation of the noise, nearly."""
    free = scale_of(draw) * math.sqrt(2)
    noise = noise_of(draw)
    return free if noise is None else min(free, noise.limit)


def about(draw: Draw) -> str:
    """How large the noise is, for people."""
    return f"about +-{spread(draw):.0f}" if spread(draw) >= 1 else "less than +-1"


def scale_of(draw: Draw) -> float:
    known = draw.distribution in (DISCRETE_LAPLACE, SELECTION)
    if (
        not known
        or draw.scale is None
        or (draw.item_delta is None) != (draw.distribution == DISCRETE_LAPLACE)
    ):
        raise TypeError(f"the draw for {draw.of} adds no noise of one scale to counts")
    return draw.scale


def bound_of(draw: Draw, run: Run) -> Bound:
    if draw.most is None:
        raise TypeError(f"the draw for {draw.of} does not bound what one user adds")
    return Bound(most=draw.most, keep=draw.rule, salt=run.salt, order_key=run.order_key)


def frequent(log: SearchLog, run: Run, draw: Draw, listed: PublicItems | None = None) -> pa.Table:
    """The items that enough users have, with noisy numbers of users, the largest first.

    With a public list, which the draw declares, its items are there too, each by noise and a threshold of its own.
    """
    kind = item_kinds.kind(draw.bounded)
    here, kept = run.take_scan(log, draw.bounded, bound_of(draw, run)) or _bounded(log, run, draw)
    with run.stage("count") as say:
        if kept is not None:
            found = above(log, run, kept, kind.columns, draw, listed)
        elif here is not None:
            counts = here.counts(1 if listed is not None else draw.at_least or 1)
            found = of_counts(log, run, counts, kind.columns, draw, listed)
        users = draw.at_least or 1
        least = f"with at least {users:,} users" if users > 1 else "in all"
        say(f"{kind.counted(found.counted)} {least}")
    with run.stage("protect") as say:
        say(
            f"noise of {about(draw)}, published above {draw.above:,}: "
            f"{kind.counted(found.table.num_rows)}{of_list(draw, found)}"
        )
        if listed is not None:
            listed_items.warn_of_overlap(log, run, draw.bounded, listed)
        order = ("count", *kind.columns)
        return user_counts.build_table(run, f"{kind.name}-true-counts", found.table, found.true, order)


def scan_log(log: SearchLog, run: Run, draws: Sequence[Draw]) -> bool:
    """Let users keep the queries of a draw before it is paid for, so that rows that cannot be read cost nothing.

    No noise is drawn for it. It returns whether all texts were read that these draws need; if not, none was.
    """
    queries = [draw for draw in draws if draw.rows == LOG and item_kinds.kind(draw.bounded).is_query]
    if len(draws) != 1 or not queries:
        return False
    (draw,) = queries
    bound = bound_of(draw, run)
    if not kept_items.fits(log, item_kinds.kind(draw.bounded), bound):
        return False
    found = _bounded(log, run, draw)
    run.scan_cache = ScanCache(log=log, items=draw.bounded, bound=bound, found=found)
    return True


def _bounded(log: SearchLog, run: Run, draw: Draw) -> tuple[KeptItems, None] | tuple[None, ir.Table]:
    """What each user keeps, found here or by the engine."""
    kind, bound = item_kinds.kind(draw.bounded), bound_of(draw, run)
    with run.stage("bound") as say:
        # [C1] of docs/proofs/truncated-geometric.md: both choose items by that user's own rows and the salt.
        here = kept_items.kept(log, kind, bound) if kept_items.fits(log, kind, bound) else None
        kept = contribution.bounded(log, kind, bound) if here is None else None
        say(f"at most {kind.counted(bound.most)} per user, {CHOSEN[draw.rule]}")
    return (here, None) if here is not None else (None, kept)


def of_list(draw: Draw, found: Survivors) -> str:
    """How many survivors are on the public list, for the curator."""
    if draw.public is None:
        return ""
    return f", {found.listed:,} from the public list, above {draw.public.above:,}"


def above(
    log: SearchLog,
    run: Run,
    kept: ir.Table,
    columns: Sequence[str],
    draw: Draw,
    listed: PublicItems | None = None,
) -> Survivors:
    """Items whose count is at least the first threshold, and whose noisy count is above the second.

    Items of a public list have neither of the two: all of them get noise, and are held against the list's threshold.
    """
    least = 1 if listed is not None else draw.at_least or 1
    histogram = contribution.counts(kept, tuple(columns), at_least=least).select(*columns, "count")
    if listed is not None:
        histogram = _with_places(log, histogram, tuple(columns), draw, listed)
    # Evaluated once, in a stream: the engine never sees noise, and memory holds survivors only.
    return _survivors(log.engine.batches(histogram), run, columns, draw, listed)


def of_counts(
    log: SearchLog,
    run: Run,
    counts: pa.Table,
    columns: Sequence[str],
    draw: Draw,
    listed: PublicItems | None = None,
) -> Survivors:
    """The same for items that were counted already: with a list all of them, else those at the first threshold."""
    if listed is None:
        return _survivors(iter(counts.to_batches()), run, columns, draw, listed)
    known = log.engine.register(counts)
    try:
        placed = _with_places(log, known, tuple(columns), draw, listed)
        return _survivors(log.engine.batches(placed), run, columns, draw, listed)
    finally:
        log.engine.drop(known)


def _survivors(
    histogram: Iterator[pa.RecordBatch],
    run: Run,
    columns: Sequence[str],
    draw: Draw,
    listed: PublicItems | None,
) -> Survivors:
    if draw.rows != LOG or draw.above is None or draw.at_least is None:
        raise TypeError(f"the draw for {draw.of} has no thresholds for rows of a log")
    if (draw.public is None) != (listed is None):
        raise TypeError(f"the draw for {draw.of} declares another public list than it is given")
    on_list = _with_noise_on_all(run, draw, listed) if listed is not None else None
    schema = pa.schema([(column, pa.string()) for column in columns] + [("count", pa.int64())])
    counted, released, true = 0, [], []
    for every in histogram:
        counted += every.num_rows
        batch = every if on_list is None else _taken_out(every, on_list)
        counts = batch.column("count").to_numpy().astype(np.int64)
        noisy, survives = with_thresholds(counts, run, draw)
        rows = batch.filter(pa.array(survives))
        texts = [rows.column(column).cast(pa.string()) for column in columns]
        released.append(pa.record_batch([*texts, pa.array(noisy[survives], pa.int64())], schema=schema))
        true.append(counts[survives])
    if on_list is not None:
        table, users = on_list.survivors()
        released += table.cast(schema).to_batches()
        true.append(users)
    found = np.concatenate(true) if true else np.empty(0, np.int64)
    return Survivors(pa.Table.from_batches(released, schema), found, counted, len(true[-1]) if on_list else 0)


def _with_noise_on_all(run: Run, draw: Draw, listed: PublicItems) -> ListedCounts:
    if draw.public is None:
        raise TypeError(f"the draw for {draw.of} declares no public list")
    return ListedCounts(listed, draw.public, with_noise(np.zeros(listed.items, dtype=np.int64), run, draw))


def _with_places(
    log: SearchLog, histogram: ir.Table, columns: tuple[str, ...], draw: Draw, listed: PublicItems
) -> ir.Table:
    """Counts of the log's items with places on the list; the first threshold is for those that it does not have."""
    placed = public_items.with_places(log, histogram, columns, listed)
    return placed.filter(placed[public_items.PLACE].notnull() | (placed["count"] >= (draw.at_least or 1)))


def _taken_out(batch: pa.RecordBatch, on_list: ListedCounts) -> pa.RecordBatch:
    """Hand the items of a public list to their counts; what is left is off the list."""
    places = batch.column(public_items.PLACE)
    mine = batch.filter(places.is_valid())
    on_list.add(
        mine.column(public_items.PLACE).to_numpy().astype(np.int64),
        mine.column("count").to_numpy().astype(np.int64),
    )
    return batch.filter(places.is_null())


def with_noise(counts: Counts, run: Run, draw: Draw) -> Counts:
    """Return counts with the noise of a draw, an independent one for each [C2, C8]."""
    scale = scale_of(draw)
    drawn = (
        run.noise.discrete_laplace(scale, len(counts))
        if draw.item_delta is None
        else run.noise.selection_noise(scale, draw.item_delta, len(counts))
    )
    noisy: Counts = counts + drawn
    return noisy


def with_thresholds(counts: Counts, run: Run, draw: Draw) -> tuple[Counts, npt.NDArray[np.bool_]]:
    """Return noisy counts, and which of them are published: those that pass both thresholds."""
    if draw.above is None or draw.at_least is None:
        raise TypeError(f"the draw for {draw.of} has no thresholds for rows of a log")
    noisy = with_noise(counts, run, draw)
    # [C7] of docs/proofs/truncated-geometric.md: the same noise decides what is published and with which count.
    return noisy, (counts >= draw.at_least) & (noisy > draw.above)
