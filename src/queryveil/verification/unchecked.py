"""What no check can see: a short list that is printed at the end, so that nobody takes silence for a check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queryveil.files import folder
from queryveil.release import planned
from queryveil.verification.manifest import Manifest
from queryveil.verification.rebuilt import Software

TRACELESS: dict[str, tuple[str, ...]] = {
    "clump": ("r", "criterion", "order", "lcg", "distinct"),
    "ad-hoc": ("regions",),
}
"""Parameters that nothing else in a release follows from."""
IN_WORDS: dict[str, tuple[str, ...]] = {
    "ad-hoc": ("min_users",),
    "clump": ("transactions", "whole_queries"),
    "partition": ("transactions", "whole_queries"),
    "click-graph": ("non_negative",),
}
"""Parameters that only sentences name, or declarations that format 1 did not have: unchecked where these are."""

_WORDS = "what, how, assessment, assumptions and caveats"


def unchecked(manifest: Manifest, software: Software, *, taxonomy_given: bool) -> Iterator[str]:
    """One line for each thing: its name, a colon, and why it cannot be checked."""
    method, content = manifest.content.get("method"), manifest.content
    if not software.same:
        yield (
            f"{folder.DATASHEET}, {folder.REPORT}, {folder.CROISSANT}, and in {folder.MANIFEST} {_WORDS}: their "
            f"sentences are {software.whose}; do not rely on what they say beyond the figures"
        )
    yield "created: the day is the publisher's word"
    yield (
        "parameters: that the release was made with them is the publisher's word; what follows from them was computed "
        "anew" + _traceless(str(method), content.get("parameters"), in_words=not software.same)
    )
    yield "tables: that their rows come from a log, and from which one, cannot be seen"
    if content.get("draws"):
        yield "noise: that it was drawn as stated cannot be seen from one release"
    if planned.foreign(content) is not None and not taxonomy_given:
        figures = "concepts, sensitivities and how near draws are, and " if content.get("calibration") else ""
        yield (
            f"taxonomy: {figures}whether labels belong to it; it is a file that is not here, to be named with "
            "--taxonomy FILE"
        )


def _traceless(method: str, given: Any, *, in_words: bool) -> str:
    names = (*TRACELESS.get(method, ()), *(IN_WORDS.get(method, ()) if in_words else ()))
    there = [name for name in names if isinstance(given, dict) and name in given]
    follows = "nothing but words follows" if in_words else "nothing follows"
    return f", and {follows} from {', '.join(there)}" if there else ""
