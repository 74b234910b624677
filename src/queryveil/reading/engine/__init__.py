"""Where expressions run: DuckDB inside the process by default, or Spark.

One Ibis expression serves both engines. The few things that engines name or do differently are methods of
`Engine`: a keyed hash, and whether a text is ASCII.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from queryveil.errors import UsageError, shown_address
from queryveil.reading.engine import duckdb, spark
from queryveil.reading.engine.base import Engine
from queryveil.reading.engine.duckdb import DuckDB
from queryveil.reading.engine.spark import Spark

__all__ = ["DuckDB", "Engine", "Spark", "connect"]


def connect(
    url: str = "duckdb",
    *,
    spill: Path | None = None,
    share: int = 1,
    threads: int | None = None,
    reads: Sequence[Path] | None = None,
) -> Engine:
    """Return an engine by name or URL: `duckdb`, `spark`, `local[4]`, or `spark://host:port`.

    `share` processes on one machine divide DuckDB's memory between them, and each uses so many `threads`. With `reads`
    DuckDB opens these files and folders alone.
    """
    if url == "duckdb":
        return duckdb.start(spill, share, threads, reads)
    if url == "spark" or url.startswith(("spark://", "local")):
        return spark.start(url)
    raise UsageError(f"engine '{shown_address(url)}' is not known", "use duckdb, spark, or spark://host:port")
