"""The loops that cut lists in lines of JSON into their elements, compiled.

They are only asked about texts that are known to be JSON, by `json_loops.py`. Plain are lists of strings and of short
whole numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import inner, unlocked

Bytes = npt.NDArray[np.uint8]
Kinds = npt.NDArray[np.uint8]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

NOT_PLAIN = -1
_TEXT, _NUMBER = 2, 3
"""As in `json_loops.py`; each file of loops has its own names, for the compiler."""
_LONGEST_NUMBER = 15
_SPACE, _TAB, _QUOTE, _BACKSLASH, _COMMA, _OPEN_LIST, _CLOSE_LIST = 32, 9, 34, 92, 44, 91, 93
_ZERO, _NINE = 48, 57


@inner
def _next(data: Bytes, at: int) -> int:
    """Where the next element begins, or the list ends."""
    while data[at] == _SPACE or data[at] == _TAB or data[at] == _COMMA:
        at += 1
    return at


@inner
def _behind(data: Bytes, at: int) -> int:
    """Behind a string or a number."""
    if data[at] != _QUOTE:
        while _ZERO <= data[at] <= _NINE:
            at += 1
        return at
    at += 1
    while data[at] != _QUOTE:
        at += 2 if data[at] == _BACKSLASH else 1
    return at + 1


@unlocked
def count_elements(data: Bytes, starts: Whole, there: Flags, many: Whole) -> None:
    """How many elements each list has that begins at `starts` where one is `there`; -1 if it is not plain."""
    for row in range(len(starts)):
        if not there[row] or data[starts[row]] != _OPEN_LIST:
            continue
        at, count = _next(data, int(starts[row]) + 1), 0
        while data[at] != _CLOSE_LIST:
            text = data[at] == _QUOTE
            last = _behind(data, at)
            # What is neither goes on behind its digits, or has none: a fraction, a word, an object.
            ends = (
                data[last] == _COMMA
                or data[last] == _CLOSE_LIST
                or data[last] == _SPACE
                or data[last] == _TAB
            )
            if last == at or not ends or (not text and last - at > _LONGEST_NUMBER):
                count = NOT_PLAIN
                break
            count += 1
            at = _next(data, last)
        many[row] = count


@unlocked
def cut_elements(
    data: Bytes, lists: Whole, many: Whole, starts: Whole, lengths: Numbers, kinds: Kinds
) -> None:
    """Where the elements of these lists are, one after the other; the length of one with backslashes is below zero."""
    place = 0
    for row in range(len(lists)):
        at = int(lists[row]) + 1
        for _ in range(many[row]):
            at = _next(data, at)
            last = _behind(data, at)
            quote = 1 if data[at] == _QUOTE else 0
            length = last - at - 2 * quote
            for inside in range(at, last):
                if data[inside] == _BACKSLASH:
                    length = -abs(length)
                    break
            starts[place], lengths[place], kinds[place] = at + quote, length, _TEXT if quote else _NUMBER
            place += 1
            at = last
