"""The loops that keep the first few items of each user while rows go by, compiled.

Texts stand one after the other, as in `kernels`. A user's kept items stand in `most` slots, in the order of their
keys; a slot has the hash of the text, and where its bytes begin in the arena.
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
Words = npt.NDArray[np.uint64]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

_BLANK = 32
_WORD, _BITS, _SEVEN_BYTES = np.uint64(32), np.uint64(8), np.uint64(56)
_ONES = np.uint64(0x0101010101010101)
_LOW_BITS, _HIGH_BITS, _FIRST_HIGH = (
    np.uint64(one) for one in (0x7F7F7F7F7F7F7F7F, 0x8080808080808080, 0x80)
)
_STEP, _TWO, _EIGHT = np.uintp(1), np.uintp(2), np.uintp(8)
_LOW_WORD, _BITS_OF_BYTES = np.uint64(0xFFFFFFFF), np.uint64(3)
_LETTERS = _ONES * np.uint64(ord("a"))


@inner
def _not_plain(eight: np.uint64) -> np.uint64:
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
def _plain_hash(data: Bytes, at: np.uintp, end: np.uintp, keys: Words) -> tuple[bool, np.uint64]:
    """Whether a text is in normal form for sure, which is what `kernels.find_denormalized` asks; and `hash_of` it.

    Both in one go over its bytes. Behind the last one stand letters, which are plain.
    """
    if at == end or data[end - _STEP] == _BLANK:
        return False, np.uint64(0)
    first, found, key = at, keys[0] * np.uint64(end - at) + keys[1], np.uintp(FIRST_KEY)
    before = _FIRST_HIGH  # as if a blank stood before the text: another may not follow it
    while at + _EIGHT <= end:
        eight = eight_bytes(data, at)
        blanks = _blanks(eight)
        if _not_plain(eight) | (blanks & (blanks << _BITS | before)):
            return False, np.uint64(0)
        before = blanks >> _SEVEN_BYTES
        found += keys[key] * (eight & _LOW_WORD) + keys[key + _STEP] * (eight >> _WORD)
        key += _TWO
        at += _EIGHT
    rest = last_bytes(data, first, at, end)
    if at < end:
        padded = rest | _LETTERS << (np.uint64(end - at) << _BITS_OF_BYTES)
        blanks = _blanks(padded)
        if _not_plain(padded) | (blanks & (blanks << _BITS | before)):
            return False, np.uint64(0)
    return True, hash_with(found, key, rest, end - at, keys)


@inner
def _blanks(eight: np.uint64) -> np.uint64:
    """The highest bit of each byte that is a blank; no byte goes beyond ASCII, or `_not_plain` finds it."""
    return ~((eight ^ _ONES * np.uint64(_BLANK)) + _LOW_BITS) & _HIGH_BITS


@inner
def _compared(
    data: Bytes, at: np.uintp, size: np.uintp, arena: Bytes, there: np.uintp, other: np.uintp
) -> int:
    """Below 0 if the text comes before the one of the arena, by bytes; 0 if it is the same; above 0 if after."""
    place = np.uintp(0)
    while place < size and place < other:
        mine, theirs = data[at + place], arena[there + place]
        if mine != theirs:
            return -1 if mine < theirs else 1
        place += _STEP
    return 0 if size == other else (-1 if size < other else 1)


@inner
def _place(
    data: Bytes,
    at: np.uintp,
    length: np.uintp,
    key: np.uint64,
    owner: np.uint64,
    first: int,
    size: int,
    slots: Words,
    begins: Whole,
    lengths: Numbers,
    arena: Bytes,
) -> int:
    """Where a text belongs among the `size` that a user keeps from slot `first` on; below 0 if it is one of them."""
    place = size
    while place > 0:
        before = first + place - 1
        there = mixed_word(owner ^ slots[before])
        if there < key:
            break
        if there == key:
            order = _compared(data, at, length, arena, np.uintp(begins[before]), np.uintp(lengths[before]))
            if order == 0:
                return -1
            if order > 0:
                break
        place -= 1
    return place


@unlocked
def offered(
    data: Bytes,
    offsets: Numbers,
    people: Numbers,
    keys: Words,
    owners: Words,
    share: int,
    shares: int,
    tested: bool,
    most: int,
    sizes: Numbers,
    slots: Words,
    begins: Whole,
    lengths: Numbers,
    arena: Bytes,
    used: int,
    other: Flags,
) -> int:
    """Let each user keep the `most` texts with the smallest keys among those seen so far; how many bytes are used then.

    It is about the users whose number leaves `share` when divided by `shares`. The key of a user and a text follows
    from their two hashes. Texts of equal keys go by their bytes, so that the order is total, and equal hashes decide
    nothing: [C6] of docs/proofs/steered.md. A text counts once. One that may not be in normal form is marked in `other`
    and left for later, unless all were `tested`; one that is empty is none.
    """
    for row in range(len(people)):
        user = int(people[row])
        if user % shares != share:
            continue
        at, end = np.uintp(offsets[row]), np.uintp(offsets[row + 1])
        if tested:
            if at == end:
                continue
            own = hash_of(data, at, end, keys)
        else:
            is_plain, own = _plain_hash(data, at, end, keys)
            if not is_plain:
                other[row] = True
                continue
        owner, user = owners[user], user // shares
        first, size = user * most, int(sizes[user])
        key = mixed_word(owner ^ own)
        if size == most and key > mixed_word(owner ^ slots[first + size - 1]):
            continue
        place = _place(data, at, end - at, key, owner, first, size, slots, begins, lengths, arena)
        if place < 0 or place == most:
            continue
        for slot in range(first + min(size, most - 1), first + place, -1):
            slots[slot], begins[slot], lengths[slot] = slots[slot - 1], begins[slot - 1], lengths[slot - 1]
        slot = first + place
        slots[slot], begins[slot], lengths[slot] = own, used, np.int32(end - at)
        while at < end:
            arena[np.uintp(used)] = data[at]
            used += 1
            at += _STEP
        sizes[user] = min(size + 1, most)
    return used


@unlocked
def size_of(sizes: Numbers, most: int, lengths: Numbers) -> int:
    """How many bytes the texts have that are kept."""
    total = 0
    for user in range(len(sizes)):
        for slot in range(user * most, user * most + sizes[user]):
            total += lengths[slot]
    return total


@unlocked
def closed_up(sizes: Numbers, most: int, begins: Whole, lengths: Numbers, arena: Bytes, into: Bytes) -> int:
    """Copy the texts that are still kept, one after the other; how many bytes they take."""
    used = 0
    for user in range(len(sizes)):
        for slot in range(user * most, user * most + sizes[user]):
            begin = begins[slot]
            begins[slot] = used
            for at in range(begin, begin + lengths[slot]):
                into[used] = arena[at]
                used += 1
    return used


@unlocked
def sketched(sizes: Numbers, most: int, slots: Words, buckets: Numbers) -> None:
    """How many kept texts fall into each bucket, by their hashes: at least as many as each of them has users."""
    mask = np.uint64(len(buckets) - 1)
    for user in range(len(sizes)):
        for slot in range(user * most, user * most + sizes[user]):
            buckets[slots[slot] & mask] += 1


@unlocked
def chosen(
    sizes: Numbers,
    most: int,
    slots: Words,
    lengths: Numbers,
    buckets: Numbers,
    least: int,
    part: int,
    parts: int,
    first: int,
    found: Whole,
    bytes_most: int,
) -> tuple[int, int, int]:
    """The slots whose texts may have `least` users, from user `first` on, as many as there is room for.

    It is about the texts of one part: the first half of their hash leaves `part` when divided by `parts`.

    It returns with which user to go on, how many slots were found, and how many bytes their texts have.
    """
    mask = np.uint64(len(buckets) - 1)
    number, total = 0, 0
    for user in range(first, len(sizes)):
        # One user's texts always fit: there are few, and a text has a limit.
        if number + most > len(found) or total > bytes_most:
            return user, number, total
        for slot in range(user * most, user * most + sizes[user]):
            if buckets[slots[slot] & mask] >= least and np.int64(slots[slot] >> _WORD) % parts == part:
                found[number] = slot
                number += 1
                total += lengths[slot]
    return len(sizes), number, total


@unlocked
def gathered(
    found: Whole, begins: Whole, lengths: Numbers, arena: Bytes, offsets: Numbers, data: Bytes
) -> None:
    """The texts of some slots one after the other."""
    used = 0
    for at in range(len(found)):
        begin = begins[found[at]]
        for place in range(begin, begin + lengths[found[at]]):
            data[used] = arena[place]
            used += 1
        offsets[at + 1] = used
