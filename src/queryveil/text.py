"""The one definition of what a query's text is, used by every engine and every item.

A query is brought to Unicode NFKC, case-folded, its runs of white space collapsed to one blank, control
characters dropped and surrounding quotes removed. A keyword is a part between blanks, without the
punctuation at its ends. Engines lack NFKC and case folding, so plain ASCII text goes by the patterns below,
as an engine expression, and everything else by the functions below, once per distinct text.
"""

from __future__ import annotations

import unicodedata

QUOTES = "\"'`´‘’‚‛“”„‟‹›«»「」『』"
"""What may surround a query as a quote."""

# For engines. The patterns are in the part of the syntax that RE2 (DuckDB) and Java (Spark) share; \z and not $,
# which in Java also matches before a line end.
NORMAL_ASCII = r"^[!#-&(-@\[-_a-~]+( [!#-&(-@\[-_a-~]+)*\z"
"""Matches ASCII text that is its own normal form for certain (no upper case, quote, control or double blank)."""
ASCII_SPACE = r"[\x09-\x0D\x1C-\x1F ]+"
ASCII_CONTROL = r"[\x00-\x08\x0E-\x1B\x7F]"
ASCII_SURROUND = r"^[ \"'`]+|[ \"'`]+\z"
ASCII_PUNCTUATION_ENDS = r"^[!-#%-*,-/:;?@\[-\]_{}]+|[!-#%-*,-/:;?@\[-\]_{}]+\z"
"""Unicode's punctuation (categories P*) within ASCII; symbols such as + and $ are part of a word: 'c++'."""


# All white space becomes a blank, all control characters vanish; both end below U+3001 in Unicode.
_CLEAN: dict[int, str | None] = {
    code: " " if chr(code).isspace() else None
    for code in range(0x3001)
    if chr(code).isspace() or unicodedata.category(chr(code)) == "Cc"
}


def normalise(text: str) -> str:
    """The normal form of a query; empty if nothing is left.

    >>> normalise('  "New\\tYORK"  hotels ')
    'new york" hotels'
    >>> normalise('“Straße”')
    'strasse'
    """
    # Each step can undo another (case folding leaves NFKC, a dropped control character lets an accent
    # combine), so repeat until nothing moves: the result is its own normal form.
    while True:
        clean = unicodedata.normalize("NFKC", text.translate(_CLEAN)).casefold()
        folded = unicodedata.normalize("NFKC", clean)
        result = " ".join(part for part in folded.split(" ") if part).strip(QUOTES + " ")
        if result == text:
            return result
        text = result


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
