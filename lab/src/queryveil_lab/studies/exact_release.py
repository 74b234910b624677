"""What Release-Data publishes of a log, exactly: expectations over the noise instead of draws of it.

A query that was posed n times within the bound is published with probability P[n + X > K], and its noisy count
has a known mean. So a share of a log needs no random run, only the number of queries of each bounded count.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import ibis
import numpy as np
from numpy.typing import NDArray

from queryveil import CannotBeMet, SearchLog
from queryveil.extension import argument

if TYPE_CHECKING:
    import ibis.expr.types as ir

Floats = NDArray[np.float64]


def release_probability(counts: NDArray[np.int64], scale: float, threshold: int) -> Floats:
    """P[n + X > K] for discrete Laplace noise X of that scale."""
    return _laplace_tail(threshold + 1 - np.asarray(counts), scale)


def mean_published(counts: NDArray[np.int64], scale: float, threshold: int) -> Floats:
    """The mean of n + X where it exceeds K, and of 0 elsewhere."""
    counts = np.asarray(counts)
    above = threshold + 1 - counts
    q = math.exp(-1 / scale)
    beyond = q / (1 - q)  # how far noise that passes a point lies beyond it, on average
    passes = _laplace_tail(above, scale) * (counts + above + beyond)
    below = np.maximum(1 - above, 1)
    fails = q**below / (1 + q) * (counts - below - beyond)
    made: Floats = np.where(above >= 1, passes, counts - fails)
    return made


def _laplace_tail(at: NDArray[np.int64], scale: float) -> Floats:
    """P[X >= at]."""
    q = math.exp(-1 / scale)
    high = q ** np.maximum(at, 1) / (1 + q)
    low = 1 - q ** np.maximum(1 - at, 1) / (1 + q)
    made: Floats = np.where(at >= 1, high, low)
    return made


@dataclass(frozen=True)
class Share:
    """How much of a log a release is expected to hold."""

    queries: float
    deviation: float
    """Standard deviation of the number of queries."""
    impressions: float


@dataclass
class CountTable:
    """How many queries have each bounded count."""

    numbers: dict[int, int] = field(default_factory=dict)

    def add(self, counts: NDArray[np.int64]) -> None:
        for count, number in zip(*np.unique(counts[counts > 0], return_counts=True), strict=True):
            self.numbers[int(count)] = self.numbers.get(int(count), 0) + int(number)

    @property
    def distinct(self) -> int:
        return sum(self.numbers.values())

    @property
    def events(self) -> int:
        return sum(count * number for count, number in self.numbers.items())

    def share(self, scale: float, threshold: int) -> Share:
        counts = np.fromiter(self.numbers.keys(), np.int64, len(self.numbers))
        numbers = np.fromiter(self.numbers.values(), np.float64, len(self.numbers))
        chance = release_probability(counts, scale, threshold)
        return Share(
            queries=float(numbers @ chance),
            deviation=math.sqrt(float(numbers @ (chance * (1 - chance)))),
            impressions=float(numbers @ mean_published(counts, scale, threshold)),
        )


@dataclass(frozen=True)
class BoundedCounts:
    """Counts of a log's queries under every bound d and in the first days of every span."""

    bounded: dict[tuple[int | None, int], CountTable]
    whole: dict[int | None, CountTable]
    """Without a bound."""


def bounded_counts(
    log: SearchLog, bounds: Sequence[int], spans: Sequence[int | None] = (None,)
) -> BoundedCounts:
    """Count every query under every bound and span at once, in one pass of the engine.

    Each user's events are ordered once, by time and then query; an event counts under d if its place is below d.
    A span takes the first events of everybody, so places are the same within it. No text leaves the engine.
    """
    events = log.queries.select("user", "time", "query").distinct()
    window = ibis.window(group_by="user", order_by=[events["time"], events["query"]])
    placed = events.mutate(place=ibis.row_number().over(window))
    start = span_of(log)[0] if any(span is not None for span in spans) else None
    wanted: dict[str, ir.IntegerColumn] = {}
    for at, span in enumerate(spans):
        inside = placed["place"] >= 0
        if span is not None and start is not None:
            inside = placed["time"] < ends(start, span)
        wanted[f"whole_{at}"] = inside.cast("int64").sum()
        for bound in bounds:
            wanted[f"kept_{at}_{bound}"] = (inside & (placed["place"] < bound)).cast("int64").sum()
    counted = placed.group_by("query").aggregate(**wanted).drop("query")
    found = {name: CountTable() for name in wanted}
    for batch in log.engine.batches(counted):
        for name, table in found.items():
            table.add(batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64))
    return BoundedCounts(
        bounded={(span, d): found[f"kept_{at}_{d}"] for at, span in enumerate(spans) for d in bounds},
        whole={span: found[f"whole_{at}"] for at, span in enumerate(spans)},
    )


def only_events(log: SearchLog) -> SearchLog:
    """The same log without clicks and repeated lines, kept in the engine: every release of it is the same."""
    kept = log.engine.keep(log.queries.select("user", "time", "query").distinct())
    # A user with empty queries only has no event; nothing in a study of queries depends on such users.
    return dataclasses.replace(log, normal=kept, source=kept, staged=None)


def span_of(log: SearchLog) -> tuple[dt.datetime, dt.datetime]:
    """The first and the last time of a log."""
    times = log.queries
    found = log.engine.arrow(times.aggregate(first=times["time"].min(), last=times["time"].max()))
    first, last = found["first"][0].as_py(), found["last"][0].as_py()
    if first is None:
        raise CannotBeMet("the log has no query", f"check the file and {argument('columns')}")
    return first, last


def ends(start: dt.datetime, days: int) -> dt.datetime:
    """Where the first days of a log end."""
    return start + dt.timedelta(days=days)
