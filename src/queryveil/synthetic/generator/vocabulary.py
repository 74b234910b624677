"""Word lists that the generator's queries are made of."""

from __future__ import annotations

from typing import Final

from queryveil.data import word_lists

_ASKED = ": asked for"
_TOPICS, _QUERIES, _PEOPLE = (word_lists(file) for file in ("topics", "queries", "people"))

Words = tuple[str, ...]

TOPICS: Final[dict[str, tuple[Words, Words]]] = {
    name: (_TOPICS[name + _ASKED], nouns) for name, nouns in _TOPICS.items() if not name.endswith(_ASKED)
}
"""Topic -> what searchers ask for, and the nouns of the topic."""

FACETS: Final = _QUERIES["facets"]
ADJECTIVES: Final = _QUERIES["adjectives"]
VERBS: Final = _QUERIES["verbs"]
QUESTIONS: Final = _QUERIES["questions"]
SERVICES: Final = _QUERIES["services"]
FEARS: Final = _QUERIES["fears"]
SITE_WORDS: Final = _QUERIES["site words"]
PROFESSIONS: Final = _QUERIES["professions"]
FOREIGN: Final = _QUERIES["foreign"]

FIRST_NAMES: Final = _PEOPLE["first names"]
LAST_NAMES: Final = _PEOPLE["last names"]
STATES: Final = _PEOPLE["states"]
CITIES: Final = _PEOPLE["cities"]
STREETS: Final = _PEOPLE["streets"]
