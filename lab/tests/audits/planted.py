"""Mechanisms and runners with a defect each, for the auditor to catch. None of them is shipped."""

from __future__ import annotations

import csv
import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import queryveil as qv
from queryveil.mechanisms.base import Plan, Run
from queryveil.mechanisms.selection import count_selection
from queryveil.privacy.draws import Draw
from queryveil.privacy.guarantee import ADD_REMOVE
from queryveil.reading.log import SearchLog
from queryveil_lab.audits.dressing import Dress
from queryveil_lab.audits.outcomes import ABSENT, Outcomes
from queryveil_lab.audits.steps import HistogramStep
from queryveil_lab.audits.synthetic_logs import SyntheticPath, SyntheticStep
from queryveil_lab.audits.worlds import World

# -- steps ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScaledNoise(HistogramStep):
    """Noise of another scale than declared."""

    factor: float = 0.5

    def step(self, counts: Any) -> Any:
        run = Run(noise=qv.Noise())
        drawn = dataclasses.replace(self.draw, scale=float(self.draw.scale or 1) * self.factor)
        noisy = count_selection.with_noise(counts, run, drawn)
        return noisy, (counts >= self.draw.at_least) & (noisy > self.draw.above)


@dataclass(frozen=True)
class OffByOne(HistogramStep):
    """What is equal to the threshold passes too."""

    def step(self, counts: Any) -> Any:
        noisy = count_selection.with_noise(counts, Run(noise=qv.Noise()), self.draw)
        return noisy, (counts >= self.draw.at_least) & (noisy >= self.draw.above)


@dataclass(frozen=True)
class NoiseReused(HistogramStep):
    """One draw of noise for all items of a run."""

    def run(self, world: World, runs: int) -> Outcomes:
        counts = world.counts(self.draw.most, repeated=False)
        noise = count_selection.with_noise(np.zeros(runs, np.int64), Run(noise=qv.Noise()), self.draw)
        noisy = counts[np.newaxis, :] + noise[:, np.newaxis]
        return Outcomes(np.where((counts > 0) & (noisy > self.draw.above), noisy, ABSENT))


@dataclass(frozen=True)
class SeparateDraws(HistogramStep):
    """One draw of noise decides what is published, and another one makes the count."""

    def step(self, counts: Any) -> Any:
        run = Run(noise=qv.Noise())
        _, published = count_selection.with_thresholds(counts, run, self.draw)
        return count_selection.with_noise(counts, run, self.draw), published


@dataclass(frozen=True)
class NotTheFirst:
    """The algorithm A-hat: any history of a domain but the first user's, each with equal probability."""

    domain: int

    name = "A-hat"

    def run(self, world: World, runs: int) -> Outcomes:
        own = (world.target or (0,))[0]
        others = np.array([one for one in range(self.domain) if one != own])
        chosen = others[qv.Noise().below(np.full(runs, len(others)))]
        values = np.full((runs, self.domain), ABSENT, np.int64)
        values[np.arange(runs), chosen] = 1
        return Outcomes(values)

    def load(self, world: World) -> int:
        return self.domain


# -- whole mechanisms ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Unbounded(qv.Zealous):
    """Everything that a user has counts."""

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        (draw,) = self.plan().draws
        return {
            "items": count_selection.publish_frequent_items(log, run, dataclasses.replace(draw, most=10**6))
        }


@dataclass(frozen=True, kw_only=True)
class NoSecondThreshold(qv.Zealous):
    """What has noise is published."""

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        (draw,) = self.plan().draws
        return {
            "items": count_selection.publish_frequent_items(
                log, run, dataclasses.replace(draw, above=-(10**6))
            )
        }


@dataclass(frozen=True, kw_only=True)
class TrueOrder(qv.Zealous):
    """Rows stand in the order of true counts."""

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        table = super().protect(log, run)["items"]
        true = run.private["queries-true-counts"]
        known = dict(zip(true["query"].to_pylist(), true["users"].to_pylist(), strict=True))
        rows = sorted(table.to_pylist(), key=lambda row: (-known[row["query"]], row["query"]))
        return {"items": pa.Table.from_pylist(rows, schema=table.schema)}


@dataclass(frozen=True, kw_only=True)
class ByHand(qv.Zealous):
    """A histogram that is made in Python, with noise and threshold as declared."""

    def histogram(self, histories: Sequence[list[str]]) -> Counter[str]:
        raise NotImplementedError

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        (draw,) = self.plan().draws
        rows = log.engine.arrow(log.table.select("user", "query"))
        users: dict[str, list[str]] = {}
        for user, query in zip(rows["user"].to_pylist(), rows["query"].to_pylist(), strict=True):
            users.setdefault(user, []).append(query)
        counts = self.histogram([sorted(set(filter(None, users[user]))) for user in sorted(users)])
        names = [name for name in counts if counts[name] > 0]
        true = np.array([counts[name] for name in names], dtype=np.int64)
        noisy, published = count_selection.with_thresholds(true, run, draw)
        found = sorted((-int(noisy[at]), names[at]) for at in np.flatnonzero(published).tolist())
        return {
            "items": pa.table({"query": [name for _, name in found], "count": [-count for count, _ in found]})
        }


@dataclass(frozen=True, kw_only=True)
class ByPopularity(ByHand):
    """Each user keeps the items that are most popular in the log."""

    def histogram(self, histories: Sequence[list[str]]) -> Counter[str]:
        popular = Counter(item for one in histories for item in one)
        kept = (sorted(one, key=lambda item: (-popular[item], item))[: self.max_items] for one in histories)
        return Counter(item for one in kept for item in one)


@dataclass(frozen=True, kw_only=True)
class ByCurrentHistogram(ByHand):
    """Users come one after another, and give their weight to the item that is largest so far."""

    def histogram(self, histories: Sequence[list[str]]) -> Counter[str]:
        sums: Counter[str] = Counter()
        for one in histories:
            for item in sorted(one, key=lambda item: (-sums[item], item))[: self.max_items]:
                sums[item] += 1
        return sums


@dataclass(frozen=True, kw_only=True)
class UsersTold(qv.Zealous):
    """The log's number of users stands in the manifest, though one user more or less is said to be hidden."""

    def plan(self, *, users: int | None = None) -> Plan:
        made = super().plan(users=users)
        promise = dataclasses.replace(made.guarantee, neighbours=ADD_REMOVE)
        told = {"users": users} if users else {}
        return dataclasses.replace(made, guarantee=promise, parameters={**made.parameters, **told})


class ForkedBits:
    """A generator with a state in the process: a fork copies it."""

    def __init__(self) -> None:
        self._generator = np.random.Philox(int.from_bytes(qv.Noise().key(), "big"))

    def words(self, n: int) -> Any:
        return self._generator.random_raw(n)


_FORKED = qv.Noise(ForkedBits())


@dataclass(frozen=True, kw_only=True)
class NoiseOfOneState(qv.Zealous):
    """Noise comes from a state of the process."""

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        run.noise = _FORKED
        return super().protect(log, run)


# -- logs that are drawn from a release --------------------------------------------------------------------------


def _with_truth(tables: Mapping[str, pa.Table], dress: Dress, world: World) -> dict[str, pa.Table]:
    """The table of queries, with what the log holds besides: as if a threshold did not matter here."""
    table, known = tables["queries"].select(["query", "count"]), set(tables["queries"]["query"].to_pylist())
    counts = world.counts(None, repeated=False).tolist()
    more = {dress.key(item)[0]: count for item, count in enumerate(counts) if count}
    added = {query: count for query, count in more.items() if query not in known}
    rows = pa.table(
        {"query": pa.array([*added], pa.string()), "count": pa.array([*added.values()], pa.int64())}
    )
    return {"queries": pa.concat_tables([table.cast(rows.schema), rows])}


@dataclass(frozen=True)
class PeekingStep(SyntheticStep):
    """A log is drawn from the release and from the log itself."""

    def drawn(self, tables: Mapping[str, pa.Table], world: World) -> pa.Table | None:
        return super().drawn(_with_truth(tables, self.dress, world), world)


@dataclass(frozen=True)
class PeekingPath(SyntheticPath):
    """The same for files."""

    def drawn(self, tables: Mapping[str, pa.Table], world: World, file: Path) -> pa.Table | None:
        return super().drawn(_with_truth(tables, self.dress, world), world, file)


# -- declarations --------------------------------------------------------------------------------------------------


def with_threshold_of(draw: Draw, other: Draw) -> Draw:
    """A draw whose threshold was computed for another one."""
    return dataclasses.replace(draw, above=other.above, item_delta=other.item_delta)


def swallowing(file: Path) -> pa.Table:
    """A reader of CSV to which a quote opens a field, however many lines follow."""
    rows: list[dict[str, str]] = []
    with file.open(encoding="utf-8", newline="") as lines:
        if file.suffix != ".csv":
            return pa.table({"user": pa.array([], pa.string()), "query": pa.array([], pa.string())})
        rows = list(csv.DictReader((line.replace("\0", "") for line in lines), restkey="more"))
    return pa.table({name: [row.get(name) or "" for row in rows] for name in ("user", "query")})
