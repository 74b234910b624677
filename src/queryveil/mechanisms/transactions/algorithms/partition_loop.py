"""Partition's compiled loop: split rows by which children of a cut node they have, as long as k users remain.

Rows of a partition are neighbours in `positions` and, within it, a user's rows are neighbours; splits keep that order,
so distinct users are counted by looking at the row before. All members of a partition have an item below every node
of its cut; so the cuts of disjoint partitions together are never longer than all transactions, and no array grows.
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

OPEN, CLOSED, TRIED = 0, 1, 2
"""A cut node that may be drilled, one that may not be any more, one that failed but may succeed in a smaller part."""
NO_KEY, NO_PART = 0, -1


NODE = np.dtype(
    [
        ("parent", np.int64),
        ("depth", np.int64),
        ("weight", np.int64),
        # Only for nodes of the cut at hand:
        ("gain", np.int64),  # what drilling it would save
        ("deep", np.bool_),  # whether items are below it, and not only at it
    ]
)
ITEM = np.dtype(
    [
        ("item", np.int32),
        ("cover", np.int32),  # the node of its partition's cut at or above it
        ("below", np.int32),  # that node's child at or above it; -1 for an item that is the node itself
    ]
)
POSITION = np.dtype(
    [
        ("row", np.int64),  # a user's rows are next to each other
        ("key", np.int64),  # where in `children` its key starts: the drilled node's children that the row has
        (
            "label",
            np.int64,
        ),  # the key's number, by appearance; later the part it goes to, 0 for the left-over
        ("before", np.int64),  # the position before of the same part
    ]
)
KEY = np.dtype(
    [
        ("first", np.int64),  # a position that has it
        ("people", np.int64),  # distinct users; later those of a part
        ("last_user", np.int64),
        ("part", np.int64),
        ("end", np.int64),  # of a part
    ]
)
PARTITION = np.dtype([("low", np.int64), ("high", np.int64), ("cut_end", np.int64)])
CUT = np.dtype([("node", np.int32), ("state", np.int32)])


class Work(NamedTuple):
    k: int
    nodes: Records
    items: Records
    offsets: I64
    users: I64
    positions: Records
    keys: Records
    table: I64
    children: I64
    in_left: I64
    cut: Records
    """Of the partition at hand."""
    waiting: Records
    """Partitions to look at."""
    cuts: Records
    """Of these, one after another."""


@compiled
def start(work: Work) -> None:
    """All items are below the root at first."""
    for at in range(len(work.items)):
        work.items[at].cover = 0
        work.items[at].below = child_above(work.nodes, work.items[at].item, 0)
    work.waiting[0].low, work.waiting[0].high, work.waiting[0].cut_end = 0, len(work.positions) - 1, 1
    work.cuts[0].node, work.cuts[0].state = 0, OPEN


@compiled
def drill_all(work: Work, groups: I32, published: I32, ends: I64) -> int:
    """Write each row's group, and the groups' cuts one after another; return the number of groups."""
    found, written, top = 0, 0, 1
    while top:
        top -= 1
        low, high = work.waiting[top].low, work.waiting[top].high
        first = work.waiting[top - 1].cut_end if top else 0
        width = work.waiting[top].cut_end - first
        for at in range(width):
            work.cut[at].node, work.cut[at].state = work.cuts[first + at].node, work.cuts[first + at].state
        best, count = best_split(work, low, high, width)
        if best >= 0:
            top += push(work, low, high, width, best, top, count)
            continue
        for position in range(low, high):
            groups[work.positions[position].row] = found
        for at in range(width):
            published[written + at] = work.cut[at].node
        written += width
        ends[found] = written
        found += 1
    return found


@inner
def best_split(work: Work, low: int, high: int, width: int) -> tuple[int, int]:
    """Which cut node to split at, the best of those that can be, and into how many parts; -1 if none can be."""
    weigh(work, low, high, width)
    while True:
        best, most = -1, -1
        for at in range(width):
            node = work.nodes[work.cut[at].node]
            if work.cut[at].state != OPEN or not node.deep:
                continue
            if node.gain > most or (node.gain == most and work.cut[at].node < work.cut[best].node):
                best, most = at, node.gain
        if best < 0:
            return -1, 0
        count = split(work, low, high, work.cut[best].node)
        if count > 0:
            return best, count
        # Without a key of k users here there is none in any smaller part either.
        work.cut[best].state = CLOSED if count == NO_KEY else TRIED


@inner
def weigh(work: Work, low: int, high: int, width: int) -> None:
    for at in range(width):
        work.nodes[work.cut[at].node].gain = 0
        work.nodes[work.cut[at].node].deep = False
    for position in range(low, high):
        row = work.positions[position].row
        for at in range(work.offsets[row], work.offsets[row + 1]):
            item = work.items[at]
            if item.below >= 0:
                node = work.nodes[item.cover]
                node.gain += node.weight - work.nodes[item.below].weight
                node.deep = True


@inner
def split(work: Work, low: int, high: int, node: int) -> int:
    """Label each position with its part, from 1, or 0 for the left-over; return how many parts, or why none."""
    keys, positions = work.keys, work.positions
    found = label(work, low, high, node)
    count = 0
    for at in range(found):
        keys[at].part = 0
        if keys[at].people >= work.k:
            keys[count].people, keys[count].first = keys[at].people, keys[at].first
            count += 1
            keys[at].part = count
    if count == 0:
        return NO_KEY
    left, last = 0, -1
    for position in range(low, high):
        positions[position].label = keys[positions[position].label].part
        user = work.users[positions[position].row]
        if positions[position].label == 0 and user != last:
            left += 1
            last = user
    if 0 < left < work.k and take_from_largest(work, low, high, count, left) < work.k:
        count = dissolve_smallest(work, low, high, count)
    return count if count else NO_PART


@inner
def label(work: Work, low: int, high: int, node: int) -> int:
    """Number the keys by appearance, with their distinct users; keys are compared, so equal hashes do no harm."""
    positions, keys, table = work.positions, work.keys, work.table
    mask = 1
    while mask < 2 * (high - low):
        mask *= 2
    for cell in range(mask):
        table[cell] = -1
    end = found = 0
    for position in range(low, high):
        positions[position].key = end
        end = collect(work, positions[position].row, node, end)
        positions[position + 1].key = end
        cell = hashed(work.children, positions[position].key, end) & (mask - 1)
        while table[cell] >= 0 and not same(work, keys[table[cell]].first, position):
            cell = (cell + 1) & (mask - 1)
        if table[cell] < 0:
            table[cell] = found
            keys[found].first, keys[found].people, keys[found].last_user = position, 0, -1
            found += 1
        key, user = keys[table[cell]], work.users[positions[position].row]
        if key.last_user != user:
            key.last_user = user
            key.people += 1
        positions[position].label = table[cell]
    return found


@inner
def collect(work: Work, row: int, node: int, end: int) -> int:
    """Append the sorted set of the node's children that the row has; the node's own number stands for itself."""
    children, first = work.children, end
    for at in range(work.offsets[row], work.offsets[row + 1]):
        item = work.items[at]
        if item.cover != node:
            continue
        child = item.below if item.below >= 0 else item.cover
        place = end
        while place > first and children[place - 1] > child:
            place -= 1
        if place > first and children[place - 1] == child:
            continue
        for later in range(end, place, -1):
            children[later] = children[later - 1]
        children[place] = child
        end += 1
    return end


@inner
def hashed(children: I64, first: int, end: int) -> int:
    code = 17
    for at in range(first, end):
        code = (code ^ children[at]) * 1099511628211  # wraps around
        code ^= code >> 29
    return code


@inner
def same(work: Work, one: int, other: int) -> bool:
    first, second = work.positions[one].key, work.positions[other].key
    if work.positions[one + 1].key - first != work.positions[other + 1].key - second:
        return False
    for at in range(work.positions[one + 1].key - first):
        if work.children[first + at] != work.children[second + at]:
            return False
    return True


@inner
def take_from_largest(work: Work, low: int, high: int, count: int, left: int) -> int:
    """Move users into the left-over, each time the last fitting one of the largest part, while that exceeds k.

    A part of more than k users always has one that the left-over, with fewer than k, lacks. Return how many users
    the left-over has then.
    """
    parts, positions, users = work.keys, work.positions, work.users
    for part in range(count):
        parts[part].end = -1  # the last position of the part that was not looked at yet
    for position in range(low, high):
        at = positions[position]
        if at.label:
            at.before = parts[at.label - 1].end
            parts[at.label - 1].end = position
        else:
            work.in_left[users[at.row]] = 1
    while left < work.k:
        largest = parts[0]
        for part in range(1, count):
            if parts[part].people > largest.people:
                largest = parts[part]
        if largest.people <= work.k:
            break
        user = users[positions[largest.end].row]
        moves = not work.in_left[user]
        while largest.end >= 0 and users[positions[largest.end].row] == user:
            if moves:
                positions[largest.end].label = 0
            largest.end = positions[largest.end].before
        if moves:
            work.in_left[user] = 1
            largest.people -= 1
            left += 1
    for position in range(low, high):
        work.in_left[users[positions[position].row]] = 0
    return left


@inner
def dissolve_smallest(work: Work, low: int, high: int, count: int) -> int:
    """Return how many parts remain; they keep their order."""
    smallest = 0
    for part in range(1, count):
        if work.keys[part].people < work.keys[smallest].people:
            smallest = part
    for position in range(low, high):
        at = work.positions[position]
        if at.label == smallest + 1:
            at.label = 0
        elif at.label > smallest:
            at.label -= 1
    for part in range(smallest, count - 1):
        work.keys[part].first = work.keys[part + 1].first
    return count - 1


@inner
def push(work: Work, low: int, high: int, width: int, drilled: int, top: int, count: int) -> int:
    """Reorder the rows by part and let the left-over and the parts wait; return how many."""
    node = work.cut[drilled].node
    lower_covers(work, low, high, node)
    left = sort_by_part(work, low, high, count)
    written = work.waiting[top - 1].cut_end if top else 0
    pushed = 0
    for part in range(count + 1):
        start = work.keys[part - 2].end if part > 1 else left if part else low
        end = work.keys[part - 1].end if part else left
        if start == end:
            continue  # nothing is left over
        for at in range(width):
            if at == drilled and part:
                continue
            closed = at == drilled or work.cut[at].state == CLOSED
            work.cuts[written].node, work.cuts[written].state = work.cut[at].node, CLOSED if closed else OPEN
            written += 1
        if part:
            position = work.keys[part - 1].first
            for at in range(work.positions[position].key, work.positions[position + 1].key):
                child = work.children[at]
                work.cuts[written].node, work.cuts[written].state = child, CLOSED if child == node else OPEN
                written += 1
        waiting = work.waiting[top + pushed]
        waiting.low, waiting.high, waiting.cut_end = start, end, written
        pushed += 1
    return pushed


@inner
def lower_covers(work: Work, low: int, high: int, node: int) -> None:
    """Items of the parts are now covered by the drilled node's children; those of the left-over are as before."""
    for position in range(low, high):
        if work.positions[position].label == 0:
            continue
        row = work.positions[position].row
        for at in range(work.offsets[row], work.offsets[row + 1]):
            item = work.items[at]
            if item.cover == node and item.below >= 0:
                item.cover = item.below
                item.below = child_above(work.nodes, item.item, item.cover)


@inner
def child_above(nodes: Records, item: int, node: int) -> int:
    """The child of `node` at or above `item`; -1 if the item is the node."""
    if item == node:
        return -1
    child, level = np.int64(item), nodes[node].depth + 1
    while nodes[child].depth > level:
        child = nodes[child].parent
    return int(child)


@inner
def sort_by_part(work: Work, low: int, high: int, count: int) -> int:
    """Stable, so that users stay together; return where the left-over ends, each part's end being in its record."""
    positions, parts = work.positions, work.keys
    left = low
    for part in range(count):
        parts[part].end = 0
    for position in range(low, high):
        positions[position].before = positions[position].row
        if positions[position].label:
            parts[positions[position].label - 1].end += 1
        else:
            left += 1
    after = left
    for part in range(count):  # first where each starts
        size, parts[part].end = parts[part].end, after
        after += size
    left = low
    for position in range(low, high):
        part = positions[position].label
        if part:
            positions[parts[part - 1].end].row = positions[position].before
            parts[part - 1].end += 1
        else:
            positions[left].row = positions[position].before
            left += 1
    return left
