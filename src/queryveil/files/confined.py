"""Files below a folder that other people may write to: no link is followed, and no pipe or device is opened.

A path that was checked once may lead elsewhere a moment later, so every use goes through these functions, which walk
from the folder down without following links. Only the folder itself is trusted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

Identity = tuple[int, int, int, int]
"""Inode, size, and times of the last change of content and of status: a file with another identity is another file."""


def identity_of(folder: Path, path: Path) -> Identity:
    """Return the identity of a regular file below a folder.

    Raises:
        OSError: if the file is missing, is not a regular file, or is reached through a symbolic link.
    """
    with _open_parent(folder, path) as parent:
        return _file_identity(os.stat(path.name, dir_fd=parent, follow_symlinks=False))


def open_file(folder: Path, path: Path) -> int:
    """Return a descriptor for reading a regular file below a folder; the caller closes it.

    Raises:
        OSError: if the file is missing, cannot be read, is not a regular file, or is reached through a symbolic link.
    """
    with _open_parent(folder, path) as parent:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
        handle = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
    try:
        _file_identity(os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def identity_of_open(handle: int) -> Identity:
    """Return the identity of an open file."""
    return _file_identity(os.fstat(handle))


def read_bytes(folder: Path, path: Path, at_most: int) -> bytes:
    """Return the content of a regular file below a folder.

    Raises:
        OSError: as for `open_file`, and if the file is larger than `at_most` bytes.
    """
    with open(open_file(folder, path), "rb") as file:
        content = file.read(at_most + 1)
    if len(content) > at_most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return content


@contextlib.contextmanager
def _open_parent(folder: Path, path: Path) -> Iterator[int]:
    """Open the folder of a path, one name at a time, and close it at the end."""
    names = path.relative_to(folder).parts
    if not names or ".." in names:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    here = os.open(folder, flags)
    try:
        for name in names[:-1]:
            inner = os.open(name, flags, dir_fd=here)
            os.close(here)
            here = inner
        yield here
    finally:
        os.close(here)


def _file_identity(facts: os.stat_result) -> Identity:
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
