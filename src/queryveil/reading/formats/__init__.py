"""Source formats: each module declares one as `FORMAT`, and no other code names it.

A format is loaded when it is first used, because commands list the names at every start.
"""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING

from queryveil.plugins import Registry

if TYPE_CHECKING:
    from queryveil.reading.model import Format

FORMATS: Registry[Format] = Registry(
    "formats",
    "format",
    {one.name.replace("_", "-"): f"{__name__}.{one.name}:FORMAT" for one in pkgutil.iter_modules(__path__)},
    name_of=lambda format: format.name,
)
"""The formats by name, those of other packages included."""
