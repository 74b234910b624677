"""Ships word lists as text files, and WordNet's nouns.

A word list is a text with sections: a name in brackets, then entries between commas. A line that begins with # is a
comment.

May import: errors, parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_WORDS = Path(__file__).parent / "words"


@cache
def word_lists(file: str) -> Mapping[str, tuple[str, ...]]:
    """The sections of a word list by name, in the order of the file."""
    text = (_WORDS / f"{file}.txt").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    sections = (part.partition("]\n") for part in lines.split("[")[1:])
    return {name: _entries(listed) for name, _, listed in sections}


def _entries(listed: str) -> tuple[str, ...]:
    return tuple(" ".join(entry.split()) for entry in listed.split(","))
