"""Manifests of methods without noise: the parameters are known ones, and the promise is theirs and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from queryveil.verification.manifest import Manifest, codes
from queryveil.verification.outcome import Check, judge, quoted
from queryveil.verification.tables import Opened

MOST_USERS = 10**12

Rule = Callable[[Any], bool]
"""Whether a parameter may have a value."""


def whole(low: int, high: int) -> Rule:
    return lambda value: type(value) is int and low <= value <= high


def one_of(*choices: str) -> Rule:
    return lambda value: isinstance(value, str) and value in choices


_READ_SO = "segment"
"""What a release of any method may state beside its own parameters: words were found by dictionaries."""


@dataclass(frozen=True)
class Promised:
    """What the manifest of a method must say."""

    parameters: Mapping[str, Rule]
    kind: str = "k-anonymity"
    shared: str = ""
    assumptions: Mapping[str, str] = field(default_factory=dict)
    """Codes that the assumptions must have, and what these say."""
    caveats: Mapping[str, str] = field(default_factory=dict)


def manifest_checks(manifest: Manifest, promised: Promised) -> list[Check]:
    """If the first of these fails, nothing that follows from the parameters can be checked."""
    parameters, guarantee = manifest.section("parameters"), manifest.section("guarantee")
    return [
        judge(
            "parameters",
            "the parameters belong to the method and are within their limits",
            lambda: _parameters(manifest, promised),
        ),
        judge(
            "promise",
            "kind, assumptions and caveats of the guarantee fit the method",
            lambda: _promise(parameters, guarantee, promised),
        ),
    ]


def _parameters(manifest: Manifest, promised: Promised) -> Iterator[str]:
    parameters, rules = manifest.section("parameters"), promised.parameters
    known = {*rules, *manifest.declared, *([_READ_SO] if parameters.get(_READ_SO) is True else [])}
    yield from (f"the method has no parameter {quoted(name)}" for name in parameters if name not in known)
    for name, holds in rules.items():
        if name not in parameters:
            yield f"'{name}' is missing"
        elif not holds(parameters[name]):
            yield f"'{name}' is outside its limits"
    if manifest.section("calibration"):
        yield "the manifest states a calibration, but the method adds no noise"


def _promise(
    parameters: Mapping[str, Any], guarantee: Mapping[str, Any], promised: Promised
) -> Iterator[str]:
    if guarantee.get("kind") != promised.kind:
        yield f"the kind of the guarantee is not '{promised.kind}'"
    if guarantee.get("unit") != "user" or guarantee.get("neighbours") is not None:
        yield "the guarantee is not per user, or it names neighbours, which only differential privacy has"
    for name in ("epsilon", "delta", "implies", "parts"):
        if name in guarantee:
            yield f"the guarantee has '{name}', which only differential privacy has"
    if guarantee.get("k") != (parameters.get("k") if promised.kind == "k-anonymity" else None):
        yield "the guarantee and the parameters state different values of k"
    if guarantee.get("shared", "") != promised.shared:
        yield "the guarantee does not say what k users share"
    for where, needed in (("assumptions", promised.assumptions), ("caveats", promised.caveats)):
        said = codes(guarantee.get(where))
        yield from (f"the {where} do not say {what}" for code, what in needed.items() if code not in said)


def columns_check(
    expected: Mapping[str, Mapping[str, pa.DataType]], named: set[str], opened: Mapping[str, Opened]
) -> Check:
    return judge(
        "columns",
        "the tables and their columns fit the method",
        lambda: _columns(expected, named, opened),
    )


def _columns(
    expected: Mapping[str, Mapping[str, pa.DataType]], named: set[str], opened: Mapping[str, Opened]
) -> Iterator[str]:
    yield from (f"there is no table '{name}'" for name in expected if name not in named)
    yield from (
        f"table {quoted(name)} does not belong to the method" for name in sorted(named - set(expected))
    )
    for name, columns in expected.items():
        if name in opened and list(_types(opened[name].table)) != list(columns.items()):
            yield f"table '{name}' does not have exactly the columns {', '.join(columns)}"


def _types(table: pa.Table) -> Iterator[tuple[str, pa.DataType]]:
    yield from ((one.name, one.type) for one in table.schema)
