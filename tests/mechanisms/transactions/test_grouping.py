"""Clump and Partition against the page's example, a slow reference, and what must hold for any input."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.compiled import compiled
from queryveil.errors import CannotBeMet, InputError, UsageError
from queryveil.mechanisms.transactions.algorithms import (
    Bags,
    Grouping,
    Tree,
    clump,
    generalises,
    ggd,
    lcg,
    ncp,
    partition,
)

from . import reference
from .cases import FIVE, FOOD, food, logs, shared_logs

METHODS: dict[str, Callable[..., Grouping]] = {
    "clump": clump,
    "clump, total": partial(clump, criterion="total"),
    "clump, input": partial(clump, order="input"),
    "clump, paper": partial(clump, lcg="paper"),
    "clump, distinct": partial(clump, distinct=True),
    "clump, r = 1": partial(clump, r=1),
    "partition": partition,
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
unhurried = settings(deadline=None)  # the first example compiles
for_each_method = settings(deadline=None, max_examples=40)


def named(result: Grouping) -> list[tuple[str, ...]]:
    return [FOOD.named(items) for items in result.published]


@pytest.mark.parametrize("criterion", ["increase", "total"])
@pytest.mark.parametrize("rule", ["exact", "paper"])
def test_clump_on_the_papers_example(criterion: str, rule: str) -> None:
    found = clump(FOOD, FIVE, 2, criterion=criterion, order="input", lcg=rule)  # type: ignore[arg-type]
    assert found.groups.tolist() == [0, 0, 1, 1, 1]
    assert named(found) == [("beef", "food", "fruit"), ("chicken", "food")]
    assert found.quality.ggd == pytest.approx(46 / 7, abs=1e-12)


def test_only_the_assignment_may_have_another_order() -> None:
    """Clusters are opened with t1 and t3, as before; then t5 joins t1 (1 is lost, not 3), t4 t3, and t2 again t1."""
    found = clump(FOOD, FIVE, 2, criterion="total", order="input", lcg="paper", assigned=np.arange(5)[::-1])
    assert found.groups.tolist() == [0, 0, 1, 1, 0]
    assert named(found) == [("beef", "food"), ("chicken", "food")]
    assert found.quality.ggd == pytest.approx(8, abs=1e-12)
    usual = clump(FOOD, FIVE, 2, order="input", assigned=np.arange(5))
    assert usual.groups.tolist() == [0, 0, 1, 1, 1]
    for wrong in ([0, 1, 2, 3], [0, 1, 2, 3, 3], [1, 2, 3, 4, 5]):
        with pytest.raises(UsageError, match="every row once"):
            clump(FOOD, FIVE, 2, assigned=np.array(wrong))


def test_partition_on_the_papers_example() -> None:
    found = partition(FOOD, FIVE, 2)
    assert found.groups.tolist() == [
        found.groups[0],
        *[found.groups[1]] * 2,
        found.groups[0],
        found.groups[1],
    ]
    assert sorted(named(found)) == [("food",), ("fruit", "meat")]
    assert found.quality.ggd == pytest.approx(69 / 7, abs=1e-12)


def test_indicators_of_the_papers_example() -> None:
    quality = clump(FOOD, FIVE, 2, order="input").quality
    assert (quality.items, quality.suppressed, quality.floor_ggd) == (13, 1, 0)
    assert quality.ggd_per_item == pytest.approx(46 / 7 / 13, abs=1e-12)
    assert quality.mean_length == pytest.approx((2 * 3 + 3 * 2) / 5, abs=1e-12)
    assert quality.mean_level == pytest.approx((2 * (2 + 3 + 1) + 3 * (3 + 1)) / 12, abs=1e-12)
    assert quality.density == pytest.approx(quality.mean_length / 8, abs=1e-12)


def test_inner_items_cost_even_when_published_unchanged() -> None:
    found = clump(FOOD, food("fruit", "fruit"), 2)
    assert named(found) == [("fruit",)]
    assert found.quality.ggd == found.quality.floor_ggd == pytest.approx(4 / 7, abs=1e-12)


def test_distinct_removes_duplicates_and_suppresses_them() -> None:
    pair = food("apple apple milk", "orange banana milk")
    assert named(clump(FOOD, pair, 2)) == [("fruit", "fruit", "milk")]
    found = clump(FOOD, pair, 2, distinct=True)
    assert named(found) == [("fruit", "milk")]
    assert found.quality.suppressed == 2


def test_empty_transactions_are_left_out_and_counted() -> None:
    for method in (clump, partition):
        found = method(FOOD, food("", "apple", "apple", ""), 2)
        assert found.groups.tolist() == [-1, 0, 0, -1]
        assert found.empty == 2 and named(found) == [("apple",)]


@unhurried
@given(
    case=shared_logs(),
    k=st.integers(2, 5),
    r=st.integers(1, 4),
    criterion=st.sampled_from(["increase", "total"]),
    order=st.sampled_from(["signature", "input"]),
    rule=st.sampled_from(["exact", "paper"]),
    shared=st.booleans(),
)
def test_clump_is_its_slow_reference(
    case: tuple[Tree, Bags, np.ndarray], k: int, r: int, criterion: str, order: str, rule: str, shared: bool
) -> None:
    tree, bags, users = case
    users = users if shared else np.arange(len(bags))
    if len(np.unique(users[bags.lengths > 0])) < k:
        return
    found = clump(tree, bags, k, r, criterion, order, rule, users if shared else None)  # type: ignore[arg-type]
    expected = reference.clump(tree, bags, k, r, criterion, order, rule, users.tolist())
    assert reference.as_groups(found.groups, found.published) == expected


@unhurried
@given(case=shared_logs(), k=st.integers(2, 5), shared=st.booleans())
def test_partition_is_its_slow_reference(case: tuple[Tree, Bags, np.ndarray], k: int, shared: bool) -> None:
    tree, bags, users = case
    users = users if shared else np.arange(len(bags))
    if len(np.unique(users[bags.lengths > 0])) < k:
        return
    found = partition(tree, bags, k, users if shared else None)
    groups = {
        (tuple(rows), tuple(items)) for rows, items in reference.as_groups(found.groups, found.published)
    }
    assert groups == reference.partition(tree, bags, k, users.tolist())


@pytest.mark.parametrize("seed", range(60))
def test_larger_random_logs_agree_with_the_references(seed: int) -> None:
    generator = np.random.default_rng(seed)
    tree = Tree(np.array([-1, *(generator.integers(max(0, node - 6), node) for node in range(1, 20))]))
    bags = Bags.of([generator.integers(0, 20, generator.integers(0, 7)).tolist() for _ in range(50)])
    users = generator.integers(0, generator.integers(8, 60), 50)
    k, r = int(generator.integers(2, 5)), int(generator.integers(1, 6))
    rule = ("increase", "signature", "exact") if seed % 2 else ("total", "input", "paper")
    found = clump(tree, bags, k, r, *rule, users)  # type: ignore[arg-type]
    expected = reference.clump(tree, bags, k, r, *rule, users.tolist())
    assert reference.as_groups(found.groups, found.published) == expected
    found = partition(tree, bags, k, users)
    groups = {
        (tuple(rows), tuple(items)) for rows, items in reference.as_groups(found.groups, found.published)
    }
    assert groups == reference.partition(tree, bags, k, users.tolist())


@every_method
@for_each_method
@given(case=shared_logs(), k=st.integers(2, 6))
def test_every_group_has_k_distinct_users_or_the_request_is_refused(
    method: Callable[..., Grouping], case: tuple[Tree, Bags, np.ndarray], k: int
) -> None:
    tree, bags, users = case
    with_items = bags.lengths > 0
    if len(np.unique(users[with_items])) < k:
        with pytest.raises(CannotBeMet, match=f"k = {k} users"):
            method(tree, bags, k, users=users)
        return
    found = method(tree, bags, k, users=users)
    assert ((found.groups >= 0) == with_items).all()
    for group in range(len(found.published)):
        assert len(np.unique(users[found.groups == group])) >= k


@every_method
@for_each_method
@given(case=logs(), k=st.integers(2, 4))
def test_what_is_published_generalises_every_member(
    method: Callable[..., Grouping], case: tuple[Tree, Bags], k: int
) -> None:
    tree, bags = case
    if (bags.lengths > 0).sum() < k:
        return
    found = method(tree, bags, k)
    for group, published in enumerate(found.published):
        assert all(
            generalises(tree, published, bags[int(row)]) for row in np.flatnonzero(found.groups == group)
        )
    assert found.quality.ggd <= len(bags.items) + 1e-9  # never above generalising all to the root
    assert found.quality.floor_ggd <= found.quality.ggd + 1e-9
    members = [bags.take(np.flatnonzero(found.groups == group)) for group in range(len(found.published))]
    losses = [(ggd(tree, *pair), ncp(tree, *pair)) for pair in zip(members, found.published, strict=True)]
    assert found.quality.ggd == pytest.approx(sum(loss for loss, _ in losses), abs=1e-9)
    assert found.quality.ncp == pytest.approx(sum(loss for _, loss in losses), abs=1e-9)


@unhurried
@given(case=logs(), k=st.integers(2, 4))
def test_clump_publishes_the_least_common_generalisation_of_whole_clusters(
    case: tuple[Tree, Bags], k: int
) -> None:
    tree, bags = case
    if (bags.lengths > 0).sum() < k:
        return
    found = clump(tree, bags, k)
    sizes = np.bincount(found.groups[found.groups >= 0])
    assert len(sizes) == (bags.lengths > 0).sum() // k and sizes.min() >= k
    for group, published in enumerate(found.published):
        assert published.tolist() == lcg(tree, bags.take(np.flatnonzero(found.groups == group))).tolist()


@unhurried
@given(case=logs(), k=st.integers(2, 4))
def test_partition_publishes_no_duplicates(case: tuple[Tree, Bags], k: int) -> None:
    tree, bags = case
    if (bags.lengths > 0).sum() >= k:
        for published in partition(tree, bags, k).published:
            assert len(np.unique(published)) == len(published)


@every_method
def test_one_user_alone_cannot_fill_a_group(method: Callable[..., Grouping]) -> None:
    bags = food(*["apple milk"] * 20, "beef", "orange", "banana cheese")
    users = np.array([7] * 20 + [1, 2, 3])
    found = method(FOOD, bags, 3, users=users)
    for group in range(len(found.published)):
        assert len(set(users[found.groups == group])) >= 3


def test_a_wide_node_is_split_by_what_occurs() -> None:
    """2^5000 sets of children are possible; only those that occur are looked at."""
    tree = Tree(np.array([-1] + [0] * 5000, dtype=np.int32))
    bags = Bags.of([[1 + at // 4 * 2, 2 + at // 4 * 2] for at in range(400)])
    found = partition(tree, bags, 4)
    assert len(found.published) == 100 and found.quality.ggd == 0


def test_a_loop_whose_machine_code_cannot_be_kept_still_runs() -> None:
    code = compile("def double(x): return 2 * x", "<nowhere>", "exec").co_consts[0]
    assert compiled(FunctionType(code, {}))(4) == 8


def test_repeating_a_run_gives_the_same_groups() -> None:
    generator = np.random.default_rng(5)
    bags = Bags.of([generator.integers(0, len(FOOD), 6).tolist() for _ in range(500)])
    for method in METHODS.values():
        assert (method(FOOD, bags, 5).groups == method(FOOD, bags, 5).groups).all()


@every_method
def test_wrong_requests_are_refused(method: Callable[..., Grouping]) -> None:
    with pytest.raises(UsageError, match="'k' must be an int >= 2; got 1"):
        method(FOOD, FIVE, 1)
    with pytest.raises(CannotBeMet, match="only 5 have"):
        method(FOOD, FIVE, 6)
    with pytest.raises(CannotBeMet, match="only 1 have"):
        method(FOOD, FIVE, 2, users=np.zeros(5, dtype=np.int64))
    with pytest.raises(CannotBeMet):
        method(FOOD, food(), 2)
    with pytest.raises(InputError, match="taxonomy lacks"):
        method(FOOD, Bags.of([[1], [99]]), 2)
    with pytest.raises(InputError, match="as many users"):
        method(FOOD, FIVE, 2, users=np.zeros(4, dtype=np.int64))


@pytest.mark.parametrize("wrong", [{"r": 0}, {"criterion": "best"}, {"order": "random"}, {"lcg": "none"}])
def test_clump_names_the_wrong_parameter(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"parameter '{next(iter(wrong))}'"):
        clump(FOOD, FIVE, 2, **wrong)  # type: ignore[arg-type]
