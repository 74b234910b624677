"""What no check can see: a short list that is printed at the end, so that nobody takes silence for a check."""

from __future__ import annotations

from collections.abc import Iterator

from queryveil.release import planned
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import quoted


def unchecked(manifest: Manifest, *, taxonomy_given: bool) -> Iterator[str]:
    """One line for each thing: its name, a colon, and why it cannot be checked."""
    content = manifest.content
    if about := manifest.section("about"):
        yield f"about: {', '.join(map(quoted, about))} are the publisher's own words"
    if content.get("withheld"):
        yield "withheld: which rows were taken out, and that they were chosen without the log"
    yield "created: nobody can check the day"
    yield "parameters: the publisher says that the release was made with them; what follows from them was computed anew"
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
