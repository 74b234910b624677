"""Releases and series in the folder of releases, by name: nothing outside of it can be named."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import queryveil as qv

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True)
class Shelved:
    """A release as a list shows it."""

    name: str
    path: Path
    manifest: dict[str, Any]

    @property
    def method(self) -> str:
        return str(self.manifest.get("method", ""))

    @property
    def created(self) -> str:
        return str(self.manifest.get("created", ""))

    @property
    def rows(self) -> int:
        tables = self.manifest.get("tables", {})
        return sum(int(one.get("rows", 0)) for one in tables.values()) if isinstance(tables, dict) else 0

    @property
    def signed(self) -> bool:
        return (self.path / "manifest.json.sig").is_file()

    @property
    def private(self) -> Path:
        return self.path.with_name(f"{self.path.name}.private")


def checked_name(given: str) -> str:
    """A name that is one folder and nothing else."""
    if not _NAME.fullmatch(given) or given.endswith((".private", ".")) or given == "workbench.private":
        raise qv.UsageError(
            "the name of a release has letters, figures, dots, dashes and underscores, 80 at most",
            "choose a short name such as web-2026-01",
        )
    return given


def releases(folder: Path) -> list[Shelved]:
    """All releases, the newest first."""
    found = []
    for place in _folders(folder):
        manifest = _document(place / "manifest.json")
        if manifest is not None:
            found.append((place.stat().st_mtime, Shelved(place.name, place, manifest)))
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])]


def find(folder: Path, name: str) -> Shelved | None:
    """A release by its name."""
    if not _NAME.fullmatch(name):
        return None
    return next((one for one in releases(folder) if one.name == name), None)


def series(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """All series, with what their index says."""
    found = [(place.name, _document(place / "series.json")) for place in _folders(folder)]
    return [(name, content) for name, content in found if content is not None]


def find_series(folder: Path, name: str) -> dict[str, Any] | None:
    """What the index of a series says, by its name."""
    return dict(series(folder)).get(name) if _NAME.fullmatch(name) else None


def _folders(folder: Path) -> list[Path]:
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    return [
        one
        for one in inside
        if _NAME.fullmatch(one.name)
        and not one.name.endswith(".private")
        and one.is_dir()
        and not one.is_symlink()
    ]


def _document(file: Path) -> dict[str, Any] | None:
    try:
        if file.is_symlink() or file.stat().st_size > 50_000_000:
            return None
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
