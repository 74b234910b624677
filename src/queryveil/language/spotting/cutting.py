"""Texts as numbers of words: a word is looked up once, however often it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.language.identifiers import LONGEST_TEXT
from queryveil.language.spotting.lists import Lists
from queryveil.reading.text import keywords

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NOTHING: Final = 0
"""The number of what is no word: punctuation alone, or a hash that nobody read."""


@dataclass(frozen=True, eq=False)
class Cut:
    """Texts cut at their blanks. The words of text i are `words[starts[i]:starts[i + 1]]`."""

    words: Ints
    starts: Ints
    right: Bools | None = None
    """Which words are read as they truly are, where the texts were hashed and the truth is known."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @staticmethod
    def concatenate(parts: Sequence[Cut]) -> Cut:
        """Texts that were cut part by part, all by one vocabulary."""
        ends = np.cumsum([0, *(len(one.words) for one in parts)])
        nothing = np.zeros(0, dtype=np.int64)
        rights = [one.right for one in parts if one.right is not None]
        return Cut(
            words=np.concatenate([nothing, *(one.words for one in parts)]),
            starts=np.concatenate(
                [*(one.starts[:-1] + end for one, end in zip(parts, ends, strict=False)), ends[-1:]]
            ),
            right=np.concatenate(rights) if rights else None,
        )

    @property
    def owners(self) -> Ints:
        """The text of each word."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def reorder(self, order: Ints) -> Cut:
        """As many words in every text, but those of these places."""
        return Cut(
            words=self.words[order],
            starts=self.starts,
            right=self.right[order] if self.right is not None else None,
        )

    def reverse(self) -> Cut:
        """Every text with its last word first."""
        owners = self.owners
        return self.reorder(self.starts[owners] + self.starts[owners + 1] - 1 - np.arange(len(owners)))


@dataclass(frozen=True, eq=False)
class Reading:
    """What an attacker takes hashes for, and what they are if that is known."""

    tokens: Mapping[str, str]
    truth: Mapping[str, str] | None = None

    def is_right(self, token: str) -> bool:
        return self.truth is None or self.truth.get(token) == self.tokens.get(token)


class Vocabulary:
    """Words with their numbers and what they can be; it grows with the texts."""

    def __init__(self, known: Lists) -> None:
        self._known = known
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}
        self._flags = np.zeros(1024, dtype=np.int64)
        self._raw: dict[str, int] = {}
        self.word_code("")

    def word_code(self, word: str) -> int:
        """The number of a word in its normal form, without punctuation."""
        known = self._numbers.get(word)
        if known is not None:
            return known
        made = len(self.words)
        self._numbers[word] = made
        self.words.append(word)
        if made == len(self._flags):
            self._flags = np.concatenate([self._flags, np.zeros_like(self._flags)])
        self._flags[made] = self._known.flags(word) if word else 0
        return made

    def flags(self, words: Ints) -> Ints:
        return self._flags[words]

    def cut_texts(self, texts: pa.Array, reading: Reading | None = None) -> Cut:
        """Texts in normal form; or of hashes, which `reading` turns into words. Of long ones only the beginning."""
        import pyarrow.compute as pc

        short = pc.utf8_slice_codeunits(texts.cast(pa.large_string()), 0, LONGEST_TEXT)
        parts = pc.split_pattern(short, " ")
        coded = parts.flatten().dictionary_encode()
        raw = coded.dictionary.to_pylist()
        if reading is None:
            numbers = [self.of_part(one) for one in raw]
            right = None
        else:
            numbers = [self.of_part(reading.tokens.get(one, "")) for one in raw]
            right = np.array([reading.is_right(one) for one in raw], dtype=bool)
        codes = coded.indices.to_numpy(zero_copy_only=False)
        return Cut(
            words=np.array(numbers, dtype=np.int64)[codes] if len(codes) else np.zeros(0, dtype=np.int64),
            starts=np.asarray(parts.offsets, dtype=np.int64),
            right=right[codes] if right is not None else None,
        )

    def of_part(self, raw: str) -> int:
        """The number of a part between blanks: without punctuation, a search engine's plus, and 's."""
        known = self._raw.get(raw)
        if known is None:
            word = raw
            if not raw.isalnum():
                word = " ".join(keywords(raw.lstrip("+"))).removesuffix("'s").removesuffix("’s")
            known = self._raw[raw] = self.word_code(word)
        return known
