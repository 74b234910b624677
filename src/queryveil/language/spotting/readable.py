"""Whether texts are in a language that the lists are of. They are English, with the names of one country.

Who reads a German or a Chinese log with them finds nobody, which says nothing about who is in it. The rule is coarse
on purpose: of a log's words, at least half must be known. In English logs seven in ten are; in logs of German, French,
Spanish or Dutch, which share words and names with English, two or three; in other scripts none.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from queryveil.language.spotting import lists as known
from queryveil.language.spotting.cutting import Reading
from queryveil.language.spotting.spotter import Spotter

LEAST_KNOWN: Final = 0.5
"""The share of words that must be known; of fewer it is not said what they give away."""
KNOWN_IS: Final = "English words or usual names of the US census"
_SHORTEST: Final = 3
"""Letters: shorter words are words in too many languages. In other scripts than ours one letter says much."""
_MOST_TEXTS: Final = 200_000
_FAMILIAR: Final = known.PLAIN | known.STATE | known.COMPANY


def words_known(spotter: Spotter, texts: pa.Array, reading: Reading | None = None) -> float | None:
    """The share of known words among the words of letters, of 200,000 texts at most; None if there are no words."""
    step = -(-max(1, len(texts)) // _MOST_TEXTS)
    some = texts.take(pa.array(np.arange(0, len(texts), step)))
    cut = spotter.vocabulary.cut_texts(some, reading)
    words, times = np.unique(cut.words, return_counts=True)
    spelt = np.fromiter((_is_word(spotter.vocabulary.words[one]) for one in words), np.bool_, len(words))
    if not spelt.any():
        return None
    words, times = words[spelt], times[spelt]
    flags = spotter.vocabulary.flags(words)
    # The census has rare names of every language: they are no sign of English.
    first = (flags & (known.FIRST | known.RARE_FIRST)) == known.FIRST
    last = (flags & (known.LAST | known.RARE_LAST)) == known.LAST
    familiar = (flags & _FAMILIAR != 0) | first | last
    return float(times[familiar].sum() / times.sum())


def is_readable(share: float | None) -> bool:
    """Whether what is not found is likely not to be there. Texts without words hide no names."""
    return share is None or share >= LEAST_KNOWN


def _is_word(word: str) -> bool:
    return word.isalpha() and (len(word) >= _SHORTEST or not word.isascii())
