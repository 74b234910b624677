"""queryveil publishes search logs without exposing the people in them.

The names below follow the data: read a log, look at its risk, plan a release, publish it, check it.

    import queryveil as qv

    log = qv.read("log.tsv.gz")                                  # read
    qv.inspect(log).uniqueness                                   # see the risk
    method = qv.Zealous(epsilon=1, delta=1e-6, max_items=5)      # bound, count, protect
    method.plan(users=100_000).guarantee                         # known before any data is read
    release = qv.publish(log, method, items="queries")           # release
    release.guarantee, release.tables["items"], release.save("out/")
    qv.verify("out/").passed                                     # judge
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queryveil.engine import connect
    from queryveil.errors import (
        BudgetError,
        CannotBeMet,
        CannotCompose,
        CheckFailed,
        InputError,
        OutputError,
        QueryveilError,
        UsageError,
    )
    from queryveil.generator import SETTINGS, LogSettings, generate
    from queryveil.guarantee import Guarantee
    from queryveil.inspection import Inspection, inspect
    from queryveil.items import KINDS, ItemKind
    from queryveil.ledger import Ledger
    from queryveil.log import SearchLog, read
    from queryveil.mechanisms import MECHANISMS, Mechanism, Plan, Zealous
    from queryveil.noise import Noise
    from queryveil.release import Release, publish
    from queryveil.text import keywords, normalise
    from queryveil.verification import Verification, verify

# Where each public name lives; it is imported when first used, so that `queryveil --help` is quick.
_HOME = {
    "read": "log",
    "SearchLog": "log",
    "connect": "engine",
    "normalise": "text",
    "keywords": "text",
    "KINDS": "items",
    "ItemKind": "items",
    "inspect": "inspection",
    "Inspection": "inspection",
    "MECHANISMS": "mechanisms",
    "Mechanism": "mechanisms",
    "Plan": "mechanisms",
    "Zealous": "mechanisms",
    "Guarantee": "guarantee",
    "Noise": "noise",
    "publish": "release",
    "Release": "release",
    "verify": "verification",
    "Verification": "verification",
    "Ledger": "ledger",
    "generate": "generator",
    "LogSettings": "generator",
    "SETTINGS": "generator",
    "QueryveilError": "errors",
    "UsageError": "errors",
    "InputError": "errors",
    "BudgetError": "errors",
    "CannotBeMet": "errors",
    "CannotCompose": "errors",
    "CheckFailed": "errors",
    "OutputError": "errors",
}

__all__ = [
    "KINDS",
    "MECHANISMS",
    "SETTINGS",
    "BudgetError",
    "CannotBeMet",
    "CannotCompose",
    "CheckFailed",
    "Guarantee",
    "InputError",
    "Inspection",
    "ItemKind",
    "Ledger",
    "LogSettings",
    "Mechanism",
    "Noise",
    "OutputError",
    "Plan",
    "QueryveilError",
    "Release",
    "SearchLog",
    "UsageError",
    "Verification",
    "Zealous",
    "connect",
    "generate",
    "inspect",
    "keywords",
    "normalise",
    "publish",
    "read",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'queryveil' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(f"queryveil.{_HOME[name]}"), name)
    # Some modules are named like what they hold (normalise, verify, generate): the public name wins.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
