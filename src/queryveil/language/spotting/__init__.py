"""What a text gives away: persons, companies, places, adult and revealing terms, personal identifiers."""

from __future__ import annotations

from functools import cache

from queryveil.language.spotting.cutting import Reading
from queryveil.language.spotting.lists import is_installed
from queryveil.language.spotting.readable import KNOWN_IS, LEAST_KNOWN, is_readable, words_known
from queryveil.language.spotting.spotter import Entity, Kind, Spotted, Spotter
from queryveil.reading.text import normalise

__all__ = [
    "KNOWN_IS",
    "LEAST_KNOWN",
    "Entity",
    "Kind",
    "Reading",
    "Spotted",
    "Spotter",
    "detect_entities",
    "is_installed",
    "is_readable",
    "words_known",
]


def detect_entities(text: str) -> list[Entity]:
    """What a query gives away, from left to right.

    >>> spot("Karen Walsh Houston TX")
    [Entity(first=0, last=1, kind='person'), Entity(first=2, last=3, kind='place')]
    """
    return _load_spotter().entities_in_text(normalise(text))


@cache
def _load_spotter() -> Spotter:
    return Spotter()
