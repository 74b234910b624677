"""English words that carry grammar and no concept, though WordNet knows many as nouns (in: indium; a: angstrom)."""

from __future__ import annotations

from queryveil.data import word_lists

FUNCTION_WORDS = frozenset(word_lists("language")["function words"])
