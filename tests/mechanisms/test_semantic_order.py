"""Queries of one moment: their order is chance, so that one phrase moves no other and epsilon per phrase holds."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest, chisquare

import queryveil as qv
from queryveil.mechanisms.concept_profiles.phrases import Phrases
from tests.conftest import at
from tests.semantic_worlds import food_file

__all__ = ["food_file"]

FALSE_ALARM = 1e-6
USERS = 20_000
TIMES = {"no times": None, "equal times": [1, 1, 1], "two at once": [1, 2, 2]}


def rows_of(
    queries: tuple[str, ...], times: list[int] | None, method: qv.Semantic, users: int = USERS
) -> Counter[tuple[str, ...]]:
    """How often each row of queries came out, of so many users with the same history."""
    names = np.repeat([f"u{number}" for number in range(users)], len(queries))
    columns: dict[str, Any] = {"user": names, "query": list(queries) * users}
    if times is not None:
        columns["time"] = [at(minute) for minute in times] * users
    table = qv.publish(qv.read(pa.table(columns)), method).tables["log"]
    found: dict[int, list[str]] = {}
    for user, text in zip(table["user"].to_pylist(), table["query"].to_pylist(), strict=True):
        found.setdefault(user, []).append(text)
    return Counter(map(tuple, found.values()))


def ratio_fits(one: Counter[Any], other: Counter[Any], epsilon: float) -> bool:
    """Whether no output is more than e^epsilon times as frequent in one as in the other, but for chance."""
    outputs = one.keys() | other.keys()
    most = 1 / (1 + math.exp(-epsilon))
    return all(
        binomtest(here[output], here[output] + there[output], most, alternative="greater").pvalue
        > FALSE_ALARM / (2 * len(outputs))
        for here, there in ((one, other), (other, one))
        for output in outputs
        if here[output]
    )


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("other", [("veal", "beef", "coffee"), ("apple", "veal", "coffee")])
def test_one_phrase_is_worth_epsilon_whatever_the_others_are(
    times: list[int] | None, other: tuple[str, ...], food_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorted by their texts, all three queries would move: an output that one log has often, the other hardly has."""
    method = qv.Semantic(epsilon=3, epsilon_per="query", criterion="nsqc", taxonomy=str(food_file))
    assert method.plan().guarantee.unit == "phrase"
    first = ("apple", "beef", "coffee")
    assert ratio_fits(rows_of(first, times, method), rows_of(other, times, method), epsilon=3)
    if times == [1, 2, 2] and other[0] == "veal":
        return  # of the changed query's moment there is no other
    monkeypatch.setattr(Phrases, "ordered", lambda phrases, *_: phrases)
    assert not ratio_fits(rows_of(first, times, method), rows_of(other, times, method), epsilon=3)


def test_every_order_is_as_likely(food_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method = qv.Semantic(epsilon=1e6, epsilon_per="query", criterion="nsqc", taxonomy=str(food_file))
    history = ("apple", "beef", "coffee")

    def fits() -> bool:
        found = rows_of(history, None, method, 3_000)
        return bool(
            chisquare([found[order] for order in itertools.permutations(history)]).pvalue > FALSE_ALARM
        )

    assert fits()
    monkeypatch.setattr(Phrases, "ordered", lambda phrases, *_: phrases)
    assert not fits()


def test_times_still_order_what_they_can(food_file: Path) -> None:
    method = qv.Semantic(epsilon=1e6, epsilon_per="query", criterion="nsqc", taxonomy=str(food_file))
    found = rows_of(("veal", "coffee", "apple"), [1, 2, 2], method, 200)
    # Of 600 phrases one comes out as another with 1e-5; each order stays away with 1e-60.
    assert len([one for one in found if one[0] == "veal"]) >= 2 and found.total() == 200
    assert found["veal", "coffee", "apple"] + found["veal", "apple", "coffee"] >= 198


def test_what_a_release_shows_is_in_one_order(food_file: Path) -> None:
    """Two histories that look the same in a release must look the same in each of their releases.

    One posed a query of one phrase and then one of two, the other both at once: that is no difference in shape.
    """
    method = qv.Semantic(epsilon=1, taxonomy=str(food_file))
    for times in ([1, 2], [1, 1], None):
        found = rows_of(("veal", "apple and tea"), times, method, 200)
        assert {tuple(len(text.split(", ")) for text in one) for one in found} == {(1, 2)}


@pytest.mark.parametrize("times", [[1, 2, 3], [1, 1, 1], None])
def test_topics_and_kept_words_are_in_one_order_too(times: list[int] | None, tmp_path: Path) -> None:
    file = tmp_path / "two.tsv"
    file.write_text("food\tthing\nsport\tthing\napple\tfood\nbeef\tfood\ntennis\tsport\nrowing\tsport\n")
    topics = qv.Semantic(epsilon=1, taxonomy=str(file), domain="per-topic", topics=("food", "sport"))
    found = rows_of(("apple", "beef", "tennis"), times, topics, 200)
    ate = {"food", "apple", "beef"}
    assert {tuple(text in ate for text in one) for one in found} == {(True, True, False)}
    words = qv.Semantic(epsilon=1, taxonomy=str(file), keep_words="function")
    found = rows_of(("apple for", "beef near", "tennis near"), times, words, 200)
    assert {tuple(text.split(" ")[-1] for text in one) for one in found} == {("for", "near", "near")}
