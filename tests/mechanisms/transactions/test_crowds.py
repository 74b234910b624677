"""Crowds first: what k users share item for item stays as it is, and short transactions lose less than by Partition."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.mechanisms.transactions.algorithms import (
    Bags,
    Tree,
    clump,
    crowds_first,
    generalises,
    partition,
)

K = 5


def balanced(width: int, depth: int) -> Tree:
    parents, level = [-1], [0]
    for _ in range(depth):
        below: list[int] = []
        for node in level:
            below += range(len(parents), len(parents) + width)
            parents += [node] * width
        level = below
    return Tree(np.array(parents, dtype=np.int32))


TREE = balanced(6, 4)
LEAVES = np.flatnonzero(TREE.leaves_below == 1)


def shop(users: int, favourites: int, seed: int, longest: int = 3) -> Bags:
    """Users who mostly want one of a few short baskets, and now and then something of their own."""
    draw = np.random.default_rng(seed)
    baskets = [
        draw.choice(LEAVES, draw.integers(1, longest + 1), replace=False).tolist() for _ in range(favourites)
    ]
    weights = 1 / np.arange(1, favourites + 1)
    chosen = draw.choice(favourites, users, p=weights / weights.sum())
    own = draw.random(users) < 0.1
    return Bags.of(
        [
            draw.choice(LEAVES, 2, replace=False).tolist() if own[at] else baskets[chosen[at]]
            for at in range(users)
        ]
    )


def crowd_rows(bags: Bags, users: npt.NDArray[np.int64], k: int) -> dict[tuple[int, ...], list[int]]:
    found: dict[tuple[int, ...], list[int]] = {}
    for at, one in enumerate(bags):
        found.setdefault(tuple(sorted(one.tolist())), []).append(at)
    return {one: rows for one, rows in found.items() if one and len(set(users[rows].tolist())) >= k}


def test_crowds_come_out_unchanged() -> None:
    bags = shop(5_000, 200, seed=1)
    crowds = crowd_rows(bags, np.arange(len(bags)), K)
    assert sum(map(len, crowds.values())) > 0.8 * len(bags)
    changed = {}
    for name, group in (("better", crowds_first), ("paper", clump)):
        found = group(TREE, bags, K)
        shown = [tuple(found.published[int(one)].tolist()) for one in found.groups]
        changed[name] = sum(shown[row] != one for one, rows in crowds.items() for row in rows)
    assert changed["better"] == 0
    assert changed["paper"] > 100, "or the test could not fail"


@pytest.mark.parametrize(
    ("users", "favourites", "longest"), [(5_000, 200, 3), (2_000, 2_000, 2), (1_000, 5_000, 4)]
)
def test_short_transactions_lose_no_more_than_by_partition(users: int, favourites: int, longest: int) -> None:
    bags = shop(users, favourites, seed=2, longest=longest)
    better, parted, plain = (group(TREE, bags, K).quality.ggd for group in (crowds_first, partition, clump))
    assert better <= parted
    assert better <= plain


def test_long_transactions_lose_no_more_than_by_clump() -> None:
    draw = np.random.default_rng(3)
    bags = Bags.of([draw.choice(LEAVES, 21, replace=False).tolist() for _ in range(600)])
    better, parted, plain = (group(TREE, bags, K).quality.ggd for group in (crowds_first, partition, clump))
    assert better <= plain < parted


small = st.lists(st.lists(st.integers(0, 12), max_size=3), min_size=2, max_size=40)


@settings(max_examples=200)
@given(small, st.integers(2, 4), st.integers(1, 12), st.booleans())
def test_every_group_has_k_users_and_stands_for_its_members(
    rows: list[list[int]], k: int, people: int, shared: bool
) -> None:
    tree, bags = balanced(3, 2), Bags.of(rows)
    users = np.arange(len(rows)) % people if shared else np.arange(len(rows))
    if len({int(users[at]) for at, row in enumerate(rows) if row}) < k:
        return
    found = crowds_first(tree, bags, k, users=users)
    for at, row in enumerate(rows):
        group = int(found.groups[at])
        assert (group < 0) == (not row)
        if row:
            assert generalises(tree, found.published[group], bags[at])
    for group in range(len(found.published)):
        assert len(set(users[found.groups == group].tolist())) >= k


def test_few_who_are_left_borrow_from_a_crowd_that_can_spare_them() -> None:
    leaf, other = int(LEAVES[0]), int(LEAVES[-1])
    found = crowds_first(TREE, Bags.of([[leaf]] * 9 + [[other]]), 5)
    assert [tuple(one) for one in found.published] == [(leaf,), (0,)]
    assert np.bincount(found.groups).tolist() == [5, 5]
    found = crowds_first(TREE, Bags.of([[leaf]] * 8 + [[other]]), 5)
    assert np.bincount(found.groups).tolist() == [9]
