"""What noise and thresholds are worth, as the verifier computes it: against the papers' figures and brute force."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.verification import draws
from queryveil.verification.manifest import Manifest
from queryveil.verification.recomputed import Worth, at_least, even_chance, of_draw, of_selection, published
from tests.verification.test_draws import up

EXTREMES = [(1e-300, 0), (1e-300, 2**53), (1e300, 5), (5.0, 2**53), (1e300, 2**53)]


def draw(
    m: int, scale: float, top: int, *, tau: int = 1, users: int = 500_000, **given: Any
) -> dict[str, Any]:
    """Rows of the log, one user replaced by another, unless told otherwise."""
    made = {"most": m, "copies": 1, "sensitivity": 2 * m, "scale": scale, "rows": "log"}
    return made | {"at_least": tau, "above": top, "users": users} | given


def added(m: int, scale: float, top: int, *, copies: int = 1) -> dict[str, Any]:
    """One user added or removed."""
    return draw(m, scale, top, sensitivity=m, copies=copies)


def tail(scale: float, needed: int) -> float:
    """P[X >= needed], summed term by term in floats: P[X = i] = (1 - q)/(1 + q) q^|i|."""
    q = math.exp(-1 / scale)
    last = max(needed, 0) + math.ceil(45 * scale)
    return math.fsum((1 - q) / (1 + q) * q ** abs(i) for i in range(needed, last))


# -- figures that are known ----------------------------------------------------------------------------------


def test_worked_examples_of_the_specification() -> None:
    """U = 500,000, delta = 1e-3: T = 106, 102 and 79 meet the promise, one less does not."""
    for m, tau, top, scale in ((5, 1, 106, 5.0), (5, 5, 102, 5.0), (2, 4, 79, 4.0)):
        here = of_draw(draw(m, scale, top, tau=tau), probabilistic=True)
        below = of_draw(draw(m, scale, top - 1, tau=tau), probabilistic=True)
        assert here.epsilon == Decimal(2 * m) / Decimal(scale)
        assert here.delta <= Decimal("0.001") < below.delta


def test_the_example_at_tau_5_to_the_last_digit() -> None:
    worth = of_draw(draw(5, 5.0, 102, tau=5), probabilistic=True)
    with localcontext(prec=60):
        p = Decimal("-19.6").exp() / (1 + Decimal("-0.2").exp())
        assert worth.epsilon == 2
        assert abs(worth.delta / (p * 500_000) - 1) < Decimal("1e-55")
    assert float(worth.delta) == pytest.approx(8.4533e-4, rel=1e-4)
    assert float(of_draw(draw(5, 5.0, 102, tau=5), probabilistic=False).delta) == pytest.approx(
        8.45e-9, rel=1e-3
    )


def test_a_promise_met_exactly_is_met() -> None:
    """2m/7 = 2 for m = 7, though 1/7 is no finite decimal."""
    for probabilistic in (True, False):
        assert of_draw(draw(7, 7.0, 300), probabilistic=probabilistic).epsilon == 2


@pytest.mark.parametrize(
    ("d", "tight"), [(1, 5), (5, 28), (10, 58), (20, 121), (40, 253), (80, 529), (160, 1105)]
)
def test_thresholds_where_one_user_may_count_d_times(d: int, tight: int) -> None:
    """e^epsilon = 10, delta = 1e-5, as the specification has it: K meets delta, one less does not."""
    epsilon = math.log(10)
    scale = up(Fraction(d) / Fraction(epsilon))
    here = of_draw(added(d, scale, tight, copies=d), probabilistic=False)
    below = of_draw(added(d, scale, tight - 1, copies=d), probabilistic=False)
    assert here.epsilon <= Decimal(epsilon)
    assert here.delta <= Decimal("1e-5") < below.delta


def test_rows_that_are_public_have_no_delta() -> None:
    for rows in ("public", "published"):
        known = {"sensitivity": 3, "scale": 12.0, "rows": rows}
        assert of_draw(known, probabilistic=False) == Worth(Decimal("0.25"), Decimal(0))


# -- against brute force -------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    m=st.integers(1, 20),
    scale=st.floats(0.3, 60),
    tau=st.integers(1, 40),
    excess=st.integers(-5, 400),
    users=st.integers(1, 10**9),
)
def test_figures_agree_with_summed_noise(m: int, scale: float, tau: int, excess: int, users: int) -> None:
    top = max(0, tau + excess)
    p = tail(scale, top + 1 - tau)
    loss = -math.log1p(-p)
    found = draw(m, scale, top, tau=tau, users=users)
    probabilistic, approximate = of_draw(found, probabilistic=True), of_draw(found, probabilistic=False)
    assert float(probabilistic.delta) == pytest.approx(min(1, users * m * p / tau), rel=1e-6)
    assert float(approximate.delta) == pytest.approx(max(-math.expm1(-m * loss), tail(scale, top)), rel=1e-6)
    assert float(probabilistic.epsilon) == pytest.approx(2 * m * max(1 / scale, loss), rel=1e-6)
    assert float(approximate.epsilon) == pytest.approx(2 * m / scale, rel=1e-6)
    assert float(of_draw(added(m, scale, top), probabilistic=False).epsilon) == pytest.approx(m / scale)


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
    """One user's d occurrences may be of one row or of several: every split is tried."""
    top = max(0, d + excess)
    logs = {copies: math.log1p(-min(tail(scale, top + 1 - copies), 1 - 1e-16)) for copies in range(1, d + 1)}
    worst = max(-math.expm1(sum(logs[one] for one in split)) for split in splits(d, d))
    worth = of_draw(added(d, scale, top, copies=d), probabilistic=False)
    assert float(worth.delta) == pytest.approx(worst, rel=1e-6)
    assert float(worth.epsilon) == pytest.approx(d / scale)
    once = of_draw(added(d, scale, top), probabilistic=False)
    assert float(once.delta) == pytest.approx(-math.expm1(d * logs[1]), rel=1e-6)


@settings(max_examples=100, deadline=None)
@given(scale=st.floats(0.2, 50), needed=st.integers(-300, 300))
def test_tails_add_up(scale: float, needed: int) -> None:
    """P[X >= t] + P[X >= 1 - t] = 1 by symmetry, and P[X = t] is the distribution's own, to 80 digits."""
    with localcontext(prec=95):
        assert abs(published(scale, needed) + published(scale, 1 - needed) - 1) < Decimal("1e-80")
        q = (Decimal(-1) / Decimal(scale)).exp()
        single = published(scale, needed) - published(scale, needed + 1)
        assert abs(single - (1 - q) / (1 + q) * q ** abs(needed)) < Decimal("1e-80")


@pytest.mark.parametrize("item_delta", [0.3, 1e-6, 1e-25, 1e-300])
@pytest.mark.parametrize("moves", [1, 2, 7, 2 * 10**9])
def test_the_delta_of_optimal_selection_is_that_of_independent_events(item_delta: float, moves: int) -> None:
    cost = of_selection({"sensitivity": moves, "scale": 4.0, "item_delta": item_delta})
    assert cost.epsilon == Decimal(moves) / 4
    assert Fraction(cost.delta) <= min(Fraction(1), Fraction(item_delta) * moves)
    assert moves > 1 or Fraction(cost.delta) == Fraction(item_delta)
    assert float(cost.delta) == pytest.approx(-math.expm1(moves * math.log1p(-item_delta)), rel=1e-9)


@pytest.mark.parametrize("scale", [0.01, 1.0, 37.5])
@pytest.mark.parametrize("item_delta", [0.999999, 0.5, 1e-6, 1e-300])
def test_the_even_chance_is_the_first_of_a_half_or_more(scale: float, item_delta: float) -> None:
    with localcontext(prec=100):
        up, each, chances = (1 / Decimal(scale)).exp(), Decimal(item_delta), [Decimal(0)]
        while 2 * chances[-1] < 1:
            chances.append(min(up * chances[-1] + each, 1 - (1 - chances[-1] - each) / up, Decimal(1)))
    assert even_chance(scale, item_delta) == len(chances) - 1


def test_extreme_selection_noise_has_an_even_chance() -> None:
    assert even_chance(1e-300, 1e-300) == 2 and even_chance(1e-300, 0.5) == 1
    assert even_chance(2.0**40, 1e-300) > 2**40


# -- extremes, and how figures are compared ------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "top"), EXTREMES)
def test_extreme_settings_have_figures(scale: float, top: int) -> None:
    m = 10**9
    for found in (draw(m, scale, top), added(m, scale, top), added(m, scale, top, copies=m)):
        worth = of_draw(found, probabilistic=False)
        assert worth.epsilon > 0
        assert 0 <= worth.delta <= 1


def test_a_tiny_delta_is_bounded_from_above() -> None:
    """Below 1e-40 the difference of nearly equal numbers is replaced; by what is not smaller, and hardly larger."""
    found = draw(7, 1.0, 150)
    p = published(1.0, 150)
    worth = of_draw(found, probabilistic=False)
    with localcontext(prec=200):
        exact = 1 - (1 - p) ** 7
        assert exact <= worth.delta <= exact * (1 + Decimal("1e-39"))
        loss = of_draw(found | {"scale": 1e5, "above": 10**8}, probabilistic=True)
        assert loss.epsilon == Decimal(14) / Decimal(10**5)


def test_probabilistic_epsilon_counts_rows_that_may_vanish() -> None:
    """With T = 0 a row of one user is published with p = 0.62 at scale 2, and -ln(1 - p) = 0.97 is above 1/2."""
    worth = of_draw(draw(1, 2.0, 0), probabilistic=True)
    p = 1 / (1 + math.exp(-0.5))
    assert float(worth.epsilon) == pytest.approx(2 * -math.log(1 - p))
    assert worth.delta == 1


def test_worths_add_up_and_delta_stops_at_1() -> None:
    total = Worth(Decimal("0.1"), Decimal("0.7")) + Worth(Decimal("0.2"), Decimal("0.6"))
    assert total == Worth(Decimal("0.3"), Decimal(1))


def test_a_single_figure_is_exact_and_a_sum_may_be_rounded() -> None:
    needed = Decimal("0.1") + Decimal("1e-20")
    below = math.nextafter(0.1, 0)
    assert at_least(0.125, Decimal("0.125"), is_sum=False)
    assert not at_least(below, needed, is_sum=False)
    assert at_least(below, needed, is_sum=True)
    assert not at_least(0.1 * (1 - 2e-12), needed, is_sum=True)


# -- against the writer --------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    d=st.integers(1, 400),
    epsilon=st.floats(0.01, 30),
    exponent=st.floats(0.5, 30),
    once=st.booleans(),
    clicks=st.integers(1, 50),
    paper=st.booleans(),
)
def test_any_click_graph_has_draws_that_verify(
    d: int, epsilon: float, exponent: float, once: bool, clicks: int, paper: bool
) -> None:
    """The writer's thresholds against the verifier's own arithmetic, without a folder around them."""
    method = qv.ClickGraph(
        epsilon=epsilon,
        delta=10**-exponent,
        max_queries=d,
        count_by="users" if once else "occurrences",
        analysis="paper" if paper else "tight",
        urls="private",
        max_clicks=clicks,
        epsilon_clicks=epsilon / 3,
        delta_clicks=10**-exponent / 7,
    )
    assert all(check.passes for check in draws.checks(Manifest(method.plan().as_dict(), ())))


@settings(max_examples=60, deadline=None)
@given(
    m=st.integers(1, 100),
    epsilon=st.floats(0.01, 30),
    exponent=st.floats(0.5, 30),
    users=st.integers(1, 10**9),
    guarantee=st.sampled_from(["probabilistic", "approximate"]),
    analysis=st.sampled_from(["tight", "paper"]),
    kinds=st.sampled_from([("queries",), ("keywords", "queries", "clicks")]),
)
def test_any_histogram_has_draws_that_verify(
    m: int, epsilon: float, exponent: float, users: int, guarantee: str, analysis: str, kinds: tuple[str, ...]
) -> None:
    method = qv.Zealous(
        epsilon=epsilon,
        delta=10**-exponent,
        max_items=m,
        guarantee=guarantee,
        analysis=analysis,
        items=kinds,
    )
    made = draws.checks(Manifest(method.plan(users=users).as_dict(), ()))
    assert made and all(check.passes for check in made), made
