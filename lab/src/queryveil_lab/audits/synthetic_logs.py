"""Logs that are drawn from a published click graph: nothing but what is published may be seen in their rows.

The promise of the release is that of the log, since drawing it looks at nothing else. A copy of a world has its own
rows of the release; a log is drawn from these alone, so that outcomes of copies stay independent.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queryveil import CannotBeMet, Mechanism, Noise, publish, synthesize
from queryveil.files import workspace
from queryveil.synthetic.synthesis.draw import draw_parts
from queryveil.synthetic.synthesis.model import GraphModel
from queryveil.synthetic.synthesis.size import SESSION_GAP, Size
from queryveil_lab.audits.dressing import Dress, log_of, names_of
from queryveil_lab.audits.outcomes import ABSENT, Outcomes, Whole
from queryveil_lab.audits.steps import HistogramStep
from queryveil_lab.audits.whole import ROW, opened
from queryveil_lab.audits.worlds import World

_SEEDS = 2**31
_DRAWING = 200
"""Drawing a log from a few rows takes as long as so many steps of a loop; writing and reading it ten times that."""
_NAME = len(names_of(1)[0].as_py())

Tables = Mapping[str, pa.Table]
Items = Counter[tuple[str, ...]]


@dataclass(frozen=True)
class SyntheticStep:
    """The step that adds noise to counts of queries, and a log that is drawn from what it publishes."""

    step: HistogramStep
    dress: Dress

    name = "step"

    def run(self, world: World, runs: int) -> Outcomes:
        noisy = self.step.run(world, runs)
        names = [self.dress.key(item)[0] for item in range(world.items)]
        values = np.full((runs, world.items), ABSENT, np.int64)
        for at, (row, there) in enumerate(zip(noisy.values, noisy.present, strict=True)):
            published = np.flatnonzero(there)
            found = pa.array([names[item] for item in published], pa.string())
            table = pa.table({"query": found, "count": row[published]})
            _fill_values(
                values[at], _count_items(self.drawn({"queries": table}, world), self.dress), self.dress
            )
        return Outcomes(values)

    def drawn(self, tables: Tables, world: World) -> pa.Table | None:
        """The rows of a synthetic log; nothing of the world is used. None if nothing is published."""
        try:
            model = GraphModel.from_tables(tables)
        except CannotBeMet:
            return None
        size = Size(seed=_draw_seed()).fill_defaults(model.released_total)
        return pa.Table.from_batches([one.batch for one in draw_parts(model, size)])

    def load(self, world: World) -> int:
        return _DRAWING + world.items


@dataclass(frozen=True)
class SyntheticPath:
    """`publish` on many copies of a world, and `synthesize` for each of them: a file is written and read back."""

    mechanism: Mechanism
    dress: Dress
    copies: int = 200
    bystanders: int = 1

    name = "whole path"

    def run(self, world: World, runs: int) -> Outcomes:
        copies = min(self.copies, runs)
        log = opened(log_of(world, self.dress, copies, self.bystanders))
        values = np.full((runs, world.items), ABSENT, np.int64)
        with workspace.temporary_folder() as folder:
            for start in range(0, runs, copies):
                release = publish(log, self.mechanism, allow_empty=True, i_understand=True)
                for copy, tables in _of_copies(release.tables, min(copies, runs - start)):
                    rows = self.drawn(tables, world, folder / "log.parquet")
                    _fill_values(values[start + copy], _count_items(rows, self.dress), self.dress)
        return Outcomes(values)

    def drawn(self, tables: Tables, world: World, file: Path) -> pa.Table | None:
        """The rows of a synthetic log; nothing of the world is used. None if nothing is published."""
        file.unlink(missing_ok=True)
        try:
            synthesize(tables, file, seed=_draw_seed())
        except CannotBeMet:
            return None
        return pq.read_table(file)

    def load(self, world: World) -> int:
        users = world.users + sum(1 for _ in self.dress.supporters(world.items))
        return ROW * users + 10 * _DRAWING


def _draw_seed() -> int:
    return int(Noise().below(np.array([_SEEDS]))[0])


def _of_copies(tables: Tables, copies: int) -> Iterator[tuple[int, Tables]]:
    """The rows of each copy, whose texts begin with its name, with the name cut off."""
    split: dict[str, tuple[pa.Table, Whole]] = {}
    for name, table in tables.items():
        known = table.filter(pc.match_substring_regex(table["query"], r"\Ac\d{7}"))
        whose = pc.utf8_slice_codeunits(known["query"], 1, _NAME).cast(pa.int64()).to_numpy()
        order = np.argsort(whose, kind="stable")
        known = known.take(pa.array(order))
        for column in known.column_names:
            if pa.types.is_string(known.schema.field(column).type):
                short = pc.utf8_slice_codeunits(known[column], _NAME)
                known = known.set_column(known.column_names.index(column), column, short)
        split[name] = known.combine_chunks(), np.searchsorted(whose[order], np.arange(copies + 1))
    for copy in range(copies):
        yield (
            copy,
            {
                name: table.slice(ends[copy], ends[copy + 1] - ends[copy])
                for name, (table, ends) in split.items()
            },
        )


def _count_items(rows: pa.Table | None, dress: Dress) -> Items:
    """How often each item comes in a synthetic log."""
    if rows is None:
        return Counter()
    queries = rows["query"].to_pylist()
    if dress.kind == "clicks":
        return Counter(zip(queries, rows["url"].to_pylist(), strict=True))
    if dress.kind == "query-pairs":
        events = zip(rows["user"].to_pylist(), rows["time"].to_pylist(), queries, strict=True)
        return Counter(
            (one[2], other[2])
            for one, other in itertools.pairwise(events)
            if one[0] == other[0] and (other[1] - one[1]).total_seconds() < SESSION_GAP
        )
    return Counter((query,) for query in queries)


def _fill_values(values: Whole, found: Items, dress: Dress) -> None:
    for item in range(len(values)):
        times = found[dress.key(item)]
        if times:
            values[item] = times
