"""Which texts touch on health, religion, politics, sexual life, money or law: by words that are data."""

from __future__ import annotations

from functools import cache

from queryveil.data import word_lists
from queryveil.reading.text import keywords, normalise

_LONGEST = 3
"""Words of the longest phrase of the lists."""


def sensitive_topics(text: str) -> tuple[str, ...]:
    """The sensitive matters that a text names, in the order of the lists.

    >>> matters("breast cancer treatment")
    ('health',)
    """
    words = keywords(normalise(text))
    phrases = {
        " ".join(words[start : start + length])
        for length in range(1, _LONGEST + 1)
        for start in range(len(words) - length + 1)
    }
    return tuple(name for name, listed in _load_lists().items() if not listed.isdisjoint(phrases))


@cache
def _load_lists() -> dict[str, frozenset[str]]:
    return {name: frozenset(listed) for name, listed in word_lists("sensitive").items()}
