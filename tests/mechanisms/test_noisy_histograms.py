"""Noise that is put off changes no probability: whole laws as fractions, over every outcome of every draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import queryveil as qv
from queryveil.mechanisms.profile_histogram import noisy_histograms
from queryveil.mechanisms.profile_histogram.noisy_histograms import NoisyHistograms
from queryveil.privacy.noise import MarkTable, Noise
from tests.seeded import SeededBits

Law = dict[int, Fraction]
Outcomes = dict[tuple[int, ...], Fraction]

# Noise with few values in place of Laplace: what is said of marks is all that putting off needs.
LIMIT = 1
PLAIN: Law = {-1: Fraction(1, 3), 1: Fraction(2, 3)}
MARKED: Law = {0: Fraction(1, 4), 2: Fraction(3, 4)}
RARITY = 1
MARK = Fraction(1, 2**RARITY)


class Branching(Noise):
    """Takes one branch at each draw, as the script says, and the first one beyond it."""

    def __init__(self, script: Sequence[int], deepest: int = 100) -> None:
        super().__init__(SeededBits(1))
        self.deepest = deepest
        self.script, self.probability = script, Fraction(1)
        self.taken: list[tuple[int, int]] = []

    def branch(self, law: Law) -> int:
        step = len(self.taken)
        if step == self.deepest:
            raise EOFError
        at = self.script[step] if step < len(self.script) else 0
        self.taken.append((at, len(law)))
        value, probability = list(law.items())[at]
        self.probability *= probability
        return value

    def next(self) -> list[int] | None:
        """The script of the next path, in the order of a depth-first walk."""
        taken = list(self.taken)
        while taken:
            at, branches = taken.pop()
            if at + 1 < branches:
                return [*(one for one, _ in taken), at + 1]
        return None

    def _all(self, laws: Sequence[Law]) -> NDArray[np.int64]:
        return np.array([self.branch(law) for law in laws], dtype=np.int64)

    def marks(self, trials: int, rarity: int, size: int) -> NDArray[np.int64]:
        p = Fraction(1, 2**rarity)
        law = {k: comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)}
        return self._all([law] * size)

    def marked_laplace(self, scale: Any, rarity: int, marks: NDArray[np.bool_]) -> NDArray[np.int64]:
        return self._all([MARKED if mark else PLAIN for mark in marks])

    @staticmethod
    def laplace_limit(scale: Any, rarity: int) -> int:
        return LIMIT

    def below(self, limits: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._all([{n: Fraction(1, int(most)) for n in range(int(most))} for most in limits])


def walked(run: Callable[[Branching], tuple[int, ...]]) -> Outcomes:
    """The probability of every outcome."""
    found: Outcomes = {}
    script: list[int] | None = []
    while script is not None:
        noise = Branching(script)
        outcome = run(noise)
        found[outcome] = found.get(outcome, Fraction(0)) + noise.probability
        script = noise.next()
    assert sum(found.values()) == 1
    return found


def stated(counts: list[int], picks: int) -> Outcomes:
    """The law by its definition: noise on every count, then picks in proportion."""
    noise = {
        value: MARK * MARKED.get(value, Fraction(0)) + (1 - MARK) * PLAIN.get(value, Fraction(0))
        for value in {*PLAIN, *MARKED}
    }
    found: Outcomes = dict.fromkeys(product(range(len(counts)), repeat=picks), Fraction(0))
    for values in product(noise, repeat=len(counts)):
        weights = [max(0, count + value) for count, value in zip(counts, values, strict=True)]
        weights = weights if any(weights) else [1] * len(counts)
        for outcome in found:
            share = Fraction(1)
            for value in values:
                share *= noise[value]
            for place in outcome:
                share *= Fraction(weights[place], sum(weights))
            found[outcome] += share
    return found


MARKS_OF_A_LOG = NoisyHistograms.marked


def _each(self: NoisyHistograms, users: int) -> NDArray[np.int64]:
    """Every value by itself: drawing places until they differ has no longest path. Its law is tested below."""
    assert isinstance(self.noise, Branching) and users == 1
    return np.flatnonzero([self.noise.branch({0: 1 - MARK, 1: MARK}) for _ in range(self.size)])


CASES = {
    # counts, picks, proposals in a round, rounds before all noise is drawn
    "one place": ([0], 1, 1, 2),
    "a second round": ([0, 0], 2, 1, 2),
    "one round": ([0, 0], 2, 2, 1),
    "with a count": ([0, 1], 2, 1, 1),
    "three places": ([0, 0, 1], 1, 1, 1),
    "rounds and a count": ([0, 1], 2, 1, 2),
    "no round": ([0, 1], 2, 1, 0),
}


def putting_off(
    counts: list[int], picks: int, proposals: int, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> Outcomes:
    monkeypatch.setattr(noisy_histograms, "_ROUNDS", rounds)
    monkeypatch.setattr(NoisyHistograms, "proposals", lambda self, picks: proposals)
    if NoisyHistograms.marked is MARKS_OF_A_LOG:
        monkeypatch.setattr(NoisyHistograms, "marked", _each)
    own = np.repeat(np.arange(len(counts)), counts)

    def run(noise: Branching) -> tuple[int, ...]:
        histograms = NoisyHistograms(noise, 1.0, len(counts), picks, RARITY)
        return tuple(histograms.drawn(1, np.zeros_like(own), own).tolist())

    return walked(run)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_putting_noise_off_changes_no_probability(
    case: tuple[list[int], int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert putting_off(*case, monkeypatch) == {k: p for k, p in stated(*case[:2]).items() if p}


def _none(self: NoisyHistograms, users: int) -> NDArray[np.int64]:
    """No value has a mark."""
    return np.zeros(0, dtype=np.int64)


def _twice(self: Any, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Known places are proposed a second time, with other noise."""
    return np.zeros(len(keys), dtype=bool)


TWINS = {
    "no marks": (NoisyHistograms, "marked", _none, "one round"),
    "known places again": (noisy_histograms._Drawn, "have", _twice, "a second round"),
    "a limit that is too small": (
        NoisyHistograms,
        "counts",
        lambda self, counted, marks: (counted + self.noise.marked_laplace(1, 1, marks)).clip(0, 1),
        "with a count",
    ),
}


@pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
def test_a_broken_twin_has_another_law(
    twin: tuple[Any, str, Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, broken, case = twin
    counts, picks, *_ = CASES[case]
    monkeypatch.setattr(owner, name, broken)
    assert putting_off(*CASES[case], monkeypatch) != {k: p for k, p in stated(counts, picks).items() if p}


def test_any_places_are_as_likely_to_have_the_marks() -> None:
    """All paths of up to so many draws: what is left open is the same for all sets of one size."""
    size, found = 3, dict[tuple[int, ...], Fraction]()
    script: list[int] | None = []
    while script is not None:
        noise = Branching(script, deepest=7)
        try:
            marked = tuple(NoisyHistograms(noise, 1.0, size, 1, RARITY).marked(1).tolist())
            found[marked] = found.get(marked, Fraction(0)) + noise.probability
        except EOFError:
            pass
        script = noise.next()
    for number in range(size + 1):
        sets = [probability for marked, probability in found.items() if len(marked) == number]
        assert len(sets) == comb(size, number) and len({*sets}) == 1
        exact = comb(size, number) * MARK**number * (1 - MARK) ** (size - number)
        assert 0.7 * exact <= sum(sets) <= exact


@pytest.mark.parametrize(("trials", "rarity"), [(1, 1), (3, 1), (8, 1), (4, 2), (5, 2), (3, 4), (2, 6)])
def test_the_number_of_marks_is_exact_over_all_words(trials: int, rarity: int) -> None:
    """Every first word of eight bits, and every continuation that the bounds can tell apart."""

    class Words:
        def __init__(self, *words: int) -> None:
            self.left = list(words)

        def words(self, n: int) -> NDArray[np.uint64]:
            return np.array([self.left.pop(0) for _ in range(n)], dtype=np.uint64)

    table, more = MarkTable(trials, rarity, width=8), max(0, trials * rarity - 8)
    found = dict.fromkeys(range(trials + 1), Fraction(0))
    for word in range(256):
        for rest in range(2**more):
            # Little end first: the first eight bits of a word are its last byte.
            bits = Words(word, rest << (64 - more) if more else 0)
            found[int(table.draw(bits, 1)[0])] += Fraction(1, 256 * 2**more)
    p = Fraction(1, 2**rarity)
    assert found == {k: comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)}


def test_entries_for_a_large_domain_are_exact_floors() -> None:
    p, below = Fraction(1, 2**6), Fraction(0)
    for t, floor in enumerate(MarkTable(700, 6).floors.tolist()):
        below += comb(700, t) * p**t * (1 - p) ** (700 - t)
        assert floor == int(below * 2**32)


def test_few_values_are_drawn_for_a_large_domain() -> None:
    """A proposal reads one word of 64 bits, and a noise value that it needs at least two of 32."""

    class Counted(SeededBits):
        read = 0

        def words(self, n: int) -> NDArray[np.uint64]:
            self.read += n
            return super().words(n)

    bits = Counted(1)
    histograms = NoisyHistograms.of(Noise(bits), 10.0, 40_000, 5)
    nobody = np.zeros(0, dtype=np.int64)
    drawn = histograms.drawn(100, nobody, nobody)
    assert drawn.shape == (500,) and drawn.min() >= 0 and drawn.max() < 40_000
    assert bits.read < 100 * 40_000 / 50


@pytest.mark.parametrize(("size", "picks"), [(7, 1), (40_000, 5_000)])
def test_all_noise_is_drawn_where_that_is_less(size: int, picks: int) -> None:
    assert NoisyHistograms.of(Noise(), 10.0, size, picks).rarity == 0


@pytest.mark.parametrize("scale", [1e-9, 0.05, 0.12, 0.5, 2.0**30])
def test_any_scale_is_drawn(scale: float) -> None:
    """Without any weight places are uniform; with nearly no noise all are the counted one."""
    owners = np.array([1], dtype=np.int64)
    for rarity in (0, 2, 9, 16):
        histograms = NoisyHistograms(Noise(SeededBits(2)), scale, 1_000, 3, rarity)
        drawn = histograms.drawn(4, owners, np.array([17]))
        assert drawn.shape == (12,) and drawn.min() >= 0 and drawn.max() < 1_000
        if scale < 0.04:
            assert drawn[3:6].tolist() == [17, 17, 17] and len({*drawn.tolist()}) > 6


@pytest.mark.parametrize("rarity", [0, 17, -1, True, 2.0, None])
def test_a_rarity_out_of_range_is_refused(rarity: Any) -> None:
    with pytest.raises(qv.UsageError, match="rarity of marks"):
        Noise().marks(5, rarity, 1)
    with pytest.raises(qv.UsageError, match="rarity of marks"):
        Noise().marked_laplace(1.0, rarity, np.zeros(1, dtype=bool))
    with pytest.raises(qv.UsageError, match="rarity of marks"):
        Noise().laplace_limit(1.0, rarity)
