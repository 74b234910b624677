"""The mechanism that a program means: a value, or a name with parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from queryveil.errors import UsageError, instead
from queryveil.mechanisms import MECHANISMS, Mechanism, mechanism
from queryveil.parameters import parameters


def chosen(
    method: Mechanism | str, given: Mapping[str, Any], items: str | Sequence[str] | None = None
) -> Mechanism:
    """The mechanism to use, counting `items` if they are given; refused with a sentence if it is none."""
    if isinstance(method, str):
        made = _named(method, given)
    elif given:
        name = next(iter(given))
        raise UsageError(
            f"there is no argument '{name}', and a mechanism has its parameters already",
            "leave it out, or give the mechanism by its name",
        )
    else:
        made = _value(method)
    if items is None:
        return made
    kinds = tuple(items.split(",")) if isinstance(items, str) else tuple(items)
    return dataclasses.replace(made, items=kinds)  # type: ignore[type-var]


def _named(name: str, given: Mapping[str, Any]) -> Mechanism:
    cls = mechanism(name)
    declared = parameters(cls)
    names = [one.name for one in declared]
    for one in given:
        if one not in names:
            raise UsageError(f"neither publish nor '{name}' has an argument '{one}'", instead(one, names))
    missing = [one.name for one in declared if one.required and one.name not in given]
    if missing:
        example = ", ".join(f"{one}={cls.example.get(one, '...')}" for one in missing)
        raise UsageError(f"method '{name}' needs {' and '.join(missing)}", f"pass {example}")
    return cls(**given)


def _value(method: Any) -> Mechanism:
    if isinstance(method, type) and any(method is MECHANISMS[name] for name in MECHANISMS):
        raise UsageError(
            f"{method.__name__} is a class, and a mechanism with its parameters is needed",
            f"pass {method.__name__}(...)",
        )
    if not isinstance(method, Mechanism):
        raise UsageError(
            f"a {type(method).__name__} is no mechanism",
            "pass one, such as queryveil.Steered(epsilon=1, delta=1e-6), or its name and parameters",
        )
    return method
