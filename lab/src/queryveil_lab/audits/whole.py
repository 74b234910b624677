"""The whole path of a publication, run on copies of a world: read, bound, count, protect."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil import Mechanism, SearchLog, connect, publish, read
from queryveil_lab.audits.dressing import Dress, keys_of, log_of
from queryveil_lab.audits.outcomes import ABSENT, Outcomes
from queryveil_lab.audits.worlds import World

SEPARATOR = "\x1f"
ROW = 10


class Runner(Protocol):
    """How a mechanism is run many times on a world. One that can be sent to other processes is run by all cores."""

    name: str

    def run(self, world: World, runs: int) -> Outcomes:
        """So many independent outcomes."""

    def load(self, world: World) -> int:
        """What one run costs, about: users or counts that are gone over."""


@dataclass(frozen=True)
class WholePath:
    """`publish` on a log with many copies of a world, again and again."""

    mechanism: Mechanism
    table: str
    dress: Dress
    copies: int = 200
    users: int | None = None
    """The public number of users, if the guarantee depends on it."""
    bystanders: int = 1

    name = "whole path"

    def run(self, world: World, runs: int) -> Outcomes:
        copies = min(self.copies, runs)
        found: list[Outcomes] = []
        log = opened(log_of(world, self.dress, copies, self.bystanders))
        keys = keys_of(self.dress, world.items, copies, SEPARATOR)
        done = 0
        while done < runs:
            found.append(self._once(log, keys, world.items, copies))
            done += copies
        return Outcomes.joined(found).some(slice(0, runs))

    def load(self, world: World) -> int:
        # Reading, bounding and counting a row takes as long as so many steps of a loop.
        return ROW * (world.users + sum(1 for _ in self.dress.supporters(world.items)))

    def _once(self, log: SearchLog, keys: pa.Array, items: int, copies: int) -> Outcomes:
        release = publish(log, self.mechanism, users=self.users, allow_empty=True, i_understand=True)
        return seen(release.tables[self.table], keys, items, copies)


def opened(table: pa.Table) -> SearchLog:
    """A log for the auditor, whose engine uses one core: processes share the others."""
    return read(table, engine=connect("duckdb", threads=1))


def seen(table: pa.Table, keys: pa.Array, items: int, copies: int) -> Outcomes:
    """What a published table shows of the watched items of each copy."""
    names = [name for name in table.column_names if pa.types.is_string(table.schema.field(name).type)]
    columns = [table[name].combine_chunks() for name in names]
    joined = columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, SEPARATOR)
    at = pc.index_in(joined, value_set=keys)
    known = at.is_valid()
    where = at.filter(known).to_numpy(zero_copy_only=False).astype(np.int64)
    values = np.full(items * copies, ABSENT, np.int64)
    places = np.full(items * copies, -1, np.int64)
    values[where] = table["count"].filter(known).to_numpy()
    # The place among the watched items of the same copy: what stands between them belongs to other copies.
    places[where] = np.flatnonzero(known.to_numpy(zero_copy_only=False))
    shown = Outcomes(values.reshape(copies, items), places.reshape(copies, items))
    if "deviation" not in table.column_names:
        return shown
    beside = np.full(items * copies, ABSENT, np.int64)
    beside[where] = table["deviation"].filter(known).to_numpy()
    return dataclasses.replace(shown, beside=beside.reshape(copies, items))
