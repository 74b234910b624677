"""Clump: groups of k transactions that lose little when published as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from queryveil.errors import UsageError
from queryveil.mechanisms.transactions.algorithms.bags import Bags
from queryveil.mechanisms.transactions.algorithms.generalisation import Rule
from queryveil.mechanisms.transactions.algorithms.grouping import Grouping, Population, grouping, population
from queryveil.mechanisms.transactions.algorithms.tree import Tree

if TYPE_CHECKING:
    from queryveil.mechanisms.transactions.algorithms import cluster_loop as loop

Criterion = Literal["increase", "total"]
Order = Literal["signature", "input", "given"]
I64 = npt.NDArray[np.int64]

SIGNATURE_LEVEL = 5


def clump(
    tree: Tree,
    bags: Bags,
    k: int,
    r: int = 10,
    criterion: Criterion = "increase",
    order: Order = "signature",
    lcg: Rule = "exact",
    users: npt.NDArray[np.integer] | None = None,
    distinct: bool = False,
    assigned: npt.NDArray[np.integer] | None = None,
) -> Grouping:
    """Cluster the transactions, longest first, and publish each as the least common generalisation of its cluster.

    A transaction goes to one of the first r clusters with fewer than k users, where the distortion rises least
    (`criterion="increase"`) or is least afterwards (`"total"`). With `users`, a user of each transaction, k counts
    distinct users. `distinct` removes duplicates from what is published. With `order="given"` transactions are taken
    as they come, the longest first or not. `assigned`, all rows once, is the order in which they are assigned to
    clusters, where it is not the one in which clusters are opened.
    """
    for name, given, known in (
        ("criterion", criterion, ("increase", "total")),
        ("order", order, ("signature", "input", "given")),
        ("lcg", lcg, ("exact", "paper")),
    ):
        if given not in known:
            raise UsageError(
                f"parameter '{name}' must be {' or '.join(known)}; got {given}", "choose another one"
            )
    if r < 1:
        raise UsageError(f"parameter 'r' must be an int >= 1; got {r}", "10 does well")
    people = population(tree, bags, k, users)
    ordered = people.rows[positions(tree, bags.take(people.rows), order)]
    then = None if assigned is None else [_filter_order(assigned, people)]
    groups, published = clusters(tree, bags, people, [ordered], k, r, criterion, lcg, then)
    if distinct:
        published = published.distinct()
    return grouping(tree, bags, k, people, groups, published)


def _filter_order(assigned: npt.NDArray[np.integer], people: Population) -> I64:
    """The order without the rows that have nothing to group."""
    if not np.array_equal(np.sort(assigned), np.arange(len(people.users))):
        raise UsageError("'assigned' must have every row once", "give a permutation of the rows")
    return np.ascontiguousarray(assigned[np.isin(assigned, people.rows)], dtype=np.int64)


def positions(tree: Tree, bags: Bags, order: Order) -> I64:
    """Longest first, equals by the sorted level-5 ancestors of their items or as they came; or all as they came."""
    lengths = bags.lengths
    if order == "given":
        return np.arange(len(bags))
    if order == "input":
        return np.argsort(-lengths, kind="stable")
    lifted = np.arange(len(tree))
    for node in np.flatnonzero(tree.depth >= SIGNATURE_LEVEL):
        lifted[node] = lifted[tree.parents[node]]
    row_of = np.repeat(np.arange(len(bags)), lengths)
    signs = lifted[bags.items]
    signs = signs[np.lexsort((signs, row_of))]
    positions = []
    for length in np.unique(lengths)[::-1]:
        rows = np.flatnonzero(lengths == length)
        columns = signs[bags.offsets[rows][:, None] + np.arange(length)]
        positions.append(rows[np.lexsort(columns.T[::-1])])
    return np.concatenate(positions)


def clusters(
    tree: Tree,
    bags: Bags,
    people: Population,
    parts: Sequence[I64],
    k: int,
    r: int,
    criterion: Criterion,
    lcg: Rule,
    assigned: Sequence[I64] | None = None,
) -> tuple[npt.NDArray[np.int32], Bags]:
    """Cluster the transactions of each part, in their order, by themselves; or in that in which they are assigned."""
    from queryveil.mechanisms.transactions.algorithms import cluster_loop as loop

    seeds = [_cluster_seeds(people, part, k) for part in parts]
    all_seeds = np.concatenate(seeds)
    work = _make_work(tree, bags, people, all_seeds, k, criterion, lcg)
    groups = np.full(len(bags), -1, dtype=np.int32)
    groups[all_seeds] = np.arange(len(all_seeds))
    loop.start(work, all_seeds)
    first, chosen = 0, []
    for part, own in zip(assigned or parts, seeds, strict=True):
        chosen.append(_fill_clusters(work, part, groups, np.arange(first, first + len(own)), r))
        first += len(own)
    full = np.concatenate(chosen)
    if lcg == "exact":
        loop.exact_copies(work, full)
    number = np.full(
        len(all_seeds) + 1, -1, dtype=np.int32
    )  # the last cell is the group of empty transactions
    number[full] = np.arange(len(full))
    return number[groups], _published_bags(work, full)


def _fill_clusters(work: loop.Work, ordered: I64, groups: npt.NDArray[np.int32], own: I64, r: int) -> I64:
    """Put a part's transactions into its own clusters; those that have k users in the end."""
    from queryveil.mechanisms.transactions.algorithms import cluster_loop as loop

    loop.fill(work, ordered[groups[ordered] < 0], groups, own[:r].copy(), int(own[-1]) + 1)
    full: I64 = own[work.clusters["present"][own] >= work.k]
    if not len(full):
        full = own[:1]  # all join the first, which then has every user
    # With shared users a cluster may lack some to the end: it is dissolved.
    left = ordered[~np.isin(groups[ordered], full)]
    groups[left] = -1
    # All clusters, unless that would take more than linear time.
    near = max(r, len(ordered) // max(len(left), 1))
    loop.put_anywhere(work, left, groups, full[-near:])
    return full


def _cluster_seeds(people: Population, ordered: I64, k: int) -> I64:
    """The first transaction of every k, for as many clusters as can have k distinct users each.

    A user can be in n clusters at most n times, so n clusters need sum over users of min(transactions, n) >= n k.
    Of each user's transactions the first n count.
    """
    owners = np.unique(people.users[ordered], return_inverse=True)[1]
    by_user = np.argsort(owners, kind="stable")
    counts = np.bincount(owners)
    rank = np.empty(len(owners), dtype=np.int64)
    rank[by_user] = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    clusters, beyond = 1, len(owners) // k + 1
    while beyond - clusters > 1:
        middle = (clusters + beyond) // 2
        enough = int(np.minimum(counts, middle).sum()) >= middle * k
        clusters, beyond = (middle, beyond) if enough else (clusters, middle)
    return np.ascontiguousarray(ordered[rank < clusters][::k][:clusters])


def _make_work(
    tree: Tree, bags: Bags, people: Population, seeds: I64, k: int, criterion: Criterion, lcg: Rule
) -> loop.Work:
    from queryveil.mechanisms.transactions.algorithms import cluster_loop as loop

    nodes = np.zeros(len(tree), dtype=loop.NODE)
    nodes["parent"], nodes["weight"] = tree.parents, tree.weights
    nodes["gain"] = tree.weights - np.where(tree.parents < 0, 0, tree.weights[tree.parents])
    seen = bags.distinct() if lcg == "paper" else bags
    rows = np.zeros(len(bags), dtype=loop.ROW)
    rows["start"], rows["seen"], rows["length"] = seen.offsets[:-1], seen.lengths, bags.lengths
    rows["user"] = people.users
    touched = np.zeros(len(tree), dtype=np.int64)
    sizes = loop.closure_sizes(seen.items, rows, nodes, touched, seeds)
    clusters = np.zeros(len(seeds), dtype=loop.CLUSTER)
    clusters["start"] = np.cumsum(sizes) - sizes
    return loop.Work(
        items=seen.items,
        rows=rows,
        nodes=nodes,
        clusters=clusters,
        cells=np.zeros(int(sizes.sum()), dtype=loop.CELL),
        people=np.zeros((len(seeds), k if people.shared else 1), dtype=np.int64),
        touched=touched,
        scale=tree.scale,
        k=k,
        by_increase=criterion == "increase",
        paper=lcg == "paper",
        shared=people.shared,
    )


def _published_bags(work: loop.Work, chosen: I64) -> Bags:
    sizes = work.clusters["size"][chosen]
    starts = np.cumsum(sizes) - sizes
    cells = work.cells[np.repeat(work.clusters["start"][chosen] - starts, sizes) + np.arange(sizes.sum())]
    lengths = np.add.reduceat(cells["copies"], starts)  # the root is always there: no size is 0
    items = np.repeat(cells["node"], cells["copies"])
    groups = np.repeat(np.arange(len(chosen)), lengths)
    return Bags(items[np.lexsort((items, groups))], np.concatenate(([0], np.cumsum(lengths))))
