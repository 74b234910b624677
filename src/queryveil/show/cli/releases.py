"""Releases that a command is given: what is wrong with one is said, and no reason to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import queryveil as qv
from queryveil.parameters import OUTPUT
from queryveil.show.cli import console

Private = Annotated[
    list[Path] | None,
    typer.Option(
        "--private",
        metavar="DIR",
        rich_help_panel=OUTPUT,
        help="the private folder of each release, in their order, if not beside it",
    ),
]


def load(path: Path, private: Path | None = None) -> qv.Release:
    """A release, with a warning if it fails its checks: someone may want to look at one that was changed."""
    loaded = qv.load(path, private=private)
    warn(path)
    return loaded


def paired(paths: list[Path], private: list[Path] | None) -> list[tuple[Path, Path | None]]:
    """Which private folder belongs to which release: those that were named, in the order of the releases."""
    if private and len(private) != len(paths):
        raise qv.UsageError(
            f"{len(private)} private folders are named for {len(paths)} releases",
            "pass --private once for each release, in their order, or leave it out",
        )
    apart: list[Path | None] = list(private) if private else [None] * len(paths)
    return list(zip(paths, apart, strict=True))


def warn(path: Path) -> None:
    """Say which checks of `release verify` a release fails."""
    try:
        failed = [check.name for check in qv.verify(path).failed]
    except qv.InputError:
        failed = ["manifest"]
    if failed:
        checks = "the check" if len(failed) == 1 else f"{len(failed)} checks:"
        console.warn(
            f"the release '{path}' fails {checks} {', '.join(failed)}, and may not be what it says it is",
            f"see queryveil release verify {path}",
        )
