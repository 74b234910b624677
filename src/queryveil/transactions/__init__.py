"""k-anonymous transactions: bags of items, published as what at least k users have in common.

Algorithms over trees coded by integers; they know no log, no engine and no randomness.
"""

from __future__ import annotations

from queryveil.transactions.bags import Bags
from queryveil.transactions.clustering import clump
from queryveil.transactions.crowds import crowds_first
from queryveil.transactions.generalisation import generalises, ggd, lcg, lm, ncp, suppressed
from queryveil.transactions.grouping import Grouping
from queryveil.transactions.partitioning import partition
from queryveil.transactions.quality import Quality
from queryveil.transactions.tree import Tree

__all__ = [
    "Bags",
    "Grouping",
    "Quality",
    "Tree",
    "clump",
    "crowds_first",
    "generalises",
    "ggd",
    "lcg",
    "lm",
    "ncp",
    "partition",
    "suppressed",
]
