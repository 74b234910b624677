"""The risk at a glance, against logs done by hand and by brute force."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from tests.conftest import at


def log_of(histories: dict[str, list[str]], engine: Any = "duckdb") -> qv.SearchLog:
    rows = [
        (user, query, minute) for user, queries in histories.items() for minute, query in enumerate(queries)
    ]
    user, query, minute = zip(*rows, strict=True)
    table = {"user": list(user), "query": list(query), "time": [at(one) for one in minute]}
    return qv.read(pa.table(table), engine=engine)


def test_counts(tiny: pa.Table) -> None:
    found = qv.inspect(qv.read(tiny)).as_dict()
    assert (found["rows"], found["users"], found["empty_queries"]) == (7, 3, 2)
    assert (found["queries"], found["clicks"], found["orphan_clicks"]) == (5, 2, 0)
    assert found["span"] == {"first": "2026-01-01T00:00:00", "last": "2026-01-01T00:50:00"}
    assert found["items"]["queries"] == {"distinct": 4, "per_user": round(5 / 3, 3), "one_user": 3}
    assert found["items"]["query-pairs"]["distinct"] == 2 and found["items"]["clicks"]["distinct"] == 2


def test_uniqueness_by_hand() -> None:
    found = qv.inspect(log_of({"a": ["x", "y"], "b": ["x", "z"], "c": ["x", "y"], "d": ["v"]}))
    # By one query: d always; b if z was drawn; a and c never. By two: b and d.
    assert found.uniqueness["1"] == pytest.approx((0 + 0.5 + 0 + 1) / 4)
    assert found.uniqueness["2"] == found.uniqueness["3"] == 0.5


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_uniqueness_against_brute_force(engine: str, request: pytest.FixtureRequest) -> None:
    """Every user has just r queries, so that the draw is certain and the share exact."""
    random.seed(5)
    runs_on = request.getfixturevalue("spark") if engine == "spark" else engine
    for known in (2,) if engine == "spark" else (2, 3):
        histories = {f"u{n}": random.sample([f"q{i}" for i in range(9)], known) for n in range(60)}
        sets = {user: frozenset(queries) for user, queries in histories.items()}
        alone = [u for u in sets if not any(sets[u] <= sets[o] for o in sets if o != u)]
        found = qv.inspect(log_of(histories, runs_on))
        assert found.uniqueness[str(known)] == pytest.approx(len(alone) / len(sets))
        low, high = found.intervals[str(known)]
        assert low <= len(alone) / len(sets) <= high


def test_a_log_without_queries_has_no_uniqueness() -> None:
    found = qv.inspect(qv.read(pa.table({"user": ["a", "b"], "query": ["", None]})))
    assert found.uniqueness == {"1": 0.0, "2": 0.0, "3": 0.0}
    assert found.empty_queries == 2 and found.items["queries"]["distinct"] == 0
    assert list(itertools.islice(found.items, 2)) == ["keywords", "queries"]


def test_clicks_that_name_no_user_are_counted_and_never_published(tmp_path: Path) -> None:
    """Nine of ten clicks of a UBI log name neither user nor client; the click table has the tenth alone."""
    documents: list[dict[str, Any]] = []
    for n in range(1000):
        own = {"query_id": f"q{n}", "timestamp": 1733821200000 + 1000 * n}
        click = {"action_name": "click", "event_attributes": {"object": {"object_id": f"A{n % 10}"}}}
        documents.append(own | {"client_id": f"c{n}", "user_query": "tea"})
        documents.append(own | click | ({} if n % 10 else {"client_id": f"c{n}"}))
    (tmp_path / "log.ndjson").write_text("".join(json.dumps(one) + "\n" for one in documents))
    with pytest.raises(qv.InputError):
        qv.read(tmp_path / "log.ndjson")
    log = qv.read(tmp_path / "log.ndjson", max_rejected=0.5)
    found = qv.inspect(log)
    assert (found.queries, found.clicks, found.orphan_clicks, found.clicks_without_user) == (
        1000,
        100,
        0,
        900,
    )
    assert found.as_dict()["clicks_without_user"] == 900 and found.reasons == {"click without user": 900}
    release = qv.publish(log, "zealous", items="clicks", epsilon=4, delta=1e-5, max_items=1)
    # Of 10 urls, those of the 900 clicks are missing. At this epsilon, fewer than 1 in a million counts are off by 40.
    (table,) = (one.to_pylist() for one in release.tables.values())
    assert [(row["query"], row["url"]) for row in table] == [("tea", "A0")]
    assert abs(table[0]["count"] - 100) < 40
