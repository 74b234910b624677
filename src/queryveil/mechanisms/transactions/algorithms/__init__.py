"""k-anonymous transactions: bags of items, published as what at least k users have in common.

Algorithms over trees coded by integers; they know no log, no engine and no randomness.
"""

from __future__ import annotations

from queryveil.mechanisms.transactions.algorithms.bags import Bags
from queryveil.mechanisms.transactions.algorithms.clustering import clump
from queryveil.mechanisms.transactions.algorithms.crowds import crowds_first
from queryveil.mechanisms.transactions.algorithms.generalisation import (
    generalises,
    ggd,
    lcg,
    lm,
    ncp,
    suppressed,
)
from queryveil.mechanisms.transactions.algorithms.grouping import Grouping
from queryveil.mechanisms.transactions.algorithms.partitioning import partition
from queryveil.mechanisms.transactions.algorithms.quality import Quality
from queryveil.mechanisms.transactions.algorithms.tree import Tree

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
