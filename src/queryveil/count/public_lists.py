"""Public lists: which urls, or which suggested queries, anyone sees who poses a query.

A file of query and url (or suggestion), as Parquet, or as text between tabs, commas, semicolons or bars, with or
without a header; or a function from a query to its list. It is public knowledge, so nothing in it needs
protection; it must not be made from the log's own clicks.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from queryveil.count import histories, item_kinds
from queryveil.count.contribution import Bound
from queryveil.errors import InputError
from queryveil.reading.text import normalise

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

Lists = str | Path | Callable[[str], Iterable[str]]

_DELIMITERS = ("\t", ",", ";", "|")
_NAMES = {"url": ("url",), "next_query": ("next_query", "suggestion")}
"""What the second column may be called in a file."""


def read(file: Path, second: str = "url") -> pa.Table:
    """Distinct (query, url) or (query, next_query), queries in normal form."""
    try:
        if file.suffix == ".parquet":
            return _distinct_pairs(_parquet_pairs(file, second), second)
        with file.open(encoding="utf-8-sig", newline="") as lines:
            first = lines.readline()
            lines.seek(0)
            return _distinct_pairs(_text_pairs(lines, _detect_delimiter(first, second), file, second), second)
    except (OSError, pa.ArrowException, KeyError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"the public lists in '{file.name}' cannot be read ({type(error).__name__})",
            f"give a file of query and {_column_noun(second)}, text or Parquet",
        ) from None


def _column_noun(second: str) -> str:
    return _NAMES[second][-1]


def _parquet_pairs(file: Path, second: str) -> Iterator[tuple[str, str]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as content:
        found = [name for name in _NAMES[second] if name in content.schema_arrow.names]
        if not found or "query" not in content.schema_arrow.names:
            raise InputError(
                f"the public lists in '{file.name}' have no columns 'query' and '{_column_noun(second)}'",
                "give the columns these names",
            )
        for batch in content.iter_batches(columns=["query", found[0]]):
            texts = (batch.column(name).cast(pa.string()).to_pylist() for name in ("query", found[0]))
            yield from zip(*texts, strict=True)


def _detect_delimiter(first: str, second: str) -> str:
    """The one that makes a header of the first line, or the first one in it."""
    for one in _DELIMITERS:
        names = first.rstrip("\r\n").split(one)
        if "query" in names and any(name in names for name in _NAMES[second]):
            return one
    return next((one for one in _DELIMITERS if one in first), "\t")


def _text_pairs(lines: Iterator[str], delimiter: str, file: Path, second: str) -> Iterator[tuple[str, str]]:
    rows = csv.reader(
        lines, delimiter=delimiter, quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    )
    at = (0, 1)
    for number, row in enumerate(rows, 1):
        named = [name for name in _NAMES[second] if name in row]
        if number == 1 and "query" in row and named:
            at = (row.index("query"), row.index(named[0]))
            continue
        if not row:
            continue
        if len(row) <= max(at):
            raise InputError(
                f"line {number} of the public lists in '{file.name}' has no {_column_noun(second)}",
                f"give query and {_column_noun(second)} on every line, between tabs, commas, semicolons or bars",
            )
        yield row[at[0]], row[at[1]]


def _distinct_pairs(pairs: Iterable[tuple[str, str]], second: str) -> pa.Table:
    text = normalise if second == "next_query" else str
    unique = dict.fromkeys((normalise(query), text(other)) for query, other in pairs if query and other)
    kept = [(query, other) for query, other in unique if query and other]
    queries, others = zip(*kept, strict=True) if kept else ((), ())
    return pa.table({"query": pa.array(queries, pa.string()), second: pa.array(others, pa.string())})


def of_queries(lists: pa.Table, queries: pa.ChunkedArray) -> pa.Table:
    """The lists of these queries only."""
    import pyarrow.compute as pc

    return lists.filter(pc.is_in(lists["query"], queries)).combine_chunks()


def surfaced(lists: Lists, queries: pa.ChunkedArray, second: str = "url") -> pa.Table:
    """Every (query, url) or (query, next_query) that anyone sees for these queries, in a fixed order."""
    if callable(lists):
        found = _distinct_pairs(((one, other) for one in queries.to_pylist() for other in lists(one)), second)
    else:
        found = of_queries(read(Path(lists), second), queries)
    return found.sort_by([("query", "ascending"), (second, "ascending")]).combine_chunks()


def aligned(found: pa.Table, wanted: pa.Table) -> np.ndarray:
    """The counts of `found` in the order of `wanted`, whose columns it has; 0 for what it lacks."""
    names = wanted.column_names
    known = dict(
        zip(
            zip(*(found[name].to_pylist() for name in names), strict=True),
            found["count"].to_pylist(),
            strict=True,
        )
    )
    pairs = zip(*(wanted[name].to_pylist() for name in names), strict=True)
    return np.array([known.get(pair, 0) for pair in pairs], dtype=np.int64)


def click_counts(log: SearchLog, surfaced: pa.Table, bound: Bound) -> np.ndarray:
    """How many users clicked each surfaced url, in the order of `surfaced`; at most `bound.most` per user.

    Clicks elsewhere are left out before bounding. That is safe: `surfaced` is already public, so what a user
    keeps is still a function of that user's rows and of public facts.
    """
    kind = item_kinds.kind("clicks")
    public = log.engine.register(surfaced)
    clicks = kind.occurrences(log)
    inside = clicks.semi_join(public, ["query", "url"])
    kept = histories.collect_user_counts(log, kind, bound, inside)
    return aligned(kept.users_per_item(), surfaced)
