"""Compile loops to machine code, keeping the result on disk where that is possible, and run them side by side.

The compiler is loaded when a loop is first called: whoever only plans or asks for help does not wait for it.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import RLock
from typing import Any, TypeVar, cast

Loop = TypeVar("Loop", bound=Callable[..., object])
Found = TypeVar("Found")

_LOCK = RLock()


class _Later:
    """A loop that is compiled when it is first called, with all loops that it calls itself."""

    def __init__(self, loop: Callable[..., object], **options: bool) -> None:
        functools.update_wrapper(self, loop)
        self._loop, self._options = loop, options
        self._begun: Any = None
        self._made: Any = None

    def __call__(self, *given: object) -> object:
        return (self._made or self.made())(*given)

    def made(self) -> Any:
        """What the compiler makes of it; once, whoever asks."""
        with _LOCK:
            if self._begun is None:
                self._begun = _compiled(self._loop, self._options)
                # The compiler looks up what a loop calls among the names of its module, and knows its own loops alone.
                names = self._loop.__globals__
                for name in self._loop.__code__.co_names:
                    if isinstance(names.get(name), _Later):
                        names[name] = names[name].made()  # a loop may call itself
                self._made = self._begun
            return self._begun


def _compiled(loop: Callable[..., object], options: dict[str, bool]) -> Any:
    import numba

    njit: Callable[..., Callable[[Callable[..., object]], Any]] = numba.njit
    try:
        return njit(**options)(loop)
    except RuntimeError:  # no folder is writable: compile anew in each process
        return njit(**{name: value for name, value in options.items() if name != "cache"})(loop)


def compiled(loop: Loop) -> Loop:
    """A loop that Python calls."""
    return cast(Loop, _Later(loop, cache=True))


def unlocked(loop: Loop) -> Loop:
    """A loop that Python calls from several threads at once: it holds no lock, and shares nothing that it writes."""
    return cast(Loop, _Later(loop, cache=True, nogil=True))


def inner(loop: Loop) -> Loop:
    """A loop that only compiled loops of the same file call: kept with them, and quicker to compile."""
    return cast(Loop, _Later(loop, no_cpython_wrapper=True, no_cfunc_wrapper=True))


_MOST_THREADS = 4
"""More of them would each need memory, and gain little where memory is what loops wait for."""
_WORTH_A_THREAD = 1 << 14
"""Less work than this is done before a thread has started."""


def threads() -> int:
    """How many loops may run side by side: no more than this process has cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_THREADS)


def shares(size: int) -> list[tuple[int, int]]:
    """Equal parts of 0, 1, ..., size - 1, each from a place to a place, for loops that run side by side."""
    parts = max(1, min(threads(), size // _WORTH_A_THREAD))
    cuts = [size * part // parts for part in range(parts + 1)]
    return list(itertools.pairwise(cuts))


def side_by_side(loop: Callable[..., Found], parts: Sequence[tuple[Any, ...]]) -> list[Found]:
    """What an unlocked loop returns for each of these arguments; each runs in a thread of its own.

    The caller's answer must not depend on how work is divided: parts write to places of their own, or what they add
    up are whole numbers.
    """
    if len(parts) == 1:
        return [loop(*parts[0])]
    with ThreadPoolExecutor(min(len(parts), _MOST_THREADS)) as pool:
        return list(pool.map(lambda given: loop(*given), parts))
