"""How much address space and how many files this process may have (`ulimit -v` and `-n`), and errors when it ran out.

Libraries in C take too little of either badly: some end the process, one sends it an interrupt, others raise errors of
every kind. So what cannot work is refused before they are loaded, and what they raise is known for what it is.
"""

from __future__ import annotations

import errno
import os
import resource
import sys

from queryveil.errors import CannotBeMet

_LEAST = 1_600_000_000
_LEAST_PER_CORE = 100_000_000
"""Engine and libraries start threads, one per core or so, and each reserves room for itself."""
_LEAST_FILES = 32
"""An engine that can open no file more may end the process."""
_SIGNS = (
    *("cannot allocate memory", "failed to map segment", "can't start new thread", "bad_alloc"),
    *("bad allocation", "unable to allocate", "cannot mmap", "out of memory"),
    "resource temporarily unavailable",  # said of threads
)


def address_space_limit() -> int | None:
    """Bytes of address space that this process may have; None if there is no limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def available_memory() -> int:
    """Bytes that this process can have at the most: what the machine has, or what it is allowed."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = address_space_limit()
    return there if limit is None else min(there, limit)


def minimum_memory() -> int:
    """Bytes below which nothing is tried."""
    return _LEAST + _LEAST_PER_CORE * len(os.sched_getaffinity(0))


def require_memory() -> None:
    """Refuse a limit under which libraries would end this process in their own way."""
    limit = address_space_limit()
    if limit is not None and limit < minimum_memory():
        raise CannotBeMet(
            f"there is not enough memory for this: the process may use {limit / 1e9:.2f} GB of address space, and "
            f"needs {minimum_memory() / 1e9:.2f} GB or more",
            "raise the limit (ulimit -v), or limit what the engine takes with QUERYVEIL_MEMORY instead",
        )
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < _LEAST_FILES:
        raise CannotBeMet(
            f"too few files may be open for this: the process may open {files}, and needs {_LEAST_FILES} or more",
            "raise the limit of open files (ulimit -n)",
        )


def limit_reservations() -> None:
    """Tell libraries that are not loaded yet to reserve less than they would."""
    # Nothing here multiplies large matrices. OpenBLAS interrupts a process in which it cannot start a thread.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if address_space_limit() is not None:
        # Arrow's usual allocator reserves a gigabyte at once, and leaves nothing for the others.
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    elif sys.platform == "linux":
        # It also spreads little over many pages, which the system must clear: this one touches a third of them.
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")


def fit_to_limit(wanted: int) -> int:
    """So many bytes, or what the limit leaves for an engine, which then spills to the disk."""
    limit = address_space_limit()
    return wanted if limit is None else max(100_000_000, min(wanted, (limit - _LEAST) // 2))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out. A library that cannot be loaded, or start a thread, has its words."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    return isinstance(error, Exception) and any(one in str(error).lower() for one in _SIGNS)


def is_limit_exceeded(error: BaseException) -> bool:
    """Whether memory ran out because it is limited. A damaged file may ask for any amount, without a limit too."""
    return address_space_limit() is not None and is_out_of_memory(error)
