"""Keywords by absorbing random walk: equal to a dense solve, to plain iteration with a floor, and to hand sums."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from tests.measure.graphs import EMPTY, clicks, identity, log, release

SEED = "http://www.shoes.example/"
LEAK = 0.001

Weights = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def probabilities(weights: Weights, absorbing: set[int], **options: float) -> np.ndarray:
    """What queryveil says for a matrix of clicks, per row."""
    edges = {
        (f"q{row}", f"{SEED}{column}" if column in absorbing else f"http://u{column}"): int(
            weights[row, column]
        )
        for row, column in np.argwhere(weights)
    }
    found = qv.generate_keywords(
        qv.Graph(clicks=clicks(edges)), "shoes.example", threshold=0, min_clicks=1, **options
    )
    known = dict(zip(found["query"].to_pylist(), found["probability"].to_pylist(), strict=True))
    return np.array([known.get(f"q{row}", 0.0) for row in range(len(weights))])


def dense(weights: Weights, absorbing: set[int], leak: float) -> np.ndarray:
    """The same by one dense system over all queries and all urls."""
    rows, columns = weights.shape
    system, right = np.eye(rows + columns), np.zeros(rows + columns)
    for row in range(rows):
        if weights[row].any():
            system[row, rows:] -= (1 - leak) * weights[row] / weights[row].sum()
    for column in range(columns):
        if column in absorbing:
            right[rows + column] = 1
        elif weights[:, column].any():
            system[rows + column, :rows] -= (1 - leak) * weights[:, column] / weights[:, column].sum()
    return np.linalg.solve(system, right)[:rows]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Weights, set[int]]:
    rows, columns = draw(st.integers(1, 9)), draw(st.integers(2, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = rng.integers(1, 200, (rows, columns)) * (
        rng.random((rows, columns)) < draw(st.floats(0.2, 0.9))
    )
    weights[0, 0] = 5  # at least one click on a seed
    return weights.astype(np.float64), set(range(draw(st.integers(1, columns - 1))))


@settings(max_examples=60, deadline=None)
@given(graphs(), st.sampled_from([LEAK, 0.02, 0.3]))
def test_equal_to_a_dense_solve(graph: tuple[Weights, set[int]], leak: float) -> None:
    weights, absorbing = graph
    found = probabilities(weights, absorbing, leak=leak, floor=0)
    assert np.abs(found - dense(weights, absorbing, leak)).max() < 1e-9


def test_the_comparison_sees_a_wrong_leak_and_wrong_weights() -> None:
    weights = np.array([[30.0, 10, 0], [0, 10, 5], [0, 0, 7]])
    right = probabilities(weights, {0}, floor=0)
    assert np.abs(right - dense(weights, {0}, LEAK)).max() < 1e-9
    assert np.abs(right - dense(weights, {0}, LEAK * 1.001)).max() > 1e-9
    assert np.abs(right - dense(np.sqrt(weights), {0}, LEAK)).max() > 1e-3


def iterated(weights: Weights, absorbing: set[int], leak: float, floor: float) -> np.ndarray:
    """The definition to the letter: step by step, values below the floor set to 0 each time, until nothing changes."""
    seeds = np.isin(np.arange(weights.shape[1]), list(absorbing))
    per_query = weights / np.maximum(weights.sum(axis=1), 1)[:, None]
    per_url = (weights / np.maximum(weights.sum(axis=0), 1)).T
    of_query = np.zeros(len(weights))
    for _ in range(100_000):
        of_url = (1 - leak) * per_url @ of_query
        of_url = np.where(seeds, 1, np.where(of_url >= floor, of_url, 0))
        after = (1 - leak) * per_query @ of_url
        after = np.where(after >= floor, after, 0)
        if np.abs(after - of_query).max() < 1e-15:
            break
        of_query = after
    return after


# Roots, because what is computed from whole clicks is a fraction: it may be 0.11 itself (0.99 of a ninth), which
# rounding then puts on either side of a floor of 0.11.
FLOORS = [2**0.5 / 10_000, 2**0.5 / 100, 2**0.5 / 13, 2**0.5 / 4]


@settings(max_examples=60, deadline=None)
@given(graphs(), st.sampled_from(FLOORS))
def test_equal_to_steps_with_a_floor(graph: tuple[Weights, set[int]], floor: float) -> None:
    weights, absorbing = graph
    found = probabilities(weights, absorbing, leak=0.01, floor=floor)
    assert np.abs(found - iterated(weights, absorbing, 0.01, floor)).max() < 1e-9


def test_the_floor_cuts_at_every_step_and_not_only_at_the_end() -> None:
    # A chain away from the seed; the third query would be above the floor if the second were never cut.
    weights = np.array([[50.0, 50, 0, 0], [0, 10, 90, 0], [0, 0, 10, 90]])
    without = probabilities(weights, {0}, leak=0.01, floor=0)
    with_floor = probabilities(weights, {0}, leak=0.01, floor=0.6)
    assert (without > 0.6).sum() > (with_floor > 0).sum()
    assert np.abs(with_floor - iterated(weights, {0}, 0.01, 0.6)).max() < 1e-9


def test_by_hand() -> None:
    # P = 0.999 (3/4 + 1/4 P_u), and P_u = 0.999 P: the other url leads nowhere else.
    graph = qv.Graph(
        clicks=clicks({("shoes", SEED): 30, ("shoes", "http://other"): 10, ("none", "http://x"): 50})
    )
    found = qv.generate_keywords(graph, ["shoes.example"])
    assert found["query"].to_pylist() == ["shoes"]
    assert found["probability"][0].as_py() == pytest.approx(0.999 * 0.75 / (1 - 0.999**2 * 0.25), abs=1e-12)


def test_edges_below_ten_clicks_and_below_zero_are_pruned() -> None:
    edges = {("a", SEED): 10, ("b", SEED): 9, ("c", SEED): -40, ("a", "http://x"): -5}
    graph = qv.Graph(clicks=clicks(edges))
    found = qv.generate_keywords(graph, "shoes.example")
    assert found.to_pylist() == [{"query": "a", "probability": pytest.approx(0.999)}]
    assert qv.generate_keywords(graph, "shoes.example", min_clicks=9)["query"].to_pylist() == ["a", "b"]
    assert qv.generate_keywords(graph, "shoes.example", min_clicks=11).num_rows == 0


def test_keywords_are_above_the_threshold_and_the_likeliest_first() -> None:
    edges = {("half", SEED): 10, ("half", "http://x"): 10, ("y", "http://x"): 990, ("all", SEED): 10}
    graph = qv.Graph(clicks=clicks(edges))
    found = qv.generate_keywords(graph, "shoes.example", threshold=0)
    assert found["query"].to_pylist()[0] == "all"
    value = found["probability"][found["query"].to_pylist().index("half")].as_py()
    assert "half" not in qv.generate_keywords(graph, "shoes.example", threshold=value)["query"].to_pylist()


def test_a_long_chain_is_followed_as_far_as_it_rises_above_the_floor() -> None:
    # Many steps from the seed: after each jump the next queries rise above the floor.
    weights = np.diag(np.full(120, 100.0)) + np.diag(np.full(119, 100.0), 1)
    found = probabilities(weights, {0}, floor=1e-4)
    assert 40 < (found > 0).sum() < 120
    assert np.abs(found - iterated(weights, {0}, LEAK, 1e-4)).max() < 1e-9


# -- seeds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "inside"),
    [
        ("http://shoes.example", True),
        ("https://WWW.Shoes.Example/red?x=1", True),
        ("shop.shoes.example/boots", True),
        ("shoes.example:8080/x", True),
        ("http://me@shoes.example/", True),
        ("//shoes.example/", True),
        ("http://redshoes.example/", False),
        ("http://shoes.example.org/", False),
        ("http://other.example/shoes.example", False),
        ("http://other.example/?u=http://shoes.example", False),
    ],
)
def test_a_url_belongs_to_a_domain(url: str, inside: bool) -> None:
    edges = {("a", url): 20, ("b", "http://sure.example"): 20}
    found = qv.generate_keywords(qv.Graph(clicks=clicks(edges)), ["shoes.example", "sure.example"])
    assert ("a" in found["query"].to_pylist()) is inside


def test_seeds_come_as_list_text_or_file(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("# shoes\nhttp://www.a.example/  \n\nB.example # two\n")
    graph = qv.Graph(
        clicks=clicks({("one", "www.a.example/x"): 20, ("two", "b.example"): 20, ("no", "c"): 20})
    )
    for seeds in (["www.a.example", "b.example"], "www.a.example, b.example", file, str(file)):
        assert qv.generate_keywords(graph, seeds)["query"].to_pylist() == ["one", "two"]
    with pytest.raises(qv.UsageError, match="no seed domain"):
        qv.generate_keywords(graph, " , ")
    with pytest.raises(qv.InputError, match="seed domains cannot be read"):
        qv.generate_keywords(graph, tmp_path / "none.txt")


@pytest.mark.parametrize(
    "wrong",
    [{"leak": 0}, {"leak": 1}, {"floor": -1}, {"threshold": 1}, {"min_clicks": 0}, {"leak": float("nan")}],
)
def test_parameters_have_limits(wrong: dict[str, float]) -> None:
    graph = qv.Graph(clicks=clicks({("a", SEED): 20}))
    with pytest.raises(qv.UsageError, match=f"parameter '{next(iter(wrong))}'"):
        qv.generate_keywords(graph, "shoes.example", **wrong)  # type: ignore[arg-type]


def test_seeds_that_match_nothing_are_said() -> None:
    graph = qv.Graph(clicks=clicks({("a", SEED): 20}))
    with pytest.raises(qv.CannotBeMet, match="no url of the graph is in the seed domains"):
        qv.generate_keywords(graph, "boots.example")
    with pytest.raises(qv.InputError, match="no table of clicks"):
        qv.generate_keywords(qv.Graph(queries=pa.table({"query": ["a"], "count": [1]})), "boots.example")


# -- measure -------------------------------------------------------------------------------------------------

LOG = [("shoes", SEED, 20), ("boots", SEED, 12), ("rare", SEED, 9), ("news", "http://x", 30)]


def test_the_measure_compares_both_graphs() -> None:
    original = log(LOG)
    noisy = release(clicks=clicks({("shoes", SEED): 18, ("news", SEED): 11, ("boots", SEED): -2}))
    found = qv.evaluate(original, noisy, ["keyword-generation@0.9"], seeds="shoes.example").measures
    assert found == {
        "keyword-generation@0.9/original": 2,
        "keyword-generation@0.9/released": 2,
        "keyword-generation@0.9": 0.5,
    }


def test_everything_released_is_perfect_and_nothing_is_nothing() -> None:
    original = log(LOG)
    names = [f"keyword-generation@{p}" for p in ("0.5", "0.7", "0.9", "0.95")]
    perfect = qv.evaluate(
        original, identity(original), ["keyword-generation"], seeds="shoes.example"
    ).measures
    assert [perfect[name] for name in names] == [1.0] * 4
    assert [perfect[f"{name}/released"] for name in names] == [2] * 4
    empty = qv.evaluate(original, release(**EMPTY), ["keyword-generation"], seeds="shoes.example").measures
    assert [empty[name] for name in names] == [None] * 4
    assert [empty[f"{name}/released"] for name in names] == [0] * 4


def test_seeds_outside_the_log_are_refused() -> None:
    original = log(LOG)
    with pytest.raises(qv.CannotBeMet, match="no url of the log"):
        qv.evaluate(original, identity(original), ["keyword-generation"], seeds="hats.example")
