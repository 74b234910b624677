"""Different texts, each with a code: a dictionary that takes texts as they come and holds each of them once."""

from __future__ import annotations

import re
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
_FEW_TEXTS = 1 << 14
_SAMPLED = 1 << 10
"""Texts of which bounds are found that divide all texts about equally."""
PLAIN = np.array([text.is_plain_byte(byte) for byte in range(256)])
"""Bytes that alone keep no text from being its own normal form."""


def _role(byte: int) -> int:
    if byte >= _ASCII:
        return text_loops.BEYOND
    one = chr(byte)
    if re.fullmatch(text.ASCII_SPACE, one):
        return text_loops.SPACE
    if re.fullmatch(text.ASCII_CONTROL, one):
        return text_loops.CONTROL
    for role, marks in zip((text_loops.DOUBLE, text_loops.SINGLE), text.QUOTATION_MARKS, strict=False):
        if one in marks:
            return role
    return text_loops.UPPER if one != one.lower() else text_loops.ITSELF


_ROLES = np.array([_role(byte) for byte in range(256)], np.uint8)


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
        """These codes, each once, in the order of their texts' bytes."""
        if len(codes) <= _FEW_TEXTS:  # it takes longer to load the loops
            import pyarrow.compute as pc

            few = self.take(codes).cast(pa.large_binary())
            sorted_few: Numbers = codes[pc.array_sort_indices(few).to_numpy()]
            return sorted_few
        parts = np.empty(len(codes), np.uint64)
        given = [(self._starts, self._arena, codes, *share, parts) for share in shares(len(codes))]
        side_by_side(text_loops.beginnings, given)
        # Texts between two of these bounds are sorted apart from others; where bounds are changes no order.
        bounds = np.sort(parts[:: len(parts) // _SAMPLED + 1])
        cuts = [bounds[len(bounds) * share // len(given)] for share in range(1, len(given))]
        which = (
            np.searchsorted(np.array(cuts, np.uint64), parts, side="right").astype(np.int8) if cuts else None
        )
        chosen = [(codes, parts)]
        if which is not None:
            chosen = [(codes[which == one], parts[which == one]) for one in range(len(given))]
        return np.concatenate(side_by_side(self._sorted, chosen))

    def _sorted(self, codes: Numbers, parts: Words) -> Numbers:
        order = np.argsort(parts)
        codes, parts = codes[order], parts[order]
        text_loops.in_order(self._starts, self._arena, codes, parts)
        return codes

    def in_other_form(self) -> Numbers:
        """The codes of texts that may not be in normal form; all others are."""
        found = np.empty(self._count, np.bool_)
        given = [(self._starts, self._arena, PLAIN, *share, found) for share in shares(self._count)]
        side_by_side(text_loops.in_other_form, given)
        return np.flatnonzero(found).astype(np.int32)

    def normal_forms(self, codes: Numbers) -> pa.Array:
        """The normal forms of these texts, in their order."""
        import pyarrow.compute as pc

        plain, beyond = _ascii_normal(self._starts, self._arena, codes)
        if not beyond.any():
            return plain
        return pc.replace_with_mask(plain, pa.array(beyond), _normalised(self.take(codes[beyond])))

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


class Forms:
    """Normal forms of texts as they come: of ASCII by a loop, of others once for each different text."""

    def __init__(self, salt: bytes = b"") -> None:
        self._known, self._forms = Texts(salt), Texts(salt)
        self._form_of = np.empty(0, np.int32)

    def of(self, column: pa.Array, places: Numbers) -> pa.Array:
        """The normal forms of the texts at these places, in their order."""
        import pyarrow.compute as pc

        data, offsets = parts_of(column)
        plain, beyond = _ascii_normal(offsets, data, places)
        if not beyond.any():
            return plain
        others = column.take(pa.array(places[beyond])).cast(pa.string())
        return pc.replace_with_mask(plain, pa.array(beyond), self._beyond_ascii(others))

    def _beyond_ascii(self, column: pa.Array) -> pa.Array:
        codes = self._known.add(column)
        new = np.arange(len(self._form_of), len(self._known), dtype=np.int32)
        if new.size:
            forms = self._forms.add(_normalised(self._known.take(new)))
            self._form_of = np.concatenate([self._form_of, forms])
        return self._forms.take(self._form_of[codes]).cast(pa.string())


def _ascii_normal(
    starts: npt.NDArray[np.int64] | Numbers, data: npt.NDArray[np.uint8], codes: Numbers
) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
    """Normal forms of texts within ASCII, and which texts go beyond it; these are empty here."""
    offsets, beyond = np.zeros(len(codes) + 1, np.int64), np.zeros(len(codes), np.bool_)
    made = np.empty(int(np.sum(starts[codes + 1] - starts[codes])), np.uint8)
    text_loops.ascii_normal(starts, data, codes, _ROLES, offsets, made, beyond)
    if offsets[-1] <= _MOST_IN_32_BITS:
        return pa.StringArray.from_buffers(
            len(codes), *map(pa.py_buffer, (offsets.astype(np.int32), made))
        ), beyond
    buffers = map(pa.py_buffer, (offsets, made))
    return pa.LargeStringArray.from_buffers(len(codes), *buffers).cast(pa.string()), beyond


def _normalised(column: pa.Array) -> pa.Array:
    try:
        texts = column.to_pylist()
    except UnicodeDecodeError:
        raise InputError(
            "the log has a text that is not UTF-8, or is damaged", "copy it again from where it came"
        ) from None
    return pa.array(map(text.normalise, texts), pa.string())


def _longer(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    made = np.empty(size, array.dtype)
    made[: len(array)] = array
    return made
