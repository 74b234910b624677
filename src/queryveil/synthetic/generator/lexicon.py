"""Words that no list has: brands, surnames, towns and model numbers, made from syllables.

Each list is a fixed sequence for a given world: a longer list starts with the shorter one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from queryveil.data import word_lists
from queryveil.synthetic.generator import vocabulary
from queryveil.synthetic.generator.vocabulary import TOPICS

_PARTS: Final = word_lists("invented")
_ONSETS: Final = _PARTS["onsets"]
_VOWELS: Final = _PARTS["vowels"]
_MIDDLES: Final = _PARTS["middles"]
_BRAND_ENDS: Final = _PARTS["brand ends"]
_NAME_ENDS: Final = _PARTS["name ends"]
_TOWN_STARTS: Final = _PARTS["town starts"]
_TOWN_ENDS: Final = _PARTS["town ends"]
_CODE_LETTERS: Final = "abcdefghklmnprstvwxz"


def _first_distinct(count: int, draw: Callable[[int], Iterable[str]], taken: set[str]) -> list[str]:
    """The first `count` different words of an endless sequence that comes in blocks of fixed size."""
    words: dict[str, None] = {}
    block = 0
    while len(words) < count:
        for word in draw(block):
            if word not in taken:
                words[word] = None
        block += 1
    return list(words)[:count]


def _draw_picks(world: int, kind: int, block: int, width: int) -> list[list[int]]:
    rng = np.random.default_rng([world, kind, block])
    picks: list[list[int]] = rng.integers(0, 1 << 30, size=(4_096, width)).tolist()
    return picks


def _pick_word(words: tuple[str, ...], number: int) -> str:
    return words[number % len(words)]


def real_words() -> set[str]:
    """Every listed English word, so that invented ones stay apart from them."""
    words = {w for facets, nouns in TOPICS.values() for w in (*facets, *nouns)}
    lists = (
        vocabulary.FACETS,
        vocabulary.ADJECTIVES,
        vocabulary.VERBS,
        vocabulary.SERVICES,
        vocabulary.SITE_WORDS,
    )
    for part in (
        *lists,
        vocabulary.PROFESSIONS,
        vocabulary.FIRST_NAMES,
        vocabulary.LAST_NAMES,
        vocabulary.CITIES,
        vocabulary.STATES,
    ):
        words.update(part)
    return words


def invent_brands(world: int, count: int) -> list[str]:
    def draw(block: int) -> Iterable[str]:
        for a, b, c, d, e, long in _draw_picks(world, 1, block, 6):
            middle = _pick_word(_MIDDLES, d) + _pick_word(_VOWELS, e) if long % 4 == 0 else ""
            stem = _pick_word(_ONSETS, a) + _pick_word(_VOWELS[:5], b) + middle + _pick_word(_MIDDLES, c)
            yield stem + _pick_word(_BRAND_ENDS, d ^ e)

    return _first_distinct(count, draw, real_words())


def invent_surnames(world: int, count: int) -> list[str]:
    """Common surnames first, then invented ones."""

    def draw(block: int) -> Iterable[str]:
        for a, b, c, d in _draw_picks(world, 2, block, 4):
            yield (
                _pick_word(_ONSETS, a)
                + _pick_word(_VOWELS, b)
                + _pick_word(_MIDDLES, c)
                + _pick_word(_NAME_ENDS, d)
            )

    common = list(vocabulary.LAST_NAMES)
    return (common + _first_distinct(max(1, count - len(common)), draw, real_words()))[:count]


def invent_towns(world: int, count: int) -> list[str]:
    """Cities first, then invented towns."""

    def draw(block: int) -> Iterable[str]:
        for a, b, c, d, e in _draw_picks(world, 3, block, 5):
            if e % 2:
                start = _pick_word(_TOWN_STARTS, a)
            else:
                start = _pick_word(_ONSETS, b) + _pick_word(_VOWELS[:5], c) + _pick_word(_MIDDLES, a)
            yield start + _pick_word(_TOWN_ENDS, d)

    cities = list(vocabulary.CITIES)
    return (cities + _first_distinct(max(1, count - len(cities)), draw, real_words()))[:count]


def model_number(number: int) -> str:
    """A model number such as `kx450`."""
    first, rest = _CODE_LETTERS[number % 20], number // 20
    second = _CODE_LETTERS[rest % 20] if rest % 3 else ""
    return f"{first}{second}{(rest // 20) % 90 * 10 + 100 + number % 2 * 5}"


def plural_form(noun: str) -> str:
    """The regular English plural, or the noun itself where that would be odd."""
    if noun.endswith(("s", "ism", "ing", "sh", "ch", "x", "z", "ese", "ness")):
        return noun + "es" if noun.endswith(("ss", "sh", "ch", "x")) else noun
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"
