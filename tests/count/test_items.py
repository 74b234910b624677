"""What is counted: sessions, query events and the four item kinds, on a log small enough to do by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

import queryveil as qv
from tests.conftest import at


def pairs(log: qv.SearchLog, kind: str) -> set[tuple[str, ...]]:
    columns = ("user", *qv.KINDS[kind].columns)
    found = log.engine.arrow(qv.KINDS[kind].occurrences(log).select(*columns).distinct())
    return {tuple(row[column] for column in columns) for row in found.to_pylist()}


def test_the_four_kinds(tiny: pa.Table) -> None:
    log = qv.read(tiny)
    assert pairs(log, "queries") == {
        ("a", "new york"),
        ("a", "new york hotels!"),
        ("a", "café münchen"),
        ("b", "new york"),
        ("b", "new york hotels"),
    }
    assert ("a", "hotels") in pairs(log, "keywords") and ("a", "münchen") in pairs(log, "keywords")
    assert pairs(log, "query-pairs") == {
        ("a", "new york", "new york hotels!"),
        ("b", "new york", "new york hotels"),
    }
    assert pairs(log, "clicks") == {("a", "new york", "u1"), ("b", "new york hotels", "u2")}
    assert log.users == 3, "someone with only empty queries is a user too"


def session_pairs(
    times: list[float], queries: list[str], **columns: list[str | None]
) -> set[tuple[str, ...]]:
    table = pa.table(
        {"user": ["a"] * len(times), "time": [at(one) for one in times], "query": queries}
        | {name: pa.array(values, pa.string()) for name, values in columns.items()}
    )
    return {(first, second) for _, first, second in pairs(qv.read(table), "query-pairs")}


def test_a_gap_above_thirty_minutes_cuts_and_thirty_does_not() -> None:
    assert session_pairs([0, 30], ["x", "y"]) == {("x", "y")}
    assert session_pairs([0, 30.02], ["x", "y"]) == set()


def test_repeats_are_no_pair_but_do_not_hide_one() -> None:
    assert session_pairs([0, 1, 2], ["x", "x", "y"]) == {("x", "y")}


def test_an_empty_query_keeps_a_session_alive() -> None:
    assert session_pairs([0, 20, 45], ["x", "", "y"]) == {("x", "y")}


def test_several_clicks_of_one_query_are_one_event() -> None:
    assert session_pairs([0, 0, 1], ["x", "x", "y"], url=["u", "v", None]) == {("x", "y")}


def test_ties_in_time_go_by_query_and_stay_in_their_session() -> None:
    assert session_pairs([0, 60, 60, 61], ["w", "y", "x", "z"]) == {("x", "y"), ("y", "z")}


def test_a_session_column_wins() -> None:
    assert session_pairs([0, 90, 91], ["x", "y", "z"], session=["1", "1", "2"]) == {("x", "y")}


def test_rows_without_a_session_are_cut_by_the_gap() -> None:
    assert session_pairs([0, 1, 2, 3], ["x", "y", "v", "w"], session=["1", "1", None, None]) == {
        ("x", "y"),
        ("v", "w"),
    }


def test_a_log_without_urls_has_no_clicks() -> None:
    log = qv.read(pa.table({"user": ["a"], "query": ["x"]}))
    with pytest.raises(qv.InputError, match="needs a 'url' column"):
        qv.KINDS["clicks"].occurrences(log)
    with pytest.raises(qv.InputError, match="needs a 'time' column"):
        qv.KINDS["query-pairs"].occurrences(log)
