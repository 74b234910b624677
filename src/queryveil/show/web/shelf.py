"""Releases and series in the folder of releases, by name: nothing outside of it can be named.

Anyone may have written these folders. What pages show of them is validated here, and a folder that is not valid is
listed as damaged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import queryveil as qv
from queryveil.catalog import from_data
from queryveil.files import confined

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_LARGEST_DOCUMENT = 50_000_000
_LARGEST_COUNT = 2**63

Kind = TypeVar("Kind")
Entry = TypeVar("Entry", "ShelvedRelease", "ShelvedSeries")


@dataclass(frozen=True, kw_only=True)
class ShelvedRelease:
    """A release as a list shows it."""

    name: str
    path: Path
    method: str
    created: str
    rows: int

    @property
    def signed(self) -> bool:
        return (self.path / "manifest.json.sig").is_file()

    @property
    def private(self) -> Path:
        return self.path.with_name(f"{self.path.name}.private")


@dataclass(frozen=True)
class ShelvedPeriod:
    """A published period of a series."""

    name: str
    folder: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class ShelvedSeries:
    """A series as pages show it."""

    name: str
    path: Path
    method: str
    complete: bool
    unit: str
    """The length of a period: day, week, or month."""
    planned: int
    """How many periods the calendar has."""
    first: str
    last: str
    guarantee: tuple[str, ...]
    periods: tuple[ShelvedPeriod, ...]


@dataclass(frozen=True)
class Shelf:
    """Everything in the folder of releases."""

    releases: tuple[ShelvedRelease, ...]
    """The newest first."""
    series: tuple[ShelvedSeries, ...]
    damaged: tuple[str, ...]
    """Names of folders whose manifest or index cannot be used."""


def checked_name(given: str) -> str:
    """A name that is one folder and nothing else."""
    if not _NAME.fullmatch(given) or given.endswith((".private", ".")) or given == "workbench.private":
        raise qv.UsageError(
            "the name of a release has letters, figures, dots, dashes and underscores, 80 at most",
            "choose a short name such as web-2026-01",
        )
    return given


def load_shelf(folder: Path) -> Shelf:
    """Return all releases and series of a folder."""
    releases: list[tuple[float, ShelvedRelease]] = []
    series: list[ShelvedSeries] = []
    damaged: list[str] = []
    for place in _entry_folders(folder):
        try:
            release, one_series = _read_release(place), _read_series(place)
        except ValueError:
            damaged.append(place.name)
            continue
        if release is not None:
            releases.append((place.stat().st_mtime, release))
        if one_series is not None:
            series.append(one_series)
    newest_first = tuple(one for _, one in sorted(releases, key=lambda pair: -pair[0]))
    return Shelf(newest_first, tuple(series), tuple(damaged))


def find_release(folder: Path, name: str) -> ShelvedRelease | None:
    """Return a release by its name; None if there is none, or it is damaged."""
    return _find_entry(folder, name, _read_release)


def find_series(folder: Path, name: str) -> ShelvedSeries | None:
    """Return a series by its name; None if there is none, or it is damaged."""
    return _find_entry(folder, name, _read_series)


def _find_entry(folder: Path, name: str, load: Callable[[Path], Entry | None]) -> Entry | None:
    place = next((one for one in _entry_folders(folder) if one.name == name), None)
    try:
        return load(place) if place is not None else None
    except ValueError:
        return None


def _entry_folders(folder: Path) -> Iterator[Path]:
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return
    for one in inside:
        private = not _NAME.fullmatch(one.name) or one.name.endswith(".private")
        if not private and not one.is_symlink() and one.is_dir():
            yield one


# -- validation: everything below raises ValueError for a document that is not what it should be --------------


def _read_release(place: Path) -> ShelvedRelease | None:
    manifest = _read_document(place, "manifest.json")
    if manifest is None:
        return None
    tables = _typed_value(manifest, "tables", dict).values()
    return ShelvedRelease(
        name=place.name,
        path=place,
        method=_typed_value(manifest, "method", str),
        created=_typed_value(manifest, "created", str),
        rows=sum(_require_count(_require_type(table, dict).get("rows")) for table in tables),
    )


def _read_series(place: Path) -> ShelvedSeries | None:
    content = _read_document(place, "series.json")
    if content is None:
        return None
    calendar = _typed_value(content, "calendar", dict)
    sentences = from_data(_typed_value(_typed_value(content, "guarantee", dict), "sentences", list))
    return ShelvedSeries(
        name=place.name,
        path=place,
        method=_typed_value(content, "method", str),
        complete=_typed_value(content, "complete", bool),
        unit=_typed_value(calendar, "period", str),
        planned=_require_count(calendar.get("periods")),
        first=_typed_value(calendar, "from", str),
        last=_typed_value(calendar, "to", str),
        guarantee=tuple(_require_type(one, str) for one in sentences),
        periods=tuple(
            _read_period(_require_type(one, dict)) for one in _typed_value(content, "periods", list)
        ),
    )


def _read_period(entry: dict[str, Any]) -> ShelvedPeriod:
    rows = sum(_require_count(one) for one in _typed_value(entry, "released", dict).values())
    return ShelvedPeriod(_typed_value(entry, "period", str), _typed_value(entry, "folder", str), rows)


def _read_document(place: Path, name: str) -> dict[str, Any] | None:
    """Return a JSON object of a folder; None if there is no such file."""
    try:
        content = confined.read_bytes(place, place / name, _LARGEST_DOCUMENT)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(name) from error
    try:
        return _require_type(json.loads(content), dict)
    except RecursionError as error:
        raise ValueError(name) from error


def _typed_value(content: dict[str, Any], name: str, kind: type[Kind]) -> Kind:
    return _require_type(content.get(name), kind)


def _require_type(value: Any, kind: type[Kind]) -> Kind:
    if not isinstance(value, kind):
        raise ValueError(f"not a {kind.__name__}")
    return value


def _require_count(value: Any) -> int:
    # JSON has numbers such as 1e400, which are infinite, and True is an int.
    if type(value) is not int or not 0 <= value < _LARGEST_COUNT:
        raise ValueError("not a count")
    return value
