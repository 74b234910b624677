"""Takes folders away, also where this process has hardly a descriptor left."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path


def remove_tree(folder: Path) -> None:
    """Take away a folder and what is in it, as far as that can be done; links are not followed."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        _by_names(folder)


def _by_names(folder: Path) -> None:
    """The same with one descriptor, and not the two for each level that `rmtree` takes."""
    with contextlib.suppress(OSError):
        for here, folders, files in os.walk(folder, topdown=False):
            for name in files:
                Path(here, name).unlink()
            for name in folders:
                below = Path(here, name)
                below.unlink() if below.is_symlink() else below.rmdir()
        folder.rmdir()
