"""Source formats: each module declares one as `FORMAT`, and no other code names it.

A format is loaded when it is first used, because commands list the names at every start.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queryveil.reading.model import Format

_MODULES = {one.name.replace("_", "-"): one.name for one in pkgutil.iter_modules(__path__)}


class _Formats(Mapping[str, "Format"]):
    """All formats by name."""

    def __getitem__(self, name: str) -> Format:
        declared: Format = import_module(f"{__name__}.{_MODULES[name]}").FORMAT
        return declared

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


FORMATS: Mapping[str, Format] = _Formats()
