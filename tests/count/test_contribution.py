"""The contribution bound: exactly min(m, distinct) items per user, chosen by that user's rows alone."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.count import public_lists
from queryveil.count.contribution import EVENTS, KEEP, Bound
from queryveil.count.histories import collect_histories, collect_user_counts, count_users
from tests import sizes
from tests.conftest import at

USERS, QUERIES = list("abcd"), [f"q{number}" for number in range(7)]
ROWS = st.lists(
    st.tuples(st.sampled_from(USERS), st.sampled_from(QUERIES), st.integers(0, 50)), min_size=1, max_size=60
)
Rows = list[tuple[str, str, int]]


def log_of(rows: Rows, engine: Any = "duckdb") -> qv.SearchLog:
    user, query, minute = zip(*rows, strict=True)
    return qv.read(
        pa.table({"user": list(user), "query": list(query), "time": [at(one) for one in minute]}),
        engine=engine,
    )


def kept(log: qv.SearchLog, bound: Bound, kind: str = "queries") -> list[frozenset[tuple[str, ...]]]:
    """What each user keeps; users are in the order of their keyed hashes, which is the same for every bound."""
    found = collect_histories(log, qv.KINDS[kind], bound)
    texts = [tuple(row.values()) for row in found.texts(np.arange(found.different)).to_pylist()]
    owned = np.split(found.items, found.starts[1:-1])
    assert all(len(np.unique(own)) == len(own) for own in owned), "an item counts once per user"
    return [frozenset(texts[item] for item in own.tolist()) for own in owned]


@settings(max_examples=25, deadline=None)
@given(ROWS, st.integers(1, 8), st.sampled_from(KEEP))
def test_exactly_min_of_m_and_distinct_items_are_kept(rows: Rows, most: int, keep: str) -> None:
    distinct = {user: {query for one, query, _ in rows if one == user} for user, _, _ in rows}
    found = kept(log_of(rows), Bound(most=most, keep=keep, salt=b"s"))
    assert sorted(map(len, found)) == sorted(min(most, len(queries)) for queries in distinct.values())


@settings(max_examples=20, deadline=None)
@given(ROWS, ROWS, st.integers(1, 4), st.sampled_from(KEEP))
def test_one_user_never_changes_what_another_keeps(rows: Rows, other: Rows, most: int, keep: str) -> None:
    bound = Bound(most=most, keep=keep, salt=b"s")
    rest = [row for row in rows if row[0] != "a"] or [("b", "q0", 0)]
    alone = Counter(kept(log_of(rest), bound))
    for own in ([("a", "q1", 1)], [("a", query, minute) for _, query, minute in other]):
        together = Counter(kept(log_of([*own, *rest]), bound))
        assert together - alone == Counter(kept(log_of(own), bound)) and not alone - together


def test_first_goes_by_time_and_frequent_by_repeats() -> None:
    rows = [("a", "late", 9), ("a", "early", 1), ("a", "often", 5), ("a", "often", 6), ("a", "often", 7)]
    log = log_of(rows)
    assert kept(log, Bound(most=1, keep="first")) == [{("early",)}]
    assert kept(log, Bound(most=1, keep="frequent")) == [{("often",)}]


def test_frequent_goes_by_rows_in_a_log_without_times() -> None:
    table = pa.table({"user": ["a"] * 5, "query": ["often", "b", "c", "often", "d"]})
    for salt in range(8):
        assert kept(qv.read(table), Bound(most=1, keep="frequent", salt=bytes([salt]))) == [{("often",)}]


def test_first_events_count_each_time_that_a_user_had_an_item() -> None:
    rows = [("a", "often", 1), ("a", "often", 1), ("a", "often", 2), ("a", "late", 3), ("b", "often", 9)]
    for most, expected in ((1, {"often": 2}), (2, {"often": 3}), (3, {"often": 3, "late": 1})):
        bound = Bound(most=most, keep=EVENTS)
        counted = collect_user_counts(log_of(rows), qv.KINDS["queries"], bound).users_per_item()
        assert {row["query"]: row["count"] for row in counted.to_pylist()} == expected


def test_click_rows_of_one_event_count_once_for_frequent() -> None:
    table = pa.table(
        {
            "user": ["a"] * 5,
            "query": ["clicked"] * 3 + ["asked"] * 2,
            "time": [at(1)] * 3 + [at(2), at(3)],
            "url": ["u", "v", "w", None, None],
        }
    )
    assert kept(qv.read(table), Bound(most=1, keep="frequent")) == [{("asked",)}]


@settings(max_examples=25, deadline=None)
@given(ROWS, st.sampled_from(KEEP))
def test_a_smaller_bound_keeps_some_of_what_a_larger_one_keeps(rows: Rows, keep: str) -> None:
    log = log_of(rows)
    found = [kept(log, Bound(most=most, keep=keep, salt=b"s")) for most in range(1, 8)]
    for few, more in itertools.pairwise(found):
        assert all(one <= other for one, other in zip(few, more, strict=True))


@settings(max_examples=25, deadline=None)
@given(ROWS, st.integers(1, 3))
def test_users_of_all_items_are_counted_without_a_bound(rows: Rows, least: int) -> None:
    users = Counter(query for _, query in {(user, query) for user, query, _ in rows})
    found = count_users(log_of(rows), qv.KINDS["queries"], least)
    counts = {row["query"]: row["count"] for row in found.to_pylist()}
    assert counts == {query: count for query, count in users.items() if count >= least}


def test_another_salt_keeps_others() -> None:
    rows = [(user, query, 0) for user in USERS for query in QUERIES]
    chosen = {str(kept(log_of(rows), Bound(most=3, salt=bytes([salt])))) for salt in range(8)}
    assert len(chosen) > 1


def _kinds_and_rules() -> list[tuple[str, str]]:
    """Sets are many times more than rows, and bounded like other items: one rule is enough for them."""
    return [(kind.name, keep) for kind in qv.KINDS.values() for keep in (KEEP[:1] if kind.is_set else KEEP)]


OFTEN = [(kind, "random") for kind in ("keywords", "queries", "query-pairs", "clicks", "itemsets")]
OFTEN += [("queries", "first"), ("query-pairs", "frequent")]
"""Every kind of item, and every rule; tests/count/test_sets_of_items.py has all kinds of sets on both engines."""


@pytest.mark.parametrize(("kind", "keep"), sizes.chosen(_kinds_and_rules(), OFTEN))
def test_spark_and_duckdb_count_the_same(
    spark: Any, generated: Path, generated_few: Path, kind: str, keep: str
) -> None:
    """100,000 generated rows (of sets, 20,000), all item kinds, every rule, one salt, portable key."""
    source = generated_few if qv.KINDS[kind].is_set else generated
    bound = Bound(most=5, keep=keep, salt=b"fixed")
    histograms = []
    for engine in ("duckdb", spark):
        log = qv.read(source, engine=engine)
        columns = qv.KINDS[kind].columns
        table = collect_user_counts(log, qv.KINDS[kind], bound).users_per_item()
        histograms.append(Counter({tuple(r[c] for c in columns): r["count"] for r in table.to_pylist()}))
    assert histograms[0] == histograms[1]
    assert len(histograms[0]) > 1_000
    # Few users share three queries.
    assert max(histograms[0].values()) > (1 if kind.endswith("of-3") else 5)


def test_time_is_needed_for_first() -> None:
    log = qv.read(pa.table({"user": ["a"], "query": ["x"]}))
    with pytest.raises(qv.InputError, match="'time' column"):
        collect_histories(log, qv.KINDS["queries"], Bound(most=1, keep="first"))


def test_spark_and_duckdb_count_the_same_clicks_on_public_results(spark: Any, generated: Path) -> None:
    lists = public_lists.read(generated.with_name("results.tsv")).slice(0, 5_000)
    bound = Bound(most=3, salt=b"fixed")
    found = [
        public_lists.click_counts(qv.read(generated, engine=engine), lists, bound)
        for engine in ("duckdb", spark)
    ]
    assert found[0].sum() > 1_000 and (found[0] == 0).any()
    assert (found[0] == found[1]).all()
