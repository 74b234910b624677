"""What a file was when it was first looked at, to notice if it becomes another one while it is read."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar, runtime_checkable

from queryveil.errors import InputError

Asked = ParamSpec("Asked")
Found = TypeVar("Found")

_FOOTER_END = 8
_PARQUET = b"PAR1"
_MOST_FOOTER = 64 * 1024 * 1024


@dataclass(frozen=True)
class Pin:
    """One file as it was: which one, how large, when written, and of Parquet also what its footer says."""

    path: Path
    label: str
    device: int
    inode: int
    size: int
    written: int
    footer: str


def pin(path: Path, label: str) -> Pin:
    """The file as it is now; OSError if it cannot be read."""
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        footer = ""
        if file.read(len(_PARQUET)) == _PARQUET and about.st_size > _FOOTER_END:
            file.seek(about.st_size - _FOOTER_END)
            # Where the length is a lie, some of the file's end does as well.
            length = int.from_bytes(file.read(_FOOTER_END)[:4], "little") + _FOOTER_END
            file.seek(max(0, about.st_size - min(length, _MOST_FOOTER)))
            footer = hashlib.sha256(file.read(_MOST_FOOTER)).hexdigest()
    return Pin(path, label, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, footer)


def require_unchanged(pins: Sequence[Pin]) -> None:
    """Refuse to go on with a log of which a part is no longer the file that it was."""
    for one in pins:
        try:
            now = pin(one.path, one.label)
        except FileNotFoundError:
            raise InputError(
                f"{one.label!r} was deleted while it was read",
                "put it back, or give a copy that does not change, and run again",
            ) from None
        except OSError as error:
            raise InputError(
                f"{one.label!r} can no longer be read ({error.strerror or type(error).__name__})",
                "give a copy that does not change, and run again",
            ) from None
        if now != one:
            raise InputError(
                f"the log changed while it was read: {one.label!r} is not the file that it was",
                "give a copy that does not change, and run again",
            )


@runtime_checkable
class Pinned(Protocol):
    """A log that can say whether its files are those that they were."""

    def unchanged(self) -> contextlib.AbstractContextManager[None]:
        """Refuse, at the beginning and at the end, files that are no longer the same."""


def unchanged_logs(work: Callable[Asked, Found]) -> Callable[Asked, Found]:
    """A function that refuses logs whose files become others before it is done: its figures would be of neither."""

    @functools.wraps(work)
    def guarded(*given: Asked.args, **named: Asked.kwargs) -> Found:
        with contextlib.ExitStack() as stack:
            for one in (*given, *named.values()):
                for log in one if isinstance(one, (list, tuple)) else (one,):
                    if isinstance(log, Pinned):
                        stack.enter_context(log.unchanged())
            return work(*given, **named)

    return guarded
