"""Partition: the top-down peer of Clump, after He and Naughton."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.mechanisms.transactions.algorithms.bags import Bags
from queryveil.mechanisms.transactions.algorithms.grouping import Grouping, grouping, population
from queryveil.mechanisms.transactions.algorithms.tree import Tree


def partition(tree: Tree, bags: Bags, k: int, users: npt.NDArray[np.integer] | None = None) -> Grouping:
    """Start with everything as the root; drill down while each part keeps k distinct users.

    What is published has no duplicates: each node stands for one item or many.
    """
    from queryveil.mechanisms.transactions.algorithms import partition_loop as loop

    people = population(tree, bags, k, users)
    nodes = np.zeros(len(tree), dtype=loop.NODE)
    nodes["parent"], nodes["depth"], nodes["weight"] = tree.parents, tree.depth, tree.weights
    items = np.zeros(len(bags.items), dtype=loop.ITEM)
    items["item"] = bags.items
    count = len(people.rows)
    positions = np.zeros(count + 1, dtype=loop.POSITION)
    positions["row"][:-1] = people.rows[np.argsort(people.users[people.rows], kind="stable")]
    work = loop.Work(
        k=k,
        nodes=nodes,
        items=items,
        offsets=bags.offsets,
        users=people.users,
        positions=positions,
        keys=np.zeros(count, dtype=loop.KEY),
        table=np.zeros(1 << (2 * count).bit_length(), dtype=np.int64),
        children=np.zeros(len(items), dtype=np.int64),
        in_left=np.zeros(int(people.users.max()) + 1, dtype=np.int64),
        cut=np.zeros(int(bags.lengths.max()), dtype=loop.CUT),
        waiting=np.zeros(count, dtype=loop.PARTITION),
        cuts=np.zeros(len(items), dtype=loop.CUT),
    )
    loop.start(work)
    groups = np.full(len(bags), -1, dtype=np.int32)
    published, ends = np.zeros(len(items), dtype=np.int32), np.zeros(count, dtype=np.int64)
    found = loop.drill_all(work, groups, published, ends)
    offsets = np.concatenate(([0], ends[:found]))
    shown = published[: offsets[-1]]
    shown = shown[np.lexsort((shown, np.repeat(np.arange(found), np.diff(offsets))))]
    return grouping(tree, bags, k, people, groups, Bags(shown, offsets))
