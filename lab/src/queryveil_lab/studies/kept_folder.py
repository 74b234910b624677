"""The folder beside an output in which finished cells are kept: whose it is, and what in it is ours."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from queryveil import UsageError
from queryveil.extension import argument, output

PARTIAL_SUFFIX = ".partial"
ABOUT = "about.json"
_SAID = {"study", "version", "axes", "repeats", "results", "log", "software"}
_TEMPORARY = re.compile(r"\A(.+)\.[0-9a-f]{8}\.tmp\Z")


def beside(out: Path) -> Path:
    """Where the finished cells of an output are kept."""
    return out.with_name(out.name + PARTIAL_SUFFIX)


def check_place(out: Path) -> None:
    """Refuse an output whose finished cells would go to something that is there already, and not from here."""
    place = beside(out)
    with output.disk_errors(out):
        taken = place.is_symlink() or (place.exists() and not (place.is_dir() and _is_cells_folder(place)))
    if taken:
        raise UsageError(
            f"finished cells would be kept in '{place}', which exists already and is not from an earlier run",
            f"move it away, or choose another {argument('out')}",
        )


def _is_cells_folder(place: Path) -> bool:
    """Whether a folder says that it holds finished cells, or has nothing in it."""
    if not plain(place / ABOUT):
        return all(meant(file) == ABOUT for file in place.iterdir())
    about = json_of(place / ABOUT)
    return isinstance(about, Mapping) and about.keys() >= _SAID


def plain(file: Path) -> bool:
    """Whether it is a file, and no link to one."""
    return file.is_file() and not file.is_symlink()


def meant(file: Path) -> str | None:
    """The name that a file would have got, if writing it was cut short."""
    found = _TEMPORARY.fullmatch(file.name)
    return f"{found[1]}.json" if found and plain(file) else None


def json_of(file: Path) -> Any:
    """What a file holds; None if that is no JSON."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return None
