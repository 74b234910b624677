"""The concepts of many queries, in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from queryveil.language.concepts.reader import Part, Reader
from queryveil.language.taxonomy import IntArray, Taxonomy


@dataclass(frozen=True, eq=False)
class ConceptMap:
    """The concepts of queries: those of query i are `concepts[offsets[i]:offsets[i + 1]]`, in the query's order."""

    offsets: npt.NDArray[np.int64]
    concepts: IntArray
    phrases: IntArray
    """Query -> how many noun phrases it has."""
    unmapped: IntArray
    """Query -> how many of these have no concept: they are discarded."""
    parts: Sequence[tuple[Part, ...]] = ()
    """Query -> its words and what became of them, if asked for. Personal data, as the query is."""

    def __len__(self) -> int:
        return len(self.phrases)

    def concepts_of(self, query: int) -> IntArray:
        """The concepts of the query with this number."""
        return self.concepts[self.offsets[query] : self.offsets[query + 1]]


def map_to_concepts(queries: Sequence[str], taxonomy: Taxonomy, *, parts: bool = False) -> ConceptMap:
    """The concepts of each query; with `parts` also what became of its words."""
    reader = _cached_reader(taxonomy)
    found = [reader.read_concepts(query) for query in queries]
    phrases = np.fromiter(map(len, found), dtype=np.int32, count=len(found))
    flat = np.fromiter((c for one in found for c in one), dtype=np.int32, count=int(phrases.sum()))
    mapped = np.concatenate(([0], np.cumsum(flat >= 0, dtype=np.int64)))
    offsets = mapped[np.concatenate(([0], np.cumsum(phrases, dtype=np.int64)))]
    arrays = (offsets, flat[flat >= 0], phrases, phrases - np.diff(offsets).astype(np.int32))
    for array in arrays:
        array.flags.writeable = False
    return ConceptMap(*arrays, parts=[reader.read_parts(query) for query in queries] if parts else ())


@lru_cache(maxsize=4)
def _cached_reader(taxonomy: Taxonomy) -> Reader:
    """One per taxonomy, so that what was learnt serves later calls."""
    return Reader(taxonomy)
