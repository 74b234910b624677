"""Queries with one meaning: the form of their group by hand, and the same on every engine."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as tried
from hypothesis import strategies as st

import queryveil as qv
from queryveil.language.groups import NO_PLURALS, group_form, group_queries
from queryveil.reading.engine.base import Engine
from tests.conftest import at

BY_HAND = {
    "Cheap  Hotels": "cheap hotel",
    "hotel, cheap": "cheap hotel",
    "hotels cheap hotel": "cheap hotel",
    "www.ebay.com": "ebay",
    "ebay.com": "ebay",
    "ebay": "ebay",
    "parties": "party",
    "movies": "movie",
    "boxes churches dresses": "box church dress",
    "bus gas news christmas": "bus christmas gas news",
    "mother's day": "day mother",
    "???": "???",
    "": "",
    "Zürich Hotels": "hotel zürich",
    "日本 hotels": "hotel 日本",
    "new york": "new york",
}
ODD = [
    "www.",
    ".com",
    "www.com",
    "ies",
    "ss",
    "s",
    "a's's",
    "x\u2028hotels",
    "cafés",
    "-- --",
    "b a b",
    "ties",
]


@pytest.mark.parametrize("query", BY_HAND)
def test_forms_by_hand(query: str) -> None:
    assert group_form(query) == BY_HAND[query]


def test_words_that_are_no_plurals_stay() -> None:
    assert all(group_form(word) == word for word in NO_PLURALS)


@tried(max_examples=50)
@given(st.text(max_size=20))
def test_a_form_depends_on_the_text_alone_and_not_on_the_order_of_words(text: str) -> None:
    words = qv.keywords(qv.normalise(text))
    if words:
        assert group_form(" ".join(words)) == group_form(" ".join(reversed(words)))


def _forms(engine: str | Engine, texts: list[str]) -> list[str]:
    table = pa.table({"user": [f"u{at}" for at in range(len(texts))], "query": texts})
    log = group_queries(qv.read(table, engine=engine))
    found = log.engine.arrow(log.table.select("user", "query")).sort_by("user")
    places = {f"u{at}": text for at, text in enumerate(texts)}
    made = dict(zip(found["user"].to_pylist(), found["query"].to_pylist(), strict=True))
    return [made[user] for user in places]


@pytest.mark.parametrize("name", ["duckdb", "spark"])
def test_engines_agree_with_the_definition(name: str, request: pytest.FixtureRequest) -> None:
    engine = request.getfixturevalue("spark") if name == "spark" else "duckdb"
    texts = [*BY_HAND, *ODD]
    assert _forms(engine, texts) == [group_form(text) for text in texts]


def test_rows_clicks_and_sessions_stay() -> None:
    """Two queries of one group are one query: no pair is made of them."""
    table = pa.table(
        {
            "user": ["a", "a", "a"],
            "time": [at(0), at(1), at(2)],
            "query": ["hotels", "hotel", "cars"],
            "url": ["u", None, "v"],
        }
    )
    log = group_queries(qv.read(table))
    graph = qv.Graph.of_log(log)
    assert graph.table("queries").to_pylist() == [
        {"query": "hotel", "count": 2},
        {"query": "car", "count": 1},
    ]
    assert graph.table("reformulations").to_pylist() == [{"query": "hotel", "next_query": "car", "count": 1}]
    assert graph.table("clicks").num_rows == 2
    assert (log.rows, log.users) == (3, 1)
