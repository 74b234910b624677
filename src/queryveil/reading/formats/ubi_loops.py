"""The loop that finds the search of each click of UBI, compiled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import inner, unlocked

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint64]

_STEPS = 20


@inner
def _same(data: Bytes, offsets: Numbers, one: int, other: int) -> bool:
    length = offsets[one + 1] - offsets[one]
    if length != offsets[other + 1] - offsets[other]:
        return False
    for place in range(length):  # noqa: SIM110 (the compiler knows no generators)
        if data[offsets[one] + place] != data[offsets[other] + place]:
            return False
    return True


@unlocked
def find_searches(
    ids: Bytes,
    id_offsets: Numbers,
    people: Bytes,
    people_offsets: Numbers,
    hashes: Hashes,
    known: Flags,
    clicks: Flags,
    times: Whole,
    table: Whole,
    following: Whole,
    where: Whole,
) -> bool:
    """For each click the row of the latest search of the same id and person that is not after it, into `where`.

    Of several at one time it is the first. `hashes` of id and person only say where to look: texts decide. `table`
    (a power of two, more than there are rows, all -1) has the first search of each, `following` the next one of the
    same id and person, -1 at the end. False if single ids have so many searches that another way is quicker.
    """
    rows, mask = len(where), np.uint64(len(table) - 1)
    last = np.full(rows, -1, np.int64)
    most = _STEPS * rows + 1000
    for searching in (True, False):
        for row in range(rows):
            if not known[row] or clicks[row] == searching:
                continue
            slot = np.int64(hashes[row] & mask)
            first = table[slot]
            while first >= 0 and not (
                hashes[first] == hashes[row]
                and _same(ids, id_offsets, first, row)
                and _same(people, people_offsets, first, row)
            ):
                slot = np.int64(np.uint64(slot + 1) & mask)
                first = table[slot]
                most -= 1
            if searching:
                if first < 0:
                    table[slot] = row
                    last[row] = row
                else:
                    following[last[first]] = row
                    last[first] = row
                continue
            best = -1
            while first >= 0:
                if times[first] <= times[row] and (best < 0 or times[first] > times[best]):
                    best = first
                first = following[first]
                most -= 1
            where[row] = best
            if most < 0:
                return False
    return True
