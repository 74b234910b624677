"""Where results may go: to a place that is new and can be written, and never into a published folder.

It is asked before a log is read, so that nobody waits for work whose result is then refused. What only the writing
itself shows, such as a full disk, is told in the same words.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

from queryveil.errors import OutputError, UsageError, argument
from queryveil.files import appearing, folder

# A scheme and a slash, of which a path keeps one; or the letter of a drive.
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:([/\\]|$)|[A-Za-z]:")


_UPLOADED = {
    *("public", "public_html", "www", "htdocs", "dist", "site", "_site", "upload", "uploads"),
    *("dropbox", "onedrive", "googledrive", "google drive", "icloud drive", "nextcloud", "owncloud"),
}
"""Folders that are published, or copied to a server, by their names."""
_OUT = argument("out")
_PRIVATE = argument("private")
_VERSIONED = (".git", ".hg", ".svn")


def new_release(out: Path, private: Path | None = None) -> None:
    """Refuse a release folder that cannot be made, or whose private folder cannot; `private` if it is not beside."""
    new_folder(out)
    if private is None:
        new_folder(folder.private_folder(out))
        return
    on_this_machine(private, _PRIVATE, "folder")
    one, other = Path(os.path.realpath(out)), Path(os.path.realpath(private))
    if one == other or one in other.parents or other in one.parents:
        raise UsageError(
            "the release and its private folder must be in different places, or you would hand over both together",
            f"name a place elsewhere with {argument('private')}",
        )
    new_folder(private, _PRIVATE)


def upload_warnings(private: Path) -> tuple[str, ...]:
    """A warning, if the private folder lies inside what looks like a folder that is handed on as a whole."""
    for one in Path(os.path.realpath(private)).parents:
        name = one.name.lower()
        named = name in _UPLOADED or name.startswith("onedrive - ")
        if named or any((one / sign).exists() for sign in _VERSIONED):
            return (
                f"the private folder '{private}' lies inside '{one.name}', which looks like a folder that is uploaded: "
                "keep it out of what you hand on, or choose another place with --private",
            )
    return ()


def new_folder(out: Path, option: str = _OUT) -> None:
    """Refuse a place where no new folder can be made."""
    _refuse_output(out, option, "folder")


def new_file(out: Path, option: str = _OUT) -> None:
    """Refuse a place where no new file can be made."""
    _refuse_output(out, option, "file")


def outside_releases(out: Path, option: str = _OUT) -> None:
    """Refuse a place inside a release: what is published stays as it is, and holds nothing but the release."""
    place = Path(os.path.realpath(out))
    for one in (place, *place.parents):
        if folder.is_release(one):
            raise UsageError(
                f"a published folder is never changed, but '{out}' would be inside the release '{one.name}'",
                f"name a place elsewhere with {option}" if option else "name a place elsewhere",
            )


def on_this_machine(out: Path, option: str = _OUT, noun: str = "file") -> None:
    """Refuse the address of a bucket, a server or a drive: it would become the name of a folder here."""
    if _ELSEWHERE.match(str(out)):
        raise UsageError(
            f"output '{out}' looks like an address outside this machine",
            f"name a {noun} here" + (f" with {option}" if option else "") + ", and copy it there afterwards",
        )


@contextlib.contextmanager
def disk_errors(out: Path, option: str = _OUT) -> Iterator[None]:
    """What the disk refuses, as a sentence."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"output '{out}' cannot be written ({reason_of(error)})",
            "choose a place with room where you may write" + (f", with {option}" if option else ""),
        ) from None


def _refuse_output(out: Path, option: str, noun: str) -> None:
    if out.name in ("", ".."):
        raise UsageError(f"output '{out}' is not the name of a new {noun}", f"choose another {option}")
    on_this_machine(out, option, noun)
    with disk_errors(out, option):
        if appearing.finish_interrupted(out):
            raise UsageError(
                f"output '{out}' exists already: an earlier run completed it before it was killed",
                f"look at it, or choose another {option or 'name'}",
            )
        if out.exists() or out.is_symlink():
            raise UsageError(
                f"output '{out}' exists already", f"choose another {option}, or move the {noun} away"
            )
        outside_releases(out, option)
        _is_writable(out)


def _is_writable(out: Path) -> None:
    """Whether the nearest folder that exists lets something new be made in it."""
    nearest = next(one for one in Path(os.path.realpath(out)).parents if one.exists())
    if not nearest.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def reason_of(error: OSError) -> str:
    """What the system says; Arrow's own text of it goes on for several phrases."""
    return os.strerror(error.errno) if error.errno else type(error).__name__
