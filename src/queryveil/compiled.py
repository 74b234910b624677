"""Compile a loop to machine code, keeping the result on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Loop = TypeVar("Loop", bound=Callable[..., object])


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
