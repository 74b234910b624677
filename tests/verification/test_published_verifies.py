"""What is published verifies, for every combination of settings that changes what a manifest states.

`test_verification.py` makes releases by hand, so that the verifier owes nothing to the writer; this is the other half:
the writer owes the verifier a release that it accepts.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from tests.conftest import at

ITEMS = ("keywords", "queries", "query-pairs", "clicks")
ZEALOUS: dict[str, dict[str, Any]] = {
    f"{guarantee} {neighbours} {analysis} m={m} {'+'.join(items)}": {
        "guarantee": guarantee,
        "neighbours": neighbours,
        "analysis": analysis,
        "max_items": m,
        "items": items,
    }
    for guarantee, neighbours, analysis, m, items in itertools.product(
        ("probabilistic", "approximate"),
        ("replace", "add-remove"),
        ("tight", "paper"),
        (1, 3),
        (("queries",), ITEMS),
    )
    if (guarantee, neighbours) != ("probabilistic", "add-remove")
}
GRAPH: dict[str, dict[str, Any]] = {
    f"{count} {counts} {analysis} {urls}": {
        "count_by": count,
        "counts": counts,
        "analysis": analysis,
        "urls": urls,
    }
    | ({"epsilon_counts": 2.0} if counts == "fresh" else {})
    for count, counts, analysis, urls in itertools.product(
        ("occurrences", "users"), ("reuse", "fresh"), ("tight", "paper"), ("public", "private", "clicked")
    )
}
SEMANTIC: dict[str, dict[str, Any]] = {
    "per user": {},
    "per query": {"epsilon_per": "query"},
    "capped": {"max_phrases": 2},
    "padded": {"max_phrases": 2, "pad": True},
    "padded per query": {"max_phrases": 2, "pad": True, "epsilon_per": "query"},
    "tight": {"max_phrases": 2, "tight": True, "domain": "sport"},
    "nsqc": {"criterion": "nsqc"},
    "per topic": {"domain": "per-topic", "topics": ("disease", "sport")},
    "same topic": {"criterion": "sqc2", "topics": ("disease", "sport")},
    "words": {"keep_words": "modifiers"},
}


@pytest.fixture(scope="module")
def log() -> qv.SearchLog:
    users = range(60)
    texts = ["tennis lessons", "cheap measles cure", "tennis", "boxing near me"]
    rows = [(f"u{user}", at(place), text) for user in users for place, text in enumerate(texts)]
    user, time, query = zip(*rows, strict=True)
    urls = [f"http://{text.split()[0]}.example" for text in query]
    return qv.read(pa.table({"user": user, "time": time, "query": query, "url": urls}))


def accepted(log: qv.SearchLog, method: qv.Mechanism, out: Path, *, users: int | None = None) -> bool:
    """Published, and then verified from its folder alone."""
    nothing = method.plan(users=users or 100).guarantee.kind == "none"
    release = qv.publish(log, method, users=users, out=out, i_understand=nothing)
    assert sum(release.released.values()) > 0
    assert qv.verify(out).failed == ()
    return True


# At epsilon 50 a text that all 60 users have is far above any threshold here: none is missed but with 1e-20.


@pytest.mark.parametrize("users", [None, 1_000])
@pytest.mark.parametrize("given", ZEALOUS.values(), ids=ZEALOUS)
def test_histograms(given: dict[str, Any], users: int | None, log: qv.SearchLog, tmp_path: Path) -> None:
    assert accepted(log, qv.Zealous(epsilon=50.0, delta=5e-4, **given), tmp_path / "out", users=users)


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_histograms_then_clicks(neighbours: str, log: qv.SearchLog, tmp_path: Path) -> None:
    lists = tmp_path / "results.tsv"
    lists.write_text("query\turl\ntennis\thttp://tennis.example\ntennis\thttp://other.example\n")
    given: dict[str, Any] = {"then_clicks": True, "results": str(lists), "max_clicks": 2}
    method = qv.Zealous(epsilon=50.0, delta=5e-4, guarantee="approximate", neighbours=neighbours, **given)
    assert accepted(log, method, tmp_path / "out")


@pytest.mark.parametrize("given", GRAPH.values(), ids=GRAPH)
def test_click_graphs(given: dict[str, Any], log: qv.SearchLog, tmp_path: Path) -> None:
    lists = tmp_path / "results.tsv"
    lists.write_text("query\turl\ntennis\thttp://tennis.example\n")
    clicks: dict[str, Any] = {"max_clicks": 4, "epsilon_clicks": 50.0}
    if given["urls"] == "public":
        clicks["results"] = str(lists)
    if given["urls"] == "private":
        clicks["delta_clicks"] = 4e-4
    method = qv.ClickGraph(epsilon=50.0, delta=5e-4, max_queries=4, **given, **clicks)
    assert accepted(log, method, tmp_path / "out")


@pytest.mark.parametrize("given", SEMANTIC.values(), ids=SEMANTIC)
def test_semantic_logs(given: dict[str, Any], log: qv.SearchLog, tmp_path: Path) -> None:
    assert accepted(log, qv.Semantic(epsilon=2.0, **given), tmp_path / "out")
