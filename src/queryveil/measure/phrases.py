"""Cutting queries into phrases by mutual information (Jones et al. 2006).

Two words that stand side by side belong together if they do so far more often than chance would have it. A query is
cut between adjacent words x and y if ln(n_xy N / (n_x n_y)) < 3 or n_xy < 5, where n counts words and adjacent words in
all queries, each query as often as it was posed, and N is the number of all words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MIN_INFORMATION, MIN_TOGETHER = 3.0, 5


@dataclass(frozen=True, eq=False)
class Phrases:
    """Queries as phrases: those of query i are `texts[starts[i] : starts[i + 1]]`."""

    texts: pa.Array
    starts: Ints

    def lengths(self) -> Ints:
        return np.diff(self.starts)


@dataclass(frozen=True, eq=False)
class Segmenter:
    """How often words, and words side by side, are in some queries."""

    words: pa.Array
    counts: Floats
    """n_x, for each word; behind the last one a 0, for words that are not known."""
    pairs: Ints
    """Adjacent words as one number, ascending."""
    together: Floats
    """n_xy, for each of these."""

    @classmethod
    def from_queries(cls, queries: pa.Array, counts: npt.NDArray[Any]) -> Segmenter:
        """Count the words of queries, each as often as it was posed."""
        starts, words = _split_words(queries)
        coded = words.dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        weights = np.repeat(counts.astype(np.float64), np.diff(starts))
        number = len(coded.dictionary)
        inside = _within_query(starts, len(codes))
        pairs, place = np.unique(codes[:-1][inside] * number + codes[1:][inside], return_inverse=True)
        together = np.bincount(place, weights[1:][inside], minlength=len(pairs)).astype(np.float64)
        return cls(
            coded.dictionary, np.append(np.bincount(codes, weights, minlength=number), 0.0), pairs, together
        )

    def mutual_information(self, first: Ints, second: Ints) -> tuple[Floats, Floats]:
        """ln(n_xy N / (n_x n_y)) of words side by side, -inf if they never were, and n_xy."""
        known = (first >= 0) & (second >= 0)
        wanted = np.where(known, first * len(self.words) + second, -1)
        place = np.searchsorted(self.pairs, wanted)
        found = known & (np.append(self.pairs, -2)[place] == wanted)
        together = np.where(found, np.append(self.together, 0.0)[place], 0.0)
        expected = self.counts[first] * self.counts[second]
        ratio = np.divide(
            together * self.counts.sum(),
            expected,
            out=np.zeros_like(together),
            where=(together > 0) & (expected > 0),
        )
        return np.log(ratio, out=np.full_like(ratio, -np.inf), where=ratio > 0), together

    def segment_queries(
        self,
        queries: pa.Array,
        *,
        min_information: float = MIN_INFORMATION,
        min_together: int = MIN_TOGETHER,
    ) -> Phrases:
        """Cut queries into phrases, whether they were counted or not."""
        starts, words = _split_words(queries)
        codes = pc.fill_null(pc.index_in(words, value_set=self.words), -1).to_numpy(zero_copy_only=False)
        codes = codes.astype(np.int64)
        begins = np.ones(len(codes), dtype=bool)
        inside = _within_query(starts, len(codes))
        information, together = self.mutual_information(codes[:-1][inside], codes[1:][inside])
        begins[1:][inside] = (information < min_information) | (together < min_together)
        places = np.flatnonzero(begins)
        lists = pa.ListArray.from_arrays(pa.array(np.append(places, len(codes)), pa.int32()), words)
        return Phrases(pc.binary_join(lists, " "), np.searchsorted(places, starts))


def _split_words(queries: pa.Array) -> tuple[Ints, pa.Array]:
    """All words one after another, and where each query starts, with an end."""
    lists = pc.split_pattern(queries, " ")
    return lists.offsets.to_numpy().astype(np.int64), lists.values


def _within_query(starts: Ints, words: int) -> npt.NDArray[np.bool_]:
    """Between which words and the next there is no end of a query."""
    inside = np.ones(max(0, words - 1), dtype=bool)
    ends = starts[1:-1] - 1
    inside[ends[(ends >= 0) & (ends < len(inside))]] = False
    return inside
