"""Clump with crowds first: what k users share item for item stays as it is, and the rest is grouped in two ways.

Clump compares a transaction with a few clusters and does well where transactions are long. Partition looks at all of
them from the top of the taxonomy and does well where they are short. So the rest is clustered twice, as a whole and
inside the groups of Partition, and the grouping that loses less is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from queryveil.mechanisms.transactions.algorithms.bags import Bags
from queryveil.mechanisms.transactions.algorithms.clustering import clump, clusters, positions
from queryveil.mechanisms.transactions.algorithms.grouping import Grouping, grouping, population
from queryveil.mechanisms.transactions.algorithms.partitioning import partition
from queryveil.mechanisms.transactions.algorithms.tree import Codes, Tree

I64 = npt.NDArray[np.int64]


def crowds_first(
    tree: Tree,
    bags: Bags,
    k: int,
    r: int = 10,
    users: npt.NDArray[np.integer] | None = None,
    distinct: bool = False,
    **rules: Any,
) -> Grouping:
    """Group equal transactions of k users or more; the others by Clump, or by Clump inside Partition's groups.

    `rules` are those of `clump`. If fewer than k users are left, the largest crowd lends them members that it can
    spare, or the smallest one is dissolved.
    """
    people = population(tree, bags, k, users)
    kinds = _equal_kinds(bags)
    crowd = _form_crowds(kinds, people.users, people.rows, k)
    groups = np.full(len(bags), -1, dtype=np.int32)
    rest = np.flatnonzero((crowd < 0) & (bags.lengths > 0))
    known, firsts, groups_of_crowds = np.unique(crowd, return_index=True, return_inverse=True)
    shift = int(known[0] < 0)
    groups[:] = groups_of_crowds - shift
    published = [bags[int(row)] for row in firsts[shift:]]
    if len(rest):
        found = _best_grouping(tree, bags.take(rest), k, r, people.users[rest], rules)
        groups[rest] = found.groups + len(published)
        published += list(found.published)
    groups[bags.lengths == 0] = -1
    shown = Bags.of([np.sort(one).tolist() for one in published])
    return grouping(tree, bags, k, people, groups, shown.distinct() if distinct else shown)


def _equal_kinds(bags: Bags) -> I64:
    """Equal transactions have equal numbers, by first appearance."""
    owners = np.repeat(np.arange(len(bags)), bags.lengths)
    items = bags.items[np.lexsort((bags.items, owners))]
    known: dict[bytes, int] = {}
    ends = bags.offsets.tolist()
    texts = (items[start:end].tobytes() for start, end in pairwise(ends))
    return np.fromiter((known.setdefault(text, len(known)) for text in texts), np.int64, len(bags))


def _form_crowds(kinds: I64, users: I64, rows: I64, k: int) -> I64:
    """The crowd of each transaction, or -1; so that of the others none or k users and more are left."""
    pairs = np.unique(np.stack((kinds[rows], users[rows])), axis=1)
    size = np.bincount(pairs[0], minlength=int(kinds.max()) + 1)
    crowd = np.full(len(kinds), -1, dtype=np.int64)
    crowd[rows] = np.where(size[kinds[rows]] >= k, kinds[rows], -1)
    left = np.unique(users[rows[crowd[rows] < 0]])
    if not 0 < len(left) < k:
        return crowd
    # Few are left: they need as many others as make them k.
    needed = k - len(left)
    largest = int(np.argmax(np.where(size >= k, size, 0)))
    able = np.setdiff1d(pairs[1][pairs[0] == largest], left)
    if size[largest] - needed >= k and len(able) >= needed:
        crowd[(kinds == largest) & np.isin(users, able[:needed])] = -1
        return crowd
    while 0 < len(left) < k:
        smallest = int(
            np.argmin(np.where(np.isin(np.arange(len(size)), crowd), size, np.iinfo(np.int64).max))
        )
        crowd[crowd == smallest] = -1
        left = np.unique(users[rows[crowd[rows] < 0]])
    return crowd


def _best_grouping(tree: Tree, bags: Bags, k: int, r: int, users: I64, rules: dict[str, Any]) -> Grouping:
    whole = clump(tree, bags, k, r, users=users, **rules)
    parted = partition(tree, bags, k, users=users)
    by_group = np.argsort(parted.groups, kind="stable")
    ends = np.cumsum(np.bincount(parted.groups, minlength=len(parted.published)))[:-1]
    inside = _clump_parts(tree, bags, k, r, users, np.split(by_group, ends), rules)
    return min((whole, inside), key=lambda one: one.quality.ggd)


def _clump_parts(
    tree: Tree, bags: Bags, k: int, r: int, users: I64, parts: Sequence[I64], rules: dict[str, Any]
) -> Grouping:
    """Clump within each part, all of which have k users."""
    people = population(tree, bags, k, users)
    rank = np.empty(len(bags), dtype=np.int64)
    order = positions(tree, bags, rules.get("order", "signature"))
    rank[order] = np.arange(len(order))
    ordered = [part[np.argsort(rank[part])] for part in parts]
    groups: Codes
    groups, published = clusters(
        tree, bags, people, ordered, k, r, rules.get("criterion", "increase"), rules.get("lcg", "exact")
    )
    return grouping(tree, bags, k, people, groups, published)
