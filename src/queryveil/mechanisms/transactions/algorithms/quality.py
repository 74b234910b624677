"""How much of the transactions a grouping keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from queryveil.mechanisms.transactions.algorithms.bags import Bags
from queryveil.mechanisms.transactions.algorithms.tree import Codes, Tree


@dataclass(frozen=True)
class Quality:
    """Indicators of one grouping; empty transactions do not count in any of them."""

    items: int
    """Item occurrences of all transactions."""
    ggd: float
    """Total distortion: LM of what stands for an item, 1 for each suppressed item."""
    ggd_per_item: float
    ncp: float
    """Total of LM of the lowest published node at or above each item, 1 where there is none."""
    ncp_per_item: float
    mean_length: float
    """Items per published transaction."""
    mean_level: float
    """Level of published items, the root being 1."""
    density: float
    """Mean length over the leaves of the tree."""
    suppressed: int
    """Item occurrences that no published item stands for."""
    floor_ggd: float
    """GGD of publishing everything unchanged: items that are inner nodes already lose something."""


def quality(tree: Tree, bags: Bags, groups: Codes, published: Bags) -> Quality:
    members = np.bincount(groups[groups >= 0], minlength=len(published))
    copies = np.repeat(members, published.lengths)  # how often each published item appears
    shown = int(copies.sum())
    items, weights, scale = len(bags.items), tree.weights, tree.scale
    ggd = int((copies * weights[published.items]).sum()) / scale + (items - shown)
    ncp = _mean_ncp(tree, bags, groups, published)
    mean_length = shown / max(int(members.sum()), 1)
    levels = int((copies * (tree.depth[published.items] + 1)).sum())
    return Quality(
        items=items,
        ggd=ggd,
        ggd_per_item=ggd / max(items, 1),
        ncp=ncp,
        ncp_per_item=ncp / max(items, 1),
        mean_length=mean_length,
        mean_level=levels / max(shown, 1),
        density=mean_length / tree.leaves,
        suppressed=items - shown,
        floor_ggd=int(weights[bags.items].sum()) / scale,
    )


def _mean_ncp(tree: Tree, bags: Bags, groups: Codes, published: Bags) -> float:
    from queryveil.mechanisms.transactions.algorithms.cover_loop import covered_weight

    rows = np.argsort(groups, kind="stable")
    rows = rows[groups[rows] >= 0]
    charges = covered_weight(
        tree.parents,
        tree.weights,
        tree.scale,
        bags.items,
        bags.offsets,
        rows,
        groups,
        published.items,
        published.offsets,
    )
    return charges / tree.scale
