"""Loops are compiled when they are first called: with those that they call, also if that is themselves."""

from __future__ import annotations

import numpy as np

from queryveil import compiled
from queryveil.compiled import inner, unlocked


@inner
def _half(number: int) -> int:
    return number // 2


@unlocked
def halvings(number: int) -> int:
    """How often a number can be halved until nothing is left: a loop that calls another one and itself."""
    if number == 0:
        return 0
    return 1 + halvings(_half(number))


@unlocked
def added(numbers: np.ndarray[tuple[int], np.dtype[np.int64]], begin: int, end: int) -> int:
    total = 0
    for at in range(begin, end):
        total += numbers[at]
    return total


def test_loops_that_call_loops_are_compiled_with_them() -> None:
    assert isinstance(halvings, compiled._Later) and halvings._made is None
    assert [halvings(number) for number in (0, 1, 2, 1023)] == [0, 1, 2, 10]
    assert not isinstance(_half, compiled._Later), "the compiler found a loop of its own"


def test_threads_that_call_a_loop_for_the_first_time_find_it_whole() -> None:
    numbers = np.arange(1000, dtype=np.int64)
    parts = [(numbers, at, at + 100) for at in range(0, 1000, 100)]
    assert sum(compiled.side_by_side(added, parts)) == 499_500
