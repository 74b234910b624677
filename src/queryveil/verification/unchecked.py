"""Lists what no check can find out from a release alone, so that silence is not taken for a check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queryveil.privacy.declarations import EDITED, GROUPED, HASHES, LABELS, LISTED, TYPED
from queryveil.release import planned
from queryveil.verification import rows, texts
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import quoted

_TEXTS = {
    **dict.fromkeys((TYPED, LISTED, EDITED, GROUPED), "any text"),
    LABELS: "any label",
    HASHES: "any hash",
}


def unchecked(manifest: Manifest, *, taxonomy_given: bool, passes: bool) -> Iterator[str]:
    """Yield one line for each thing that no check covers: its name, a colon, and why.

    The limits of values are stated only if the release `passes`: they are read from its declarations.
    """
    content = manifest.content
    for one in content.get("plugins", ()) if passes else ():
        yield (
            f"{one['kind']}: {one['name']} is of the package {one['package']} {one['version']}; its proof is not "
            "queryveil's, and no package is loaded to check a release"
        )
    if about := manifest.section("about"):
        yield f"about: {', '.join(map(quoted, about))} are the publisher's own words"
    if content.get("withheld"):
        yield "withheld: which rows were taken out, how many, and that they were chosen without the log"
    yield "created: any day that is not in the future passes"
    yield "software: any version of queryveil passes"
    yield (
        "parameters: the guarantee follows from them, but the tables do not show which parameters they were made "
        "with; a table made with others passes if its values are within the limits below"
    )
    limits = f". Limits of values: {'; '.join(_limits(manifest))}" if passes else ""
    yield (
        "tables: which rows there are, and their values; a release does not show whether they come from a log, or "
        f"from which one{limits}"
    )
    draws = content.get("draws")
    if draws:
        yield "noise: one release does not show whether it was drawn as stated"
    if isinstance(draws, list) and any("public" in draw for draw in draws if isinstance(draw, dict)):
        yield (
            "public list: whether it is public and was made without the log, and which rows are on it; ask for its "
            "file"
        )
    if planned.foreign(content) is not None and not taxonomy_given:
        figures = "concepts, sensitivities and how near draws are, and " if content.get("calibration") else ""
        yield f"taxonomy: {figures}whether labels belong to it; pass its file with --taxonomy FILE"


def _limits(manifest: Manifest) -> Iterator[str]:
    """Yield each column of values and what the checks require of it."""
    for name, declared in manifest.section("tables").items():
        for column in declared["columns"]:
            limit = _limit(manifest, name, declared, column)
            if limit:
                yield f"{name}.{column['name']} {limit}"


def _limit(manifest: Manifest, name: str, declared: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    if column["name"] == "deviation":
        scale, grid = rows.noise_of_counts(manifest, name)
        return f"at least {-(-scale // grid):,}, the noise of a row that counts users fully"
    if column["name"] == "count":
        return _count_limit(manifest, name, declared)
    if column["name"] in declared.get("inside", {}):
        return f"any that is in {declared['inside'][column['name']]}"
    if column["type"] == "int64":
        return ""
    form = texts.form(declared, column["name"])
    return f"any {form}" if form else _TEXTS[declared["texts"]]


def _count_limit(manifest: Manifest, name: str, declared: Mapping[str, Any]) -> str:
    limits = []
    if (above := rows.thresholds(manifest).get(name)) is not None:
        limits.append(f"above {above:,}")
    if (least := declared.get("least")) is not None:
        limits.append(f"at least {least:,}")
    if (k := manifest.section("guarantee").get("k")) is not None:
        limits.append(f"at least {k:,}")
    return " and ".join([*limits, f"at most {rows.MAX_COUNT:,}"])
