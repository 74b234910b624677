"""The loops that follow sessions of a log in the style of Yandex, compiled: lines of a session one after the other.

Field f of line i is `data[starts[f, i]:starts[f, i] + lengths[f, i]]`, as far as it has `many` of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import inner, unlocked

Bytes = npt.NDArray[np.uint8]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

NEITHER, SESSION, QUERY, CLICK = range(4)
"""What a line is."""
FIELDS = 7
"""Fields of a query up to the first result."""
_M, _Q, _T, _C, _TAB, _COMMA, _ZERO = 77, 81, 84, 67, 9, 44, 48
_STEPS = 50
"""Steps for each byte of the lines: a page of results is looked through for each of its clicks."""


@inner
def _same(data: Bytes, at: int, length: int, other: int, other_length: int) -> bool:
    if length != other_length:
        return False
    for place in range(length):  # noqa: SIM110 (the compiler knows no generators)
        if data[at + place] != data[other + place]:
            return False
    return True


@inner
def _kind(data: Bytes, row: int, many: int, starts: Whole, lengths: Numbers) -> int:
    if many == 4 and lengths[1, row] == 1 and data[starts[1, row]] == _M:
        return SESSION
    if many < 5 or lengths[2, row] != 1:
        return NEITHER
    letter = data[starts[2, row]]
    if many >= 6 and letter in (_Q, _T):
        return QUERY
    return CLICK if many == 5 and letter == _C else NEITHER


@inner
def _place(data: Bytes, at: int, end: int, url: int, length: int) -> int:
    """Which of the results between tabs, each up to its comma, this URL is; 0 if it is none of them."""
    number = 1
    while at <= end:
        stop = at
        while stop < end and data[stop] != _TAB and data[stop] != _COMMA:
            stop += 1
        if _same(data, at, stop - at, url, length):
            return number
        while stop < end and data[stop] != _TAB:
            stop += 1
        at = stop + 1
        number += 1
    return 0


@unlocked
def follow_sessions(
    data: Bytes,
    offsets: Numbers,
    sure: Flags,
    many: Whole,
    starts: Whole,
    lengths: Numbers,
    kinds: Bytes,
    whose: Whole,
    pages: Whole,
    places: Numbers,
) -> bool:
    """What each line is; of queries and clicks the line of their session, that of their page, and clicks' places on it.

    A line that follows its session's own is of no other, wherever else that one may stand. False if some line does not,
    or if single sessions are so long that another way is quicker.
    """
    session, many_pages = -1, 0
    asked = np.empty(len(sure), np.int64)
    most = _STEPS * int(offsets[len(sure)] - offsets[0]) + 1000
    for row in range(len(sure)):
        kind = _kind(data, row, many[row], starts, lengths) if sure[row] else NEITHER
        kinds[row] = kind
        if kind == SESSION:
            session, many_pages = row, 0
        if kind in (NEITHER, SESSION):
            continue
        if session < 0 or not _same(
            data, starts[0, row], lengths[0, row], starts[0, session], lengths[0, session]
        ):
            return False
        whose[row] = session
        if kind == QUERY:
            pages[row] = row
            asked[many_pages] = row
            many_pages += 1
            continue
        for number in range(many_pages):
            page = asked[number]
            most -= 1
            if _same(data, starts[3, row], lengths[3, row], starts[3, page], lengths[3, page]):
                pages[row] = page
                if many[page] >= FIELDS:
                    first, end = int(starts[FIELDS - 1, page]), int(offsets[page + 1])
                    most -= end - first
                    places[row] = _place(data, first, end, starts[4, row], lengths[4, row])
                break
        if most < 0:
            return False
    return True


@unlocked
def read_numbers(data: Bytes, starts: Whole, lengths: Numbers, longest: int, values: Whole) -> None:
    """Numbers of so many digits at most; -1 for what is none."""
    for row in range(len(starts)):
        value = 0 if 0 < lengths[row] <= longest else -1
        if value == 0:
            for place in range(starts[row], starts[row] + lengths[row]):
                digit = int(data[place]) - _ZERO
                if digit < 0 or digit > 9:
                    value = -1
                    break
                value = value * 10 + digit
        values[row] = value
