"""Where expressions run: DuckDB inside the process by default, Spark or any Ibis engine by URL.

One Ibis expression serves every engine. The few things that engines name or do differently are methods of
`Engine`: a keyed hash, whether a text is ASCII, and the m smallest items of each user.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa

from queryveil.errors import UsageError, shown_address
from queryveil.reading.engine import duckdb, spark
from queryveil.reading.engine.base import Engine, loose_default
from queryveil.reading.engine.duckdb import DuckDB
from queryveil.reading.engine.spark import Spark

__all__ = ["DuckDB", "Engine", "Spark", "beginning", "connect", "of_backend"]


def connect(
    url: str = "duckdb",
    *,
    spill: Path | None = None,
    share: int = 1,
    threads: int | None = None,
    reads: Sequence[Path] | None = None,
) -> Engine:
    """An engine by name or URL: `duckdb`, `spark`, `spark://host:port`, or any URL that Ibis knows.

    `share` processes on one machine divide DuckDB's memory between them, and each uses so many `threads`. With `reads`
    DuckDB opens these files and folders alone.
    """
    if url == "duckdb":
        return duckdb.start(spill, share, threads, reads)
    if url == "spark" or url.startswith(("spark://", "local")):
        return spark.start(url)
    try:
        con = ibis.connect(url)
    except Exception as error:  # noqa: BLE001 (each engine has errors of its own)
        raise UsageError(
            f"engine '{shown_address(url)}' cannot be reached ({type(error).__name__})",
            "use duckdb, spark, spark://host:port, or a URL that Ibis knows",
        ) from None
    return of_backend(con)


@contextlib.contextmanager
def beginning(given: str | Engine, spill: Path) -> Iterator[Callable[[Sequence[Path]], Engine]]:
    """An engine that starts while its caller does something else; call with the files that it may open to have it."""
    if isinstance(given, Engine):
        yield lambda _: given
        return
    if given != "duckdb":
        yield lambda reads: connect(given, spill=spill, reads=reads)
        return
    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(duckdb.opened, spill)
        yield lambda reads: duckdb.closed(made.result(), spill, reads)


def of_backend(con: Any) -> Engine:
    """The engine over an Ibis connection that the caller made."""
    kinds = {"duckdb": DuckDB, "pyspark": Spark}
    made: Engine = kinds.get(con.name, Engine)(con)
    try:
        _refuse_loose_texts(made)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 (each engine has errors of its own)
        raise UsageError(
            f"engine '{con.name}' cannot do what is needed here ({type(error).__name__})",
            "use duckdb or spark, or export the log to files",
        ) from None
    return made


def _refuse_loose_texts(engine: Engine) -> None:
    """Texts that an expression makes compare as the connection does by default: that must be byte by byte."""
    if engine.is_loose(engine.register(pa.table({"text": ["a"]})), "text"):
        raise loose_default()
