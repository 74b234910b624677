"""The spotter: persons, companies, places, adult and revealing terms, and identifiers in short texts.

It looks at words and their neighbours, at nothing else: no grammar, no context. What each rule is, and how often it
is wrong, is in docs/reference/spotting.md. Texts are handled together: words are looked up once, rules are array
operations, and only what they leave is looked at one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.language.identifiers import CANDIDATE, LONGEST_TEXT, find_identifiers
from queryveil.language.spotting import lists as known
from queryveil.language.spotting.cutting import NOTHING, Bools, Cut, Ints, Reading, Vocabulary
from queryveil.language.spotting.places import Places

_SHIFT: Final = 32
_MOST_PAIRS: Final = 4_000_000
"""Pairs of words without an order that are looked at together."""


class Kind(IntEnum):
    """What can be spotted."""

    PERSON = 0
    COMPANY = 1
    PLACE = 2
    ADULT = 3
    REVEALING = 4
    IDENTIFIER = 5


@dataclass(frozen=True, order=True)
class Entity:
    """Where in a text something was spotted, by words from 0, and what kind it is. It does not hold the text."""

    first: int
    last: int
    kind: str


@dataclass(frozen=True, eq=False)
class Spotted:
    """What was found in some texts: one entry per entity."""

    texts: int
    """How many texts there were."""
    text: Ints
    kind: Ints
    first: Ints
    """Place of its first word, counted over all texts."""
    last: Ints
    name: Ints
    """Of a person: a number that stands for the two words, whichever comes first; otherwise 0."""
    right: Bools
    """Whether all of its words are read as they truly are; of texts that were not hashed, always."""

    def entity_masks(self, chosen: Bools | None = None) -> npt.NDArray[np.int64]:
        """For each text the kinds of its entities, one bit each."""
        made = np.zeros(self.texts, dtype=np.int64)
        picked = np.ones(len(self.text), dtype=bool) if chosen is None else chosen
        np.bitwise_or.at(made, self.text[picked], np.int64(1) << self.kind[picked])
        return made


class Spotter:
    """Finds entities in texts; one spotter for all texts of a comparison, so that names have the same numbers.

    `rare` keeps pairs of two English words of which one is a rare name, as the census rule says.
    """

    def __init__(self, *, rare: bool = True) -> None:
        self.lists = known.load_lists()
        self.vocabulary = Vocabulary(self.lists)
        self._rare = rare
        self._persons: dict[int, bool] = {}
        self._places = Places(self.lists, self.vocabulary)
        phrases = [tuple(map(self.vocabulary.of_part, name.split(" "))) for name in self.lists.companies]
        self._companies = {phrase for phrase in phrases if len(phrase) > 1}
        self._longest = max(map(len, self._companies))
        self._company_starts = np.unique([_pair_codes(phrase[0], phrase[1]) for phrase in self._companies])

    def detect_entities(
        self, texts: pa.Array, *, ordered: bool = True, reading: Reading | None = None
    ) -> Spotted:
        """What is in texts in normal form. `ordered` says whether their words still stand as they were typed."""
        texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        cut = self.vocabulary.cut_texts(texts, reading)
        flags = self.vocabulary.flags(cut.words)
        persons = self.find_persons(cut, ordered=ordered)
        found = [(Kind.PERSON, *persons)]
        found.append((Kind.COMPANY, *self._companies_in(cut, flags, persons, ordered)))
        found.append((Kind.PLACE, *self._places.find_places(cut, flags, ordered)))
        for kind, flag in ((Kind.ADULT, known.ADULT_TERM), (Kind.REVEALING, known.REVEALING_TERM)):
            places = np.flatnonzero(flags & flag)
            found.append((kind, places, places))
        found.append((Kind.IDENTIFIER, *self._find_identifiers(texts, cut, ordered, reading)))
        return self._put_together(cut, found)

    def entities_in_text(self, text: str) -> list[Entity]:
        """What is in one text in normal form, from left to right."""
        found = self.detect_entities(pa.array([text], pa.string()))
        ends = zip(found.first.tolist(), found.last.tolist(), found.kind.tolist(), strict=True)
        return sorted(Entity(first, last, Kind(kind).name.lower()) for first, last, kind in ends)

    def name_codes(self, cut: Cut, first: Ints, last: Ints) -> Ints:
        """Numbers that stand for two words each, whichever comes first."""
        one, other = cut.words[first], cut.words[last]
        return _pair_codes(np.minimum(one, other), np.maximum(one, other))

    def _put_together(self, cut: Cut, found: list[tuple[Kind, Ints, Ints]]) -> Spotted:
        kind = np.concatenate([np.full(len(first), int(one)) for one, first, _ in found])
        first = np.concatenate([first for _, first, _ in found])
        last = np.concatenate([last for _, _, last in found])
        text = np.searchsorted(cut.starts, first, side="right") - 1
        name = np.zeros(len(first), dtype=np.int64)
        persons = kind == Kind.PERSON
        name[persons] = self.name_codes(cut, first[persons], last[persons])
        return Spotted(
            texts=len(cut), text=text, kind=kind, first=first, last=last, name=name,
            right=_all_words_right(cut, first, last, persons),
        )  # fmt: skip

    # -- persons -----------------------------------------------------------------------------------------

    def find_persons(self, cut: Cut, *, ordered: bool = True) -> tuple[Ints, Ints]:
        """Places of the first and of the last word of each person."""
        flags = self.vocabulary.flags(cut.words)
        if not ordered:
            return self._persons_anywhere(cut, flags)
        inside = np.ones(max(0, len(flags) - 1), dtype=bool)
        borders = cut.starts[1:-1] - 1
        inside[borders[(borders >= 0) & (borders < len(inside))]] = False
        first = np.flatnonzero(
            inside & ((flags[:-1] & known.FIRST) > 0) & ((flags[1:] & known.LAST) > 0)
            if len(flags)
            else inside
        )
        # 'st louis arch': the name belongs to what stands before it.
        before = np.maximum(first - 1, 0)
        free = ~(((flags[before] & known.BEFORE_PLACE) > 0) & (first > 0) & inside[before])
        # A word that is repeated is no name of two words.
        first = first[free & (cut.words[first] != cut.words[first + 1])]
        kept = first[self._are_persons(cut.words[first], cut.words[first + 1])]
        return kept, kept + 1

    def _persons_anywhere(self, cut: Cut, flags: Ints) -> tuple[Ints, Ints]:
        """Any first name with any last name of the same text; two words are one person at most."""
        firsts, lasts = (np.flatnonzero(flags & flag) for flag in (known.FIRST, known.LAST))
        owner = cut.owners
        # For each first name the run of last names in its text.
        low = np.searchsorted(lasts, cut.starts[owner[firsts]])
        many = np.searchsorted(lasts, cut.starts[owner[firsts] + 1]) - low
        found_first, found_last = [], []
        cuts = np.searchsorted(np.cumsum(many), np.arange(_MOST_PAIRS, many.sum() + 1, _MOST_PAIRS))
        for part in np.split(np.arange(len(firsts)), cuts):
            first = np.repeat(firsts[part], many[part])
            step = np.arange(len(first)) - np.repeat(np.cumsum(many[part]) - many[part], many[part])
            last = lasts[np.repeat(low[part], many[part]) + step]
            kept = cut.words[first] != cut.words[last]
            first, last = first[kept], last[kept]
            kept = self._are_persons(cut.words[first], cut.words[last])
            found_first.append(first[kept])
            found_last.append(last[kept])
        first = np.concatenate([np.zeros(0, dtype=np.int64), *found_first])
        last = np.concatenate([np.zeros(0, dtype=np.int64), *found_last])
        _, once = np.unique(_pair_codes(np.minimum(first, last), np.maximum(first, last)), return_index=True)
        return first[once], last[once]

    def _are_persons(self, first: Ints, last: Ints) -> Bools:
        """Which pairs of a first and a last name are kept."""
        pairs, of_pair = np.unique(_pair_codes(first, last), return_inverse=True)
        kept = np.zeros(len(pairs), dtype=bool)
        for at, pair in enumerate(pairs.tolist()):
            known_pair = self._persons.get(pair)
            if known_pair is None:
                known_pair = self._persons[pair] = self._is_person(pair)
            kept[at] = known_pair
        return kept[of_pair]

    def _is_person(self, pair: int) -> bool:
        numbers = np.array([pair >> _SHIFT, pair & ((1 << _SHIFT) - 1)])
        first, last = (self.vocabulary.words[number] for number in numbers.tolist())
        flags = self.vocabulary.flags(numbers).tolist()
        both_plain = flags[0] & flags[1] & known.PLAIN
        rare = (flags[0] & known.RARE_FIRST) or (flags[1] & known.RARE_LAST)
        if both_plain and not (self._rare and rare) and f"{first} {last}" not in known.PERSONS:
            return False
        return not self.lists.is_no_person(first, last)

    # -- companies ---------------------------------------------------------------------------------------

    def _companies_in(
        self, cut: Cut, flags: Ints, persons: tuple[Ints, Ints], ordered: bool
    ) -> tuple[Ints, Ints]:
        alone = np.flatnonzero(flags & known.COMPANY)
        ends = cut.starts[1:] - 1
        if not ordered:
            several = np.diff(cut.starts) > 1
            legal = np.flatnonzero(((flags & known.SUFFIX) > 0) & several[cut.owners])
            both = np.concatenate([alone, legal])
            return both, both
        long = ends[np.diff(cut.starts) > 1]
        legal = long[((flags[long] & known.SUFFIX) > 0) & (cut.words[long - 1] != NOTHING)]
        first, last = self._find_companies(cut)
        firsts, lasts = np.concatenate([alone, legal - 1, first]), np.concatenate([alone, legal, last])
        # 'harrison ford' is no car maker: a name inside a person's is that person's.
        part_of_person = np.zeros(len(cut.words), dtype=bool)
        part_of_person[persons[0]] = part_of_person[persons[1]] = True
        free = ~(part_of_person[firsts] & part_of_person[lasts])
        return firsts[free], lasts[free]

    def _find_companies(self, cut: Cut) -> tuple[Ints, Ints]:
        """Companies of several words."""
        starts = np.flatnonzero(np.isin(_pair_codes(cut.words[:-1], cut.words[1:]), self._company_starts))
        ends = cut.starts[np.searchsorted(cut.starts, starts, side="right")]
        firsts, lasts = [], []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            words = tuple(cut.words[start : min(end, start + self._longest)].tolist())
            length = next((n for n in range(len(words), 1, -1) if words[:n] in self._companies), 0)
            if length:
                firsts.append(start)
                lasts.append(start + length - 1)
        return np.array(firsts, dtype=np.int64), np.array(lasts, dtype=np.int64)

    # -- identifiers -------------------------------------------------------------------------------------

    def _find_identifiers(
        self, texts: pa.Array, cut: Cut, ordered: bool, reading: Reading | None
    ) -> tuple[Ints, Ints]:
        import pyarrow.compute as pc

        if reading is not None:
            texts = self._read_texts(cut)
        firsts: list[int] = []
        lasts: list[int] = []
        may_have = pc.match_substring_regex(texts, CANDIDATE).to_numpy(zero_copy_only=False)
        long = pc.greater(pc.utf8_length(texts), LONGEST_TEXT).to_numpy(zero_copy_only=False)
        for at in np.flatnonzero(may_have | long).tolist():
            text, start = texts[at].as_py(), int(cut.starts[at])
            if long[at]:
                spans = [(0, int(cut.starts[at + 1]) - start - 1)]
            elif ordered:
                spans = [
                    (text.count(" ", 0, one.start), text.count(" ", 0, one.end))
                    for one in find_identifiers(text)
                ]
            else:
                spans = [(n, n) for n, part in enumerate(text.split(" ")) if find_identifiers(part)]
            firsts += [start + first for first, _ in spans]
            lasts += [start + last for _, last in spans]
        return np.array(firsts, dtype=np.int64), np.array(lasts, dtype=np.int64)

    def _read_texts(self, cut: Cut) -> pa.Array:
        """The texts as they are read, nothing where a word is not."""
        import pyarrow.compute as pc

        words = pa.array(self.vocabulary.words, pa.large_string()).take(pa.array(cut.words))
        lists = pa.LargeListArray.from_arrays(pa.array(cut.starts), words)
        return pc.binary_join(lists, pa.scalar(" ", pa.large_string()))

    @cached_property
    def about(self) -> str:
        """What the figures rest on, in a sentence."""
        rare = "" if self._rare else ", rare names that are English words left out"
        return f"names of the US census of 1990{rare}; places of the United States; English words"


def _pair_codes(one: npt.ArrayLike, other: npt.ArrayLike) -> Ints:
    return (np.asarray(one, dtype=np.int64) << _SHIFT) | np.asarray(other, dtype=np.int64)


def _all_words_right(cut: Cut, first: Ints, last: Ints, ends_alone: Bools) -> Bools:
    """Whether all words of each entity are right; of persons the two words, wherever they stand."""
    if cut.right is None:
        return np.ones(len(first), dtype=bool)
    wrong = np.concatenate([[0], np.cumsum(~cut.right)])
    whole = wrong[np.maximum(first, last) + 1] == wrong[np.minimum(first, last)]
    return np.where(ends_alone, cut.right[first] & cut.right[last], whole)
