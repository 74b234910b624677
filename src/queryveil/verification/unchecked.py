"""What no check can see: a short list that is printed at the end, so that nobody takes silence for a check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queryveil.files import folder
from queryveil.release import planned
from queryveil.verification.manifest import Manifest
from queryveil.verification.rebuilt import Software

FORMERLY_IN_WORDS: dict[str, tuple[str, ...]] = {
    "ad-hoc": ("min_users", "max_session", "k", "regions"),
    "clump": ("transactions", "whole_queries", "r", "algorithm", "criterion", "order", "lcg", "distinct"),
    "partition": ("transactions", "whole_queries"),
    "click-graph": ("non_negative",),
}
"""Parameters that format 1 named in sentences only; today they are declared."""

_WORDS = "what, how, assessment, assumptions and caveats"


def unchecked(manifest: Manifest, software: Software, *, taxonomy_given: bool) -> Iterator[str]:
    """One line for each thing: its name, a colon, and why it cannot be checked."""
    method, content = manifest.content.get("method"), manifest.content
    if not software.same:
        yield (
            f"{folder.DATASHEET}, {folder.REPORT}, {folder.CROISSANT}, and in {folder.MANIFEST} {_WORDS}: their "
            f"sentences {software.whose}; rely only on their figures"
        )
    if content.get("about"):
        yield f"about: {', '.join(map(str, content['about']))} are the publisher's own words"
    if content.get("withheld"):
        yield "withheld: which rows were taken out, and that they were chosen without the log"
    yield "created: nobody can check the day"
    yield (
        "parameters: the publisher says that the release was made with them; what follows from them was computed anew"
        + _traceless(str(method), content.get("parameters"), former=manifest.written == folder.FORMER_VERSION)
    )
    yield "tables: a release does not show whether its rows come from a log, or from which one"
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
        yield (f"taxonomy: {figures}whether labels belong to it; pass its file with --taxonomy FILE")


def _traceless(method: str, given: Any, *, former: bool) -> str:
    names = FORMERLY_IN_WORDS.get(method, ()) if former else ()
    there = [name for name in names if isinstance(given, dict) and name in given]
    return f"; only sentences show {', '.join(there)}" if there else ""
