"""Tables that turn uniform bits into draws: each follows its distribution exactly.

There is no floating-point number on the way, and no source of bits here: whoever draws passes one.
docs/proofs/noise.md has the statement and the proof.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
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
from itertools import takewhile
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

# A scale above this is split into digits, so that every table stays small, quick to build and in cache.
_TOP_SCALE = 64
_DIGIT_BITS = 8

# Words that share this many first bits share one entry of a table's guide.
_GUIDE_BITS = 14

# Magnitudes stop here, inside int64; at MAX_SCALE the exact distribution has mass exp(-2^22) beyond it.
LARGEST = 2**62

_WORD_TYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32}


class Bits(Protocol):
    """A source of independent uniform bits."""

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return n fresh 64-bit words."""


class Outward:
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


class Inversion(ABC):
    """Exact draws of V = #{t : b_t <= U} for ascending bounds b_1, b_2, ... below 1 and a uniform real U.

    The first `width` bits of U decide almost always; when a bound lies among the reals with those bits, more are
    drawn. `floors` are floor(2^width b_t), up to the last bound or the last word.
    """

    def __init__(self, floors: Sequence[int], width: int) -> None:
        self.width = width
        self.floors = np.array(floors, dtype=_WORD_TYPES[width])
        # A bucket is the words that share their first bits: most buckets hold no boundary, so one look-up
        # replaces a binary search. -1 marks those that do.
        self._shift = np.uint8(max(width - _GUIDE_BITS, 0))
        firsts = np.arange(1 << min(width, _GUIDE_BITS)) << self._shift
        lasts = firsts + (1 << int(self._shift)) - 1
        whole = self.floors.astype(np.int64)
        below, through = np.searchsorted(whole, firsts, "left"), np.searchsorted(whole, lasts, "right")
        self._guide = np.where(below == through, below, -1)

    def draw(self, bits: Bits, size: int) -> NDArray[np.int64]:
        return self.at(self.words(bits, size), bits)

    def words(self, bits: Bits, size: int) -> NDArray[np.unsignedinteger]:
        """The first bits of so many uniform reals."""
        return bits.words(-(-size // (64 // self.width))).view(self.floors.dtype)[:size]

    def at(self, words: NDArray[np.unsignedinteger], bits: Bits) -> NDArray[np.int64]:
        """V at uniform reals that begin with these words."""
        values: NDArray[np.int64] = self._guide[words >> self._shift]
        unsettled = np.flatnonzero(values < 0)
        if unsettled.size:
            found = np.searchsorted(self.floors, words[unsettled], side="left")
            values[unsettled] = found
            on_boundary = self.floors[np.minimum(found, self.floors.size - 1)] == words[unsettled]
            for i in unsettled[on_boundary]:
                values[i] = min(self.resolve(int(words[i]), bits), LARGEST)
        return values

    @abstractmethod
    def resolve(self, word: int, bits: Bits) -> int:
        """Decide a draw whose first word leaves it open, by more bits of the same uniform real."""


class GeometricTable(Inversion):
    """Exact draws of V on {0, 1, ..., limit - 1} with P[V = v] proportional to exp(-v/scale).

    limit None means no limit.
    """

    def __init__(self, scale: Fraction, limit: int | None, width: int = 32) -> None:
        self.scale, self.limit, self.width = scale, limit, width
        super().__init__(self._floors(), width)

    def resolve(self, word: int, bits: Bits) -> int:
        known = self.width
        while True:
            word, known = word << 64 | int(bits.words(1)[0]), known + 64
            low, high = self._value_bounds(word, known)
            if low == high:
                return low

    def _value_bounds(self, word: int, known: int) -> tuple[int, int | None]:
        """Bounds on V = floor(-scale ln(1 - mass U)) for every U in [word, word + 1) / 2^known."""
        arithmetic = Outward(50 + known // 3)
        down, up = arithmetic.down, arithmetic.up
        mass_low, mass_high = self._mass(arithmetic)
        first, _ = arithmetic.fraction(Fraction(word, 1 << known))
        _, end = arithmetic.fraction(Fraction(word + 1, 1 << known))
        tail_high = up.subtract(Decimal(1), down.multiply(mass_low, first))
        tail_low = down.subtract(Decimal(1), up.multiply(mass_high, end))
        scale_low, scale_high = arithmetic.fraction(self.scale)
        # copy_negate, because the minus sign would round to the precision of the caller's context.
        low = max(0, _round_down(down.multiply(scale_low, up.next_plus(up.ln(tail_high)).copy_negate())))
        high = None
        if tail_low > 0:
            high = max(
                0, _round_down(up.multiply(scale_high, down.next_minus(down.ln(tail_low)).copy_negate()))
            )
        if self.limit is not None:  # U < 1, so V <= limit - 1 whatever the rounding
            return low, self.limit - 1 if high is None else min(high, self.limit - 1)
        return low, high

    def _mass(self, arithmetic: Outward) -> tuple[Decimal, Decimal]:
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
        arithmetic = Outward(digits)
        down, up = arithmetic.down, arithmetic.up
        words, last = Decimal(1 << self.width), (1 << self.width) - 1
        mass_low, mass_high = self._mass(arithmetic)
        step_low, step_high = arithmetic.exp(-1 / self.scale)
        tail_low, tail_high = Decimal(1), Decimal(1)
        floors: list[int] = []
        while self.limit is None or len(floors) < self.limit - 1:
            tail_low, tail_high = down.multiply(tail_low, step_low), up.multiply(tail_high, step_high)
            below_low, below_high = arithmetic.one_minus(tail_low, tail_high)
            low = _round_down(down.multiply(words, down.divide(below_low, mass_high)))
            # 0 < P[V < t] < 1 bounds the floor when the rounding cannot.
            high = min(last, _round_down(up.multiply(words, up.divide(below_high, mass_low))))
            if max(0, low) != high:
                return None
            floors.append(high)
            if high == last:  # every later entry is the same word
                break
        return floors


def _round_down(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_FLOOR))


class MarkTable(Inversion):
    """Exact draws of how many of so many trials succeed, each with probability 2^-rarity, by whole numbers alone."""

    def __init__(self, trials: int, rarity: int, width: int = 32) -> None:
        self.trials, self.rarity, self.width = trials, rarity, width
        super().__init__(self._floors(), width)

    def resolve(self, word: int, bits: Bits) -> int:
        known = self.width
        while known < self.trials * self.rarity:  # so many bits are all that the bounds have
            word, known = word << 64 | int(bits.words(1)[0]), known + 64
        return sum(1 for _ in takewhile(lambda bound: bound <= word, self._bounds(known)))

    def _bounds(self, known: int) -> Iterator[int]:
        """floor(2^known P[V < t]) for t = 1, 2, ..., trials."""
        shift = self.trials * self.rarity - known
        fail, term, below = (1 << self.rarity) - 1, ((1 << self.rarity) - 1) ** self.trials, 0
        for done in range(self.trials):
            below += term
            yield below >> shift if shift >= 0 else below << -shift
            term = term * (self.trials - done) // ((done + 1) * fail)  # without a remainder

    def _floors(self) -> list[int]:
        floors = []
        for floor in self._bounds(self.width):
            floors.append(floor)
            if floor == (1 << self.width) - 1:  # every later entry is the same word
                break
        return floors


class WeightTable(Inversion):
    """Exact draws of an index whose probabilities are integer weights over 2^precision.

    `bounds` are the running sums of the weights without the last, which is 2^precision.
    """

    def __init__(self, bounds: Sequence[int], precision: int, width: int = 32) -> None:
        self.bounds, self.precision = bounds, precision
        super().__init__([bound >> precision - width for bound in bounds], width)

    def resolve(self, word: int, bits: Bits) -> int:
        missing = self.precision - self.width
        words = -(-missing // 64)
        rest = int.from_bytes(bits.words(words).tobytes(), "little") >> 64 * words - missing
        return bisect_right(self.bounds, word << missing | rest)


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
        return self._add_low_digits(self._top.draw(bits, size), bits)

    def draw_marked(self, bits: Bits, marks: NDArray[np.bool_], rarity: int) -> NDArray[np.int64]:
        """Draws given their marks: whether the first `rarity` bits behind their largest digit are all ones."""
        words = self._top.words(bits, marks.size).copy()
        ones = words.dtype.type(self._ones_word(rarity))
        words[marks] |= ones
        while (late := np.flatnonzero(~marks & (words >= ones))).size:
            words[late] = self._top.words(bits, late.size)
        return self._add_low_digits(self._top.at(words, bits), bits)

    def limit(self, rarity: int) -> int:
        """What no value without a mark exceeds."""
        most = int(np.searchsorted(self._top.floors, self._ones_word(rarity) - 1, side="right"))
        return min((most + 1) * self._place - 1, LARGEST)

    def _ones_word(self, rarity: int) -> int:
        """The first word that begins with so many ones."""
        return (1 << self._top.width) - (1 << self._top.width - rarity)

    def _add_low_digits(self, values: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
        """Add the other digits and the sign to the largest digits."""
        if self._place > 1:
            np.minimum(values, LARGEST // self._place, out=values)
            values *= self._place
            for digit, place in self._digits:
                values += digit.draw(bits, values.size) * place
        # -1 - g is g with every bit flipped.
        values ^= -self._sign.draw(bits, values.size)
        return values
