"""Rows: nothing but what was released, and in its proportions."""

from __future__ import annotations

import dataclasses
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.synthetic.synthesis import model
from tests.synthetic.synthesis.graphs import Tables, drawn, graph, sessions

FALSE_ALARM = 1e-6
# A session goes on after any query with at most 0.9, so events so far apart share one with less than 1e-6.
FAR = 150
FAR_ROWS = 400_000
NAMES = st.sampled_from([f"q{n}" for n in range(8)])
COUNTS = st.integers(-30, 60)


@st.composite
def graphs(draw: st.DrawFn) -> Tables:
    queries = draw(st.dictionaries(NAMES, COUNTS, min_size=1))
    queries[draw(st.sampled_from(sorted(queries)))] = draw(st.integers(1, 60))
    inside = st.sampled_from(sorted(queries))
    urls = st.sampled_from([f"http://u{n}" for n in range(5)])
    clicks = st.none() | st.dictionaries(st.tuples(inside, urls), COUNTS, max_size=20)
    pairs = st.none() | st.dictionaries(st.tuples(inside, NAMES), COUNTS, max_size=20)
    return graph(queries, draw(clicks), draw(pairs))


def positive(table: pa.Table, *columns: str) -> set[tuple[str, ...]]:
    return {tuple(row[c] for c in columns) for row in table.to_pylist() if row["count"] > 0}


@settings(max_examples=100, deadline=None)
@given(graphs(), st.integers(1, 300), st.integers(1, 40), st.integers(0, 2**63 - 1))
def test_only_released_queries_urls_and_transitions(tables: Tables, rows: int, users: int, seed: int) -> None:
    users = min(rows, users)
    with tempfile.TemporaryDirectory() as folder:
        log = drawn(tables, Path(folder), rows=rows, users=users, seed=seed)
    assert log.num_rows == rows
    assert len(set(log["user"].to_pylist())) == users
    queries = positive(tables["queries"], "query")
    assert {(query,) for query in log["query"].to_pylist()} <= queries
    clicked = {
        (row["query"], row["url"])
        for row in log.select(["query", "url"]).to_pylist()
        if row["url"] is not None
    }
    assert clicked <= (positive(tables["clicks"], "query", "url") if "clicks" in tables else set())
    steps = {step for session in sessions(log) for step in pairwise(session)}
    pairs = tables.get("reformulations")
    assert steps <= (positive(pairs, "query", "next_query") if pairs is not None else set())
    rows_of_event = Counter(zip(*(log[c].to_pylist() for c in ("user", "time", "url")), strict=True))
    assert set(rows_of_event.values()) == {1}


def test_the_library_finds_no_other_query_pairs(tmp_path: Path) -> None:
    pairs = {("a", "b"): 40, ("b", "c"): 30, ("c", "a"): 20}
    made = qv.synthesize(graph({"a": 90, "b": 80, "c": 70}, None, pairs), tmp_path / "log.tsv", rows=5_000)
    log = qv.read(made.path)
    found = log.engine.arrow(qv.KINDS["query-pairs"].rows(log).select("query", "next_query").distinct())
    assert set(zip(*(found[c].to_pylist() for c in found.column_names), strict=True)) == set(pairs)
    events = log.events()
    assert len(log.engine.arrow(events.select("user", "session").distinct())) == made.sessions
    assert log.users == made.users == 161


# -- proportions ---------------------------------------------------------------------------------------------


def reformulated(share: float, *, into_one: int = 0) -> Tables:
    """Twelve queries; of each, `share` is followed by the next ones. More may lead into one than it has."""
    names = [f"q{n}" for n in range(12)]
    counts = {name: 2_000 // (n + 1) for n, name in enumerate(names)}
    pairs: dict[tuple[str, str], int] = {}
    for n, name in enumerate(names):
        for step in (1, 3):
            pairs[name, names[(n + step) % 12]] = round(counts[name] * share / 2)
        if into_one and name != "q11":
            pairs[name, "q11"] = into_one
    return graph({**counts, "never": -4}, None, pairs)


GRAPHS = {
    "no transitions": graph({"a": 500, "b": 300, "c": 3, "never": -2}),
    "transitions that fit": reformulated(0.3),
    "more transitions out than queries": reformulated(3.0),
    "more transitions in than queries": reformulated(0.2, into_one=100),
    "a closed circle": graph({"a": 50, "b": 50, "c": 100}, None, {("a", "b"): 50, ("b", "a"): 50}),
}


def p_value(tables: Tables, folder: Path) -> float:
    """Chi-square of the queries of far-apart, and so independent, events against the released shares."""
    log = drawn(tables, folder, rows=FAR_ROWS, seed=5)
    found = Counter(log["query"].to_pylist()[::FAR])
    table = tables["queries"].to_pylist()
    expected = {row["query"]: row["count"] for row in table if row["count"] > 0}
    assert found.keys() <= expected.keys()
    weights = np.array(list(expected.values()), float)
    observed = [found[query] for query in expected]
    return float(scipy.stats.chisquare(observed, weights / weights.sum() * sum(observed)).pvalue)


@pytest.mark.parametrize("name", GRAPHS)
def test_query_shares_are_those_of_the_release(name: str, tmp_path: Path) -> None:
    # One seed for good: with another, each would fail with probability 1e-6.
    assert p_value(GRAPHS[name], tmp_path) > FALSE_ALARM


@pytest.mark.parametrize("name", ["transitions that fit", "more transitions in than queries"])
def test_the_check_above_sees_sessions_that_start_by_frequency_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = model.GraphModel.from_tables(GRAPHS[name])
    broken = dataclasses.replace(right, starts=right.frequency)
    monkeypatch.setattr(model.GraphModel, "from_tables", lambda _: broken)
    assert p_value(GRAPHS[name], tmp_path) < FALSE_ALARM


def test_every_query_event_has_the_released_shares_even_the_first(tmp_path: Path) -> None:
    # "b" is only ever reached from "a", so a session that starts afresh would not start with it.
    tables = graph({"a": 100, "b": 90}, None, {("a", "b"): 90})
    firsts = 0
    for seed in range(150):
        log = drawn(tables, tmp_path / str(seed), rows=1, seed=seed)
        firsts += log["query"][0].as_py() == "b"
    assert scipy.stats.binomtest(firsts, 150, 90 / 190).pvalue > FALSE_ALARM
    assert scipy.stats.binomtest(0, 150, 90 / 190).pvalue < FALSE_ALARM


def test_transitions_happen_as_often_as_released(tmp_path: Path) -> None:
    tables = GRAPHS["transitions that fit"]
    # One user and few long sessions, so that next to no transition is cut.
    log = drawn(tables, tmp_path, rows=80_000, users=1, days=3_650, seed=2)
    events = Counter(log["query"].to_pylist())
    steps = Counter(step for session in sessions(log) for step in pairwise(session))
    counts = {row["query"]: row["count"] for row in tables["queries"].to_pylist()}
    pairs = tables["reformulations"].to_pylist()
    for row in pairs:
        share = row["count"] / counts[row["query"]]
        happened = steps[row["query"], row["next_query"]]
        limit = FALSE_ALARM / len(pairs)
        assert scipy.stats.binomtest(happened, events[row["query"]], share).pvalue > limit
    row = max(pairs, key=lambda row: row["count"])
    happened, share = steps[row["query"], row["next_query"]], row["count"] / counts[row["query"]]
    assert scipy.stats.binomtest(happened, events[row["query"]], 1.2 * share).pvalue < FALSE_ALARM


# Twenty urls without a click, whose noise adds up to -12; two with, one of them at every search.
NOISY = {("a", f"u{n}"): (-25, 12, -3, 14)[n % 4] - (2 if n == 0 else 0) for n in range(20)}
CLICKED = graph({"a": 400, "b": 100}, {**NOISY, ("a", "v"): 300, ("a", "w"): 90, ("b", "v"): 500})


def click_p_values(log: pa.Table) -> dict[tuple[str, str], float]:
    """Per (query, url) of the release: clicks among the query's events against the released share."""
    queries = {row["query"]: row["count"] for row in CLICKED["queries"].to_pylist()}
    rows = CLICKED["clicks"].to_pylist()
    events = Counter(
        query
        for _, _, query in set(zip(*(log[c].to_pylist() for c in ("user", "time", "query")), strict=True))
    )
    clicks = Counter(zip(log["query"].to_pylist(), log["url"].to_pylist(), strict=True))
    found = {}
    for row in rows:
        query, count = row["query"], max(0, row["count"])
        whole = sum(max(0, one["count"]) for one in rows if one["query"] == query)
        share = count / whole * sum(one["count"] for one in rows if one["query"] == query) / queries[query]
        happened = clicks[query, row["url"]]
        found[query, row["url"]] = scipy.stats.binomtest(happened, events[query], min(share, 1)).pvalue
    return found


def test_clicks_are_shared_as_released_and_noise_cancels_out(tmp_path: Path) -> None:
    found = click_p_values(drawn(CLICKED, tmp_path, rows=100_000, seed=4))
    assert min(found.values()) > FALSE_ALARM / len(found)


def test_the_check_above_sees_negative_counts_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "_clamp_counts", lambda query, count, size: np.maximum(count, 0.0))
    found = click_p_values(drawn(CLICKED, tmp_path, rows=100_000, seed=4))
    assert min(found.values()) < FALSE_ALARM / len(found)


def test_one_row_per_user_leaves_room_for_everyone(tmp_path: Path) -> None:
    always = graph({"a": 10}, {("a", "u"): 10, ("a", "v"): 10, ("a", "w"): 10})
    log = drawn(always, tmp_path, rows=500, users=500)
    assert len(set(log["user"].to_pylist())) == 500
    assert log["url"].null_count == 0
    many = drawn(always, tmp_path / "many", rows=3_000, users=100)
    assert len(set(many["user"].to_pylist())) == 100
    assert Counter(many["url"].to_pylist()).keys() == {"u", "v", "w"}


def test_a_suggestion_that_is_no_published_query_is_left_out(tmp_path: Path) -> None:
    log = drawn(graph({"a": 10}, None, {("a", "elsewhere"): 9, ("a", "a"): 5}), tmp_path, rows=200)
    assert set(log["query"].to_pylist()) == {"a"}
    assert all(len(session) == 1 for session in sessions(log))


def test_long_sessions_pause(tmp_path: Path) -> None:
    names = [f"q{n}" for n in range(30)]
    chain = graph(dict.fromkeys(names, 10**6), None, dict.fromkeys(pairwise(names), 10**6))
    lengths = [len(session) for session in sessions(drawn(chain, tmp_path, rows=20_000))]
    assert 15 < max(lengths) <= 20
