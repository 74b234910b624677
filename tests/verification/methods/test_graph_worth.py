"""What a click graph's noise and thresholds are worth, as the verifier computes it, against brute force."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queryveil.verification.graph_worth import chance, paper_threshold, thresholded

import queryveil as qv
from queryveil.verification import click_graph
from queryveil.verification.manifest import Manifest
from tests.click_graph_drafts import LN10, up


def splits(total: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every way to write `total` as a sum."""
    if total == 0:
        yield ()
    for first in range(min(total, most), 0, -1):
        for rest in splits(total - first, first):
            yield (first, *rest)


@settings(max_examples=60, deadline=None)
@given(d=st.integers(1, 9), scale=st.floats(0.3, 60), excess=st.integers(-12, 300))
def test_delta_is_the_worst_of_all_splits(d: int, scale: float, excess: int) -> None:
    """Every split is tried, and the tail is summed term by term: P[X = i] = (1 - q)/(1 + q) q^|i|."""
    top = max(0, d + excess)
    q = math.exp(-1 / scale)

    def missed(copies: int) -> float:
        start = top + 1 - copies
        tail = math.fsum(
            (1 - q) / (1 + q) * q ** abs(i) for i in range(start, max(start, 0) + math.ceil(45 * scale))
        )
        return math.log1p(-min(tail, 1 - 1e-16))

    logs = {copies: missed(copies) for copies in range(1, d + 1)}
    worst = max(-math.expm1(sum(logs[one] for one in split)) for split in splits(d, d))
    worth = thresholded(d, scale, top, once=False)
    assert float(worth.delta) == pytest.approx(worst, rel=1e-6)
    assert float(worth.epsilon) == pytest.approx(d / scale)
    once = thresholded(d, scale, top, once=True)
    assert float(once.delta) == pytest.approx(-math.expm1(d * logs[1]), rel=1e-6)


@pytest.mark.parametrize(
    ("d", "tight", "by_paper"),
    [
        (1, 5, 5.70),
        (5, 28, 31.99),
        (10, 58, 66.99),
        (20, 121, 140.00),
        (40, 253, 292.04),
        (80, 529, 608.16),
        (160, 1105, 1264.49),
    ],
)
def test_figures_of_the_specification(d: int, tight: int, by_paper: float) -> None:
    """e^epsilon = 10, delta = 1e-5: K meets delta, one less does not."""
    scale = up(Fraction(d) / Fraction(LN10))
    assert thresholded(d, scale, tight, once=False).delta <= Decimal("1e-5")
    assert thresholded(d, scale, tight - 1, once=False).delta > Decimal("1e-5")
    assert float(paper_threshold(d, LN10, 1e-5)) == pytest.approx(by_paper, abs=0.005)


@pytest.mark.parametrize(
    ("scale", "top"), [(1e-300, 0), (1e-300, 2**53), (1e300, 5), (5.0, 2**53), (1e300, 2**53)]
)
def test_extreme_settings_have_figures(scale: float, top: int) -> None:
    for once in (True, False):
        worth = thresholded(10**9, scale, top, once=once)
        assert worth.epsilon > 0
        assert 0 <= worth.delta <= 1
    assert 0 <= chance(10**9, scale, top) <= 1


@settings(max_examples=60, deadline=None)
@given(
    d=st.integers(1, 400),
    epsilon=st.floats(0.01, 30),
    exponent=st.floats(0.5, 30),
    once=st.booleans(),
    clicks=st.integers(1, 50),
    paper=st.booleans(),
)
def test_any_plan_has_figures_that_verify(
    d: int, epsilon: float, exponent: float, once: bool, clicks: int, paper: bool
) -> None:
    """The writer's thresholds against the verifier's own arithmetic, without a folder around them."""
    method = qv.ClickGraph(
        epsilon=epsilon,
        delta=10**-exponent,
        max_queries=d,
        count="users" if once else "occurrences",
        analysis="paper" if paper else "tight",
        urls="private",
        max_clicks=clicks,
        epsilon_clicks=epsilon / 3,
        delta_clicks=10**-exponent / 7,
    )
    made = click_graph.checks(Manifest(method.plan().as_dict(), ()), {})
    assert {check.name for check in made if not check.passed} == {"columns"}, made
