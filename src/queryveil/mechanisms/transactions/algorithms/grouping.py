"""What Clump and Partition give back, and what both ask of their input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from queryveil.errors import CannotBeMet, CheckFailed, InputError, UsageError
from queryveil.mechanisms.transactions.algorithms.bags import Bags
from queryveil.mechanisms.transactions.algorithms.quality import Quality, quality
from queryveil.mechanisms.transactions.algorithms.tree import Codes, Tree


@dataclass(frozen=True, eq=False)
class Grouping:
    """Every transaction of a group is published as the same generalised transaction."""

    groups: Codes
    """Group of each transaction; -1 for an empty one, which is not published."""
    published: Bags
    """One generalised transaction per group."""
    empty: int
    """Transactions that were left out because they are empty."""
    quality: Quality


@dataclass(frozen=True, eq=False)
class Population:
    """The transactions that have items, and whose they are."""

    rows: npt.NDArray[np.int64]
    users: npt.NDArray[np.int64]
    """User of each transaction, empty ones included, as numbers from 0."""
    shared: bool
    """Whether some user has several transactions."""


def population(tree: Tree, bags: Bags, k: int, users: npt.NDArray[np.integer] | None) -> Population:
    """Check the request; refuse it if fewer than k users have a transaction."""
    if k < 2:
        raise UsageError(f"parameter 'k' must be an int >= 2; got {k}", "a group of one hides nobody")
    if len(bags.items) and not 0 <= int(bags.items.min()) <= int(bags.items.max()) < len(tree):
        raise InputError("a transaction has an item that the taxonomy lacks", "drop such items")
    if users is not None and len(users) != len(bags):
        raise InputError("there are not as many users as transactions", "give one user for each transaction")
    rows = np.flatnonzero(bags.lengths)
    codes = np.arange(len(bags))
    if users is not None:
        codes = np.unique(np.asarray(users), return_inverse=True)[1]
    known = len(np.unique(codes[rows]))
    if known < k:
        raise CannotBeMet(
            f"groups of k = {k} users were asked for, but only {known} have a transaction with items",
            "lower k, or give a taxonomy that knows more of the log's words",
        )
    return Population(rows, codes, shared=known < len(rows))


def grouping(tree: Tree, bags: Bags, k: int, people: Population, groups: Codes, published: Bags) -> Grouping:
    """The result, after counting once more that every group has k distinct users."""
    pairs = np.unique(np.stack((groups[people.rows], people.users[people.rows])), axis=1)
    if (np.bincount(pairs[0], minlength=len(published)) < k).any():
        raise CheckFailed(
            f"a group has fewer than k = {k} users, so nothing is given back", "report this as a bug"
        )
    return Grouping(groups, published, len(bags) - len(people.rows), quality(tree, bags, groups, published))
