"""Least common generalisations and what they lose: the page's examples, and brute force on small trees."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.errors import InputError, UsageError
from queryveil.mechanisms.transactions.algorithms import (
    Bags,
    Tree,
    generalises,
    ggd,
    lcg,
    lm,
    ncp,
    suppressed,
)

from .cases import FOOD, food, logs
from .reference import stands_for


@pytest.mark.parametrize(
    ("transactions", "expected"),
    [
        (("orange beef", "apple chicken beef"), ("beef", "fruit")),
        (("orange milk", "apple cheese butter"), ("dairy", "fruit")),
        (("orange apple", "orange banana milk", "banana apple beef"), ("fruit", "fruit")),
        (("orange beef", "apple milk"), ("food", "fruit")),
        (("cheese butter", "cheese cheese"), ("cheese", "dairy")),
        (("fruit apple", "apple apple"), ("apple", "fruit")),
    ],
)
def test_examples(transactions: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert FOOD.named(lcg(FOOD, food(*transactions))) == expected


def test_losses_of_the_first_example() -> None:
    group = food("orange beef", "apple chicken beef")
    assert lm(FOOD, FOOD.names.index("fruit")) == pytest.approx(2 / 7, abs=1e-12)
    assert (lm(FOOD, 0), lm(FOOD, FOOD.names.index("apple"))) == (1, 0)
    assert ggd(FOOD, group, lcg(FOOD, group)) == pytest.approx(11 / 7, abs=1e-12)
    assert suppressed(group, lcg(FOOD, group)) == 1
    # fruit covers both fruits, nothing covers chicken
    assert ncp(FOOD, group, lcg(FOOD, group)) == pytest.approx(4 / 7 + 1, abs=1e-12)


def test_the_papers_rule_drops_what_is_left_over() -> None:
    assert FOOD.named(lcg(FOOD, food("cheese butter", "cheese cheese"), rule="paper")) == ("cheese", "food")
    assert FOOD.named(lcg(FOOD, food("cheese cheese", "cheese cheese"), rule="paper")) == ("cheese", "food")
    assert FOOD.named(lcg(FOOD, food("cheese cheese", "cheese cheese"))) == ("cheese", "cheese")


def test_with_the_papers_rule_folding_is_not_direct() -> None:
    """Its Lemma 1 fails: an orange dropped beside a banana is missing when the group turns out to share plants."""
    links = dict.fromkeys(("plant", "meat"), "food") | dict.fromkeys(("fruit", "vegetable"), "plant")
    links |= dict.fromkeys(("apple", "orange", "banana"), "fruit") | dict.fromkeys(
        ("carrot", "leek"), "vegetable"
    )
    tree = Tree.from_parents(links)
    group = tree.bags([("apple", "orange"), ("banana", "carrot"), ("carrot", "leek")])
    pair = lcg(tree, group.take(np.array([0, 1])), "paper")
    assert tree.named(pair) == ("food", "fruit")
    assert tree.named(lcg(tree, Bags.of([pair.tolist(), group[2].tolist()]), "paper")) == ("food", "plant")
    assert tree.named(lcg(tree, group, "paper")) == tree.named(lcg(tree, group)) == ("plant", "plant")


groups = logs(rows=(1, 4), longest=4, most=8)


@settings(deadline=None)
@given(groups)
def test_nothing_common_of_that_length_is_more_special(case: tuple[Tree, Bags]) -> None:
    tree, group = case
    found = lcg(tree, group).tolist()
    members = [row.tolist() for row in group]
    assert len(found) == min(len(row) for row in members)
    assert all(stands_for(tree, found, row) for row in members)
    if len(found) <= 3:
        for other in combinations_with_replacement(range(len(tree)), len(found)):
            if all(stands_for(tree, list(other), row) for row in members):
                assert stands_for(tree, list(other), found)  # so the found one is the least, and the only one


@settings(deadline=None)
@given(groups)
def test_folding_is_exact(case: tuple[Tree, Bags]) -> None:
    tree, group = case
    folded = group[0]
    for row in group:
        folded = lcg(tree, Bags.of([folded.tolist(), row.tolist()]))
    assert folded.tolist() == lcg(tree, group).tolist()


@settings(deadline=None)
@given(groups)
def test_the_papers_rule_is_common_as_long_and_never_more_special(case: tuple[Tree, Bags]) -> None:
    tree, group = case
    exact, paper = lcg(tree, group), lcg(tree, group, "paper")
    assert len(paper) == len(exact)
    assert all(generalises(tree, paper, row) for row in group)
    assert generalises(tree, paper, exact)
    assert ggd(tree, group, exact) <= ggd(tree, group, paper) + 1e-12


@settings(deadline=None)
@given(logs(rows=(2, 2), longest=4, most=8))
def test_generalises_agrees_with_trying_every_matching(case: tuple[Tree, Bags]) -> None:
    tree, pair = case
    general, special = pair
    assert generalises(tree, general, special) == stands_for(tree, general.tolist(), special.tolist())


@settings(deadline=None)
@given(groups, st.data())
def test_losses_are_between_nothing_and_all_to_the_root(case: tuple[Tree, Bags], data: st.DataObject) -> None:
    tree, group = case
    found = lcg(tree, group)
    assert 0 <= ggd(tree, group, found) <= len(group.items) + 1e-9
    shown = data.draw(st.lists(st.sampled_from(found.tolist()), unique=True)) if len(found) else []
    fewer = np.array(shown, dtype=np.int32)
    assert ncp(tree, group, found) <= ncp(tree, group, fewer) + 1e-9 <= len(group.items) + 2e-9


def test_no_transaction_has_no_generalisation() -> None:
    with pytest.raises(UsageError, match="at least one transaction"):
        lcg(FOOD, food())


def test_a_chain_has_nothing_to_lose() -> None:
    chain = Tree(np.array([-1, 0, 1]))
    assert [lm(chain, node) for node in range(3)] == [0, 0, 0]


@pytest.mark.parametrize("parents", [[], [0], [-1, -1], [-1, 2, 0], [-1, 1]])
def test_parents_come_before_children(parents: list[int]) -> None:
    with pytest.raises(InputError, match="not a tree"):
        Tree(np.array(parents, dtype=np.int32))


@pytest.mark.parametrize(
    ("links", "cause"),
    [
        ({"a": "b", "c": "d"}, "2 roots"),
        ({"a": "b", "b": "a"}, "0 roots"),
        ({"a": "b", "b": "a", "c": "d"}, "cycle"),
    ],
)
def test_what_is_not_a_tree_is_refused(links: dict[str, str], cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        Tree.from_parents(links)


def test_unknown_items_and_wrong_offsets_are_refused() -> None:
    with pytest.raises(InputError, match="taxonomy lacks"):
        food("apple stone")
    with pytest.raises(InputError, match="offsets"):
        Bags(np.array([1, 2], dtype=np.int32), np.array([0, 1]))
    with pytest.raises(InputError, match="names"):
        Tree(np.array([-1, 0]), ("only one",))
