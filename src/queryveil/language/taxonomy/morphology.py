"""From the form in a query to the form in a taxonomy: plurals, irregular ones, hyphens.

The rules are those that WordNet's own search applies to nouns: the form as it stands, then the list of irregular
forms, then the endings below, each tried until a result is known; of several words each by itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final

Irregular = Mapping[str, Sequence[str]]
"""Irregular plural -> its singulars."""

ENDINGS: Final = (
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
)


def lookup_key(text: str) -> str:
    """How a form is looked up: Unicode NFKC, case folded, one underscore for any run of blanks and underscores."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "_".join(folded.replace("_", " ").split())


def find_form(form: str, known: Mapping[str, int], irregular: Irregular) -> int:
    """The node of a form in `key` spelling, -1 if there is none."""
    spellings = _spelling_variants(form)
    for spelling in spellings:
        if spelling in known:
            return known[spelling]
        if one := _known_singular(spelling, known, irregular):
            return known[one]
    if len(spellings) > 1:
        parts = re.split("([_-])", form)
        singular = "".join(_known_singular(part, known, irregular) or part for part in parts)
        if singular != form:
            return next((known[one] for one in _spelling_variants(singular) if one in known), -1)
    return -1


def _spelling_variants(form: str) -> Sequence[str]:
    """A hyphen may stand for a blank, and the other way round."""
    if "_" in form or "-" in form:
        return tuple(dict.fromkeys((form, form.replace("-", "_"), form.replace("_", "-"))))
    return (form,)


def _known_singular(word: str, known: Mapping[str, int], irregular: Irregular) -> str | None:
    """The first known singular of a word, if it is a plural."""
    for one in irregular.get(word, ()):
        if one in known:
            return one
    # "boxesful" is the plural of "boxful"; "glass" and "as" are no plurals.
    stem, tail = (word[:-3], "ful") if word.endswith("ful") else (word, "")
    if len(stem) <= 2 or not stem.endswith(("s", "men")) or stem.endswith("ss"):
        return None
    for ending, replacement in ENDINGS:
        if stem.endswith(ending) and (one := stem.removesuffix(ending) + replacement + tail) in known:
            return one
    return None
