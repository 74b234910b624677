"""Attacks: one file each, registered by one line below.

An attack is a frozen dataclass whose fields are its declared parameters. It runs beside a control and reports how
much more often it succeeds; the command line follows from the declaration.
"""

from __future__ import annotations

from queryveil.attacks.frame import Attack, AttackInput, AttackResult
from queryveil.attacks.sybil import SybilAttack

ATTACKS: dict[str, type[Attack]] = {
    cls.name: cls
    for cls in (
        SybilAttack,
    )
}  # fmt: skip

__all__ = ["ATTACKS", "Attack", "AttackInput", "AttackResult", "SybilAttack"]
