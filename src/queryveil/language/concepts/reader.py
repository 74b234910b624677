"""How one query is read, with what was learnt about earlier words and queries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from queryveil.language.concepts.labels import Labels
from queryveil.language.concepts.phrases import BREAK, Span, phrases_of, words_of
from queryveil.language.concepts.word_kinds import LONGEST_WORD, Kind, kind_of, tagger
from queryveil.language.taxonomy import Taxonomy

Role = Literal["concept", "modifier", "function", "unmapped"]

# The most recent words and queries are remembered, so that memory does not grow with a log. Long ones are not:
# they hardly ever come again.
_WORDS: Final = 1 << 17
_QUERIES: Final = 1 << 16
_LONG_QUERY: Final = 200

_OUTSIDE: Final = frozenset({Kind.DETERMINER, Kind.BREAK})


class Part(NamedTuple):
    """A piece of a query and what became of it."""

    text: str
    role: Role
    """'concept'; 'modifier', a word around one that was dropped; 'function' word; 'unmapped', part of no label."""
    concept: int = -1
    plural: bool = False


class _Phrase(NamedTuple):
    span: Span
    label_start: int
    """The word at which the part that has a concept begins."""
    concept: int
    """-1 if no part has one."""


class Reader:
    """Reads queries with the labels of one taxonomy."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        tagger()
        self._labels = Labels(taxonomy)
        self._remembered_kind = lru_cache(_WORDS)(self._kind_of)
        self._remembered = lru_cache(_QUERIES)(self._find_concepts)

    def read_concepts(self, query: str) -> tuple[int, ...]:
        """For each noun phrase its concept, or -1."""
        return self._remembered(query) if len(query) <= _LONG_QUERY else self._find_concepts(query)

    def read_parts(self, query: str) -> tuple[Part, ...]:
        """The query from left to right."""
        words, kinds, phrases = self._read_query(query)
        found: list[Part] = []
        place = 0
        for (start, end), label_start, concept in phrases:
            found += map(_part_outside, words[place:start], kinds[place:start])
            if concept < 0:
                found += (Part(word, "unmapped") for word in words[start:end])
            else:
                found += (Part(word, "modifier") for word in words[start:label_start])
                plural = tagger().is_plural(words[end - 1].rpartition(" ")[2])
                found.append(Part(" ".join(words[label_start:end]), "concept", concept, plural))
            place = end
        found += map(_part_outside, words[place:], kinds[place:])
        return tuple(part for part in found if part.text != BREAK)

    def _find_concepts(self, query: str) -> tuple[int, ...]:
        return tuple(phrase.concept for phrase in self._read_query(query)[2])

    def _read_query(self, query: str) -> tuple[list[str], str, list[_Phrase]]:
        words = words_of(query)
        kinds = "".join(map(self._word_kind, words))
        spans = phrases_of(kinds)
        if len(words) > 1 and spans != ((0, len(words)),):
            whole = self._labels_across(words, kinds, spans)
            if whole:
                words, kinds = _join_spans(words, kinds, whole)
                spans = phrases_of(kinds)
        return words, kinds, [self._read_phrase(words, span) for span in spans]

    def _read_phrase(self, words: list[str], span: Span) -> _Phrase:
        start, end = span
        # Longest first, then without the left-most word; more words than any label has need not be tried.
        for first in range(max(start, end - self._labels.most_words), end):
            if (concept := self._labels.find_concept(words[first:end])) >= 0:
                return _Phrase(span, first, concept)
        return _Phrase(span, end, -1)

    def _labels_across(self, words: list[str], kinds: str, spans: Sequence[Span]) -> list[Span]:
        """Labels that would be cut by the end of a phrase, such as 'bill of rights'; left to right, longest first."""
        phrase_end = list(range(1, len(words) + 1))
        for start, end in spans:
            phrase_end[start:end] = [end] * (end - start)
        found: list[Span] = []
        place = 0
        while place < len(words):
            end = self._label_end(words, kinds, place, phrase_end[place])
            if end:
                found.append((place, end))
            place = end or place + 1
        return found

    def _label_end(self, words: list[str], kinds: str, start: int, phrase_end: int) -> int:
        """Where the longest label ends that starts here and goes on after the phrase; 0 if there is none."""
        longest = min(start + self._labels.words_starting(words[start]), len(words))
        for end in range(longest, phrase_end, -1):
            label = words[start:end]
            if _may_be_label(label, kinds[start:end]) and self._labels.find_concept(label) >= 0:
                return end
        return 0

    def _word_kind(self, word: str) -> Kind:
        return self._remembered_kind(word) if len(word) <= LONGEST_WORD else self._kind_of(word)

    def _kind_of(self, word: str) -> Kind:
        return kind_of(word, self._labels.contains)


def _join_spans(words: list[str], kinds: str, whole: Sequence[Span]) -> tuple[list[str], str]:
    """Each of these spans as one word, a noun."""
    new_words: list[str] = []
    new_kinds: list[str] = []
    place = 0
    for start, end in whole:
        new_words += [*words[place:start], " ".join(words[start:end])]
        new_kinds += [kinds[place:start], Kind.NOUN]
        place = end
    return [*new_words, *words[place:]], "".join(new_kinds) + kinds[place:]


def _may_be_label(words: Sequence[str], kinds: str) -> bool:
    """Whether words across the end of a phrase may belong together.

    Labels such as 'at home' and 'set-up' are nouns for WordNet, but hardly ever in 'work at home', 'how to set up'.
    """
    if BREAK in words or (kinds[0] == Kind.BREAK and tagger().tag(words[0]) in {"IN", "TO"}):
        return False
    return Kind.NOUN in kinds or Kind.GERUND in kinds or not (kinds[0] in _OUTSIDE or kinds[-1] in _OUTSIDE)


def _part_outside(word: str, kind: str) -> Part:
    return Part(word, "function" if kind in _OUTSIDE else "modifier")
