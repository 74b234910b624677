"""The loops that find what somebody typed in lines of a slow log, compiled.

Followed are lines in the plain format, and searches in the grammar of RFC 8259 to the letter in which only one clause
holds a text. Of all others the loops say nothing, and somebody else must read them. A text is
`data[starts[i]:starts[i] + lengths[i]]`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import inner, unlocked

Bytes = npt.NDArray[np.uint8]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

UNSURE, FETCH, WORDLESS, SEARCH = range(4)
"""What a line is: not plain, of the fetch phase, a search without words, a search."""
TIME, USER, SOURCE, QUERY = range(4)
"""Rows of the tables of places. The length of a query with backslashes in it is below zero."""
DEEPEST = 16
_LONGEST_NUMBER = 1000
_SPACE, _QUOTE, _BACKSLASH, _COLON, _COMMA = 32, 34, 92, 58, 44
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = 123, 125, 91, 93
_ZERO, _NINE, _MINUS, _POINT, _UNDERSCORE = 48, 57, 45, 46, 95
_CLOCK = 23
_SOURCE = np.frombuffer(b"source[", np.uint8)
_ID = np.frombuffer(b"], id[", np.uint8)
_OF_QUERY, _OF_FETCH = np.frombuffer(b"slowlog.query", np.uint8), np.frombuffer(b"slowlog.fetch", np.uint8)
_IN_FETCH = np.frombuffer(b".fetch", np.uint8)
_TRUE, _FALSE, _NULL = (np.frombuffer(word, np.uint8) for word in (b"true", b"false", b"null"))
_TYPED = np.frombuffer(b"query", np.uint8)
_FIRST_KEY, _KEY, _VALUE, _FIRST_ELEMENT, _BEHIND = range(5)
_BROKEN = -1


@inner
def _is_at(data: Bytes, at: int, end: int, word: Bytes) -> bool:
    if at + len(word) > end:
        return False
    for place in range(len(word)):  # noqa: SIM110 (the compiler knows no generators)
        if data[at + place] != word[place]:
            return False
    return True


@inner
def _is_clause(data: Bytes, at: int, length: int, clauses: Bytes, ends: Whole) -> bool:
    """Whether this key is the name of a clause that holds words."""
    first = 0
    for last in ends:
        if last - first == length and _is_at(data, at, at + length, clauses[first:last]):
            return True
        first = last
    return False


@inner
def _end_of_word(data: Bytes, at: int, end: int) -> int:
    """Behind letters, digits, underscores and points."""
    while at < end and (
        97 <= (data[at] | 32) <= 122
        or _ZERO <= data[at] <= _NINE
        or data[at] == _UNDERSCORE
        or data[at] == _POINT
    ):
        at += 1
    return at


@inner
def _logger(data: Bytes, at: int, end: int) -> int:  # noqa: PLR0911 (one exit for each doubt)
    """What a line is by how it begins, [time][LEVEL][logger]: of the fetch phase, a search, or not sure."""
    level = at + _CLOCK + 3
    if (
        level + 4 > end
        or data[at] != _OPEN_LIST
        or data[level - 2] != _CLOSE_LIST
        or data[level - 1] != _OPEN_LIST
    ):
        return UNSURE
    behind = level
    while behind < end and (65 <= data[behind] <= 90 or data[behind] == _SPACE):
        behind += 1
    name = behind + 2
    if (
        not 4 <= behind - level <= 6
        or name >= end
        or data[behind] != _CLOSE_LIST
        or data[behind + 1] != _OPEN_LIST
    ):
        return UNSURE
    last = _end_of_word(data, name, end)
    if last >= end or data[last] != _CLOSE_LIST or last - name < len(_OF_QUERY):
        return UNSURE
    for place in range(at + 1, at + 1 + _CLOCK):
        # What may stand in a time: digits, T, Z, and : , . + - and spaces.
        byte = data[place]
        if not (_ZERO <= byte <= _COLON or byte in (84, 90, _COMMA, _POINT, 43, _MINUS, _SPACE)):
            return UNSURE
    if _is_at(data, last - len(_OF_FETCH), last, _OF_FETCH):
        return FETCH
    if not _is_at(data, last - len(_OF_QUERY), last, _OF_QUERY):
        return UNSURE
    for place in range(name, last):
        if data[place] == _POINT and _is_at(data, place, last, _IN_FETCH):
            return UNSURE
    return SEARCH


@unlocked
def take_lines_apart(
    data: Bytes, offsets: Numbers, sure: Flags, kinds: Bytes, starts: Whole, lengths: Numbers
) -> None:
    """For each line that is sure: what kind it is, and where time, user and the search that was sent are."""
    for row in range(len(sure)):
        if not sure[row]:
            continue
        first, end = int(offsets[row]), int(offsets[row + 1])
        kind = _logger(data, first, end)
        if kind == UNSURE:
            continue
        at = first
        while at < end and not (data[at] == _SOURCE[0] and _is_at(data, at, end, _SOURCE)):
            at += 1
        if at >= end:
            continue
        if kind == FETCH:
            kinds[row] = FETCH
            continue
        source = at + len(_SOURCE)
        # The search may hold any characters; the fields behind it are few.
        last = end - len(_ID)
        while last >= source and not (data[last] == _ID[0] and _is_at(data, last, end, _ID)):
            last -= 1
        if last < source:
            continue
        user = last + len(_ID)
        user_end = user
        while user_end < end and data[user_end] != _CLOSE_LIST:
            user_end += 1
        kinds[row] = SEARCH
        starts[TIME, row], lengths[TIME, row] = first + 1, _CLOCK
        starts[USER, row], lengths[USER, row] = user, user_end - user
        starts[SOURCE, row], lengths[SOURCE, row] = source, last - source


@inner
def _end_of_text(data: Bytes, at: int, end: int, escaped: Flags) -> int:
    """Where the quote is that ends a string; broken if it holds what needs care. Says whether a backslash is in it."""
    escaped[0] = False
    while at < end:
        byte = data[at]
        if byte == _QUOTE:
            return at
        if byte < _SPACE:
            return _BROKEN
        if byte == _BACKSLASH:
            length = _escape(data, at, end)
            if length == 0:
                return _BROKEN
            escaped[0] = True
            at += length
        else:
            at += 1
    return _BROKEN


@inner
def _escape(data: Bytes, at: int, end: int) -> int:
    """How long the escape at `at` is; 0 if it stands for a control or for half of a letter, or is none."""
    if at + 2 > end:
        return 0
    if data[at + 1] in (_QUOTE, _BACKSLASH, 47):
        return 2
    if data[at + 1] != 117 or at + 6 > end:
        return 0
    code = 0
    for place in range(at + 2, at + 6):
        byte = int(data[place])
        if _ZERO <= byte <= _NINE:
            code = 16 * code + byte - _ZERO
        elif 97 <= (byte | 32) < 103:
            code = 16 * code + (byte | 32) - 87
        else:
            return 0
    return 6 if _SPACE <= code < 0xD800 or code >= 0xE000 else 0


@inner
def _end_of_number(data: Bytes, at: int, end: int) -> int:
    """Behind a number without an exponent, as short as any is; broken if it is none."""
    begun = at
    if data[at] == _MINUS:
        at += 1
    first = at
    while at < end and _ZERO <= data[at] <= _NINE:
        at += 1
    if at == first or (data[first] == _ZERO and at > first + 1) or at - begun > _LONGEST_NUMBER:
        return _BROKEN
    if at < end and data[at] == _POINT:
        at += 1
        first = at
        while at < end and _ZERO <= data[at] <= _NINE:
            at += 1
        if at == first:
            return _BROKEN
    return at


@inner
def _end_of_simple(data: Bytes, at: int, end: int, escaped: Flags) -> int:
    """Behind a string, a number, or a word; broken if there is none of them."""
    if data[at] == _QUOTE:
        last = _end_of_text(data, at + 1, end, escaped)
        return last + 1 if last >= 0 else _BROKEN
    if data[at] == _MINUS or _ZERO <= data[at] <= _NINE:
        return _end_of_number(data, at, end)
    if _is_at(data, at, end, _TRUE) or _is_at(data, at, end, _NULL):
        return at + 4
    return at + 5 if _is_at(data, at, end, _FALSE) else _BROKEN


@inner
def _behind_blanks(data: Bytes, at: int, end: int) -> int:
    while at < end and (data[at] == _SPACE or data[at] == 9):
        at += 1
    return at


@inner
def _clause(  # noqa: PLR0911, PLR0912 (one machine of few states)
    data: Bytes, at: int, end: int, clauses: Bytes, ends: Whole, lists: Flags, keys: Whole, escaped: Flags
) -> int:
    """Where the value of the only clause begins that holds words; 0 if there is no clause, broken if it needs care."""
    depth, state, clause, alive = 0, _FIRST_KEY, 0, -1
    lists[0] = False
    while True:
        at = _behind_blanks(data, at, end)
        if at >= end:
            return _BROKEN
        byte = data[at]
        if state == _BEHIND:
            if byte == _COMMA:
                state = _VALUE if lists[depth] else _KEY
            elif byte == (_CLOSE_LIST if lists[depth] else _CLOSE):
                depth -= 1
                alive = min(alive, depth)
            else:
                return _BROKEN
            at += 1
            if depth < 0:
                return clause if at == end else _BROKEN
        elif state == _KEY or (state == _FIRST_KEY and byte != _CLOSE):
            last = _end_of_text(data, at + 1, end, escaped) if byte == _QUOTE else _BROKEN
            if last < 0 or escaped[0]:
                return _BROKEN
            start, length = at + 1, last - at - 1
            named = _is_clause(data, start, length, clauses, ends)
            at = _behind_blanks(data, last + 1, end)
            if at >= end or data[at] != _COLON:
                return _BROKEN
            at += 1
            if clause == 0:
                keys[depth, 0], keys[depth, 1] = start, length
                if named:
                    clause, alive = at, depth
            elif named or (depth <= alive and _same(data, start, length, keys[depth, 0], keys[depth, 1])):
                return (
                    _BROKEN  # which of two clauses counts, or of two values on the way, is for others to say
                )
            state = _VALUE
        elif state == _FIRST_KEY or (state == _FIRST_ELEMENT and byte == _CLOSE_LIST):
            state = _BEHIND  # nothing inside: the next step closes it
        elif byte in (_OPEN, _OPEN_LIST):
            if depth == DEEPEST:
                return _BROKEN
            depth += 1
            lists[depth] = byte == _OPEN_LIST
            state = _FIRST_ELEMENT if lists[depth] else _FIRST_KEY
            at += 1
        else:
            at = _end_of_simple(data, at, end, escaped)
            if at < 0:
                return _BROKEN
            state = _BEHIND


@inner
def _same(data: Bytes, at: int, length: int, other: int, other_length: int) -> bool:
    return length == other_length and _is_at(data, at, at + length, data[other : other + other_length])


@inner
def _behind_value(data: Bytes, at: int, end: int, escaped: Flags) -> int:
    """Behind a value of a text that is known to be JSON."""
    depth = 0
    while True:
        byte = data[at]
        if byte == _QUOTE:
            at = _end_of_text(data, at + 1, end, escaped)
        elif byte in (_OPEN, _OPEN_LIST):
            depth += 1
        elif byte in (_CLOSE, _CLOSE_LIST):
            if depth == 0:
                return at  # a number or a word was the last thing inside
            depth -= 1
        elif byte == _COMMA and depth == 0:
            return at
        at += 1
        if depth == 0 and byte in (_QUOTE, _CLOSE, _CLOSE_LIST):
            return at


@inner
def _words(data: Bytes, at: int, end: int, escaped: Flags) -> int:
    """Where the words of a clause begin whose value is at `at`, of a text that is JSON for sure; broken if unsure."""
    for _ in range(DEEPEST):
        at = _behind_blanks(data, at, end)
        if data[at] == _QUOTE:
            return at
        if data[at] != _OPEN:
            return _BROKEN
        at += 1
        fields, asked, value, first = 0, 0, -1, -1
        while True:
            at = _behind_blanks(data, at, end)
            if data[at] == _CLOSE:
                break
            if data[at] == _COMMA:
                at += 1
                continue
            start = at + 1
            last = _end_of_text(data, start, end, escaped)
            at = _behind_blanks(data, _behind_blanks(data, last + 1, end) + 1, end)
            fields += 1
            first = at if first < 0 else first
            if last - start == len(_TYPED) and _is_at(data, start, last, _TYPED):
                asked += 1
                value = at
            at = _behind_value(data, at, end, escaped)
        if asked == 1 and data[value] == _QUOTE:
            return value
        if fields != 1:
            return _BROKEN
        at = first
    return _BROKEN


@unlocked
def find_words(
    data: Bytes, clauses: Bytes, ends: Whole, kinds: Bytes, starts: Whole, lengths: Numbers
) -> None:
    """For each search: where the words are that somebody typed, or that there are none; unsure what is not plain.

    `clauses` are the names of those that hold words, one after the other. Plain is a search with one of them at most.
    Its value is a text; or an object whose own `query` is a text, or with one field alone, which is such a text or
    such an object in turn.
    """
    escaped, lists = np.zeros(1, np.bool_), np.zeros(DEEPEST + 1, np.bool_)
    keys = np.zeros((DEEPEST + 1, 2), np.int64)
    for row in range(len(kinds)):
        if kinds[row] != SEARCH:
            continue
        kinds[row] = UNSURE
        at, end = int(starts[SOURCE, row]), int(starts[SOURCE, row] + lengths[SOURCE, row])
        if at >= end or data[at] != _OPEN:
            continue
        clause = _clause(data, at + 1, end, clauses, ends, lists, keys, escaped)
        if clause == 0:
            kinds[row] = WORDLESS
        if clause <= 0:
            continue
        words = _words(data, clause, end, escaped)
        if words < 0:
            continue
        kinds[row] = SEARCH
        last = _end_of_text(data, words + 1, end, escaped)
        starts[QUERY, row] = words + 1
        lengths[QUERY, row] = -(last - words - 1) if escaped[0] else last - words - 1
