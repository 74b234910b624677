"""Clump and Partition in plain Python, slow and written from the specification, to hold the compiled loops to."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np

from queryveil.mechanisms.transactions.algorithms import Bags, Tree


def ancestors(tree: Tree, node: int) -> list[int]:
    """From the node up to the root."""
    found = [node]
    while tree.parents[found[-1]] >= 0:
        found.append(int(tree.parents[found[-1]]))
    return found


def stands_for(tree: Tree, general: list[int], special: list[int]) -> bool:
    """By trying every way to give each general item a special one of its own."""
    return any(
        all(item in ancestors(tree, other) for item, other in zip(general, chosen, strict=True))
        for chosen in permutations(special, len(general))
    )


def common(tree: Tree, counts: list[Counter[int]], shortest: int, drop: bool) -> list[int]:
    """Bottom-up; with `drop`, what is left at a node where copies were taken is not passed up."""
    left = [Counter(count) for count in counts]
    found: list[int] = []
    for node in range(len(tree) - 1, -1, -1):
        taken = min(count[node] for count in left)
        found += [node] * taken
        if node and not (drop and taken):
            for count in left:
                count[int(tree.parents[node])] += count[node] - taken
    return sorted(found + [0] * (shortest - len(found)))


class Cluster:
    def __init__(self, tree: Tree, rows: list[list[int]], paper: bool, row: int, user: int) -> None:
        self.tree, self.rows, self.paper = tree, rows, paper
        self.members, self.users = [row], {user}
        self.folded = Counter(set(rows[row])) if paper else Counter(rows[row])

    def generalised(self, members: list[int]) -> list[int]:
        """All members at once for the exact rule; the paper folds one at a time, an item counting once."""
        shortest = min(len(self.rows[row]) for row in members)
        if not self.paper:
            return common(self.tree, [Counter(self.rows[row]) for row in members], shortest, drop=False)
        if members == self.members:
            return sorted(self.folded.elements()) + [0] * (shortest - self.folded.total())
        added = Counter(set(self.rows[members[-1]]))
        return common(self.tree, [self.folded, added], shortest, drop=True)

    def loss(self, members: list[int]) -> int:
        """GGD times the number of leaves less one."""
        published = self.generalised(members)
        weights = sum(int(self.tree.weights[node]) for node in published)
        suppressed = sum(len(self.rows[row]) - len(published) for row in members)
        return len(members) * weights + suppressed * self.tree.scale

    def cost(self, row: int, criterion: str) -> int:
        with_row = self.loss([*self.members, row])
        return with_row - self.loss(self.members) if criterion == "increase" else with_row

    def join(self, row: int, user: int) -> None:
        self.folded = Counter(self.generalised([*self.members, row]))
        self.members.append(row)
        self.users.add(user)


def order_of(tree: Tree, rows: list[list[int]], order: str) -> list[int]:
    def signature(row: int) -> list[int]:
        if order == "input":
            return []
        return sorted(next(a for a in ancestors(tree, item) if tree.depth[a] <= 4) for item in rows[row])

    filled = [row for row in range(len(rows)) if rows[row]]
    return sorted(filled, key=lambda row: (-len(rows[row]), signature(row)))


def clump(
    tree: Tree, bags: Bags, k: int, r: int, criterion: str, order: str, lcg: str, users: list[int]
) -> list[tuple[list[int], list[int]]]:
    """Members and generalisation of each group."""
    rows = [row.tolist() for row in bags]
    ordered = order_of(tree, rows, order)
    amounts = Counter(users[row] for row in ordered)
    n = max(n for n in range(1, len(ordered) + 1) if sum(min(a, n) for a in amounts.values()) >= n * k)
    seen: Counter[int] = Counter()
    eligible = []
    for row in ordered:
        seen[users[row]] += 1
        if seen[users[row]] <= n:
            eligible.append(row)
    seeds = [eligible[at * k] for at in range(n)]
    clusters = [Cluster(tree, rows, lcg == "paper", row, users[row]) for row in seeds]
    left = []
    for row in ordered:
        if row in seeds:
            continue
        window = [c for c in clusters if len(c.users) < k][:r]
        elsewhere = [c for c in window if users[row] not in c.users]
        if not window:
            left.append(row)
            continue
        min(elsewhere or window, key=lambda c: c.cost(row, criterion)).join(row, users[row])
    full = [c for c in clusters if len(c.users) >= k] or clusters[:1]
    left += [row for c in clusters if c not in full for row in c.members]
    left.sort(key=ordered.index)
    near = full[-max(r, len(ordered) // max(len(left), 1)) :]
    for row in left:
        min(near, key=lambda c: c.cost(row, criterion)).join(row, users[row])
    return [(sorted(c.members), c.generalised(c.members)) for c in full]


def partition(
    tree: Tree, bags: Bags, k: int, users: list[int]
) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    rows = {at: row.tolist() for at, row in enumerate(bags) if len(row)}
    by_user = sorted(rows, key=lambda row: (users[row], row))
    found = set()
    waiting = [(by_user, {0: "open"})]
    while waiting:
        members, cut = waiting.pop()
        parts = drilled(tree, rows, members, cut, k, users)
        if parts:
            waiting += parts
        else:
            found.add((tuple(sorted(members)), tuple(sorted(cut))))
    return found


def child_towards(tree: Tree, item: int, node: int) -> int | None:
    """The node's child at or above the item; the node for itself; None for an item elsewhere."""
    path = ancestors(tree, item)
    if node not in path:
        return None
    at = path.index(node)
    return path[at - 1] if at else node


def people(rows: list[int], users: list[int]) -> int:
    return len({users[row] for row in rows})


def drilled(
    tree: Tree, rows: dict[int, list[int]], members: list[int], cut: dict[int, str], k: int, users: list[int]
) -> list[tuple[list[int], dict[int, str]]]:
    gains: dict[int, int] = {}
    for node, state in cut.items():
        held = [
            child_towards(tree, item, node)
            for row in members
            for item in rows[row]
            if covered(tree, item, cut, node)
        ]
        if state == "open" and any(child not in (None, node) for child in held):
            gains[node] = sum(
                int(tree.weights[node] - tree.weights[child]) for child in held if child is not None
            )
    for node in sorted(gains, key=lambda node: (-gains[node], node)):
        keys: dict[frozenset[int], list[int]] = {}
        for row in members:
            under = {child_towards(tree, item, node) for item in rows[row] if covered(tree, item, cut, node)}
            keys.setdefault(frozenset(child for child in under if child is not None), []).append(row)
        parts = {key: rows_of for key, rows_of in keys.items() if people(rows_of, users) >= k}
        left = [row for key in keys if key not in parts for row in keys[key]]
        if not parts:
            continue
        parts, left = with_enough_left(parts, left, k, users)
        if not parts:
            continue
        done = [(sorted(left, key=members.index), {**cut, node: "closed"})] if left else []
        for key, rows_of in parts.items():
            others = {other: state for other, state in cut.items() if other != node}
            done.append(
                (rows_of, {**others, **{child: "closed" if child == node else "open" for child in key}})
            )
        return done
    return []


def covered(tree: Tree, item: int, cut: dict[int, str], node: int) -> bool:
    """Whether this is the lowest cut node at or above the item."""
    return next(a for a in ancestors(tree, item) if a in cut) == node


def with_enough_left(
    parts: dict[frozenset[int], list[int]], left: list[int], k: int, users: list[int]
) -> tuple[dict[frozenset[int], list[int]], list[int]]:
    while left and people(left, users) < k:
        largest = max(parts, key=lambda key: people(parts[key], users))
        if people(parts[largest], users) <= k:
            smallest = min(parts, key=lambda key: people(parts[key], users))
            left = left + parts.pop(smallest)
            break
        fitting = [users[row] for row in parts[largest] if users[row] not in {users[other] for other in left}]
        left = left + [row for row in parts[largest] if users[row] == fitting[-1]]
        parts[largest] = [row for row in parts[largest] if users[row] != fitting[-1]]
    return parts, left


def as_groups(groups: np.ndarray, published: Bags) -> list[tuple[list[int], list[int]]]:
    return [(np.flatnonzero(groups == at).tolist(), row.tolist()) for at, row in enumerate(published)]
