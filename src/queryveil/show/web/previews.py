"""Previews from cached pilots, computed by two processes of their own so that pages stay quick for everybody."""

from __future__ import annotations

import asyncio
import functools
import json
import multiprocessing
import threading
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import queryveil as qv
from queryveil.show.web import forms

_PROCESSES = 2
_MOST_KEPT = 2_000
_LONGEST = 60.0


@functools.lru_cache(maxsize=4)
def _load_counts(file: str) -> qv.PilotCounts:
    return qv.PilotCounts.load(file)


def _preview_method(file: str, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """In a process: what a setting would give."""
    return _load_counts(file).preview(forms.made(qv.MECHANISMS[method], given)).as_dict()


def _warm_up_process() -> None:
    """In each process, before somebody waits for it: load what previews need, and compile their loops."""
    rows = [{"user": str(user), "query": "a"} for user in range(3)]
    made = qv.PilotCounts.count_pilot(qv.read(rows))
    made.preview(qv.Steered(epsilon=1.0, delta=1e-6))
    made.preview(qv.WeightedGaussian(epsilon=1.0, delta=1e-6))


def _first_task() -> None:
    """A first task, which starts the processes."""


class Previews:
    """Asks the processes, and remembers what they said: the same setting has the same preview for everybody."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str, str], dict[str, Any]] = OrderedDict()

    def warm(self) -> None:
        """Start the processes."""
        self._process_pool().submit(_first_task)

    async def ask(self, file: str, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a setting would give, by this pilot."""
        key = (file, method, json.dumps(given, sort_keys=True))
        if key not in self._kept:
            try:
                asked: Future[dict[str, Any]] = self._process_pool().submit(
                    _preview_method, file, method, dict(given)
                )
                found = await asyncio.wait_for(asyncio.wrap_future(asked), _LONGEST)
            except BrokenProcessPool:
                self.close()
                raise qv.CannotBeMet(
                    "the preview was cut short", "ask again; a smaller log needs less memory"
                ) from None
            except TimeoutError:
                raise qv.CannotBeMet(
                    "the preview takes too long", "ask again when less is going on"
                ) from None
            self._kept[key] = found
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def remembered(self, file: str, method: str, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """What was said of a setting; None if nobody asked."""
        return self._kept.get((file, method, json.dumps(given, sort_keys=True)))

    def _process_pool(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                fresh = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(_PROCESSES, mp_context=fresh, initializer=_warm_up_process)
            return self._pool

    def close(self) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)
