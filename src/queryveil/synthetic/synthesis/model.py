"""What sessions are drawn from: the three tables of a click graph as start, next-query and click probabilities.

With c(q) the released count of a query and w(q, q') of a transition, negative counts as 0, a session starts at q
in proportion to s(q) = c(q) - sum of w(., q), goes from q to q' with probability w(q, q') / c(q), and ends
otherwise. Then the expected number of visits is proportional to c: the flow into q, s(q) plus transitions, is c(q),
and so is the flow out of it. That takes transitions that add up to at most c at both ends, so they are lowered
where noise, or bounds that differ between tables, made them more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.errors import CannotBeMet, InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_GOING_ON: Final = 0.9
"""A session ends after any query with at least the rest of this: every walk ends, and soon."""
_BELOW_ONE: Final = 1 - 1e-9

_LARGEST_COUNT: Final = 2.0**53
"""Counts above it are no whole numbers any more; no log has so many rows."""
LONGEST_TEXT: Final = 8_192
"""Bytes of a query or url. A longer one is neither, and would stand in every row that is drawn."""

QUERIES, CLICKS, REFORMULATIONS = "queries", "clicks", "reformulations"
_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    QUERIES: ("query",),
    CLICKS: ("query", "url"),
    REFORMULATIONS: ("query", "next_query"),
}


@dataclass(frozen=True, eq=False)
class Choices:
    """What may follow each query, laid end to end on a line: a choice is as long as it is probable."""

    ends: Floats
    target: Ints
    first: Ints
    last: Ints
    base: Floats
    """Where each query's choices begin on the line."""
    total: Floats
    """How long they are together: the probability, or expected number, of any."""

    @classmethod
    def from_probabilities(cls, query: Ints, target: Ints, probability: Floats, queries: int) -> Choices:
        possible = probability > 0
        query, target, probability = query[possible], target[possible], probability[possible]
        order = np.argsort(query, kind="stable")
        ends = np.cumsum(probability[order])
        counts = np.bincount(query, minlength=queries)
        last = np.cumsum(counts) - 1
        first = last - counts + 1
        before = np.concatenate(([0.0], ends))
        return cls(
            ends=ends,
            target=target[order],
            first=first,
            last=last,
            base=before[first],
            total=before[last + 1] - before[first],
        )

    def target_at(self, query: Ints, place: Floats) -> Ints:
        """The target at `place` on the line of each query; places are below the query's total."""
        found = np.searchsorted(self.ends, self.base[query] + place, side="right")
        # Sums of many small numbers are off in their last digits: never by more than to a neighbour.
        return self.target[np.clip(found, self.first[query], self.last[query])]


@dataclass(frozen=True, eq=False)
class GraphModel:
    """A released click graph, ready to draw from."""

    queries: pa.StringArray
    urls: pa.StringArray
    frequency: Floats
    """Released counts, negative ones as 0."""
    starts: Floats
    """How much of each count is left for sessions that start there."""
    following: Choices
    clicks: Choices

    @property
    def released_total(self) -> float:
        """What the released counts add up to."""
        return float(self.frequency.sum())

    @property
    def session_length(self) -> float:
        """Expected query events per session."""
        return self.released_total / float(self.starts.sum())

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table]) -> GraphModel:
        """From tables `queries`, `clicks` and `reformulations`, with counts in `count`.

        The last two may be missing: then nobody clicks, or every session is one query.
        """
        queries, count = _check_table(tables, QUERIES)
        names = queries["query"]
        if pc.count_distinct(names).as_py() != len(names):
            raise InputError(
                "table 'queries' names a query twice", "fetch the release again, or ask its publisher"
            )
        frequency = np.maximum(count, 0.0)
        if not frequency.any():
            raise CannotBeMet(
                "the release has no query with a count above 0, so there is nothing to draw from",
                "publish with a larger epsilon or delta, or from a longer log",
            )
        following, inflow = _next_query_choices(tables, names, frequency)
        clicks, urls = _click_choices(tables, names, frequency)
        return cls(
            queries=names,
            urls=urls,
            frequency=frequency,
            # Clipped for the last digit only: transitions were lowered to fit.
            starts=np.maximum(frequency - inflow, 0.0),
            following=following,
            clicks=clicks,
        )


def _next_query_choices(
    tables: Mapping[str, pa.Table], names: pa.Array, frequency: Floats
) -> tuple[Choices, Floats]:
    """The choices of a next query, and how often each query is expected to be one."""
    empty = np.empty(0, np.int64)
    source, goal, count = empty, empty, np.empty(0)
    if REFORMULATIONS in tables:
        table, count = _check_table(tables, REFORMULATIONS)
        source = _text_codes(table["query"], names, REFORMULATIONS)
        # A public suggestion need not be a published query: without a frequency of its own, it is left out.
        goal = pc.index_in(table["next_query"], value_set=names).fill_null(-1).to_numpy().astype(np.int64)
        known = (goal >= 0) & (goal != source)
        known[known] = (frequency[source[known]] > 0) & (frequency[goal[known]] > 0)
        source, goal, count = source[known], goal[known], count[known]
    size = len(frequency)
    flow = _clamp_counts(source, count, size)
    flow *= _scale_factors(MOST_GOING_ON * frequency, _sum_by_query(source, flow, size))[source]
    # Lowering what comes in lowers what goes out too, so the bound above still holds.
    flow *= _scale_factors(frequency, _sum_by_query(goal, flow, size))[goal]
    choices = Choices.from_probabilities(source, goal, flow / frequency[source], size)
    return choices, _sum_by_query(goal, flow, size)


def _click_choices(
    tables: Mapping[str, pa.Table], names: pa.Array, frequency: Floats
) -> tuple[Choices, pa.Array]:
    """The choices of a url: each is clicked with probability clicks / count, so lines may be longer than 1."""
    size = len(frequency)
    if CLICKS not in tables:
        empty = np.empty(0, np.int64)
        return Choices.from_probabilities(empty, empty, np.empty(0), size), pa.array([], pa.string())
    table, count = _check_table(tables, CLICKS)
    query = _text_codes(table["query"], names, CLICKS)
    encoded = table["url"].dictionary_encode()
    url = encoded.indices.to_numpy().astype(np.int64)
    counted = frequency[query] > 0
    query, url, count = query[counted], url[counted], count[counted]
    share = _clamp_counts(query, count, size) / frequency[query]
    # Below 1, so that two places on the line that are 1 apart never meet the same url.
    return Choices.from_probabilities(query, url, np.minimum(share, _BELOW_ONE), size), encoded.dictionary


def _clamp_counts(query: Ints, count: Floats, size: int) -> Floats:
    """Counts without negative ones, but with the sum per query that they had together, or 0.

    Noise is as often negative as positive: the sum over a query's list is right on average, while the positive
    counts alone add up to too much.
    """
    positive = np.maximum(count, 0.0)
    whole = np.maximum(_sum_by_query(query, count, size), 0.0)
    return positive * _scale_factors(whole, _sum_by_query(query, positive, size))[query]


def _sum_by_query(query: Ints, amount: Floats, size: int) -> Floats:
    return np.bincount(query, amount, size).astype(np.float64)


def _scale_factors(limit: Floats, total: Floats) -> Floats:
    """Factors at most 1 that bring totals within limits."""
    factor = np.ones(len(total))
    np.divide(limit, total, out=factor, where=total > limit)
    return factor


def _text_codes(column: pa.Array, names: pa.Array, table: str) -> Ints:
    found = pc.index_in(column, value_set=names)
    if found.null_count:
        raise InputError(
            f"table '{table}' has queries that table 'queries' lacks",
            "fetch the release again, or ask its publisher",
        )
    codes: Ints = found.to_numpy().astype(np.int64)
    return codes


def _check_table(tables: Mapping[str, pa.Table], name: str) -> tuple[dict[str, Any], Floats]:
    """The text columns and the counts of a table, or an error that says what is wrong with it."""
    table = tables[name]
    for column in (*_COLUMNS[name], "count"):
        if column not in table.column_names:
            raise InputError(
                f"table '{name}' has no column '{column}'", "a click graph has it: see its manifest.json"
            )
    texts = {column: _text_column(table, name, column) for column in _COLUMNS[name]}
    count = table["count"]
    kind = count.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)) or count.null_count:
        raise InputError(f"column 'count' of table '{name}' is not a number in every row", "fetch it again")
    numbers: Floats = count.combine_chunks().cast(pa.float64(), safe=False).to_numpy()
    if not (np.abs(numbers) <= _LARGEST_COUNT).all():
        raise InputError(
            f"column 'count' of table '{name}' has a number that no log can have", "fetch it again"
        )
    return texts, numbers


def _text_column(table: pa.Table, name: str, column: str) -> pa.Array:
    try:
        text = table[column].cast(pa.string()).combine_chunks()
    except pa.ArrowException:
        text = None
    # A table without chunks combines to a chunked array in some versions of Arrow.
    if isinstance(text, pa.ChunkedArray):
        text = pa.concat_arrays(text.chunks) if text.num_chunks else pa.array([], pa.string())
    if text is None or text.null_count or pc.any(pc.equal(text, "")).as_py():
        raise InputError(f"column '{column}' of table '{name}' is not a text in every row", "fetch it again")
    if (pc.max(pc.binary_length(text)).as_py() or 0) > LONGEST_TEXT:
        raise InputError(
            f"column '{column}' of table '{name}' has a text of more than {LONGEST_TEXT:,} bytes",
            "no query or url is that long: ask the publisher of the release",
        )
    return text
