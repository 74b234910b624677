"""Compiled kernels of the bottom-k sample: each user's items with the smallest keys, while rows are read.

Texts stand one after the other, as in `kernels`. The items that a user keeps stand in consecutive slots, in the order
of their keys. A slot has the hash of the text, and where it begins in the arena. There stand its user and its length in
one word, and then its bytes, eight in a word. `heads` says for each user which slots these are: the first one, how many
are used, and how many there is room for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import inner, unlocked
from queryveil.reading.text_hashes import (
    FIRST_KEY,
    eight_bytes,
    hash_of,
    hash_with,
    last_bytes,
    mixed_word,
)

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]
Words = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]
Heads = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

FIRST, USED, ROOM = 0, 1, 2
"""Columns of `heads`."""
FEW_SLOTS = 8
"""Slots that a user has at first, if the bound allows as many; their number doubles as they fill up."""

_BLANK = 32
_WORD, _BITS, _SEVEN_BYTES = np.uint64(32), np.uint64(8), np.uint64(56)
_ONES = np.uint64(0x0101010101010101)
_LOW_BITS, _HIGH_BITS, _FIRST_HIGH = (
    np.uint64(one) for one in (0x7F7F7F7F7F7F7F7F, 0x8080808080808080, 0x80)
)
_STEP, _TWO, _SEVEN, _EIGHT = np.uintp(1), np.uintp(2), np.uintp(7), np.uintp(8)
_LOW_WORD, _BITS_OF_BYTES = np.uint64(0xFFFFFFFF), np.uint64(3)
_LETTERS = _ONES * np.uint64(ord("a"))


@inner
def _find_denormal_bytes(eight: np.uint64) -> np.uint64:
    """Not 0 if one of these bytes is not plain: control, `"`, `'`, A to Z, grave, delete, or not ASCII.

    All eight at once: a byte below 128 and 128 minus n make 128 or more, its highest bit, exactly if it is n or more.
    """
    low = eight & _LOW_BITS
    upper = (low + _ONES * np.uint64(128 - 65)) & ~(low + _ONES * np.uint64(128 - 91))
    visible = low + _ONES * np.uint64(128 - 32)
    # Each is without its highest bit exactly if the byte is this one.
    quote = (low ^ _ONES * np.uint64(34)) + _LOW_BITS
    single = (low ^ _ONES * np.uint64(39)) + _LOW_BITS
    grave = (low ^ _ONES * np.uint64(96)) + _LOW_BITS
    delete = (low ^ _LOW_BITS) + _LOW_BITS
    return (eight | upper | ~(visible & quote & single & grave & delete)) & _HIGH_BITS


@inner
def _plain_hash(data: Bytes, at: np.uintp, end: np.uintp, keys: Hashes) -> tuple[bool, np.uint64]:
    """Whether a text is in normal form for sure, which is what `kernels.find_denormalized` asks; and `hash_of` it.

    Both in one go over its bytes. Behind the last one stand letters, which are plain.
    """
    if at == end or data[end - _STEP] == _BLANK:
        return False, np.uint64(0)
    first, found, key = at, keys[0] * np.uint64(end - at) + keys[1], np.uintp(FIRST_KEY)
    before = _FIRST_HIGH  # as if a blank stood before the text: another may not follow it
    while at + _EIGHT <= end:
        eight = eight_bytes(data, at)
        blanks = _blank_bits(eight)
        if _find_denormal_bytes(eight) | (blanks & (blanks << _BITS | before)):
            return False, np.uint64(0)
        before = blanks >> _SEVEN_BYTES
        found += keys[key] * (eight & _LOW_WORD) + keys[key + _STEP] * (eight >> _WORD)
        key += _TWO
        at += _EIGHT
    rest = last_bytes(data, first, at, end)
    if at < end:
        padded = rest | _LETTERS << (np.uint64(end - at) << _BITS_OF_BYTES)
        blanks = _blank_bits(padded)
        if _find_denormal_bytes(padded) | (blanks & (blanks << _BITS | before)):
            return False, np.uint64(0)
    return True, hash_with(found, key, rest, end - at, keys)


@inner
def _blank_bits(eight: np.uint64) -> np.uint64:
    """The highest bit of each byte that is a blank; no byte goes beyond ASCII, or `_find_denormal_bytes` finds it."""
    return ~((eight ^ _ONES * np.uint64(_BLANK)) + _LOW_BITS) & _HIGH_BITS


@inner
def _signed(number: np.uint64) -> int:
    return np.int64(number)  # type: ignore[return-value]  # compiled, it is an int


@inner
def _words_of(length: np.uintp) -> int:
    """How many words of the arena a text of so many bytes takes, with its head."""
    return _signed((length + _SEVEN) // _EIGHT + _STEP)


@inner
def _compare_texts(data: Bytes, at: np.uintp, end: np.uintp, arena: Words, begin: np.uintp) -> int:
    """Below 0 if the text comes before the one of the arena, by bytes; 0 if it is the same; above 0 if after."""
    first, length = at, np.uintp(arena[begin] & _LOW_WORD)
    place, other = begin + _STEP, np.uintp(0)
    while at + _EIGHT <= end and other + _EIGHT <= length:
        mine, theirs = eight_bytes(data, at), arena[place]
        if mine != theirs:
            return _order_of(mine, theirs)
        at, other, place = at + _EIGHT, other + _EIGHT, place + _STEP
    size, left = end - at, length - other
    if size == 0 or left == 0:
        return 0 if size == left else (-1 if size < left else 1)
    mine = last_bytes(data, first, at, end) if size < _EIGHT else eight_bytes(data, at)
    # Behind the end of a text stand zeros, which is before any byte; a text of zeros is told by its length.
    if mine != arena[place]:
        return _order_of(mine, arena[place])
    return 0 if size == left else (-1 if size < left else 1)


@inner
def _order_of(one: np.uint64, other: np.uint64) -> int:
    """Order two words by their lowest byte that differs."""
    differing = one ^ other
    lowest = differing & (~differing + np.uint64(1))
    mask = np.uint64(0xFF)
    while not mask & lowest:
        mask <<= _BITS
    return -1 if (one & mask) < (other & mask) else 1


@inner
def _find_slot(
    data: Bytes,
    at: np.uintp,
    end: np.uintp,
    key: np.uint64,
    owner: np.uint64,
    first: int,
    size: int,
    hashes: Hashes,
    begins: Offsets,
    arena: Words,
) -> int:
    """Return where a text belongs among the `size` that a user keeps from slot `first` on; -1 if it is one of them."""
    low, high = first, first + size
    while low < high:
        middle = (low + high) // 2
        there = mixed_word(owner ^ hashes[middle])
        order = -1 if key < there else 1
        if key == there:
            order = _compare_texts(data, at, end, arena, np.uintp(begins[middle]))
            if order == 0:
                return -1
        if order < 0:
            high = middle
        else:
            low = middle + 1
    return low


@inner
def _copy_slots(first: int, size: int, into: int, hashes: Hashes, begins: Offsets) -> None:
    for slot in range(size):
        hashes[into + slot], begins[into + slot] = hashes[first + slot], begins[first + slot]


@inner
def _copy_text(data: Bytes, at: np.uintp, end: np.uintp, user: int, arena: Words, place: np.uintp) -> None:
    """Write a text to the arena, behind a word with its user and its length."""
    first = at
    arena[place] = np.uint64(user) << _WORD | np.uint64(end - at)
    place += _STEP
    while at + _EIGHT <= end:
        arena[place] = eight_bytes(data, at)
        at, place = at + _EIGHT, place + _STEP
    if at < end:
        arena[place] = last_bytes(data, first, at, end)


@unlocked
def keep_texts(
    data: Bytes,
    offsets: Codes,
    people: Codes,
    keys: Hashes,
    owners: Hashes,
    row: int,
    share: int,
    shares: int,
    is_normal: bool,
    most: int,
    heads: Heads,
    hashes: Hashes,
    begins: Offsets,
    used_slots: int,
    arena: Words,
    used: int,
    denormalized: Flags,
) -> tuple[int, int, int, int]:
    """Let each user keep the `most` texts with the smallest keys among those seen so far, in rows from `row` on.

    It is about the users whose code leaves `share` when divided by `shares`. The key of a user and a text follows from
    their two hashes. Texts of equal keys are ordered by their bytes, so that the order is total, and equal hashes
    decide nothing: [C6] of docs/proofs/steered.md. A text counts once. One that may not be in normal form is flagged
    in `denormalized` and left for later, unless all texts are known to be; one that is empty is no item.

    It returns the row at which there was no room for more, or the number of rows; how many slots and words of the arena
    are used then; and how many more slots are needed, or 0 if slots were not what was missing.
    """
    while row < len(people):
        user = int(people[row])
        if user % shares != share:
            row += 1
            continue
        at, end = np.uintp(offsets[row]), np.uintp(offsets[row + 1])
        if is_normal:
            if at == end:
                row += 1
                continue
            own = hash_of(data, at, end, keys)
        else:
            is_plain, own = _plain_hash(data, at, end, keys)
            if not is_plain:
                denormalized[row] = True
                row += 1
                continue
        owner, user = owners[user], user // shares
        first, size = heads[user, FIRST], heads[user, USED]
        key = mixed_word(owner ^ own)
        if size == most and key > mixed_word(owner ^ hashes[first + size - 1]):
            row += 1
            continue
        place = _find_slot(data, at, end, key, owner, first, size, hashes, begins, arena)
        if place < 0 or place == first + most:
            row += 1
            continue
        if size == heads[user, ROOM] and size < most:
            room = min(most, max(FEW_SLOTS, 2 * size))
            if used_slots + room > len(hashes):
                return row, used_slots, used, room
            _copy_slots(first, size, used_slots, hashes, begins)
            place += used_slots - first
            first = used_slots
            heads[user, FIRST], heads[user, ROOM] = first, room
            used_slots += room
        if used + _words_of(end - at) > len(arena):
            break
        for slot in range(first + min(size, most - 1), place, -1):
            hashes[slot], begins[slot] = hashes[slot - 1], begins[slot - 1]
        hashes[place], begins[place] = own, used
        _copy_text(data, at, end, user, arena, np.uintp(used))
        used += _words_of(end - at)
        heads[user, USED] = min(size + 1, most)
        row += 1
    return row, used_slots, used, 0


@unlocked
def compact(heads: Heads, begins: Offsets, arena: Words, used: int) -> int:
    """Drop texts from the arena that users keep no more, and move the others up; return how many words are used."""
    at = place = 0
    while at < used:
        user, words = _signed(arena[at] >> _WORD), _words_of(np.uintp(arena[at] & _LOW_WORD))
        for slot in range(heads[user, FIRST], heads[user, FIRST] + heads[user, USED]):
            if begins[slot] == at:
                begins[slot] = place
                for word in range(words):
                    arena[place + word] = arena[at + word]
                place += words
                break
        at += words
    return place


@unlocked
def count_buckets(heads: Heads, hashes: Hashes, buckets: Codes) -> None:
    """Count kept texts by a part of their hashes: a bucket has at least as many as each of its texts has users."""
    mask = np.uint64(len(buckets) - 1)
    for user in range(len(heads)):
        for slot in range(heads[user, FIRST], heads[user, FIRST] + heads[user, USED]):
            buckets[hashes[slot] & mask] += 1


@unlocked
def select_slots(
    heads: Heads,
    hashes: Hashes,
    begins: Offsets,
    arena: Words,
    buckets: Codes,
    least: int,
    part: int,
    parts: int,
    user: int,
    nth: int,
    found: Offsets,
    most_bytes: int,
) -> tuple[int, int, int, int]:
    """Find slots whose texts may have `least` users, as many as there is room for, from the user's `nth` slot on.

    It is about the texts of one part: the first half of their hash leaves `part` when divided by `parts`.

    It returns with which user and slot to go on, how many slots were found, and how many bytes their texts have.
    """
    mask = np.uint64(len(buckets) - 1)
    number, total = 0, 0
    while user < len(heads):
        while nth < heads[user, USED]:
            if number == len(found) or total > most_bytes:
                return user, nth, number, total
            slot = heads[user, FIRST] + nth
            if buckets[hashes[slot] & mask] >= least and np.int64(hashes[slot] >> _WORD) % parts == part:
                found[number] = slot
                number += 1
                total += _signed(arena[begins[slot]] & _LOW_WORD)
            nth += 1
        user, nth = user + 1, 0
    return user, 0, number, total


@unlocked
def copy_texts(found: Offsets, begins: Offsets, arena: Words, offsets: Codes, data: Bytes) -> None:
    """Copy the texts of some slots, one after the other."""
    used = np.uintp(0)
    for at in range(len(found)):
        place = np.uintp(begins[found[at]])
        end = used + np.uintp(arena[place] & _LOW_WORD)
        while used < end:
            place += _STEP
            word, stop = arena[place], min(end, used + _EIGHT)
            while used < stop:
                data[used] = np.uint8(word & np.uint64(0xFF))
                word >>= _BITS
                used += _STEP
        offsets[at + 1] = used
