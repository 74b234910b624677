"""Clump's compiled inner loop: a window of open clusters, and each transaction put where it costs least.

A cluster is kept as c_v, the least number of items at or below v that any member has, for the nodes where this is
above 0. They are stored from the highest number down, so that children come before parents and the root is last.
Joining takes minima. With gain(v) = LM(v) - LM(parent), and gain(root) = LM(root), the LM of the least common
generalisation is the sum of c_v gain(v), so that a trial needs neither the generalisation nor any allocation.
Losses are whole numbers, LM times the number of leaves less one: ties are true ties.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from queryveil.compiled import compiled, inner

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Records = Any
"""Arrays with named fields: one argument instead of many halves the time to compile."""

CLUSTER = np.dtype(
    [
        ("start", np.int64),  # its nodes are `size` cells from here on
        ("size", np.int64),
        ("shortest", np.int64),
        ("members", np.int64),
        ("total", np.int64),  # items of all members
        ("loss", np.int64),
        ("present", np.int64),  # distinct users so far; a cluster is full with k
    ]
)
CELL = np.dtype([("node", np.int32), ("count", np.int32), ("copies", np.int32)])
"""A node of a cluster: c_v, and its copies in the generalisation."""
NODE = np.dtype(
    [
        ("parent", np.int32),
        ("weight", np.int32),  # LM times `scale`
        ("gain", np.int32),
        # Scratch space, 0 between uses:
        ("here", np.int32),  # items at or below it in the transaction at hand
        ("gone", np.int32),
        ("gone_here", np.int32),
    ]
)
ROW = np.dtype(
    [
        ("start", np.int64),  # its items are `seen` ones from here on
        ("seen", np.int64),
        ("length", np.int64),  # with multiplicity; the paper's rule sees repeated items once
        ("user", np.int64),
    ]
)


class Work(NamedTuple):
    items: I32
    rows: Records
    nodes: Records
    clusters: Records
    cells: Records
    people: I64
    """The first k distinct users of each cluster, where users are shared."""
    touched: I64
    scale: int
    k: int
    by_increase: bool
    paper: bool
    shared: bool
    """Whether some user has several transactions, so that members and users of a cluster differ."""


@compiled
def closure_sizes(items: I32, rows: Records, nodes: Records, touched: I64, chosen: I64) -> I64:
    """How many nodes are at or above the items of each chosen row."""
    sizes = np.empty_like(chosen)
    for at in range(len(chosen)):
        sizes[at] = spread(items, rows, nodes, touched, chosen[at])
        clear(nodes, touched, sizes[at])
    return sizes


@inner
def spread(items: I32, rows: Records, nodes: Records, touched: I64, row: int) -> int:
    """Count the row's items at or below each node into `here`; list the nodes; return how many."""
    found = 0
    for at in range(rows[row].start, rows[row].start + rows[row].seen):
        node = np.int64(items[at])
        while node >= 0:
            if nodes[node].here == 0:
                touched[found] = node
                found += 1
            nodes[node].here += 1
            node = nodes[node].parent
    return found


@inner
def clear(nodes: Records, touched: I64, found: int) -> None:
    for at in range(found):
        nodes[touched[at]].here = 0


@compiled
def start(work: Work, seeds: I64) -> None:
    """Each cluster gets its first transaction; there is room for the nodes at or above its items."""
    for c in range(len(seeds)):
        cluster, row = work.clusters[c], work.rows[seeds[c]]
        found = spread(work.items, work.rows, work.nodes, work.touched, seeds[c])
        work.touched[:found].sort()
        for at in range(found):
            cell = work.cells[cluster.start + at]
            cell.node = work.touched[found - 1 - at]
            cell.count = work.nodes[cell.node].here
        clear(work.nodes, work.touched, found)
        cluster.size, cluster.members, cluster.present = found, 1, 1
        cluster.shortest = cluster.total = row.length
        cluster.loss = (row.length - row.seen) * work.nodes[0].weight
        for at in range(row.start, row.start + row.seen):
            cluster.loss += work.nodes[work.items[at]].weight
        work.people[c, 0] = row.user


@compiled
def fill(work: Work, order: I64, groups: I32, window: I64, end: int) -> None:
    """Put the rows of `order` into the clusters of the window; where one is full, the next before `end` is opened."""
    width = len(window)
    opened = window[width - 1] + 1
    for row in order:
        if width == 0:
            break
        place = put(work, row, window, width, groups)
        if work.clusters[window[place]].present < work.k:
            continue
        for later in range(place, width - 1):
            window[later] = window[later + 1]
        if opened < end:
            window[width - 1] = opened
            opened += 1
        else:
            width -= 1


@compiled
def put_anywhere(work: Work, order: I64, groups: I32, among: I64) -> None:
    """Put the rows of `order` into clusters that need no more users."""
    for row in order:
        put(work, row, among, len(among), groups)


@inner
def put(work: Work, row: int, among: I64, width: int, groups: I32) -> int:
    """Add the row to one of the first `width` clusters of `among`; return its place there.

    It is where the loss is least, the earlier of equals. While clusters need users, a user's second transaction goes
    elsewhere, if there is elsewhere.
    """
    found = spread(work.items, work.rows, work.nodes, work.touched, row)
    user, length = work.rows[row].user, work.rows[row].length
    needed = work.shared and work.clusters[among[0]].present < work.k
    best, least, best_is_new = 0, 0, False
    for place in range(width):
        cost = loss_with(work, among[place], length)
        if work.by_increase:
            cost -= work.clusters[among[place]].loss
        new = needed and not includes(work, among[place], user)
        if place == 0 or new > best_is_new or (new == best_is_new and cost < least):
            best, least, best_is_new = place, cost, new
    join(work, among[best], length, user)
    clear(work.nodes, work.touched, found)
    groups[row] = among[best]
    return best


@inner
def includes(work: Work, c: int, user: int) -> bool:
    for at in range(min(work.clusters[c].present, work.people.shape[1])):  # noqa: SIM110
        if work.people[c, at] == user:
            return True
    return False


@inner
def loss_with(work: Work, c: int, length: int) -> int:
    """The loss of cluster c with the transaction at hand."""
    cluster, nodes, cells = work.clusters[c], work.nodes, work.cells
    shortest, members = min(cluster.shortest, length), cluster.members + 1
    generalised = 0
    if work.paper:
        missing = shortest
        for at in range(cluster.start, cluster.start + cluster.size):
            common = paper_common(nodes, cells, at)
            missing -= common
            generalised += common * nodes[cells[at].node].weight
        generalised += missing * nodes[0].weight
    else:
        for at in range(cluster.start, cluster.start + cluster.size):
            node = nodes[cells[at].node]
            generalised += min(cells[at].count, node.here) * node.gain
    return int(members * generalised + (cluster.total + length - members * shortest) * work.scale)


@inner
def paper_common(nodes: Records, cells: Records, at: int) -> int:
    """Copies of one node that the paper's rule takes; what is below the node is then gone for its parents."""
    node, count = nodes[cells[at].node], cells[at].count
    common = min(count - node.gone, node.here - node.gone_here)
    if node.parent >= 0:
        parent = nodes[node.parent]
        parent.gone += count if common else node.gone
        parent.gone_here += node.here if common else node.gone_here
    node.gone = node.gone_here = 0
    return int(common)


@inner
def join(work: Work, c: int, length: int, user: int) -> None:
    cluster = work.clusters[c]
    cluster.loss = loss_with(work, c, length)
    cluster.shortest = min(cluster.shortest, length)
    cluster.members += 1
    cluster.total += length
    if work.paper:
        paper_copies(work.nodes, work.cells, cluster.start, cluster.start + cluster.size, cluster.shortest)
    kept = cluster.start
    for at in range(cluster.start, cluster.start + cluster.size):
        cell = work.cells[at]
        node = work.nodes[cell.node]
        if work.paper:
            # The generalisation's own counts. Copies count as many, as the paper's text has it.
            cell.count, node.gone = node.gone + cell.copies, 0
            if cell.node:
                work.nodes[node.parent].gone += cell.count
        else:
            cell.count = min(cell.count, node.here)
        if cell.count:
            target = work.cells[kept]
            target.node, target.count, target.copies = cell.node, cell.count, cell.copies
            kept += 1
    cluster.size = kept - cluster.start
    if not (work.shared and includes(work, c, user)):
        if work.shared and cluster.present < work.k:
            work.people[c, cluster.present] = user
        cluster.present += 1


@inner
def paper_copies(nodes: Records, cells: Records, first: int, end: int, shortest: int) -> None:
    """The root, which comes last, stands in for what was dropped."""
    for at in range(first, end):
        cells[at].copies = paper_common(nodes, cells, at)
        shortest -= cells[at].copies
    cells[end - 1].copies += shortest


@compiled
def exact_copies(work: Work, chosen: I64) -> None:
    """Copies of v in the generalisation: c_v less that of v's children."""
    for c in chosen:
        cluster = work.clusters[c]
        for at in range(cluster.start, cluster.start + cluster.size):
            cell = work.cells[at]
            node = work.nodes[cell.node]
            cell.copies, node.gone = cell.count - node.gone, 0
            if cell.node:
                work.nodes[node.parent].gone += cell.count
