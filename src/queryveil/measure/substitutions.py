"""What a query can be replaced by, learnt from query pairs (Jones et al. 2006).

If people who posed one query go on to another that differs in exactly one phrase, the one phrase is a substitute for
the other; whole queries count too. A pair is kept if both come together more often than chance would have it, by a
log-likelihood ratio of at least 100. A query's substitutes are those of the whole query, then it with one phrase
replaced, then with two; each by the ratio, two phrases by the sum of theirs; ties by text.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import UsageError
from queryveil.measure.graph import Graph
from queryveil.measure.phrases import MIN_INFORMATION, MIN_TOGETHER, Floats, Ints, Phrases, Segmenter
from queryveil.reading.text import normalise

MIN_RATIO = 100.0
WHOLE, ONE, TWO = 0, 1, 2
"""How much of a query is replaced: all of it, one phrase, two phrases."""
_CELLS = 20_000_000
"""Phrases compared at a time, which bounds memory."""
_MOST_TEXTS = 500
"""Texts made for one query and step, of the best; ties among more than these go by place."""


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """From where on words belong together, and phrases replace each other."""

    information: float = MIN_INFORMATION
    together: int = MIN_TOGETHER
    ratio: float = MIN_RATIO


@dataclass(frozen=True)
class Substitute:
    """A query in place of another one."""

    text: str
    replaced: int
    ratio: float


def log_likelihood_ratio(both: Floats, first: Floats, second: Floats, total: float) -> Floats:
    """2 sum k ln(k N / (row column)) of the four cells that these counts make; none is below 0."""
    cells = (both, first - both, second - both, total - first - second + both)
    expected = (
        first * second,
        first * (total - second),
        (total - first) * second,
        (total - first) * (total - second),
    )
    ratio = np.zeros_like(both)
    for count, product in zip(cells, expected, strict=True):
        here = (count > 0) & (product > 0)
        quotient = np.divide(count * total, product, out=np.ones_like(count), where=here)
        ratio += np.where(here, count, 0.0) * np.log(quotient)
    return 2 * ratio


@dataclass(frozen=True, eq=False)
class PhrasePairs:
    """Which phrases, whole queries among them, replace which: those of one are together, the best first."""

    texts: list[str]
    """The phrases that replace something."""
    numbers: dict[str, int]
    """For each phrase that can be replaced, where its own begin."""
    starts: list[int]
    by: list[int]
    ratios: list[float]

    def substitutes_of(self, phrase: str) -> range:
        """Places of what can replace a phrase."""
        number = self.numbers.get(phrase)
        return range(0) if number is None else range(self.starts[number], self.starts[number + 1])

    @classmethod
    def from_pairs(
        cls, names: pa.Array, first: Ints, second: Ints, counts: Ints, min_ratio: float
    ) -> PhrasePairs:
        """Keep the pairs of phrases that come together more often than by chance.

        Phrases are numbers of names; a pair may be there repeatedly.
        """
        keys, place = np.unique(first * max(1, len(names)) + second, return_inverse=True)
        both = _sum_by_place(place, counts, len(keys))
        one, other = np.divmod(keys, max(1, len(names)))
        total = float(both.sum())
        rows, columns = (_sum_by_place(side, both, len(names))[side] for side in (one, other))
        ratio = log_likelihood_ratio(both, rows, columns, total)
        kept = (both * total > rows * columns) & (ratio >= min_ratio) & (one != other)
        return cls._order_pairs(names, one[kept], other[kept], ratio[kept])

    @classmethod
    def _order_pairs(cls, names: pa.Array, one: Ints, other: Ints, ratio: Floats) -> PhrasePairs:
        used, by = np.unique(other, return_inverse=True)
        texts = names.take(pa.array(used))
        rank = np.empty(len(used), dtype=np.int64)
        rank[pc.sort_indices(texts).to_numpy()] = np.arange(len(used))
        order = np.lexsort((rank[by], -ratio, one))
        owners, starts = np.unique(one[order], return_index=True)
        replaced = names.take(pa.array(owners)).to_pylist()
        return cls(
            texts.to_pylist(),
            {text: number for number, text in enumerate(replaced)},
            [*starts.tolist(), len(order)],
            by[order].tolist(),
            ratio[order].tolist(),
        )


@dataclass(frozen=True, eq=False)
class Substitutions:
    """What was learnt from query pairs, ready to be asked."""

    pairs: PhrasePairs
    segmenter: Segmenter
    thresholds: Thresholds

    @classmethod
    def from_log(
        cls, pairs: pa.Table, queries: pa.Table | None = None, thresholds: Thresholds | None = None
    ) -> Substitutions:
        """From a table of query, next_query and count, and one of query and count to count words in.

        Without the latter words are counted in the pairs. Counts below 1 count as none.
        """
        limits = thresholds or Thresholds()
        pairs = pairs.filter(pc.greater(pairs["count"], 0))
        counts = pairs["count"].to_numpy().astype(np.int64)
        coded = _encode_columns(pairs["query"], pairs["next_query"])
        texts = coded.dictionary
        ends = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        before, after = ends[: len(counts)], ends[len(counts) :]
        if queries is None:
            posed = _sum_by_place(before, counts, len(texts)) + _sum_by_place(after, counts, len(texts))
            segmenter = Segmenter.from_queries(texts, posed)
        else:
            queries = queries.filter(pc.greater(queries["count"], 0))
            whole = queries["query"].cast(pa.string()).combine_chunks()
            segmenter = Segmenter.from_queries(whole, queries["count"].to_numpy().astype(np.int64))
        cut = segmenter.segment_queries(
            texts, min_information=limits.information, min_together=limits.together
        )
        units = pa.concat_arrays([texts, cut.texts]).dictionary_encode()
        numbers = units.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        whole, phrase = numbers[: len(texts)], numbers[len(texts) :]
        first, second, rows = _pairs_differing_once(cut, phrase, before, after)
        known = PhrasePairs.from_pairs(
            units.dictionary,
            np.concatenate([whole[before], phrase[first]]),
            np.concatenate([whole[after], phrase[second]]),
            np.concatenate([counts, counts[rows]]),
            limits.ratio,
        )
        return cls(known, segmenter, limits)

    def substitutes_of(self, queries: pa.Array, most: int) -> Iterator[list[Substitute]]:
        """For each query the best of its substitutes, at most so many."""
        cut = self.segmenter.segment_queries(
            queries, min_information=self.thresholds.information, min_together=self.thresholds.together
        )
        phrases, starts = cut.texts.to_pylist(), cut.starts.tolist()
        for query, (start, end) in zip(queries.to_pylist(), itertools.pairwise(starts), strict=True):
            yield self._best_substitutes(query, phrases[start:end], most)

    def lists(self, queries: pa.Array, most: int) -> dict[str, list[str]]:
        """The substitutes of those queries that have any, as texts."""
        return {
            query: [one.text for one in found]
            for query, found in zip(queries.to_pylist(), self.substitutes_of(queries, most), strict=True)
            if found
        }

    def _best_substitutes(self, query: str, phrases: list[str], most: int) -> list[Substitute]:
        found = {query: Substitute(query, -1, 0.0)}
        for step in (self._replace_query, self._replace_one_phrase, self._replace_two_phrases):
            for text, replaced, ratio in step(query, phrases, 3 * most):
                found.setdefault(text, Substitute(text, replaced, ratio))
                if len(found) > most:
                    break
            if len(found) > most or len(phrases) < 2:
                break
        del found[query]
        return list(found.values())

    # Each step looks at three times as many as are asked for: at most that many can fall together with better ones.

    def _replace_query(self, query: str, phrases: list[str], most: int) -> list[tuple[str, int, float]]:
        known = self.pairs
        return [
            (known.texts[known.by[at]], WHOLE, known.ratios[at]) for at in known.substitutes_of(query)[:most]
        ]

    def _replace_one_phrase(self, query: str, phrases: list[str], most: int) -> list[tuple[str, int, float]]:
        known = self.pairs
        able = [
            (known.ratios[at], place, at)
            for place, phrase in enumerate(phrases)
            for at in known.substitutes_of(phrase)[:most]
        ]
        if len(able) > _MOST_TEXTS:  # of a query that is no query
            able = heapq.nlargest(most, able)
        found = []
        for ratio, place, at in able:
            text = " ".join([*phrases[:place], known.texts[known.by[at]], *phrases[place + 1 :]])
            found.append((text, ONE, ratio))
        return sorted(found, key=lambda one: (-one[2], one[0]))

    def _replace_two_phrases(self, query: str, phrases: list[str], most: int) -> list[tuple[str, int, float]]:
        known = self.pairs
        able = [
            (place, some)
            for place, phrase in enumerate(phrases)
            if (some := known.substitutes_of(phrase)[:most])
        ]
        # With a phrase whose best is not among these there are as many pairs that are no worse.
        able = heapq.nlargest(most + 1, able, key=lambda one: known.ratios[one[1][0]])
        found = []
        for (left, first), (right, second) in itertools.combinations(able, 2):
            for better, one in enumerate(first):
                # The sum of the a-th and the b-th best is no better than a times b sums, itself among them.
                for other in second[: most // (better + 1)]:
                    found.append((known.ratios[one] + known.ratios[other], left, one, right, other))
        texts = []
        for ratio, left, one, right, other in heapq.nlargest(_MOST_TEXTS, found):
            changed = list(phrases)
            changed[left], changed[right] = (known.texts[known.by[at]] for at in (one, other))
            texts.append((" ".join(changed), TWO, ratio))
        return sorted(texts, key=lambda one: (-one[2], one[0]))


def query_substitutions(
    graph: Graph, query: str, n: int = 5, *, thresholds: Thresholds | None = None
) -> pa.Table:
    """What `query` can be replaced by: substitution, replaced ('query', 'phrase' or 'two phrases'), ratio."""
    if n < 1:
        raise UsageError("'n' must be a whole number of at least 1", "choose another n")
    learnt = Substitutions.from_log(graph.table("reformulations"), graph.queries, thresholds)
    (found,) = learnt.substitutes_of(pa.array([normalise(query)], pa.string()), n)
    words = {WHOLE: "query", ONE: "phrase", TWO: "two phrases"}
    return pa.table(
        {
            "substitution": pa.array([one.text for one in found], pa.string()),
            "replaced": pa.array([words[one.replaced] for one in found], pa.string()),
            "ratio": pa.array([one.ratio for one in found], pa.float64()),
        }
    )


def _encode_columns(first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.DictionaryArray:
    """Both columns, one after the other, as numbers of their texts."""
    texts = pa.chunked_array([*first.cast(pa.string()).chunks, *second.cast(pa.string()).chunks], pa.string())
    return texts.combine_chunks().dictionary_encode()


def _sum_by_place(places: Ints, amounts: npt.ArrayLike, number: int) -> Floats:
    """Amounts added up by place."""
    return np.bincount(places, np.asarray(amounts, dtype=np.float64), minlength=number).astype(np.float64)


def _pairs_differing_once(
    phrases: Phrases, numbers: Ints, before: Ints, after: Ints
) -> tuple[Ints, Ints, Ints]:
    """Pairs of queries of several phrases that differ in exactly one: its place on both sides, and the rows.

    A query of one phrase is that phrase, and is counted as a whole query.
    """
    lengths = phrases.lengths()
    rows = np.flatnonzero((lengths[before] == lengths[after]) & (lengths[before] > 1))
    firsts, seconds, kept = [], [], []
    for length in np.unique(lengths[before[rows]]).tolist():
        same = rows[lengths[before[rows]] == length]
        for start in range(0, len(same), max(1, _CELLS // length)):
            some = same[start : start + max(1, _CELLS // length)]
            inside = np.arange(length)
            ours = phrases.starts[before[some]][:, None] + inside
            theirs = phrases.starts[after[some]][:, None] + inside
            differ = numbers[ours] != numbers[theirs]
            once = np.flatnonzero(differ.sum(axis=1) == 1)
            place = differ[once].argmax(axis=1)
            firsts.append(ours[once, place])
            seconds.append(theirs[once, place])
            kept.append(some[once])
    return _concatenate(firsts), _concatenate(seconds), _concatenate(kept)


def _concatenate(parts: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
