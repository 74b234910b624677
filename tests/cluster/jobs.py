"""What the tests ask of a cluster, in a process of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import queryveil as qv
from queryveil.count.contribution import Bound
from queryveil.count.histories import collect_user_counts
from queryveil.privacy.noise import Noise
from queryveil.reading.engine import Spark
from queryveil.reading.engine import cluster as clusters
from tests.seeded import SeededBits

KINDS = tuple(qv.KINDS)


class NoNoise(Noise):
    """Nothing at all, so that what is published follows from the log."""

    def discrete_laplace(self, scale: Any, size: int) -> npt.NDArray[np.int64]:
        return np.zeros(size, np.int64)

    def selection_noise(self, scale: float, item_delta: float, size: int) -> npt.NDArray[np.int64]:
        return np.zeros(size, np.int64)


def histograms(engine: str, path: Path, kinds: tuple[str, ...] = KINDS) -> dict[str, dict[Any, int]]:
    """Users per item, at most five items each."""
    log = qv.read(path, engine=engine)
    found = {}
    for kind in (qv.KINDS[name] for name in kinds):
        table = collect_user_counts(log, kind, Bound(most=5, salt=b"cluster")).users_per_item()
        items = zip(*(table[column].to_pylist() for column in kind.columns), strict=True)
        found[kind.name] = dict(zip(items, table["count"].to_pylist(), strict=True))
    return found


def reading(engine: str, path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """What `read` says of a log, and its rows."""
    try:
        log = qv.read(path, engine=engine, **options)
    except qv.QueryveilError as error:
        return {"error": str(error), "kind": type(error).__name__}
    rows = log.engine.arrow(log.table).to_pylist()
    return {
        "rows": sorted(str(sorted(row.items(), key=str)) for row in rows),
        "counts": (log.rows, log.users, log.staged.rejected, log.staged.reasons, log.staged.format),
        "examples": [(one.file, one.line, one.reason) for one in log.staged.examples],
        "here": [one.name for one in log.workspace.rglob("*.parquet")],
    }


def reading_in(engine: str, folder: Path, name: str) -> dict[str, Any]:
    """The same for a log that is named from the folder that this process is in."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        return reading(engine, Path(name), {})
    finally:
        os.chdir(before)


def release(engine: str, path: Path, method: Any, out: Path | None) -> dict[str, Any]:
    """Tables of a release without noise, and the columns that came to this process."""
    seen: set[str] = set()
    arrow, batches = Spark.arrow, Spark.batches

    def watched_arrow(self: Spark, table: Any) -> pa.Table:
        seen.update(table.columns)
        return arrow(self, table)

    def watched_batches(self: Spark, table: Any) -> Iterator[pa.RecordBatch]:
        seen.update(table.columns)
        yield from batches(self, table)

    Spark.arrow, Spark.batches = watched_arrow, watched_batches  # type: ignore[method-assign]
    try:
        noise = NoNoise(SeededBits(1))
        made = qv.publish(
            qv.read(path, engine=engine),
            *(method,),
            noise=noise,
            out=out,
            allow_empty=True,
            i_understand=True,
        )
        return {
            "tables": {name: table.to_pylist() for name, table in made.tables.items()},
            "seen": sorted(seen),
            "private": made.guarantee.private,
        }
    finally:
        Spark.arrow, Spark.batches = arrow, batches  # type: ignore[method-assign]


def slow_counts(engine: str, path: Path, sign: Path) -> dict[Any, int]:
    """Users per query, counted from rows that are kept by the executors; a sign says when they are."""
    log, kind = qv.read(path, engine=engine), qv.KINDS["queries"]
    kept = log.engine.keep(kind.rows(log))
    sign.write_text("kept")
    while not sign.with_suffix(".killed").exists():
        time.sleep(0.05)
    table = collect_user_counts(log, kind, Bound(most=100, salt=b"cluster"), kept).users_per_item()
    return dict(zip(table["query"].to_pylist(), table["count"].to_pylist(), strict=True))


def counts_with_patience(engine: str, path: Path, sign: Path, seconds: float) -> dict[Any, int] | str:
    """The same with another time to wait for a worker; the kind of error if there is none."""
    with mock.patch.object(clusters, "_WORKERS_SECONDS", seconds):
        try:
            return slow_counts(engine, path, sign)
        except qv.QueryveilError as error:
            return type(error).__name__


def where_queryveil_is(engine: str) -> list[str]:
    """The files that workers import it from."""

    def imported(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import queryveil

        for _ in batches:
            yield pa.record_batch([[str(queryveil.__file__)]], names=["file"])

    session = qv.connect(engine).con._session
    frame = session.range(4).repartition(4).mapInArrow(imported, "file string")
    return sorted({row["file"] for row in frame.collect()})


def stop() -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None:
        session.stop()
