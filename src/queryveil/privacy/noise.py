"""The only place randomness for privacy comes from: exact discrete Laplace noise, choices, salts and shuffles.

Every draw is a function of uniform bits that follows its distribution exactly, with no floating-point
number on the way; docs/proofs/noise.md has the statement and the proof. Nothing here takes a seed.
"""

from __future__ import annotations

import os
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from queryveil.errors import UsageError

__all__ = ["MAX_SCALE", "Bits", "GeometricTable", "LaplaceSampler", "Noise", "SystemBits"]

# Above this scale, values near the ends of int64 would stop being astronomically improbable.
MAX_SCALE = 2**40

# A scale above this is split into digits, so that every table stays small, quick to build and in cache.
_TOP_SCALE = 64
_DIGIT_BITS = 8

# Words that share this many first bits share one entry of a table's guide.
_GUIDE_BITS = 14

# Magnitudes stop here, inside int64; at MAX_SCALE the exact distribution has mass exp(-2^22) beyond it.
_LARGEST = 2**62

# Draws made at once: bounds memory, and the intermediate arrays stay in cache.
_CHUNK = 1 << 17

_HALF, _ONE = np.uint64(1 << 63), np.uint64(1)

_WORD_TYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32}


class Bits(Protocol):
    """A source of independent uniform bits."""

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return n fresh 64-bit words."""


class SystemBits:
    """The operating system's cryptographic generator (getrandom on Linux).

    Its state lives in the kernel: it cannot be seeded, read back from this process, or duplicated by a fork.
    """

    def words(self, n: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)


class _Outward:
    """Decimal arithmetic at one precision, rounded outwards: each result is a (lower, upper) bound."""

    def __init__(self, digits: int) -> None:
        traps = [InvalidOperation, DivisionByZero, Overflow]
        self.down = Context(digits, ROUND_FLOOR, MIN_EMIN, MAX_EMAX, traps=traps)
        self.up = Context(digits, ROUND_CEILING, MIN_EMIN, MAX_EMAX, traps=traps)

    def fraction(self, value: Fraction) -> tuple[Decimal, Decimal]:
        top, bottom = Decimal(value.numerator), Decimal(value.denominator)
        return self.down.divide(top, bottom), self.up.divide(top, bottom)

    def exp(self, value: Fraction) -> tuple[Decimal, Decimal]:
        low, high = self.fraction(value)
        # exp rounds to nearest whatever the context says; one step outwards makes it a bound.
        low, high = self.down.next_minus(self.down.exp(low)), self.up.next_plus(self.up.exp(high))
        return max(low, Decimal(0)), high

    def one_minus(self, low: Decimal, high: Decimal) -> tuple[Decimal, Decimal]:
        return self.down.subtract(Decimal(1), high), self.up.subtract(Decimal(1), low)


class GeometricTable:
    """Exact draws of V on {0, 1, ..., limit - 1} with P[V = v] proportional to exp(-v/scale).

    limit None means no limit. A draw inverts the distribution function at a uniform real whose first `width`
    bits decide almost always; when a boundary lies among the reals with those bits, more bits are drawn.
    """

    def __init__(self, scale: Fraction, limit: int | None, width: int = 32) -> None:
        self.scale, self.limit, self.width = scale, limit, width
        self.floors = np.array(self._floors(), dtype=_WORD_TYPES[width])
        # A bucket is the words that share their first bits: most buckets hold no boundary, so one look-up
        # replaces a binary search. -1 marks those that do.
        self._shift = np.uint8(max(width - _GUIDE_BITS, 0))
        firsts = np.arange(1 << min(width, _GUIDE_BITS)) << self._shift
        lasts = firsts + (1 << int(self._shift)) - 1
        floors = self.floors.astype(np.int64)
        below, through = np.searchsorted(floors, firsts, "left"), np.searchsorted(floors, lasts, "right")
        self._guide = np.where(below == through, below, -1)

    def draw(self, bits: Bits, size: int) -> NDArray[np.int64]:
        per_word = 64 // self.width
        words = bits.words(-(-size // per_word)).view(self.floors.dtype)[:size]
        values: NDArray[np.int64] = self._guide[words >> self._shift]
        unsettled = np.flatnonzero(values < 0)
        if unsettled.size:
            found = np.searchsorted(self.floors, words[unsettled], side="left")
            values[unsettled] = found
            on_boundary = self.floors[np.minimum(found, self.floors.size - 1)] == words[unsettled]
            for i in unsettled[on_boundary]:
                values[i] = min(self.resolve(int(words[i]), bits), _LARGEST)
        return values

    def resolve(self, word: int, bits: Bits) -> int:
        """Decide a draw whose first word leaves it open, by more bits of the same uniform real."""
        known = self.width
        while True:
            word, known = word << 64 | int(bits.words(1)[0]), known + 64
            low, high = self._value_bounds(word, known)
            if low == high:
                return low

    def _value_bounds(self, word: int, known: int) -> tuple[int, int | None]:
        """Bounds on V = floor(-scale ln(1 - mass U)) for every U in [word, word + 1) / 2^known."""
        arithmetic = _Outward(50 + known // 3)
        down, up = arithmetic.down, arithmetic.up
        mass_low, mass_high = self._mass(arithmetic)
        first, _ = arithmetic.fraction(Fraction(word, 1 << known))
        _, end = arithmetic.fraction(Fraction(word + 1, 1 << known))
        tail_high = up.subtract(Decimal(1), down.multiply(mass_low, first))
        tail_low = down.subtract(Decimal(1), up.multiply(mass_high, end))
        scale_low, scale_high = arithmetic.fraction(self.scale)
        # copy_negate, because the minus sign would round to the precision of the caller's context.
        low = max(0, _floor(down.multiply(scale_low, up.next_plus(up.ln(tail_high)).copy_negate())))
        high = None
        if tail_low > 0:
            high = max(0, _floor(up.multiply(scale_high, down.next_minus(down.ln(tail_low)).copy_negate())))
        if self.limit is not None:  # U < 1, so V <= limit - 1 whatever the rounding
            return low, self.limit - 1 if high is None else min(high, self.limit - 1)
        return low, high

    def _mass(self, arithmetic: _Outward) -> tuple[Decimal, Decimal]:
        """Bounds on 1 - q^limit, the share of the unlimited distribution below the limit."""
        if self.limit is None:
            return Decimal(1), Decimal(1)
        return arithmetic.one_minus(*arithmetic.exp(-self.limit / self.scale))

    def _floors(self) -> list[int]:
        """floor(2^width P[V < t]) for t = 1, 2, ... up to the limit or to the last word, each certain."""
        digits = 50
        while (floors := self._floors_at(digits)) is None:
            digits *= 2
        return floors

    def _floors_at(self, digits: int) -> list[int] | None:
        """The same at one precision; None if that leaves an entry in doubt."""
        arithmetic = _Outward(digits)
        down, up = arithmetic.down, arithmetic.up
        words, last = Decimal(1 << self.width), (1 << self.width) - 1
        mass_low, mass_high = self._mass(arithmetic)
        step_low, step_high = arithmetic.exp(-1 / self.scale)
        tail_low, tail_high = Decimal(1), Decimal(1)
        floors: list[int] = []
        while self.limit is None or len(floors) < self.limit - 1:
            tail_low, tail_high = down.multiply(tail_low, step_low), up.multiply(tail_high, step_high)
            below_low, below_high = arithmetic.one_minus(tail_low, tail_high)
            low = _floor(down.multiply(words, down.divide(below_low, mass_high)))
            # 0 < P[V < t] < 1 bounds the floor when the rounding cannot.
            high = min(last, _floor(up.multiply(words, up.divide(below_high, mass_low))))
            if max(0, low) != high:
                return None
            floors.append(high)
            if high == last:  # every later entry is the same word
                break
        return floors


def _floor(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_FLOOR))


class LaplaceSampler:
    """Exact draws of X on the integers with P[X = x] proportional to exp(-|x|/scale).

    X is G or -1 - G for a geometric G and a biased sign; a large G is put together from independent digits.
    """

    def __init__(self, scale: Fraction, width: int = 32) -> None:
        self._sign = GeometricTable(scale, 2, width)
        self._digits: list[tuple[GeometricTable, int]] = []
        place = 1
        while scale / place > _TOP_SCALE:
            base = 1
            while base < 1 << _DIGIT_BITS and scale / (place * base) > _TOP_SCALE:
                base *= 2
            self._digits.append((GeometricTable(scale / place, base, width), place))
            place *= base
        self._top, self._place = GeometricTable(scale / place, None, width), place

    def draw(self, bits: Bits, size: int) -> NDArray[np.int64]:
        values = self._top.draw(bits, size)
        if self._place > 1:
            np.minimum(values, _LARGEST // self._place, out=values)
            values *= self._place
            for digit, place in self._digits:
                values += digit.draw(bits, size) * place
        # -1 - g is g with every bit flipped.
        values ^= -self._sign.draw(bits, size)
        return values


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
        sampler, size = _sampler(_checked_scale(scale)), _checked_size(size)
        values = np.empty(size, dtype=np.int64)
        for start in range(0, size, _CHUNK):
            part = values[start : start + _CHUNK]
            part[:] = sampler.draw(self._bits, part.size)
        return values

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
def _sampler(scale: Fraction) -> LaplaceSampler:
    return LaplaceSampler(scale)


def _checked_scale(scale: float | Fraction) -> Fraction:
    number = isinstance(scale, int | float | Fraction) and not isinstance(scale, bool)
    if not (number and 0 < scale <= MAX_SCALE):  # false for NaN and infinity too
        raise UsageError(
            f"the noise scale must be a number above 0 and at most 2^40; got {scale!r}",
            "check epsilon and the contribution bound, which set it",
        )
    return Fraction(scale)


def _checked_size(size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise UsageError(f"a number of draws must be an integer >= 0; got {size!r}", "pass a count")
    return int(size)


def _checked_limits(limits: NDArray[np.int64]) -> NDArray[np.int64]:
    found = np.ascontiguousarray(limits)
    if (
        found.dtype != np.int64
        or found.ndim != 1
        or (found.size and not 1 <= found.min() <= found.max() <= _LARGEST)
    ):
        raise UsageError("limits of uniform draws must be integers from 1 to 2^62", "check the weights")
    return found
