"""From texts to items of a taxonomy: single words, names of several words, or whole queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.language.taxonomy import Taxonomy
from queryveil.reading.text import keywords, normalise

Codes = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Items:
    """The items of each text one after another, as numbers; where each text starts; what they are, and mean."""

    flat: Numbers
    starts: Codes
    texts: list[str]
    concepts: Numbers
    """Item -> its concept, -1 if the taxonomy has none."""


def items_of(texts: pa.StringArray, taxonomy: Taxonomy, *, whole: bool) -> Items:
    """Every text as one item; or its words, of which several that are one name together are one item."""
    names = _cached_names(taxonomy)
    if whole:
        shown = texts.to_pylist()
        return Items(
            np.arange(len(shown), dtype=np.int32), np.arange(len(shown) + 1), shown, names.concepts(shown)
        )
    flat, starts, words = _split_words(texts)
    flat, starts, words = _with_names(flat, starts, words, names)
    return Items(flat, starts, words, names.concepts(words))


def concepts_of(texts: Sequence[str], taxonomy: Taxonomy) -> Numbers:
    """For each text the concept that has it as a name, -1 if none has."""
    return _cached_names(taxonomy).concepts(texts)


# -- single words --------------------------------------------------------------------------------------------


def _split_words(texts: pa.StringArray) -> tuple[Numbers, Codes, list[str]]:
    """The words of each text one after another, as numbers; where each text starts; and the words."""
    import pyarrow.compute as pc

    parts = pc.split_pattern(texts, " ")
    tokens = pc.list_flatten(parts).dictionary_encode()
    numbers: dict[str, int] = {}
    # Keywords are cut at blanks, so that each token by itself is one or none.
    cut = (keywords(token) for token in tokens.dictionary.to_pylist())
    of_token = np.fromiter(
        (numbers.setdefault(one[0], len(numbers)) if one else -1 for one in cut),
        np.int32,
        len(tokens.dictionary),
    )
    flat = of_token[tokens.indices.to_numpy()]
    filled = np.concatenate(([0], np.cumsum(flat >= 0)))
    ends = np.concatenate(([0], np.cumsum(pc.list_value_length(parts).to_numpy(), dtype=np.int64)))
    return flat[flat >= 0], filled[ends], list(numbers)


# -- names of several words ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Names:
    """The names of a taxonomy as a query has them: without punctuation around words."""

    taxonomy: Taxonomy
    spelt: dict[str, str]
    """Keywords of a name with blanks between them -> the name, where these differ."""
    longest: dict[str, int]
    """The first two words of a name -> words of the longest name that begins so, if it has more than two."""

    def concepts(self, texts: Sequence[str]) -> Numbers:
        found = self.taxonomy.lookup(texts)
        missed = np.flatnonzero(found < 0).tolist()
        other = {at: self.spelt.get(" ".join(keywords(texts[at]))) for at in missed}
        again = [(at, name) for at, name in other.items() if name is not None]
        if not again:
            return found
        found = found.copy()
        found[[at for at, _ in again]] = self.taxonomy.lookup([name for _, name in again])
        return found


@lru_cache(maxsize=4)
def _cached_names(taxonomy: Taxonomy) -> _Names:
    """One per taxonomy: WordNet has 60,000 names of several words."""
    spelt: dict[str, str] = {}
    longest: dict[str, int] = {}
    for form in taxonomy.lexicon.first:
        if "_" not in form:
            continue
        name = form.replace("_", " ")
        words = keywords(normalise(name))
        if len(words) < 2:
            continue
        if " ".join(words) != name:
            spelt.setdefault(" ".join(words), name)
        if len(words) > 2:
            start = " ".join(words[:2])
            longest[start] = max(longest.get(start, 0), len(words))
    return _Names(taxonomy, spelt, longest)


def _with_names(
    flat: Numbers, starts: Codes, words: list[str], names: _Names
) -> tuple[Numbers, Codes, list[str]]:
    """The same, each name of several words as one item: from left to right the longest that begins at a word."""
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    together = np.flatnonzero(owners[:-1] == owners[1:])
    pairs, of_pair = np.unique(
        flat[together].astype(np.int64) * len(words) + flat[together + 1], return_inverse=True
    )
    # Most neighbours begin no name, and most pairs come often: each is looked up once.
    spelt = [f"{words[one // len(words)]} {words[one % len(words)]}" for one in pairs.tolist()]
    begins = (names.concepts(spelt) >= 0) | np.fromiter(
        (one in names.longest for one in spelt), np.bool_, len(spelt)
    )
    places = together[begins[of_pair]]
    numbers = {word: number for number, word in enumerate(words)}
    made = flat.copy()
    kept = np.ones(len(flat), dtype=np.bool_)
    end = 0
    for place, text_end in zip(places.tolist(), starts[1:][owners[places]].tolist(), strict=True):
        if place < end:
            continue
        name, length = _longest_at(flat[place:text_end], words, names)
        if length:
            made[place] = numbers.setdefault(name, len(numbers))
            end = place + length
            kept[place + 1 : end] = False
    filled = np.concatenate(([0], np.cumsum(kept)))
    return made[kept], filled[starts], list(numbers)


def _longest_at(after: Numbers, words: list[str], names: _Names) -> tuple[str, int]:
    """The longest name that begins with the first of these words, and how many words it has; 0 if none."""
    start = " ".join(words[one] for one in after[:2].tolist())
    most = min(max(2, names.longest.get(start, 2)), len(after))
    for name, length in _name_prefixes([words[one] for one in after[:most].tolist()]):
        if names.concepts([name])[0] >= 0:
            return name, length
    return "", 0


def _name_prefixes(words: list[str]) -> Iterator[tuple[str, int]]:
    for length in range(len(words), 1, -1):
        yield " ".join(words[:length]), length
