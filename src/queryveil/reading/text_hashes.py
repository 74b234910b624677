"""Keyed hashes of texts, compiled. Texts stand one after the other in `data`, as in Arrow's arrays:
text i is `data[offsets[i]:offsets[i + 1]]`.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.compiled import inner, unlocked

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]

BYTES_PER_KEY = 4
FIRST_KEY = 2
"""Keys before it are for the length of a text."""
_FIRST_KEYS = 1 << 10
_NOTHING = bytes(1)

_HALF, _WORD, _WHOLE, _BITS_OF_BYTES = np.uint64(33), np.uint64(32), np.uint64(64), np.uint64(3)
_LOW_WORD = np.uint64(0xFFFFFFFF)
_EIGHT = np.uintp(8)
_STEP, _TWO, _THREE, _FOUR = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(BYTES_PER_KEY)
_MIX, _MORE = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


class Hasher:
    """Hashes under a key that follows from the salt: who does not know it cannot make texts whose hashes collide."""

    def __init__(self, salt: bytes) -> None:
        self._salt, self._keys = salt, np.empty(0, np.uint64)

    def of(self, data: Bytes, offsets: Numbers) -> Words:
        """The hashes of texts, in their order."""
        made = np.empty(len(offsets) - 1, np.uint64)
        hashed(data, offsets, self.keys(offsets), made)
        return made

    def keys(self, offsets: Numbers) -> Words:
        """The keys for texts of such lengths; hashes that are known stay as they are when there are more."""
        needed = longest_of(offsets) // BYTES_PER_KEY + FIRST_KEY + 1
        if needed > len(self._keys):
            self._keys = _draw_keys(self._salt, max(_FIRST_KEYS, 2 * needed))
        return self._keys


def _draw_keys(salt: bytes, number: int) -> Words:
    # The beginning of a longer digest is the shorter one.
    return np.frombuffer(hashlib.shake_256(salt).digest(8 * number), "<u8").astype(np.uint64)


def longest_of(offsets: Numbers) -> int:
    """Bytes of the longest text."""
    return int(np.diff(offsets).max(initial=0))


def parts_of(column: pa.Array) -> tuple[Bytes, Numbers]:
    """The bytes of all texts, and where each begins; the last offset is where the last text ends."""
    column = column.cast(pa.string())
    _, places, content = column.buffers()
    offsets = np.frombuffer(places, np.int32)[column.offset :][: len(column) + 1]
    return np.frombuffer(content or _NOTHING, np.uint8), offsets


@inner
def mixed_word(word: np.uint64) -> np.uint64:
    """A one-to-one map under which every bit depends on all."""
    word ^= word >> _HALF
    word *= _MIX
    word ^= word >> _HALF
    word *= _MORE
    return word ^ (word >> _HALF)


@inner
def four_bytes(data: Bytes, at: np.uintp) -> np.uint32:
    """Four bytes as one number. Places are unsigned, or the compiler would not make one step of it."""
    low = np.uint32(data[at]) | np.uint32(data[at + _STEP]) << np.uint32(8)
    high = np.uint32(data[at + _TWO]) | np.uint32(data[at + _THREE]) << np.uint32(8)
    return low | high << np.uint32(16)


@inner
def eight_bytes(data: Bytes, at: np.uintp) -> np.uint64:
    """Eight bytes as one number, the first of them lowest."""
    return np.uint64(four_bytes(data, at)) | np.uint64(four_bytes(data, at + _FOUR)) << _WORD


@inner
def hash_of(data: Bytes, at: np.uintp, end: np.uintp, keys: Words) -> np.uint64:
    """A hash of 64 bits: a text's length and its bytes, four at a time, each times a key of its own.

    Two texts have the same hash for at most one in 2^33 choices of the keys, whoever wrote them: in one of the places
    where they differ, the key times the difference must be one certain number.
    """
    first, found = at, keys[0] * np.uint64(end - at) + keys[1]
    key = np.uintp(FIRST_KEY)
    while at + _EIGHT <= end:
        found += keys[key] * np.uint64(four_bytes(data, at))
        found += keys[key + _STEP] * np.uint64(four_bytes(data, at + _FOUR))
        key += _TWO
        at += _EIGHT
    return hash_with(found, key, last_bytes(data, first, at, end), end - at, keys)


@inner
def hash_with(found: np.uint64, key: np.uintp, rest: np.uint64, size: np.uintp, keys: Words) -> np.uint64:
    """The hash of a text of which all but the last `size` bytes are in `found`, up to `key`."""
    if size >= _FOUR:
        found += keys[key] * (rest & _LOW_WORD)
        key += _STEP
        rest >>= _WORD
    return mixed_word(found + keys[key] * rest)


@inner
def last_bytes(data: Bytes, first: np.uintp, at: np.uintp, end: np.uintp) -> np.uint64:
    """The bytes from `at` to `end`, fewer than eight, as one number; nothing outside the text is read.

    In few steps: a text of eight bytes or more has eight that end where it ends.
    """
    size = np.uint64(end - at)
    if size == 0:
        return np.uint64(0)
    if end - first >= _EIGHT:
        return eight_bytes(data, end - _EIGHT) >> (_WHOLE - (size << _BITS_OF_BYTES))
    if end - at >= _FOUR:
        last = np.uint64(four_bytes(data, end - _FOUR)) << ((size - np.uint64(4)) << _BITS_OF_BYTES)
        return np.uint64(four_bytes(data, at)) | last
    found, shift = np.uint64(0), np.uint64(0)
    while at < end:
        found |= np.uint64(data[at]) << shift
        shift += np.uint64(8)
        at += _STEP
    return found


@unlocked
def hashed(data: Bytes, offsets: Numbers, keys: Words, hashes: Words) -> None:
    """The hash of each text."""
    for text in range(len(hashes)):
        hashes[text] = hash_of(data, np.uintp(offsets[text]), np.uintp(offsets[text + 1]), keys)


@inner
def _digest_of(data: Bytes, at: np.uintp, end: np.uintp) -> np.uint64:
    """A number of 64 bits that tells texts apart which nobody made to be alike: it has no key, and is quick."""
    first, found = at, np.uint64(end - at)
    while at + _EIGHT <= end:
        found = mixed_word(found ^ eight_bytes(data, at))
        at += _EIGHT
    return mixed_word(found ^ last_bytes(data, first, at, end))


@unlocked
def summed(
    data: Bytes, offsets: Numbers, names: Bytes, name_offsets: Numbers, owners: Words, which: Numbers
) -> int:
    """The sum of 31 bits for each row, which depend on its text and on the digest of its owner's name.

    `which` says whose row it is; `owners` takes the digests of all names.
    """
    for name in range(len(owners)):
        owners[name] = _digest_of(names, np.uintp(name_offsets[name]), np.uintp(name_offsets[name + 1]))
    total = 0
    for row in range(len(which)):
        own = _digest_of(data, np.uintp(offsets[row]), np.uintp(offsets[row + 1]))
        total += int(mixed_word(mixed_word(owners[which[row]]) + own) >> _HALF)
    return total
