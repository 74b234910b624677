"""A pilot: some users of a log, and what a release of the whole log would hold, judged by them.

Thresholds are absolute numbers of users, so a release of a sample would say nothing about one of the whole. Counts of
the sample are scaled up instead, noise of the real scale is added, and the real threshold applied. Very rare items are
not seen well in this way; below the thresholds that is no loss.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass, field

import ibis
import numpy as np
import pyarrow as pa

from queryveil.count import histories, item_kinds
from queryveil.count.contribution import EVENTS, Bound
from queryveil.errors import CannotBeMet, argument
from queryveil.measure import graph
from queryveil.measure.histograms import Histogram
from queryveil.privacy.noise import Noise
from queryveil.reading.log import SearchLog

_PARTS = 2**20


@dataclass(frozen=True)
class Pilot:
    """Some users' rows, and the share of all users that they are."""

    log: SearchLog
    whole: SearchLog = field(repr=False)
    """Kept, because its files are the sample's too."""
    share: float
    noise: Noise = field(repr=False)

    @classmethod
    def sample_log(cls, log: SearchLog, most_users: int) -> Pilot:
        """At most about so many users, drawn by a hash with a key that is forgotten."""
        noise = Noise()
        if log.users == 0:
            raise CannotBeMet("the log has no user", f"check the file and {argument('columns')}")
        if log.users <= most_users:
            return cls(log, log, 1.0, noise)
        wanted = max(1, round(_PARTS * most_users / log.users))
        key = ibis.literal(noise.key().hex())

        def sample_users(table: ibis.Table) -> ibis.Table:
            place = log.engine.fast_hash(key + table["user"]).cast("string").right(9)
            part = log.engine.fast_hash(key + place + table["user"]) % _PARTS
            return table.filter(part.cast("int64").abs() < wanted)

        source = log.engine.keep(sample_users(log.source))
        table = log.engine.keep(sample_users(log.table))
        sample = dataclasses.replace(log, normal=table, source=source, staged=None)
        return cls(sample, log, max(1, sample.users) / log.users, noise)

    @property
    def users(self) -> int:
        return self.log.users

    @functools.cached_property
    def all_users(self) -> int:
        return self.whole.users

    def histogram(self, kind: str, unit: str = "users") -> Histogram:
        """All items of the sample with true counts, scaled up to the whole log."""
        count = {"users": graph.user_counts, "occurrences": graph.occurrence_counts}[unit]
        return Histogram.of(self._scale_counts(self.log.engine.arrow(count(self.log, item_kinds.kind(kind)))))

    def per_user(self, kind: str) -> float:
        """Distinct items of a user, on average."""
        rows = item_kinds.kind(kind).rows(self.log)
        columns = ["user", *item_kinds.kind(kind).columns]
        distinct = rows.filter(rows[columns[1]] != "").select(*columns).distinct()
        found = self.log.engine.arrow(distinct.aggregate(n=distinct.count()))["n"][0].as_py()
        return float(found) / max(1, self.users)

    def bounded_counts(self, kind: str, most: int) -> pa.Table:
        """Items with the users who keep them among at most so many, scaled up."""
        bound = Bound(most=most, salt=self.noise.key())
        kept = histories.collect_user_counts(self.log, item_kinds.kind(kind), bound)
        return self._scale_counts(kept.users_per_item())

    def first_events(self, most: int) -> pa.Table:
        """Queries with their occurrences among each user's first so many, scaled up."""
        bound = Bound(most=most, keep=EVENTS, salt=self.noise.key())
        kept = histories.collect_user_counts(self.log, item_kinds.kind("queries"), bound)
        return self._scale_counts(kept.users_per_item())

    def simulate_release(self, counted: pa.Table, scale: float, tau: int, top: int) -> Histogram:
        """What a release of such counts would hold, noise drawn anew."""
        counts = counted["count"].to_numpy()
        # Items far below the threshold are left out: none of them would pass in a lifetime.
        near = counts > top - 40 * scale
        counted, counts = counted.filter(pa.array(near)), counts[near]
        noisy = counts + self.noise.discrete_laplace(scale, len(counts))
        passed = (counts >= tau) & (noisy > top)
        at = counted.column_names.index("count")
        table = counted.set_column(at, "count", pa.array(noisy, pa.int64()))
        return Histogram.of(table.filter(pa.array(passed)))

    def _scale_counts(self, table: pa.Table) -> pa.Table:
        counts = np.rint(table["count"].to_numpy() / self.share).astype(np.int64)
        return table.set_column(table.column_names.index("count"), "count", pa.array(counts))
