"""What an attacker counts in a log, hashed or not: how often tokens come, and how often two come together.

The engine gives every distinct query with its number of events, in one pass. Its tokens become numbers, most frequent
first, so that memory is a few bytes per token of a distinct query, and the counts of the n most frequent tokens are
sparse matrices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil import InputError, SearchLog
from queryveil.reading.text import ASCII_PUNCTUATION

if TYPE_CHECKING:
    from queryveil import Release

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Matrix = Any
"""A SciPy sparse array in compressed rows."""

_HEX = re.compile(r"\A[0-9a-f]{4,}\Z")
_SHUFFLED = 4_000_000
"""Query events that a shuffled log has at most."""


@dataclass(frozen=True, eq=False)
class TokenCounts:
    """A log's tokens, most frequent first, and its distinct queries as numbers of tokens."""

    tokens: pa.StringArray = field(repr=False)
    freq: Ints = field(repr=False)
    """Occurrences of each token."""
    alone: Ints = field(repr=False)
    """Queries that are this token and nothing else."""
    queries: int
    """Query events."""
    starts: Ints = field(repr=False)
    codes: Codes = field(repr=False)
    times: Ints = field(repr=False)
    """Events of each distinct query, whose tokens are `codes[starts[q] : starts[q + 1]]`."""

    def __len__(self) -> int:
        return len(self.freq)

    @classmethod
    def of(cls, source: SearchLog | Release | pa.ChunkedArray) -> TokenCounts:
        """Count a log, a log-shaped release, or a column of queries."""
        if isinstance(source, SearchLog):
            return cls._of_batches(source.engine.batches(_distinct_queries(source)))
        if isinstance(source, pa.ChunkedArray | pa.Array):
            return cls._of_batches([_count_queries(source)])
        return cls._of_batches([_count_queries(_released_queries(source))])

    @classmethod
    def _of_batches(cls, batches: Iterable[pa.RecordBatch | pa.Table]) -> TokenCounts:
        coder = _Coder()
        for batch in batches:
            coder.add(batch.column("words"), batch.column("count"))
        return coder.counts()

    @cached_property
    def total(self) -> int:
        return int(self.freq.sum())

    def at(self, n: int) -> Statistics:
        """Statistics of the n most frequent tokens."""
        return Statistics(
            self.freq[:n], self.freq[:n] / max(1, self.total), self.alone[:n], self._cooccurrences(n)
        )

    def _cooccurrences(self, n: int) -> Matrix:
        """Events that hold both of two of the n most frequent tokens; a token twice in a query is there once."""
        from scipy import sparse

        kept = self.codes < n
        starts = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        shape = (len(self.times), n)
        holds = sparse.csr_array((np.ones(int(starts[-1]), np.int64), self.codes[kept], starts), shape=shape)
        holds.sum_duplicates()
        holds.data[:] = 1
        several = np.flatnonzero(np.diff(holds.indptr) > 1)
        holds = holds[several]
        weighted = holds.copy()
        weighted.data = np.repeat(self.times[several], np.diff(holds.indptr))
        cooc = sparse.csr_array(weighted.T @ holds)
        cooc.setdiag(0)
        cooc.eliminate_zeros()
        cooc.sort_indices()
        return cooc

    @property
    def hashed(self) -> bool:
        """Whether the tokens look like hashes: nearly all are hexadecimal, and of one length."""
        sizes: dict[int, int] = {}
        for token in self.tokens.to_pylist():
            if _HEX.match(token):
                sizes[len(token)] = sizes.get(len(token), 0) + 1
        return max(sizes.values(), default=0) >= 0.9 * len(self) > 0

    def _stable_order(self) -> Ints:
        """The queries in an order of their own: engines hand them over in a new one every time."""
        places = np.arange(len(self.codes)) - np.repeat(self.starts[:-1], np.diff(self.starts))
        mixed = (self.codes.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= 2 * places.astype(np.uint64) + np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
        keys = np.add.reduceat(mixed, self.starts[:-1]) if len(self.times) else mixed
        return np.lexsort((self.times, keys))

    def shuffled(self, n: int, seed: int) -> Statistics:
        """The n most frequent tokens about as often as they are, but each in the company of chance.

        Every query keeps how many of these tokens it has; which ones they are is drawn anew. Of a long log, queries
        are drawn too.
        """
        rng = np.random.default_rng(seed)
        kept = self.codes < n
        lengths = np.diff(np.concatenate(([0], np.cumsum(kept)))[self.starts])
        order = self._stable_order()
        times = np.empty_like(self.times)
        times[order] = rng.binomial(self.times[order], min(1.0, _SHUFFLED / max(1, self.queries)))
        each = np.repeat(times, np.diff(self.starts))[kept]
        freq = np.bincount(self.codes[kept], weights=each, minlength=n).astype(np.int64)
        codes = rng.permutation(np.repeat(np.arange(n, dtype=np.int32), freq))
        starts = np.concatenate(([0], np.cumsum(np.repeat(lengths[order], times[order]))))
        single = np.repeat(((np.diff(self.starts) == 1) & (lengths == 1))[order], times[order])
        alone = np.bincount(codes[starts[:-1][single]], minlength=n)
        events = np.ones(len(starts) - 1, np.int64)
        made = TokenCounts(self.tokens[:n], freq, alone, len(events), starts, codes, events)
        return Statistics(np.maximum(freq, 1), freq / max(1, int(freq.sum())), alone, made._cooccurrences(n))


@dataclass(frozen=True, eq=False)
class Statistics:
    """Counts of the n most frequent tokens of a log."""

    freq: Ints
    freq_n: Floats
    """Share of all occurrences in the log."""
    alone: Ints
    cooc: Matrix
    """Query events that hold both tokens; symmetric, nothing on the diagonal."""

    def __len__(self) -> int:
        return len(self.freq)

    def top(self, n: int) -> Statistics:
        """The same of fewer tokens."""
        if n == len(self):
            return self
        return Statistics(self.freq[:n], self.freq_n[:n], self.alone[:n], self.cooc[:n, :n].tocsr())

    @cached_property
    def degree(self) -> Ints:
        """Tokens that each comes together with."""
        degree: Ints = np.diff(self.cooc.indptr).astype(np.int64)
        return degree

    @cached_property
    def company(self) -> Ints:
        """How often each comes together with any."""
        company: Ints = np.asarray(self.cooc.sum(axis=1)).astype(np.int64).ravel()
        return company

    @cached_property
    def cooc_n(self) -> Matrix:
        """Each row of `cooc` as shares of its sum; empty rows stay empty."""
        shares = self.cooc.astype(np.float64)
        shares.data /= np.repeat(np.maximum(self.company, 1), self.degree)
        return shares.astype(np.float32)

    def pruned(self, beta: float) -> Matrix:
        """`cooc_n` with the fewest neighbours of each token that have at least this share of its company."""
        rows = self.cooc_n
        order = np.lexsort((rows.indices, -rows.data, np.repeat(np.arange(len(self)), self.degree)))
        shares = rows.data[order].astype(np.float64)
        first = rows.indptr[:-1][self.degree > 0]
        before = np.cumsum(shares) - shares
        before -= np.repeat(before[first], self.degree[self.degree > 0])
        kept = np.zeros(rows.nnz, dtype=bool)
        # Sums of 32-bit shares reach 1 only nearly.
        kept[order] = before < beta - 1e-6
        made = rows.copy()
        made.data[~kept] = 0
        made.eliminate_zeros()
        return made


class _Coder:
    """Numbers for tokens in the order of their appearance, and the queries seen so far."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.lengths: list[npt.NDArray[np.int64]] = []
        self.codes: list[npt.NDArray[np.int32]] = []
        self.times: list[npt.NDArray[np.int64]] = []

    def add(self, words: pa.Array, times: pa.Array) -> None:
        texts = words.combine_chunks() if isinstance(words, pa.ChunkedArray) else words
        for part in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
            lists = pc.split_pattern(part.cast(pa.string()), " ")
            parts = lists.flatten().dictionary_encode()
            numbers = np.array(
                [self._token_code(one) for one in parts.dictionary.to_pylist()], dtype=np.int32
            )
            codes = numbers[parts.indices.to_numpy(zero_copy_only=False)]
            ends = np.concatenate(([0], np.cumsum(codes >= 0)))[
                lists.offsets.to_numpy() - lists.offsets[0].as_py()
            ]
            self.lengths.append(np.diff(ends))
            self.codes.append(codes[codes >= 0])
        self.times.append(np.asarray(times.to_numpy(zero_copy_only=False)).astype(np.int64))

    def _token_code(self, part: str) -> int:
        token = part.strip(ASCII_PUNCTUATION)
        return self.known.setdefault(token, len(self.known)) if token else -1

    def counts(self) -> TokenCounts:
        lengths = np.concatenate([np.zeros(0, np.int64), *self.lengths])
        codes = np.concatenate([np.zeros(0, np.int32), *self.codes])
        times = np.concatenate([np.zeros(0, np.int64), *self.times])
        lengths, times = lengths[lengths > 0], times[lengths > 0]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        size = len(self.known)
        each = np.repeat(times, lengths)
        freq = np.bincount(codes, weights=each, minlength=size).astype(np.int64)
        single = lengths == 1
        alone = np.bincount(codes[starts[:-1][single]], weights=times[single], minlength=size).astype(
            np.int64
        )
        others = np.bincount(codes, weights=each * np.repeat(lengths - 1, lengths), minlength=size)
        names = np.array(list(self.known), dtype=object)
        # By what can be seen in a hashed log too; the name decides between tokens that are alike in all of it.
        order = np.lexsort((names.astype(str) if size else names, -others, -alone, -freq))
        rank = np.empty(size, dtype=np.int32)
        rank[order] = np.arange(size, dtype=np.int32)
        return TokenCounts(
            tokens=pa.array(names[order].tolist(), pa.string()),
            freq=freq[order],
            alone=alone[order],
            queries=int(times.sum()),
            starts=starts,
            codes=rank[codes] if size else codes,
            times=times,
        )


def _distinct_queries(log: SearchLog) -> Any:
    """Every distinct query of a log with the text that its words are cut from, and its query events."""
    rows = log.queries
    if "time" in log.columns:  # several clicks of one search are one event; without times every row is one
        rows = rows.select("user", "time", "query", "words").distinct()
    return rows.group_by("query").aggregate(words=rows["words"].min(), count=rows.count()).drop("query")


def _count_queries(queries: pa.ChunkedArray) -> pa.Table:
    table = pa.table({"words": queries}).group_by("words").aggregate([([], "count_all")])
    return table.rename_columns({"count_all": "count"}).filter(pc.field("words") != "")


def _released_queries(release: Release) -> pa.ChunkedArray:
    table = release.tables.get("log")
    if table is None or "query" not in table.column_names or not pa.types.is_string(table["query"].type):
        raise InputError(
            f"this release was made by {release.plan.method}, and holds no log of hashed queries",
            "give a release of token-hash, or a file whose queries are hashes with spaces between them",
        )
    return table["query"]
