"""Dictionary encoding of texts: each distinct text has an integer code, and a keyed hash that orders texts.

Texts are told apart by their bytes and never by a hash. Codes depend on the order of rows; a `Vocabulary` replaces them
by places in the order of keyed hashes, which is the same for every order of rows and every engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import kernels
from queryveil.errors import CannotBeMet, InputError
from queryveil.reading import text
from queryveil.reading.text_hashes import Hasher, parts_of

Codes = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint64]

NONE = -1
"""The code of a text that is no item."""
_FIRST_TEXTS = 1 << 12
_FIRST_BYTES = 1 << 16
MAX_TEXTS = 1 << 31
PLAIN_BYTES = np.array([text.is_plain_byte(byte) for byte in range(256)])
"""Bytes that alone keep no text from being its own normal form."""
FOLDED_BYTES = np.array([text.fold_byte(byte) for byte in range(256)], np.uint8)
"""Bytes of ASCII in normal form; 0 for those that only `normalise` handles."""


class TextCodes:
    """A hash table from texts to codes, which count up from 0 in the order in which texts arrive.

    Equal bytes have one code and different bytes different ones, whatever their hashes are. The keys of the hash follow
    from the salt, so that nobody without it can craft texts whose hashes collide and slow the table down.
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
    def hashes(self) -> Hashes:
        """The keyed hash of each text, by its code."""
        return self._known[: self._count]

    def add(self, column: pa.Array) -> Codes:
        """Return the codes of these texts, none of which is null."""
        if column.null_count:
            raise TypeError("a text that is null has no code")
        if not len(column):
            return np.empty(0, np.int32)
        if pa.types.is_dictionary(column.type):
            return self._add_dictionary(column)
        data, offsets = parts_of(column)
        keys, hashes = self._hasher.keys(offsets), np.empty(len(column), np.uint64)
        codes = np.empty(len(column), np.int32)
        done = 0
        while True:
            tables = (self._slots, self._starts, self._arena, self._known)
            done, self._count, _ = kernels.encode_texts(
                data, offsets, keys, hashes, done, *tables, self._count, codes
            )
            if done == len(column):
                return codes
            self._make_room(int(offsets[-1] - offsets[done]))

    def _add_dictionary(self, column: pa.DictionaryArray) -> Codes:
        """Return the codes of a dictionary-encoded column; values without rows get no code."""
        places = column.indices.to_numpy(zero_copy_only=False).astype(np.intp)
        used = np.zeros(len(column.dictionary), np.bool_)
        used[places] = True
        codes = np.empty(len(used), np.int32)
        codes[used] = self.add(column.dictionary.filter(pa.array(used)))
        made: Codes = codes[places]
        return made

    def array(self) -> pa.LargeStringArray:
        """Return all texts, in the order of their codes."""
        buffers = (self._starts[: self._count + 1], self._arena)
        return pa.LargeStringArray.from_buffers(self._count, *map(pa.py_buffer, buffers))

    def take(self, codes: npt.NDArray[np.integer]) -> pa.LargeStringArray:
        """Return the texts of these codes."""
        return self.array().take(pa.array(codes))

    def sort_by_hash(self, codes: Codes) -> Codes:
        """Return these codes in the order of their texts' keyed hashes; equal hashes are ordered by bytes."""
        hashes = self.hashes[codes]
        order = np.argsort(hashes)
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

    def find_denormalized(self, begin: int = 0) -> Codes:
        """Return the codes from `begin` on whose texts may not be in normal form; all others are."""
        found = np.empty(self._count - begin, np.bool_)
        kernels.find_denormalized(self._starts, self._arena, PLAIN_BYTES, begin, found)
        return (np.flatnonzero(found) + begin).astype(np.int32)

    def _make_room(self, more: int) -> None:
        """Make room for at least one block of texts, and for this number of bytes."""
        used = int(self._starts[self._count])
        if used + more >= len(self._arena):
            self._arena = resized(self._arena, max(2 * used, used + more + 1))
        if self._count + kernels.BLOCK > len(self._known):
            if self._count + kernels.BLOCK > MAX_TEXTS:
                raise CannotBeMet(
                    f"the log has {self._count:,} different texts, and fewer than 2^31 can be told apart",
                    "count items of another kind, or use part of the log",
                )
            size = 2 * len(self._known)
            self._known, self._starts = resized(self._known, size), resized(self._starts, size + 1)
            self._slots = np.zeros(2 * size, np.uint64)
            kernels.rebuild_slots(self._slots, self._known, self._count)


class QueryCodes(TextCodes):
    """Codes of queries as the source has them, and of their normal forms: each distinct text is normalized once."""

    def __init__(self, salt: bytes) -> None:
        super().__init__(salt)
        self._forms: list[Codes] = []
        self._normalized = 0

    def add(self, column: pa.Array) -> Codes:
        """Return the codes of these texts, and normalize those that are new."""
        codes = super().add(column)
        if (begin := self._normalized) < len(self):
            self._normalized = len(self)  # what is added below is in normal form
            changed = self.find_denormalized(begin)
            normal = super().add(normal_forms(self.take(changed)))
            forms = np.arange(begin, len(self), dtype=np.int32)
            forms[changed - begin] = normal
            self._forms.append(forms)
            self._normalized = len(self)
        return codes

    def forms(self) -> Codes:
        """Return, by code, the code of each text's normal form; NONE where it is empty."""
        (empty,) = self.add(pa.array([""]))
        forms = np.concatenate(self._forms)
        forms[forms == empty] = NONE
        return forms


@dataclass(frozen=True)
class Vocabulary:
    """The distinct texts of a column in the order of their keyed hashes."""

    source: TextCodes
    codes: Codes
    """By place, the code of the text."""
    places: Codes
    """By code, where the text stands, or its normal form; NONE for texts that are no item."""

    @classmethod
    def of(cls, texts: TextCodes) -> Vocabulary:
        """Order all texts, or the normal forms of queries."""
        forms = texts.forms() if isinstance(texts, QueryCodes) else None
        if forms is None:
            codes = np.arange(len(texts), dtype=np.int32)
        else:
            used = np.zeros(len(texts), np.bool_)
            used[forms[forms != NONE]] = True
            codes = np.flatnonzero(used).astype(np.int32)
        codes = texts.sort_by_hash(codes)
        places = np.full(len(texts) + 1, NONE, np.int32)  # the last one is for texts without a form
        places[codes] = np.arange(len(codes), dtype=np.int32)
        return cls(texts, codes, places[:-1] if forms is None else places[forms])

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def hashes(self) -> Hashes:
        """The keyed hash of each text, by place."""
        return self.source.hashes[self.codes]

    def take(self, places: npt.NDArray[np.integer]) -> pa.LargeStringArray:
        """Return the texts at these places."""
        return self.source.take(self.codes[places])

    def find(self, texts: pa.Array) -> npt.NDArray[np.int64]:
        """Return where these texts stand; NONE for those that are not in the vocabulary."""
        codes = TextCodes.add(self.source, texts)  # texts that are new have no place
        found = np.full(len(codes), NONE, np.int64)
        known = np.flatnonzero(codes < len(self.places))
        places = self.places[codes[known]]
        is_here = places != NONE
        # A text that is not in normal form is not the item that its normal form is.
        is_here[is_here] = self.codes[places[is_here]] == codes[known[is_here]]
        found[known[is_here]] = places[is_here]
        return found


def normal_forms(texts: pa.Array) -> pa.Array:
    """Return the normal form of each text: of ASCII without quotation marks in a kernel, of others one by one."""
    data, offsets = parts_of(texts)
    others, ends = np.zeros(len(texts), np.bool_), np.zeros(len(texts) + 1, np.int32)
    folded = np.empty(int(offsets[-1] - offsets[0]) + 1, np.uint8)
    kernels.fold_ascii(data, offsets, FOLDED_BYTES, folded, ends, others)
    forms = pa.StringArray.from_buffers(len(texts), *map(pa.py_buffer, (ends, folded)))
    if not others.any():
        return forms
    mask = pa.array(others)
    try:
        rest = texts.filter(mask).to_pylist()
    except UnicodeDecodeError:
        raise InputError(
            "the log has a text that is not UTF-8, or is damaged", "copy it again from where it came"
        ) from None
    known = {one: text.normalise(one) for one in set(rest)}
    import pyarrow.compute as pc

    return pc.replace_with_mask(forms, mask, pa.array([known[one] for one in rest], pa.string()))


def resized(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Return a longer copy of an array; what is new in it is not initialized."""
    made = np.empty(size, array.dtype)
    made[: len(array)] = array
    return made
