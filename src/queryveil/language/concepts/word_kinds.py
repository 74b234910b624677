"""What a word can be in a noun phrase, by textblob's PatternTagger.

On lower-case text that tagger looks at each word alone: its list of 94,000 words, else the word's ending. So a word
is tagged once, wherever it stands. The list is part of the installed package: nothing is fetched.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import Final

from queryveil.data import word_lists
from queryveil.errors import UsageError
from queryveil.language.taxonomy.function_words import FUNCTION_WORDS


class Kind(StrEnum):
    """One letter each, so that a query is a string of kinds and a phrase is a pattern over it."""

    NOUN = "N"
    GERUND = "G"
    """'fishing': modifies the noun after it, or is one."""
    VERB = "V"
    """A verb that is also a noun, 'help': modifies the noun after it, or is one after another noun."""
    MODIFIER = "M"
    """What can stand before a noun: adjectives, participles, numbers, adverbs, verbs that are no nouns."""
    DETERMINER = "D"
    BREAK = "F"
    """What no noun phrase goes across: other function words, symbols, punctuation between words."""


LONGEST_WORD: Final = 100
"""Characters; a longer one is no word, and a noun for want of anything better."""

_LISTED: Final = word_lists("language")
_CORRECTED: Final = dict.fromkeys(_LISTED["nouns"], "NN") | {"vs": "IN"}
_OTHER_THING: Final = frozenset(_LISTED["other things"])
_KINDS: Final = {
    "NN": Kind.NOUN,
    "FW": Kind.NOUN,
    "VBG": Kind.GERUND,
    "VB": Kind.VERB,
    "VBP": Kind.VERB,
    "VBZ": Kind.VERB,
    "VBD": Kind.MODIFIER,
    "VBN": Kind.MODIFIER,
    "JJ": Kind.MODIFIER,
    "RB": Kind.MODIFIER,
    "CD": Kind.MODIFIER,
    "DT": Kind.DETERMINER,
    "PDT": Kind.DETERMINER,
    "PRP$": Kind.DETERMINER,
}
_PLURAL: Final = frozenset({"NNS", "NNPS"})
# All endings that the tagger looks at in words that it does not know: without one a word of letters is a noun for it.
_TOLD_BY_ENDING: Final = (
    *("s", "ly", "al", "ed", "ing", "ful", "ish", "ive", "tic", "ate", "ify", "ise", "ize"),
    *("able", "ible", "ient"),
)


class Tagger:
    """Tags of single words in normal form."""

    def __init__(self) -> None:
        try:
            from textblob.en import lexicon, parser
        except ImportError:
            raise UsageError(
                "concepts of queries need the package textblob", "install queryveil[language]"
            ) from None
        with warnings.catch_warnings():
            # textblob reads its list here, and leaves it to Python to close the file.
            warnings.simplefilter("ignore", ResourceWarning)
            self._listed: dict[str, str] = dict(lexicon.items()) | _CORRECTED
        # What PatternTagger.tag(word, tokenize=False) calls, without putting the words together and apart again.
        self._tag: Callable[[list[str]], list[list[str]]] = parser.find_tags

    def knows(self, word: str) -> bool:
        """Whether the word has a tag of its own; others are tagged by their ending."""
        return word in self._listed

    def tag(self, word: str) -> str:
        """The Penn Treebank tag."""
        tag = self._listed.get(word)
        if tag is None:
            return self._tag_by_ending(word)
        # The list has a few tags such as NN|JJ, the likeliest first.
        return tag.partition("|")[0]

    def _tag_by_ending(self, word: str) -> str:
        if len(word) > LONGEST_WORD or (
            word.isalpha() and word.islower() and not word.endswith(_TOLD_BY_ENDING)
        ):
            return "NN"
        return self._tag([word])[0][1]

    def is_plural(self, word: str) -> bool:
        return self.tag(word) in _PLURAL

    def is_several(self, word: str) -> bool:
        """Whether a word is known as the plural of its singular, and means no more than that."""
        return self.knows(word) and self.is_plural(word) and word not in _OTHER_THING


@cache
def tagger() -> Tagger:
    """The one tagger, made when the first query comes."""
    return Tagger()


def kind_of(word: str, is_noun: Callable[[str], bool]) -> Kind:
    """The kind of a word; `is_noun` says whether the taxonomy has it."""
    if not (word.isalnum() or any(map(str.isalnum, word))):
        return Kind.BREAK
    tags = tagger()
    tag = tags.tag(word)
    if word in FUNCTION_WORDS:
        return Kind.DETERMINER if tag in {"DT", "PDT", "PRP$"} else Kind.BREAK
    if tags.knows(word):
        kind = _KINDS.get(tag) or _KINDS.get(tag[:2], Kind.BREAK)
    else:
        kind = _kind_of_unlisted(word, tag, is_noun)
    return Kind.MODIFIER if kind is Kind.VERB and not is_noun(word) else kind


def _kind_of_unlisted(word: str, tag: str, is_noun: Callable[[str], bool]) -> Kind:
    # Most words that the tagger has never seen are names and new things. Endings mislead for these ('italy' is no
    # adverb), so they count only for words that the taxonomy has not either, and -ly never does.
    if tag in {"VBG", "CD"}:
        return _KINDS[tag]
    if tag == "RB" or is_noun(word):
        return Kind.NOUN
    return _KINDS.get(tag) or _KINDS.get(tag[:2], Kind.NOUN)
