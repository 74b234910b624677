"""Outputs that appear complete or not at all, and that one process at a time may write.

An output NAME is written in `.NAME.writing` beside it, a folder for its owner alone:

lock            held as long as the writer lives; the system lets go of it whatever becomes of the process
content         what will be NAME
complete.json   where everything goes, once all of it is on disk: outputs that belong together appear together

Whoever claims a place that a dead process had claimed finds one of two things. Without `complete.json` the rest is
swept away. With it the dead process had finished its work, and only the renaming is left to do, which is done.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from queryveil.errors import UsageError, argument
from queryveil.files import interruptions
from queryveil.files.forks import in_this_process
from queryveil.files.removal import remove_tree

_SUFFIX = ".writing"
_LOCK = "lock"
_CONTENT = "content"
_COMPLETE = "complete.json"


@dataclass(frozen=True)
class Claim:
    """A place that nobody else writes to meanwhile."""

    place: Path
    lock: int

    @property
    def folder(self) -> Path:
        return folder_of(self.place)

    @property
    def content(self) -> Path:
        """Where to write what is to appear: a file or a folder, which is not there yet."""
        return self.folder / _CONTENT

    def remove_temporary(self) -> None:
        """Take away everything that did not appear; the lock goes last."""
        for one in self.folder.iterdir():
            if one.name != _LOCK:
                _remove_content(one)
        (self.folder / _LOCK).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the next one may have claimed the place by now
            self.folder.rmdir()


class Claims:
    """Places whose contents appear together, the last one last: once it is there, everything is."""

    def __init__(self, claims: list[Claim]) -> None:
        self._claims = claims
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        """A descriptor for the end: what did not appear is taken away also if all others are in use."""
        self._split = False

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims)

    def publish_claims(self, words: str) -> None:
        """Put everything where it belongs; `words` say so if the command is interrupted later on."""
        for claim in self._claims:
            _sync_all(claim.content)
        with interruptions.hold_signals():
            _write_intent(self._claims)
            try:
                for claim in self._claims:
                    _move_into_place(claim.content, claim.place)
            except BaseException:
                self._undo_moves()
                raise
            finally:
                if not self._split and all(not os.path.lexists(claim.content) for claim in self._claims):
                    interruptions.note_result(self._claims[-1].place, words)

    def _undo_moves(self) -> None:
        """Take back what has appeared of a whole that cannot."""
        moved = [claim for claim in self._claims if not os.path.lexists(claim.content)]
        if len(moved) == len(self._claims):
            return
        self._split = True
        for claim in moved:
            claim.place.rename(claim.content)
        self._split = False

    def release_claims(self) -> None:
        """Give up the places. What is in two places is left for the next run, which puts it together."""
        with interruptions.hold_signals():
            if self._spare is not None:
                os.close(self._spare)
                self._spare = None
            if not self._split:
                # First of all: what is swept away must never look complete.
                for claim in self._claims:
                    with contextlib.suppress(OSError):
                        (claim.folder / _COMPLETE).unlink(missing_ok=True)
                for claim in self._claims:
                    with contextlib.suppress(OSError):
                        claim.remove_temporary()
            while self._claims:
                os.close(self._claims.pop().lock)


@contextlib.contextmanager
def claim_paths(*places: Path, option: str = argument("out")) -> Iterator[Claims]:
    """Claim places until the end of the block; contents that have not appeared by then are gone."""
    claims = Claims([])
    leave = in_this_process(claims.release_claims)
    try:
        for place in places:
            with interruptions.hold_signals():
                claims._claims.append(_claim_path(Path(os.path.abspath(place)), option))  # noqa: PTH100 (resolves '..')
        yield claims
    finally:
        try:
            leave()
        except KeyboardInterrupt:  # it may have come before it could be held back
            leave()
            raise


def finish_interrupted(place: Path) -> bool:
    """Let appear what a dead process had completed for this place; whether there was such a thing."""
    place = Path(os.path.abspath(place))  # noqa: PTH100 (resolves '..')
    if not (folder_of(place) / _COMPLETE).is_file():
        return False
    with claim_paths(place):
        return os.path.lexists(place)


def folder_of(place: Path) -> Path:
    """Where an output is while it is written."""
    return place.with_name(f".{place.name}{_SUFFIX}")


# -- claims --------------------------------------------------------------------------------------------------


def _claim_path(place: Path, option: str) -> Claim:
    folder = folder_of(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        try:
            lock = _lock_folder(folder, place, option)
        except OSError:
            # No descriptor for the lock: nobody else can have put anything in, if it is empty.
            with contextlib.suppress(OSError):
                folder.rmdir()
            raise
        if lock is not None:
            break
    claim = Claim(place, lock)
    try:
        # The first byte: a disk that is full says so now.
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        os.fsync(lock)
        _take_over(claim, option)
    except BaseException:
        if not (folder / _COMPLETE).exists():
            claim.remove_temporary()
        os.close(lock)
        raise
    return claim


def _lock_folder(folder: Path, place: Path, option: str) -> int | None:
    """The lock of a place; None if its folder went away meanwhile, and it is to be tried again."""
    _refuse_strange(folder, option)
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), (folder / _LOCK).lstat()):
            return lock
    except BlockingIOError:
        os.close(lock)
        raise UsageError(
            f"output '{place.name}' is being written by another process",
            f"wait for it, or choose another {option}",
        ) from None
    except FileNotFoundError:
        pass  # its owner has just left, and taken the file away
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _refuse_strange(folder: Path, option: str) -> None:
    """In a folder that many may write to, somebody else may have made it, to say what goes where."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise UsageError(
            f"'{folder.name}' is in the way, and is not a folder of yours alone",
            f"move it away, or choose another {option}",
        )


def _take_over(claim: Claim, option: str) -> None:
    """What a dead process left: finish its work if all of it is there, otherwise sweep it away."""
    note = claim.folder / _COMPLETE
    if not note.is_file():
        _remove_content(claim.content)
        return
    places = [Path(one) for one in json.loads(note.read_text(encoding="utf-8"))]
    with contextlib.ExitStack() as locks:
        for place in places:
            if place != claim.place:
                lock = _lock_folder(folder_of(place), place, option)
                if lock is not None:
                    locks.callback(os.close, lock)
        for place in places:
            if os.path.lexists(folder_of(place) / _CONTENT):
                _move_into_place(folder_of(place) / _CONTENT, place)
        for place in places:
            if place != claim.place:
                remove_tree(folder_of(place))
    note.unlink()


# -- the disk ------------------------------------------------------------------------------------------------


def _write_intent(claims: list[Claim]) -> None:
    """Say where everything goes, beside each part of it."""
    text = json.dumps([str(claim.place) for claim in claims])
    for claim in claims:
        draft = claim.folder / f"{_COMPLETE}.draft"
        draft.write_text(text, encoding="utf-8")
        _sync_path(draft)
        draft.rename(claim.folder / _COMPLETE)
        _sync_path(claim.folder)


def _move_into_place(content: Path, place: Path) -> None:
    if os.path.lexists(place):  # a file, or an empty folder, would be replaced without a word
        raise UsageError(f"output '{place.name}' exists already", "choose another name, or move it away")
    content.rename(place)
    # Not every file system can; the content itself is on disk.
    with contextlib.suppress(OSError):
        _sync_path(place.parent)


def _sync_all(content: Path) -> None:
    for parent, _, files in os.walk(content):
        for name in files:
            _sync_path(Path(parent) / name)
        _sync_path(Path(parent))
    if content.is_file():
        _sync_path(content)


def _sync_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_content(content: Path) -> None:
    if content.is_dir() and not content.is_symlink():
        remove_tree(content)
    else:
        content.unlink(missing_ok=True)
