"""Histories as whole numbers, beside an oracle that follows the definition row by row."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.count import histories, item_kinds
from queryveil.count.contribution import Bound
from queryveil.count.histories import Histories
from queryveil.files import memory
from tests.conftest import at
from tests.threads import threads

WORDS = ["a", "b", "zebra", "äpfel", "🐈", "Z z", "b b", ""]
ROWS = st.lists(
    st.tuples(st.sampled_from(["u", "v", "ü", "w w"]), st.integers(0, 50), st.sampled_from(WORDS)),
    min_size=1,
    max_size=25,
)
SALT = b"salt"


def log(rows: list[tuple[str, int, str]], engine: Any = None) -> qv.SearchLog:
    user, time, query = zip(*rows, strict=True)
    table = pa.table({"user": user, "time": [at(one) for one in time], "query": query})
    return qv.read(table, engine=engine) if engine else qv.read(table)


def shown(found: Histories) -> list[list[str]]:
    """The texts of each history in the order of bytes, in no particular order of users."""
    texts = found.texts(np.arange(found.different))
    names = [" / ".join(row.values()) for row in texts.to_pylist()]
    return sorted(
        sorted((names[item] for item in found.items[begin:end]), key=str.encode)
        for begin, end in zip(found.starts[:-1], found.starts[1:], strict=True)
    )


def keyed_hash(text: bytes, salt: bytes) -> int:
    """The hash of a text by its definition: its length, and four bytes at a time, each times a key of its own."""
    parts = [len(text), 1, *(int.from_bytes(text[at : at + 4], "little") for at in range(0, len(text), 4))]
    digest = hashlib.shake_256(salt).digest(8 * len(parts))
    keys = [int.from_bytes(digest[8 * at : 8 * at + 8], "little") for at in range(len(parts))]
    return mixed(sum(key * part for key, part in zip(keys, parts, strict=True)))


def mixed(word: int) -> int:
    word %= 1 << 64
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        word = (word ^ word >> 33) * factor % (1 << 64)
    return word ^ word >> 33


def selection_key(user: str, item: str) -> int:
    """The key that orders a user's items: of the hashes of user and item, under keys of their own."""
    return mixed(keyed_hash(user.encode(), SALT + b"\0") ^ keyed_hash(item.encode(), SALT + b"\1"))


def expected(rows: list[tuple[str, int, str]], most: int, keep: str) -> list[list[str]]:
    """Of each user's different queries the first by the rule, then by keyed hash; in the order of bytes."""
    made = []
    for user in sorted({one for one, _, text in rows if text}, key=str.encode):
        own = [(time, text.lower()) for one, time, text in rows if one == user and text]
        first = {text: min(time for time, one in own if one == text) for _, text in own}
        times = Counter(text for _, text in set(own))

        def order(text: str, user: str = user, first: Any = first, times: Any = times) -> Any:
            rank = {"random": 0, "first": first[text], "frequent": -times[text]}[keep]
            return rank, selection_key(user, text), keyed_hash(text.encode(), SALT + b"\1")

        made.append(sorted(sorted(first, key=order)[:most], key=str.encode))
    return sorted(made)


def bound(most: int, keep: str = "random") -> Bound:
    return Bound(most=most, keep=keep, salt=SALT)


@given(rows=ROWS, most=st.integers(1, 6), keep=st.sampled_from(["random", "first", "frequent"]))
@settings(max_examples=25)
def test_histories_are_those_of_the_definition(
    rows: list[tuple[str, int, str]], most: int, keep: str
) -> None:
    if not any(text for _, _, text in rows):
        rows = [*rows, ("u", 1, "a")]
    found = histories.collect_histories(log(rows), item_kinds.kind("queries"), bound(most, keep))
    texts = [one for (one,) in (row.values() for row in found.texts(np.arange(found.different)).to_pylist())]
    assert sorted(texts) == sorted({text.lower() for _, _, text in rows if text})
    assert shown(found) == expected(rows, most, keep)


def test_repeats_count_once_and_a_user_without_items_has_no_history() -> None:
    """[C1]: a hundred rows of one query are one item; empty queries are none."""
    rows = [("u", minute, "a") for minute in range(100)] + [("v", 0, ""), ("w", 0, "b")]
    found = histories.collect_histories(log(rows), item_kinds.kind("queries"), bound(5))
    assert shown(found) == [["a"], ["b"]]


def test_items_beyond_the_bound_have_a_number_and_are_in_no_history() -> None:
    """[C2]: who has many items lends chances to at most as many as the bound allows."""
    rows = [("u", minute, f"q{minute}") for minute in range(40)] + [("v", 0, "q7")]
    found = histories.collect_histories(log(rows), item_kinds.kind("queries"), bound(3))
    assert found.different == 40 and len(found.items) == 4
    assert len(np.unique(found.items)) <= 4 and sorted(np.diff(found.starts).tolist()) == [1, 3]


def test_what_others_do_changes_no_history() -> None:
    """Neighbours differ in one history and nothing else, also where all have too many items."""
    rows = [(f"u{user}", minute, f"q{(user * 7 + minute) % 30}") for user in range(6) for minute in range(20)]
    before = histories.collect_histories(log(rows), item_kinds.kind("queries"), bound(4))
    more = [("u9", minute, f"q{minute}") for minute in range(35)]
    after = histories.collect_histories(log(rows + more), item_kinds.kind("queries"), bound(4))
    assert Counter(map(tuple, shown(after))) - Counter(map(tuple, shown(before))) == Counter(
        [one for one in map(tuple, shown(after)) if one not in map(tuple, shown(before))]
    )
    assert len(shown(after)) == len(shown(before)) + 1


@pytest.mark.parametrize("kind", ["query-pairs", "itemsets"])
def test_no_item_at_all_is_no_history(kind: str) -> None:
    found = histories.collect_histories(log([("u", 0, "a"), ("v", 0, "b")]), item_kinds.kind(kind), bound(3))
    assert found.starts.tolist() == [0] and found.items.size == 0 and found.different == 0
    assert found.texts(np.empty(0, np.int64)).num_rows == 0


@pytest.mark.parametrize("kind", ["queries", "keywords", "query-pairs"])
def test_spark_gives_the_same_histories(kind: str, spark: Any) -> None:
    rows = [(f"u{user}", minute, WORDS[(user + minute) % 7]) for user in range(5) for minute in range(6)]
    here = histories.collect_histories(log(rows), item_kinds.kind(kind), bound(3))
    there = histories.collect_histories(log(rows, spark), item_kinds.kind(kind), bound(3))
    assert here.starts.tolist() == there.starts.tolist() and here.items.tolist() == there.items.tolist()
    assert shown(here) == shown(there) and here.lengths().tolist() == there.lengths().tolist()


@given(rows=ROWS, most=st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_whole_histories_among_published_items_have_no_bound(
    rows: list[tuple[str, int, str]], most: int
) -> None:
    """Also of items that nobody keeps, or that no row has: what one user has there depends on no other user."""
    published = [
        "not in the log",
        *sorted({text.lower() for _, _, text in rows if text}, key=str.encode)[::2],
    ]
    found = histories.collect_histories(log(rows), item_kinds.kind("queries"), bound(most))
    starts, places = found.among(pa.table({"query": published}))
    shown = [
        sorted(published[place] for place in places[begin:end] if place >= 0)
        for begin, end in itertools.pairwise(starts)
    ]
    whole = expected(rows, 10**6, "random")
    assert sorted(shown) == sorted(sorted(set(own) & set(published)) for own in whole)


@pytest.mark.parametrize("kind", ["queries", "query-pairs"])
def test_items_are_found_by_their_texts_alone(kind: str) -> None:
    """Not by another form of a text, a part of an item, or a text that the log has in another column."""
    rows = [
        (f"u{user}", minute, ["Rain", "snow", "WIND"][minute]) for user in range(3) for minute in range(3)
    ]
    asked = ["wind", "Rain", "rain", "none", "", "snow"]
    table = pa.table({"query": asked})
    if kind == "query-pairs":
        table = pa.table({"query": asked, "next_query": ["snow", "snow", "snow", "wind", "rain", "wind"]})
    found = histories.collect_histories(log(rows), item_kinds.kind(kind), bound(3))
    places = found.find(table)
    known = np.flatnonzero(places >= 0)
    assert known.tolist() == ([0, 2, 5] if kind == "queries" else [2, 5])
    assert sorted(map(str, found.texts(places[known]).to_pylist())) == sorted(
        map(str, table.take(pa.array(known)).to_pylist())
    )


def test_histories_are_the_same_in_any_number_of_threads() -> None:
    rows = [(f"u{user % 9}", user, f"Q{user * user % 41}") for user in range(400)]
    made = []
    for number in (1, 3):
        with threads(number):
            found = histories.collect_histories(
                log(rows), item_kinds.kind("queries"), Bound(most=4, salt=SALT)
            )
        made.append(
            [found.starts.tolist(), found.items.tolist(), *(one.tolist() for one in found.whole or ())]
        )
    assert made[0] == made[1] and len(made[0]) == 4


def test_lengths_are_in_characters() -> None:
    found = histories.collect_histories(
        log([("u", 0, "äpfel"), ("u", 1, "🐈"), ("u", 2, "b b")]), qv.KINDS["queries"], bound(3)
    )
    texts = found.texts(np.arange(3))["query"].to_pylist()
    lengths = dict(zip(texts, found.lengths().tolist(), strict=True))
    assert lengths == {"äpfel": 5, "🐈": 1, "b b": 3}


def test_more_than_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 23)
    with pytest.raises(qv.CannotBeMet, match="users need about") as raised:
        histories.refuse_too_many(log([("u", 0, "a")]))
    assert raised.value.hint


def test_more_items_than_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "MAX_TEXTS", 2)
    with pytest.raises(qv.CannotBeMet, match="2 different items"):
        histories.collect_histories(log([("u", 0, "a"), ("u", 1, "b")]), item_kinds.kind("queries"), bound(3))
