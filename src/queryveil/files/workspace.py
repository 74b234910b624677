"""The folder that raw rows lie in while a log is in use: made where TMPDIR says, for its owner alone, gone at the end.

A process that is killed cannot take its folder away. Whoever uses one holds a lock on a file in it, which the system
lets go with the process, whatever ended it: what nobody holds is a leftover, and the next run removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from queryveil.errors import OutputError
from queryveil.files import interruptions
from queryveil.files.forks import in_this_process
from queryveil.files.removal import remove_tree

_LOCK = "owner.lock"
_NAME = re.compile(r"queryveil-[0-9a-f]{16}")
_NEVER_HELD = re.compile(r"queryveil-[0-9a-f]{16}\.new")
_ABANDONED = 3600.0
"""Seconds after which a folder that was made and never held is nobody's."""
_PAGE = bytes(4096)
_held: dict[Path, int] = {}
"""The lock of each folder that this process, or the process that it was forked from, has made."""
_removals: dict[Path, Callable[[], None]] = {}
"""How to remove each of these folders; in a forked child this does nothing."""


def temporary_root() -> Path:
    """Where temporary folders go. What TMPDIR names is never replaced by another folder without a word."""
    if tempfile.tempdir is None:
        for name in ("TMPDIR", "TEMP", "TMP"):
            if os.environ.get(name):
                return Path(os.environ[name])
    return Path(tempfile.gettempdir())


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder, and remove it after the block, unless the block ends in a forked child."""
    folder = new_name()
    try:
        make_folder(folder)
        yield folder
    finally:
        remove_folder(folder)


def new_name(parent: Path | None = None) -> Path:
    """A name for a folder, known before it is made: an interruption at any point finds it."""
    return (parent or temporary_root()) / f"queryveil-{secrets.token_hex(8)}"


def make_folder(folder: Path) -> None:
    """Make the folder, and hold it until `remove` or the end of this process."""
    _removals[folder] = in_this_process(_remove_unlocked, folder)
    try:
        _make_locked(folder)
    except OSError as error:
        remove_folder(folder)
        raise OutputError(
            f"no working folder can be made in '{folder.parent}' ({error.strerror or type(error).__name__})",
            "set TMPDIR to a folder with room where you may write",
        ) from None


def _make_locked(folder: Path) -> None:
    """Make it under another name, which no sweep takes for a leftover; once it is held, it gets its own."""
    unheld = _unlocked_name(folder)
    unheld.mkdir(mode=0o700)
    lock = os.open(unheld / _LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    _held[folder] = lock
    fcntl.flock(lock, fcntl.LOCK_EX)
    # A full disk shows at the first byte.
    os.write(lock, _PAGE)
    os.fsync(lock)
    unheld.rename(folder)


def _unlocked_name(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.new")


def is_inside(file: Path) -> bool:
    """Whether a file lies in a folder that this process holds."""
    return any(folder in file.parents for folder in _held)


def remove_folder(folder: Path) -> None:
    """Remove a folder and release its lock, if this process has made it."""
    if (removal := _removals.get(folder)) is not None:
        removal()


def _remove_unlocked(folder: Path) -> None:
    with interruptions.hold_signals():
        shutil.rmtree(_unlocked_name(folder), ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        lock = _held.pop(folder, None)
        if lock is not None:
            os.close(lock)
        remove_tree(folder)  # once more: the lock was a descriptor
        del _removals[folder]


def sweep_leftovers() -> int:
    """Remove the folders of this user that no living process holds; how many there were."""
    swept = 0
    with contextlib.suppress(OSError):
        for found in sorted(temporary_root().iterdir()):
            if _NEVER_HELD.fullmatch(found.name) and time.time() - found.lstat().st_mtime > _ABANDONED:
                _left_behind(found)  # without a row of a log, so without a word
            if _NAME.fullmatch(found.name) and found not in _held and _left_behind(found):
                swept += 1
    return swept


def _left_behind(folder: Path) -> bool:
    """Whether nobody held the folder; then it is gone. Links and folders of others are left alone."""
    try:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return False
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()
    except OSError:
        return False
    finally:
        os.close(lock)
