"""Attacks logs and releases, each time beside a control.

An attack is a frozen dataclass whose fields are its declared parameters; one file each, registered by one line below.
It reports how much more often it succeeds than its control. The command line follows from the declaration.

May import: errors, parameters, compiled, catalog, display, files, reading, privacy, language, mechanisms, release,
synthetic, measure.
"""

from __future__ import annotations

from queryveil.attack.active.active import ActiveAttack
from queryveil.attack.exposure.exposure import ExposureAttack
from queryveil.attack.hash_inversion import HashInversionAttack
from queryveil.attack.homogeneity import HomogeneityAttack
from queryveil.attack.linkage import LinkageAttack
from queryveil.attack.protocol import Attack, AttackInput, AttackResult
from queryveil.attack.relinking.relinking import RelinkingAttack
from queryveil.attack.sybil import SybilAttack

ATTACKS: dict[str, type[Attack]] = {
    cls.name: cls
    for cls in (
        SybilAttack,
        ActiveAttack,
        HomogeneityAttack,
        LinkageAttack,
        RelinkingAttack,
        ExposureAttack,
        HashInversionAttack,
    )
}  # fmt: skip

__all__ = [
    "ATTACKS",
    "ActiveAttack",
    "Attack",
    "AttackInput",
    "AttackResult",
    "ExposureAttack",
    "HashInversionAttack",
    "HomogeneityAttack",
    "LinkageAttack",
    "RelinkingAttack",
    "SybilAttack",
]
