"""What counting needs is loaded in a thread of its own, while a release is prepared: neither waits for the other."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from queryveil.mechanisms import Mechanism

_BEGUN: set[type] = set()


@contextlib.contextmanager
def loading(mechanism: Mechanism) -> Iterator[None]:
    """Load what a mechanism names in `loaded`, once in a process; who fails meanwhile waits for one step at most."""
    if type(mechanism) in _BEGUN:
        yield
        return
    _BEGUN.add(type(mechanism))
    enough = threading.Event()
    thread = threading.Thread(target=_load, args=(mechanism, enough), name="queryveil-loading")
    with contextlib.suppress(RuntimeError):  # no thread is to be had: all is loaded when it is called
        thread.start()
    try:
        yield
    finally:
        enough.set()
        if thread.ident is not None:
            thread.join()


def _load(mechanism: Mechanism, enough: threading.Event) -> None:
    # Whoever calls what could not be loaded meets the same error, and tells of it.
    with contextlib.suppress(Exception):
        steps: Iterator[None] = getattr(mechanism, "loaded", lambda: iter(()))()
        while not enough.is_set() and next(steps, True) is None:
            pass
