"""The loops that find values in lines of JSON, compiled.

Only lines of a plain kind are followed: objects without escapes, in the grammar of RFC 8259 to the letter. Of all
others the loops say nothing, and somebody else must read them. Texts stand one after the other in `data`, as in
Arrow's arrays: text i is `data[offsets[i]:offsets[i + 1]]`.
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
_FIRST, _LENGTH = 37, 13
_BROKEN = -1


@inner
def _behind_blanks(data: Bytes, at: int, end: int) -> int:
    while at < end and (data[at] == _SPACE or data[at] == _TAB):
        at += 1
    return at


@inner
def _end_of_text(data: Bytes, at: int, end: int) -> int:
    """Where the quote is that ends a string whose first letter is at `at`; broken if it holds what needs care."""
    while at < end:
        byte = data[at]
        if byte == _QUOTE:
            return at
        if byte == _BACKSLASH or byte < _SPACE:
            return _BROKEN
        at += 1
    return _BROKEN


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
def _end_of_simple(data: Bytes, at: int, end: int) -> int:
    """Behind a string, a number, or a word; broken if there is none of them."""
    byte = data[at]
    if byte == _QUOTE:
        last = _end_of_text(data, at + 1, end)
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
    The node that edge e leads to is e + 1; node 0 is the document. `table` finds edges by their names.
    """
    columns = len(starts)
    best = np.empty(columns, np.int64)
    seen = np.full(len(edges) + 1, -1, np.int64)
    nodes = np.empty(DEEPEST + 1, np.int64)
    lists = np.empty(DEEPEST + 1, np.bool_)
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
                last = _end_of_text(data, at + 1, end) if byte == _QUOTE else _BROKEN
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
                last = _end_of_simple(data, at, end)
                if last < 0:
                    break
                if node >= 0 and edges[node - 1, 3] >= 0:
                    kind = _kind_at(data, at, last)
                    quote = 1 if kind == TEXT else 0
                    _noted(
                        kind, at + quote, last - at - 2 * quote, edges[node - 1, 3], edges[node - 1, 4], row,
                        best, starts, lengths, kinds,
                    )  # fmt: skip
                at = last
                state = _BEHIND
