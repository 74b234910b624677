"""Trials on all cores, one after another as processes become free; what is finished is kept, and is not run again."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import multiprocessing
import os
import pickle
import secrets
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from queryveil import InputError, UsageError
from queryveil.extension import argument, output
from queryveil.files import interruptions
from queryveil_lab.audits.planning import Test
from queryveil_lab.audits.trials import AuditFinding, Levels, judged

_ABOUT = "about.json"
_ENDLESS = 1e300
"""Stands for infinity where JSON has none."""


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def done(test: Test, levels: Levels) -> AuditFinding:
    """Run one trial, and judge it."""
    return judged(test, [test.runner.run(world, test.runs) for world in test.worlds], levels)


def finished(tests: Sequence[Test], levels: Levels, workers: int) -> Iterator[tuple[int, AuditFinding]]:
    """Each trial by its number with what it found, as they come."""
    if min(workers, len(tests)) > 1:
        yield from _run_in_processes(tests, levels, min(workers, len(tests)))
        return
    for number, test in enumerate(tests):
        yield number, done(test, levels)


def _run_in_processes(
    tests: Sequence[Test], levels: Levels, workers: int
) -> Iterator[tuple[int, AuditFinding]]:
    try:
        pickle.dumps(list(tests))
    except (pickle.PicklingError, AttributeError, TypeError):
        # A mechanism that was put together on the spot cannot be sent.
        yield from finished(tests, levels, 1)
        return
    shared = _open.get()
    with contextlib.nullcontext(shared) if shared is not None else _process_pool(workers) as pool:
        running = {pool.submit(done, test, levels): number for number, test in enumerate(tests)}
        for one in as_completed(running):
            yield running[one], one.result()


_open: ContextVar[ProcessPoolExecutor | None] = ContextVar("_open", default=None)


@contextlib.contextmanager
def shared_processes(workers: int) -> Iterator[None]:
    """Several audits, one after another, by the same processes."""
    if workers == 1:
        yield
        return
    with _process_pool(workers) as pool:
        before = _open.set(pool)
        try:
            yield
        finally:
            _open.reset(before)


@contextlib.contextmanager
def _process_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    others = set(multiprocessing.active_children())
    # Every process starts anew and asks its own system for noise; none inherits the state of another.
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(workers,),
    )
    complete = False
    try:
        yield pool
        complete = True
    except BrokenProcessPool:
        raise InputError(
            "a process of the audit was stopped from outside, for instance for lack of memory",
            f"run the same command again with {argument('workers', 1)}; with "
            f"{argument('out')}, finished trials are kept",
        ) from None
    finally:
        pool.shutdown(wait=complete, cancel_futures=True)
        if not complete:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()


def _start_worker(workers: int) -> None:
    # An interruption is the first process's to handle; the others are stopped by it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("NUMBA_NUM_THREADS", str(max(1, cores() // workers)))


class Kept:
    """Findings of an audit that is not over, in a folder beside its output."""

    def __init__(self, out: Path, about: Mapping[str, Any]) -> None:
        self.folder = out.with_name(out.name + ".partial")
        self._about = json.loads(json.dumps(about, default=str))
        with output.disk_errors(out):
            if self.folder.is_symlink() or (self.folder.exists() and not self.folder.is_dir()):
                raise self._taken_error()
            out.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            note = self.folder / _ABOUT
            if any(self.folder.iterdir()) and _json_of(note) != self._about:
                raise self._taken_error()
            _write_file(note, self._about)

    def _taken_error(self) -> UsageError:
        return UsageError(
            f"'{self.folder}' is not of this audit: other parameters, another version, or something else",
            f"move it away, or choose another {argument('out')}",
        )

    def read(self, test: Test, number: int) -> AuditFinding | None:
        found = _json_of(self._file(number))
        if not isinstance(found, dict) or found.get("of_trial") != _trial_identity(test):
            return None
        try:
            points = tuple((float(a), float(b)) for a, b in found["points"])
            texts: dict[str, Any] = {
                name: str(found[name]) for name in ("shape", "words", "of", "runner", "how", "event")
            }
            return AuditFinding(
                runs=int(found["runs"]),
                claim=test.claim,
                refutes=bool(found["refutes"]),
                points=points,
                epsilon=_from_json(found["epsilon"]),
                delta=_from_json(found["delta"]),
                **texts,
            )
        except (KeyError, TypeError, ValueError):
            return None

    def write(self, test: Test, number: int, found: AuditFinding) -> None:
        kept = dataclasses.asdict(found) | {"of_trial": _trial_identity(test)}
        kept["epsilon"] = min(found.epsilon, _ENDLESS)
        del kept["claim"]
        _write_file(self._file(number), kept)
        interruptions.note_partial(self.folder, "finished trials are kept: run it again to go on")

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            for file in [*self.folder.glob("trial-*.json"), self.folder / _ABOUT]:
                file.unlink(missing_ok=True)
            self.folder.rmdir()

    def _file(self, number: int) -> Path:
        return self.folder / f"trial-{number}.json"


def _trial_identity(test: Test) -> str:
    """What must be the same for a kept finding to be of use."""
    said = repr((test.runner, test.worlds, test.claim, test.runs, test.of))
    return hashlib.sha256(said.encode("utf-8")).hexdigest()


def _from_json(number: float) -> float:
    return math.inf if number >= _ENDLESS else float(number)


def _json_of(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8")) if not file.is_symlink() else None
    except (OSError, ValueError, RecursionError):
        return None


def _write_file(file: Path, content: Any) -> None:
    temporary = file.with_suffix(f".{secrets.token_hex(4)}.tmp")
    temporary.write_text(json.dumps(content, allow_nan=False, default=str), encoding="utf-8")
    temporary.replace(file)
