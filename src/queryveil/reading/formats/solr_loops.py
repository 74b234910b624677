"""The loop that takes requests of Solr apart, compiled: lines as Solr writes them.

Of lines of any other kind the loop says nothing, and somebody else must read them. Texts stand one after the other in
`data`, as in Arrow's arrays: text i is `data[offsets[i]:offsets[i + 1]]`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import inner, unlocked

Bytes = npt.NDArray[np.uint8]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

UNSURE, OTHER, SHARD, ALL, SEARCH = range(5)
"""What a line is: not plain, no request or one without a query, one between shards, one for everything, a search."""
TIME, USER, QUERY = range(3)
"""Rows of the tables of places."""
_SPACE, _AND, _CLOSE, _OPEN_LIST = 32, 38, 125, 91
_ZERO, _NINE, _POINT, _COMMA, _T, _Z = 48, 57, 46, 44, 84, 90
_CLOCK = np.frombuffer(b"0000-00-00 00:00:00.000", np.uint8)
_PATH = np.frombuffer(b"path=", np.uint8)
_PARAMS = np.frombuffer(b" params={", np.uint8)
_BETWEEN_SHARDS = np.frombuffer(b"isShard=truedistrib=false", np.uint8)
_OF_SHARDS = np.array([12, 25], np.int64)
_EVERYTHING = np.frombuffer(b"*:**%2A:%2A*%3A*%2A%3A%2A", np.uint8)
_OF_EVERYTHING = np.array([3, 4, 11, 16, 25], np.int64)


@inner
def _is_at(data: Bytes, at: int, end: int, word: Bytes) -> bool:
    if at + len(word) > end:
        return False
    for place in range(len(word)):  # noqa: SIM110 (the compiler knows no generators)
        if data[at + place] != word[place]:
            return False
    return True


@inner
def _among(data: Bytes, at: int, length: int, words: Bytes, ends: Whole) -> bool:
    begin = 0
    for number in range(len(ends)):
        if ends[number] - begin == length and _is_at(data, at, at + length, words[begin : ends[number]]):
            return True
        begin = ends[number]
    return False


@inner
def _clock(data: Bytes, at: int, end: int) -> int:
    """Behind a time to the millisecond; -1 if there is none, or one with more digits."""
    if at + len(_CLOCK) >= end:
        return -1
    for place in range(len(_CLOCK)):
        byte, mark = data[at + place], _CLOCK[place]
        if mark == _ZERO:
            good = _ZERO <= byte <= _NINE
        elif mark == _SPACE:
            good = byte in (_SPACE, _T)
        else:
            good = byte == mark or (mark == _POINT and byte == _COMMA)
        if not good:
            return -1
    last = at + len(_CLOCK)
    if _ZERO <= data[last] <= _NINE:
        return -1
    return last + 1 if data[last] == _Z else last


@inner
def _begins_word(data: Bytes, at: int, first: int) -> bool:
    """Whether no letter, digit or underscore stands before this place."""
    if at == first:
        return True
    byte = data[at - 1]
    letter = 97 <= (byte | 32) <= 122 or _ZERO <= byte <= _NINE or byte == 95
    return not letter


@inner
def _params(data: Bytes, at: int, end: int) -> int:
    """Where the parameters of a request begin; -1 if there are none, -2 if they must be looked for with care."""
    first, place = at, at
    while place < end and not (data[place] == _SPACE and _is_at(data, place, end, _PARAMS)):
        place += 1
    if place >= end:
        return -1
    path = first
    while path < place and not (data[path] == _PATH[0] and _is_at(data, path, place, _PATH)):
        path += 1
    if path + len(_PATH) >= place or not _begins_word(data, path, first):
        return -2
    for inside in range(path + len(_PATH), place):
        if data[inside] <= _SPACE:
            return -2
    return int(place + len(_PARAMS))


@unlocked
def take_requests_apart(  # noqa: PLR0912 (one way through a line, with many exits)
    data: Bytes,
    offsets: Numbers,
    sure: Flags,
    names: Bytes,
    ends: Whole,
    user: Bytes,
    kinds: Bytes,
    starts: Whole,
    lengths: Numbers,
) -> None:
    """For each line that is sure: what kind it is, and where time, user and query are as they are written.

    `names` holds the parameters of a query one after the other, each up to its place in `ends`; `user` is that of the
    user.
    """
    for row in range(len(sure)):
        if not sure[row]:
            continue
        first, end = int(offsets[row]), int(offsets[row + 1])
        at = _params(data, first, end)
        if at == -1:
            kinds[row] = OTHER
        if at < 0:
            continue
        last = end - 1
        while last >= at and data[last] != _CLOSE:
            last -= 1
        if last < at:
            continue
        query, query_end, who, who_end, shard = -1, -1, -1, -1, False
        while at <= last:
            # One parameter: its name up to the first sign that can end it, and its value behind that.
            stop = at
            while stop < last and data[stop] != _AND:
                stop += 1
            equals = at
            while equals < stop and data[equals] != 61:
                equals += 1
            if equals < stop:
                if query < 0 and _among(data, at, equals - at, names, ends):
                    query, query_end = equals + 1, stop
                if who < 0 and equals - at == len(user) and _is_at(data, at, equals, user):
                    who, who_end = equals + 1, stop
                shard = shard or _among(data, at, stop - at, _BETWEEN_SHARDS, _OF_SHARDS)
            at = stop + 1
        if query < 0:
            kinds[row] = OTHER
        elif shard:
            kinds[row] = SHARD
        elif _among(data, query, query_end - query, _EVERYTHING, _OF_EVERYTHING):
            kinds[row] = ALL
        else:
            clock = first + 1 if data[first] == _OPEN_LIST else first
            behind = _clock(data, clock, end)
            if behind >= 0 and who >= 0:
                kinds[row] = SEARCH
                starts[TIME, row], lengths[TIME, row] = clock, behind - clock
                starts[USER, row], lengths[USER, row] = who, who_end - who
                starts[QUERY, row], lengths[QUERY, row] = query, query_end - query
