"""Mechanisms: one file each, registered by one line below.

A mechanism is a frozen dataclass whose fields are its declared parameters. It can say what it promises without
any data (`plan`), and turn a log into tables (`protect`). Command line, web form, contract tests, data sheet
and docs follow from the declaration.
"""

from __future__ import annotations

from queryveil.errors import UsageError
from queryveil.mechanisms.frame import Mechanism, Plan, Run
from queryveil.mechanisms.zealous import Zealous

MECHANISMS: dict[str, type[Mechanism]] = {cls.name: cls for cls in (Zealous,)}

__all__ = ["MECHANISMS", "Mechanism", "Plan", "Run", "Zealous", "mechanism"]


def mechanism(name: str) -> type[Mechanism]:
    """The mechanism of that name."""
    if name not in MECHANISMS:
        raise UsageError(f"there is no method '{name}'", f"use one of {', '.join(MECHANISMS)}")
    return MECHANISMS[name]
