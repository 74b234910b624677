"""Logs that can be chosen: files below allowed folders, and uploads. Nothing else of the disk can be named.

A request takes one `LogSnapshot` of a log and uses nothing else: the file and its state, how it is read, and the
columns that were found. Snapshots never change, so what was confirmed, charged, and published cannot differ.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import queryveil as qv
from queryveil.errors import InputError, UsageError
from queryveil.files import confined
from queryveil.show.web.settings import Settings

_TEXTS = {"tsv", "csv", "txt", "log", "jsonl", "ndjson", "json"}
_TABLES = {"parquet", "feather", "arrow", "orc", "sqlite", "db", "duckdb", "xlsx", "ods"}
_PACKED = {"gz", "zst", "bz2", "xz", "zip"}
_SUFFIXES = frozenset(_TEXTS | _TABLES | _PACKED)
_MOST_FILES = 200
_DEEPEST = 3
_SQLITE = b"SQLite format 3\0"
_UNSETTLED = (".wal", "-wal", "-journal")
"""Endings of the files beside a database that hold some of its rows."""


@dataclass(frozen=True)
class LogFile:
    """A file that can be chosen."""

    id: str
    folder: Path
    """The allowed folder, or that of uploads: the file must lie below it whenever it is used."""
    path: Path
    name: str
    """How people call it: its path below its folder, or the name of the uploaded file."""
    uploaded: bool = False


@dataclass(frozen=True, kw_only=True)
class LogSnapshot:
    """A log as one request sees it."""

    file: LogFile
    identity: confined.Identity
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """How it is read, as `queryveil.read` takes it."""
    columns: Mapping[str, Any] | None = None
    """The format and the columns that reading it found; None before that."""

    @property
    def id(self) -> str:
        return self.file.id

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def uploaded(self) -> bool:
        return self.file.uploaded

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def displayed_path(self) -> str:
        """The path for a command; for an upload its name, because the copy is deleted at the end."""
        return self.name if self.uploaded else str(self.path)

    @property
    def reading_key(self) -> str:
        """The digest of the file and of how it is read."""
        return _content_digest({**self.as_dict(), "columns": None})

    @property
    def digest(self) -> str:
        """The digest of everything that a person confirms; empty before the columns are known."""
        return "" if self.columns is None else _content_digest(self.as_dict())

    def with_columns(self, found: Mapping[str, Any]) -> LogSnapshot:
        """Return the snapshot with the format and columns of a result of reading it."""
        return dataclasses.replace(self, columns=freeze(columns_of(found["format"], found["columns"])))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, from which `from_dict` makes the same snapshot."""
        return {
            "id": self.id,
            "folder": str(self.file.folder),
            "path": str(self.path),
            "name": self.name,
            "uploaded": self.uploaded,
            "identity": list(self.identity),
            "options": _thaw_mapping(self.options),
            "columns": None if self.columns is None else _thaw_mapping(self.columns),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> LogSnapshot:
        """Return the snapshot that `as_dict` described."""
        file = LogFile(
            given["id"], Path(given["folder"]), Path(given["path"]), given["name"], given["uploaded"]
        )
        inode, size, written, changed = given["identity"]
        return cls(
            file=file,
            identity=(inode, size, written, changed),
            options=freeze(given["options"]),
            columns=None if given["columns"] is None else freeze(given["columns"]),
        )

    def read(self, place: Path, progress: Any = None) -> qv.SearchLog:
        """Read the log in a process that reads nothing else, and refuse any other file or other columns.

        The file is opened once, below its allowed folder and without following links. Readers get a link to the open
        file, in the folder `place`, so a file that is swapped in later is never read.

        Raises:
            InputError: if the file is not the one of the snapshot, or its columns are not those that were confirmed.
        """
        try:
            handle = confined.open_file(self.file.folder, self.path)
        except PermissionError:
            raise InputError(
                "no permission to read the file of the log", "ask its owner, or copy it"
            ) from None
        except OSError:
            raise _changed_error() from None
        if confined.identity_of_open(handle) != self.identity:
            raise _changed_error()
        self._refuse_unsettled()
        shown = place / "input" / self.path.name
        shown.parent.mkdir(mode=0o700)
        if os.pread(handle, len(_SQLITE), 0) == _SQLITE:
            # SQLite resolves links to names, and would open the file by its name again.
            with open(handle, "rb", closefd=False) as source, shown.open("xb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
        else:
            shown.symlink_to(f"/proc/{os.getpid()}/fd/{handle}")
        log = qv.read(shown, progress=progress, **_thaw_mapping(self.options))
        if confined.identity_of_open(handle) != self.identity:
            raise _changed_error()
        if self.columns is not None and columns_of_log(log) != _thaw_mapping(self.columns):
            raise InputError(
                "the columns of the log are not those that were confirmed",
                "look at its columns again, and confirm them; nothing was charged",
            )
        return log

    def _refuse_unsettled(self) -> None:
        for ending in _UNSETTLED:
            beside = self.path.with_name(self.path.name + ending)
            if beside.exists() and beside.stat().st_size:
                raise InputError(
                    f"the database is in use: some of its rows are still in {beside.name!r}",
                    "close the program that writes to it, and start again",
                )


def columns_of(format: str | None, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a person confirms: the format, and the source of each standard column."""
    return {"format": format, "columns": dict(columns)}


def columns_of_log(log: qv.SearchLog) -> dict[str, Any]:
    """Return what a person confirms of a log that was read."""
    staged = log.staged
    return columns_of(staged.format, staged.mapping) if staged else columns_of(None, {})


def freeze(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a mapping that cannot be changed, with its inner mappings."""
    return MappingProxyType(
        {name: freeze(value) if isinstance(value, Mapping) else value for name, value in given.items()}
    )


def _thaw_mapping(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _thaw_mapping(value) if isinstance(value, Mapping) else value for name, value in given.items()
    }


def _content_digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _changed_error() -> InputError:
    return InputError(
        "the file of the log has changed since you looked at it",
        "look at its columns again, and confirm them; nothing was charged",
    )


@dataclass(frozen=True)
class ListedFile:
    """A file that can be chosen, with what a list shows of it."""

    id: str
    name: str
    bytes: int
    changed: float
    folder: str


class Logs:
    """All logs of this start."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._uploads: dict[str, LogFile] = {}
        self._found: dict[str, LogFile] = {}

    def files(self) -> tuple[list[ListedFile], int]:
        """Return the files below the allowed folders that may be logs, and how many have unusable names.

        Releases and private folders are left out. A name that is not UTF-8 fits in no page, command, or recipe.
        """
        found: list[ListedFile] = []
        unusable = 0
        for folder, path in self._below_folders():
            if not _is_text(str(path)):
                unusable += 1
                continue
            file = _log_file(folder, path)
            try:
                _, size, written, _ = confined.identity_of(file.folder, file.path)
            except OSError:
                continue
            found.append(ListedFile(file.id, file.name, size, written / 1e9, folder.name or str(folder)))
            if len(found) >= _MOST_FILES:
                break
        return found, unusable

    def uploads(self) -> list[LogFile]:
        return list(self._uploads.values())

    def find(self, id: str) -> LogFile | None:
        """Return a log by its id. Files of folders keep theirs over a restart."""
        if id in self._uploads:
            return self._uploads[id]
        if id not in self._found:
            for folder, path in self._below_folders():
                if _is_text(str(path)) and (file := _log_file(folder, path)).id == id:
                    self._found[id] = file
        return self._found.get(id)

    def snapshot(self, id: str, options: Mapping[str, Any]) -> LogSnapshot | None:
        """Return the log as it is now and as it is to be read; None if there is no such file below its folder."""
        file = self.find(id)
        if file is None:
            return None
        try:
            identity = confined.identity_of(file.folder, file.path)
        except OSError:
            return None
        return LogSnapshot(file=file, identity=identity, options=freeze(options))

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

    def add_upload(self, id: str, path: Path) -> LogFile:
        path.chmod(0o600)
        self._uploads[id] = LogFile(id, self.settings.uploads, path, path.name, uploaded=True)
        return self._uploads[id]

    def is_upload(self, id: str) -> bool:
        return id in self._uploads

    def forget(self, id: str) -> None:
        """Delete an upload."""
        shutil.rmtree(self._uploads.pop(id).path.parent, ignore_errors=True)

    def _below_folders(self) -> Iterator[tuple[Path, Path]]:
        for folder in self.settings.folders:
            for path in _files_below(folder, _DEEPEST):
                yield folder, path


def _log_file(folder: Path, path: Path) -> LogFile:
    """Return a file of an allowed folder; its id is the same after a restart."""
    id = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    return LogFile(id, folder, path, path.relative_to(folder).as_posix())


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _files_below(folder: Path, depth: int) -> Iterator[Path]:
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
            yield from _files_below(one, depth - 1)
        elif one.is_file() and one.suffix.lower().lstrip(".") in _SUFFIXES:
            yield one
