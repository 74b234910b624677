"""Lists what no check can find out from a release alone, so that silence is not taken for a check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queryveil.catalog import Sentence, list_parts
from queryveil.errors import Message, argument
from queryveil.privacy.declarations import EDITED, GROUPED, HASHES, LABELS, LISTED, TYPED
from queryveil.release import planned
from queryveil.verification import rows, texts
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import quoted

_TEXTS = {**dict.fromkeys((TYPED, LISTED, EDITED, GROUPED), "text"), LABELS: "label", HASHES: "hash"}


def unchecked(manifest: Manifest, *, taxonomy_given: bool, passes: bool) -> Iterator[str]:
    """Yield one line for each thing that no check covers: its name, a colon, and why.

    The limits of values are stated only if the release `passes`: they are read from its declarations.
    """
    content = manifest.content
    for one in content.get("plugins", ()) if passes else ():
        yield (
            Sentence(
                "verify.unchecked.is-of-package-its-proof-is",
                kind=one["kind"],
                name=one["name"],
                package=one["package"],
                version=one["version"],
            )
        )
    if about := manifest.section("about"):
        yield Sentence("verify.unchecked.about-are-publisher-own-words", join=", ".join(map(quoted, about)))
    if content.get("withheld"):
        yield Sentence("verify.unchecked.withheld-which-rows-were-taken-out")
    yield Sentence("verify.unchecked.created-any-day-is-not-in")
    yield Sentence("verify.unchecked.software-any-version-of-queryveil-passes")
    yield (Sentence("verify.unchecked.parameters-guarantee-follows-from-them-but"))
    limits = (
        Sentence("verify.unchecked.limits-of-values", join="; ".join(_value_limits(manifest)))
        if passes
        else ""
    )
    yield (Sentence("verify.unchecked.tables-which-rows-there-are-and", limits=limits))
    draws = content.get("draws")
    if draws:
        yield Sentence("verify.unchecked.noise-one-release-does-not-show")
    if isinstance(draws, list) and any("public" in draw for draw in draws if isinstance(draw, dict)):
        yield (Sentence("verify.unchecked.public-list-whether-is-public-and"))
    if planned.foreign(content) is not None and not taxonomy_given:
        figures = (
            Sentence("verify.unchecked.concepts-sensitivities-and-how-near-draws")
            if content.get("calibration")
            else ""
        )
        given = argument("taxonomy", "FILE")
        yield Message(
            Sentence(
                "verify.unchecked.taxonomy-whether-labels-belong-to-pass", figures=figures, taxonomy=given
            )
        )


def _value_limits(manifest: Manifest) -> Iterator[str]:
    """Yield each column of values and what the checks require of it."""
    for name, declared in manifest.section("tables").items():
        for column in declared["columns"]:
            limit = _value_limit(manifest, name, declared, column)
            if limit:
                yield f"{name}.{column['name']} {limit}"


def _value_limit(
    manifest: Manifest, name: str, declared: Mapping[str, Any], column: Mapping[str, Any]
) -> str:
    if column["name"] == "deviation":
        scale, grid = rows.noise_of_counts(manifest, name)
        return Sentence("verify.unchecked.at-least-noise-of-row-counts", value=-(-scale // grid))
    if column["name"] == "count":
        return _count_limit(manifest, name, declared)
    if column["name"] in declared.get("inside", {}):
        return Sentence("verify.unchecked.any-is-in", inside=declared["inside"][column["name"]])
    if column["type"] == "int64":
        return ""
    form = texts.form(declared, column["name"])
    return Sentence(
        "verify.unchecked.any", form=Sentence(f"verify.texts.{form or _TEXTS[declared['texts']]}")
    )


def _count_limit(manifest: Manifest, name: str, declared: Mapping[str, Any]) -> str:
    limits = []
    if (above := rows.thresholds(manifest).get(name)) is not None:
        limits.append(Sentence("verify.unchecked.above", above=above))
    if (least := declared.get("least")) is not None:
        limits.append(Sentence("verify.unchecked.at-least", least=least))
    if (k := manifest.section("guarantee").get("k")) is not None:
        limits.append(Sentence("verify.unchecked.at-least", least=k))
    return list_parts([*limits, Sentence("verify.unchecked.at-most", most=rows.MAX_COUNT)])
