"""Counting in tasks of some users each gives what one process gives. Tasks run one after the other, without Spark."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.count import histories
from queryveil.count.contribution import EVENTS, KEEP, Bound
from queryveil.reading.engine import DuckDB
from tests.conftest import at

TEXTS = ["a", "A ", "b", "b  b", "B b", "äpfel", "ÄPFEL", "🐈", "", '"a"', "z" * 300, None]
TASKS = 3


class Tasks(DuckDB):
    """DuckDB, and a function for the batches of some users at a time, as Spark runs it."""

    inside = False

    def map_batches(self, table: Any, function: Callable[..., Any], types: str, by: str) -> Any:
        """Return what the function makes of each part of the rows."""
        rows = self.arrow(table)
        places = np.array([zlib.crc32(one.encode()) % TASKS for one in rows[by].to_pylist()])
        made: list[pa.RecordBatch] = []
        for task in range(TASKS):
            made += function(iter(rows.filter(pa.array(places == task)).to_batches(5)))
        kinds = {"string": pa.string(), "bigint": pa.int64(), "binary": pa.binary()}
        schema = pa.schema([(name, kinds[kind]) for name, kind in map(str.split, types.split(", "))])
        return self.register(pa.Table.from_batches(made, schema))


def log(engine: Any) -> qv.SearchLog:
    rows = [
        (f"u{n % 11}", at(n * 7 % 60), TEXTS[(n * 5 + n // 11) % 12], f"http://{n % 5}") for n in range(240)
    ]
    names: Sequence[str] = ("user", "time", "query", "url")
    return qv.read(pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), engine=engine)


@pytest.fixture(scope="module")
def here() -> qv.SearchLog:
    return log("duckdb")


@pytest.fixture(scope="module")
def there() -> Iterator[qv.SearchLog]:
    engine = Tasks(qv.connect("duckdb").con)
    yield log(engine)
    engine.close()


@pytest.mark.parametrize("keep", [*KEEP, EVENTS])
@pytest.mark.parametrize("kind", qv.KINDS)
def test_tasks_count_what_one_process_counts(
    kind: str, keep: str, here: qv.SearchLog, there: qv.SearchLog
) -> None:
    for most, least in ((1, 1), (3, 1), (3, 2), (100, 1)):
        bound = Bound(most=most, keep=keep, salt=b"salt")
        found = [
            histories.collect_user_counts(one, qv.KINDS[kind], bound).users_per_item(least).to_pylist()
            for one in (here, there)
        ]
        assert found[0] == found[1] and (found[0] or least > 1)


@pytest.mark.parametrize("keep", [*KEEP, EVENTS])
@pytest.mark.parametrize("kind", qv.KINDS)
def test_tasks_encode_what_one_process_encodes(
    kind: str, keep: str, here: qv.SearchLog, there: qv.SearchLog
) -> None:
    for most in (1, 3, 100):
        bound = Bound(most=most, keep=keep, salt=b"salt")
        one, other = (histories.collect_histories(found, qv.KINDS[kind], bound) for found in (here, there))
        assert one.starts.tolist() == other.starts.tolist() and one.items.tolist() == other.items.tolist()
        assert one.different == other.different and one.items.size
        every = np.arange(one.different)
        assert one.texts(every).equals(other.texts(every))
        whole = [[part.tolist() for part in found.whole or ()] for found in (one, other)]
        assert whole[0] == whole[1] and len(whole[0]) == 2
