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
import pyarrow.compute as pc

from queryveil.spotting.cutting import Bools, Cut, Ints, Reading
from queryveil.spotting.spotter import Kind, Spotter

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

    def of(self, names: Ints) -> Ints:
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

    def chunks(self) -> Iterator[tuple[int, pa.Array]]:
        for start in range(0, len(self.texts), _CHUNK):
            yield start, self.texts.slice(start, _CHUNK)

    def sorted(self) -> Texts:
        """The same texts in an order that is no engine's and no release's."""
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
        private = known.of(self.person_name) < star
        masks, right = self.masks.copy(), self.right.copy()
        masks[self.person_text[private]] |= 1 << NON_STAR
        right[self.person_text[private & self.person_right]] |= 1 << NON_STAR
        return masks | (right << _RIGHT)


def collect(spotter: Spotter, texts: Texts, progress: Progress | None = None) -> Collected:
    """Spot everything in texts, a part at a time."""
    masks, rights, of_text, names, read = [], [], [], [], []
    for start, chunk in texts.chunks():
        found = spotter.spot(chunk, ordered=texts.ordered, reading=texts.reading)
        masks.append(found.masks())
        rights.append(found.masks(found.right))
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
    """In how many texts a person comes about once words are shuffled between texts.

    The same texts and the same generator give the same number, in whatever order the texts come.
    Where the truth about hashes is known, of words that are read correctly.
    """
    hits = 0
    for _, chunk in texts.sorted().chunks():
        cut = spotter.vocabulary.cut(chunk, texts.reading)
        order = generator.permutation(len(cut.words))
        mixed = Cut(words=cut.words[order], starts=cut.starts)
        first, last = spotter.persons(mixed, ordered=texts.ordered)
        if cut.right is not None:
            right = cut.right[order]
            first = first[right[first] & right[last]]
        of_text = np.searchsorted(mixed.starts, first, side="right") - 1
        hits += len(np.unique(of_text))
    return hits


def tally(masks: Ints, weights: Ints | None = None, *, right: bool = False) -> dict[str, int]:
    """How many masks, or their weights, have each category and each dangerous pair."""
    values, of_value = np.unique(masks >> _RIGHT if right else masks, return_inverse=True)
    counted = np.bincount(of_value, weights=weights, minlength=len(values))
    return {
        name: int(counted[(values & bits) == bits].sum())
        for name, bits in {**CATEGORIES, **DANGEROUS}.items()
    }
