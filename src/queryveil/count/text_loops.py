"""The loops that number texts, compiled: a table of texts that compares every byte, and the bound of users.

They run in threads of their own, and hold no lock. Texts stand one after the other in `data`, as in Arrow's arrays:
text i is `data[offsets[i]:offsets[i + 1]]`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import inner, unlocked
from queryveil.reading.text_hashes import BYTES_PER_KEY, four_bytes, hash_of, mixed_word

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

BLOCK = 256
"""Texts that are looked up together: what they need of the table is fetched for all of them at once."""
_FEW = 24
_BLANK = 32

_HIGH = np.uint64(0xFFFFFFFF00000000)
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_STEP, _FOUR = np.uintp(1), np.uintp(BYTES_PER_KEY)


@inner
def _same(data: Bytes, at: np.uintp, others: Bytes, there: np.uintp, length: np.uintp) -> bool:
    place = np.uintp(0)
    while place + _FOUR <= length:
        if four_bytes(data, at + place) != four_bytes(others, there + place):
            return False
        place += _FOUR
    while place < length:
        if data[at + place] != others[there + place]:
            return False
        place += _STEP
    return True


@inner
def _fetched(
    hashes: Words, begin: int, end: int, slots: Words, starts: Whole, arena: Bytes, codes: Numbers
) -> int:
    """Look at what the table has for some texts, so that it is near when they are compared.

    Memory is slow, and answers many questions at a time: here none waits for the answer to another.
    """
    mask = np.uint64(len(slots) - 1)
    for text in range(begin, end):
        codes[text] = np.int32(np.int64(slots[hashes[text] & mask] & _LOW) - 1)
    touched = 0
    for text in range(begin, end):
        if codes[text] >= 0:
            touched ^= arena[np.uintp(starts[np.uintp(codes[text])])]
    return touched


@unlocked
def placed(
    data: Bytes,
    offsets: Numbers,
    keys: Words,
    hashes: Words,
    first: int,
    slots: Words,
    starts: Whole,
    arena: Bytes,
    known: Words,
    count: int,
    codes: Numbers,
) -> tuple[int, int, int]:
    """The code of each text from `first` on; new texts get the next one, and their bytes go to the arena.

    Their hashes go to `hashes`. A slot holds half of a hash, and a code and 1. Equal hashes decide nothing: two texts
    have one code only if all their bytes are the same. So texts made to collide cost time, and change no code. It
    returns how far it came, because there may be no room for more, how many texts are known then, and a number that
    means nothing.
    """
    mask = np.uint64(len(slots) - 1)
    touched = 0
    while first < len(hashes):
        size = min(BLOCK, len(hashes) - first)
        room = len(arena) - starts[count] >= offsets[first + size] - offsets[first]
        if not room or count + size > len(known) or 2 * (count + size) > len(slots):
            break
        for text in range(first, first + size):
            hashes[text] = hash_of(data, np.uintp(offsets[text]), np.uintp(offsets[text + 1]), keys)
        touched ^= _fetched(hashes, first, first + size, slots, starts, arena, codes)
        for text in range(first, first + size):
            own, at = hashes[text], np.uintp(offsets[text])
            length = np.uintp(offsets[text + 1]) - at
            if text > 0 and hashes[text - 1] == own:
                before = np.uintp(offsets[text - 1])
                if at - before == length and _same(data, at, data, before, length):
                    codes[text] = codes[text - 1]
                    continue
            place = own & mask
            while True:
                held = slots[place]
                if held == 0:
                    begin = np.uintp(starts[count])
                    for byte in range(length):
                        arena[begin + np.uintp(byte)] = data[at + np.uintp(byte)]
                    starts[count + 1] = begin + length
                    known[count] = own
                    codes[text] = count
                    count += 1
                    slots[place] = (own & _HIGH) | np.uint64(count)
                    break
                if held & _HIGH == own & _HIGH:
                    code = np.uintp(held & _LOW) - _STEP
                    begin = np.uintp(starts[code])
                    if np.uintp(starts[code + _STEP]) - begin == length and _same(
                        data, at, arena, begin, length
                    ):
                        codes[text] = code
                        break
                place = (place + _ONE) & mask
        first += size
    return first, count, touched


@unlocked
def refilled(slots: Words, known: Words, count: int) -> None:
    """Put all codes into empty slots."""
    mask = np.uint64(len(slots) - 1)
    for code in range(count):
        place = known[code] & mask
        while slots[place] != 0:
            place = (place + _ONE) & mask
        slots[place] = (known[code] & _HIGH) | np.uint64(code + 1)


@unlocked
def in_other_form(starts: Whole, arena: Bytes, plain: Flags, begin: int, end: int, found: Flags) -> None:
    """Which texts may not be in normal form: empty, a byte that is not plain, or a blank too many."""
    for text in range(begin, end):
        at, stop = np.uintp(starts[text]), np.uintp(starts[text + 1])
        blank = True  # as if one stood before the text: another may not follow it
        other = at == stop
        while at < stop and not other:
            byte = arena[at]
            other = not plain[byte] or (blank and byte == _BLANK)
            blank = byte == _BLANK
            at += _STEP
        found[text] = other or blank


@inner
def _sorted(codes: Numbers, parts: Words, begin: int, end: int) -> None:
    """Sort by part, in place; what is equal stays in its order.

    Short runs one by one, then runs are merged: whatever the texts are, it takes no more than size times its logarithm.
    NumPy's own sort takes as long to compile as all other kernels here together.
    """
    for first in range(begin, end, _FEW):
        for at in range(first + 1, min(first + _FEW, end)):
            part, code = parts[at], codes[at]
            place = at
            while place > first and parts[place - 1] > part:
                parts[place], codes[place] = parts[place - 1], codes[place - 1]
                place -= 1
            parts[place], codes[place] = part, code
    width = _FEW
    while width < end - begin:
        first = begin
        while first + width < end:
            _merged(codes, parts, first, first + width, min(first + 2 * width, end))
            first += 2 * width
        width *= 2


@inner
def _merged(codes: Numbers, parts: Words, begin: int, middle: int, end: int) -> None:
    """Merge two sorted runs that stand beside each other; of equal ones those of the first run come first."""
    if parts[middle - 1] <= parts[middle]:
        return
    size = middle - begin
    own_parts, own_codes = parts[begin:middle].copy(), codes[begin:middle].copy()
    mine, theirs, into = 0, middle, begin
    while mine < size:
        if theirs < end and parts[theirs] < own_parts[mine]:
            parts[into], codes[into] = parts[theirs], codes[theirs]
            theirs += 1
        else:
            parts[into], codes[into] = own_parts[mine], own_codes[mine]
            mine += 1
        into += 1


@unlocked
def mixed(first: Words, second: Words) -> Words:
    """One hash of two, whose order matters."""
    made = np.empty(len(first), np.uint64)
    for at in range(len(first)):
        made[at] = mixed_word(mixed_word(first[at]) + second[at])
    return made


@unlocked
def bounded(
    starts: Whole,
    items: Numbers,
    users: Words,
    hashes: Words,
    begin: int,
    end: int,
    into: Whole,
    kept: Numbers,
) -> None:
    """Of each user's items those with the smallest keyed hashes, as many as there is room for from `into[u]` on.

    A user's items stand in order, and what is kept of them too. `users` and `hashes` are those of users and items.
    """
    for user in range(begin, end):
        first, size, room = starts[user], starts[user + 1] - starts[user], into[user + 1] - into[user]
        if size <= room:
            for at in range(size):
                kept[into[user] + at] = items[first + at]
            continue
        keys, places = np.empty(size, np.uint64), np.empty(size, np.int32)
        for at in range(size):
            # Hashed together once more, or all users would have items in much the same order.
            keys[at], places[at] = mixed_word(users[user] ^ hashes[items[first + at]]), at
        # [C6] of docs/proofs/steered.md: a stable sort leaves equal keys in the order of their items.
        _sorted(places, keys, 0, size)
        chosen = np.zeros(size, np.bool_)
        for at in range(room):
            chosen[places[at]] = True
        place = into[user]
        for at in range(size):
            if chosen[at]:
                kept[place] = items[first + at]
                place += 1
