"""The loops that cut lines into fields and put texts together, compiled.

Texts stand one after the other in `data`, as in Arrow's arrays: text i is `data[offsets[i]:offsets[i + 1]]`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import inner, unlocked

Bytes = npt.NDArray[np.uint8]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

_QUOTE, _RETURN, _LINE_END = 34, 13, 10
_STEP, _FOUR, _EIGHT = np.uintp(1), np.uintp(4), np.uintp(8)
_LINE_ENDS, _ONES = np.uint64(0x0A0A0A0A0A0A0A0A), np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)


@inner
def eight_bytes(data: Bytes, at: np.uintp) -> np.uint64:
    """Eight bytes as one number. Places are unsigned, or the compiler would not make one step of it."""
    word = np.uint64(0)
    for place in range(8):
        word |= np.uint64(data[at + np.uintp(place)]) << np.uint64(8 * place)
    return word


@unlocked
def copy_texts(data: Bytes, starts: Whole, offsets: Numbers, into: Bytes) -> None:
    """Put the texts that begin at `starts` one after the other; `offsets` says where each one goes."""
    for row in range(len(starts)):
        at, place, end = np.uintp(starts[row]), np.uintp(offsets[row]), np.uintp(offsets[row + 1])
        while place < end:
            into[place] = data[at]
            at += _STEP
            place += _STEP


@inner
def _line_end(data: Bytes, at: np.uintp, end: np.uintp) -> np.uintp:
    """Where the next line end is: eight bytes at a time, as in most of them there is none."""
    while at + _EIGHT <= end:
        # A byte that is a line end becomes zero, and only below a zero does taking one away borrow.
        word = eight_bytes(data, at) ^ _LINE_ENDS
        if (word - _ONES) & ~word & _TOPS:
            break
        at += _EIGHT
    while data[at] != _LINE_END:
        at += _STEP
    return at


@unlocked
def split_lines(data: Bytes, content: Bytes, offsets: Numbers, lines: Whole) -> int:
    """Put lines, of which the last one has an end too, one after the other without their ends; how many rows they are.

    Blank lines that follow each other are one row; `lines` says of how many. What is behind the last row is not set.
    """
    row = -1
    at, place, end = np.uintp(0), np.uintp(0), np.uintp(len(data))
    blank_before = False
    while at < end:
        last = _line_end(data, at, end)
        begun = place
        while at < last:
            content[place] = data[at]
            place += _STEP
            at += _STEP
        at += _STEP
        if place > begun and content[place - _STEP] == _RETURN:
            place -= _STEP
        blank = place == begun
        if blank and blank_before:
            lines[row] += 1
        else:
            row += 1
            lines[row] = 1
            offsets[row + 1] = place
        blank_before = blank
    return row + 1


@unlocked
def cut_lines(
    data: Bytes, offsets: Numbers, delimiter: int, many: Whole, starts: Whole, lengths: Numbers
) -> None:
    """How many fields each line has, and where the first of them are."""
    most = len(starts)
    for row in range(len(many)):
        end = offsets[row + 1]
        number, start = 0, int(offsets[row])
        for place in range(start, end):
            if data[place] == delimiter:
                if number < most:
                    starts[number, row] = start
                    lengths[number, row] = place - start
                number += 1
                start = place + 1
        if number < most:
            starts[number, row] = start
            lengths[number, row] = end - start
        many[row] = number + 1


@unlocked
def cut_quoted_lines(
    data: Bytes, offsets: Numbers, delimiter: int, many: Whole, starts: Whole, lengths: Numbers
) -> None:
    """The same for lines in which a field may stand between quotes; none of a line that needs more care.

    That is one with a quote inside a field, or with a return, which is an error only beside quotes.
    """
    most = len(starts)
    for row in range(len(many)):
        place, end = int(offsets[row]), int(offsets[row + 1])
        number, quotes, returns, good = 0, False, False, True
        while good:
            start = place
            if place < end and data[place] == _QUOTE:
                quotes = True
                start = place = place + 1
                while place < end and data[place] != _QUOTE:
                    returns = returns or data[place] == _RETURN
                    place += 1
                last = place
                place += 1
                good = place == end or (place < end and data[place] == delimiter)
            else:
                while place < end and data[place] != delimiter:
                    returns = returns or data[place] == _RETURN
                    good = good and data[place] != _QUOTE
                    place += 1
                last = place
            if number < most:
                starts[number, row] = start
                lengths[number, row] = last - start
            number += 1
            if place >= end:
                break
            place += 1
        many[row] = number if good and not (quotes and returns) else 0
