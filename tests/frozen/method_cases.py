"""Run one stored case of a method through `queryveil.publish`, or count what users keep, and describe the outcome."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import queryveil as qv
from queryveil.count import histories, item_kinds
from queryveil.count.contribution import Bound
from tests.frozen.store import Answer, as_json, load_group
from tests.seeded import SeededBits

GROUPS = ("published", "kept")
MOST_ROWS = 400
"""Longer tables are stored as a digest, and so are tables with seeded noise."""
Counts = NDArray[np.int64]


class FixedKeyNoise(qv.Noise):
    """Seeded noise whose key is fixed, so that the choice of kept items does not depend on draws."""

    def key(self) -> bytes:
        return bytes(range(16))


class ZeroNoise(FixedKeyNoise):
    """Noise that is always zero: tables then depend on rows and key alone, not on the order of draws."""

    def discrete_laplace(self, scale: Any, size: int) -> Counts:
        return np.zeros(size, np.int64)

    def rounded_normal(self, scale: int, size: int) -> Counts:
        return np.zeros(size, np.int64)

    def selection_noise(self, scale: float, item_delta: float, size: int) -> Counts:
        return np.zeros(size, np.int64)


def noise_for(case: Mapping[str, Any]) -> qv.Noise:
    seed = case.get("seed")
    return ZeroNoise(SeededBits(1)) if seed is None else FixedKeyNoise(SeededBits(seed))


@cache
def logs() -> dict[str, Any]:
    """Return the stored logs by name: columns of values."""
    return load_group("methods/logs")


def read_log(name: str, folder: Path) -> qv.SearchLog:
    """Write a stored log as Parquet and read it."""
    columns = dict(logs()[name])
    if "time" in columns:
        columns["time"] = pa.array(columns["time"], pa.int64()).cast(pa.timestamp("s"))
    file = folder / "log.parquet"
    pq.write_table(pa.table(columns), file)
    return qv.read(file)


def write_lists(case: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Write the public lists of a case, and return its parameters with their paths."""
    given = {
        name: tuple(one) if isinstance(one, list) else one for name, one in case.get("parameters", {}).items()
    }
    for name, lines in case.get("lists", {}).items():
        file = folder / f"{name}.tsv"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        given[name] = str(file)
    return given


def answer(case: Mapping[str, Any], folder: Path) -> Answer:
    """Publish, or count the users who keep each item; or name the refusal."""
    given = write_lists(case, folder)
    try:
        log = read_log(case["log"], folder)
        if "method" not in case:
            return as_json({"counts": _rows(count_kept(log, **case["bound"]))})
        method = qv.MECHANISMS[case["method"]](**given)
        release = qv.publish(
            log, method, users=case.get("users"), noise=noise_for(case), allow_empty=True, i_understand=True
        )
    except qv.QueryveilError as error:
        return {"refused": error.kind}
    most = MOST_ROWS if case.get("seed") is None else 0
    private = {name: one for name, one in release.private.items() if isinstance(one, pa.Table)}
    return as_json(
        {
            "tables": {name: _rows(table, most) for name, table in release.tables.items()},
            "private": {name: _rows(table, most) for name, table in private.items()},
        }
    )


def count_kept(log: qv.SearchLog, kind: str, most: int, keep: str) -> pa.Table:
    """Return how many users keep each item, from the histories of a log."""
    bound = Bound(most=most, keep=keep, salt=FixedKeyNoise(SeededBits(1)).key())
    found = histories.collect_histories(log, item_kinds.kind(kind), bound)
    users = np.bincount(found.items, minlength=found.different)
    kept = np.flatnonzero(users)
    texts = found.texts(kept)
    counted = texts.append_column("count", pa.array(users[kept]))
    return counted.sort_by([(name, "ascending") for name in texts.column_names])


def _rows(table: pa.Table, most: int = MOST_ROWS) -> Any:
    rows = [list(row.values()) for row in table.to_pylist()]
    text = json.dumps(rows, default=str)
    made: dict[str, Any] = {"columns": table.column_names}
    if len(rows) > most:
        return made | {"count": len(rows), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return made | {"rows": json.loads(text)}
