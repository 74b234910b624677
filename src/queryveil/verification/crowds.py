"""Manifests of methods without noise: the parameters are known ones, and the promise is theirs and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from queryveil.catalog import Sentence
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
    assumptions: tuple[str, ...] = ()
    """Codes of statements that the guarantee must have."""
    caveats: tuple[str, ...] = ()


def missing_statements(where: str, guarantee: Mapping[str, Any], needed: Iterable[str]) -> Iterator[str]:
    """Yield the statements that `assumptions` or `caveats` lack."""
    said = codes(guarantee.get(where))
    yield from (
        Sentence("verify.crowds.no-statement", where=where, code=code) for code in needed if code not in said
    )


def manifest_checks(manifest: Manifest, promised: Promised) -> list[Check]:
    """If the first of these fails, nothing that follows from the parameters can be checked."""
    parameters, guarantee = manifest.section("parameters"), manifest.section("guarantee")
    return [
        judge(
            "parameters",
            Sentence("verify.crowds.parameters-belong-to-method-and-are"),
            lambda: _check_parameters(manifest, promised),
        ),
        judge(
            "promise",
            Sentence("verify.crowds.kind-assumptions-and-caveats-of-guarantee"),
            lambda: _check_guarantee(parameters, guarantee, promised),
        ),
    ]


def _check_parameters(manifest: Manifest, promised: Promised) -> Iterator[str]:
    parameters, rules = manifest.section("parameters"), promised.parameters
    known = {*rules, *manifest.declared, *([_READ_SO] if parameters.get(_READ_SO) is True else [])}
    yield from (
        Sentence("verify.crowds.method-has-no-parameter", name=quoted(name))
        for name in parameters
        if name not in known
    )
    for name, holds in rules.items():
        if name not in parameters:
            yield Sentence("verify.crowds.is-missing", name=name)
        elif not holds(parameters[name]):
            yield Sentence("verify.crowds.is-outside-its-limits", name=name)
    if manifest.section("calibration"):
        yield Sentence("verify.crowds.manifest-states-calibration-but-method-adds")


def _check_guarantee(
    parameters: Mapping[str, Any], guarantee: Mapping[str, Any], promised: Promised
) -> Iterator[str]:
    if guarantee.get("kind") != promised.kind:
        yield Sentence("verify.crowds.kind-of-guarantee-is-not", kind=promised.kind)
    if guarantee.get("unit") != "user" or guarantee.get("neighbours") is not None:
        yield Sentence("verify.crowds.guarantee-is-not-per-user-or")
    for name in ("epsilon", "delta", "implies", "parts"):
        if name in guarantee:
            yield Sentence("verify.crowds.guarantee-has-which-only-differential-privacy", name=name)
    if guarantee.get("k") != (parameters.get("k") if promised.kind == "k-anonymity" else None):
        yield Sentence("verify.crowds.guarantee-and-parameters-state-different-values")
    if guarantee.get("shared", "") != promised.shared:
        yield Sentence("verify.crowds.guarantee-does-not-say-what-k")
    for where, needed in (("assumptions", promised.assumptions), ("caveats", promised.caveats)):
        yield from missing_statements(where, guarantee, needed)


def columns_check(
    expected: Mapping[str, Mapping[str, pa.DataType]], named: set[str], opened: Mapping[str, Opened]
) -> Check:
    return judge(
        "columns",
        Sentence("verify.crowds.tables-and-their-columns-fit-method"),
        lambda: _check_columns(expected, named, opened),
    )


def _check_columns(
    expected: Mapping[str, Mapping[str, pa.DataType]], named: set[str], opened: Mapping[str, Opened]
) -> Iterator[str]:
    yield from (
        Sentence("verify.crowds.there-is-no-table", name=name) for name in expected if name not in named
    )
    yield from (
        Sentence("verify.crowds.table-does-not-belong-to-method", name=quoted(name))
        for name in sorted(named - set(expected))
    )
    for name, columns in expected.items():
        if name in opened and list(_column_types(opened[name].table)) != list(columns.items()):
            yield Sentence(
                "verify.crowds.table-does-not-have-exactly-columns", name=name, join=", ".join(columns)
            )


def _column_types(table: pa.Table) -> Iterator[tuple[str, pa.DataType]]:
    yield from ((one.name, one.type) for one in table.schema)
