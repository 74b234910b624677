"""Trees and transactions to try things on."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from queryveil.mechanisms.transactions.algorithms import Bags, Tree

FOOD = Tree.from_parents(
    {
        **dict.fromkeys(("fruit", "meat", "dairy"), "food"),
        **dict.fromkeys(("apple", "orange", "banana"), "fruit"),
        **dict.fromkeys(("chicken", "beef"), "meat"),
        **dict.fromkeys(("milk", "cheese", "butter"), "dairy"),
    }
)


def food(*transactions: str) -> Bags:
    return FOOD.bags(transaction.split() for transaction in transactions)


FIVE = food(
    "orange chicken beef", "banana beef cheese", "chicken milk butter", "apple chicken", "chicken beef"
)


@st.composite
def trees(draw: st.DrawFn, most: int = 12) -> Tree:
    size = draw(st.integers(1, most))
    return Tree(np.array([-1, *(draw(st.integers(0, node - 1)) for node in range(1, size))], dtype=np.int32))


@st.composite
def logs(
    draw: st.DrawFn, rows: tuple[int, int] = (1, 30), longest: int = 5, shortest: int = 0, most: int = 12
) -> tuple[Tree, Bags]:
    """A tree and transactions over it; items may be inner nodes and may repeat."""
    tree = draw(trees(most))
    bag = st.lists(st.integers(0, len(tree) - 1), min_size=shortest, max_size=longest)
    return tree, Bags.of(draw(st.lists(bag, min_size=rows[0], max_size=rows[1])))


@st.composite
def shared_logs(draw: st.DrawFn) -> tuple[Tree, Bags, np.ndarray]:
    """Also with a user for each transaction, some with many."""
    tree, bags = draw(logs())
    users = draw(st.lists(st.integers(0, draw(st.integers(0, 15))), min_size=len(bags), max_size=len(bags)))
    return tree, bags, np.array(users, dtype=np.int64)
