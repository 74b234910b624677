"""Similar queries, suggestions and pattern ranking: by hand, and as measures."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.measure.comparison import spearman_correlation
from tests.conftest import at
from tests.measure.graphs import EMPTY, clicks, identity, log, pairs, queries, release

CLICKS = clicks(
    {
        ("shoes", "u"): 3,
        ("shoes", "v"): 4,
        ("boots", "u"): 30,
        ("boots", "v"): 40,
        ("hats", "v"): 2,
        ("news", "w"): 9,
        ("shoes", "w"): -5,
        ("noise", "u"): 0,
    }
)


def test_similar_queries_by_hand() -> None:
    found = qv.similar_queries(qv.Graph(clicks=CLICKS), "Shoes ")
    assert found.to_pylist() == [
        {"query": "boots", "similarity": pytest.approx(1.0)},
        {"query": "hats", "similarity": pytest.approx(4 / 5)},
    ]


def test_similar_queries_are_cut_with_ties_by_text() -> None:
    graph = qv.Graph(clicks=clicks({(query, "u"): 1 for query in ("d", "b", "c", "a")}))
    assert qv.similar_queries(graph, "b", 2)["query"].to_pylist() == ["a", "c"]


def test_a_query_that_is_not_in_the_graph_has_none() -> None:
    graph = qv.Graph(clicks=CLICKS, reformulations=pairs({("a", "b"): 1}))
    assert qv.similar_queries(graph, "unknown").num_rows == 0
    assert qv.similar_queries(graph, "noise").num_rows == 0
    assert qv.suggest_queries(graph, "unknown").num_rows == 0


def test_few_clicks_can_be_left_out() -> None:
    assert qv.similar_queries(qv.Graph(clicks=CLICKS), "boots", min_clicks=3)["query"].to_pylist() == [
        "shoes"
    ]


def test_cosines_are_those_of_the_definition() -> None:
    vectors = {"a": {"u": 3, "v": 1}, "b": {"v": 2, "w": 5}, "c": {"u": 1, "v": 1, "w": 1}}
    graph = qv.Graph(clicks=clicks({(q, u): n for q, row in vectors.items() for u, n in row.items()}))

    def cosine(one: dict[str, int], other: dict[str, int]) -> float:
        inner = sum(one[u] * other.get(u, 0) for u in one)
        return inner / math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))

    for query, row in vectors.items():
        expected = {other: cosine(row, theirs) for other, theirs in vectors.items() if other != query}
        found = qv.similar_queries(graph, query)
        assert dict(
            zip(found["query"].to_pylist(), found["similarity"].to_pylist(), strict=True)
        ) == pytest.approx(expected, abs=1e-11)


def test_suggestions_by_hand() -> None:
    graph = qv.Graph(
        reformulations=pairs({("a", "x"): 3, ("a", "y"): 6, ("a", "z"): -2, ("b", "x"): 9, ("a", "v"): 3})
    )
    assert qv.suggest_queries(graph, "A", 2).to_pylist() == [
        {"suggestion": "y", "count": 6, "share": pytest.approx(0.5)},
        {"suggestion": "v", "count": 3, "share": pytest.approx(0.25)},
    ]


FEARS = {
    "fear of flying": 9,
    "fear of heights": 9,
    "fear of dogs": 12,
    "fear of ": 4,
    "fear of cats": -1,
    "dogs": 50,
}


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("fear of *", {"dogs": 12, "flying": 9, "heights": 9}),
        ("Fear  Of *", {"dogs": 12, "flying": 9, "heights": 9}),
        ("* of dogs", {"fear": 12}),
        ("fear * dogs", {"of": 12}),
        ("fear of dogs*", {}),
        ("café *", {}),
    ],
)
def test_patterns_by_hand(pattern: str, matches: dict[str, int]) -> None:
    found = qv.rank_pattern(qv.Graph(queries=queries(FEARS)), pattern)
    assert list(zip(found["match"].to_pylist(), found["count"].to_pylist(), strict=True)) == list(
        matches.items()
    )


def test_patterns_count_characters_and_not_bytes() -> None:
    graph = qv.Graph(queries=queries({"café äö münchen": 3, "cafémünchen": 2}))
    assert qv.rank_pattern(graph, "Café * München")["match"].to_pylist() == ["äö"]
    assert qv.rank_pattern(graph, "café*münchen", 1)["match"].to_pylist() == [" äö "]


@pytest.mark.parametrize("pattern", ["fear of", "", "* of *"])
def test_a_pattern_has_one_star(pattern: str) -> None:
    with pytest.raises(qv.UsageError, match="exactly one"):
        qv.rank_pattern(qv.Graph(queries=queries(FEARS)), pattern)


def test_numbers_start_at_one() -> None:
    graph = qv.Graph(queries=queries(FEARS), clicks=CLICKS, reformulations=pairs({("a", "b"): 1}))
    for call in (
        lambda: qv.rank_pattern(graph, "*", 0),
        lambda: qv.similar_queries(graph, "a", 0),
        lambda: qv.similar_queries(graph, "a", min_clicks=0),
        lambda: qv.suggest_queries(graph, "a", 0),
    ):
        with pytest.raises(qv.UsageError, match="whole number"):
            call()


def test_spearman() -> None:
    assert spearman_correlation([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert spearman_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    # Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: the textbook value with ties.
    assert spearman_correlation([1, 5, 5, 9], [1, 2, 3, 4]) == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert spearman_correlation([1], [1]) is None and spearman_correlation([1, 1], [1, 2]) is None


# -- as measures ---------------------------------------------------------------------------------------------


def test_similar_queries_measured_by_hand() -> None:
    original = log([("a", "u", 9), ("b", "u", 9), ("c", "u", 3), ("c", "v", 4), ("x", "u", 1), ("d", "v", 5)])
    # By the log: a is like b, x (both 1) before c. By the release a is like b and d.
    made = release(
        queries=queries({"a": 9, "b": 9, "d": 5}),
        clicks=clicks({("a", "u"): 9, ("b", "u"): 8, ("a", "v"): 1, ("d", "v"): 5, ("b", "v"): -1}),
    )
    found = qv.evaluate(original, made, ["similar-queries@2"]).measures
    # a: b is right, d is not; b: a is right; d: a is not (by the log d is like c only).
    assert found["similar-queries@2"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert found["similar-queries@2/among-released"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert found["similar-queries@2/answered"] == 1.0


def session_log() -> qv.SearchLog:
    steps = [("1", "a b"), ("2", "a b"), ("3", "a c"), ("4", "b c"), ("5", "a x")]
    rows = [(user, at(place), query) for user, text in steps for place, query in enumerate(text.split())]
    user, time, query = zip(*rows, strict=True)
    return qv.read(pa.table({"user": list(user), "time": list(time), "query": list(query)}))


def test_suggestions_measured_by_hand() -> None:
    # By the log: a leads to b (2), c, x; b to c. By the release: a to c and b; b to nothing.
    made = release(
        queries=queries({"a": 4, "b": 3, "c": 2}), reformulations=pairs({("a", "c"): 5, ("a", "b"): 2})
    )
    found = qv.evaluate(session_log(), made, ["suggestions@1", "suggestions@2"]).measures
    assert found["suggestions@1"] == 0.0
    assert found["suggestions@2"] == 1.0
    assert found["suggestions@2/answered"] == 0.5


def test_patterns_measured_by_hand() -> None:
    original = log(
        [("fear of a", None, 5), ("fear of b", None, 4), ("fear of c", None, 3), ("else", None, 9)]
    )
    made = release(queries=queries({"fear of b": 9, "fear of a": 2, "fear of d": 1}))
    found = qv.evaluate(
        original, made, ["pattern-ranking@1", "pattern-ranking@3"], pattern="fear of *"
    ).measures
    assert found["pattern-ranking@1"] == 0.0
    assert found["pattern-ranking@3"] == pytest.approx(2 / 3)
    assert found["pattern-ranking@3/correlation"] == pytest.approx(-1)
    assert (found["pattern-ranking@3/original"], found["pattern-ranking@3/released"]) == (3, 3)
    with pytest.raises(qv.CannotBeMet, match="no query of the log fits"):
        qv.evaluate(original, made, ["pattern-ranking"], pattern="love of *")


def test_everything_released_is_perfect_and_nothing_is_nothing() -> None:
    original = log([("a", "u", 3), ("b", "u", 2), ("b", "v", 2), ("c", "v", 1)])
    names = ["similar-queries@10", "pattern-ranking@20", "pattern-ranking@20/correlation"]
    asked = ["similar-queries", "pattern-ranking"]
    perfect = qv.evaluate(original, identity(original), asked, pattern="*").measures
    assert [perfect[name] for name in names] == pytest.approx([1, 1, 1])
    assert perfect["similar-queries@10/among-released"] == perfect["similar-queries@10/answered"] == 1
    empty = qv.evaluate(original, release(**EMPTY), asked, pattern="*").measures
    assert [empty[name] for name in names] == [None, 0, None]
    both = session_log()
    assert qv.evaluate(both, identity(both), ["suggestions"]).measures == {
        "suggestions@10": 1.0,
        "suggestions@10/among-released": 1.0,
        "suggestions@10/answered": 1.0,
    }
