"""Attacks: one file each, registered by one line below.

An attack is a frozen dataclass whose fields are its declared parameters. It runs beside a control and reports how
much more often it succeeds; the command line follows from the declaration.

May import: errors, parameters, files, reading, privacy, language, mechanisms, release, synthetic, measure.
"""

from __future__ import annotations

from queryveil.attack.active.active import ActiveAttack
from queryveil.attack.exposure.exposure import ExposureAttack
from queryveil.attack.hash_inversion import HashInversionAttack
from queryveil.attack.homogeneity import HomogeneityAttack
from queryveil.attack.linkage import LinkageAttack
from queryveil.attack.protocol import Attack, AttackInput, AttackResult
from queryveil.attack.sybil import SybilAttack

ATTACKS: dict[str, type[Attack]] = {
    cls.name: cls
    for cls in (
        SybilAttack,
        ActiveAttack,
        HomogeneityAttack,
        LinkageAttack,
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
    "SybilAttack",
]
