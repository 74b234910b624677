"""Which posting lists to keep in memory, decided from a release, and how often a search would find its list there.

A keyword scores its frequency over its document frequency. Lists are kept by score as long as memory lasts; one that
does not fit is skipped, and the next smaller ones may still fit. A list takes 8 bytes for each document, of which it
has at most 200,000. The hit probability is the sum of the log's own probabilities of the keywords that are kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from queryveil.errors import UsageError, argument
from queryveil.measure.document_frequencies import DocumentFrequencies
from queryveil.measure.histograms import Histogram
from queryveil.measure.measure import HIGHER, NEITHER, Measure, Original, Released, Stated
from queryveil.parameters import param
from queryveil.privacy.declarations import OCCURRENCES

POSTING_BYTES, LONGEST_LIST = 8, 200_000
LARGEST_MEMORY, SHARE_OF_INDEX = 10**9, 0.01
"""Memory if none is named: a gigabyte, or a hundredth of the index where that is less."""

_UNITS = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(?:([kmgt]?)(i?)b?)\s*$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Cache:
    """What a search would find in memory."""

    hit_probability: float | None
    """None if the log has no keyword."""
    lists: int
    """Posting lists that are kept."""
    bytes: int
    """What they take."""


@dataclass(frozen=True, eq=False)
class Index:
    """A log's keywords and their documents, ready to be asked which lists to keep."""

    original: Histogram
    """Keywords by occurrences: a search meets a list each time that its keyword is in a query."""
    frequencies: DocumentFrequencies
    documents: npt.NDArray[np.int64]
    """The document frequency of each of these keywords."""
    postings: int
    """Of all lists together, each as long as it is kept."""
    default_memory: int

    @classmethod
    def from_log(cls, original: Histogram, frequencies: DocumentFrequencies) -> Index:
        unknown = int((~original.found_in(frequencies.words)).sum())
        postings = int(np.minimum(frequencies.words.counts, LONGEST_LIST).sum()) + unknown
        memory = min(LARGEST_MEMORY, int(SHARE_OF_INDEX * POSTING_BYTES * postings))
        return cls(original, frequencies, frequencies.frequencies_of(original), postings, memory)

    def simulate_cache(self, keywords: Histogram, memory: int | None = None) -> Cache:
        """Choose lists by these keywords' frequencies, and meet them with the log's own."""
        # The log's keywords are looked up in the release, which is the smaller one, and not the other way round.
        place = self.original.places_in(keywords)
        known = np.flatnonzero(place >= 0)
        df, met = np.zeros((2, len(keywords)), dtype=np.int64)
        df[place[known]], met[place[known]] = self.documents[known], self.original.counts[known]
        if (unknown := df == 0).any():
            df[unknown] = self.frequencies.frequencies_of(keywords.select(unknown))
        # Stable: keywords of one score stay in the order of the histogram, by count and then by text.
        order = np.argsort(-(keywords.counts / df), kind="stable")
        costs = POSTING_BYTES * np.minimum(df, LONGEST_LIST)
        able = order[keywords.counts[order] > 0]
        chosen, taken = pack_lists(costs, able, self.default_memory if memory is None else memory)
        probability = int(met[chosen].sum()) / self.original.total if self.original.total else None
        return Cache(probability, int(chosen.sum()), taken)


def pack_lists(
    costs: npt.NDArray[np.int64], order: npt.NDArray[np.int64], memory: int
) -> tuple[npt.NDArray[np.bool_], int]:
    """In this order everything that still fits, and the bytes that it takes."""
    chosen = np.zeros(len(costs), dtype=bool)
    left = memory
    for place, cost in zip(order.tolist(), costs[order].tolist(), strict=True):
        if cost <= left:
            chosen[place] = True
            left -= cost
            if left < POSTING_BYTES:
                break
    return chosen, memory - left


def memory_size(text: str) -> int:
    """Bytes of a text such as '500 MB', '64MiB' or '1000000'."""
    match = _SIZE.match(text)
    if not match:
        raise UsageError(
            "the memory is not a size", f"write it like {argument('memory', '500MB')}, or in bytes"
        )
    number, unit, binary = match[1], match[2].lower(), bool(match[3])
    factor = 1024 ** "bkmgt".index(unit or "b") if binary else _UNITS[unit]
    size = int(float(number) * factor)
    if not POSTING_BYTES <= size <= 10**18:
        raise UsageError(
            "the memory must be from 8 bytes to a million terabytes", f"choose another {argument('memory')}"
        )
    return size


@dataclass(frozen=True, kw_only=True)
class IndexCaching(Measure):
    """index-caching: the hit probability of posting lists that are kept in memory by the release's frequencies."""

    name: ClassVar[str] = "index-caching"
    help: ClassVar[str] = "probability that a keyword's posting list is in memory, chosen by the release"
    unit: ClassVar[str] = "probability"
    direction: ClassVar[str] = HIGHER
    parts: ClassVar[dict[str, Stated]] = {
        "original": Stated("probability", NEITHER, "the same if lists are chosen by the log itself"),
        "lists": Stated("items", NEITHER, "posting lists that the release keeps in memory"),
    }
    table: ClassVar[str | None] = "keywords"

    df: str | None = param(
        "file of document frequencies: term and df, or a term export of OpenSearch, Solr or Lucene; from the "
        "log's clicks if left out",
        path=True,
        default=None,
    )
    memory: str | None = param(
        "memory for posting lists, such as 500MB; 1 GB or 1 % of the index if left out", default=None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # A file or a size that is wrong is refused before a long log is read.
        if self.df is not None:
            DocumentFrequencies.of_file(self.df)
        if self.memory is not None:
            memory_size(self.memory)

    def unmet_requirement(self, original: Original, release: Released) -> tuple[str, str] | None:
        if self.df is None and "url" not in original.log.columns:
            return "the log has no clicks to count documents by", f"name a file with {argument('df')}"
        return None

    def note(self, original: Original, release: Released) -> str | None:
        index = self._index(original)
        size = index.default_memory if self.memory is None else memory_size(self.memory)
        return f"document frequencies from {index.frequencies.source}; {size:,} bytes of memory"

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        index = self._index(original)
        memory = None if self.memory is None else memory_size(self.memory)
        ours = original.compute_once(
            ("cache", self.df, memory), lambda: index.simulate_cache(index.original, memory)
        )
        theirs = index.simulate_cache(release.histogram("keywords"), memory)
        return {
            str(self): theirs.hit_probability,
            f"{self}/original": ours.hit_probability,
            f"{self}/lists": theirs.lists,
        }

    def _index(self, original: Original) -> Index:
        def made() -> Index:
            log = original.log
            known = (
                DocumentFrequencies.of_log(log) if self.df is None else DocumentFrequencies.of_file(self.df)
            )
            return Index.from_log(original.histogram("keywords", OCCURRENCES), known)

        return original.compute_once(("index", self.df), made)
