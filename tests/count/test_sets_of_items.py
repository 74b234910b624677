"""Itemsets against a search by brute force, on both engines: sets of a session and of a user, of two and of three."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.count import sets_of_items
from queryveil.count.contribution import Bound
from queryveil.count.histories import collect_histories
from queryveil.reading.engine.base import Engine
from tests.conftest import at
from tests.seeded import SeededBits

KINDS = {
    "itemsets": (2, True),
    "itemsets-of-3": (3, True),
    "user-itemsets": (2, False),
    "user-itemsets-of-3": (3, False),
}
GAP = 30
Row = tuple[str, int, str]
Found = set[tuple[str, ...]]

# Texts whose order by bytes is neither that of a dictionary nor that of UTF-16.
TEXTS = ["a", "B c", "z", "\u00e9t\u00e9", "\uff5e", "\U0001f600", "10", "9", "", "flu", "flu symptoms"]


def rows_of(seed: int, rows: int) -> list[Row]:
    chance = random.Random(seed)
    return [(chance.choice("uvw"), chance.randrange(400), chance.choice(TEXTS)) for _ in range(rows)]


def table_of(rows: list[Row], *, times: bool) -> pa.Table:
    columns: dict[str, Any] = {"user": [user for user, _, _ in rows], "query": [query for *_, query in rows]}
    return pa.table(columns | ({"time": [at(minute) for _, minute, _ in rows]} if times else {}))


def expected(rows: list[Row], size: int, *, sessions: bool, most: int) -> Found:
    """Every user's groups, cut where a gap is longer than half an hour; then every set of their different items."""
    groups: dict[tuple[str, int], set[str]] = defaultdict(set)
    by_user: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for user, minute, query in rows:
        by_user[user].append((minute, query))
    for user, events in by_user.items():
        number, last = 0, None
        for minute, query in sorted(events):
            number += sessions and last is not None and minute - last > GAP
            last = minute
            if normal := qv.normalise(query):
                groups[user, number].add(normal)
    found: Found = set()
    for (user, _), items in groups.items():
        lent = sorted(items, key=lambda one: (hashlib.sha256(one.encode()).hexdigest(), one))[:most]
        in_order = sorted(lent if len(items) > most else items, key=str.encode)
        found |= {(user, *some) for some in combinations(in_order, size)}
    return found


def found(log: qv.SearchLog, kind: str) -> Found:
    columns = ("user", *qv.KINDS[kind].columns)
    rows = log.engine.arrow(qv.KINDS[kind].occurrences(log).select(*columns)).to_pylist()
    return {tuple(row[column] for column in columns) for row in rows}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [100, 4])
def test_every_set_is_found_and_no_other(kind: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    size, sessions = KINDS[kind]
    monkeypatch.setitem(sets_of_items.MOST_TOGETHER, size, most)
    for seed in range(6):
        rows = rows_of(seed, 40)
        wanted = expected(rows, size, sessions=sessions, most=most)
        assert found(qv.read(table_of(rows, times=True)), kind) == wanted and wanted
        without = expected(rows, size, sessions=False, most=most)
        assert found(qv.read(table_of(rows, times=False)), kind) == without


@pytest.mark.parametrize("kind", KINDS)
def test_spark_finds_the_same(kind: str, spark: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    size, sessions = KINDS[kind]
    monkeypatch.setitem(sets_of_items.MOST_TOGETHER, size, 5)
    rows = rows_of(11, 60)
    wanted = expected(rows, size, sessions=sessions, most=5)
    assert found(qv.read(table_of(rows, times=True), engine=spark), kind) == wanted and wanted
    without = expected(rows, size, sessions=False, most=5)
    assert found(qv.read(table_of(rows, times=False), engine=spark), kind) == without


def test_spark_publishes_the_same(spark: Engine) -> None:
    """With noise too small to change a count, and choices by a hash that both engines have."""
    rows = [(f"{user}{copy}", minute, query) for user, minute, query in rows_of(3, 80) for copy in range(9)]
    method = qv.Zealous(noise_scale=0.01, second_threshold=2, max_items=4, items=("itemsets",))

    def table(engine: Any) -> list[dict[str, Any]]:
        log = qv.read(table_of(rows, times=True), engine=engine)
        noise = qv.Noise(SeededBits(1))
        release = qv.publish(log, method, noise=noise, i_understand=True)
        shown: list[dict[str, Any]] = release.tables["items"].to_pylist()
        return shown

    assert table("duckdb") == table(spark) != []


def test_a_session_column_without_times_tells_baskets_apart() -> None:
    rows = pa.table(
        {
            "user": ["a", "a", "a", "a", "b"],
            "session": ["1", "1", "2", None, "1"],
            "query": ["milk", "bread", "wine", "salt", "beer"],
        }
    )
    assert found(qv.read(rows), "itemsets") == {("a", "bread", "milk")}, "a row without a basket is in none"
    assert ("a", "salt", "wine") in found(qv.read(rows), "user-itemsets")


def test_a_heavy_user_lends_a_bounded_number_of_items() -> None:
    """2,000 different items would make two million pairs, and more than a thousand million sets of three."""
    log = qv.read(pa.table({"user": ["bot"] * 2_000, "query": [f"q{number}" for number in range(2_000)]}))
    for kind, (size, _) in KINDS.items():
        lent = sets_of_items.MOST_TOGETHER[size]
        assert len(found(log, kind)) == len(list(combinations(range(lent), size))) < 5_000


def test_nobody_else_changes_a_users_sets() -> None:
    own = [("u", minute, f"q{minute}") for minute in range(120)]
    others = [("v", minute, f"q{minute}") for minute in range(60)]
    alone, together = (found(qv.read(table_of(rows, times=True)), "itemsets") for rows in (own, own + others))
    assert alone == {one for one in together if one[0] == "u"} and len(alone) == 4_950


def test_first_and_frequent_go_by_when_a_set_was_complete() -> None:
    rows = [("u", 0, "a"), ("u", 9, "b"), ("u", 5, "c"), ("u", 100, "a"), ("u", 101, "b")]
    log = qv.read(table_of(rows, times=True))

    def kept(keep: str) -> list[tuple[str, str]]:
        found = collect_histories(log, qv.KINDS["itemsets"], Bound(most=1, keep=keep))
        found = found.users_per_item().to_pylist()
        return [(row["item_1"], row["item_2"]) for row in found]

    assert kept("first") == [("a", "c")], "complete after five minutes"
    assert kept("frequent") == [("a", "b")], "in two sessions"


@pytest.mark.parametrize("kind", KINDS)
def test_patients_and_their_diagnoses(kind: str, tmp_path: Path) -> None:
    """No times, no sessions: the sets of a patient. The release verifies, and is measured against the log."""
    often = ["asthma", "eczema", "hay fever"]
    rows = [(f"p{number}", 0, one) for number in range(60) for one in [*often, f"rare {number}"]]
    log = qv.read(table_of(rows, times=False))
    method = qv.Zealous(epsilon=4, delta=1e-6, max_items=3, items=(kind,), neighbours="add-remove")
    out = tmp_path / "out"
    release = qv.publish(log, method, out=out, noise=qv.Noise(SeededBits(1)), i_understand=True)
    verdict = qv.verify(out)
    assert verdict.passes, verdict.failed
    common = tuple(often[:2]) if KINDS[kind][0] == 2 else tuple(often)
    assert common in {tuple(row.values())[:-1] for row in release.tables["items"].to_pylist()}
    size = KINDS[kind][0]
    assert release.tables["items"].column_names == [*(f"item_{n}" for n in range(1, size + 1)), "count"]
    measures = qv.evaluate(log, out, ["coverage@1"]).measures
    assert measures["coverage@1"] == 1


def test_numbers_of_sets_in_words() -> None:
    assert qv.KINDS["itemsets"].counted(1) == "1 itemset"
    assert qv.KINDS["itemsets-of-3"].counted(2_000) == "2,000 itemsets of 3"
    assert qv.KINDS["user-itemsets-of-3"].counted(1) == "1 user itemset of 3"
