"""Truncated geometric selection: its release probabilities, its exact divergences, and what it refuses.

The enumerations run the shipped step with every value of the noise, weighted by the integer weights that noise is
sampled with, and compare the result with a lower bound of e^epsilon. They allow for no rounding.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import queryveil as qv
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.selection import count_selection
from queryveil.mechanisms.truncated_geometric import calibrate
from queryveil.privacy import selection_noise as law
from queryveil.privacy.draws import Draw
from queryveil.privacy.selection_noise import delta_of_each
from queryveil.verification import draws, recomputed
from queryveil.verification.manifest import Manifest
from tests.command import command
from tests.conftest import at, many
from tests.seeded import SeededBits

Chances = dict[int | None, Fraction]


def plan(epsilon: float, delta: float, **given: Any) -> qv.Plan:
    return qv.TruncatedGeometric(epsilon=epsilon, delta=delta, **given).plan()


def noise_of(made: qv.Plan) -> law.SelectionNoise:
    (draw,) = made.draws
    found = law.noise_of(draw)
    assert found is not None
    return found


# -- release probabilities -----------------------------------------------------------------------------------


def optimal(scale: float, delta: float, users: int) -> list[Decimal]:
    """The recursion of the paper, for 0, 1, ..., users."""
    with localcontext(prec=150):
        loss = Decimal(Fraction(scale).denominator) / Decimal(Fraction(scale).numerator)
        up, down, each = loss.exp(), (-loss).exp(), Decimal(delta)
        chances = [Decimal(0)]
        for _ in range(users):
            last = chances[-1]
            chances.append(min(up * last + each, 1 - down * (1 - last - each), Decimal(1)))
        return chances


def test_figures_at_epsilon_1_and_delta_one_in_a_million() -> None:
    noise = noise_of(plan(1, 1e-6))
    assert (noise.largest, noise.smallest, noise.always) == (13, -14, 28)
    assert float(noise.release_probability(14)) == pytest.approx(0.699887, abs=1e-6)
    assert float(noise.release_probability(13)) == pytest.approx(0.257474, abs=1e-6)
    shown = plan(1, 1e-6).calibration
    assert (shown["even_chance"], shown["threshold"], shown["limit"], shown["always"]) == (14, 13, 14, 28)


PAIRS = [
    (1.0, 1e-6),
    (2.0, 1e-6),
    (0.05, 1e-9),
    (0.01, 1e-12),
    (3.0, 0.3),
    (0.2, 0.9),
    (30.0, 1e-300),
    (1.0, 0.5),
]


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_release_probabilities_are_the_optimal_ones(epsilon: float, delta: float) -> None:
    """Never above them, and below them by less than a float can show, for every number of users."""
    made = calibrate(1, epsilon, delta, replace=False)
    best = optimal(made.scale, delta, made.noise.always + 2)
    with localcontext(prec=150):
        for users, chance in enumerate(best):
            ours = made.noise.release_probability(users)
            shortfall = chance - Decimal(ours.numerator) / ours.denominator
            assert shortfall >= -Decimal("1e-140")
            assert shortfall <= min(chance, max(1 - chance, Decimal(delta))) * Decimal("1e-15")
    assert made.noise.release_probability(0) == 0 and made.noise.release_probability(made.noise.always) == 1


@given(epsilon=st.floats(0.1, 1e4), delta=st.floats(1e-300, 1, exclude_max=True))
@example(epsilon=1.0, delta=0.5)
@settings(deadline=None)
def test_the_even_chance_follows_the_closed_form(epsilon: float, delta: float) -> None:
    made = calibrate(1, epsilon, delta, replace=False)
    assert made.noise.even_chance == recomputed.even_chance(made.scale, delta)
    weights = np.diff(made.noise.release_probabilities())
    mean = (weights * (made.noise.largest - np.arange(len(weights)))).sum()
    assert abs(mean) <= 0.5 + 1e-9
    assert abs(law._estimate_even_chance(min(1 / made.scale, 1000.0), delta) - made.noise.even_chance) <= 2


@given(
    most=st.integers(1, 50), epsilon=st.floats(1, 100), delta=st.floats(1e-300, 0.99), replace=st.booleans()
)
@example(most=8, epsilon=1.0, delta=1e-300, replace=False)
@settings(deadline=None, max_examples=25)
def test_the_guarantee_follows_from_the_noise(most: int, epsilon: float, delta: float, replace: bool) -> None:
    """By the verifier's own arithmetic."""
    made = calibrate(most, epsilon, delta, replace=replace)
    cost = recomputed.of_selection(
        {"sensitivity": made.moves, "scale": made.scale, "item_delta": made.item_delta}
    )
    assert made.moves == most * (2 if replace else 1)
    assert cost.epsilon <= Decimal(epsilon) and cost.delta <= Decimal(delta)
    assert cost.delta >= Decimal(delta) * (1 - Decimal("1e-12"))


@given(moves=st.integers(1, 1000), delta=st.floats(1e-300, 0.99))
def test_the_delta_of_one_count_is_rounded_down(moves: int, delta: float) -> None:
    share = Decimal(delta_of_each(delta, moves))
    with localcontext(prec=1_200):
        whole = 1 - (1 - share) ** moves
        assert Decimal(delta) * (1 - Decimal("1e-15")) < whole <= Decimal(delta)


def test_several_item_kinds_share_the_budget() -> None:
    made = plan(2, 1e-6, items=("keywords", "queries"), epsilon_split=(3, 1))
    assert (made.guarantee.epsilon, made.guarantee.delta) == (2, 1e-6)
    keywords, queries = made.guarantee.parts
    assert (keywords.of, keywords.epsilon, queries.of, queries.epsilon) == ("keywords", 1.5, "queries", 0.5)
    assert float(keywords.delta or 0) <= 7.5e-7 and float(queries.delta or 0) <= 2.5e-7
    assert made.calibration["keywords"]["limit"] == plan(1.5, 7.5e-7).calibration["limit"]
    assert [table.least for table in made.tables] == [draw.above + 1 for draw in made.draws if draw.above]


@given(
    kinds=st.sampled_from([("queries",), ("keywords", "queries", "clicks")]),
    neighbours=st.sampled_from(["add-remove", "replace"]),
    most=st.integers(1, 100),
    epsilon=st.floats(0.5, 30),
    exponent=st.floats(0.5, 30),
)
@settings(deadline=None)
def test_any_plan_has_draws_that_verify(
    kinds: tuple[str, ...], neighbours: str, most: int, epsilon: float, exponent: float
) -> None:
    made = plan(epsilon, 10**-exponent, items=kinds, max_items=most, neighbours=neighbours)
    checks = draws.checks(Manifest(made.as_dict(), ()))
    assert checks and all(check.passes for check in checks), checks


# -- exact divergences ---------------------------------------------------------------------------------------


class EveryValue(qv.Noise):
    """Each value of the noise once, from the largest to the smallest."""

    def selection_noise(self, scale: float, item_delta: float, size: int) -> NDArray[np.int64]:
        noise = law.selection_noise(scale, item_delta)
        values = np.arange(noise.largest, noise.smallest - 1, -1, dtype=np.int64)
        assert len(values) == size
        return values


Release = Callable[[int], Chances]


def released(draw: Draw) -> Release:
    """The exact distribution of what the shipped step publishes of an item, by its number of users."""
    noise = law.noise_of(draw)
    assert noise is not None
    total = 1 << noise.bits
    weights = [Fraction(b - a, total) for a, b in itertools.pairwise(noise.cumulative)]

    def outcomes(users: int) -> Chances:
        if users == 0:
            return {None: Fraction(1)}
        counts = np.full(len(weights), users, dtype=np.int64)
        noisy, published = count_selection.with_thresholds(counts, Run(noise=EveryValue()), draw)
        found: Counter[int | None] = Counter()
        for value, shown, weight in zip(noisy.tolist(), published.tolist(), weights, strict=True):
            found[value if shown else None] += weight  # type: ignore[assignment]  # a Fraction
        return dict(found)  # type: ignore[arg-type]

    return outcomes


def two_draws(draw: Draw) -> Release:
    """The broken twin: one draw decides whether an item is published, and another one makes its count."""
    outcomes, noise = released(draw), law.noise_of(draw)
    assert noise is not None

    def separate(users: int) -> Chances:
        chance = 1 - outcomes(users).get(None, Fraction(0))
        counts = {
            users + x: chance * (noise.tail(x) - noise.tail(x + 1))
            for x in range(noise.smallest, noise.largest + 1)
        }
        return {**counts, None: 1 - chance} if users else {None: Fraction(1)}

    return separate


def excess(release: Release, before: Sequence[int], after: Sequence[int], epsilon: float) -> Fraction:
    """The largest P[O] - e^epsilon P'[O] over sets O of outputs, at most: e^epsilon is rounded down."""
    exact = Context(prec=150, rounding=ROUND_FLOOR)
    factor = Fraction(exact.next_minus(exact.exp(Decimal(epsilon))))
    pairs = [(release(one), release(other)) for one, other in zip(before, after, strict=True)]
    total = Fraction(0)
    for output in itertools.product(*(left for left, _ in pairs)):
        here = math.prod(left[value] for (left, _), value in zip(pairs, output, strict=True))
        there = math.prod(right.get(value, 0) for (_, right), value in zip(pairs, output, strict=True))
        total += max(Fraction(0), here - factor * there)
    return total


def worst(release: Release, moves: Sequence[int], epsilon: float, counts: Sequence[int]) -> Fraction:
    """The largest excess over all counts before the move."""
    known: dict[int, Chances] = {}

    def cached(users: int) -> Chances:
        return known.setdefault(users, known.get(users) or release(users))

    return max(
        excess(cached, before, after, epsilon)
        for before in itertools.product(counts, repeat=len(moves))
        if min(after := [count + move for count, move in zip(before, moves, strict=True)]) >= 0
    )


SMALL = [(1.0, 0.01), (2.0, 1e-3), (0.5, 0.05), (1.0, 1e-6), (3.0, 0.3), (0.2, 0.9)]


@pytest.mark.parametrize(("epsilon", "delta"), SMALL)
def test_one_user_more_or_less_is_hidden_at_every_count(epsilon: float, delta: float) -> None:
    """From absence to an item that is always published, both ways; and no smaller delta holds."""
    (draw,) = plan(epsilon, delta).draws
    release, counts = released(draw), range(noise_of(plan(epsilon, delta)).always + 3)
    assert release(0) == {None: 1} and None in release(1)
    found = max(worst(release, [move], epsilon, counts) for move in (1, -1))
    assert Fraction(delta) * (1 - Fraction(1, 10**15)) < found <= Fraction(delta)


def twins(draw: Draw) -> Iterator[Release]:
    yield released(dataclasses.replace(draw, above=(draw.above or 0) - 1))
    yield released(dataclasses.replace(draw, scale=0.7 * (draw.scale or 1)))
    yield released(dataclasses.replace(draw, item_delta=1.1 * (draw.item_delta or 0)))
    yield two_draws(draw)


@pytest.mark.parametrize(("epsilon", "delta"), SMALL[:4])
def test_broken_twins_exceed_delta(epsilon: float, delta: float) -> None:
    made = plan(epsilon, delta)
    for number, twin in enumerate(twins(made.draws[0])):
        counts = range(noise_of(made).always + 3)
        assert max(worst(twin, [move], epsilon, counts) for move in (1, -1)) > Fraction(delta), number


def test_two_separate_draws_would_give_a_delta_of_one_in_three() -> None:
    (draw,) = plan(1, 1e-6).draws
    assert float(worst(two_draws(draw), [-1], 1, range(30))) == pytest.approx(0.30964, abs=1e-5)


@pytest.mark.parametrize(("epsilon", "delta"), [(2.0, 0.2), (4.0, 0.01)])
def test_a_replaced_history_is_hidden_at_every_pair_of_counts(epsilon: float, delta: float) -> None:
    """One count falls and one rises: noise for one user added, or all of delta for each count, is not enough."""
    (draw,) = plan(epsilon, delta, neighbours="replace").draws
    counts = range(noise_of(plan(epsilon, delta, neighbours="replace")).always + 2)
    assert worst(released(draw), [-1, 1], epsilon, counts) <= Fraction(delta)
    (added,) = plan(epsilon, delta).draws
    forgetful = dataclasses.replace(draw, item_delta=delta)
    for twin in (released(added), released(forgetful), two_draws(draw)):
        assert worst(twin, [-1, 1], epsilon, counts) > Fraction(delta)


def test_two_items_of_one_user_are_hidden_together() -> None:
    epsilon, delta = 4.0, 0.05
    made = plan(epsilon, delta, max_items=2)
    release, counts = released(made.draws[0]), range(noise_of(made).always + 2)
    found = max(worst(release, moves, epsilon, counts) for moves in ([1, 1], [-1, -1]))
    assert Fraction(delta) * (1 - Fraction(1, 10**12)) < found <= Fraction(delta)
    (single,) = plan(epsilon, delta).draws
    assert worst(released(single), [1, 1], epsilon, counts) > Fraction(delta)


def test_weights_without_slack_for_rounding_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison in integers is what privacy rests on, so it must be able to fail."""
    law.selection_noise.__wrapped__(1.0, 1e-6)
    monkeypatch.setattr(law, "_SLACK_BITS", 10_000)
    with pytest.raises(ArithmeticError):
        law.selection_noise.__wrapped__(1.0, 1e-6)


# -- releases ------------------------------------------------------------------------------------------------


def log(engine: Any = None) -> qv.SearchLog:
    texts = ["tennis", "boxing near me", "Ünïcode 🐈"]
    rows = [(f"u{user}", at(place), text) for user in range(60) for place, text in enumerate(texts)]
    rows += [(f"alone {user}", at(9), f"mine {user}") for user in range(40)]
    user, time, query = zip(*rows, strict=True)
    table = pa.table({"user": user, "time": time, "query": query})
    return qv.read(table, engine=engine) if engine else qv.read(table)


@pytest.mark.parametrize("keep", ["random", "first", "frequent"])
def test_counts_are_within_the_limit_and_above_the_threshold(keep: str, tmp_path: Path) -> None:
    method = qv.TruncatedGeometric(epsilon=3, delta=1e-6, max_items=3, keep=keep)
    release = qv.publish(log(), method, out=tmp_path / "out")
    shown = dict(
        zip(*(release.tables["items"][name].to_pylist() for name in ("query", "count")), strict=True)
    )
    limit = release.plan.calibration["limit"]
    assert release.plan.calibration["always"] <= 60 and set(shown) == {
        "tennis",
        "boxing near me",
        "ünïcode 🐈",
    }
    threshold = release.plan.calibration["threshold"]
    assert all(abs(count - 60) <= limit and count > threshold for count in shown.values())
    assert qv.verify(tmp_path / "out").passes


def test_spark_publishes_the_same(spark: Any) -> None:
    method = qv.TruncatedGeometric(epsilon=3, delta=1e-3, max_items=3)
    given: dict[str, Any] = {"i_understand": True}
    here = qv.publish(log(), method, noise=qv.Noise(SeededBits(3)), **given).tables["items"]
    there = qv.publish(log(spark), method, noise=qv.Noise(SeededBits(3)), **given).tables["items"]
    # Rows come in any order from an engine, and each takes the next noise: names agree, and noise is within its limit.
    assert set(here["query"].to_pylist()) == set(there["query"].to_pylist()) and here.num_rows == 3
    limit = method.plan().calibration["limit"]
    assert all(abs(count - 60) <= limit for count in there["count"].to_pylist())


def test_no_number_of_users_is_told() -> None:
    method = qv.TruncatedGeometric(epsilon=1, delta=1e-6, neighbours="replace")
    assert method.plan(users=500_000).as_dict() == method.plan().as_dict()


def test_a_verifier_refuses_counts_at_the_threshold(tmp_path: Path) -> None:
    """The row check follows from the draw: noise alone can reach a count at the threshold."""
    from tests.mutations import manifest_of, write_again

    qv.publish(log(), qv.TruncatedGeometric(epsilon=3, delta=1e-6, max_items=3), out=tmp_path / "out")
    content = manifest_of(tmp_path / "out")
    content["draws"][0]["above"] = 60 + 14
    write_again(tmp_path / "out", content, with_documents=True)
    assert "thresholds" in {check.name for check in qv.verify(tmp_path / "out").failed}


# -- wrong input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"delta": 0}, "delta 0 asks for pure"),
        ({"delta": 1}, "parameter 'delta' must be"),
        ({"epsilon": 0}, "parameter 'epsilon' must be"),
        ({"max_items": 0}, "parameter 'max_items' must be"),
        ({"items": "queries,queries"}, "named twice"),
        ({"items": "queries,clicks", "epsilon_split": (1,)}, "has 1 shares for 2"),
        ({"neighbours": "both"}, "parameter 'neighbours' must be"),
    ],
)
def test_wrong_values_are_refused_by_name(given: dict[str, Any], words: str) -> None:
    with pytest.raises(qv.UsageError, match=words) as raised:
        qv.TruncatedGeometric(**{"epsilon": 1.0, "delta": 1e-6, **given})
    assert raised.value.hint


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 1e-13},
        {"epsilon": 1e-11},
        {"epsilon": 1e-4, "max_items": 10**8},
        {"delta": 5e-324, "max_items": 9},
    ],
)
def test_noise_for_more_than_a_hundred_thousand_users_is_refused(given: dict[str, Any]) -> None:
    method = qv.TruncatedGeometric(**{"epsilon": 1.0, "delta": 1e-300, **given})
    with pytest.raises(qv.UsageError) as raised:
        method.plan()
    assert raised.value.hint


def test_the_largest_noise_is_planned_and_drawn() -> None:
    made = calibrate(1, 4e-4, 1e-20, replace=False)
    assert 90_000 < made.noise.even_chance <= law.MAX_USERS
    drawn = qv.Noise(SeededBits(1)).selection_noise(made.scale, made.item_delta, 1_000)
    assert made.noise.smallest <= drawn.min() < 0 < drawn.max() <= made.noise.largest


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.5, math.nan, math.inf])
def test_noise_of_an_impossible_delta_or_scale_is_refused(delta: float) -> None:
    with pytest.raises(qv.UsageError):
        qv.Noise().selection_noise(1.0, delta, 1)
    with pytest.raises(qv.UsageError):
        qv.Noise().selection_noise(delta - 1, 1e-6, 1)


class Wide(qv.TruncatedGeometric):
    """A mechanism that forgot to look whether its noise can be drawn."""

    def plan(self, *, users: int | None = None) -> qv.Plan:
        plan = super().plan(users=users)
        return dataclasses.replace(plan, draws=(dataclasses.replace(plan.draws[0], scale=1e9),))


def test_noise_is_built_before_the_ledger_is_charged(tmp_path: Path) -> None:
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("log", epsilon=10, delta=0.5)
    with pytest.raises(qv.UsageError):
        qv.publish(log(), Wide(epsilon=1, delta=1e-6), ledger=ledger, source="log", out=tmp_path / "out")
    assert ledger.budget("log").events == ()


def test_the_command_line_knows_it(tmp_path: Path) -> None:
    done = command("plan", "truncated-geometric", "--epsilon", "1", "--delta", "1e-6", "--json")
    assert done.code == 0
    shown = json.loads(done.out)
    assert shown["calibration"]["even_chance"] == 14 and shown["draws"][0]["item_delta"] == 1e-6
    assert shown["guarantee"]["kind"] == "approximate-dp"
    assert shown["guarantee"]["neighbours"] == "add-remove-one-user"
    refused = command("plan", "truncated-geometric", "--epsilon", "1", "--delta", "0")
    assert refused.code == 2 and "delta 0" in refused.err


def test_a_log_without_times_is_refused_where_times_decide() -> None:
    method = qv.TruncatedGeometric(epsilon=1, delta=1e-6, keep="first")
    with pytest.raises(qv.InputError, match="time"):
        qv.publish(qv.read(many(3, ["a"]).drop_columns(["time"])), method)
