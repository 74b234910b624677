"""Finding the concept of a phrase among the labels of a taxonomy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final
from unicodedata import combining, normalize

from queryveil.language.concepts.word_kinds import tagger
from queryveil.language.taxonomy import Taxonomy
from queryveil.language.taxonomy.lexicon import Names
from queryveil.language.taxonomy.morphology import ENDINGS, Irregular, find_form

_MARKS: Final = str.maketrans("", "", "'.")
"""What people leave out: 'mothers day', 'st louis'."""
_REMEMBERED: Final = 1 << 17
"""Phrases; the most recent ones, so that memory does not grow with a log."""


class Labels:
    """The labels of a taxonomy, in the forms that queries have them in.

    A phrase is looked up as the taxonomy does it (as it stands, as a plural, with hyphens), then without
    apostrophes and full stops, then without a possessive ending, then without accents. One difference: WordNet has
    shoes, cards and names as nouns of their own, for which nobody searches; a plural is first brought to the singular.
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._taxonomy = taxonomy
        known, self._irregular = taxonomy.lexicon.first, taxonomy.lexicon.irregular
        if isinstance(taxonomy.lexicon, Names):
            # A file may have its names in the plural; if it has both forms, they are two concepts.
            self._forms = {form[:-1]: known[form] for form in known if form.endswith("s")} | known
        else:
            self._forms = known | _singular_concepts(known, self._irregular)
        for form in known:
            if "'" in form or "." in form:
                self._forms.setdefault(form.translate(_MARKS), known[form])
        self._longest = max(map(len, known)) + len("es's")
        self._words_from = _words_from(known)
        self.most_words = max(self._words_from.values(), default=1)
        """Of any label."""
        self._remembered = lru_cache(_REMEMBERED)(self._concept_of)

    def contains(self, word: str) -> bool:
        return self.find_concept((word,)) >= 0

    def find_concept(self, words: Sequence[str]) -> int:
        """The concept of these words together, -1 if there is none."""
        if len(words) > 1 and len(words) > self.words_starting(words[0]):
            return -1
        text = "_".join(words)
        return self._remembered(text) if len(text) <= self._longest else -1

    def words_starting(self, first: str) -> int:
        """How many words the longest label has that starts with this word, or its singular; 0 if none has two."""
        if first.isalpha() and first.isascii():
            return self._words_from.get(first) or self._words_from.get(first.removesuffix("s"), 0)
        # 'e-mail', "mother's", 'bed and': what the label starts with is not worth finding out.
        return self.most_words

    def _concept_of(self, text: str) -> int:
        plain = text.isascii() and text.isalnum()
        form = text if plain else "_".join(text.replace("_", " ").split())
        node = find_form(form, self._forms, self._irregular)
        if node < 0 and not plain and not form.replace("_", "").isalnum():
            node = self._first_found(form.translate(_MARKS), form.removesuffix("'s"))
        if node < 0 and not form.isascii():
            node = self._first_found(_without_accents(form))
        return node if self._taxonomy.origin is None else int(self._taxonomy.map_concepts(node))

    def _first_found(self, *forms: str) -> int:
        found = (find_form(form, self._forms, self._irregular) for form in forms)
        return next((node for node in found if node >= 0), -1)


def _singular_concepts(known: Mapping[str, int], irregular: Irregular) -> dict[str, int]:
    """Plurals that are labels themselves -> the concept of their singular."""
    found: dict[str, int] = {}
    for form in known:
        endings = (form.removesuffix(ending) + other for ending, other in ENDINGS if form.endswith(ending))
        one = next((one for one in (*irregular.get(form, ()), *endings) if one in known), None)
        if one and tagger().is_several(form):
            found[form] = known[one]
    return found


def _without_accents(form: str) -> str:
    return "".join(letter for letter in normalize("NFKD", form) if not combining(letter))


def _words_from(known: Mapping[str, int]) -> dict[str, int]:
    """First word of a label of several words -> how many words the longest such label has."""
    found: dict[str, int] = {}
    for form in known:
        first, *more = re.split("[_-]", form)
        if more:
            for spelling in (first, first.translate(_MARKS)):
                found[spelling] = max(found.get(spelling, 0), 1 + len(more))
    return found
