"""Releases that are logs, sets of keywords or prefixes are measured like histograms; those of another log are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.count.item_kinds import KINDS
from queryveil.measure.measure import Original, Released
from tests.conftest import at
from tests.measure.graphs import log, queries, release

SESSIONS = {
    "u1": ["red shoes", "red boots", "red shoes", "x"],
    "u2": ["red shoes", "red boots"],
    "u3": ["red shoes", "x x", "Red Hat!"],
}


def searched(*suffixes: str) -> qv.SearchLog:
    """Everyone's session, once for each suffix of the user's name."""
    rows = [
        (user + suffix, at(minute), query)
        for user, posed in SESSIONS.items()
        for suffix in suffixes
        for minute, query in enumerate(posed)
    ]
    user, time, query = zip(*rows, strict=True)
    return qv.read(pa.table({"user": list(user), "time": list(time), "query": list(query)}))


@pytest.fixture(scope="module")
def original() -> qv.SearchLog:
    return searched("")


def counts(table: pa.Table) -> dict[tuple[str, ...], int]:
    columns = [name for name in table.column_names if name != "count"]
    items = zip(*(table[name].to_pylist() for name in columns), strict=True)
    return dict(zip(items, table["count"].to_pylist(), strict=True))


def test_where_nothing_must_be_dropped_a_k_anonymous_log_is_the_log_itself() -> None:
    twins = searched("", " twin")
    made = qv.publish(twins, qv.KQuery(k=2))
    released = Released.from_release(made)
    assert released.kinds == ("queries", "keywords", "query-pairs") and released.unit == "occurrences"
    for kind in released.kinds:
        whole = twins.engine.arrow(Original(twins).counts(kind, "occurrences"))
        assert counts(released.items(kind)) == counts(whole), kind
    found = qv.evaluate(twins, made, min_ratio=0.1).measures
    assert found["coverage@100"] == found["coverage@100/keywords"] == found["coverage@100/query-pairs"] == 1
    assert found["count-difference/mean"] == found["count-difference/total-variation/query-pairs"] == 0
    assert found["released-share/impressions"] == 100
    assert found["query-substitution@2/ndcg"] == found["query-substitution@5/coverage"] == 1


def test_k_query_by_hand(original: qv.SearchLog) -> None:
    released = Released.from_release(qv.publish(original, qv.KQuery(k=2)))
    # Kept: u1 red shoes, red boots, red shoes; u2 red shoes, red boots; u3 red shoes.
    assert counts(released.items("queries")) == {("red shoes",): 4, ("red boots",): 2}
    assert counts(released.items("keywords")) == {("red",): 6, ("shoes",): 4, ("boots",): 2}
    assert counts(released.items("query-pairs")) == {
        ("red shoes", "red boots"): 2,
        ("red boots", "red shoes"): 1,
    }


def test_k_keyword_gives_its_whole_words(original: qv.SearchLog) -> None:
    made = qv.publish(original, qv.KKeyword(k=2))
    released = Released.from_release(made)
    assert released.kinds == ("keywords",) and released.unit == "users"
    assert counts(released.items("keywords")) == {
        ("red",): 3,
        ("shoes",): 3,
        ("boots",): 2,
        ("x",): 2,
    }
    starred = qv.Release(
        plan=made.plan, tables={"items": pa.table({"prefix": ["red", "re*"], "count": [3, 2]})}
    )
    assert counts(Released.from_release(starred).items("keywords")) == {("red",): 3}


def test_k_session_counts_sessions(original: qv.SearchLog) -> None:
    plan = qv.KSession(k=2).plan()
    sets = pa.array([["red", "shoes"], ["red", "shoes"], ["x"], []], pa.list_(pa.string()))
    made = qv.Release(plan=plan, tables={"transactions": pa.table({"group": [0, 0, 1, 2], "items": sets})})
    released = Released.from_release(made)
    assert released.unit == "sessions"
    assert counts(released.items("keywords")) == {("red",): 2, ("shoes",): 2, ("x",): 1}
    whole = original.engine.arrow(Original(original).counts("keywords", "sessions"))
    assert counts(whole) == {("red",): 3, ("shoes",): 3, ("boots",): 2, ("x",): 2, ("hat",): 1}
    real = qv.evaluate(original, qv.publish(original, qv.KSession(k=2)))
    assert real.measures["distinct"] is not None and real.warnings == ()
    # The sets of Clump have the same columns, but hold no keywords.
    other = qv.Release(plan=qv.Clump(k=2, r=2).plan(), tables=made.tables)
    assert Released.from_release(other).kinds == ()


def test_rows_under_random_users_give_queries_and_keywords_and_no_pairs(original: qv.SearchLog) -> None:
    plan = qv.Semantic(epsilon=1).plan()
    rows = pa.table({"user": [0, 0, 1], "number": [0, 1, 0], "query": ["shoe, boot", "shoe", "shoe"]})
    released = Released.from_release(qv.Release(plan=plan, tables={"log": rows}))
    assert released.kinds == ("queries", "keywords")
    assert counts(released.items("queries")) == {("shoe boot",): 1, ("shoe",): 2}
    assert counts(released.items("keywords")) == {("shoe",): 3, ("boot",): 1}
    # Concepts need not stand in the log: that is no sign of another log.
    found = qv.evaluate(original, qv.Release(plan=plan, tables={"log": rows}))
    assert found.measures["coverage@100"] == 0 and found.warnings == ()
    assert found.measures["released-share/impressions"] == found.measures["released-share/distinct"] == 0


@pytest.mark.parametrize("method", [qv.Semantic(epsilon=1), qv.ProfileHistogram(epsilon=1, max_queries=1)])
def test_labels_of_concepts_are_counted_as_words(method: qv.Mechanism) -> None:
    """Measles in two senses and lung cancer are what the log has; read as typed, nothing is."""
    posed = ["measles", "measles", "lung cancer", "lung cancer", "fear of measles"]
    log = qv.read(pa.table({"user": list("abcde"), "query": posed}))
    drawn = [
        "measles.n.01",
        "measles.n.02",
        "lung_cancer.n.01",
        "lung_cancer.n.01",
        "fear.n.01, measles.n.01",
    ]
    rows = pa.table({"user": list(range(5)), "number": [0] * 5, "query": drawn})
    made = qv.Release(plan=method.plan(), tables={"log": rows})
    found = qv.evaluate(log, made, ["coverage@2", "missing@2", "released-share", "count-difference"])
    assert found.measures["coverage@2"] == found.measures["coverage@2/keywords"] == 1
    assert found.measures["missing@2"] == 0 and found.measures["released-share/impressions"] == 80
    # One of five is 'fear of measles' in the log and 'fear measles' in the release.
    assert found.measures["count-difference/total-variation"] == pytest.approx(0.2)
    assert "read as words" in found.notes["concepts"]
    typed = qv.Release(plan=qv.AdHoc(steps=("hash-users",)).plan(), tables={"log": rows})
    other = qv.evaluate(log, typed, ["coverage@2", "count-difference"])
    assert other.measures["coverage@2"] == 0 and other.measures["count-difference/total-variation"] == 1
    assert "concepts" not in other.notes


def test_a_pattern_is_not_looked_for_among_concepts() -> None:
    log = qv.read(pa.table({"user": ["a", "b"], "query": ["fear of measles", "fear of war"]}))
    rows = pa.table({"user": [0, 1], "number": [0, 0], "query": ["fear.n.01 of measles.n.01", "war.n.01"]})
    bare = qv.Release(plan=qv.Semantic(epsilon=1).plan(), tables={"log": rows})
    left_out = qv.evaluate(log, bare, pattern="fear of *").left_out
    assert "concepts in place of queries" in left_out["pattern-ranking"]
    with pytest.raises(qv.InputError, match="concepts in place of queries"):
        qv.evaluate(log, bare, "pattern-ranking@2", pattern="fear of *")
    kept = qv.Release(plan=qv.Semantic(epsilon=1, keep_words="function").plan(), tables={"log": rows})
    assert (
        qv.evaluate(log, kept, "pattern-ranking@2", pattern="fear of *").measures["pattern-ranking@2"] == 0.5
    )


def test_hashes_are_no_items(original: qv.SearchLog) -> None:
    made = qv.publish(original, qv.TokenHash(), i_understand=True)
    assert Released.from_release(made).kinds == ()
    assert qv.evaluate(original, made).figures == {}
    with pytest.raises(qv.InputError, match="there is no table of items"):
        qv.evaluate(original, made, "coverage")


def test_histograms_of_every_kind_compare(original: qv.SearchLog) -> None:
    for kind in ("keywords", "queries", "query-pairs"):
        method = qv.Zealous(epsilon=1, delta=1e-6, max_items=1, guarantee="approximate", items=(kind,))
        columns = {name: pa.array([], pa.string()) for name in KINDS[kind].columns}
        empty = pa.table(columns | {"count": pa.array([], pa.int64())})
        found = qv.evaluate(original, qv.Release(plan=method.plan(), tables={"items": empty}))
        assert found.measures["coverage@100"] == 0 and found.measures["distinct"] == 0


# -- another log ---------------------------------------------------------------------------------------------


def test_a_release_of_another_log_is_refused(original: qv.SearchLog, tmp_path: Path) -> None:
    made = release(queries=queries({"other": 6, "another": 4}))
    with pytest.raises(qv.InputError) as refused:
        qv.evaluate(original, made, ["coverage@1"])
    assert "none of the 2 queries in 'click-graph' is in the log" in str(refused.value)
    assert "other" not in str(refused.value).replace("another log", "")


def test_a_release_that_is_partly_unknown_is_warned_of(original: qv.SearchLog) -> None:
    found = qv.evaluate(original, release(queries=queries({"red shoes": 6, "other": 4})))
    (warning,) = found.warnings
    assert warning.startswith("1 of the 2 published queries are not in this log")
    assert found.as_dict()["warnings"] == [warning]


def test_a_log_without_times_is_compared_in_what_it_has(original: qv.SearchLog) -> None:
    rows = pa.table(
        {"user": ["1", "1", "2"], "session": ["s", "s", "t"], "query": ["red shoes", "x", "red shoes"]}
    )
    untimed = qv.read(rows)
    found = qv.evaluate(untimed, qv.publish(untimed, qv.KQuery(k=2)))
    assert found.measures["coverage@100"] == 0.5 and "coverage@100/query-pairs" not in found.measures
    assert "the log has no 'time' column" in found.left_out["query-substitution"]


def test_spark_counts_sessions_the_same(spark: Any, original: qv.SearchLog) -> None:
    made = qv.publish(original, qv.KSession(k=2))
    theirs = qv.read(original.engine.arrow(original.source), engine=spark)
    assert qv.evaluate(theirs, made, "count-difference") == qv.evaluate(original, made, "count-difference")


def test_options_that_no_measure_takes_are_refused(original: qv.SearchLog) -> None:
    made = release(queries=queries({"red shoes": 6}))
    with pytest.raises(qv.UsageError, match="no measure takes an option 'memroy'; did you mean memory"):
        qv.evaluate(original, made, memroy="1GB")
    with pytest.raises(qv.UsageError, match="none of the chosen measures takes the option 'memory'"):
        qv.evaluate(original, made, "coverage", memory="1GB")
    with pytest.raises(qv.UsageError, match="parameter 'frequent' must be an int >= 1; got 0"):
        qv.evaluate(original, made, frequent=0)


def test_one_user_and_one_query_are_enough() -> None:
    tiny = log([("x", None, 1)])
    found = qv.evaluate(tiny, release(queries=queries({"x": 1})))
    assert found.measures["coverage@100"] == 1 and found.measures["count-difference/rms"] == 0
