"""The one definition of what a query's text is, used by every engine and every item.

A query is brought to Unicode NFKC, case-folded, its runs of white space collapsed to one blank, control
characters dropped and surrounding quotation marks removed. A keyword is a part between blanks, without the
punctuation at its ends. Engines lack NFKC and case folding, so plain ASCII text goes by the patterns below,
as an engine expression, and everything else by the functions below, once per distinct text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby

QUOTATION_MARKS = ('"“”„‟', "'`‘’‚‛", "«»", "‹›", "「」", "『』")
"""Marks by kind. They surround a text if it begins and ends with one kind, which is not between."""
_ANY_MARK = frozenset("".join(QUOTATION_MARKS))

# For engines. The patterns are in the part of the syntax that RE2 (DuckDB) and Java (Spark) share; \z and not $,
# which in Java also matches before a line end. No group is repeated: Java goes one call deeper for each repetition,
# and a long query would end its process. Nothing is looked for at every place of a run: Java would take the square of
# its length.
_NOT_PLAIN = r"[^ !#-&(-@\[-_a-~]"
NOT_NORMAL_ASCII = rf"^\z|^ | \z|  |{_NOT_PLAIN}"
"""Matches ASCII text that may not be its own normal form: empty, upper case, quote, control or a blank too many."""
ASCII_SPACE = r"[\x09-\x0D\x1C-\x1F ]+"
ASCII_CONTROL = r"[\x00-\x08\x0E-\x1B\x7F]"
ASCII_QUOTED = rf"""^(?:{"|".join(f"[{marks}]+(?:([^{marks}]+)[{marks}]+)?" for marks in ('"', "'`"))})\z"""
"""Matches a text surrounded by one kind of marks; its groups are the text between, of each kind of marks."""
_P, _NOT_P = r"[!-#%-*,-/:;?@\[-\]_{}]", r"[^!-#%-*,-/:;?@\[-\]_{}]"
ASCII_PUNCTUATION = "".join(one for one in map(chr, range(128)) if unicodedata.category(one).startswith("P"))
"""Unicode's punctuation (categories P*) within ASCII; symbols such as + and $ are part of a word: 'c++'."""
ASCII_PUNCTUATION_END = rf"^{_P}|{_P}\z"
"""Matches a word with punctuation at an end."""
ASCII_WORD = rf"(?s)^{_P}*({_NOT_P}(?:.*{_NOT_P})?)"
"""Its group is a word without the punctuation at its ends; no match if nothing is left."""


# All white space becomes a blank, all control characters vanish; both end below U+3001 in Unicode.
_CLEAN: dict[int, str | None] = {
    code: " " if chr(code).isspace() else None
    for code in range(0x3001)
    if chr(code).isspace() or unicodedata.category(chr(code)) == "Cc"
}

_LONG = 1_000
_ASCII = 128


def normalise(text: str) -> str:
    """The normal form of a query; empty if nothing is left.

    >>> normalise('  "New\\tYORK  hotels" ')
    'new york hotels'
    >>> normalise('"risk management" AND hospital')
    '"risk management" and hospital'
    >>> normalise('“Straße”')
    'strasse'
    """
    if text.isascii():  # it is its own NFKC, and lower case folds it
        return _strip_quotation_marks(" ".join(text.translate(_CLEAN).lower().split()))
    # Each step can undo another (case folding leaves NFKC, a dropped control character lets an accent
    # combine), so repeat until nothing moves: the result is its own normal form.
    while True:
        folded = _normalize_unicode(_normalize_unicode(text.translate(_CLEAN)).casefold())
        result = _strip_quotation_marks(" ".join(part for part in folded.split(" ") if part))
        if result == text:
            return result
        text = result


def _strip_quotation_marks(text: str) -> str:
    while text and text[0] in _ANY_MARK:
        stripped = text
        for marks in QUOTATION_MARKS:
            if stripped and stripped[0] in marks and stripped[-1] in marks:
                between = stripped.strip(marks)
                if not any(mark in between for mark in marks):
                    stripped = between.strip(" ")
        if stripped == text:
            break
        text = stripped
    return text


def is_plain_byte(byte: int) -> bool:
    """Whether this byte alone keeps no text from being its own normal form: what `NOT_NORMAL_ASCII` looks for.

    A text of plain bytes is in normal form if it is not empty, and no blank stands at an end or beside another.
    """
    return byte < _ASCII and not re.search(_NOT_PLAIN, chr(byte))


def fold_byte(byte: int) -> int:
    """Return a byte of ASCII in normal form, a blank for white space; 0 for a byte that needs `normalise`.

    A text without such bytes is in normal form once its bytes are, with one blank between words and none at the ends.
    """
    if byte >= _ASCII or not (normal := normalise(chr(byte))):
        return ord(" ") if byte < _ASCII and chr(byte).isspace() else 0
    return ord(normal)


def _normalize_unicode(text: str) -> str:
    """Unicode's NFKC. Python sorts the accents of one letter in the square of their number: many are sorted before."""
    if len(text) > _LONG and not text.isascii():
        apart = "".join(map(_taken_apart, text))
        runs = groupby(apart, key=lambda one: unicodedata.combining(one) > 0)
        text = "".join(
            "".join(sorted(run, key=unicodedata.combining) if accents else run) for accents, run in runs
        )
    return unicodedata.normalize("NFKC", text)


@lru_cache(1 << 14)
def _taken_apart(character: str) -> str:
    return unicodedata.normalize("NFKD", character)


def keywords(query: str) -> list[str]:
    """The keywords of a normalised query, in order, with repeats.

    >>> keywords("honda accord (used), c++ parts?")
    ['honda', 'accord', 'used', 'c++', 'parts']
    """
    return [word for word in map(_strip_punctuation, query.split(" ")) if word]


def _strip_punctuation(token: str) -> str:
    start, end = 0, len(token)
    while start < end and unicodedata.category(token[start])[0] == "P":
        start += 1
    while end > start and unicodedata.category(token[end - 1])[0] == "P":
        end -= 1
    return token[start:end]
