"""Places of the United States: a word before a state, 'city' or 'county'.

The word must be one that the dictionary has with a capital or not at all; a word or phrase that the gazetteer has as
a city of that state, or as a county, passes too ('mobile al', 'orange county'). IN, ME, OK, HI, DE and LA count only
at the end of a text, or after a city of that state. Without an order only cities of the gazetteer count, with their
state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from queryveil.language.spotting import lists as known
from queryveil.language.spotting.cutting import Cut, Ints, Vocabulary
from queryveil.language.spotting.lists import Lists

_LONGEST: Final = 3
"""Words of a city's name, at most."""
_ENGLISH: Final = frozenset({"in", "me", "ok", "hi"})
_SHIFT: Final = 32


class Places:
    """Finds places in texts."""

    def __init__(self, lists: Lists, vocabulary: Vocabulary) -> None:
        self._lists = lists
        self._vocabulary = vocabulary
        two = {name: code for name, code in lists.states.items() if name.count(" ") == 1}
        pairs = [tuple(map(vocabulary.word_code, name.split(" "))) for name in two]
        self._two = np.unique([(one << _SHIFT) | other for one, other in pairs])
        self._ending_in_city = frozenset(name for name, _ in lists.cities if name.endswith(" city"))

    def find_places(self, cut: Cut, flags: Ints, ordered: bool) -> tuple[Ints, Ints]:
        """Places of the first and last word of each."""
        if not ordered:
            found = list(self._find_anywhere(cut, flags))
        else:
            found = [*self._before_states(cut, flags), *self._before_districts(cut, flags)]
        ends = np.array(found, dtype=np.int64).reshape(-1, 2)
        return ends[:, 0], ends[:, 1]

    def _before_states(self, cut: Cut, flags: Ints) -> Iterator[tuple[int, int]]:
        single = np.flatnonzero(flags & known.STATE)
        keys = (cut.words[:-1] << _SHIFT) | cut.words[1:]
        double = np.flatnonzero(np.isin(keys, self._two))
        starts = np.concatenate([single, double])
        lasts = np.concatenate([single, double + 1])
        of_text = np.searchsorted(cut.starts, starts, side="right") - 1
        inside = (starts > cut.starts[of_text]) & (lasts < cut.starts[of_text + 1])
        starts, lasts, of_text = starts[inside], lasts[inside], of_text[inside]
        doubtful = (flags[starts] & known.DOUBTFUL_STATE) > 0
        at_end = lasts + 1 == cut.starts[of_text + 1]
        plainly = ((flags[starts - 1] & known.CAPITAL) > 0) & (~doubtful | at_end)
        for start, last in zip(starts[plainly].tolist(), lasts[plainly].tolist(), strict=True):
            yield start - 1, last
        rest = zip(*(part[~plainly].tolist() for part in (starts, lasts, of_text)), strict=True)
        for start, last, text in rest:
            word = self._joined_text(cut, start, last)
            state = self._lists.states[word]
            # 'reading me' is no place, 'mobile al' is one.
            shortest = 2 if word in _ENGLISH and flags[start - 1] & known.PLAIN else 1
            for city in self._ending_at(cut, start - 1, int(cut.starts[text]), shortest):
                if (self._joined_text(cut, city, start - 1), state) in self._lists.cities:
                    yield city, last
                    break

    def _before_districts(self, cut: Cut, flags: Ints) -> Iterator[tuple[int, int]]:
        places = np.flatnonzero(flags & known.DISTRICT)
        of_text = np.searchsorted(cut.starts, places, side="right") - 1
        inside = places > cut.starts[of_text]
        for place, text in zip(places[inside].tolist(), of_text[inside].tolist(), strict=True):
            if flags[place - 1] & known.CAPITAL:
                yield place - 1, place
                continue
            county = self._vocabulary.words[cut.words[place]] == "county"
            for start in self._ending_at(cut, place - 1, int(cut.starts[text]), 1):
                if (
                    self._joined_text(cut, start, place - 1) in self._lists.counties
                    if county
                    else self._joined_text(cut, start, place) in self._ending_in_city
                ):
                    yield start, place
                    break

    def _find_anywhere(self, cut: Cut, flags: Ints) -> Iterator[tuple[int, int]]:
        words = self._vocabulary.words
        states = np.flatnonzero(((flags & known.STATE) > 0) & ((flags & known.DOUBTFUL_STATE) == 0))
        of_text = np.searchsorted(cut.starts, states, side="right") - 1
        for place, text in zip(states.tolist(), of_text.tolist(), strict=True):
            state = self._lists.states[words[cut.words[place]]]
            for other in range(int(cut.starts[text]), int(cut.starts[text + 1])):
                if (words[cut.words[other]], state) in self._lists.cities:
                    yield other, place

    def _joined_text(self, cut: Cut, first: int, last: int) -> str:
        return " ".join(self._vocabulary.words[number] for number in cut.words[first : last + 1].tolist())

    def _ending_at(self, cut: Cut, last: int, start: int, shortest: int) -> Iterator[int]:
        """Where a phrase that ends at a word can start, the longest first."""
        for length in range(_LONGEST, shortest - 1, -1):
            if last - length + 1 >= start:
                yield last - length + 1
