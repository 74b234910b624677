"""Thresholds and guarantee of the click graph: the figures of the paper, and exact divergences of small cases."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.mechanisms.click_graph import theory

LN10 = math.log(10)


def plan(**parameters: Any) -> dict[str, Any]:
    return qv.ClickGraph(**parameters).plan().as_dict()["calibration"]


@pytest.mark.parametrize(
    ("d", "k_paper", "b", "k_tight"),
    [
        (1, 5.70, 0.43, 5),
        (5, 31.99, 2.17, 28),
        (10, 66.99, 4.34, 58),
        (20, 140.00, 8.69, 121),
        (40, 292.04, 17.37, 253),
        (80, 608.16, 34.74, 529),
        (160, 1264.49, 69.49, 1105),
    ],
)
def test_both_tables(d: int, k_paper: float, b: float, k_tight: int) -> None:
    found = plan(epsilon=LN10, delta=1e-5, max_queries=d)
    assert found["threshold"] == k_tight
    assert round(found["noise_scale"], 2) == b
    assert round(found["paper"]["threshold"], 2) == k_paper
    by_paper = plan(epsilon=LN10, delta=1e-5, max_queries=d, analysis="paper")
    assert by_paper["threshold"] == math.ceil(k_paper)


def test_the_papers_example_of_d_21() -> None:
    found = plan(epsilon=LN10, delta=1e-5, max_queries=21)
    assert (round(found["paper"]["threshold"], 1), round(found["noise_scale"], 1)) == (147.4, 9.1)


def test_theorem_1_for_chosen_noise() -> None:
    found = plan(
        threshold=140.0,
        noise_scale=8.69,
        max_queries=20,
        counts="fresh",
        counts_noise_scale=20.0,
        clicks_noise_scale=10.0,
        max_clicks=5,
        results="lists.tsv",
    )
    alpha = max(math.exp(1 / 8.69), 1 + 1 / (2 * math.exp(139 / 8.69) - 1))
    paper = found["paper"]
    assert paper["alpha"] == pytest.approx(alpha, rel=1e-12)
    assert paper["epsilon"] == pytest.approx(20 * math.log(alpha) + 1 + 0.5, rel=1e-12)
    assert paper["delta"] == pytest.approx(10 * math.exp(-120 / 8.69), rel=1e-12)


def test_alpha_is_what_not_publishing_costs_where_the_threshold_is_low() -> None:
    paper = plan(threshold=2.0, noise_scale=50.0, max_queries=1)["paper"]
    assert paper["alpha"] == pytest.approx(1 + 1 / (2 * math.exp(1 / 50) - 1))


def test_the_release_probability_of_the_paper() -> None:
    """d = 20, the paper's threshold: above 170 virtually always, below 110 virtually never."""
    method = qv.ClickGraph(epsilon=LN10, delta=1e-5, max_queries=20, analysis="paper")
    setting = method.setting()
    assert setting.p(170) > Decimal("0.98") and setting.p(110) < Decimal("0.02")


# -- the guarantee, enumerated -------------------------------------------------------------------------------

VALUES = 60
"""Noisy counts from K + 1 to K + VALUES are told apart; what is above counts as one outcome, which only helps."""


def outcomes(count: int, setting: theory.Setting) -> list[float]:
    """The chance of each outcome of one item: not published, each value, everything above."""
    if count == 0:
        return [1.0] + [0.0] * (VALUES + 1)
    q = math.exp(-1 / setting.scale)
    mass = lambda x: (1 - q) / (1 + q) * q ** abs(x)  # noqa: E731
    values = [mass(setting.top + 1 + at - count) for at in range(VALUES)]
    above = float(setting.p(count)) - sum(values)
    return [1 - float(setting.p(count)), *values, max(0.0, above)]


def divergence(one: list[int], other: list[int], setting: theory.Setting, epsilon: float) -> float:
    """max over sets O of P[O] - e^epsilon P'[O], exactly, for logs with these counts."""
    total = 0.0
    first = [outcomes(count, setting) for count in one]
    second = [outcomes(count, setting) for count in other]
    for at in itertools.product(*(range(VALUES + 2) for _ in one)):
        p = math.prod(row[i] for row, i in zip(first, at, strict=True))
        p2 = math.prod(row[i] for row, i in zip(second, at, strict=True))
        total += max(0.0, p - math.exp(epsilon) * p2)
    return total


def splits(d: int, items: int) -> Iterator[tuple[int, ...]]:
    yield from (one for one in itertools.product(range(d + 1), repeat=items) if 0 < sum(one) <= d)


@pytest.mark.parametrize(("d", "top", "scale"), [(2, 2, 2.0), (2, 4, 1.0), (2, 3, 6.0), (1, 1, 3.0)])
def test_the_exact_divergence_is_within_the_guarantee_and_reaches_it(d: int, top: int, scale: float) -> None:
    """Two items, all splits of one more user over new and known ones, both directions; low thresholds included."""
    setting = theory.Setting(d=d, scale=scale, top=top)
    worst = 0.0
    for before in ((0, 0), (0, 1), (0, 3), (1, 2)):
        for split in splits(d, 2):
            after = [count + more for count, more in zip(before, split, strict=True)]
            for pair in ((list(before), after), (after, list(before))):
                found = divergence(*pair, setting, d / scale)
                assert found <= setting.delta * (1 + 1e-9), (before, split)
                worst = max(worst, found)
    assert worst == pytest.approx(setting.delta, rel=1e-9), "no smaller delta holds"


@settings(max_examples=150, deadline=None)
@given(d=st.integers(1, 9), more=st.integers(0, 60), scale=st.floats(0.2, 40))
def test_no_split_is_worse_than_the_two_extreme_ones(d: int, more: int, scale: float) -> None:
    setting = theory.Setting(d=d, scale=scale, top=d + more)

    def leaks(parts: tuple[int, ...]) -> float:
        return 1 - math.prod(1 - float(setting.p(part)) for part in parts)

    def partitions(left: int, largest: int) -> Iterator[tuple[int, ...]]:
        yield ()
        for one in range(min(left, largest), 0, -1):
            yield from ((one, *rest) for rest in partitions(left - one, one))

    worst = max(leaks(parts) for parts in partitions(d, d))
    assert worst <= setting.delta * (1 + 1e-9) + 1e-15
    assert worst >= setting.delta * (1 - 1e-9) - 1e-15


@settings(max_examples=100, deadline=None)
@given(
    d=st.integers(1, 300),
    epsilon=st.floats(0.01, 10),
    exponent=st.floats(-12, -0.5),
    once=st.booleans(),
)
def test_the_threshold_is_the_smallest_that_keeps_delta(
    d: int, epsilon: float, exponent: float, once: bool
) -> None:
    delta = 10**exponent
    setting = theory.tight_setting(d, epsilon, delta, once=once)
    assert setting.delta <= delta and setting.epsilon <= epsilon * (1 + 1e-15)
    lower = theory.Setting(d=d, scale=setting.scale, top=setting.top - 1, once=once)
    assert setting.top == (1 if once else d) or lower.delta > delta
    if 2 * delta < d:
        assert theory.paper_setting(d, epsilon, delta, once=once).top >= setting.top


def test_counting_users_needs_the_spread_only() -> None:
    users = plan(epsilon=LN10, delta=1e-5, max_queries=20, count_by="users")
    assert users["threshold"] == 121
    few = plan(epsilon=20.0, delta=1e-5, max_queries=20, count_by="users")["threshold"]
    assert few < plan(epsilon=20.0, delta=1e-5, max_queries=20)["threshold"]


# -- the promise ---------------------------------------------------------------------------------------------


def test_the_guarantee_shows_total_and_parts() -> None:
    method = qv.ClickGraph(
        epsilon=1,
        delta=1e-6,
        max_queries=10,
        counts="fresh",
        epsilon_counts=0.5,
        urls="private",
        epsilon_clicks=0.25,
        delta_clicks=1e-7,
        epsilon_reformulations=0.125,
        delta_reformulations=2e-7,
    )
    total = method.plan().guarantee
    assert (total.kind, total.neighbours) == ("approximate-dp", "add-remove-one-user")
    assert (total.epsilon, total.delta) == (1.875, 1.3e-6)
    assert [(part.kind, part.epsilon, part.delta) for part in total.parts] == [
        ("approximate-dp", 1.0, 1e-6),
        ("pure-dp", 0.5, 0.0),
        ("approximate-dp", 0.25, 1e-7),
        ("approximate-dp", 0.125, 2e-7),
    ]


def test_given_noise_and_threshold_delta_is_computed() -> None:
    found = qv.ClickGraph(noise_scale=8.69, threshold=121.0, max_queries=20).plan().guarantee
    assert found.epsilon == pytest.approx(20 / 8.69) and found.epsilon >= 20 / 8.69
    assert 0 < float(found.delta or 0) < 1e-5 * 1.01


def test_the_number_of_users_is_never_told_but_a_large_delta_is_warned_of() -> None:
    method = qv.ClickGraph(epsilon=1, delta=9e-4)
    with_users = method.plan(users=12_345)
    assert "12345" not in str(with_users.as_dict() | {"warnings": []})
    assert "1/users" in with_users.warnings[0] and "too large" in with_users.warnings[0]
    assert not method.plan(users=500).warnings


def test_the_logs_own_urls_promise_nothing() -> None:
    found = qv.ClickGraph(epsilon=1, delta=1e-6, epsilon_clicks=1, urls="clicked").plan().guarantee
    assert found.kind == "none" and "no guarantee covers" in str(found.caveats[0]) and not found.parts
