"""Guarantees are values that add up, or refuse to."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import queryveil as qv
from queryveil.privacy.guarantee import ADD_REMOVE, REPLACE, before_to_after, exact_sum, replace_if_equal


def made(
    kind: str = "probabilistic-dp", epsilon: float = 1, delta: float = 1e-6, **more: Any
) -> qv.Guarantee:
    return qv.Guarantee(kind=kind, epsilon=epsilon, delta=delta, **({"neighbours": REPLACE} | more))


def test_sums_keep_the_weaker_kind() -> None:
    probabilistic, approximate, pure = made(), made("approximate-dp"), made("pure-dp", delta=0)
    assert (probabilistic + probabilistic).kind == "probabilistic-dp"
    assert (probabilistic + pure).kind == "probabilistic-dp"
    assert (probabilistic + approximate).kind == "approximate-dp"
    assert (pure + pure).kind == "pure-dp" and (pure + pure).delta == 0
    assert (approximate + approximate).epsilon == 2


def test_k_anonymity_has_no_sum() -> None:
    crowd = qv.Guarantee(kind="k-anonymity", k=5)
    with pytest.raises(qv.CannotCompose, match=r"k = 5 \(k-anonymity\).*epsilon 1"):
        crowd + made()
    with pytest.raises(qv.CannotCompose):
        made() + qv.Guarantee(kind="none")


def test_different_neighbours_have_no_sum_until_converted() -> None:
    added = made("approximate-dp", neighbours=ADD_REMOVE)
    with pytest.raises(qv.CannotCompose, match="add-remove-one-user"):
        made("approximate-dp") + added
    converted = added.against(REPLACE)
    assert converted.epsilon == 2
    assert converted.delta == pytest.approx((1 + math.e) * 1e-6) and converted.delta >= (1 + math.e) * 1e-6
    assert (made("approximate-dp") + converted).epsilon == 3
    with pytest.raises(qv.CannotCompose):
        made(neighbours=ADD_REMOVE).against(REPLACE)
    with pytest.raises(qv.CannotCompose):
        made("approximate-dp").against(ADD_REMOVE)
    assert made("approximate-dp", epsilon=800, neighbours=ADD_REMOVE).against(REPLACE).delta == 1


def test_ten_times_a_tenth_is_one() -> None:
    assert exact_sum(*[0.1] * 10) == 1
    total = made(epsilon=0.1)
    for _ in range(9):
        total = total + made(epsilon=0.1)
    assert total.epsilon == 1 and len(total.parts) == 10


@given(st.floats(0.001, 0.5), st.floats(0.01, 10))
def test_odds(prior: float, epsilon: float) -> None:
    after = before_to_after(prior, epsilon)
    assert after / (1 - after) == pytest.approx(prior / (1 - prior) * math.exp(epsilon))


def test_words_say_the_numbers() -> None:
    words = made().plain_words()
    assert "1% chance that Anna searched for X" in words and "at most 2.7%" in words and "1 in 1,000" in words
    # The bound is on what one person adds; what everyone's searches say is learnt besides.
    for kind in ("pure-dp", "probabilistic-dp", "approximate-dp"):
        said = made(kind, delta=0 if kind == "pure-dp" else 1e-6).plain_words()
        assert "an attacker knows everyone else's searches" in said
    assert (
        made(neighbours=REPLACE).plain_words() != made("approximate-dp", neighbours=ADD_REMOVE).plain_words()
    )


def test_the_example_is_for_someone_who_knows_what_is_published_as_it_is() -> None:
    """How many phrases a user has may by itself say what that user searched for; the bound does not cover it."""
    said = made("pure-dp", delta=0, neighbours=replace_if_equal("shape", "topics")).plain_words()
    assert "knows everyone else's searches and, for each user, how many queries have a phrase" in said
    assert "the topic of every phrase, and thinks there is a 1% chance" in said


def test_it_survives_json() -> None:
    total = made(implies=made("approximate-dp", delta=1e-9)) + made("pure-dp", delta=0)
    again = qv.Guarantee.from_dict(total.as_dict())
    assert again.as_dict() == total.as_dict()
    assert total.implies is not None and total.implies.epsilon == 2 and total.implies.delta == 1e-9
