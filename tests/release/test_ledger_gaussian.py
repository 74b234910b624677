"""Gaussian releases in a ledger: they add up by mu^2 and p, and no rule promises more than its proof."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.errors import BudgetError, CannotCompose, UsageError
from queryveil.mechanisms.selection.gaussian_account import Share, open_account
from queryveil.privacy import gaussian
from queryveil.privacy.guarantee import ADD_REMOVE, APPROXIMATE, GAUSSIAN, PURE, REPLACE, Guarantee
from queryveil.release.ledger.amounts import Cost, Sums
from queryveil.release.ledger.ledger import Account, Amount, Ledger
from queryveil.release.ledger.rules import Pooled, Reserved
from tests.command import command
from tests.conftest import many

SOURCE = "web-2006"
BUDGET = Amount(epsilon=1.0, delta=1e-6)


def normal(epsilon: float, delta: float, *, replace: bool = True) -> Guarantee:
    """What a method that publishes above a threshold promises, with the noise that it really draws."""
    share = Share("queries", 1.0, rounds=8, times=100)
    return open_account(epsilon, delta, [share], replace=replace).guarantee((), ())


def shifted(mu: float, p: float, delta: float, neighbours: str = REPLACE) -> Guarantee:
    """A Gaussian promise by its mu and p, told at a delta."""
    epsilon = gaussian.epsilon_of(mu, p, delta)
    return Guarantee(kind=GAUSSIAN, epsilon=epsilon, delta=delta, mu=mu, p=p, neighbours=neighbours)


def other(epsilon: float, delta: float) -> Guarantee:
    return Guarantee(kind=APPROXIMATE, epsilon=epsilon, delta=delta, neighbours=REPLACE)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(file: Path) -> Ledger:
    """With one source for each rule."""
    ledger = Ledger(str(file))
    ledger.open(SOURCE, epsilon=1, delta=1e-6)
    ledger.open("kept", epsilon=1, delta=1e-6, gaussian=0.5)
    ledger.open("sums", epsilon=1, delta=1e-6, gaussian=0)
    return ledger


def accepted(ledger: Ledger, source: str, *guarantees: Guarantee) -> int:
    """How many of these are charged, one after another."""
    count = 0
    for one in guarantees:
        try:
            ledger.charge(source, "steered", one)
        except BudgetError:
            continue
        count += 1
    return count


# -- the sum -------------------------------------------------------------------------------------------------

# 40 % of delta is p, as a threshold wants it about: then three releases may have mu 0.1334 each by their curve,
# and 0.0782 if each gets a third of epsilon and of delta.
P = 4e-7 / 3
BY_CURVE, BY_THIRDS = 0.1334, 0.0782


EACH = float(gaussian.largest_shift(1.0, Fraction("6e-7"))) / math.sqrt(3)
THIRD = float(gaussian.largest_shift(1 / 3, Fraction("6e-7") / 3))


def test_three_releases_share_the_curve_or_get_a_third_each(ledger: Ledger) -> None:
    assert (round(EACH, 4), round(THIRD, 4)) == (BY_CURVE, BY_THIRDS)
    assert accepted(ledger, SOURCE, *[shifted(EACH * (1 - 1e-6), P, 1e-6)] * 3) == 3
    assert accepted(ledger, "sums", *[shifted(THIRD * (1 - 1e-6), P, 1e-6 / 3)] * 3) == 3
    assert accepted(ledger, "sums", *[shifted(EACH * (1 - 1e-6), P, 1e-6 / 3)] * 3) == 0
    account = ledger.budget(SOURCE)
    assert account.mu == pytest.approx(math.sqrt(3) * EACH, rel=1e-5)
    assert account.p == pytest.approx(4e-7)
    assert account.spent.epsilon == pytest.approx(1, abs=1e-4) and account.spent.delta == 1e-6
    assert account.by_sums.epsilon == pytest.approx(3 * gaussian.epsilon_of(EACH, P, 1e-6), rel=1e-4)


def three(ledger: Ledger) -> tuple[int, ...]:
    """Of three releases: how many fit with as much as the curve allows, with more mu, and with more p."""
    sizes = {"right": (1 - 1e-6, 1.0), "more mu": (1 + 1e-6, 1.0), "more p": (1 - 1e-6, 1.01)}
    for name in sizes:
        ledger.open(name, epsilon=1, delta=1e-6)
    return tuple(
        accepted(ledger, name, *[shifted(EACH * mu, P * p, 1e-6)] * 3) for name, (mu, p) in sizes.items()
    )


def test_a_little_more_than_the_curve_allows_is_refused(ledger: Ledger) -> None:
    assert three(ledger) == (3, 2, 2)


def _by_mu(sums: Sums, cost: Cost) -> Sums:
    root = math.sqrt(sums.mu_squared) + float(cost.mu or 0)
    return dataclasses.replace(_right(sums, cost), mu_squared=Fraction(root) ** 2)


def _without_p(sums: Sums, cost: Cost) -> Sums:
    return dataclasses.replace(_right(sums, cost), p=Fraction(0))


def _largest(sums: Sums, cost: Cost) -> Sums:
    found = max(sums.mu_squared, Fraction(float(cost.mu or 0)) ** 2)
    return dataclasses.replace(_right(sums, cost), mu_squared=found)


_right = Sums.and_then


@pytest.mark.parametrize(
    ("twin", "found"), [(_by_mu, (1, 1, 1)), (_without_p, (3, 3, 3)), (_largest, (3, 3, 3))]
)
def test_a_rule_that_adds_wrongly_is_found_out(
    ledger: Ledger,
    twin: Callable[[Sums, Cost], Sums],
    found: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Sums, "and_then", twin)
    assert three(ledger) == found


def curve(mu: float, epsilon: float) -> float:
    """Delta of a shift, by the formula as it is printed in books."""
    if mu == 0:
        return max(0.0, -math.expm1(epsilon))
    tail = NormalDist().cdf
    return tail(mu / 2 - epsilon / mu) - math.exp(epsilon) * tail(-mu / 2 - epsilon / mu)


MIXED = st.lists(
    st.one_of(
        st.tuples(st.just("gaussian"), st.floats(0.01, 0.4), st.floats(0, 3e-4)),
        st.tuples(st.just("other"), st.floats(0.01, 0.5), st.floats(0, 3e-4)),
    ),
    max_size=7,
)


@settings(max_examples=25, deadline=None)
@given(MIXED)
def test_what_is_accepted_is_what_the_curve_allows(charges: list[tuple[str, float, float]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(str(Path(folder) / "ledger.db"))
        ledger.open(SOURCE, epsilon=1, delta=1e-3)
        square = p = epsilon = delta = 0.0
        for kind, size, chance in charges:
            new = (square, p, epsilon + size, delta + chance)
            promise = other(size, chance)
            if kind == "gaussian":
                new = (square + size**2, p + chance, epsilon, delta)
                promise = shifted(size, chance, 1e-3)
            total = math.inf
            if new[2] <= 1:
                total = curve(math.sqrt(new[0]), 1 - new[2]) + new[1] + new[3]
            if abs(total - 1e-3) < 1e-9:
                continue  # floats cannot tell
            assert accepted(ledger, SOURCE, promise) == (total < 1e-3)
            if total < 1e-3:
                square, p, epsilon, delta = new


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0.05, 1), st.floats(1e-8, 1e-6), st.booleans()), max_size=6))
def test_whatever_plain_sums_accept_the_pool_accepts_too(charges: list[tuple[float, float, bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(str(Path(folder) / "ledger.db"))
        ledger.open("sums", epsilon=1, delta=1e-6, gaussian=0)
        ledger.open("pool", epsilon=1, delta=1e-6)
        for epsilon, delta, is_normal in charges:
            promise = normal(epsilon, delta) if is_normal else other(epsilon, delta)
            if accepted(ledger, "sums", promise):
                assert accepted(ledger, "pool", promise) == 1
        sums, pool = ledger.budget("sums"), ledger.budget("pool")
        assert pool.spent.epsilon <= sums.spent.epsilon + 1e-6
        assert pool.by_sums == sums.spent


@pytest.mark.parametrize("gaussian_share", [None, 0, 1])
def test_one_release_may_take_the_whole_budget(file: Path, gaussian_share: float | None) -> None:
    ledger = Ledger(str(file))
    ledger.open(SOURCE, epsilon=1, delta=1e-6, gaussian=gaussian_share)
    assert accepted(ledger, SOURCE, normal(1, 1e-6), normal(1e-4, 1e-9)) == 1
    assert ledger.budget(SOURCE).spent == BUDGET
    assert ledger.budget(SOURCE).kind == GAUSSIAN


def test_other_kinds_are_added_to_what_the_curve_leaves(ledger: Ledger) -> None:
    mu, p = 0.1, 1e-7
    ledger.charge(SOURCE, "steered", shifted(mu, p, 5e-7))
    ledger.charge(SOURCE, "zealous", other(0.25, 2e-7))
    account = ledger.budget(SOURCE)
    read = gaussian.epsilon_of(mu, p, 1e-6 - 2e-7)
    assert account.spent.epsilon == pytest.approx(0.25 + read, abs=2e-6)
    assert account.spent.epsilon >= 0.25 + read and account.spent.delta == 1e-6
    assert account.left.epsilon == pytest.approx(0.75 - read, abs=2e-6)
    assert account.left.delta == pytest.approx(7e-7 - curve(mu, 0.75), rel=1e-5)
    assert account.kind == APPROXIMATE
    # What is said to be left is what is accepted, and no more.
    for name, more in (("epsilon", other(account.left.epsilon, 0)), ("delta", other(0, account.left.delta))):
        above = dataclasses.replace(more, **{name: getattr(more, name) * 1.001})  # type: ignore[arg-type]
        assert not fits(account, above) and fits(account, more)


def fits(account: Account, promise: Guarantee) -> bool:
    cost = Cost(
        epsilon=float(promise.epsilon or 0), delta=float(promise.delta or 0), mu=promise.mu, p=promise.p
    )
    return account.rule.fits(account.sums.and_then(cost))


@pytest.mark.parametrize("source", [SOURCE, "kept"])
def test_the_mu_that_is_left_fits_and_a_larger_one_does_not(ledger: Ledger, source: str) -> None:
    ledger.charge(source, "steered", normal(0.3, 1e-7))
    account = ledger.budget(source)
    p = float(account.events[0].p or 0)
    assert account.mu_left > 0.01
    assert fits(account, shifted(account.mu_left, p, 1e-6))
    assert not fits(account, shifted(account.mu_left * 1.0001, p, 1e-6))


# -- neighbours ----------------------------------------------------------------------------------------------


def test_add_remove_costs_root_two_of_mu_and_two_p_in_a_replace_ledger(ledger: Ledger, file: Path) -> None:
    given_one = shifted(0.1, 1e-7, 5e-7, ADD_REMOVE)
    ledger.charge(SOURCE, "steered", given_one)
    event = ledger.budget(SOURCE).events[0]
    assert event.mu == pytest.approx(math.sqrt(2) * 0.1, rel=1e-12) and event.p == 2e-7
    assert (event.kind, event.delta) == (GAUSSIAN, 1e-6)
    assert event.epsilon == gaussian.epsilon_of(float(event.mu or 0), 2e-7, 1e-6)
    said = " ".join(command("ledger", "show", str(file), "--source", SOURCE, "--verbose").out.split())
    assert "if one user is added or removed (Gaussian differential privacy) - counts as mu 0.1414" in said
    assert "delta 1e-06), if one user's history is replaced" in said


def test_replace_is_refused_by_an_add_remove_ledger(file: Path) -> None:
    ledger = Ledger(str(file))
    ledger.open(SOURCE, epsilon=1, delta=1e-6, neighbours=ADD_REMOVE)
    with pytest.raises(CannotCompose, match="cannot be restated"):
        ledger.charge(SOURCE, "steered", shifted(0.1, 1e-7, 5e-7))
    ledger.charge(SOURCE, "steered", shifted(0.1, 1e-7, 5e-7, ADD_REMOVE))
    assert ledger.budget(SOURCE).mu == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("mu", "p"), [(-0.1, 1e-7), (math.nan, 1e-7), (math.inf, 0.0), (0.1, -1e-7), (0.1, math.nan), (0.1, 2e-6)]
)
def test_a_mu_or_p_that_means_nothing_is_refused(ledger: Ledger, mu: float, p: float) -> None:
    with pytest.raises(UsageError, match=r"impossible mu or p|must be a finite number"):
        ledger.charge(
            SOURCE,
            "steered",
            Guarantee(kind=GAUSSIAN, epsilon=0.1, delta=1e-6, mu=mu, p=p, neighbours=REPLACE),
        )
    assert ledger.budget(SOURCE).events == ()


# -- a share that is kept ------------------------------------------------------------------------------------


def test_a_share_limits_gaussian_releases_and_the_rest_limits_others(ledger: Ledger) -> None:
    whole = normal(0.5, 5e-7)
    assert accepted(ledger, "kept", other(0.51, 1e-7), other(0.3, 6e-7)) == 0
    assert accepted(ledger, "kept", other(0.3, 2e-7), whole, normal(0.01, 1e-9), other(0.2, 3e-7)) == 3
    account = ledger.budget("kept")
    assert account.left == Amount(epsilon=0.0, delta=0.0) and account.mu_left == 0
    assert account.spent.epsilon == pytest.approx(1) and account.spent.delta == pytest.approx(1e-6)
    assert account.if_looked is None


def test_the_first_gaussian_release_fixes_how_much_of_the_share_is_for_p(ledger: Ledger) -> None:
    without_threshold = shifted(0.05, 0.0, 5e-7)
    ledger.charge("kept", "counts", without_threshold)
    account = ledger.budget("kept")
    assert account.rule.mu_left(account.sums, 0.0) == pytest.approx(
        math.sqrt(float(gaussian.largest_shift(0.5, Fraction("5e-7"))) ** 2 - 0.05**2), rel=1e-5
    )
    # There is no p in the share: it comes out of the delta that is for other kinds.
    assert accepted(ledger, "kept", shifted(0.01, 5e-7, 1e-6), shifted(0.01, 1e-12, 1e-6)) == 1
    assert ledger.budget("kept").left == Amount(epsilon=0.5, delta=0.0)


@pytest.mark.parametrize(("share", "delta"), [(-0.1, 1e-6), (1.1, 1e-6), (math.nan, 1e-6), (0.5, 0)])
def test_shares_out_of_range_are_refused(file: Path, share: float, delta: float) -> None:
    with pytest.raises(UsageError):
        Ledger(str(file)).open(SOURCE, epsilon=1, delta=delta, gaussian=share)
    assert not file.exists()


# -- who looks at releases before choosing the next one ------------------------------------------------------


def leaks(q: float, epsilon: float) -> float:
    """The hockey stick of a release that tells everything with probability q."""
    return q + (1 - q) * max(0.0, -math.expm1(epsilon))


def answers(e: float, epsilon: float) -> float:
    """The hockey stick of an answer that is true with odds of e^e to 1."""
    true = 1 / (1 + math.exp(-e))
    return max(0.0, true - math.exp(epsilon) * (1 - true)) + max(0.0, (1 - true) - math.exp(epsilon) * true)


def chosen_after(first: float, at: float, *ways: Callable[[float], float]) -> float:
    """The delta at an epsilon if the worst way to go on is chosen once the log-likelihood ratio of a shift is known."""
    law, steps = NormalDist(first**2 / 2, first), 20_001
    width = 20 * first / (steps - 1)
    losses = (law.mean - 10 * first + width * step for step in range(steps))
    return sum(law.pdf(loss) * max(way(at - loss) for way in ways) for loss in losses) * width


FIRST = 0.15


def test_looking_breaks_the_pool_and_never_by_more_than_is_said() -> None:
    # First a shift; then, by what it showed, either more shift, or a release that tells all with probability q.
    # Each way to go on fits the pool; whoever chooses between them by looking exceeds its delta.
    sums, pool = Sums.of([Cost(epsilon=1, delta=1e-6, mu=FIRST, p=0.0)]), Pooled(BUDGET)
    mu, q = pool.mu_left(sums, 0.0), float(pool.left(sums).delta)

    def shift(epsilon: float) -> float:
        return curve(mu, epsilon)

    def leak(epsilon: float) -> float:
        return leaks(q, epsilon)

    for fixed in (shift, leak):
        assert 0.999e-6 < chosen_after(FIRST, 1.0, fixed) < 1.001e-6
    looked = chosen_after(FIRST, 1.0, shift, leak)
    assert 1.885e-6 < looked < 1.895e-6 < pool.whatever().delta == 2e-6
    assert round(mu, 3) == 0.183 and q == pytest.approx(1e-6, rel=1e-4)


def test_looking_at_other_kinds_breaks_it_too_and_within_what_is_said() -> None:
    sums, pool = Sums.of([Cost(epsilon=1, delta=1e-6, mu=FIRST, p=0.0)]), Pooled(BUDGET)
    mu, e = pool.mu_left(sums, 0.0), float(pool.left(sums).epsilon)

    def shift(epsilon: float) -> float:
        return curve(mu, epsilon)

    def answer(epsilon: float) -> float:
        return answers(e, epsilon)

    for fixed in (shift, answer):
        assert chosen_after(FIRST, 1.0, fixed) < 1.001e-6
    assert chosen_after(FIRST, 1.0, shift, answer) > 1.1e-6
    most = pool.whatever()
    assert most == Amount(epsilon=2, delta=2e-6)
    assert chosen_after(FIRST, most.epsilon, shift, answer) <= most.delta


def test_what_was_charged_so_far_does_not_bound_what_looking_does() -> None:
    # After a Gaussian release, many ways to go on fit the pool. One of them charges only Gaussian releases, and yet
    # twice the delta at the budget's own epsilon would be false: the other ways might have been taken.
    sums, pool = Sums.of([Cost(epsilon=1, delta=1e-6, mu=FIRST, p=0.0)]), Pooled(BUDGET)
    ways: list[Callable[[float], float]] = [functools.partial(curve, pool.mu_left(sums, 0.0))]
    for step in range(1, 20):
        e = round(float(pool.left(sums).epsilon) * step / 20, 3)
        after = sums.and_then(Cost(epsilon=e, delta=0.0))
        mu, q = pool.mu_left(after, 0.0), float(pool.left(after).delta)
        assert pool.fits(after.and_then(Cost(epsilon=0, delta=q)))
        assert pool.fits(after.and_then(Cost(epsilon=1, delta=1e-6, mu=mu, p=0.0)))

        def answer_or_all(epsilon: float, e: float = e, q: float = q) -> float:
            return q + (1 - q) * answers(e, epsilon)

        def answer_and_shift(epsilon: float, e: float = e, mu: float = mu) -> float:
            true = 1 / (1 + math.exp(-e))
            return true * curve(mu, epsilon - e) + (1 - true) * curve(mu, epsilon + e)

        ways += [answer_or_all, answer_and_shift]
    assert chosen_after(FIRST, 1.0, *ways) > 2.3e-6
    most = pool.whatever()
    assert chosen_after(FIRST, most.epsilon, *ways) <= most.delta


def test_looking_does_not_break_what_a_share_keeps() -> None:
    rule = Reserved(BUDGET, 0.5)
    sums = Sums.of([Cost(epsilon=1, delta=1e-6, mu=0.06, p=1e-7)])
    mu, left = rule.mu_left(sums, 0.0), rule.left(sums)

    def everything(
        epsilon: float,
    ) -> float:  # a convolution of the shift and the answer, and the leak beside it
        true = 1 / (1 + math.exp(-float(left.epsilon)))
        e = float(left.epsilon)
        both = true * curve(mu, epsilon - e) + (1 - true) * curve(mu, epsilon + e)
        return float(left.delta) + both

    ways = (everything, lambda x: leaks(float(left.delta), x), lambda x: answers(float(left.epsilon), x))
    looked = chosen_after(0.06, 1.0, *ways) + 1e-7
    assert looked <= 1e-6
    # The bound is not idle: without the cap on epsilon the same person would exceed it.
    assert chosen_after(0.06, 1.0, *ways, lambda x: answers(1.0, x)) + 1e-7 > 1e-6


def test_what_is_proven_for_whoever_looks_is_shown(ledger: Ledger, file: Path) -> None:
    assert "Condition" not in command("ledger", "show", str(file)).out
    ledger.charge(SOURCE, "steered", normal(0.5, 3e-7))
    said = " ".join(command("ledger", "show", str(file), "--source", SOURCE).out.split())
    assert "only epsilon 2 and delta 2e-06 is proven. " in said
    ledger.charge(SOURCE, "zealous", other(0.1, 1e-7))
    said = " ".join(command("ledger", "show", str(file), "--source", SOURCE).out.split())
    assert "only epsilon 2 and delta 2e-06 is proven. " in said
    ledger.charge("kept", "steered", normal(0.3, 3e-7))
    ledger.charge("sums", "steered", normal(0.3, 3e-7))
    for source in ("kept", "sums"):
        assert "Condition" not in command("ledger", "show", str(file), "--source", source).out


# -- what people and scripts read ----------------------------------------------------------------------------


def test_the_command_shows_both_totals(file: Path) -> None:
    asked = ["--source", SOURCE, "--epsilon", "1", "--delta", "1e-6", "--gaussian", "0.8"]
    said = command("ledger", "open", str(file), *asked)
    assert said.code == 0 and "80 % of the budget is kept for Gaussian releases" in " ".join(said.out.split())
    ledger = Ledger(str(file))
    for _ in range(2):
        ledger.charge(SOURCE, "steered", shifted(0.08, 1e-7, 3e-7))
    account = ledger.budget(SOURCE)
    shown = " ".join(command("ledger", "show", str(file), "--verbose").out.split())
    assert f"spent {account.spent} (Gaussian releases together have mu 0.1131 and p 2e-07)" in shown
    assert f"by sums {account.by_sums}, if every epsilon and every delta is added up" in shown
    assert "- counts as mu 0.08, p 1e-07" in shown
    assert account.by_sums.epsilon > account.spent.epsilon


def test_json_has_mu_and_p_of_events_and_account(ledger: Ledger, file: Path) -> None:
    promise = normal(0.5, 3e-7)
    ledger.charge(SOURCE, "steered", promise)
    ledger.charge(SOURCE, "zealous", other(0.1, 1e-7))
    (account,) = json.loads(command("ledger", "show", str(file), "--source", SOURCE, "--json").out)
    assert [(one["mu"], one["p"]) for one in account["events"]] == [(promise.mu, promise.p), (None, None)]
    assert (account["rule"], account["gaussian_share"]) == ("pooled", None)
    assert account["mu"] == pytest.approx(promise.mu) and account["p"] == promise.p
    assert account["by_sums"] == {"epsilon": 0.6, "delta": 4e-7}
    assert account["spent"]["epsilon"] < 0.6 and account["spent"]["delta"] == 1e-6
    assert account["if_looked"] == {"epsilon": 2.0, "delta": 2e-6}
    rules = {one.source: (one.rule.code, one.gaussian_share) for one in ledger.show()}
    assert rules == {SOURCE: ("pooled", None), "kept": ("reserved", 0.5), "sums": ("sums", 0.0)}


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("source", [SOURCE, "kept"])
def test_a_refusal_says_what_would_fit_and_that_fits(ledger: Ledger, source: str, replace: bool) -> None:
    ledger.charge(source, "steered", normal(0.3, 2e-7))
    with pytest.raises(BudgetError) as refusal:
        ledger.charge(source, "steered", normal(1.5, 2e-7, replace=replace))
    message, hint = refusal.value.message, refusal.value.hint
    assert refusal.value.exit_code == 4
    assert re.search(
        r"needs epsilon \d\.\d+ .*\(mu 0\.\d+, p [\d.]+e-0\d\), the ledger has epsilon 0\.\d+", message
    )
    assert f"left for '{source}' (short by epsilon " in message
    found = re.fullmatch(
        r"lower epsilon: at the same delta ([\d.]+) still fits \(mu (0\.\d+)\), or open a new ledger for new data",
        hint,
    )
    assert found is not None
    account = ledger.budget(source)
    ledger.charge(source, "steered", normal(float(found[1]), 2e-7, replace=replace))
    # And not because next to nothing was said: a tenth more than the exact figure is too much.
    mu = float(found[2]) * (1 if replace else math.sqrt(2)) * 1.1
    assert not fits(account, shifted(mu, 0.0, 1e-6))


@pytest.mark.parametrize("share", [None, 0.5, 1])
def test_a_first_release_that_is_too_large_is_told_what_fits(file: Path, share: float | None) -> None:
    ledger = Ledger(str(file))
    ledger.open(SOURCE, epsilon=1, delta=1e-6, gaussian=share)
    with pytest.raises(BudgetError) as refusal:
        ledger.charge(SOURCE, "steered", normal(1.5, 1e-6))
    assert re.search(r"\(short by epsilon [\d.]+\)$", refusal.value.message)
    found = re.search(r"at the same delta ([\d.]+) still fits", refusal.value.hint)
    assert found is not None
    ledger.charge(SOURCE, "steered", normal(float(found[1]), 1e-6))


@pytest.mark.parametrize("source", [SOURCE, "kept", "sums"])
@pytest.mark.parametrize(("epsilon", "mu"), [(40.0, 7.0), (5e5, 1e3), (1e300, 1e6)])
def test_no_size_of_mu_is_too_much_to_refuse(ledger: Ledger, source: str, epsilon: float, mu: float) -> None:
    promise = Guarantee(kind=GAUSSIAN, epsilon=epsilon, delta=1e-7, mu=mu, p=1e-8, neighbours=REPLACE)
    with pytest.raises(BudgetError, match="short by"):
        ledger.charge(source, "steered", promise)
    assert ledger.budget(source).events == ()


def test_a_refusal_for_p_alone_says_so(ledger: Ledger) -> None:
    ledger.charge(SOURCE, "steered", shifted(0.1, 5e-7, 1e-6))
    with pytest.raises(BudgetError) as refusal:
        ledger.charge(SOURCE, "steered", shifted(0.01, 6e-7, 1e-6))
    assert "needs delta 6e-07 whatever its epsilon (mu 0.01, p 6e-07)" in refusal.value.message
    assert "short by delta 1" in refusal.value.message
    assert refusal.value.hint == "lower delta: no mu fits beside this p, or open a new ledger for new data"


def test_another_kind_that_does_not_fit_beside_gaussian_ones_is_told(ledger: Ledger) -> None:
    ledger.charge(SOURCE, "steered", normal(0.8, 8e-7))
    left = ledger.budget(SOURCE).left
    with pytest.raises(BudgetError) as refusal:
        ledger.charge(SOURCE, "click-graph", Guarantee(kind=PURE, epsilon=0.5, delta=0.0, neighbours=REPLACE))
    assert refusal.value.message.startswith(
        "the release needs epsilon 0.5 more at delta 1e-06, the ledger has "
    )
    assert f"epsilon {left.epsilon:.12g} or delta {left.delta:.12g} left" in refusal.value.message
    assert refusal.value.hint == "lower epsilon, or open a new ledger for new data"


def test_small_shifts_are_priced_at_once() -> None:
    # Their tails lie so far out that computing them to the last digit would take forever.
    for mu in (1e-3, 1e-6, 1e-9):
        epsilon = gaussian.epsilon_of(mu, 0.0, mu * 1e-6)
        assert curve(mu, epsilon) == pytest.approx(mu * 1e-6, rel=1e-2)


def test_publishing_charges_mu_and_p_of_the_release(ledger: Ledger, file: Path) -> None:
    pq.write_table(many(300, ["measles", "flu"]), file.with_name("log.parquet"))
    for out in ("first", "second"):
        done = command(
            *("publish", "steered", str(file.with_name("log.parquet")), "--items", "queries"),
            *(
                "--epsilon",
                "0.42",
                "--delta",
                "3e-7",
                "--allow-empty",
                "--ledger",
                str(file),
                "--source",
                SOURCE,
            ),
            *("--out", str(file.with_name(out))),
        )
        assert done.code == 0, done.err
    account = ledger.budget(SOURCE)
    promised = json.loads((file.with_name("first") / "manifest.json").read_text(encoding="utf-8"))[
        "guarantee"
    ]
    of_ledger = Guarantee.from_dict(promised).against(REPLACE)
    assert [(one.mu, one.p) for one in account.events] == [(of_ledger.mu, of_ledger.p)] * 2
    assert account.by_sums.epsilon > 1 > account.spent.epsilon


# -- crashes and races ---------------------------------------------------------------------------------------

PRELUDE = """
import os, signal, sys, time
from pathlib import Path
from queryveil.errors import BudgetError
from queryveil.privacy.guarantee import GAUSSIAN, REPLACE, Guarantee
from queryveil.release.ledger.ledger import Ledger
ledger = Ledger(sys.argv[1])
one = Guarantee(kind=GAUSSIAN, epsilon=0.3, delta=1e-6, mu=0.06, p=1e-8, neighbours=REPLACE)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PRELUDE + script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_killed_process_gets_no_mu_back(ledger: Ledger, file: Path) -> None:
    process = start(f"ledger.charge('{SOURCE}', 'steered', one); os.kill(os.getpid(), signal.SIGKILL)", file)
    process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL
    assert (ledger.budget(SOURCE).mu, ledger.budget(SOURCE).p) == pytest.approx((0.06, 1e-8))


def test_several_processes_cannot_overspend_mu(file: Path) -> None:
    # 3 processes try 10 charges each, started together; the curve at (1, 1e-6) pays for 16 of the 30.
    ledger, flag = Ledger(str(file)), file.with_name("go")
    ledger.open(SOURCE, epsilon=1, delta=1e-6)
    pays = next(n for n in range(30) if curve(0.06 * math.sqrt(n + 1), 1) + (n + 1) * 1e-8 > 1e-6)
    assert 10 < pays < 20
    script = f"""
print("ready", flush=True)
while not Path(sys.argv[2]).exists():
    time.sleep(0.001)
paid = 0
for _ in range(10):
    try:
        ledger.charge('{SOURCE}', 'steered', one)
        paid += 1
    except BudgetError:
        pass
print(paid)
"""
    processes = [start(script, file, flag) for _ in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    flag.touch()
    paid = [int(process.communicate(timeout=300)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0] * 3
    account = ledger.budget(SOURCE)
    assert sum(paid) == pays == len(account.events)
    assert account.spent.epsilon <= 1 and account.mu == pytest.approx(0.06 * math.sqrt(pays))


# -- how much is used ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "opened",
    [{}, {"gaussian": 0.0}, {"gaussian": 0.6}, {"repeated": True}],
    ids=["pool", "sums", "share", "repeated"],
)
@pytest.mark.parametrize("promise", [normal(0.2, 1e-7), other(0.2, 1e-7)], ids=["gaussian", "approximate"])
def test_as_many_more_releases_fit_as_the_account_states(
    opened: dict[str, Any], promise: Guarantee, tmp_path: Path
) -> None:
    ledger = Ledger(str(tmp_path / "ledger.db"))
    ledger.open(SOURCE, epsilon=1, delta=2e-6, **opened)
    assert (ledger.budget(SOURCE).used, ledger.budget(SOURCE).more_like_last) == (0, None)
    ledger.charge(SOURCE, "any", promise)
    first = ledger.budget(SOURCE)
    more = first.more_like_last
    assert more is not None and more > 0
    # A pool reads the total off at the delta of the whole budget; it is not used up all the same.
    assert 0 < first.used < 1 / 3
    for _ in range(more):
        ledger.charge(SOURCE, "any", promise)
    last = ledger.budget(SOURCE)
    assert last.more_like_last == 0 and first.used < last.used <= 1
    with pytest.raises(BudgetError):
        ledger.charge(SOURCE, "any", promise)


def test_the_command_shows_one_figure_and_more_on_request(file: Path) -> None:
    ledger = Ledger(str(file))
    ledger.open("figure", epsilon=4, delta=1e-5)
    ledger.charge("figure", "steered", normal(0.2, 1e-7))
    account = ledger.budget("figure")
    said = " ".join(command("ledger", "show", str(file), "--source", "figure").out.split())
    assert re.findall(r"([\d.]+)%", said) == [f"{math.ceil(1000 * account.used) / 10:g}"]
    assert f" {account.more_like_last} more" in said
    assert "spent" not in said and f"mu {account.mu:.4g}" not in said
    detailed = " ".join(command("ledger", "show", str(file), "--source", "figure", "--verbose").out.split())
    assert f"spent {account.spent}" in detailed and f"mu {account.mu:.4g}" in detailed
