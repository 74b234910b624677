"""Noise after a fork: two processes with one past must not draw the same.

A state that is copied with the process gives both the same noise, and the difference of two releases then has none. The
operating system's generator is in no process, so that nothing can be copied.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from queryveil import Mechanism, publish
from queryveil_lab.audits.dressing import SCHEMA, Dress, log_of
from queryveil_lab.audits.phrases import typed_log
from queryveil_lab.audits.whole import opened
from queryveil_lab.audits.worlds import World

_TIMES = 12
_COPIES = 12
_SECONDS = 300


@dataclass(frozen=True, kw_only=True)
class Forked:
    """What two processes with one past published."""

    releases: int
    """Of each process."""
    drawn_twice: bool
    """Whether both published the same, one release after another, though releases differ."""

    @property
    def refutes(self) -> bool:
        return self.drawn_twice

    def as_dict(self) -> dict[str, Any]:
        return {"releases": self.releases, "drawn_twice": self.drawn_twice}


def checked(mechanism: Mechanism, world: World, dress: Dress, users: int | None) -> Forked | None:
    """Publish in two processes that fork from one; None where processes cannot fork, or the mechanism not be sent."""
    if "fork" not in multiprocessing.get_all_start_methods():
        return None
    try:
        sent = pickle.dumps((mechanism, world, dress, users))
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    # A process of its own, which has no threads yet when it forks.
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run_parent, args=(sent, theirs))
    process.start()
    theirs.close()
    try:
        found = mine.recv() if mine.poll(_SECONDS) else None
    except EOFError:
        found = None
    finally:
        process.terminate()
        process.join()
    if found is None or len(found) != 2:
        return None
    one, other = found
    differ = all(a != b for a, b in itertools.pairwise(one))
    return Forked(releases=len(one), drawn_twice=one == other and differ)


def _run_parent(sent: bytes, pipe: Any) -> None:
    """Make the mechanism, then fork twice."""
    made = pickle.loads(sent)  # noqa: S301 (from the process that started this one)
    children = [_start_child(made) for _ in range(2)]
    found = []
    for child, reading in children:
        with os.fdopen(reading, "rb") as stream:
            told = stream.read()
        os.waitpid(child, 0)
        if told:  # nothing of a child that could not publish
            found.append(pickle.loads(told))  # noqa: S301 (from a child of this process)
    pipe.send(found)


def _start_child(made: tuple[Any, ...]) -> tuple[int, int]:
    """A process that publishes: its number, and where to read what."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as stream:
                stream.write(pickle.dumps(_publish_repeatedly(*made)))
        finally:
            os._exit(0)
    os.close(writing)
    return child, reading


def _publish_repeatedly(mechanism: Mechanism, world: World, dress: Dress, users: int | None) -> list[str]:
    """What is published, several times. All items have equally many users, so that counts in order are noise in order:
    engines may hand out items in any order, and noise with them.
    """
    log = opened(typed_log(mechanism, world, 30) or _add_clicks(log_of(world, dress, _COPIES, bystanders=0)))
    made = []
    for _ in range(_TIMES):
        release = publish(log, mechanism, users=users, allow_empty=True, i_understand=True)
        made.append(str({name: _noise_values(table) for name, table in release.tables.items()}))
    return made


def _add_clicks(log: pa.Table) -> pa.Table:
    """Every search with a click: tables of clicks ask for one, and each click has as many users as its query."""
    urls = pc.fill_null(log["url"], pc.binary_join_element_wise(log["query"], ".example", ""))
    return log.set_column(log.column_names.index("url"), SCHEMA.field("url"), urls)


def _noise_values(table: pa.Table) -> list[Any]:
    """Counts in order; rows as they are where there are no counts."""
    return sorted(table["count"].to_pylist()) if "count" in table.column_names else table.to_pylist()
