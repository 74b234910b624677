"""Compile loops to machine code, keeping the result on disk where that is possible, and run them side by side."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import numba

Loop = TypeVar("Loop", bound=Callable[..., object])
Found = TypeVar("Found")


def compiled(loop: Loop) -> Loop:
    """A loop that Python calls."""
    try:
        return cast(Loop, numba.njit(cache=True)(loop))
    except RuntimeError:  # no folder is writable: compile anew in each process
        return cast(Loop, numba.njit(loop))


def unlocked(loop: Loop) -> Loop:
    """A loop that Python calls from several threads at once: it holds no lock, and shares nothing that it writes."""
    try:
        return cast(Loop, numba.njit(cache=True, nogil=True)(loop))
    except RuntimeError:
        return cast(Loop, numba.njit(nogil=True)(loop))


def inner(loop: Loop) -> Loop:
    """A loop that only compiled loops of the same file call: kept with them, and quicker to compile."""
    return cast(Loop, numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(loop))


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
    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(lambda given: loop(*given), parts))
