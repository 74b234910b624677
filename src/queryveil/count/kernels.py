"""Compiled kernels of dictionary encoding: a hash table of texts that compares every byte, and keys of items.

They hold no lock, so that they run in several threads. Texts stand one after the other in `data`, as in Arrow arrays:
text i is `data[offsets[i]:offsets[i + 1]]`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import inner, unlocked
from queryveil.reading.text_hashes import BYTES_PER_KEY, four_bytes, hash_of, mixed_word

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

BLOCK = 256
"""Texts that are looked up together: what they need of the table is fetched for all of them at once."""
_BLANK = 32

_HIGH = np.uint64(0xFFFFFFFF00000000)
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_STEP, _FOUR = np.uintp(1), np.uintp(BYTES_PER_KEY)


@inner
def _is_equal(data: Bytes, at: np.uintp, others: Bytes, there: np.uintp, length: np.uintp) -> bool:
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
def _prefetch_slots(
    hashes: Hashes, begin: int, end: int, slots: Hashes, starts: Offsets, arena: Bytes, codes: Codes
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
def encode_texts(
    data: Bytes,
    offsets: Codes,
    keys: Hashes,
    hashes: Hashes,
    first: int,
    slots: Hashes,
    starts: Offsets,
    arena: Bytes,
    known: Hashes,
    count: int,
    codes: Codes,
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
        # One byte more, because an empty text at the end is looked at, too.
        room = len(arena) - starts[count] > offsets[first + size] - offsets[first]
        if not room or count + size > len(known) or 2 * (count + size) > len(slots):
            break
        for text in range(first, first + size):
            hashes[text] = hash_of(data, np.uintp(offsets[text]), np.uintp(offsets[text + 1]), keys)
        touched ^= _prefetch_slots(hashes, first, first + size, slots, starts, arena, codes)
        for text in range(first, first + size):
            own, at = hashes[text], np.uintp(offsets[text])
            length = np.uintp(offsets[text + 1]) - at
            if text > 0 and hashes[text - 1] == own:
                before = np.uintp(offsets[text - 1])
                if at - before == length and _is_equal(data, at, data, before, length):
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
                    if np.uintp(starts[code + _STEP]) - begin == length and _is_equal(
                        data, at, arena, begin, length
                    ):
                        codes[text] = code
                        break
                place = (place + _ONE) & mask
        first += size
    return first, count, touched


@unlocked
def rebuild_slots(slots: Hashes, known: Hashes, count: int) -> None:
    """Put all codes into empty slots."""
    mask = np.uint64(len(slots) - 1)
    for code in range(count):
        place = known[code] & mask
        while slots[place] != 0:
            place = (place + _ONE) & mask
        slots[place] = (known[code] & _HIGH) | np.uint64(code + 1)


@unlocked
def find_denormalized(starts: Offsets, arena: Bytes, plain: Flags, begin: int, found: Flags) -> None:
    """Flag texts from `begin` on that may not be in normal form: empty, a byte that is not plain, a blank too many."""
    for text in range(len(found)):
        at, stop = np.uintp(starts[begin + text]), np.uintp(starts[begin + text + 1])
        blank = True  # as if one stood before the text: another may not follow it
        other = at == stop
        while at < stop and not other:
            byte = arena[at]
            other = not plain[byte] or (blank and byte == _BLANK)
            blank = byte == _BLANK
            at += _STEP
        found[text] = other or blank


@unlocked
def fold_ascii(data: Bytes, offsets: Codes, folded: Bytes, into: Bytes, ends: Codes, others: Flags) -> None:
    """Bring texts to normal form byte by byte; flag those that have a byte for which `folded` has 0.

    For all other bytes it has the byte in normal form. White space is a blank there, of which one is left between
    words. The texts go to `into`, where text i ends at `ends[i + 1]`; flagged ones are empty there.
    """
    used = 0
    for text in range(len(others)):
        begin, blank = used, True
        for at in range(offsets[text], offsets[text + 1]):
            byte = folded[data[at]]
            if byte == 0:
                others[text] = True
                break
            if byte != _BLANK or not blank:
                into[used] = byte
                used += 1
            blank = byte == _BLANK
        if others[text]:
            used = begin
        elif blank and used > begin:
            used -= 1
        ends[text + 1] = used


@unlocked
def drop_beyond(
    users: Offsets,
    starts: Offsets,
    items: Codes,
    ranks: Offsets,
    most: int,
    owners: Hashes,
    hashes: Hashes,
    is_kept: Flags,
) -> None:
    """Flag the items of some users that a bound leaves out: all but the first `most` by rank and then by key.

    `ranks` is empty if there are none. The key of a user and an item follows from their two hashes, which are hashed
    together once more, or all users would have items in much the same order. Stable sorts leave equal keys in the order
    of their items: [C6] of docs/proofs/steered.md.
    """
    for user in users:
        first, end = starts[user], starts[user + 1]
        keys = np.empty(end - first, np.uint64)
        for at in range(first, end):
            keys[at - first] = mixed_word(owners[user] ^ hashes[items[at]])
        order = np.argsort(keys, kind="mergesort")
        if len(ranks):
            order = order[np.argsort(ranks[first:end][order], kind="mergesort")]
        for place in order[most:]:
            is_kept[first + place] = False
