"""Clicks after queries: noisy user counts for the public results of what was published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from queryveil.count import public_lists
from queryveil.mechanisms import noisy_histogram
from queryveil.mechanisms.base import Run
from queryveil.privacy.draws import Draw

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog


def of_results(log: SearchLog, queries: pa.Table, results: Path, draw: Draw, run: Run) -> pa.Table:
    """Noisy user counts for every public result of every published query, zeros included."""
    with run.stage("clicks") as say:
        surfaced = public_lists.of_queries(public_lists.read(results), queries["query"])
        counts = public_lists.click_counts(log, surfaced, noisy_histogram.bound_of(draw, run))
        noisy = noisy_histogram.with_noise(counts, run, draw)
        say(f"noise of {noisy_histogram.about(draw)} on {len(counts):,} results of published queries")
    table = surfaced.append_column("count", pa.array(noisy, pa.int64()))
    return table.sort_by([("query", "ascending"), ("count", "descending"), ("url", "ascending")])
