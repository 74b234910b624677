"""Releases that a command is given: what is wrong with one is said, and no reason to stop."""

from __future__ import annotations

from pathlib import Path

import queryveil as qv
from queryveil.cli import console


def load(path: Path) -> qv.Release:
    """A release, with a warning if it fails its checks: someone may want to look at one that was changed."""
    loaded = qv.load(path)
    warn(path)
    return loaded


def warn(path: Path) -> None:
    """Say which checks of `release verify` a release fails."""
    try:
        failed = [check.name for check in qv.verify(path).failed]
    except qv.InputError:
        failed = ["manifest"]
    if failed:
        checks = "the check" if len(failed) == 1 else f"{len(failed)} checks:"
        console.warn(
            f"the release '{path}' fails {checks} {', '.join(failed)}, and need not be what it says that it is",
            f"see queryveil release verify {path}",
        )
