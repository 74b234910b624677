"""Different texts, each with a code: a dictionary that takes texts as they come and holds each of them once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.compiled import shares, side_by_side
from queryveil.count import text_loops
from queryveil.errors import CannotBeMet, InputError
from queryveil.reading import text
from queryveil.reading.text_hashes import Hasher, parts_of

Numbers = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

_FIRST_TEXTS = 1 << 12
_FIRST_BYTES = 1 << 16
_MOST_TEXTS = 1 << 31
_ASCII = 128
_MOST_IN_32_BITS = 2**31 - 1
PLAIN = np.array([text.is_plain_byte(byte) for byte in range(256)])
"""Bytes that alone keep no text from being its own normal form."""


class Texts:
    """Texts by their bytes: equal bytes have one code, different bytes different ones, whatever their hashes are.

    Codes count up from 0 in the order in which texts come. The keys of the hash follow from the salt, so that nobody
    who does not know it can make texts whose hashes collide, and which would take long to tell apart.
    """

    def __init__(self, salt: bytes) -> None:
        self._hasher = Hasher(salt)
        self._count = 0
        self._known = np.empty(_FIRST_TEXTS, np.uint64)
        self._starts = np.zeros(_FIRST_TEXTS + 1, np.int64)
        self._slots = np.zeros(2 * _FIRST_TEXTS, np.uint64)
        self._arena = np.empty(_FIRST_BYTES, np.uint8)

    def __len__(self) -> int:
        return self._count

    @property
    def hashes(self) -> Words:
        """The keyed hash of each text, by its code."""
        return self._known[: self._count]

    def add(self, column: pa.Array) -> Numbers:
        """The codes of these texts, none of which is null."""
        if column.null_count:
            raise TypeError("a text that is null has no code")
        if not len(column):
            return np.empty(0, np.int32)
        if pa.types.is_dictionary(column.type):
            return self._add_coded(column)
        data, offsets = parts_of(column)
        keys, hashes = self._hasher.keys(offsets), np.empty(len(column), np.uint64)
        codes = np.empty(len(column), np.int32)
        done = 0
        while True:
            tables = (self._slots, self._starts, self._arena, self._known)
            done, self._count, _ = text_loops.placed(
                data, offsets, keys, hashes, done, *tables, self._count, codes
            )
            if done == len(column):
                return codes
            self._make_room(int(offsets[-1] - offsets[done]))

    def _add_coded(self, column: pa.DictionaryArray) -> Numbers:
        """The codes of texts that come with a dictionary of their own; what no row has of it gets no code."""
        places = column.indices.to_numpy(zero_copy_only=False).astype(np.intp)
        used = np.zeros(len(column.dictionary), np.bool_)
        used[places] = True
        codes = np.empty(len(used), np.int32)
        codes[used] = self.add(column.dictionary.filter(pa.array(used)))
        made: Numbers = codes[places]
        return made

    def array(self) -> pa.LargeStringArray:
        """All texts, in the order of their codes."""
        buffers = (self._starts[: self._count + 1], self._arena)
        return pa.LargeStringArray.from_buffers(self._count, *map(pa.py_buffer, buffers))

    def take(self, codes: npt.NDArray[np.integer]) -> pa.LargeStringArray:
        """The texts of these codes."""
        return self.array().take(pa.array(codes))

    def in_order(self, codes: Numbers) -> Numbers:
        """Return these codes, each once, in the order of their texts' keyed hashes; equal hashes go by bytes."""
        hashes = self.hashes[codes]
        order = np.argsort(hashes, kind="stable")
        codes, hashes = codes[order], hashes[order]
        equal = np.flatnonzero(hashes[1:] == hashes[:-1])
        if equal.size:
            import pyarrow.compute as pc

            places = np.union1d(equal, equal + 1)
            texts = self.take(codes[places]).cast(pa.large_binary())
            both = pa.table({"hash": hashes[places], "text": texts})
            by_bytes = pc.sort_indices(both, sort_keys=[("hash", "ascending"), ("text", "ascending")])
            codes[places] = codes[places][by_bytes.to_numpy()]
        return codes

    def in_other_form(self) -> Numbers:
        """The codes of texts that may not be in normal form; all others are."""
        found = np.empty(self._count, np.bool_)
        given = [(self._starts, self._arena, PLAIN, *share, found) for share in shares(self._count)]
        side_by_side(text_loops.in_other_form, given)
        return np.flatnonzero(found).astype(np.int32)

    def _make_room(self, more: int) -> None:
        """Room for a block of texts at least, and for so many bytes."""
        used = int(self._starts[self._count])
        if used + more > len(self._arena):
            self._arena = _longer(self._arena, max(2 * used, used + more))
        if self._count + text_loops.BLOCK > len(self._known):
            if self._count + text_loops.BLOCK > _MOST_TEXTS:
                raise CannotBeMet(
                    f"the log has {self._count:,} different texts, and fewer than 2^31 can be told apart",
                    "count items of another kind, or use part of the log",
                )
            size = 2 * len(self._known)
            self._known, self._starts = _longer(self._known, size), _longer(self._starts, size + 1)
            self._slots = np.zeros(2 * size, np.uint64)
            text_loops.refilled(self._slots, self._known, self._count)


def normal_forms(texts: pa.Array) -> pa.Array:
    """Return the normal form of each text."""
    try:
        return pa.array(map(text.normalise, texts.to_pylist()), pa.string())
    except UnicodeDecodeError:
        raise InputError(
            "the log has a text that is not UTF-8, or is damaged", "copy it again from where it came"
        ) from None


def _longer(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    made = np.empty(size, array.dtype)
    made[: len(array)] = array
    return made
