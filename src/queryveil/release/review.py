"""A list to read before publishing: published texts that name people, places or sensitive things.

The guarantee bounds what a release says of one person. It does not say that a popular search is harmless: a name that
many people searched for is published. What is found here, by lists of names and words, is to be read by a person. It
misses some and marks some wrongly; docs/how-to/review-a-release.md has how many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from queryveil.language.sensitive import sensitive_topics
from queryveil.language.spotting import Spotter, is_installed
from queryveil.reading.text import normalise
from queryveil.release.publish import Release, load
from queryveil.release.withholding import texts_of

KINDS = {
    "person": "names a person",
    "place": "names a place",
    "health": "health",
    "religion": "religion",
    "politics and unions": "politics and unions",
    "sexual life and orientation": "sexual life and orientation",
    "money and law": "money and law",
    "revealing": "terms that reveal who searched",
    "adult": "adult terms",
    "identifier": "a mail address or a number",
}
"""What is looked for, in the order of the list."""


@dataclass(frozen=True)
class ToRead:
    """A published text that a person should read: what was found in it, and its largest count."""

    text: str
    kinds: tuple[str, ...]
    count: int | None


def review(release: Release | str | Path) -> list[ToRead]:
    """Published texts that name people, places or sensitive things, the most frequent first.

    release: a `Release`, or its folder. Only its published tables are looked at: the list says nothing more of the log.
    """
    loaded = release if isinstance(release, Release) else load(release)
    largest: dict[str, int | None] = {}
    for table in loaded.tables.values():
        counts = table["count"].to_pylist() if "count" in table.column_names else None
        for place, text in texts_of(table):
            count = counts[place] if counts is not None else None
            known = largest.get(text)
            largest[text] = count if known is None or (count is not None and count > known) else known
    marked = [(text, _entity_kinds(text)) for text in largest]
    found = [ToRead(text, kinds, largest[text]) for text, kinds in marked if kinds]
    return sorted(found, key=lambda one: (-(one.count or 0), one.text))


def can_review() -> bool:
    """Whether the lists of names and places are installed."""
    return is_installed()


def _entity_kinds(text: str) -> tuple[str, ...]:
    there = {one.kind for one in _load_spotter().entities_in_text(normalise(text))} | set(
        sensitive_topics(text)
    )
    return tuple(kind for kind in KINDS if kind in there)


@cache
def _load_spotter() -> Spotter:
    return Spotter()
