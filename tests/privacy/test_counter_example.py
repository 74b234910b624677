"""Indistinguishability does not give probabilistic differential privacy: Goetz et al. 2012, propositions 2 and 3."""

from __future__ import annotations

from fractions import Fraction

import pytest

import queryveil as qv
from tests.counter_example import Chances, Log, a_hat, draw_a_hat, indistinguishable, probabilistic
from tests.seeded import SeededBits

ONE, TEN = Fraction(1), Fraction(10)
"""e^epsilon: 1 is epsilon 0."""


def test_three_histories_by_hand() -> None:
    """Of a log whose first user has a, b and c come out with chance 1/2 each, and a never.

    Where she has b instead, it is a and c. So {b} has 1/2 and 0: delta' is 1/2 for every epsilon'. But b is impossible
    where she has b, and c where she has c: each output breaches, and delta is 1.
    """
    histories = ("a", "b", "c")
    algorithm = a_hat(histories)
    assert algorithm(("a", "c")) == {"b": Fraction(1, 2), "c": Fraction(1, 2)}
    assert algorithm(("b", "c")) == {"a": Fraction(1, 2), "c": Fraction(1, 2)}
    for ratio in (ONE, TEN):
        assert indistinguishable(algorithm, histories, 2, ratio) == Fraction(1, 2)
        assert probabilistic(algorithm, histories, 2, ratio) == 1


@pytest.mark.parametrize("number", [2, 5, 12])
def test_delta_is_one_over_the_number_of_others(number: int) -> None:
    """Proposition 2, and corollary 2: the one delta vanishes with the number of histories, the other is 1."""
    histories = [f"history {one}" for one in range(number)]
    for ratio in (ONE, TEN):
        assert indistinguishable(a_hat(histories), histories, 1, ratio) == Fraction(1, number - 1)
        assert probabilistic(a_hat(histories), histories, 1, ratio) == 1


def test_a_mechanism_that_is_private_passes_both() -> None:
    """The first user's history with weight 2, any other with weight 1: epsilon is ln 2, and no delta is needed."""
    histories = ("a", "b", "c")

    def response(log: Log) -> Chances:
        return {one: Fraction(2 if one == log[0] else 1, 4) for one in histories}

    assert indistinguishable(response, histories, 2, Fraction(2)) == 0
    assert probabilistic(response, histories, 2, Fraction(2)) == 0
    assert probabilistic(response, histories, 2, Fraction(19, 10)) > 0, "a smaller epsilon does not hold"


def test_probabilistic_implies_indistinguishable() -> None:
    """Proposition 1, for mechanisms that leak the first user's history with some chance."""
    histories = ("a", "b", "c")
    for leak in (Fraction(0), Fraction(1, 10), Fraction(1, 2)):

        def mostly_noise(log: Log, leak: Fraction = leak) -> Chances:
            even = (1 - leak) / 3
            return dict.fromkeys(histories, even) | {f"it is {log[0]}": leak}

        assert indistinguishable(mostly_noise, histories, 1, ONE) <= probabilistic(
            mostly_noise, histories, 1, ONE
        )
        assert probabilistic(mostly_noise, histories, 1, ONE) == leak


def test_a_sum_with_something_indistinguishable_is_no_more_than_that() -> None:
    """The package never takes the one for the other: together they are approximate."""
    kinds = ("probabilistic", "approximate")
    strong, weak = (
        qv.Zealous(epsilon=1, delta=1e-6, max_items=1, guarantee=kind).plan(users=1000).guarantee
        for kind in kinds
    )
    assert strong.kind == "probabilistic-dp"
    assert (strong + strong).kind == "probabilistic-dp"
    assert (strong + weak).kind == "approximate-dp"


def test_drawn_outputs_are_never_the_first_user_s() -> None:
    """1,000 draws of 5 histories: that one of the four others never comes has chance 4 (3/4)^1000, far below 1e-6."""
    histories = ("a", "b", "c", "d", "e")
    noise = qv.Noise(SeededBits(3))
    drawn = {draw_a_hat(histories, ("c", "a"), noise) for _ in range(1_000)}
    assert drawn == {"a", "b", "d", "e"}
