"""Warms up the compiled kernels of a mechanism, and the templates, in a background thread while rows are read."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator

from queryveil.catalog import open_catalog, templates
from queryveil.mechanisms import Mechanism

_BEGUN: set[type] = set()


@contextlib.contextmanager
def loading(mechanism: Mechanism) -> Iterator[None]:
    """Warm up a mechanism once per process; an exception waits for one step at most."""
    if type(mechanism) in _BEGUN:
        yield
        return
    _BEGUN.add(type(mechanism))
    enough = threading.Event()
    thread = threading.Thread(target=_load_kernels, args=(mechanism, enough), name="queryveil-loading")
    with contextlib.suppress(RuntimeError):  # no thread is to be had: all is loaded when it is called
        thread.start()
    try:
        yield
    finally:
        enough.set()
        if thread.ident is not None:
            thread.join()


def _load_kernels(mechanism: Mechanism, enough: threading.Event) -> None:
    # Calling a kernel that could not be loaded raises the same error again.
    with contextlib.suppress(Exception):
        steps = itertools.chain(mechanism.warm_up(), templates.warm_up(open_catalog()))
        while not enough.is_set() and next(steps, True) is None:
            pass
