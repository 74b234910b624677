"""Spelling, classes of queries, popularity over time, and learning from one log for another: by hand."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.measure.spelling import edit_distance
from tests.conftest import at
from tests.measure.graphs import EMPTY, clicks, identity, log, pairs, queries, release

# -- spelling ------------------------------------------------------------------------------------------------

SPELT = qv.Graph(
    queries=queries(
        {"recieve": 20, "receive": 100, "hotel": 50, "hotels": 60, "cars": 40, "zzz": 4, "zz": 30}
    ),
    clicks=clicks({("receive", "u"): 60, ("recieve", "u"): 2, ("hotel", "u"): 25, ("hotels", "u"): 40}),
    reformulations=pairs(
        {
            ("recieve", "receive"): 12,
            ("recieve", "cars"): 15,  # more often, but another subject
            ("hotel", "hotels"): 30,  # often, but clicked
            ("cars", "receive"): 9,  # many letters
            ("zzz", "zz"): 4,  # made too rarely
        }
    ),
)


def test_corrections_by_hand() -> None:
    assert qv.spelling_corrections(SPELT).to_pylist() == [
        {"query": "recieve", "correction": "receive", "share": pytest.approx(0.6), "click_through": 0.1}
    ]


def test_what_is_clicked_or_rarely_followed_is_not_corrected() -> None:
    assert qv.spelling_corrections(SPELT, max_click_through=0.05).num_rows == 0
    assert qv.spelling_corrections(SPELT, min_reformulated=0.61).num_rows == 0
    both = qv.spelling_corrections(SPELT, max_click_through=0.5)["query"].to_pylist()
    assert both == ["hotel", "recieve"], "half of the searches for hotel were clicked"


@pytest.mark.parametrize(
    ("one", "other", "number"),
    [
        ("recieve", "receive", 1),
        ("kitten", "sitting", 3),
        ("a", "a", 0),
        ("", "ab", 2),
        ("abcdef", "a", 4),
        ("ca", "abc", 3),
    ],
)
def test_edits_by_hand(one: str, other: str, number: int) -> None:
    """The last is 2 if letters may be put between two that changed places, and 3 here, where they may not."""
    assert edit_distance(one, other, 3) == edit_distance(other, one, 3) == number


@pytest.mark.parametrize(
    "given", [{"max_edits": 0}, {"min_count": 0}, {"max_click_through": 1.5}, {"min_reformulated": 0}]
)
def test_wrong_limits_of_corrections_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(qv.UsageError, match=r"must be|are shares"):
        qv.spelling_corrections(SPELT, **given)


def misspelt() -> qv.SearchLog:
    """Ten people search for recieve and then for receive, which they click; five for wether, then weather."""
    rows = [
        (f"{wrong}{user}", at(minute), query, url)
        for wrong, right, users in (("recieve", "receive", 10), ("wether", "weather", 5))
        for user in range(users)
        for minute, query, url in ((0, wrong, None), (1, right, "u"))
    ]
    user, time, query, url = zip(*rows, strict=True)
    table = {"user": list(user), "time": list(time), "query": list(query)}
    return qv.read(pa.table({**table, "url": pa.array(url, pa.string())}))


def test_corrections_measured_by_hand() -> None:
    original = misspelt()
    made = release(
        queries=queries({"recieve": 9, "receive": 12, "weathr": 9, "weather": 9}),
        clicks=clicks({("receive", "u"): 11, ("weather", "u"): 9}),
        reformulations=pairs({("recieve", "receive"): 8, ("weathr", "weather"): 5}),
    )
    found = qv.evaluate(original, made, ["spelling-correction"]).measures
    # Two in the log, two in the release, one of them right.
    assert found["spelling-correction"] == found["spelling-correction/answered"] == 0.5
    assert (found["spelling-correction/original"], found["spelling-correction/released"]) == (2, 2)
    assert (
        qv.evaluate(original, identity(original), ["spelling-correction"]).measures["spelling-correction"]
        == 1
    )
    empty = qv.evaluate(original, release(**EMPTY), ["spelling-correction"]).measures
    assert (empty["spelling-correction"], empty["spelling-correction/answered"]) == (None, 0)


def test_corrections_need_all_three_tables() -> None:
    two = release(queries=queries({"a": 9}), reformulations=pairs({("a", "b"): 9}))
    with pytest.raises(qv.InputError, match="no table of clicks"):
        qv.evaluate(misspelt(), two, ["spelling-correction"])


# -- classes -------------------------------------------------------------------------------------------------

CLICKED = clicks(
    {
        ("flu", "http://www.webmd.com/flu"): 6,
        ("flu", "nih.gov"): 3,
        ("flu", "ebay.com"): 4,
        ("shoes", "https://shop.ebay.com/x"): 5,
        ("shoes", "webmd.com"): 5,
        ("news", "cnn.com"): 9,
        ("noise", "cnn.com"): -2,
    }
)
CLASSES = "health:webmd.com+nih.gov,shops:ebay.com"


def test_classes_by_hand() -> None:
    graph = qv.Graph(clicks=CLICKED)
    assert qv.classify_queries(graph, CLASSES).to_pylist() == [
        {"query": "flu", "label": "health", "share": pytest.approx(9 / 13)}
    ]
    by_domain = qv.classify_queries(graph).to_pylist()
    assert by_domain == [{"query": "news", "label": "cnn.com", "share": 1.0}]
    lower = qv.classify_queries(graph, {"shops": ["ebay.com"], "health": ["webmd.com"]}, min_share=0.4)
    assert [(one["query"], one["label"]) for one in lower.to_pylist()] == [
        ("flu", "health"),
        ("shoes", "health"),
    ]
    assert qv.classify_queries(graph, CLASSES, min_clicks=5)["label"].to_pylist() == ["health"]
    assert qv.classify_queries(qv.Graph(clicks=clicks({}))).num_rows == 0


@pytest.mark.parametrize("given", ["health", ":a.com", "a:x.com,a:y.com", "a:x.com,b:x.com", "a:"])
def test_wrong_classes_are_refused(given: str) -> None:
    with pytest.raises(qv.UsageError, match=r"classes|domain"):
        qv.classify_queries(qv.Graph(clicks=CLICKED), given)


def test_classes_measured_by_hand() -> None:
    original = log(
        [("flu", "webmd.com", 5), ("shoes", "ebay.com", 4), ("cars", "ebay.com", 2), ("news", "cnn.com", 9)]
    )
    made = release(
        queries=queries({"flu": 5, "shoes": 4, "cars": 2, "news": 9}),
        clicks=clicks({("flu", "webmd.com"): 4, ("shoes", "webmd.com"): 3, ("shoes", "ebay.com"): 1}),
    )
    found = qv.evaluate(original, made, ["query-classification"], classes=CLASSES).measures
    assert found["query-classification"] == 0.5, "flu is right, shoes are not"
    assert found["query-classification/answered"] == pytest.approx(2 / 3), "cars has no class in the release"
    assert found["query-classification/released"] == 2
    plain = qv.evaluate(original, identity(original), ["query-classification"]).measures
    assert plain["query-classification"] == plain["query-classification/answered"] == 1
    with pytest.raises(qv.CannotBeMet, match="no query of the log has a class"):
        qv.evaluate(original, made, ["query-classification"], classes="a:b.com")


# -- popularity over time ------------------------------------------------------------------------------------


def test_popularity_by_hand() -> None:
    graphs = {
        "2006-03-08": qv.Graph(queries=queries({"a": 6, "b": 2})),
        "2006-03-01": qv.Graph(queries=queries({"a": 1, "b": 3, "c": -1})),
    }
    shares = qv.query_popularity(graphs)
    assert shares.to_pylist() == [
        {"query": "a", "period": "2006-03-01", "count": 1, "share": 0.25},
        {"query": "a", "period": "2006-03-08", "count": 6, "share": 0.75},
        {"query": "b", "period": "2006-03-01", "count": 3, "share": 0.75},
        {"query": "b", "period": "2006-03-08", "count": 2, "share": 0.25},
    ]
    assert qv.trending_queries(shares, 1).to_pylist() == [
        {"query": "a", "first": 0.25, "last": 0.75, "change": pytest.approx(math.log(3))}
    ]
    assert qv.trending_queries(shares, min_count=2)["query"].to_pylist() == ["b"]


@pytest.mark.parametrize("name", ["duckdb", "spark"])
def test_popularity_of_a_log_on_both_engines(name: str, request: pytest.FixtureRequest) -> None:
    """Periods of two days from the first day on; two click rows of one search are one event."""
    engine = request.getfixturevalue("spark") if name == "spark" else "duckdb"
    minutes = [1439, 1439, 1440, 2880, 2881, 7 * 1440]
    table = pa.table(
        {
            "user": ["u"] * 6,
            "time": [at(one) for one in minutes],
            "query": ["a", "a", "b", "A", "a", ""],
            "url": ["x", "y", None, None, None, None],
        }
    )
    assert qv.log_popularity(qv.read(table, engine=engine), days=2).to_pylist() == [
        {"query": "a", "period": "2026-01-01", "count": 1, "share": 0.5},
        {"query": "a", "period": "2026-01-03", "count": 2, "share": 1.0},
        {"query": "b", "period": "2026-01-01", "count": 1, "share": 0.5},
    ]


def test_what_popularity_refuses() -> None:
    shares = qv.query_popularity({"1": qv.Graph(queries=queries({"a": 1}))})
    timeless = qv.read(pa.table({"user": ["u"], "query": ["a"]}))
    for call, error, said in (
        (lambda: qv.query_popularity({}), qv.UsageError, "no period"),
        (lambda: qv.trending_queries(shares), qv.UsageError, "one period"),
        (lambda: qv.trending_queries(shares, 0), qv.UsageError, "whole numbers"),
        (lambda: qv.log_popularity(timeless), qv.InputError, "time"),
        (lambda: qv.log_popularity(timeless, days=0), qv.UsageError, "days"),
    ):
        with pytest.raises(error, match=said):
            call()
