"""What transactions have in common, and what saying only that loses.

These functions work on a handful of transactions, straight from their definitions; `clump` and `partition` have
compiled loops of their own.
"""

from __future__ import annotations

import heapq
from collections import Counter
from typing import Literal

import numpy as np
import numpy.typing as npt

from queryveil.errors import UsageError
from queryveil.mechanisms.transactions.algorithms.bags import Bags
from queryveil.mechanisms.transactions.algorithms.tree import Codes, Tree

Rule = Literal["exact", "paper"]


def lcg(tree: Tree, transactions: Bags, rule: Rule = "exact") -> Codes:
    """The least common generalisation: as long as the shortest transaction, and the most special such bag.

    `rule="paper"` follows the published Algorithm 2, which drops what is left over at a node once copies of it
    were taken, counts an item once however often it occurs, and fills up with the root.
    """
    if not len(transactions):
        raise UsageError("a least common generalisation needs at least one transaction", "give one or more")
    shortest = int(transactions.lengths.min())
    unmatched: dict[int, npt.NDArray[np.int64]] = {}
    for at, transaction in enumerate(transactions):
        for item, copies in Counter(transaction.tolist()).items():
            counts = unmatched.setdefault(item, np.zeros(len(transactions), dtype=np.int64))
            counts[at] = copies if rule == "exact" else 1
    queue = [-node for node in unmatched]  # children have higher numbers than their parents and come first
    heapq.heapify(queue)
    found: list[int] = []
    while queue:
        node = -heapq.heappop(queue)
        left = unmatched.pop(node)
        common = int(left.min())
        found += [node] * common
        passed_up = left - common if rule == "exact" else left * (common == 0)
        if node and passed_up.any():
            parent = int(tree.parents[node])
            if parent not in unmatched:
                unmatched[parent] = np.zeros_like(left)
                heapq.heappush(queue, -parent)
            unmatched[parent] += passed_up
    found += [0] * (shortest - len(found))  # nothing is missing unless something was dropped
    return np.array(sorted(found), dtype=np.int32)


def lm(tree: Tree, node: int) -> float:
    """Loss of generalising an item to this node: (leaves below it - 1)/(leaves of the tree - 1)."""
    return float(tree.lm[node])


def generalises(tree: Tree, general: Codes, special: Codes) -> bool:
    """Whether each item of `general` can stand for an item of its own, at or below it, in `special`.

    Subtrees are nested or apart, so by Hall's theorem it is enough that no subtree holds more of the former.
    """
    below = items_below(tree, special)
    return all(count <= below[node] for node, count in items_below(tree, general).items())


def items_below(tree: Tree, transaction: Codes) -> Counter[int]:
    """Items at or below each node, with multiplicity; nodes without any are left out."""
    counts: Counter[int] = Counter()
    for item in transaction.tolist():
        node = item
        while node >= 0:
            counts[node] += 1
            node = int(tree.parents[node])
    return counts


def suppressed(group: Bags, generalisation: Codes) -> int:
    """Item occurrences of the group that no item of its generalisation stands for."""
    return len(group.items) - len(group) * len(generalisation)


def ggd(tree: Tree, group: Bags, generalisation: Codes) -> float:
    """Group generalisation distortion: LM of what is published for each member, plus 1 per suppressed item."""
    generalised = len(group) * int(tree.weights[generalisation].sum())
    return generalised / tree.scale + suppressed(group, generalisation)


def ncp(tree: Tree, group: Bags, generalisation: Codes) -> float:
    """Each item charged the LM of the lowest published node at or above it, and 1 if there is none.

    Unlike GGD this does not ask how many items a published node stands for.
    """
    published = set(generalisation.tolist())
    total = 0.0
    for item in group.items.tolist():
        node = item
        while node >= 0 and node not in published:
            node = int(tree.parents[node])
        total += float(tree.lm[node]) if node >= 0 else 1.0
    return total
