"""Which words of a query make up a noun phrase: words, their kinds, and a pattern over the kinds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from queryveil.language.concepts.word_kinds import Kind
from queryveil.reading.text import keywords, normalise

Span = tuple[int, int]
"""Words from the first number up to, not including, the second."""

BREAK: Final = ""
"""Stands among the words where punctuation ends a phrase."""
_ENDS_PHRASE: Final = frozenset(",;:!?()[]{}|/\\–—")
_SINGLE_QUOTES: Final = str.maketrans("‘’ʼ´`", "'" * 5)

# Modifiers, then nouns; a modifier after a noun begins the next phrase. A run of modifiers without a noun matches
# too, or the search would start again at each of them, which takes forever in a query of a million characters.
_PHRASE: Final = re.compile("(?P<phrase>[MGV]*[NG][NGV]*)|[MGV]+")
_NO_NOUN: Final = re.compile(r"\AD*(?P<phrase>[MV]+)D*\Z")
_VERB_BY_PLACE: Final = re.compile("(?<=F)V|G(?=D)")
_NOUN_BY_PLACE: Final = re.compile("(?<=D)V")


def words_of(query: str) -> list[str]:
    """The keywords of a query, with '&' as 'and' and BREAK where punctuation ends a phrase.

    >>> words_of("Shoes, boots & sandals")
    ['shoes', '', 'boots', 'and', 'sandals']
    """
    words: list[str] = []
    for token in normalise(query).translate(_SINGLE_QUOTES).split(" "):
        if token.isalnum():
            words.append(token)
            continue
        word = "".join(keywords(token))
        before, _, after = token.partition(word) if word else (token, "", "")
        if before == "&":
            words.append("and")
        elif before and (not word or not _ENDS_PHRASE.isdisjoint(before)):
            words.append(BREAK)
        if word:
            words.append(word)
            if not _ENDS_PHRASE.isdisjoint(after):
                words.append(BREAK)
    return words


def phrases_of(kinds: str) -> Sequence[Span]:
    """The noun phrases of a query, left to right, from the kinds of its words.

    >>> phrases_of("MNFDNM")
    ((0, 2), (4, 5))
    """
    # Few queries are long, so few patterns of kinds are needed again and again.
    return _remembered(kinds) if len(kinds) <= 12 else _match_spans(kinds)


def _match_spans(kinds: str) -> tuple[Span, ...]:
    # After 'to', 'can' or 'you' a word that may be a verb is one; so is a gerund before 'a' or 'my'. After these it is
    # a noun.
    line = _NOUN_BY_PLACE.sub(Kind.NOUN, _VERB_BY_PLACE.sub(Kind.MODIFIER, kinds))
    found = tuple(match.span("phrase") for match in _PHRASE.finditer(line) if match["phrase"])
    if not found and (whole := _NO_NOUN.fullmatch(line)):
        # 'chat', 'musical', 'free chat': a query names something, even if the tagger sees no noun.
        return (whole.span("phrase"),)
    return found


_remembered = lru_cache(1 << 14)(_match_spans)
