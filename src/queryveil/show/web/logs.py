"""Logs that may be chosen: files below allowed folders, and uploads. Nothing else of the disk can be named."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from queryveil.errors import UsageError
from queryveil.show.web.settings import Settings

_TEXTS = {"tsv", "csv", "txt", "log", "jsonl", "ndjson", "json"}
_TABLES = {"parquet", "feather", "arrow", "orc", "sqlite", "db", "duckdb", "xlsx", "ods"}
_PACKED = {"gz", "zst", "bz2", "xz", "zip"}
_SUFFIXES = frozenset(_TEXTS | _TABLES | _PACKED)
_MOST_FILES = 200
_DEEPEST = 3


def stamp(path: str | Path) -> list[int]:
    """Size and time of a file: other ones are another log."""
    try:
        facts = Path(path).stat()
    except OSError:
        return [0, 0]
    return [facts.st_size, facts.st_mtime_ns]


@dataclass
class ChosenLog:
    """A log, and how it is to be read."""

    id: str
    path: Path
    name: str
    """What people call it: its path below its folder, or the name of the uploaded file."""
    uploaded: bool = False
    how: dict[str, Any] = field(default_factory=dict)
    """What was said about reading it, as `queryveil.read` takes it."""

    @property
    def said_path(self) -> str:
        """What to write in a command: of an upload its name, since the copy here goes away."""
        return self.name if self.uploaded else str(self.path)

    @property
    def spec(self) -> dict[str, Any]:
        """What a job is told of it: where it is, how it is read, and what the file was like."""
        return {"path": str(self.path), "how": self.how, "stamp": stamp(self.path)}

    def digest(self, columns: Mapping[str, Any]) -> str:
        """Of the file and of its columns as they were read: what a person confirms, and nothing else."""
        said = json.dumps([self.spec, dict(columns)], sort_keys=True, default=str)
        return hashlib.sha256(said.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True)
class Found:
    """A file that may be chosen."""

    id: str
    name: str
    bytes: int
    changed: float
    folder: str


class Logs:
    """All logs of this start."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._chosen: dict[str, ChosenLog] = {}

    def files(self) -> list[Found]:
        """Files below the allowed folders that may be logs; releases and private folders are none."""
        found = []
        for folder in self.settings.folders:
            for path in _below(folder, _DEEPEST):
                facts = path.stat()
                name = path.relative_to(folder).as_posix()
                found.append(
                    Found(_id(path), name, facts.st_size, facts.st_mtime, folder.name or str(folder))
                )
                if len(found) >= _MOST_FILES:
                    return found
        return found

    def chosen(self) -> list[ChosenLog]:
        return list(self._chosen.values())

    def find(self, id: str) -> ChosenLog | None:
        """A log by its id. Files of folders keep theirs over a restart."""
        if id in self._chosen:
            return self._chosen[id]
        for folder in self.settings.folders:
            for path in _below(folder, _DEEPEST):
                if _id(path) == id:
                    self._chosen[id] = ChosenLog(id, path, path.relative_to(folder).as_posix())
                    return self._chosen[id]
        return None

    def place_for_upload(self, given: str) -> tuple[str, Path]:
        """A new place for an upload, under a name of which nothing but letters, figures and dots is left."""
        id = secrets.token_hex(6)
        last = re.split(r"[/\\]", given)[-1]
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", last).lstrip(".")[-100:]
        if not name:
            raise UsageError("the file has no name", "choose a file first")
        folder = self.settings.uploads / id
        folder.mkdir(mode=0o700, parents=True)
        return id, folder / name

    def uploaded(self, id: str, path: Path) -> ChosenLog:
        path.chmod(0o600)
        self._chosen[id] = ChosenLog(id, path, path.name, uploaded=True)
        return self._chosen[id]

    def forget(self, log: ChosenLog) -> None:
        """Take an upload away; a file of a folder is left alone."""
        self._chosen.pop(log.id, None)
        if log.uploaded:
            shutil.rmtree(log.path.parent, ignore_errors=True)


def _id(path: Path) -> str:
    return hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """Regular files inside, no links: what a link points to was not allowed."""
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return
    if any(one.name == "manifest.json" for one in inside):
        return
    for one in inside:
        # What the generator planted in its log is listed beside it, for those who attack a release; it is no log.
        if one.name.startswith(".") or one.name.endswith(".secrets.tsv") or one.is_symlink():
            continue
        if one.is_dir() and depth > 0 and not one.name.endswith(".private"):
            yield from _below(one, depth - 1)
        elif one.is_file() and one.suffix.lower().lstrip(".") in _SUFFIXES:
            yield one
