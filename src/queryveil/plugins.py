"""Registries of commands, methods, formats, measures, and attacks, built-in or added by other packages.

A package adds a record through an entry point: group `queryveil.mechanisms`, name `common-queries`, value
`some.module:CommonQueries`. Names are read from the metadata of installed packages when a registry is listed or asked
for a name that is not built in, and a record is loaded when it is first used. `verify` uses built-in records alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, TypeVar

from queryveil.errors import UsageError

T = TypeVar("T")

OTHER_PACKAGES: Final[Mapping[str, Mapping[str, str]]] = {
    "command": {"audit": "queryveil-lab", "compare": "queryveil-lab"},
    "attack": {"hash-inversion": "queryveil-lab", "relinking": "queryveil-lab"},
}
"""Package to install for commands and attacks that are not built in."""


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A record that another package provides."""

    kind: str
    """What it is: command, method, format, measure, or attack."""
    name: str
    package: str
    version: str

    def as_dict(self) -> dict[str, str]:
        return {"kind": self.kind, "name": self.name, "package": self.package, "version": self.version}


class Registry(Mapping[str, T]):
    """Records by name: built-in ones in their order, then those of other packages by name."""

    def __init__(
        self, group: str, kind: str, homes: Mapping[str, str], name_of: Callable[[T], Any] | None = None
    ) -> None:
        """Declare a registry.

        Args:
            group: The part after `queryveil.` of the group of entry points.
            kind: What a record is called in messages.
            homes: Name of each built-in record, and where it is: "module:attribute".
            name_of: Returns the name that a record declares, which must be that of its entry point.
        """
        self._group, self._kind, self._name_of = f"queryveil.{group}", kind, name_of
        self.built_in: Mapping[str, T] = _BuiltIn(homes)
        """Records of this package, for code that must not load any other."""

    def __getitem__(self, name: str) -> T:
        if name in self.built_in:
            return self.built_in[name]
        return self._load(self._entry_points[name])

    def __iter__(self) -> Iterator[str]:
        yield from self.built_in
        yield from self._entry_points

    def __len__(self) -> int:
        return len(self.built_in) + len(self._entry_points)

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._entry_points

    def plugin(self, name: str) -> Plugin | None:
        """Return which package provides a record; None if it is built in, or if there is none."""
        point = None if name in self.built_in else self._entry_points.get(name)
        if point is None:
            return None
        package, version = _package(point)
        return Plugin(kind=self._kind, name=name, package=package, version=version)

    @functools.cached_property
    def plugins(self) -> tuple[str, ...]:
        """The names that other packages add."""
        return tuple(self._entry_points)

    @functools.cached_property
    def _entry_points(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=self._group), key=lambda one: (one.name, one.value)):
            other = "queryveil" if point.name in self.built_in else None
            if point.name in found and found[point.name].value != point.value:
                other = _package(found[point.name])[0]
            if other is not None:
                raise UsageError(
                    f"the packages {other} and {_package(point)[0]} both provide the {self._kind} '{point.name}'",
                    "uninstall one of them, or give its entry point another name",
                )
            found[point.name] = point
        return found

    def _load(self, point: EntryPoint) -> T:
        package, _ = _package(point)
        try:
            record: T = point.load()
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"the {self._kind} '{point.name}' of the package {package} cannot be loaded ({type(error).__name__})",
                f"install a version of {package} for this version of queryveil, or uninstall it",
            ) from error
        if self._name_of is not None and self._name_of(record) != point.name:
            raise UsageError(
                f"the {self._kind} '{point.name}' of the package {package} has another name than its entry point",
                f"install a version of {package} that is repaired, or uninstall it",
            )
        return record


class _BuiltIn(Mapping[str, T]):
    """Built-in records by name, each loaded when it is first used."""

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = homes

    def __getitem__(self, name: str) -> T:
        module, _, attribute = self._homes[name].partition(":")
        record: T = getattr(import_module(module), attribute)
        return record

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __contains__(self, name: object) -> bool:
        return name in self._homes


def _package(point: EntryPoint) -> tuple[str, str]:
    """Return name and version of the package that an entry point belongs to."""
    found = point.dist
    return (found.name, found.version) if found is not None else ("unknown", "0")
