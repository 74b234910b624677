"""Noisy histograms, made as their draws declare them: bound, count once, add noise, keep what is above a threshold.

What a mechanism declares is what is done: bound, noise and thresholds are read from the same `Draw` that the manifest
states and that the guarantee is computed from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.count import contribution, item_kinds
from queryveil.count.contribution import Bound
from queryveil.mechanisms.base import Run
from queryveil.privacy.draws import DISCRETE_LAPLACE, LOG, Draw
from queryveil.reading.log import SearchLog

if TYPE_CHECKING:
    import ibis.expr.types as ir

_CHOSEN = {"random": "chosen at random", "first": "the first", "frequent": "the most repeated"}

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Survivors:
    """Items above the threshold with their noisy counts, their true counts, and how many items there were."""

    table: pa.Table
    true: Counts
    counted: int


def spread(draw: Draw) -> float:
    """Standard deviation of the noise, nearly."""
    return scale_of(draw) * math.sqrt(2)


def scale_of(draw: Draw) -> float:
    if draw.distribution != DISCRETE_LAPLACE or draw.scale is None:
        raise TypeError(f"the draw for {draw.of} adds no discrete Laplace noise of one scale")
    return draw.scale


def bound_of(draw: Draw, run: Run) -> Bound:
    if draw.most is None:
        raise TypeError(f"the draw for {draw.of} does not bound what one user adds")
    return Bound(most=draw.most, keep=draw.rule, salt=run.salt, order_key=run.order_key)


def frequent(log: SearchLog, run: Run, draw: Draw) -> pa.Table:
    """The items that enough users have, with noisy numbers of users, the largest first."""
    kind, bound = item_kinds.kind(draw.bounded), bound_of(draw, run)
    with run.stage("bound") as say:
        kept = contribution.bounded(log, kind, bound)
        say(f"at most {kind.counted(bound.most)} per user, {_CHOSEN[draw.rule]}")
    with run.stage("count") as say:
        found = above(log, run, kept, kind.columns, draw)
        users = draw.at_least or 1
        least = f"with at least {users:,} users" if users > 1 else "in all"
        say(f"{kind.counted(found.counted)} {least}")
    with run.stage("protect") as say:
        say(
            f"noise of about +-{spread(draw):.0f}, published above {draw.above:,}: "
            f"{kind.counted(found.table.num_rows)}"
        )
        order = ("count", *kind.columns)
        return ordered(run, f"{kind.name}-true-counts", found.table, order, users=found.true)


def above(log: SearchLog, run: Run, kept: ir.Table, columns: Sequence[str], draw: Draw) -> Survivors:
    """Items whose count is at least the first threshold, and whose noisy count is above the second."""
    if draw.rows != LOG or draw.above is None or draw.at_least is None:
        raise TypeError(f"the draw for {draw.of} has no thresholds for rows of a log")
    schema = pa.schema([(column, pa.string()) for column in columns] + [("count", pa.int64())])
    counted, released, true = 0, [], []
    histogram = contribution.counts(kept, tuple(columns), at_least=draw.at_least)
    # Evaluated once, in a stream: the engine never sees noise, and memory holds survivors only.
    for batch in log.engine.batches(histogram.select(*schema.names)):
        counted += batch.num_rows
        counts = batch.column("count").to_numpy().astype(np.int64)
        noisy = with_noise(counts, run, draw)
        survives = (counts >= draw.at_least) & (noisy > draw.above)
        rows = batch.filter(pa.array(survives))
        texts = [rows.column(column).cast(pa.string()) for column in columns]
        released.append(pa.record_batch([*texts, pa.array(noisy[survives], pa.int64())], schema=schema))
        true.append(counts[survives])
    found = np.concatenate(true) if true else np.empty(0, np.int64)
    return Survivors(pa.Table.from_batches(released, schema), found, counted)


def with_noise(counts: Counts, run: Run, draw: Draw) -> Counts:
    """Counts with the noise of a draw, each with its own."""
    noisy: Counts = counts + run.noise.discrete_laplace(scale_of(draw), len(counts))
    return noisy


def ordered(run: Run, private: str, table: pa.Table, keys: Sequence[str], **true: Counts) -> pa.Table:
    """In an order that follows from what is published alone. The curator keeps true counts in the same order."""
    by = [(key, "descending" if key == "count" else "ascending") for key in keys]
    positions = pc.sort_indices(table, sort_keys=by)
    known = table
    for name, counts in true.items():
        known = known.append_column(name, pa.array(counts, pa.int64()))
    run.private[private] = known.take(positions)
    return table.take(positions)
