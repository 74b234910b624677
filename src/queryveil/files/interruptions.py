"""Requests to stop: held back while something must not be cut in two, and what stands when one is answered.

A charge that was made and a result that is complete stay, whatever becomes of the rest of a command. They are noted
here, so that the last sentence of a command that was cut short is true.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

CHARGED = "the charge to the ledger stands"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def hold_signals() -> Iterator[None]:
    """Let no signal cut the block in two: requests to stop that come meanwhile are answered after it.

    Blocking signals would not do: an engine has threads, and a signal that one of them receives is answered in ours.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python answers signals in the main thread alone
        return
    before = {one: signal.getsignal(one) for one in SIGNALS}
    # What is ignored stays ignored, and what another program's C code handles is left to it.
    before = {one: how for one, how in before.items() if how not in (None, signal.SIG_IGN)}
    came: list[int] = []
    holding = True

    def remember_signal(number: int, frame: FrameType | None) -> None:
        if holding:
            came.append(number)
        else:
            _replay_signal(number, before[signal.Signals(number)], frame)

    try:
        for one in before:
            signal.signal(one, remember_signal)
        yield
    finally:
        holding = False
        for one, how in before.items():
            signal.signal(one, how)
        for number in came:
            _replay_signal(number, before[signal.Signals(number)], None)


def _replay_signal(number: int, how: Any, frame: FrameType | None) -> None:
    if callable(how):
        how(number, frame)
    else:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)


# -- what stands ---------------------------------------------------------------------------------------------


@dataclass
class Standing:
    """What a command has done for good so far."""

    charged: bool = False
    complete: dict[Path, str] = field(default_factory=dict)
    kept: dict[Path, str] = field(default_factory=dict)

    def remaining_work(self) -> str:
        """What is left when a command ends before its time. What was taken away again does not stand."""
        stands, kept = (
            [words for place, words in noted.items() if place.exists()]
            for noted in (self.complete, self.kept)
        )
        charged = [CHARGED] if self.charged else []
        return ", ".join([*(stands or ["nothing half-written is left"]), *charged, *kept])


_STANDING: ContextVar[Standing | None] = ContextVar("standing", default=None)


@contextlib.contextmanager
def track_results() -> Iterator[Standing]:
    """Note what the block does for good."""
    noted = Standing()
    token = _STANDING.set(noted)
    try:
        yield noted
    finally:
        _STANDING.reset(token)


def note_charge() -> None:
    """A charge to a ledger was made."""
    noted = _STANDING.get()
    if noted is not None:
        noted.charged = True


def note_result(place: Path, words: str) -> None:
    """A result is where it was asked for, and whole."""
    noted = _STANDING.get()
    if noted is not None:
        noted.complete[place.absolute()] = words


def note_partial(place: Path, words: str) -> None:
    """Part of the work is kept for the next run."""
    noted = _STANDING.get()
    if noted is not None:
        noted.kept[place.absolute()] = words
