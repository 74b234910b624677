"""Attacks: one file each, registered by one line below.

An attack is a frozen dataclass whose fields are its declared parameters. It runs beside a control and reports how
much more often it succeeds; the command line follows from the declaration.
"""

from __future__ import annotations

from queryveil.attacks.active import ActiveAttack
from queryveil.attacks.exposure import ExposureAttack
from queryveil.attacks.frame import Attack, AttackInput, AttackResult
from queryveil.attacks.hash_inversion import HashInversionAttack
from queryveil.attacks.homogeneity import HomogeneityAttack
from queryveil.attacks.linkage import LinkageAttack
from queryveil.attacks.sybil import SybilAttack

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
