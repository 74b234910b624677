"""Implements the methods: each states its guarantee before any data is read, then turns a log into tables.

A mechanism is a frozen dataclass whose fields are its declared parameters; one file or package each, registered by one
line below. It can say what it promises without any data (`plan`), and turn a log into tables (`protect`). Command
line, contract tests, data sheet and docs follow from the declaration.

May import: errors, parameters, plugins, compiled, catalog, display, files, reading, count, privacy, language.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from queryveil.errors import UsageError, instead
from queryveil.mechanisms.base import Mechanism, Plan, Run
from queryveil.parameters import parameters
from queryveil.plugins import Registry

_HOMES = (
    "steered:Steered",
    "weighted_gaussian:WeightedGaussian",
    "zealous.zealous:Zealous",
    "click_graph.click_graph:ClickGraph",
    "k_query:KQuery",
    "k_session.k_session:KSession",
    "k_keyword:KKeyword",
    "token_hash:TokenHash",
    "ad_hoc.ad_hoc:AdHoc",
    "transactions.clump:Clump",
    "transactions.partition:Partition",
    "semantic.semantic:Semantic",
    "profile_histogram.profile_histogram:ProfileHistogram",
    "truncated_geometric:TruncatedGeometric",
)
"""Where each mechanism lives, module and class. A new one is one line here."""


_BEFORE_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def _name_of_class(home: str) -> str:
    """Return the name of a mechanism: that of its class, in small letters with hyphens."""
    return _BEFORE_CAPITAL.sub("-", home.partition(":")[2]).lower()


MECHANISMS: Registry[type[Mechanism]] = Registry(
    "mechanisms",
    "method",
    {_name_of_class(home): f"{__name__}.{home}" for home in _HOMES},
    name_of=lambda cls: cls.name,
)
"""The mechanisms by name, those of other packages included."""

__all__ = ["MECHANISMS", "Mechanism", "Plan", "Run", "build_mechanism", "mechanism"]


def mechanism(name: str) -> type[Mechanism]:
    """The mechanism of that name."""
    if name not in MECHANISMS:
        raise UsageError(f"there is no method '{name}'", instead(name, MECHANISMS))
    return MECHANISMS[name]


def build_mechanism(
    method: Mechanism | str, given: Mapping[str, Any], items: str | Sequence[str] | None = None
) -> Mechanism:
    """Return the mechanism for a value, or for a name with parameters; it counts `items` if they are given."""
    if isinstance(method, str):
        made = _from_name(method, given)
    elif given:
        name = next(iter(given))
        raise UsageError(
            f"there is no argument '{name}', and a mechanism has its parameters already",
            "leave it out, or give the mechanism by its name",
        )
    else:
        made = _check_method(method)
    if items is None:
        return made
    kinds = tuple(items.split(",")) if isinstance(items, str) else tuple(items)
    return dataclasses.replace(made, items=kinds)  # type: ignore[type-var]


def _from_name(name: str, given: Mapping[str, Any]) -> Mechanism:
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


def _check_method(method: Any) -> Mechanism:
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
