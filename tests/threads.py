"""As many threads as a test wants, also for little work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from queryveil import compiled


@contextlib.contextmanager
def threads(number: int) -> Iterator[None]:
    """Loops run in so many threads, however little there is to do and however many cores there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "threads", lambda: number)
        patch.setattr(compiled, "_WORTH_A_THREAD", 1)
        yield
