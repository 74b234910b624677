"""The loops that find values in lines of JSON, compiled.

Only lines of a plain kind are followed: objects in the grammar of RFC 8259 to the letter, without escapes in keys, and
without those of controls in values. Of all others the loops say nothing, and somebody else must read them. Texts stand
one after the other in `data`, as in Arrow's arrays: text i is `data[offsets[i]:offsets[i + 1]]`.
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

ABSENT, NOTHING, TEXT, NUMBER, OBJECT, OTHER = range(6)
"""What stands at a place: no such key, null, a string, a short whole number, an object, anything else."""
DEEPEST = 16
_LONGEST_NUMBER = 15
"""Digits that every program writes as they were read."""
_FIRST_KEY, _KEY, _VALUE, _FIRST_ELEMENT, _BEHIND = range(5)
_SPACE, _TAB, _QUOTE, _BACKSLASH, _COLON, _COMMA = 32, 9, 34, 92, 58, 44
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = 123, 125, 91, 93
_ZERO, _NINE, _MINUS, _POINT = 48, 57, 45, 46
_TRUE, _FALSE, _NULL = 116, 102, 110
_SLASH, _U, _A = 47, 117, 97
_HIGH, _LOW, _BEYOND = 0xD800, 0xDC00, 0xE000
"""Codes of halves of letters: the first half, the second, and what is behind them."""
_QUOTES, _BACKSLASHES = np.uint64(0x2222222222222222), np.uint64(0x5C5C5C5C5C5C5C5C)
_SPACES, _ONES = np.uint64(0x2020202020202020), np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)
_FIRST, _LENGTH = 37, 13
_BROKEN = -1


@inner
def _behind_blanks(data: Bytes, at: int, end: int) -> int:
    while at < end and (data[at] == _SPACE or data[at] == _TAB):
        at += 1
    return at


@inner
def _end_of_text(data: Bytes, at: int, end: int) -> int:
    """Where a string whose first letter is at `at` ends, or the first byte in it that needs care; broken if nowhere."""
    while at + 8 <= end:
        # Unsigned, or the compiler would not make one step of it.
        place, word = np.uintp(at), np.uint64(0)
        for step in range(8):
            word |= np.uint64(data[place + np.uintp(step)]) << np.uint64(8 * step)
        # Bytes that are looked for become zero; below a zero, taking one away borrows. Bytes below a space, alike.
        quotes, slashes = word ^ _QUOTES, word ^ _BACKSLASHES
        found = ((quotes - _ONES) & ~quotes) | ((slashes - _ONES) & ~slashes) | ((word - _SPACES) & ~word)
        if found & _TOPS:
            break
        at += 8
    while at < end:
        byte = data[np.uintp(at)]
        if byte in (_QUOTE, _BACKSLASH) or byte < _SPACE:
            return at
        at += 1
    return _BROKEN


@inner
def _end_of_key(data: Bytes, at: int, end: int) -> int:
    """Where the quote is that ends a key; broken if it holds what needs care."""
    last = _end_of_text(data, at, end)
    return last if last >= 0 and data[last] == _QUOTE else _BROKEN


@inner
def _code(data: Bytes, at: int, end: int) -> int:
    """The code of four hexadecimal digits; broken if they are none."""
    if at + 4 > end:
        return _BROKEN
    code = 0
    for place in range(at, at + 4):
        byte = int(data[place])
        if _ZERO <= byte <= _NINE:
            digit = byte - _ZERO
        elif _A <= (byte | 32) < _A + 6:
            digit = (byte | 32) - _A + 10
        else:
            return _BROKEN
        code = 16 * code + digit
    return code


@inner
def _letter(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The code of the letter for which a backslash at `at` stands, and where it ends; broken if it needs care."""
    if at + 2 > end:
        return _BROKEN, at
    byte = int(data[at + 1])
    if byte in (_QUOTE, _BACKSLASH, _SLASH):
        return byte, at + 2
    if byte != _U:
        return _BROKEN, at
    code = _code(data, at + 2, end)
    if _HIGH <= code < _LOW and at + 12 <= end and data[at + 6] == _BACKSLASH and data[at + 7] == _U:
        low = _code(data, at + 8, end)
        if _LOW <= low < _BEYOND:
            return 0x10000 + ((code - _HIGH) << 10) + (low - _LOW), at + 12
    if code < _SPACE or _HIGH <= code < _BEYOND:
        return _BROKEN, at
    return code, at + 6


@inner
def _end_of_value(data: Bytes, at: int, end: int, escaped: Flags) -> int:
    """Where the quote is that ends a string; broken if it holds what needs care. Says whether a backslash is in it."""
    escaped[0] = False
    while True:
        at = _end_of_text(data, at, end)
        if at < 0 or data[at] == _QUOTE:
            return at
        code, at = _letter(data, at, end)
        if code < 0:
            return _BROKEN
        escaped[0] = True


@inner
def _bytes_of(code: int) -> int:
    """How many bytes a letter takes in UTF-8."""
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


@unlocked
def measure_unescaped(data: Bytes, starts: Whole, lengths: Numbers, sizes: Whole) -> None:
    """How many bytes each of these texts with backslashes will have without them."""
    for text in range(len(starts)):
        at, end, size = int(starts[text]), int(starts[text] + lengths[text]), 0
        while at < end:
            if data[at] == _BACKSLASH:
                code, at = _letter(data, at, end)
                size += _bytes_of(code)
            else:
                at += 1
                size += 1
        sizes[text] = size


@unlocked
def write_unescaped(data: Bytes, starts: Whole, lengths: Numbers, places: Whole, into: Bytes) -> None:
    """Write these texts, each to its place, with letters instead of what stands for them."""
    for text in range(len(starts)):
        at, end, place = int(starts[text]), int(starts[text] + lengths[text]), int(places[text])
        while at < end:
            if data[at] != _BACKSLASH:
                into[place] = data[at]
                at += 1
                place += 1
                continue
            code, at = _letter(data, at, end)
            size = _bytes_of(code)
            if size == 1:
                into[place] = code
            else:
                # The first byte has a bit for each byte, the others six bits of the code each.
                into[place] = ((0xF00 >> size) & 0xFF) | (code >> (6 * (size - 1)))
                for behind in range(1, size):
                    into[place + behind] = 0x80 | ((code >> (6 * (size - 1 - behind))) & 0x3F)
            place += size


@inner
def _end_of_number(data: Bytes, at: int, end: int) -> int:
    """Behind a number without an exponent; broken if it is none."""
    if data[at] == _MINUS:
        at += 1
    first = at
    while at < end and _ZERO <= data[at] <= _NINE:
        at += 1
    if at == first or (data[first] == _ZERO and at > first + 1):
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
def _is_word(data: Bytes, at: int, end: int, second: int, third: int, fourth: int) -> bool:
    return at + 4 <= end and data[at + 1] == second and data[at + 2] == third and data[at + 3] == fourth


@inner
def _child(data: Bytes, at: int, end: int, node: int, table: Whole, edges: Whole, keys: Bytes) -> int:
    """The node to which a key leads; -1 if nobody asked for it."""
    slot = node
    if end > at:
        slot += (data[at] * _FIRST + data[end - 1]) * _LENGTH + (end - at)
    slot &= len(table) - 1
    while table[slot] >= 0:
        edge = table[slot]
        if edges[edge, 0] == node and edges[edge, 2] == end - at:
            start = edges[edge, 1]
            same = True
            for place in range(end - at):
                if data[at + place] != keys[start + place]:
                    same = False
                    break
            if same:
                return int(edge) + 1
        slot = (slot + 1) & (len(table) - 1)
    return -1


@inner
def _kind_at(data: Bytes, at: int, end: int) -> int:
    """What a value is that is neither an object nor a list, by its first byte and its length up to `end`."""
    first = data[at]
    if first == _QUOTE:
        return TEXT
    if first == _NULL:
        return NOTHING
    if first < _ZERO or first > _NINE or end - at > _LONGEST_NUMBER:
        return OTHER
    for place in range(at, end):
        if data[place] == _POINT:
            return OTHER
    return NUMBER


@inner
def _end_of_simple(data: Bytes, at: int, end: int, escaped: Flags) -> int:
    """Behind a string, a number, or a word; broken if there is none of them."""
    byte = data[at]
    if byte == _QUOTE:
        last = _end_of_value(data, at + 1, end, escaped)
        return last + 1 if last >= 0 else _BROKEN
    if byte == _MINUS or _ZERO <= byte <= _NINE:
        return _end_of_number(data, at, end)
    if byte == _TRUE and _is_word(data, at, end, 114, 117, 101):
        return at + 4
    if byte == _NULL and _is_word(data, at, end, 117, 108, 108):
        return at + 4
    if byte == _FALSE and _is_word(data, at, end, 97, 108, 115) and at + 5 <= end and data[at + 4] == 101:
        return at + 5
    return _BROKEN


@inner
def _noted(
    kind: int,
    start: int,
    length: int,
    column: int,
    order: int,
    row: int,
    best: Whole,
    starts: Whole,
    lengths: Numbers,
    kinds: Kinds,
) -> None:
    """Keep a value if it is the first choice so far for its column; what is of no use as a text stays noted."""
    if kind == NOTHING:
        if kinds[column, row] == ABSENT:
            kinds[column, row] = NOTHING
    elif kind in (OBJECT, OTHER):
        kinds[column, row] = kind
        starts[column, row] = start
        best[column] = -1
    elif order < best[column]:
        best[column] = order
        kinds[column, row] = kind
        starts[column, row] = start
        lengths[column, row] = length


@unlocked
def find_values(  # noqa: PLR0912, PLR0915 (one machine of few states)
    data: Bytes,
    offsets: Numbers,
    sure: Flags,
    table: Whole,
    edges: Whole,
    keys: Bytes,
    starts: Whole,
    lengths: Numbers,
    kinds: Kinds,
) -> None:
    """For each line that is sure: where the value of each column is, and what kind it is; unsure what is not plain.

    `edges` has for each key that is asked for: the node that it leaves, where its name is in `keys` and how long it
    is, the column of its value (or -1), which choice it is for it, and whether keys are asked for in its own value.
    The node that edge e leads to is e + 1; node 0 is the document. `table` finds edges by their names. The length of
    a text with backslashes in it is below zero.
    """
    columns = len(starts)
    best = np.empty(columns, np.int64)
    seen = np.full(len(edges) + 1, -1, np.int64)
    nodes = np.empty(DEEPEST + 1, np.int64)
    lists = np.empty(DEEPEST + 1, np.bool_)
    escaped = np.zeros(1, np.bool_)
    for row in range(len(sure)):
        if not sure[row]:
            continue
        at, end = int(offsets[row]), int(offsets[row + 1])
        sure[row] = False
        if at >= end or data[at] != _OPEN:
            continue
        best[:] = 1 << 40
        depth, state, node = 0, _FIRST_KEY, 0
        nodes[0], lists[0] = 0, False
        at += 1
        while True:
            at = _behind_blanks(data, at, end)
            if at >= end:
                break
            byte = data[at]
            if state == _BEHIND:
                if byte == _COMMA:
                    state = _VALUE if lists[depth] else _KEY
                    node = -1
                elif byte == (_CLOSE_LIST if lists[depth] else _CLOSE):
                    depth -= 1
                else:
                    break
                at += 1
                if depth < 0:
                    sure[row] = at == end
                    break
            elif state == _KEY or (state == _FIRST_KEY and byte != _CLOSE):
                last = _end_of_key(data, at + 1, end) if byte == _QUOTE else _BROKEN
                if last < 0:
                    break
                node = -1
                if nodes[depth] >= 0:
                    node = _child(data, at + 1, last, nodes[depth], table, edges, keys)
                    if node >= 0:
                        if seen[node] == row:  # which of two counts is for others to say
                            break
                        seen[node] = row
                at = _behind_blanks(data, last + 1, end)
                if at >= end or data[at] != _COLON:
                    break
                at += 1
                state = _VALUE
            elif state == _FIRST_KEY or (state == _FIRST_ELEMENT and byte == _CLOSE_LIST):
                state = _BEHIND  # nothing inside: the next step closes it
            elif byte in (_OPEN, _OPEN_LIST):
                if depth == DEEPEST:
                    break
                if node >= 0:
                    if byte == _OPEN_LIST and edges[node - 1, 5]:  # a path may lead into a list by a number
                        break
                    if edges[node - 1, 3] >= 0:
                        kind = OBJECT if byte == _OPEN else OTHER
                        _noted(
                            kind,
                            at,
                            0,
                            edges[node - 1, 3],
                            edges[node - 1, 4],
                            row,
                            best,
                            starts,
                            lengths,
                            kinds,
                        )
                depth += 1
                lists[depth] = byte == _OPEN_LIST
                nodes[depth] = -1 if byte == _OPEN_LIST else node
                state = _FIRST_ELEMENT if byte == _OPEN_LIST else _FIRST_KEY
                node = -1
                at += 1
            else:
                last = _end_of_simple(data, at, end, escaped)
                if last < 0:
                    break
                if node >= 0 and edges[node - 1, 3] >= 0:
                    kind = _kind_at(data, at, last)
                    quote = 1 if kind == TEXT else 0
                    length = last - at - 2 * quote
                    length = -length if quote and escaped[0] else length
                    _noted(
                        kind, at + quote, length, edges[node - 1, 3], edges[node - 1, 4], row,
                        best, starts, lengths, kinds,
                    )  # fmt: skip
                at = last
                state = _BEHIND
