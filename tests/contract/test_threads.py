"""Threads that share one log get what each would get alone: every mechanism, measure, attack, and inspection."""

from __future__ import annotations

import functools
import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from tests.conftest import at
from tests.seeded import NoiseOfUsers

THREADS = 8
RELEASES = 200
USERS = 60
QUERIES = (
    "flu symptoms",
    "weather",
    "cheap flights",
    "diabetes",
    "news",
    "asthma inhaler",
    "maps",
    "python",
    "hiv test",
    "tax",
    "tea",
)
VARIANTS: dict[str, dict[str, Any]] = {
    "click-graph": {"max_queries": 1},
    "zealous": {"items": ("query-pairs", "queries")},
    "ad-hoc": {"steps": ("drop-infrequent",), "min_users": 20},
    "token-hash": {"sessions": "drop"},
    "semantic": {"epsilon": 1},
    "profile-histogram": {"max_queries": 1},
}
"""Another setting of each mechanism, so that a result that reaches the wrong thread differs from the right one."""


def shared_log() -> qv.SearchLog:
    """Return a log in which the number of users of a query ranges from 2 to all."""
    chance = random.Random(7)
    rows = []
    for user, (place, query) in itertools.product(range(USERS), enumerate(QUERIES)):
        if chance.random() < 0.75**place:
            minute = 60 * place + chance.randrange(30)
            rows.append((f"u{user}", at(minute), query, f"http://site{place % 3}.example/{place}"))
    names = ("user", "time", "query", "url")
    return qv.read(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))))


def settings() -> list[tuple[str, dict[str, Any]]]:
    """Return two settings of every registered mechanism."""
    found = []
    for name, method in qv.MECHANISMS.items():
        example = dict(method.example)
        other = {"k": 20} if "k" in example else VARIANTS.get(name, {"epsilon": 20})
        found += [(name, example), (name, example | other)]
    return found


def publish(log: qv.SearchLog, setting: tuple[str, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Publish with noise that depends on the setting alone, and return the rows of each table."""
    name, parameters = setting
    noise = NoiseOfUsers(settings().index(setting))
    release = qv.publish(
        log, qv.MECHANISMS[name](**parameters), noise=noise, i_understand=True, allow_empty=True
    )
    return {table: sorted(rows.to_pylist(), key=repr) for table, rows in release.tables.items()}


def outcomes(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return what each call returns or raises; the calls run in threads, in a fixed random order."""
    order = list(range(len(calls)))
    random.Random(3).shuffle(order)
    with ThreadPoolExecutor(THREADS) as pool:
        futures = {number: pool.submit(calls[number]) for number in order}
        return [futures[number].exception() or futures[number].result() for number in range(len(calls))]


def test_releases_in_threads_equal_those_made_alone() -> None:
    alone = [publish(shared_log(), setting) for setting in settings()]
    log = shared_log()
    chosen = [number % len(alone) for number in range(RELEASES)]
    found = outcomes([functools.partial(publish, log, settings()[number]) for number in chosen])
    wrong = [(settings()[n], one) for n, one in zip(chosen, found, strict=True) if one != alone[n]]
    assert Counter(setting[0] if isinstance(one, dict) else repr(one) for setting, one in wrong) == {}


def test_other_operations_in_threads_equal_those_made_alone() -> None:
    release = qv.publish(shared_log(), qv.KQuery(k=3), i_understand=True)
    operations: list[Callable[[qv.SearchLog], Any]] = [
        lambda log: qv.inspect(log).as_dict(),
        lambda log: qv.evaluate(log, release, ["coverage@5", "missing@5"]).measures,
        lambda log: qv.LinkageAttack(known=(1,), trials=50).run(log, [release]).as_dict(),
        lambda log: qv.ExposureAttack(seed=1).run([log, release]).as_dict(),
        lambda log: log.fingerprint("user", "query"),
        lambda log: log.sessions().count().to_pyarrow().as_py(),
        lambda log: log.between(at(60), at(180)).users,
    ]
    alone = [operation(shared_log()) for operation in operations]
    log = shared_log()
    found = outcomes([functools.partial(operation, log) for operation in operations * 6])
    wrong = [(n % len(alone), one) for n, one in enumerate(found) if one != alone[n % len(alone)]]
    assert wrong == []


def connection() -> Any:
    con = duckdb.connect()
    con.sql("CREATE TABLE log AS SELECT 'u' || range AS user, 'tea ' || range AS query FROM range(400_000)")
    return con


@pytest.mark.parametrize(
    "table_of",
    [lambda con: con.sql("FROM log"), lambda con: ibis.duckdb.from_connection(con).table("log")],
    ids=["relation", "Ibis"],
)
def test_tables_of_one_connection_are_read_whole_in_threads(table_of: Callable[[Any], Any]) -> None:
    table = table_of(connection())
    assert outcomes([lambda: qv.read(table).rows] * 6) == [400_000] * 6


def test_a_stream_that_another_statement_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    con = connection()
    write = pq.ParquetWriter.write_table

    def write_and_query(writer: Any, *given: Any) -> None:
        write(writer, *given)
        con.execute("SELECT 1")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", write_and_query)
    with pytest.raises(qv.InputError):
        qv.read(con.sql("FROM log"))
