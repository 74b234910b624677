"""Protects a process's files from its forked children.

A forked child inherits every finalizer, exit handler, and open database of its parent. If the child runs them when it
exits, it deletes files that the parent still uses.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable
from typing import Any

_unclosed: weakref.WeakSet[Any] = weakref.WeakSet()


def in_this_process(function: Callable[..., None], *arguments: Any) -> Callable[[], None]:
    """Return a callback that calls the function here, and does nothing in a forked child."""
    process = os.getpid()

    def call_in_owner() -> None:
        if os.getpid() == process:
            function(*arguments)

    return call_in_owner


def leave_open_in_children(database: Any) -> None:
    """Never destroy this object in a forked child: its destructor would delete files that the parent uses."""
    _unclosed.add(database)


def _leak_databases() -> None:
    for database in list(_unclosed):
        # A reference that nothing ever drops: also at exit, the interpreter then leaves the object alone.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))


os.register_at_fork(after_in_child=_leak_databases)
