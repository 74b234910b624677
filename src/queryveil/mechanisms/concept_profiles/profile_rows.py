"""From drawn concepts to a table (user, number, query) under random numbers for users, with bounded memory.

Users wait on disk in piles, each in one that chance picks. Then each pile is put into random order and turned into
text. The order of all users is uniform: docs/proofs/semantic.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.errors import CannotBeMet, argument
from queryveil.files import workspace
from queryveil.language.taxonomy import Taxonomy
from queryveil.mechanisms.concept_profiles.concept_drawing import Drawn
from queryveil.mechanisms.concept_profiles.domain import SEPARATOR
from queryveil.mechanisms.concept_profiles.phrases import Numbers, Phrases, Tally
from queryveil.privacy.noise import Noise

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

_PILE_ROWS = 500_000
"""Rows for each pile, so that one pile fits into memory however long the log is."""
_MOST_PILES = 256
"""Files that are open at once."""
_CHUNK_ROWS = 250_000
"""Rows turned into text at once: a chunk of text must stay below two gigabytes."""

_NUMBERS = pa.list_(pa.int32())
_WAITING = pa.schema([("name", pa.string()), ("lengths", _NUMBERS), ("concepts", _NUMBERS)])
_WORDS = [pa.field("before", pa.list_(pa.string())), pa.field("after", pa.list_(pa.string()))]
_LOG = pa.schema([("user", pa.int64()), ("number", pa.int64()), ("query", pa.string())])
_MAP = pa.schema([("user", pa.int64()), ("original", pa.string())])


class Rows:
    """Takes users with drawn concepts, and gives the table to publish; a context, because files wait in between."""

    def __init__(self, log: SearchLog, taxonomy: Taxonomy, noise: Noise, slots: int | None = None) -> None:
        """`slots` is how many rows every user will have; None if no more than she has in the log."""
        self.tally = Tally()
        self._taxonomy, self._noise = taxonomy, noise
        rows = log.rows if slots is None else log.users * slots
        self._number = min(_MOST_PILES, 1 + rows // _PILE_ROWS)
        # A table on disk stays readable after its file has lost its name.
        self._folder = workspace.new_name(log.workspace)
        workspace.make_folder(self._folder)
        self._piles: dict[int, pa.ipc.RecordBatchStreamWriter] = {}

    def __enter__(self) -> Rows:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        workspace.remove_folder(self._folder)

    def _pile_file(self, name: str) -> Path:
        return self._folder / f"{name}.arrow"

    def _close(self) -> None:
        for writer in self._piles.values():
            writer.close()

    # -- in ------------------------------------------------------------------------------------------------------

    def add(self, drawn: Drawn) -> None:
        """One row for each query with a phrase. Users without any are left out."""
        self.tally += drawn.tally
        waiting = _pending_rows(drawn.names, drawn.phrases)
        if not waiting.num_rows:
            return
        piles = self._noise.below(np.full(waiting.num_rows, self._number, dtype=np.int64))
        order = np.argsort(piles, kind="stable")
        sorted_rows = waiting.take(pa.array(order))
        present, firsts = np.unique(piles[order], return_index=True)
        ends = [*firsts[1:].tolist(), len(order)]
        for pile, first, end in zip(present.tolist(), firsts.tolist(), ends, strict=True):
            if pile not in self._piles:
                self._piles[pile] = pa.ipc.new_stream(str(self._pile_file(f"pile-{pile}")), waiting.schema)
            self._piles[pile].write_batch(sorted_rows.slice(first, end - first))

    @staticmethod
    def found(phrases: int, *, padded: bool, say: Callable[[str], None]) -> None:
        """Tell the curator if nothing of the log is left, and refuse to publish that unless users are padded.

        Padded, a release must not depend on a single phrase, and it would if there were none without one.
        """
        if phrases:
            return
        cause = "no query of this log has a phrase with a concept inside the domain"
        way_out = (
            f"choose a wider {argument('domain')} such as entity, or a "
            f"{argument('taxonomy')} that knows the log's words"
        )
        if not padded:
            raise CannotBeMet(cause, way_out)
        say(f"all of it is chance: {cause}; {way_out}")

    # -- out -----------------------------------------------------------------------------------------------------

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """The log to publish, and for the curator which user each number stands for; both stay on disk.

        A user's rows stay in the order in which they were added.
        """
        self._close()
        files = {"log": self._pile_file("log"), "map": self._pile_file("map")}
        with (
            pa.ipc.new_file(str(files["log"]), _LOG) as log,
            pa.ipc.new_file(str(files["map"]), _MAP) as names,
        ):
            first = 0
            for pile in sorted(self._piles):
                users = self._shuffle_pile(pile)
                log.write_table(self._log_rows(users, first))
                numbers = pa.array(np.arange(first, first + users.num_rows))
                names.write_table(pa.table([numbers, users["name"]], schema=_MAP))
                first += users.num_rows
        log_table, map_table = (
            pa.ipc.open_file(pa.memory_map(str(file))).read_all() for file in files.values()
        )
        return log_table, map_table

    def _shuffle_pile(self, pile: int) -> pa.Table:
        """The users of a pile in random order."""
        file = self._pile_file(f"pile-{pile}")
        with pa.OSFile(str(file)) as content:
            users = pa.ipc.open_stream(content).read_all().combine_chunks()
        file.unlink()
        return users.take(pa.array(self._noise.permutation(users.num_rows))).combine_chunks()

    def _log_rows(self, users: pa.Table, first: int) -> pa.Table:
        """user, number, query for the users of a pile; the first of them has that number."""
        import pyarrow.compute as pc

        queries = pc.list_value_length(users["lengths"]).to_numpy()
        starts = np.cumsum(queries) - queries
        lengths = pc.list_flatten(users["lengths"]).to_numpy()
        ends = np.cumsum(lengths, dtype=np.int64)
        columns = [pc.list_flatten(users[name]) for name in users.column_names[2:]]
        texts = []
        for start in range(0, len(lengths), _CHUNK_ROWS):
            part = lengths[start : start + _CHUNK_ROWS]
            place = int(ends[start]) - int(part[0])
            texts.append(self._label_texts([one.slice(place, int(part.sum())) for one in columns], part))
        owners = np.repeat(np.arange(len(queries), dtype=np.int64), queries)
        numbers = np.arange(len(lengths), dtype=np.int64) - starts[owners]
        return pa.table(
            [pa.array(owners + first), pa.array(numbers), pa.chunked_array(texts, pa.string())], schema=_LOG
        )

    def _label_texts(self, columns: list[pa.ChunkedArray], lengths: npt.NDArray[np.int32]) -> pa.StringArray:
        """The labels of each row's concepts, one after another."""
        import pyarrow.compute as pc

        concepts, *words = (_to_single_array(one) for one in columns)
        distinct, codes = np.unique(concepts.to_numpy(), return_inverse=True)
        labels = pa.array(self._taxonomy.labels(distinct.tolist()), pa.string()).take(pa.array(codes))
        offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
        if not words:
            return pc.binary_join(pa.ListArray.from_arrays(offsets, labels), SEPARATOR)
        labels = pc.binary_join_element_wise(words[0], labels, words[1], "")
        return pc.binary_join(pa.ListArray.from_arrays(offsets, labels), " ")


def _pending_rows(names: pa.StringArray, drawn: Phrases) -> pa.RecordBatch:
    """A row for each user with a phrase: name, phrases of each query, concepts, words before and after."""
    starts = np.flatnonzero(np.diff(drawn.queries, prepend=-1))
    phrases = np.diff(starts, append=len(drawn.queries))
    present, queries = np.unique(drawn.owners[starts], return_counts=True)
    concepts = _to_lists(pa.array(drawn.concepts, pa.int32()), drawn.counts()[present])
    columns = [names.take(pa.array(present)), _to_lists(pa.array(phrases, pa.int32()), queries), concepts]
    if drawn.words is None:
        return pa.record_batch(columns, schema=_WAITING)
    for side in (0, 1):
        columns.append(_to_lists(pa.array(drawn.words[:, side], pa.string()), drawn.counts()[present]))
    return pa.record_batch(columns, schema=pa.schema([*_WAITING, *_WORDS]))


def _to_lists(values: pa.Array, lengths: Numbers) -> pa.ListArray:
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def _to_single_array(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found.chunk(0) if isinstance(found, pa.ChunkedArray) else found
