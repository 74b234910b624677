"""Rounded normals: every outcome has its exact probability, boundaries fall right, wrong scales are refused.

What the code computes in decimals is computed here in fractions, from power series with a bound on the rest.
"""

from __future__ import annotations

import tracemalloc
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from queryveil.errors import UsageError
from queryveil.privacy.noise import MAX_SCALE, Bits, Noise
from queryveil.privacy.rounded_normal import NormalCells, RoundedNormal
from tests.privacy.test_noise import ScriptedBits
from tests.seeded import SeededBits

Interval = tuple[Fraction, Fraction]


# -- the exact law -----------------------------------------------------------------------------------------------


def alternating(term: Fraction, following: Callable[[int, Fraction], Fraction]) -> Interval:
    """Bounds on an alternating series: once its terms fall, neighbouring partial sums stand on its two sides."""
    total, n = Fraction(0), 0
    while True:
        later = following(n, term)
        if abs(later) < abs(term) and abs(term) < Fraction(1, 10**30):
            return min(total, total + term), max(total, total + term)
        total, term, n = total + term, later, n + 1


def exponential(x: Fraction) -> Interval:
    """exp(-x)."""
    return alternating(Fraction(1), lambda n, term: -term * x / (n + 1)) if x else (Fraction(1), Fraction(1))


def area(x: Fraction) -> Interval:
    """The integral of exp(-t^2 / 2) from 0 to x."""
    if not x:
        return Fraction(0), Fraction(0)
    return alternating(x, lambda n, term: -term * x * x * (2 * n + 1) / (2 * (n + 1) * (2 * n + 3)))


def kept_law(scale: int, steps: int, cell: int) -> dict[int, Interval]:
    """P[a proposal is kept, and round(scale |N|) = z], given its cell."""
    law, start, end = {}, Fraction(cell, steps), Fraction(cell + 1, steps)
    inverse = exponential(start * start / 2)  # its density there is exp(-x^2 / 2) over this
    for z in range(scale * cell // steps, scale * (cell + 1) // steps + 2):
        left = max(start, Fraction(2 * z - 1, 2 * scale))
        right = min(end, Fraction(2 * z + 1, 2 * scale))
        if left < right:
            (below_low, below_high), (through_low, through_high) = area(left), area(right)
            low, high = (through_low - below_high) * steps, (through_high - below_low) * steps
            law[z] = low / inverse[1], high / inverse[0]
    return law


# -- all bits that a draw may read, as a tree --------------------------------------------------------------------


class Undecided(Exception):
    """The script has ended and the draw has not."""


class Script:
    """Words that begin with the given bits. Asking for more is an exception, so that whoever asks may branch."""

    def __init__(self, given: tuple[int, ...], bits: int) -> None:
        self.left, self._shift = list(reversed(given)), 64 - bits

    def words(self, n: int) -> Any:  # a list of one word will do, and is quicker
        assert n == 1
        if not self.left:
            raise Undecided
        return [self.left.pop() << self._shift]


def tree(
    decide: Callable[[Bits], int | None], more: int, depth: int
) -> tuple[dict[int | None, Fraction], Fraction]:
    """The probability of each outcome that at most so many digits of bits decide, and that none is decided."""
    decided: dict[int | None, Fraction] = defaultdict(Fraction)
    branches: list[tuple[int, ...]] = [()]
    for length in range(depth + 1):
        still_open = []
        for branch in branches:
            script = Script(branch, more)
            try:
                outcome = decide(script)
            except Undecided:
                still_open += [(*branch, number) for number in range(1 << more)]
            else:
                assert not script.left, "a draw reads only bits that it needs"
                decided[outcome] += Fraction(1, 1 << length * more)
        branches = still_open
    return decided, Fraction(len(branches), 1 << (depth + 1) * more)


class OneCell(NormalCells):
    """Cells of which one is drawn always."""

    cell = 0

    def draw(self, bits: Bits, size: int) -> NDArray[np.int64]:
        return np.full(size, self.cell)


class PutOff(RoundedNormal):
    """Proposals that the first word leaves open are noted, and not settled."""

    def _settle_draw(self, cell: int, word: int, bits: Bits) -> int | None:
        self.noted.append(word)
        return None

    noted: list[int]


def outcomes(
    scale: int, cells: OneCell, place_bits: int, depth: int
) -> tuple[dict[int | None, Fraction], Fraction]:
    """The probability of each |value| of a proposal, or None if it is not kept; and that none is decided."""
    arrays = PutOff(scale, cells, place_bits)
    arrays.noted = []
    first_bits = place_bits + arrays._test_bits
    numbers = np.arange(1 << first_bits, dtype=np.uint64)
    # Place, sign and test stand in this order; the sign is 0 here, and has a test of its own.
    places, tests = numbers >> np.uint64(arrays._test_bits), numbers % np.uint64(1 << arrays._test_bits)
    words = places << np.uint64(64 - place_bits) | tests << np.uint64(arrays._spare_bits)
    values, kept = arrays.propose(ScriptedBits(words.tolist()), words.size)
    share, open_ = Fraction(1, words.size), Fraction(0)
    found: dict[int | None, Fraction] = defaultdict(Fraction)
    for value in values[kept].tolist():
        found[value] += share
    sampler = RoundedNormal(scale, cells, place_bits)
    for word in arrays.noted:
        decided, left = tree(lambda bits: sampler._settle_draw(cells.cell, word, bits), cells.more, depth)  # noqa: B023
        open_ += share * left
        for outcome, mass in decided.items():
            found[outcome] += share * mass
    return found, open_


def faults(scale: int, cells: OneCell, place_bits: int, depth: int) -> list[int | None]:
    """Outcomes whose probability is not what it must be, given the cell."""
    found, left = outcomes(scale, cells, place_bits, depth)
    assert sum(found.values()) + left == 1 and left < Fraction(1, 100)
    law: dict[int | None, Interval] = {**kept_law(scale, cells.steps, cells.cell)}
    kept_low, kept_high = (sum((one[side] for one in law.values()), Fraction(0)) for side in (0, 1))
    law[None] = 1 - kept_high, 1 - kept_low
    assert set(found) <= set(law)
    return [one for one, (low, high) in law.items() if not (found[one] <= high and low <= found[one] + left)]


def small_cells(steps: int, cell: int, more: int) -> OneCell:
    cells = OneCell(steps, 8, more)
    cells.cell = cell
    return cells


@pytest.mark.parametrize("cell", range(4))
@pytest.mark.parametrize("scale", [1, 3])
def test_every_outcome_has_its_exact_probability(scale: int, cell: int) -> None:
    """All bits that decide a draw, by the real code: what is open in the end is below 1 in 100."""
    assert faults(scale, small_cells(2, cell, 1), 2, 16) == []


@pytest.mark.parametrize("cell", [0, 1, 7])
def test_the_same_with_narrower_cells_and_two_bits_at_a_time(cell: int) -> None:
    assert faults(7, small_cells(4, cell, 2), 4, 7) == []


def kept_by_one_comparison(sampler: RoundedNormal, *given: object) -> bool:
    """exp(-E) taken for 1 - E."""
    return not sampler._is_below_exponent(*given)  # type: ignore[arg-type]


def never_extended(sampler: RoundedNormal, cell: int, word: int, bits: Bits) -> int | None:
    """A draw that the bits at hand do not decide is thrown away."""
    try:
        return TRUE_SETTLED(sampler, cell, word, Script((), 1))
    except Undecided:
        return None


TRUE_SETTLED = RoundedNormal._settle_draw


@pytest.mark.parametrize(
    ("name", "twin"), [("_is_kept", kept_by_one_comparison), ("_settle_draw", never_extended)]
)
def test_twins_have_wrong_probabilities(
    name: str, twin: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RoundedNormal, name, twin)
    assert faults(3, small_cells(2, 1, 1), 2, 16) != []


@pytest.mark.parametrize("steps", [2, 4])
def test_cells_have_their_exact_probabilities(steps: int) -> None:
    cells = NormalCells(steps, width=8, more=2)

    decided: dict[int | None, Fraction] = defaultdict(Fraction)
    left = Fraction(0)
    for word in range(256):
        first = np.array([word], dtype=np.uint8)
        given_word, open_ = tree(lambda bits: int(cells.at(first, bits)[0]), 2, depth=8)  # noqa: B023
        left += open_ / 256
        for outcome, mass in given_word.items():
            decided[outcome] += mass / 256
    assert left < Fraction(1, 100_000)
    weights = [exponential(Fraction(j * j, 2 * steps * steps)) for j in range(steps * steps)]
    total_low, total_high = (sum(w[side] for w in weights) for side in (0, 1))
    assert set(decided) <= set(range(steps * steps))
    for j, (low, high) in enumerate(weights):
        assert decided[j] <= high / total_low
        assert low / total_high <= decided[j] + left


# -- production's widths -----------------------------------------------------------------------------------------


@cache
def bounds() -> list[Decimal]:
    """P[J < t] of production's cells for t = 0, 1, 2, ..., with digits to spare."""
    with localcontext() as context:
        context.prec = 200
        # Beyond 6,000 cells weights are below 10^-119.
        sums = [Decimal(0), *accumulate((Decimal(-j * j) / 2**17).exp() for j in range(6000))]
        return [one / sums[-1] for one in sums]


def test_table_entries_are_exact_floors() -> None:
    floors = NormalCells().floors
    assert floors[-1] == 2**32 - 1
    assert floors.tolist() == [int(2**32 * one) for one in bounds()[1 : floors.size + 1]]


@pytest.mark.parametrize("t", [1, 200, 1500])
def test_cells_next_to_a_boundary_fall_on_the_right_side(t: int) -> None:
    cells = NormalCells()
    with localcontext() as context:
        context.prec = 200
        nearest = int(2**224 * bounds()[t])
    for prefix, value in ((nearest - 1, t - 1), (nearest + 1, t)):
        first, *rest = (prefix >> 192, *(prefix >> shift & 2**64 - 1 for shift in (128, 64, 0)))
        bits = ScriptedBits([first], *([word] for word in rest))
        assert cells.draw(bits, 1).tolist() == [value]
        assert not bits.batches


def test_the_far_tail_is_reached() -> None:
    # 96 ones: P[J >= t] < 2^-96 for the first time at t = value + 1 or value.
    value = int(NormalCells().draw(ScriptedBits([2**32 - 1], [2**64 - 1], [0]), 1)[0])
    with localcontext() as context:
        context.prec = 200
        assert 1 - bounds()[value] >= Decimal(2) ** -96 > 1 - bounds()[value + 1]


SCALE = 12_822_587


def proposed(place: int, test: int, *further: int, cell: int) -> int | None:
    """A proposal of production's widths in a cell: the first bits of its place and test, then further words."""
    cells = OneCell()
    cells.cell = cell
    bits = ScriptedBits([place << 18 | test], *([word] for word in further))
    values, kept = RoundedNormal(SCALE, cells).propose(bits, 1)
    assert not bits.batches, "all bits are needed"
    return int(values[0]) if kept[0] else None


def digits(number: int, first: int, more: int) -> list[int]:
    """A number as its first digit of so many bits, then so many words."""
    assert number >> (64 * more + first) == 0
    return [number >> 64 * more, *(number >> 64 * left & 2**64 - 1 for left in reversed(range(more)))]


@pytest.mark.parametrize("cell", [0, 300, 2000])
def test_places_next_to_a_half_are_rounded_to_the_right_side(cell: int) -> None:
    lower = SCALE * (2 * cell + 1) // 512  # in the middle of the cell
    boundary = Fraction(2 * lower + 1, 2 * SCALE) * 256 - cell
    nearest = int(boundary * 2**174)
    assert proposed(*at(nearest - 1), cell=cell) == lower
    assert proposed(*at(nearest + 1), cell=cell) == lower + 1


def at(number: int) -> tuple[int, ...]:
    first, *rest = digits(number, 46, 2)
    return first, 2**17 - 1, *rest


@pytest.mark.parametrize("cell", [0, 300, 2000])
def test_tests_next_to_the_exponent_fall_on_the_right_side(cell: int) -> None:
    place = 2**174 // 3
    exponent = Fraction(place, 2**174) * (2 * cell + Fraction(place, 2**174))  # times 2^17
    nearest = int(exponent * 2**128)
    value = round(Fraction(SCALE, 256) * (cell + Fraction(place, 2**174)))
    for number, kept in ((nearest - 2, False), (nearest + 2, True)):
        (u, *us), (v, *vs) = digits(place, 46, 2), digits(number, 17, 2)
        words = [word for pair in zip(vs, us, strict=True) for word in pair]
        # Below the exponent a second uniform is read, which is above the first: one comparison has held, an odd number.
        words += [] if kept else [2**64 - 1]
        assert proposed(u, v, *words, cell=cell) == (value if kept else None)


def test_a_proposal_that_is_not_kept_is_made_again_in_its_place() -> None:
    class Cells(OneCell):
        def draw(self, bits: Bits, size: int) -> NDArray[np.int64]:
            return np.full(size, 256)  # |N| from 1 to 1 + 1/256

    # The second has V = 0 and U near 1, so that V < E, and its next uniform is above V.
    middle, bad = 2**45 << 18 | 2**17 - 1, (2**46 - 1) << 18
    bits = ScriptedBits([middle, bad, middle], [2**63], [middle | 2**17])
    assert RoundedNormal(1000, Cells()).draw(bits, 3).tolist() == [1002, -1002, 1002]
    assert not bits.batches


# -- what callers see --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scale", [0, -1, 1.0, 0.5, Fraction(3), float("nan"), 2**40 + 1, 10**400, True, "1", None]
)
def test_scale_that_is_no_integer_in_range_is_refused(scale: int) -> None:
    with pytest.raises(UsageError, match="rounded normal noise must be an integer from 1 to 2\\^40"):
        Noise().rounded_normal(scale, 3)


@pytest.mark.parametrize("size", [-1, 2.0, "3", None, True])
def test_size_that_is_no_count_is_refused(size: int) -> None:
    with pytest.raises(UsageError, match="number of draws"):
        Noise().rounded_normal(1, size)


def test_no_draws() -> None:
    draws = Noise().rounded_normal(1, 0)
    assert draws.size == 0
    assert draws.dtype == np.int64


@pytest.mark.parametrize("scale", [1, np.int64(1000), SCALE, MAX_SCALE - 1, MAX_SCALE])
def test_draws_have_the_right_size(scale: int) -> None:
    draws = Noise(SeededBits(3)).rounded_normal(scale, 200_000) / scale
    assert draws.mean() == pytest.approx(0, abs=6 / 200_000**0.5 * 1.05)  # six standard errors
    assert (draws**2).mean() == pytest.approx(
        1 + 1 / (12 * int(scale) ** 2), abs=6 * (2 / 200_000) ** 0.5 * 1.1
    )


def test_arrays_and_integers_of_any_length_agree_at_the_largest_scale() -> None:
    # At 2^40 the largest cell and place give the largest numbers on the way: none may wrap around.
    cells = OneCell()
    sampler = RoundedNormal(MAX_SCALE, cells)
    words = np.concatenate(
        [SeededBits(4).words(2000) | np.uint64(2**17 - 1), np.array([2**64 - 1], np.uint64)]
    )
    for cell in (0, 1000, 2**16 - 1):
        values, still_open = sampler._round_values(np.full(words.size, cell), words)
        for value, word, open_ in zip(values.tolist(), words.tolist(), still_open.tolist(), strict=True):
            low = round(Fraction(MAX_SCALE * (cell * 2**46 + (word >> 18)), 2**54) - Fraction(1, 2**60))
            high = round(Fraction(MAX_SCALE * (cell * 2**46 + (word >> 18) + 1), 2**54) - Fraction(1, 2**60))
            assert open_ or value == low == high
            assert 0 <= value <= 256 * MAX_SCALE


def test_the_decimal_context_of_the_caller_changes_nothing() -> None:
    def drawn() -> list[int]:
        return RoundedNormal(5, NormalCells(16, width=8), place_bits=4).draw(SeededBits(1), 500).tolist()

    expected = drawn()
    with localcontext() as context:
        context.prec = 2
        assert drawn() == expected


def test_production_draws_differ() -> None:
    noise, other = Noise(), Noise()
    first = noise.rounded_normal(1000, 200)
    assert not np.array_equal(first, noise.rounded_normal(1000, 200))
    assert not np.array_equal(first, other.rounded_normal(1000, 200))


def test_many_draws_take_little_memory_beside_themselves() -> None:
    noise = Noise(SeededBits(5))
    noise.rounded_normal(SCALE, 1)
    tracemalloc.start()
    draws = noise.rounded_normal(SCALE, 2_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < draws.nbytes + 12e6


@pytest.mark.parametrize(("steps", "place_bits"), [(3, 4), (256, 45), (256, 48)])
def test_widths_that_do_not_fit_are_refused(steps: int, place_bits: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        RoundedNormal(1, NormalCells(steps, width=8), place_bits)
