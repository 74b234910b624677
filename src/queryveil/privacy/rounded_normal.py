"""Exact draws of a normal variable of integer scale, rounded to an integer.

A cell of the half-line is drawn from a table, a place in it is uniform, and the draw is kept with the probability
that makes the density normal. Few bits decide almost always, for whole arrays at once. Where they do not, more bits
of the same uniform reals are read, and integers of any length decide. There is no floating-point number on the way,
and no source of bits here. docs/proofs/noise.md has the statement and the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from queryveil.privacy.noise_tables import Bits, Inversion, Outward

# Cells for each unit of the normal variable: with more, fewer draws are made again, and the table grows.
_STEPS = 256

# Bits of a word that tell the place in a cell; the sign and the test whether a draw is kept take the rest.
_PLACE_BITS = 46

_WORD = 64


class NormalCells(Inversion):
    """Exact draws of J on {0, 1, ..., steps^2 - 1} with P[J = j] proportional to exp(-j^2 / (2 steps^2)).

    `more` is how many bits are read at a time where the first `width` leave a draw open.
    """

    def __init__(self, steps: int = _STEPS, width: int = 32, more: int = _WORD) -> None:
        self.steps, self.width, self.more, self.limit = steps, width, more, steps * steps
        super().__init__(self._floors(), width)

    def resolve(self, word: int, bits: Bits) -> int:
        real = _Real(word, self.width)
        while True:
            real.extend(bits, self.more)
            low, high = self._value_bounds(real)
            if low == high:
                return low

    def _value_bounds(self, real: _Real) -> tuple[int, int]:
        """Bounds on J = #{t : P[J < t] <= U} for every U that begins with these bits."""
        arithmetic = Outward(50 + real.known // 3)
        first, _ = arithmetic.fraction(Fraction(real.number, 1 << real.known))
        _, end = arithmetic.fraction(Fraction(real.number + 1, 1 << real.known))
        low = high = 0
        for bound_low, bound_high in self._bounds(arithmetic):
            if bound_low >= end:  # so are all later ones
                break
            high += 1
            low += bound_high <= first
        return low, high

    def _floors(self) -> list[int]:
        """floor(2^width P[J < t]) for t = 1, 2, ... up to the limit or to the last word, each certain."""
        digits = 50
        while (floors := self._floors_at(digits)) is None:
            digits *= 2
        return floors

    def _floors_at(self, digits: int) -> list[int] | None:
        """The same at one precision; None if that leaves an entry in doubt."""
        arithmetic, last = Outward(digits), (1 << self.width) - 1
        words = Decimal(1 << self.width)
        floors: list[int] = []
        for bound_low, bound_high in self._bounds(arithmetic):
            low = int(arithmetic.down.multiply(words, bound_low).to_integral_value(ROUND_FLOOR))
            high = int(arithmetic.up.multiply(words, bound_high).to_integral_value(ROUND_FLOOR))
            if low != min(high, last):  # P[J < t] < 1 bounds the floor when the rounding cannot
                return None
            floors.append(low)
            if low == last:  # every later entry is the same word
                break
        return floors

    def _bounds(self, arithmetic: Outward) -> Iterator[tuple[Decimal, Decimal]]:
        """Bounds on P[J < t] for t = 1, 2, ..., steps^2 - 1."""
        total_low, total_high = self._total(arithmetic)
        down, up = arithmetic.down, arithmetic.up
        sum_low = sum_high = Decimal(0)
        for low, high, _ in islice(self._weights(arithmetic), self.limit - 1):
            sum_low, sum_high = down.add(sum_low, low), up.add(sum_high, high)
            yield down.divide(sum_low, total_high), up.divide(sum_high, total_low)

    def _total(self, arithmetic: Outward) -> tuple[Decimal, Decimal]:
        """Bounds on the sum of all weights. Each weight is a smaller part of the one before than that one was."""
        down, up = arithmetic.down, arithmetic.up
        sum_low = sum_high = Decimal(0)
        tiny = down.scaleb(Decimal(1), -down.prec)
        for low, high, ratio in islice(self._weights(arithmetic), self.limit):
            if high < tiny:
                rest = up.divide(high, down.subtract(Decimal(1), ratio))
                return sum_low, up.add(sum_high, rest)
            sum_low, sum_high = down.add(sum_low, low), up.add(sum_high, high)
        return sum_low, sum_high

    def _weights(self, arithmetic: Outward) -> Iterator[tuple[Decimal, Decimal, Decimal]]:
        """Bounds on exp(-j^2 / (2 steps^2)) for j = 0, 1, 2, ..., and an upper bound on the next one's part of it."""
        down, up = arithmetic.down, arithmetic.up
        low, high = Decimal(1), Decimal(1)
        ratio_low, ratio_high = arithmetic.exp(Fraction(-1, 2 * self.limit))
        step_low, step_high = arithmetic.exp(Fraction(-1, self.limit))
        while True:
            yield low, high, ratio_high
            low, high = down.multiply(low, ratio_low), up.multiply(high, ratio_high)
            ratio_low, ratio_high = down.multiply(ratio_low, step_low), up.multiply(ratio_high, step_high)


@dataclass
class _Real:
    """A uniform real in [0, 1) of which only the first bits are known, as a number."""

    number: int
    known: int

    def extend(self, bits: Bits, more: int) -> None:
        """Read more bits of it: those that a fresh word begins with."""
        self.number = self.number << more | int(bits.words(1)[0]) >> (_WORD - more)
        self.known += more

    def below(self, other: _Real, bits: Bits, more: int) -> bool:
        """Whether it is below another uniform real; the one known less well is extended until that is certain."""
        while True:
            mine, others = self.number << other.known, other.number << self.known
            if mine + (1 << other.known) <= others:
                return True
            if mine >= others + (1 << self.known):
                return False
            (self if self.known <= other.known else other).extend(bits, more)


class RoundedNormal:
    """Exact draws of round(scale N), N a standard normal variable that is below `steps` in magnitude.

    A proposal is a cell J, a place U in it, a sign and a uniform V. With |N| = (J + U) / steps, it is kept with
    probability exp(-E) for E = U (2 J + U) / (2 steps^2); else another one is made in its stead.
    """

    def __init__(self, scale: int, cells: NormalCells, place_bits: int = _PLACE_BITS) -> None:
        self.scale, self.cells = scale, cells
        self._step_bits = cells.steps.bit_length() - 1
        # So many bits of V that 2^test_bits E = U (2 J + U).
        self._place_bits, self._test_bits = place_bits, 2 * self._step_bits + 1
        self._half = place_bits // 2
        if 1 << self._step_bits != cells.steps or place_bits % 2 or self._spare_bits < 0:
            raise ValueError(
                "cells per unit must be a power of two, and places of an even number of bits that fit"
            )

    @property
    def _spare_bits(self) -> int:
        """Bits of a word that are left over."""
        return _WORD - self._place_bits - 1 - self._test_bits

    def draw(self, bits: Bits, size: int) -> NDArray[np.int64]:
        values, kept = self.propose(bits, size)
        while (late := np.flatnonzero(~kept)).size:
            values[late], kept[late] = self.propose(bits, late.size)
        return values

    def propose(self, bits: Bits, size: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """So many proposals: their values, and which of them are kept."""
        cells = self.cells.draw(bits, size)
        words = bits.words(size)
        values, open_ = self._round_values(cells, words)
        # V >= (2 J + 1) / 2^test_bits > E is kept without knowing E.
        tests = (words >> np.uint64(self._spare_bits) & np.uint64((1 << self._test_bits) - 1)).view(np.int64)
        open_ |= tests <= 2 * cells
        kept = np.ones(size, dtype=np.bool_)
        for i in np.flatnonzero(open_):
            value = self._settle_draw(int(cells[i]), int(words[i]), bits)
            kept[i] = value is not None
            values[i] = value or 0
        negative = (words >> np.uint64(_WORD - 1 - self._place_bits) & np.uint64(1)).view(np.int64)
        np.multiply(values, 1 - 2 * negative, out=values)
        return values, kept

    def _round_values(
        self, cells: NDArray[np.int64], words: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """round(scale |N|) by the bits at hand, and where further bits could change it."""
        half, turn = self._half, 1 << (self._step_bits + self._half)
        places = (words >> np.uint64(_WORD - self._place_bits)).view(np.int64)
        # product = floor(2^half scale u), u the known part of U, in two digits so that nothing exceeds 63 bits.
        product = (places & ((1 << half) - 1)) * self.scale
        product >>= half
        product += (places >> half) * self.scale
        starts = cells * self.scale
        starts += self.cells.steps // 2
        # 2^half scale U is in [product, product + slack): no multiple of 2^half steps may lie between.
        slack = 2 + (self.scale >> half)
        within = ((starts & (self.cells.steps - 1)) << half) + (product & (turn - 1)) & (turn - 1)
        product >>= half
        starts += product
        starts >>= self._step_bits
        return starts, within > turn - slack

    def _settle_draw(self, cell: int, word: int, bits: Bits) -> int | None:
        """round(scale |N|) of a proposal that its first bits leave open; None if it is not kept."""
        place = _Real(word >> (_WORD - self._place_bits), self._place_bits)
        test = _Real(word >> self._spare_bits & (1 << self._test_bits) - 1, self._test_bits)
        if not self._is_kept(cell, place, test, bits):
            return None
        while True:
            shift = place.known + self._step_bits
            start = ((cell << place.known) + place.number) * self.scale + (1 << shift - 1)
            low, high = start >> shift, (start + self.scale - 1) >> shift
            if low == high:
                return low
            place.extend(bits, self.cells.more)

    def _is_kept(self, cell: int, place: _Real, test: _Real, bits: Bits) -> bool:
        """An event of probability exp(-E): of E > V_1 > V_2 > ... an even number holds before one fails."""
        if not self._is_below_exponent(cell, place, test, bits):
            return True
        held, last = 1, test
        while (following := self._fresh_real(bits)).below(last, bits, self.cells.more):
            held, last = held + 1, following
        return held % 2 == 0

    def _is_below_exponent(self, cell: int, place: _Real, test: _Real, bits: Bits) -> bool:
        """Whether V < E; of V and U, the one known less well is extended until that is certain."""
        while True:
            twice = 2 * cell << place.known
            low = place.number * (twice + place.number) << test.known
            end = (place.number + 1) * (twice + place.number + 1) << test.known
            shift = 2 * place.known + self._test_bits
            if (test.number + 1) << shift <= low:
                return True
            if test.number << shift >= end:
                return False
            (test if test.known <= place.known else place).extend(bits, self.cells.more)

    def _fresh_real(self, bits: Bits) -> _Real:
        real = _Real(0, 0)
        real.extend(bits, self.cells.more)
        return real
