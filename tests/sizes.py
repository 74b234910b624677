"""How much is tried: here a part that shows the same, and all of it under `make evidence`."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import TypeVar

One = TypeVar("One")

FULL = "QUERYVEIL_FULL_SIZE" in os.environ


def chosen(every: Sequence[One], part: Collection[One]) -> list[One]:
    """These of them, or all."""
    if missing := [one for one in part if one not in every]:
        raise ValueError(f"{missing} are none of those that there are")
    return [one for one in every if FULL or one in part]
