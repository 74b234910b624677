"""The loops that judge plain values and type them, compiled: what `plain_rows.py` says in Arrow's words, row by row.

A text is `data[starts[i]:starts[i] + lengths[i]]` where it is `there`. Each loop takes rows out of `plain` about which
it is not sure. Words stand one after the other in `words`, each up to its place in `ends`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import inner, unlocked

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

_ZERO, _FIRST_VISIBLE, _LAST_VISIBLE = 48, 33, 126
_DASH, _COLON, _POINT, _SPACE, _T, _Z = 45, 58, 46, 32, 84, 90
_LONGEST_RANK = 9
_DAY_LENGTH = 19
_FIRST_YEAR = 1000
_NO_NUMBER = -1


@inner
def _among(data: Bytes, at: int, length: int, words: Bytes, ends: Whole) -> bool:
    begin = 0
    for word in range(len(ends)):
        end = ends[word]
        if end - begin == length:
            same = True
            for place in range(length):
                if data[at + place] != words[begin + place]:
                    same = False
                    break
            if same:
                return True
        begin = end
    return False


@inner
def _is_seen(data: Bytes, at: int, length: int) -> bool:
    """Whether there is a visible letter, so that the text is not blank; if not, others must look at it.

    Blanks outside of ASCII are U+0085 and U+00A0 (C2 85, C2 A0), U+1680 (E1 9A), some from U+2000 to U+207F (E2 80 and
    E2 81), and U+3000 (E3 80).
    """
    for place in range(at, at + length):
        byte = data[place]
        if _FIRST_VISIBLE <= byte <= _LAST_VISIBLE:
            return True
        if byte > 0xC2:
            behind = data[place + 1]
            if byte == 0xE1:
                return bool(behind != 0x9A)
            if byte == 0xE2:
                return bool(behind > 0x81)
            return bool(byte != 0xE3 or behind != 0x80)
    return False


@unlocked
def judge_users(
    data: Bytes,
    starts: Whole,
    lengths: Numbers,
    there: Flags,
    longest: int,
    words: Bytes,
    ends: Whole,
    plain: Flags,
) -> None:
    """Plain are users with a visible letter that are not too long, and no word for nobody."""
    for row in range(len(plain)):
        if not plain[row]:
            continue
        at, length = starts[row], lengths[row]
        plain[row] = (
            there[row]
            and 0 < length <= longest
            and _is_seen(data, at, length)
            and not _among(data, at, length, words, ends)
        )


@unlocked
def judge_queries(
    data: Bytes, starts: Whole, lengths: Numbers, there: Flags, longest: int, empty: Flags, plain: Flags
) -> None:
    """Plain are queries that are empty, or have a visible letter and are not too long."""
    for row in range(len(plain)):
        length = lengths[row] if there[row] else 0
        empty[row] = length == 0
        if length and not (length <= longest and _is_seen(data, starts[row], length)):
            plain[row] = False


@unlocked
def judge_values(
    data: Bytes,
    starts: Whole,
    lengths: Numbers,
    there: Flags,
    longest: int,
    words: Bytes,
    ends: Whole,
    plain: Flags,
) -> int:
    """Take out of `there` what is a word for no value; how many were."""
    found = 0
    for row in range(len(plain)):
        if not there[row]:
            continue
        if lengths[row] > longest:
            plain[row] = False
        elif _among(data, starts[row], lengths[row], words, ends):
            there[row] = False
            found += 1
    return found


@inner
def _number(data: Bytes, at: int, digits: int) -> int:
    """The number of so many digits; -1 if one of them is none."""
    value = 0
    for place in range(at, at + digits):
        digit = int(data[place]) - _ZERO
        if digit < 0 or digit > 9:
            return _NO_NUMBER
        value = value * 10 + digit
    return value


@unlocked
def judge_ranks(
    data: Bytes,
    starts: Whole,
    lengths: Numbers,
    there: Flags,
    words: Bytes,
    ends: Whole,
    typed: Numbers,
    plain: Flags,
) -> None:
    """Type ranks. Plain are few digits, and words for none, which are taken out of `there`."""
    for row in range(len(plain)):
        if not there[row]:
            continue
        at, length = starts[row], lengths[row]
        value = _number(data, at, length) if 0 < length <= _LONGEST_RANK else _NO_NUMBER
        if value >= 0:
            typed[row] = value
            continue
        there[row] = False
        if not _among(data, at, length, words, ends):
            plain[row] = False


@inner
def _days(year: int, month: int, day: int) -> int:
    """Days since 1970 of a day of this calendar; -1 << 40 if that month has no such day."""
    long = 31 if month in (1, 3, 5, 7, 8, 10, 12) else 30
    if month == 2:
        long = 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    if day < 1 or day > long:
        return -1 << 40
    # Years that begin in March have their odd day at the end: 719,468 days before 1970 such a year 0 began.
    since = year - 1 if month <= 2 else year
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return since * 365 + since // 4 - since // 100 + since // 400 + of_year - 719_468


@inner
def _micros_of_date(data: Bytes, at: int, fraction: int, zone: bool) -> int:
    """Microseconds of a date and a clock, with so many digits behind the point; the least number if it is none."""
    broken = -1 << 62
    year, month, day = _number(data, at, 4), _number(data, at + 5, 2), _number(data, at + 8, 2)
    hour, minute, second = _number(data, at + 11, 2), _number(data, at + 14, 2), _number(data, at + 17, 2)
    marked = data[at + 4] == _DASH and data[at + 7] == _DASH and (data[at + 10] in (_SPACE, _T))
    marked = marked and data[at + 13] == _COLON and data[at + 16] == _COLON
    possible = year >= _FIRST_YEAR and 1 <= month <= 12 and 0 <= hour <= 23
    if not (marked and possible and 0 <= minute <= 59 and 0 <= second <= 59):
        return broken
    behind = 0
    last = at + _DAY_LENGTH
    if fraction:
        behind = _number(data, last + 1, fraction)
        if behind < 0 or data[last] != _POINT:
            return broken
        if fraction == 3:
            behind *= 1000
        last += fraction + 1
    if zone and data[last] != _Z:
        return broken
    days = _days(year, month, day)
    if days == -1 << 40:
        return broken
    return (days * 86_400 + hour * 3600 + minute * 60 + second) * 1_000_000 + behind


@unlocked
def judge_times(
    data: Bytes, starts: Whole, lengths: Numbers, there: Flags, typed: Whole, plain: Flags
) -> None:
    """Type times in microseconds. Plain are dates with a clock and numbers since 1970, of the usual lengths."""
    for row in range(len(plain)):
        at, length = starts[row], lengths[row]
        value = -1 << 62
        if not there[row]:
            pass
        elif length in (19, 20):
            value = _micros_of_date(data, at, 0, length == 20)
        elif length in (23, 24):
            value = _micros_of_date(data, at, 3, length == 24)
        elif length in (26, 27):
            value = _micros_of_date(data, at, 6, length == 27)
        elif length in (9, 10, 13, 16):
            value = _number(data, at, length)
            if value >= 0:
                value *= 1 if length == 16 else 1000 if length == 13 else 1_000_000
            else:
                value = -1 << 62
        if value == -1 << 62:
            plain[row] = False
        else:
            typed[row] = value
