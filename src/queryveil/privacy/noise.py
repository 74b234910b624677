"""The only place randomness for privacy comes from: exact noise, choices, salts and shuffles.

Every draw is a function of uniform bits that follows its distribution exactly, with no floating-point
number on the way; docs/proofs/noise.md has the statement and the proof. Nothing here takes a seed.
"""

from __future__ import annotations

import os
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from queryveil.errors import UsageError
from queryveil.privacy.calibration import MAX_SCALE
from queryveil.privacy.noise_tables import (
    LARGEST,
    Bits,
    GeometricTable,
    LaplaceSampler,
    MarkTable,
    WeightTable,
)
from queryveil.privacy.rounded_normal import NormalCells, RoundedNormal
from queryveil.privacy.selection_noise import selection_noise

__all__ = [
    "MAX_SCALE",
    "Bits",
    "GeometricTable",
    "LaplaceSampler",
    "MarkTable",
    "Noise",
    "SystemBits",
    "checked_scale",
    "checked_whole_scale",
]

# Draws made at once: bounds memory, and the intermediate arrays stay in cache.
_CHUNK = 1 << 17

# Marks are told by the first bits of a word, of which as many again must be left.
_MOST_RARITY = 16

_HALF, _ONE = np.uint64(1 << 63), np.uint64(1)


class SystemBits:
    """The operating system's cryptographic generator (getrandom on Linux).

    Its state lives in the kernel: it cannot be seeded, read back from this process, or duplicated by a fork.
    """

    def words(self, n: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)


class Noise:
    """Draws for mechanisms. Pass one in; make it with no argument except in tests."""

    def __init__(self, bits: Bits | None = None) -> None:
        self._bits: Bits = SystemBits() if bits is None else bits

    @property
    def secret(self) -> bool:
        """Whether nobody can draw it again: it comes from the system's generator, by this class and no other.

        Whatever overrides a draw, or has bits of its own, may be known to somebody, and then hides nothing.
        """
        return type(self) is Noise and type(self._bits) is SystemBits

    def __reduce__(self) -> tuple[type[Noise], tuple[()]]:
        """Noise may be sent to other processes, each of which then asks its own system; a state may not be copied."""
        if not isinstance(self._bits, SystemBits):
            raise TypeError("two copies of a bit source would draw the same: only the system's may be sent")
        return Noise, ()

    def discrete_laplace(self, scale: float | Fraction, size: int) -> NDArray[np.int64]:
        """size independent draws with P[X = x] = (1-q)/(1+q) q^|x|, q = exp(-1/scale), on the integers.

        scale is read as the exact rational number that it is.
        """
        sampler, size = _laplace_sampler(checked_scale(scale)), _checked_size(size)
        values = np.empty(size, dtype=np.int64)
        for start in range(0, size, _CHUNK):
            part = values[start : start + _CHUNK]
            part[:] = sampler.draw(self._bits, part.size)
        return values

    def rounded_normal(self, scale: int, size: int) -> NDArray[np.int64]:
        """size independent draws of round(scale N), N standard normal; scale is an integer from 1 to 2^40.

        N is below 256 in magnitude, as it would be anyway but with probability e^-32768. So |draw| <= 256 scale.
        """
        sampler, size = RoundedNormal(checked_whole_scale(scale), _normal_cells()), _checked_size(size)
        values = np.empty(size, dtype=np.int64)
        for start in range(0, size, _CHUNK):
            part = values[start : start + _CHUNK]
            part[:] = sampler.draw(self._bits, part.size)
        return values

    def selection_noise(self, scale: float, item_delta: float, size: int) -> NDArray[np.int64]:
        """Return size independent draws of optimal selection noise at epsilon 1/scale and that delta.

        They follow the integer weights of `selection_noise.SelectionNoise` exactly.
        `item_delta`: the delta of one item's release probability.
        """
        sampler, size = _selection_sampler(scale, item_delta), _checked_size(size)
        largest = selection_noise(scale, item_delta).largest
        values = np.empty(size, dtype=np.int64)
        for start in range(0, size, _CHUNK):
            part = values[start : start + _CHUNK]
            np.subtract(largest, sampler.draw(self._bits, part.size), out=part)
        return values

    def marks(self, trials: int, rarity: int, size: int) -> NDArray[np.int64]:
        """size independent draws of how many of so many values have a mark: each has one with probability 2^-rarity."""
        return _mark_table(_checked_size(trials), _checked_rarity(rarity)).draw(
            self._bits, _checked_size(size)
        )

    def marked_laplace(
        self, scale: float | Fraction, rarity: int, marks: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Independent draws as of `discrete_laplace` whose marks are known.

        A mark has probability 2^-rarity, rarity from 1 to 16, and goes with large values: without one, none exceeds
        `laplace_limit`.
        """
        return _laplace_sampler(checked_scale(scale)).draw_marked(self._bits, marks, _checked_rarity(rarity))

    @staticmethod
    def laplace_limit(scale: float | Fraction, rarity: int) -> int:
        """What no draw without a mark exceeds."""
        return _laplace_sampler(checked_scale(scale)).limit(_checked_rarity(rarity))

    def permutation(self, n: int) -> NDArray[np.int64]:
        """A uniformly random order of 0, 1, ..., n - 1."""
        n = _checked_size(n)
        while True:
            keys = self._bits.words(n)
            order = np.argsort(keys).astype(np.int64, copy=False)
            # Equal keys would favour an order; starting over favours none, because a tie has no order.
            ranked = keys[order]
            if not np.any(ranked[1:] == ranked[:-1]):
                return order

    def below(self, limits: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each limit, from 1 to 2^62, an independent uniform draw of 0, 1, ..., limit - 1."""
        limits = _checked_limits(limits)
        values = np.empty(limits.size, dtype=np.int64)
        for start in range(0, limits.size, _CHUNK):
            chunk = limits[start : start + _CHUNK].view(np.uint64)
            # As many 63-bit words as fit evenly onto the limit; the few beyond are drawn again.
            ends = _HALF // chunk * chunk
            words = self._bits.words(chunk.size) >> _ONE
            while (late := np.flatnonzero(words >= ends)).size:
                words[late] = self._bits.words(late.size) >> _ONE
            values[start : start + _CHUNK] = (words % chunk).view(np.int64)
        return values

    def weighted(self, cumulative: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each of `rows` an independent index, with probability exactly its weight over the row's total.

        Rows of `cumulative` are running sums of integer weights, each at least 0, with a total from 1 to 2^62.
        """
        places = self.below(cumulative[rows, -1])
        if len(cumulative) == 1:
            return np.searchsorted(cumulative[0], places, side="right")
        chosen = np.empty(len(rows), dtype=np.int64)
        step = max(1, _CHUNK // cumulative.shape[1])
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            chosen[part] = (cumulative[rows[part]] <= places[part, np.newaxis]).sum(axis=1)
        return chosen

    def key(self) -> bytes:
        """32 secret bytes, for a salt or a keyed hash."""
        return self._bits.words(4).tobytes()


@lru_cache(maxsize=32)
def _mark_table(trials: int, rarity: int) -> MarkTable:
    return MarkTable(trials, rarity)


@lru_cache(maxsize=32)
def _laplace_sampler(scale: Fraction) -> LaplaceSampler:
    return LaplaceSampler(scale)


@lru_cache(maxsize=32)
def _selection_sampler(scale: float, item_delta: float) -> WeightTable:
    law = selection_noise(scale, item_delta)
    return WeightTable(law.cumulative[1:-1], law.bits)


@lru_cache(maxsize=1)
def _normal_cells() -> NormalCells:
    return NormalCells()


def checked_scale(scale: float | Fraction) -> Fraction:
    """A scale as the exact number that it is; refused if noise of that scale cannot be drawn."""
    number = isinstance(scale, int | float | Fraction) and not isinstance(scale, bool)
    if not (number and 0 < scale <= MAX_SCALE):  # false for NaN and infinity too
        raise UsageError(
            f"the noise scale must be a number above 0 and at most 2^40; got {scale!r}",
            "check epsilon and the contribution bound, which set it",
        )
    return Fraction(scale)


def checked_whole_scale(scale: int) -> int:
    """The scale of a rounded normal; refused if noise of that scale cannot be drawn."""
    whole = isinstance(scale, int | np.integer) and not isinstance(scale, bool)
    if not (whole and 1 <= scale <= MAX_SCALE):
        raise UsageError(
            f"the scale of rounded normal noise must be an integer from 1 to 2^40; got {scale!r}",
            "round a scale up to an integer, and check epsilon and delta, which set it",
        )
    return int(scale)


def _checked_rarity(rarity: int) -> int:
    if isinstance(rarity, bool) or not isinstance(rarity, int) or not 1 <= rarity <= _MOST_RARITY:
        raise UsageError(
            f"the rarity of marks must be an integer from 1 to 16; got {rarity!r}", "choose another one"
        )
    return rarity


def _checked_size(size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise UsageError(f"a number of draws must be an integer >= 0; got {size!r}", "pass a count")
    return int(size)


def _checked_limits(limits: NDArray[np.int64]) -> NDArray[np.int64]:
    found = np.ascontiguousarray(limits)
    if (
        found.dtype != np.int64
        or found.ndim != 1
        or (found.size and not 1 <= found.min() <= found.max() <= LARGEST)
    ):
        raise UsageError("limits of uniform draws must be integers from 1 to 2^62", "check the weights")
    return found
