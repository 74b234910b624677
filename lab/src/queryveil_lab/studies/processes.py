"""Cells of a study on several processes.

Cells do not depend on each other, so they are handed out as processes become free. Every process starts anew and
draws its own noise from the system; none inherits the state of another. The log goes to them as a file in a folder
that only the curator may open, which is gone when the last cell is done.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import pickle
import shutil
import signal
import tempfile
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from queryveil import InputError, SearchLog, UsageError, read
from queryveil.extension import argument
from queryveil.files import workspace
from queryveil.reading import engine
from queryveil_lab.studies.declaration import Cell, Given, Row, Study

_WORTH_IT = 200_000
"""Rows from which several processes are quicker than one whose engine uses all cores."""


def check(workers: int | None) -> None:
    if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or workers < 1):
        raise UsageError(
            f"parameter 'workers' must be an int >= 1; got {workers!r}", f"pass {argument('workers', 1)}"
        )


def sensible(study: Study, given: Given, cells: int, wanted: int | None) -> int:
    """How many processes to use: as many as asked for, or as are quicker, and no more than there are cells."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if wanted is None:
        large = not study.quick if given.log is None else given.log.rows >= _WORTH_IT
        wanted = cores if large else 1
    foreign = given.log is not None and given.log.engine.name != "duckdb"
    return 1 if foreign or _pickle_study(study) is None else max(1, min(wanted, cells))


def finished(
    study: Study, given: Given, cells: Sequence[Cell], workers: int
) -> Generator[tuple[Cell, list[Row]], None, None]:
    """Each cell with its rows, as they come."""
    if workers > 1:
        yield from _run_in_processes(study, given, cells, workers)
        return
    prepared = study.prepare(given)
    for cell in cells:
        yield cell, study.rows(prepared, given, cell)


def _pickle_study(study: Study) -> bytes | None:
    """A study as another process can have it; None for one that was put together on the spot."""
    try:
        return pickle.dumps(study)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def _run_in_processes(
    study: Study, given: Given, cells: Sequence[Cell], workers: int
) -> Iterator[tuple[Cell, list[Row]]]:
    cores = os.cpu_count() or 1
    with workspace.temporary_folder() as folder:
        file = _write_log(given.log, folder) if given.log is not None else None
        gap = given.log.session_gap_minutes if given.log is not None else 0
        sent = pickle.dumps((study, dataclasses.replace(given, log=None)))
        others = set(multiprocessing.active_children())
        pool = ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start_worker,
            initargs=(sent, folder, file, gap, max(1, cores // workers), workers),
        )
        done = False
        try:
            running = {pool.submit(_run_cell, cell): cell for cell in cells}
            for one in as_completed(running):
                yield running[one], one.result()
            done = True
        except BrokenProcessPool:
            raise InputError(
                "a process of the study was stopped from outside, for instance for lack of memory",
                f"run the same command again with {argument('workers', 1)}: what is finished is kept",
            ) from None
        finally:
            pool.shutdown(wait=done, cancel_futures=True)
            if not done:
                for process in set(multiprocessing.active_children()) - others:
                    process.terminate()


def _write_log(log: SearchLog, folder: Path) -> Path:
    file = folder / "log.parquet"
    batches = log.engine.batches(log.source)
    first = next(batches, None)
    if first is None:
        pq.write_table(log.engine.arrow(log.source), file)
        return file
    with pq.ParquetWriter(file, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)
    return file


# -- inside a process ----------------------------------------------------------------------------------------

_here: dict[str, Any] = {}


def _start_worker(sent: bytes, folder: Path, file: Path | None, gap: int, threads: int, workers: int) -> None:
    # An interruption is the first process's to handle; the others are stopped by it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a process leaves behind when it is stopped goes with the first one's folder.
    tempfile.tempdir = str(folder)
    threading.Thread(target=_watch_parent, args=(folder,), daemon=True).start()
    os.environ.setdefault("NUMBA_NUM_THREADS", str(threads))
    try:
        study, given = pickle.loads(sent)  # noqa: S301 (from the process that started this one)
        if file is not None:
            # One of its own: engines that spill to one folder overwrite each other's pages.
            spill = folder / f"spill-{os.getpid()}"
            spill.mkdir()
            runs_on = engine.connect("duckdb", spill=spill, share=workers, threads=threads, reads=[folder])
            given = dataclasses.replace(given, log=read(file, engine=runs_on, session_gap_minutes=gap))
    except Exception as error:  # noqa: BLE001 (the pool would print it, and it may quote the log)
        _here["failed"] = error
    else:
        _here.update(study=study, given=given)


def _watch_parent(folder: Path) -> None:
    """Stop, and take the copy of the log away, once the first process was killed and cannot do so itself."""
    first = multiprocessing.parent_process()
    if first is not None:
        first.join()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)


def _run_cell(cell: Cell) -> list[Row]:
    if "failed" in _here:
        raise _here["failed"]
    study: Study = _here["study"]
    if "prepared" not in _here:
        _here["prepared"] = study.prepare(_here["given"])
    return study.rows(_here["prepared"], _here["given"], cell)
