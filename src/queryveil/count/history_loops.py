"""The loops that bring rows together user by user, compiled: rows become histories, each item of a user once.

They hold no lock, and each call is for some of the rows or users: several run side by side, in places of their own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import inner, unlocked

Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

_FEW = 24
"""So many items are sorted one by one; runs of them are merged."""


@unlocked
def renumbered(numbers: Numbers, places: Numbers, begin: int, end: int) -> None:
    """Each number's place instead of the number."""
    for row in range(begin, end):
        numbers[row] = places[numbers[row]]


@unlocked
def sized(people: Numbers, items: Numbers, begin: int, end: int, users: int) -> Whole:
    """How many rows with an item each user has; a negative number is no item."""
    sizes = np.zeros(users, np.int64)
    for row in range(begin, end):
        if items[row] >= 0:
            sizes[people[row]] += 1
    return sizes


@unlocked
def gathered(people: Numbers, items: Numbers, begin: int, end: int, next_: Whole, into: Numbers) -> None:
    """Put the items of users from `begin` to `end` where the next one of each stands."""
    for row in range(len(people)):
        user = people[row]
        if begin <= user < end and items[row] >= 0:
            into[next_[user]] = items[row]
            next_[user] += 1


@unlocked
def each_once(starts: Whole, items: Numbers, begin: int, end: int, sizes: Whole) -> None:
    """Put each user's items in order, each once, and say how many these are.

    [C1] of docs/proofs/steered.md: an item of a user counts once.
    """
    longest = 0
    for user in range(begin, end):
        longest = max(longest, starts[user + 1] - starts[user])
    spare = np.empty(longest, np.int32)
    for user in range(begin, end):
        own = items[starts[user] : starts[user + 1]]
        _sort(own, spare)
        kept = 0
        for at in range(len(own)):
            if at == 0 or own[at] != own[at - 1]:
                own[kept] = own[at]
                kept += 1
        sizes[user] = kept


@inner
def _sort(items: Numbers, spare: Numbers) -> None:
    """Runs of a few, merged two by two: no order of the items makes it slow."""
    size = len(items)
    for begin in range(0, size, _FEW):
        for at in range(begin + 1, min(begin + _FEW, size)):
            item, place = items[at], at
            while place > begin and items[place - 1] > item:
                items[place] = items[place - 1]
                place -= 1
            items[place] = item
    run = _FEW
    while run < size:
        for begin in range(0, size - run, 2 * run):
            _merge(items, spare, begin, begin + run, min(begin + 2 * run, size))
        run *= 2


@inner
def _merge(items: Numbers, spare: Numbers, begin: int, middle: int, end: int) -> None:
    if items[middle - 1] <= items[middle]:
        return
    spare[begin:middle] = items[begin:middle]
    left, right = begin, middle
    for at in range(begin, end):
        if left == middle:
            return
        if right < end and items[right] < spare[left]:
            items[at] = items[right]
            right += 1
        else:
            items[at] = spare[left]
            left += 1


@unlocked
def closed_up(starts: Whole, sizes: Whole, items: Numbers) -> int:
    """Move histories together, in place, where each has become shorter; how many entries are left."""
    kept = 0
    for user in range(len(sizes)):
        first = starts[user]
        starts[user] = kept
        for at in range(first, first + sizes[user]):
            items[kept] = items[at]
            kept += 1
    starts[len(sizes)] = kept
    return kept
