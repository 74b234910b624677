"""How much is given away: texts, occurrences and sessions by kind, and the dangerous pairs of kinds.

Every text has a mask: one bit per kind that was spotted in it, one for a person who is no star, and the same bits
again, higher up, for what was read correctly. A session's mask is that of its texts together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from queryveil.language.spotting.cutting import Bools, Cut, Ints, Reading
from queryveil.language.spotting.spotter import Kind, Spotter

Progress = Callable[[int], None]

STAR: Final = 10
"""A name with so many occurrences is famous: a star's."""
NON_STAR: Final = len(Kind)
_RIGHT: Final = 8
"""Where the bits begin of what was read correctly."""
_CHUNK: Final = 250_000

CATEGORIES: Final[Mapping[str, int]] = {
    "person": 1 << Kind.PERSON,
    "non-star": 1 << NON_STAR,
    "company": 1 << Kind.COMPANY,
    "place": 1 << Kind.PLACE,
    "adult": 1 << Kind.ADULT,
    "revealing": 1 << Kind.REVEALING,
    "identifier": 1 << Kind.IDENTIFIER,
}
"""What is counted by itself, and its bit."""

DANGEROUS: Final[Mapping[str, int]] = {
    f"{one}+{other}": CATEGORIES[one] | CATEGORIES[other]
    for one, other in (
        ("non-star", "place"),
        ("non-star", "company"),
        ("non-star", "adult"),
        ("non-star", "revealing"),
        ("person", "place"),
    )
}
"""What is worse together than alone."""


@dataclass(frozen=True, eq=False)
class NameCounts:
    """How often each name occurs."""

    names: Ints
    """In ascending order."""
    times: Ints

    def counts_of(self, names: Ints) -> Ints:
        """The occurrences of these names; 0 for others."""
        if not len(self.names):
            return np.zeros(len(names), dtype=np.int64)
        place = np.minimum(np.searchsorted(self.names, names), len(self.names) - 1)
        return np.where(self.names[place] == names, self.times[place], 0)


@dataclass(frozen=True, eq=False)
class Texts:
    """Different texts, and how often each occurs."""

    texts: pa.Array
    times: Ints
    ordered: bool = True
    """Whether words still stand as they were typed."""
    reading: Reading | None = None
    """What hashes are taken for, if the texts are hashes."""

    def __len__(self) -> int:
        return len(self.texts)

    def read_chunks(self) -> Iterator[tuple[int, pa.Array]]:
        for start in range(0, len(self.texts), _CHUNK):
            yield start, self.texts.slice(start, _CHUNK)

    def sort_texts(self) -> Texts:
        """The same texts in an order that is no engine's and no release's."""
        import pyarrow.compute as pc

        order = pc.sort_indices(self.texts)
        return replace(self, texts=self.texts.take(order), times=self.times[order.to_numpy()])


@dataclass(frozen=True, eq=False)
class Collected:
    """What was spotted in texts, before it is known who is a star."""

    of: Texts
    masks: Ints
    right: Ints
    """The masks of what was read correctly."""
    person_text: Ints
    person_name: Ints
    person_right: Bools

    def name_counts(self) -> NameCounts:
        """Every name with the occurrences of the texts that hold it."""
        names, of_name = np.unique(self.person_name, return_inverse=True)
        # A text counts once, however often it has the name.
        number, text = np.divmod(np.unique(of_name * len(self.of) + self.person_text), max(1, len(self.of)))
        times = np.bincount(number, weights=self.of.times[text], minlength=len(names))
        return NameCounts(names, times.astype(np.int64))

    def with_stars(self, known: NameCounts, star: int) -> Ints:
        """The whole mask of every text."""
        private = known.counts_of(self.person_name) < star
        masks, right = self.masks.copy(), self.right.copy()
        masks[self.person_text[private]] |= 1 << NON_STAR
        right[self.person_text[private & self.person_right]] |= 1 << NON_STAR
        return masks | (right << _RIGHT)


def collect_entities(spotter: Spotter, texts: Texts, progress: Progress | None = None) -> Collected:
    """Spot everything in texts, a part at a time."""
    masks, rights, of_text, names, read = [], [], [], [], []
    for start, chunk in texts.read_chunks():
        found = spotter.detect_entities(chunk, ordered=texts.ordered, reading=texts.reading)
        masks.append(found.entity_masks())
        rights.append(found.entity_masks(found.right))
        persons = found.kind == Kind.PERSON
        of_text.append(found.text[persons] + start)
        names.append(found.name[persons])
        read.append(found.right[persons])
        if progress:
            progress(len(chunk))
    nothing = np.zeros(0, dtype=np.int64)
    return Collected(
        of=texts,
        masks=np.concatenate([nothing, *masks]),
        right=np.concatenate([nothing, *rights]),
        person_text=np.concatenate([nothing, *of_text]),
        person_name=np.concatenate([nothing, *names]),
        person_right=np.concatenate([np.zeros(0, dtype=bool), *read]),
    )


def by_chance(spotter: Spotter, texts: Texts, generator: np.random.Generator) -> int:
    """In how many texts a person is read where chance alone puts names together.

    These are the texts themselves, read backwards. People type the first name first, and words that are neighbours by
    accident are so in either order: of texts in which all words are, as many name a person backwards as forwards.
    Neighbours stay neighbours, so that a log's phrases are no reason for a difference. Names that are names in both
    orders ('james martin') count backwards too, and make the number larger than chance does, not smaller.

    Texts that have lost their order have no other one: there, words are shuffled between all texts. That takes them out
    of their phrases, and can make more names than accident does.

    The same texts and the same generator give the same number, in whatever order the texts come.
    Where the truth about hashes is known, of words that are read correctly.
    """
    chunks = (texts if texts.ordered else texts.sort_texts()).read_chunks()
    cuts = (spotter.vocabulary.cut_texts(chunk, texts.reading) for _, chunk in chunks)
    if texts.ordered:
        return sum(_count_persons(spotter, one.reverse(), ordered=True) for one in cuts)
    whole = Cut.concatenate(list(cuts))
    return _count_persons(spotter, whole.reorder(generator.permutation(len(whole.words))), ordered=False)


def _count_persons(spotter: Spotter, cut: Cut, *, ordered: bool) -> int:
    """How many texts name a person."""
    first, last = spotter.find_persons(cut, ordered=ordered)
    if cut.right is not None:
        first = first[cut.right[first] & cut.right[last]]
    return len(np.unique(np.searchsorted(cut.starts, first, side="right") - 1))


def tally_categories(masks: Ints, weights: Ints | None = None, *, right: bool = False) -> dict[str, int]:
    """How many masks, or their weights, have each category and each dangerous pair."""
    values, of_value = np.unique(masks >> _RIGHT if right else masks, return_inverse=True)
    counted = np.bincount(of_value, weights=weights, minlength=len(values))
    return {
        name: int(counted[(values & bits) == bits].sum())
        for name, bits in {**CATEGORIES, **DANGEROUS}.items()
    }
