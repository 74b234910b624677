"""Text from a log on a page: whatever a query holds, it is shown, obeyed by nobody and kept in its place.

A query may be markup, run from right to left, carry a thousand accents, or hold characters that a page must not have.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import markupsafe

LONGEST = 120
"""Characters of a text that are shown; accents and joined parts of a character count with it."""
_MOST_ACCENTS = 4
_JOINERS = "\u200c\u200d"
"""Invisible, and part of how some languages and most composed emoji are written."""
_SKIN = range(0x1F3FB, 0x1F400)


def escape(text: Any) -> str:
    """Any value as text of a page."""
    return str(markupsafe.escape(str(text)))


def shown(text: Any, longest: int = LONGEST) -> str:
    """Text of a log as it can be shown: at most so long, invisible commands made visible. Not escaped yet."""
    whole, made, length, accents, joined = str(text), "", 0, 0, False
    for place, character in enumerate(whole):
        belongs = joined or _is_combining(character)
        if length >= longest and not belongs:
            return f"{made}… ({len(whole):,} characters)" if len(whole) > place else made
        accents = accents + 1 if unicodedata.category(character).startswith("M") else 0
        joined = character == _JOINERS[1]
        if accents > _MOST_ACCENTS:
            continue
        made += _visible_form(character)
        length += not belongs
    return made


def cell(text: Any) -> str:
    """Text of a log as a cell of a table: cut, escaped, and in its own direction."""
    return f'<bdi dir="auto">{escape(shown(text))}</bdi>'


def _is_combining(character: str) -> bool:
    """Whether a character is part of the one before it."""
    return unicodedata.category(character).startswith("M") or character in _JOINERS or ord(character) in _SKIN


def _visible_form(character: str) -> str:
    number = ord(character)
    category = unicodedata.category(character)
    if number < 0x20:
        return chr(0x2400 + number)  # the picture of a control character
    if number == 0x7F:
        return "\u2421"
    if category in {"Cc", "Cs", "Zl", "Zp"} or (category == "Cf" and character not in _JOINERS):
        return f"[U+{number:04X}]"
    # Characters that no text may have: the last two of each plane, and a block of Arabic forms.
    if number & 0xFFFE == 0xFFFE or 0xFDD0 <= number <= 0xFDEF:
        return f"[U+{number:04X}]"
    return character
