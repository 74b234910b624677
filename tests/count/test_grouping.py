"""Rows become histories: beside an oracle that follows the definition, and the same in any number of threads."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil import compiled
from queryveil.count import grouping
from queryveil.count.grouping import Grouped
from tests.threads import threads

USERS = 7
ROWS = st.lists(st.tuples(st.integers(0, USERS - 1), st.integers(-1, 40)), max_size=300)


def grouped(rows: list[tuple[int, int]]) -> Grouped:
    people, items = (np.array([row[at] for row in rows], np.int32) for at in (0, 1))
    return grouping.grouped(people, items, USERS)


def shown(who: np.ndarray, starts: np.ndarray, items: np.ndarray) -> dict[int, list[int]]:
    assert len(starts) == len(who) + 1 and starts[0] == 0 and starts[-1] == len(items)
    return {
        int(user): items[begin:end].tolist()
        for user, begin, end in zip(who, starts, starts[1:], strict=False)
    }


def expected(rows: list[tuple[int, int]]) -> dict[int, list[int]]:
    """Each user's items once, in order; who has none has no history."""
    made: dict[int, set[int]] = defaultdict(set)
    for user, item in rows:
        if item >= 0:
            made[user].add(item)
    return {user: sorted(made[user]) for user in sorted(made)}


@given(rows=ROWS, number=st.sampled_from([1, 2, 3]))
@settings(max_examples=60, deadline=None)
def test_histories_are_those_of_the_definition(rows: list[tuple[int, int]], number: int) -> None:
    with threads(number):
        assert shown(*grouped(rows)) == expected(rows)


@pytest.mark.parametrize("order", ["rising", "falling", "mixed"])
def test_users_with_very_many_rows_are_sorted_too(order: str) -> None:
    """Beyond what is sorted one by one, where two halves of different length are merged."""
    items = np.arange(5_001, dtype=np.int32) % 1_777
    items = {
        "rising": np.sort(items),
        "falling": np.sort(items)[::-1].copy(),
        "mixed": np.random.default_rng(5).permutation(items),
    }[order]
    found = grouping.grouped(np.zeros(len(items), np.int32), items, 1)
    assert found.items.tolist() == list(range(1_777)) and found.starts.tolist() == [0, 1_777]


@given(rows=ROWS, most=st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_the_bound_is_the_same_in_any_number_of_threads(rows: list[tuple[int, int]], most: int) -> None:
    draw = np.random.default_rng(3)
    hashes = [draw.integers(0, 2**63, size, np.int64).astype(np.uint64) for size in (USERS, 41)]
    found = grouped(rows)
    kept = []
    for number in (1, 3):
        with threads(number):
            kept.append(grouping.bounded(found, most, hashes[0][found.who], hashes[1]))
    (starts, items), (again, more) = kept
    assert starts.tolist() == again.tolist() and items.tolist() == more.tolist()
    whole, left = shown(*found), shown(found.who, starts, items)
    for user, own in whole.items():
        assert set(left[user]) <= set(own) and left[user] == sorted(left[user])
        assert len(left[user]) == min(most, len(own))


def test_work_is_divided_among_no_more_threads_than_it_is_worth() -> None:
    assert compiled.shares(0) == [(0, 0)] and compiled.shares(100) == [(0, 100)]
    with threads(3):
        assert compiled.shares(10) == [(0, 3), (3, 6), (6, 10)]
        assert compiled.shares(2) == [(0, 1), (1, 2)]
    assert 1 <= compiled.threads() <= 4


def test_what_fails_in_a_thread_fails() -> None:
    def loop(begin: int, end: int) -> None:
        if begin:
            raise ValueError("in a thread")

    with pytest.raises(ValueError, match="in a thread"):
        compiled.side_by_side(loop, [(0, 1), (1, 2)])
