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
            f"sentences are {software.whose}; rely only on their figures"
        )
    yield "created: nobody can check the day"
    yield (
        "parameters: the publisher says that the release was made with them; what follows from them was computed anew"
        + _traceless(str(method), content.get("parameters"), in_words=not software.same)
    )
    yield "tables: nobody can see whether their rows come from a log, or from which one"
    if content.get("draws"):
        yield "noise: nobody can see from one release whether it was drawn as stated"
    if planned.foreign(content) is not None and not taxonomy_given:
        figures = "concepts, sensitivities and how near draws are, and " if content.get("calibration") else ""
        yield (
            f"taxonomy: {figures}whether labels belong to it; its file is not here, so name it with --taxonomy FILE"
        )


def _traceless(method: str, given: Any, *, in_words: bool) -> str:
    names = (*TRACELESS.get(method, ()), *(IN_WORDS.get(method, ()) if in_words else ()))
    there = [name for name in names if isinstance(given, dict) and name in given]
    follows = "nothing but words follows" if in_words else "nothing follows"
    return f", and {follows} from {', '.join(there)}" if there else ""
