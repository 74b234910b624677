"""New files that appear together, whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from queryveil.errors import OutputError, UsageError
from queryveil.files import appearing, output


@contextmanager
def new_files(*paths: Path) -> Iterator[tuple[Path, ...]]:
    """Temporary siblings of `paths`, renamed to them at the end; on any failure nothing is left."""
    try:
        _refuse_existing(paths)
        # The first one appears last: once it is there, everything is.
        with appearing.claim_paths(*reversed(paths), option="name") as claims:
            _refuse_existing(paths)  # again, now that nobody else can make them
            yield tuple(claim.content for claim in reversed(list(claims)))
            claims.publish_claims(f"'{paths[0]}' is complete")
    except OSError as error:
        # Arrow's own text of an error repeats the temporary name.
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        if isinstance(error, FileExistsError | NotADirectoryError):
            reason = "its folder is a file"
        raise OutputError(
            f"{paths[0]} cannot be written ({reason})", "check the folder and its space"
        ) from error


def _refuse_existing(paths: tuple[Path, ...]) -> None:
    for path in paths:
        output.on_this_machine(path, option="")
        if path.exists():
            raise UsageError(f"{path} exists", "choose another name or remove it first")
        output.outside_releases(path, option="")
