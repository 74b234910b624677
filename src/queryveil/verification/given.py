"""The folder of what a program hands over to be checked."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

from queryveil.files import workspace
from queryveil.release.publish import Release
from queryveil.release.series.publish import Series


@contextlib.contextmanager
def folder_of(value: Release | Series) -> Iterator[Path]:
    """Where it is on disk; a release that was not saved is there until it is checked, without its private facts."""
    if value.path is not None:
        yield value.path
        return
    with workspace.temporary_folder() as place:
        public = dataclasses.replace(value, private={}, private_path=None)
        yield public.save(place / "release").path or place
