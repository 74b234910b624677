"""Words that no list has: brands, surnames, towns and model numbers, made from syllables.

Each list is a fixed sequence for a given world: a longer list starts with the shorter one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from queryveil.generator.words import TOPICS, general, people
from queryveil.generator.words.listed import listed

_ONSETS: Final = listed(
    "b br c ch cl cr d dr f fl fr g gl gr h j k kr l m n p pl pr qu r s sk sl sp st t tr v w z"
)
_VOWELS: Final = listed("a e i o u ai ea ia io oo")
_MIDDLES: Final = listed("b d g k l ll m mb n nd nt p r rd rn s st t v x z")
_BRAND_ENDS: Final = listed("a o ex ix ia on ora ent ium ico ara ity era yne aro ell ova eta")
_NAME_ENDS: Final = listed(
    "berg stein sen ford ley worth wick son man ski kov etti ano ello ez ard ham by ton mont dale hart well"
)
_TOWN_STARTS: Final = listed(
    """
    ash bar birch black bram brook cald car clay cold cran dun east elk fair fern fox glen gold gran green
    hal ham hart haw hazel high hol kings lang lin long mal mar mead mid mill new north oak old pem pine port
    red rich river rock rose sal sand shel silver south spring stan stone strat sum sut thorn west whit wil
    win wood
    """
)
_TOWN_ENDS: Final = listed(
    """
    bridge brook burg burn bury by creek dale den don falls field ford gate grove ham haven hill hurst lake
    land ley mere minster mont mouth ness park point port ridge shire side stead ston ton vale view ville
    water well wick wood worth
    """
)
_CODE_LETTERS: Final = "abcdefghklmnprstvwxz"


def _distinct(count: int, draw: Callable[[int], Iterable[str]], taken: set[str]) -> list[str]:
    """The first `count` different words of an endless sequence that comes in blocks of fixed size."""
    words: dict[str, None] = {}
    block = 0
    while len(words) < count:
        for word in draw(block):
            if word not in taken:
                words[word] = None
        block += 1
    return list(words)[:count]


def _picks(world: int, kind: int, block: int, width: int) -> list[list[int]]:
    rng = np.random.default_rng([world, kind, block])
    picks: list[list[int]] = rng.integers(0, 1 << 30, size=(4_096, width)).tolist()
    return picks


def _pick(words: tuple[str, ...], number: int) -> str:
    return words[number % len(words)]


def real_words() -> set[str]:
    """Every listed English word, so that invented ones stay apart from them."""
    words = {w for facets, nouns in TOPICS.values() for w in (*facets, *nouns)}
    lists = (general.FACETS, general.ADJECTIVES, general.VERBS, general.SERVICES, general.SITE_WORDS)
    for part in (
        *lists,
        general.PROFESSIONS,
        people.FIRST_NAMES,
        people.LAST_NAMES,
        people.CITIES,
        people.STATES,
    ):
        words.update(part)
    return words


def brands(world: int, count: int) -> list[str]:
    def draw(block: int) -> Iterable[str]:
        for a, b, c, d, e, long in _picks(world, 1, block, 6):
            middle = _pick(_MIDDLES, d) + _pick(_VOWELS, e) if long % 4 == 0 else ""
            stem = _pick(_ONSETS, a) + _pick(_VOWELS[:5], b) + middle + _pick(_MIDDLES, c)
            yield stem + _pick(_BRAND_ENDS, d ^ e)

    return _distinct(count, draw, real_words())


def surnames(world: int, count: int) -> list[str]:
    """Common surnames first, then invented ones."""

    def draw(block: int) -> Iterable[str]:
        for a, b, c, d in _picks(world, 2, block, 4):
            yield _pick(_ONSETS, a) + _pick(_VOWELS, b) + _pick(_MIDDLES, c) + _pick(_NAME_ENDS, d)

    common = list(people.LAST_NAMES)
    return (common + _distinct(max(1, count - len(common)), draw, real_words()))[:count]


def towns(world: int, count: int) -> list[str]:
    """Cities first, then invented towns."""

    def draw(block: int) -> Iterable[str]:
        for a, b, c, d, e in _picks(world, 3, block, 5):
            if e % 2:  # noqa: SIM108 (one line would be too long)
                start = _pick(_TOWN_STARTS, a)
            else:
                start = _pick(_ONSETS, b) + _pick(_VOWELS[:5], c) + _pick(_MIDDLES, a)
            yield start + _pick(_TOWN_ENDS, d)

    cities = list(people.CITIES)
    return (cities + _distinct(max(1, count - len(cities)), draw, real_words()))[:count]


def code(number: int) -> str:
    """A model number such as `kx450`."""
    first, rest = _CODE_LETTERS[number % 20], number // 20
    second = _CODE_LETTERS[rest % 20] if rest % 3 else ""
    return f"{first}{second}{(rest // 20) % 90 * 10 + 100 + number % 2 * 5}"


def plural(noun: str) -> str:
    """The regular English plural, or the noun itself where that would be odd."""
    if noun.endswith(("s", "ism", "ing", "sh", "ch", "x", "z", "ese", "ness")):
        return noun + "es" if noun.endswith(("ss", "sh", "ch", "x")) else noun
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"
