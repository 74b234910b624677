"""The loops that take requests of web servers apart, compiled: lines in common or combined format, as they usually are.

Only lines of a plain kind are followed: one space between fields, no backslash, a time with its zone. Of all others
the loops say nothing, and somebody else must read them. Texts stand one after the other in `data`, as in Arrow's
arrays: text i is `data[offsets[i]:offsets[i + 1]]`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import inner, unlocked

Bytes = npt.NDArray[np.uint8]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

UNSURE, OTHER, FAILED, SEARCH = range(4)
"""What a line is: not plain, a request that is no search, one that failed or was redirected, or a search."""
IP, NAME, AGENT, QUERY = range(4)
"""Rows of the tables of places."""
CLOCK = 26
"""Letters of a time such as 04/Mar/2006:15:39:22 +0000."""
_SPACE, _QUOTE, _BACKSLASH, _COLON, _SLASH, _DASH, _PLUS = 32, 34, 92, 58, 47, 45, 43
_OPEN, _CLOSE, _PERCENT, _ASKS, _AND, _IS, _HASH, _POINT = 91, 93, 37, 63, 38, 61, 35, 46
_ZERO, _NINE, _A, _Z = 48, 57, 65, 90
_MONTHS = np.frombuffer(b"JanFebMarAprMayJunJulAugSepOctNovDec", np.uint8)
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)
_BEFORE = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334], np.int64)
_LATEST_ZONE = 14
NO_TIME = np.int64(-(2**62))


@inner
def _token(data: Bytes, at: int, end: int) -> int:
    """Where the next space is; before `at` if there is none, or what is there is empty or no plain text."""
    first = at
    while at < end and data[at] != _SPACE:
        if data[at] < _SPACE:
            return -1
        at += 1
    return at if first < at < end else -1


@inner
def _quoted(data: Bytes, at: int, end: int) -> int:
    """Where the quote is that ends what begins behind the one at `at`; -1 if none does plainly."""
    if at >= end or data[at] != _QUOTE:
        return -1
    at += 1
    while at < end and data[at] != _QUOTE:
        if data[at] < _SPACE or data[at] == _BACKSLASH:
            return -1
        at += 1
    return at if at < end else -1


@inner
def _two(data: Bytes, at: int) -> int:
    """Two digits; a large number if they are none."""
    if data[at] < _ZERO or data[at] > _NINE or data[at + 1] < _ZERO or data[at + 1] > _NINE:
        return 10_000
    return int(data[at] - _ZERO) * 10 + int(data[at + 1] - _ZERO)


@inner
def _micros(data: Bytes, at: int) -> np.int64:
    """The moment that a time such as 04/Mar/2006:15:39:22 +0000 names; NO_TIME if it is not of this shape."""
    day, hour, minute, second = _two(data, at), _two(data, at + 12), _two(data, at + 15), _two(data, at + 18)
    century, rest = _two(data, at + 7), _two(data, at + 9)
    away, further = _two(data, at + 22), _two(data, at + 24)
    month = -1
    for one in range(12):
        if (
            data[at + 3] == _MONTHS[3 * one]
            and data[at + 4] == _MONTHS[3 * one + 1]
            and data[at + 5] == _MONTHS[3 * one + 2]
        ):
            month = one
    if month < 0 or century > 99 or rest > 99 or hour > 23 or minute > 59 or second > 59 or further > 59:
        return NO_TIME
    if data[at + 2] != _SLASH or data[at + 6] != _SLASH or data[at + 11] != _COLON or data[at + 14] != _COLON:
        return NO_TIME
    if data[at + 17] != _COLON or data[at + 20] != _SPACE or away > _LATEST_ZONE:
        return NO_TIME
    sign = data[at + 21]
    year = century * 100 + rest
    leap = (year % 4 == 0 and year % 100 != 0) or year % 400 == 0
    most = _DAYS[month] + (1 if leap and month == 1 else 0)
    if sign not in (_PLUS, _DASH) or day < 1 or day > most or year < 1001 or year > 9998:
        return NO_TIME
    past = year - 1
    days = past * 365 + past // 4 - past // 100 + past // 400 - 719_162
    days += _BEFORE[month] + (1 if leap and month > 1 else 0) + day - 1
    zone = away * 60 + further
    if sign == _DASH:
        zone = -zone
    seconds = np.int64(days) * 86_400 + hour * 3600 + (minute - zone) * 60 + second
    return seconds * 1_000_000


@inner
def _hex(byte: int) -> int:
    if _ZERO <= byte <= _NINE:
        return byte - _ZERO
    byte |= 32
    return byte - 87 if 97 <= byte <= 102 else -1


@inner
def _decoded(data: Bytes, at: int, end: int) -> int:
    """The length of a value once it is decoded; -1 if it is not plainly text."""
    length = 0
    # Bytes of a letter that are to come, and between which values the next one is.
    more, least, most = 0, 0x80, 0xBF
    while at < end:
        byte = int(data[at])
        if byte == _PERCENT:
            if at + 2 >= end:
                return -1
            high, low = _hex(data[at + 1]), _hex(data[at + 2])
            if high < 0 or low < 0:
                return -1
            byte = high * 16 + low
            at += 2
        at += 1
        length += 1
        if more:
            if byte < least or byte > most:
                return -1
            least, most = 0x80, 0xBF
            more -= 1
        elif byte < 0x80:
            if byte < _SPACE:
                return -1
        elif 0xC2 <= byte <= 0xDF:
            more = 1
        elif 0xE0 <= byte <= 0xEF:
            more = 2
            least, most = (0xA0 if byte == 0xE0 else 0x80), (0x9F if byte == 0xED else 0xBF)
        elif 0xF0 <= byte <= 0xF4:
            more = 3
            least, most = (0x90 if byte == 0xF0 else 0x80), (0x8F if byte == 0xF4 else 0xBF)
        else:
            return -1  # not UTF-8
    return -1 if more else length


@inner
def _value(data: Bytes, at: int, end: int, names: Bytes, ends: Whole) -> int:
    """Where the first of these parameters has its value; -1 if a request has none of them."""
    while at < end:
        if data[at] == _ASKS or data[at] == _AND:
            start = 0
            for number in range(len(ends)):
                size = ends[number] - start
                if at + 1 + size < end and data[at + 1 + size] == _IS:
                    same = True
                    for place in range(size):
                        if data[at + 1 + place] != names[start + place]:
                            same = False
                            break
                    if same:
                        return int(at + size + 2)
                start = ends[number]
        at += 1
    return -1


@inner
def _target_end(data: Bytes, at: int, end: int) -> int:
    """Where the target of a request ends, before the version or at the end; -1 if there is a space inside."""
    space = at
    while space < end and data[space] != _SPACE:
        space += 1
    if space == end:
        return end
    if end - space < 7 or data[space + 1] != 72 or data[space + 2] != 84 or data[space + 3] != 84:
        return -1
    if data[space + 4] != 80 or data[space + 5] != _SLASH:
        return -1
    for place in range(space + 6, end):
        if (data[place] < _ZERO or data[place] > _NINE) and data[place] != _POINT:
            return -1
    return space


@unlocked
def take_apart(  # noqa: PLR0912, PLR0915 (one way through a line, with many exits)
    data: Bytes,
    offsets: Numbers,
    sure: Flags,
    names: Bytes,
    ends: Whole,
    kinds: Bytes,
    micros: Whole,
    starts: Whole,
    lengths: Numbers,
    decoded: Numbers,
) -> None:
    """For each line that is sure: what kind it is, when it was, and where its parts are.

    `names` holds the parameters of a query one after the other, each up to its place in `ends`.
    """
    for row in range(len(sure)):
        if not sure[row]:
            continue
        at, end = int(offsets[row]), int(offsets[row + 1])
        first = _token(data, at, end)
        if first < 0:
            continue
        colons = 0
        for place in range(at, first):
            colons += data[place] == _COLON
        second = _token(data, first + 1, end)
        third = _token(data, second + 1, end) if second >= 0 else -1
        # One colon may be that of a virtual host's port, which stands before the address.
        if third < 0 or colons == 1 or third + CLOCK + 4 > end or data[third + 1] != _OPEN:
            continue
        clock = third + 2
        if data[clock + CLOCK] != _CLOSE or data[clock + CLOCK + 1] != _SPACE:
            continue
        moment = _micros(data, clock)
        start = clock + CLOCK + 2
        last = _quoted(data, start, end)
        if moment == NO_TIME or last < 0 or last + 6 > end or data[last + 1] != _SPACE:
            continue
        status = last + 2
        if _two(data, status) > 99 or data[status + 2] < _ZERO or data[status + 2] > _NINE:
            continue
        if data[status + 3] != _SPACE:
            continue
        # The size is a word up to a space, or to the end of the line.
        size = status + 4
        after = size
        while after < end and data[after] > _SPACE:
            after += 1
        if after == size or (after < end and data[after] != _SPACE):
            continue
        agent, agent_end = end, end
        if after < end:
            referrer = _quoted(data, after + 1, end)
            if referrer < 0 or referrer + 2 >= end or data[referrer + 1] != _SPACE:
                continue
            agent = referrer + 3
            agent_end = _quoted(data, referrer + 2, end)
            if agent_end < 0:
                continue
        method = start + 1
        place = method
        while place < last and _A <= data[place] <= _Z:
            place += 1
        if place == method or place >= last or data[place] != _SPACE:
            continue
        target = place + 1
        target_end = _target_end(data, target, last)
        if target_end < 0:
            continue
        get = place - method == 3 and data[method] == 71 and data[method + 1] == 69 and data[method + 2] == 84
        post = (
            place - method == 4
            and data[method] == 80
            and data[method + 1] == 79
            and data[method + 2] == 83
            and data[method + 3] == 84
        )
        value = _value(data, target, target_end, names, ends) if get or post else -1
        if value < 0:
            kinds[row] = OTHER
            continue
        bad = 51 <= data[status] <= 53
        if bad and not (data[status] == 51 and data[status + 1] == _ZERO and data[status + 2] == 52):
            kinds[row] = FAILED
            continue
        value_end = value
        while value_end < target_end and data[value_end] != _AND and data[value_end] != _HASH:
            value_end += 1
        length = _decoded(data, value, value_end)
        if length < 0:
            continue
        kinds[row] = SEARCH
        micros[row] = moment
        decoded[row] = length
        starts[IP, row], lengths[IP, row] = at, first - at
        starts[NAME, row], lengths[NAME, row] = second + 1, third - second - 1
        starts[AGENT, row], lengths[AGENT, row] = agent, agent_end - agent
        starts[QUERY, row], lengths[QUERY, row] = value, value_end - value


@unlocked
def write_decoded(data: Bytes, starts: Whole, offsets: Numbers, into: Bytes) -> None:
    """Decode the values that begin at `starts`; `offsets` says where each one goes, and so how long it is."""
    for row in range(len(starts)):
        at = starts[row]
        for place in range(offsets[row], offsets[row + 1]):
            byte = data[at]
            if byte == _PERCENT:
                into[place] = _hex(data[at + 1]) * 16 + _hex(data[at + 2])
                at += 3
            else:
                into[place] = _SPACE if byte == _PLUS else byte
                at += 1
