"""Attacks logs and releases, each time next to a control.

An attack is a frozen dataclass whose fields are its declared parameters; one file each, registered by one line below.
It reports how much more often it succeeds than its control. The command line follows from the declaration.

May import: errors, parameters, plugins, compiled, catalog, display, files, reading, privacy, language, mechanisms,
release, synthetic, measure.
"""

from __future__ import annotations

from queryveil.attack.protocol import Attack
from queryveil.plugins import Registry

ATTACKS: Registry[type[Attack]] = Registry(
    "attacks",
    "attack",
    {
        "sybil": "queryveil.attack.sybil:SybilAttack",
        "active": "queryveil.attack.active.active:ActiveAttack",
        "homogeneity": "queryveil.attack.homogeneity:HomogeneityAttack",
        "linkage": "queryveil.attack.linkage:LinkageAttack",
        "exposure": "queryveil.attack.exposure.exposure:ExposureAttack",
    },
    name_of=lambda cls: cls.name,
)
"""The attacks by name, those of other packages included."""

__all__ = ["ATTACKS", "Attack"]
