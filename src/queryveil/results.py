"""Public result lists: which urls anyone sees who poses a query.

A file of query, url and optionally rank, as Parquet, or as text with tabs or commas; with or without a header.
It is public knowledge, so nothing in it needs protection; it must not be made from the log's own clicks.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queryveil import contribution, items
from queryveil.contribution import Bound
from queryveil.errors import InputError
from queryveil.log import SearchLog
from queryveil.text import normalise


def read(file: Path) -> pa.Table:
    """Distinct (query, url), the query in normal form."""
    try:
        if file.suffix == ".parquet":
            table = pq.read_table(file, columns=["query", "url"])
            pairs = zip(table["query"].to_pylist(), table["url"].to_pylist(), strict=True)
            return _distinct(pairs)
        with file.open(encoding="utf-8", newline="") as lines:
            first = lines.readline()
            lines.seek(0)
            return _distinct(_text_pairs(lines, "\t" if "\t" in first else ",", file))
    except (OSError, pa.ArrowInvalid, KeyError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"the result lists in '{file.name}' cannot be read ({type(error).__name__})",
            "give a file of query and url, tab- or comma-separated or Parquet",
        ) from None


def _text_pairs(lines: Iterator[str], delimiter: str, file: Path) -> Iterator[tuple[str, str]]:
    rows = csv.reader(
        lines, delimiter=delimiter, quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    )
    at = (0, 1)
    for number, row in enumerate(rows, 1):
        if number == 1 and "query" in row and "url" in row:
            at = (row.index("query"), row.index("url"))
            continue
        if not row:
            continue
        if len(row) <= max(at):
            raise InputError(
                f"line {number} of the result lists in '{file.name}' has no url",
                "give query and url on every line",
            )
        yield row[at[0]], row[at[1]]


def _distinct(pairs: Iterator[tuple[str, str]]) -> pa.Table:
    unique = dict.fromkeys((normalise(query or ""), url) for query, url in pairs if url)
    queries, urls = zip(*unique, strict=True) if unique else ((), ())
    return pa.table({"query": pa.array(queries, pa.string()), "url": pa.array(urls, pa.string())})


def of_queries(lists: pa.Table, queries: pa.ChunkedArray) -> pa.Table:
    """The lists of these queries only."""
    return lists.filter(pc.is_in(lists["query"], queries)).combine_chunks()


def click_counts(log: SearchLog, surfaced: pa.Table, bound: Bound) -> np.ndarray:
    """How many users clicked each surfaced url, in the order of `surfaced`; at most `bound.most` per user.

    Clicks elsewhere are left out before bounding. That is safe: `surfaced` is already public, so what a user
    keeps is still a function of that user's rows and of public facts.
    """
    kind = items.kind("clicks")
    public = log.engine.register(surfaced)
    clicks = kind.occurrences(log)
    inside = clicks.semi_join(public, ["query", "url"])
    kept = contribution.bounded_rows(log, inside, kind.columns, bound)
    found = log.engine.arrow(contribution.counts(kept, kind.columns).select("query", "url", "count"))
    known = {
        (query, url): count
        for query, url, count in zip(
            found["query"].to_pylist(), found["url"].to_pylist(), found["count"].to_pylist(), strict=True
        )
    }
    wanted = zip(surfaced["query"].to_pylist(), surfaced["url"].to_pylist(), strict=True)
    return np.array([known.get(pair, 0) for pair in wanted], dtype=np.int64)
