"""Families of queries: an entity and what people ask about it, from templates.

The members of a family share words, results and reformulations. Which member exists is decided per
entity, once: so a word has neighbours of its own, and not just those of its topic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from queryveil.synthetic.generator import lexicon, vocabulary
from queryveil.synthetic.generator.lexicon import model_number, plural_form
from queryveil.synthetic.generator.vocabulary import TOPICS

SITES, PLACES, PERSONS, FEARS, LANGUAGES = "sites", "places", "persons", "fears", "languages"
TOPIC_NAMES: Final[tuple[str, ...]] = (*TOPICS, SITES, PLACES, PERSONS, FEARS, LANGUAGES)
_TOPIC_ID: Final = {name: i for i, name in enumerate(TOPIC_NAMES)}
_PICKS: Final = 24
# Families of each kind in a pool of 300,000 queries; smaller pools have proportionally fewer.
_FULL: Final = {"compound": 16_000, "brand": 9_000, "town": 5_500, "person": 9_000, "site": 260}
_FULL_POOL: Final = 300_000
# How popular the first fear is. With the steeper popularity of version 2, that of version 1 would be a hundredth of
# all searches.
_FEARED: Final = {1: 7.0, 2: 5.5}


class Family(NamedTuple):
    """Queries about one entity, the plainest first; `home` is the site of its own, if it has one."""

    topic: int
    members: list[str]
    boost: float
    home: str
    spread: float = 1.0  # how much chance decides its popularity


@dataclass(frozen=True)
class Names:
    """The invented words of one world."""

    brands: list[str]
    surnames: list[str]
    towns: list[str]

    @classmethod
    def for_world(cls, world: int, pool_size: int) -> Names:
        share = min(1.0, pool_size / _FULL_POOL)
        return cls(
            brands=lexicon.invent_brands(world, 400 + int(9_500 * share)),
            surnames=lexicon.invent_surnames(world, 400 + int(7_000 * share)),
            towns=lexicon.invent_towns(world, 200 + int(5_500 * share)),
        )


class _Draw:
    """Fixed picks of one family: number i always picks the same."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers

    def pick(self, i: int, words: tuple[str, ...] | list[str]) -> str:
        return words[self.numbers[i] % len(words)]


def _noun_family(topic: str, noun: str, r: _Draw) -> Family:
    facets, nouns = TOPICS[topic]
    members = [
        noun,
        f"{noun} {r.pick(0, facets)}",
        plural_form(noun),
        f"{noun} {r.pick(1, nouns)}",
        f"{r.pick(2, vocabulary.ADJECTIVES)} {plural_form(noun)}",
        f"{noun} {r.pick(3, facets)}",
        r.pick(4, vocabulary.QUESTIONS).format(noun),
        f"how to {r.pick(5, vocabulary.VERBS)} {noun}",
        f"{r.pick(6, nouns)} {noun}",
        f"{plural_form(noun)} {r.pick(7, vocabulary.FACETS)}",
        f"{r.pick(8, vocabulary.ADJECTIVES)} {noun} {r.pick(9, facets)}",
        f"{noun} {r.pick(10, nouns)} {r.pick(11, facets)}",
        f"{noun} for {r.pick(12, nouns)}",
        f"how to {r.pick(13, vocabulary.VERBS)} a {r.pick(14, vocabulary.ADJECTIVES)} {noun}",
        f"{noun} and {r.pick(15, nouns)}",
        f"{r.pick(16, nouns)} {noun} {r.pick(17, vocabulary.FACETS)}",
    ]
    return Family(_TOPIC_ID[topic], members, 2.0, "")


def _compound_family(topic: str, r: _Draw) -> Family:
    facets, nouns = TOPICS[topic]
    head = f"{r.pick(0, nouns)} {r.pick(1, nouns)}"
    members = [
        head,
        f"{head} {r.pick(2, facets)}",
        f"{r.pick(3, vocabulary.ADJECTIVES)} {head}",
        f"{head} {r.pick(4, nouns)}",
        f"how to {r.pick(5, vocabulary.VERBS)} {head}",
    ]
    return Family(_TOPIC_ID[topic], members, -0.5, "")


def _brand_family(topic: str, brand: str, r: _Draw) -> Family:
    facets, nouns = TOPICS[topic]
    product = r.pick(0, nouns)
    model = model_number(r.numbers[1])
    members = [
        brand,
        f"{brand} {product}",
        f"www.{brand}.com",
        f"{brand} {r.pick(2, nouns)} {r.pick(3, facets)}",
        f"{brand} {model}",
        f"{brand}.com",
        f"{brand} {product} {model}",
        f"{brand} {r.pick(4, vocabulary.FACETS)}",
        f"{brand} {r.pick(5, ('inc', 'corp', 'coupons', 'customer service', 'store locator', 'warranty'))}",
        f"{r.pick(6, vocabulary.ADJECTIVES)} {brand} {plural_form(r.pick(7, nouns))}",
    ]
    return Family(_TOPIC_ID[topic], members, 0.0, brand)


def _site_family(brand: str, place: int, r: _Draw) -> Family:
    members = [brand, f"{brand}.com", f"www.{brand}.com"]
    members += [f"{brand} {r.pick(i, vocabulary.SITE_WORDS)}" for i in range(5)]
    return Family(_TOPIC_ID[SITES], members, 12.0 - 1.5 * math.log(1 + place), brand, spread=0.3)


def _town_family(town: str, r: _Draw) -> Family:
    state = r.pick(0, vocabulary.STATES)
    service, other = r.pick(1, vocabulary.SERVICES), r.pick(2, vocabulary.SERVICES)
    members = [
        f"{town} {state}",
        f"{town} {service}",
        f"{town} {state} {other}",
        town,
        f"{other} in {town} {state}",
        f"{r.pick(3, vocabulary.SERVICES)} near {town}",
        f"{town} county {state}",
        f"{town} {state} {r.pick(4, vocabulary.SERVICES)}",
        f"city of {town}",
    ]
    return Family(_TOPIC_ID[PLACES], members, 0.2, f"{town}-{state}")


def _person_family(names: Names, r: _Draw) -> Family:
    # Squaring the share prefers the front of the list: common surnames are common.
    position = (r.numbers[0] / (1 << 30)) ** 2
    person = f"{r.pick(1, vocabulary.FIRST_NAMES)} {names.surnames[int(position * len(names.surnames))]}"
    members = [
        person,
        f"{person} {r.pick(2, vocabulary.PROFESSIONS)}",
        f"{person} {r.pick(3, vocabulary.STATES[:40])}",
    ]
    members.append(f"{person} {r.pick(4, vocabulary.PROFESSIONS)}")
    return Family(_TOPIC_ID[PERSONS], members, -0.3, "")


def _fear_family(fear: str, place: int, version: int) -> Family:
    members = [f"fear of {fear}", f"overcoming fear of {fear}", f"{fear} phobia"]
    return Family(_TOPIC_ID[FEARS], members, _FEARED[version] - place / 15, "", spread=0.3)


def _foreign_family(phrase: str, r: _Draw) -> Family:
    members = [phrase, *(f"{phrase} {r.pick(i, vocabulary.FACETS)}" for i in range(6))]
    return Family(_TOPIC_ID[LANGUAGES], members, 2.5, "")


def _family_draws(world: int, kind: int, count: int) -> Iterator[_Draw]:
    rng = np.random.default_rng([world, 100 + kind])
    numbers = rng.integers(0, 1 << 30, size=(count, _PICKS)).tolist()
    return map(_Draw, numbers)


def draw_families(world: int, pool_size: int, names: Names, version: int) -> Iterator[Family]:
    """Families with clearly more members than `pool_size`, in no order of popularity."""
    share = pool_size / _FULL_POOL
    # The listed nouns do not grow with the pool: beyond the full size the other kinds make up for them.
    growth = share if share <= 1 else share * 1.6
    full = {kind: max(4, int(count * growth)) for kind, count in _FULL.items()}
    nouns = [(topic, noun) for topic, (_, words) in TOPICS.items() for noun in words]
    topics = list(TOPICS)
    sites, makers = names.brands[:300], names.brands[300:]

    # Every n-th noun in a small pool, so that all topics stay.
    step = max(1, round(0.7 / share)) if share < 0.7 else 1
    yield from (
        _noun_family(*pair, r)
        for pair, r in zip(nouns[::step], _family_draws(world, 0, len(nouns)), strict=False)
    )
    yield from (
        _fear_family(fear, place, version)
        for place, fear in enumerate(vocabulary.FEARS[: max(8, int(2_000 * share))])
    )
    foreign = vocabulary.FOREIGN[:: max(1, round(0.6 / share))]
    yield from (
        _foreign_family(phrase, r)
        for phrase, r in zip(foreign, _family_draws(world, 1, len(foreign)), strict=True)
    )
    for place, r in enumerate(_family_draws(world, 2, min(full["site"], len(sites)))):
        yield _site_family(sites[place], place, r)
    for i, r in enumerate(_family_draws(world, 3, full["brand"])):
        yield _brand_family(r.pick(20, topics), makers[i % len(makers)], r)
    for i, r in enumerate(_family_draws(world, 4, full["town"])):
        yield _town_family(names.towns[i % len(names.towns)], r)
    yield from (_compound_family(r.pick(20, topics), r) for r in _family_draws(world, 5, full["compound"]))
    yield from (_person_family(names, r) for r in _family_draws(world, 6, full["person"]))
