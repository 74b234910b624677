"""Truncated geometric selection: its figures, its exact divergences by enumeration, and what it refuses.

The enumerations follow the definition (weights of whole numbers, added up) and use nothing of the mechanism's theory
but its scale and limit.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.mechanisms.truncated_geometric import theory
from queryveil.privacy import calibration
from queryveil.privacy.noise import MAX_LIMIT, checked_limit
from queryveil.verification import draws, recomputed
from queryveil.verification.manifest import Manifest
from tests.command import command
from tests.conftest import at, many
from tests.seeded import SeededBits

Outcome = int | None
Chances = dict[Outcome, Decimal]
ROUNDING = Decimal("1e-45")
"""What 60 digits may lose on the way through an enumeration."""


def plan(epsilon: float, delta: float, **given: Any) -> qv.Plan:
    return qv.TruncatedGeometric(epsilon=epsilon, delta=delta, **given).plan()


# -- figures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "limit", "first"), [(1, 14, 14), (2, 7, 8)])
def test_the_limit_and_the_best_even_chance(epsilon: float, limit: int, first: int) -> None:
    shown = plan(epsilon, 1e-6).calibration
    assert (shown["limit"], shown["threshold"], shown["even_chance_without_counts"]) == (limit, limit, first)
    assert shown["noise_scale"] == 1 / epsilon
    assert (shown["even_chance"], shown["always"]) == (limit + 1, 2 * limit + 1)


def test_the_best_chance_of_five_users() -> None:
    chances = list(itertools.islice(theory.best_chances(Decimal(1), Decimal("1e-6")), 30))
    assert f"{chances[5]:.6e}" == "8.579102e-5"
    assert next(users for users, chance in enumerate(chances) if 2 * chance >= 1) == 14
    assert chances[0] == 0 and chances[-1] == 1


@pytest.mark.parametrize(
    ("given", "scale", "limit"),
    [
        ({"neighbours": "replace"}, 2.0, 27),
        ({"max_items": 5}, 5.0, 66),
        ({"max_items": 5, "neighbours": "replace"}, 10.0, 132),
    ],
)
def test_more_counts_need_more_noise(given: dict[str, Any], scale: float, limit: int) -> None:
    """Against the formula of the paper, at epsilon/M and 1 - (1 - delta)^(1/M)."""
    moves = given.get("max_items", 1) * (2 if "neighbours" in given else 1)
    loss, share = 1 / moves, -math.expm1(math.log1p(-1e-6) / moves)
    needed = math.log((math.exp(loss) + 2 * share - 1) / (share * (math.exp(loss) + 1))) / loss
    shown = plan(1, 1e-6, **given).calibration
    assert (shown["noise_scale"], shown["limit"]) == (scale, limit) and limit == math.ceil(needed)


def test_several_item_kinds_share_the_budget() -> None:
    made = plan(2, 1e-6, items=("keywords", "queries"), epsilon_split=(3, 1))
    assert (made.guarantee.epsilon, made.guarantee.delta) == (2, 1e-6)
    keywords, queries = made.guarantee.parts
    assert (keywords.of, keywords.epsilon, queries.of, queries.epsilon) == ("keywords", 1.5, "queries", 0.5)
    assert float(keywords.delta or 0) <= 7.5e-7 and float(queries.delta or 0) <= 2.5e-7
    assert made.calibration["keywords"]["limit"] == plan(1.5, 7.5e-7).calibration["limit"]
    assert [table.least for table in made.tables] == [draw.above + 1 for draw in made.draws if draw.above]


PARAMETERS = {
    "most": st.integers(1, 50),
    "epsilon": st.floats(0.01, 40),
    "delta": st.floats(1e-300, 0.99),
    "replace": st.booleans(),
}


@given(**PARAMETERS)
def test_the_promise_is_kept_and_no_smaller_limit_keeps_it(
    most: int, epsilon: float, delta: float, replace: bool
) -> None:
    """By the verifier's own arithmetic, with 100 digits."""
    made = theory.calibrated(most, epsilon, delta, replace=replace)
    worth = recomputed.of_truncated({"sensitivity": made.moves, "scale": made.scale, "limit": made.limit})
    assert made.epsilon <= epsilon and made.delta <= delta
    assert worth.epsilon <= Decimal(made.epsilon) and worth.delta <= Decimal(made.delta)
    if made.limit > 1:
        less = {"sensitivity": made.moves, "scale": made.scale, "limit": made.limit - 1}
        assert recomputed.of_truncated(less).delta > Decimal(delta) * (1 - Decimal("1e-30"))


@given(**PARAMETERS)
def test_the_share_of_one_count_is_rounded_down(
    most: int, epsilon: float, delta: float, replace: bool
) -> None:
    share = theory.each(delta, most)
    with localcontext(prec=1_200):
        whole = 1 - (1 - share) ** most
        assert whole <= Decimal(delta) and whole > Decimal(delta) * (1 - Decimal("1e-50"))


@given(
    kinds=st.sampled_from([("queries",), ("keywords", "queries", "clicks")]),
    neighbours=st.sampled_from(["add-remove", "replace"]),
    most=st.integers(1, 100),
    epsilon=st.floats(0.01, 30),
    exponent=st.floats(0.5, 30),
)
@settings(deadline=None)
def test_any_plan_has_draws_that_verify(
    kinds: tuple[str, ...], neighbours: str, most: int, epsilon: float, exponent: float
) -> None:
    made = plan(epsilon, 10**-exponent, items=kinds, max_items=most, neighbours=neighbours)
    checks = draws.checks(Manifest(made.as_dict(), ()))
    assert checks and all(check.passes for check in checks), checks


# -- the best that is possible -------------------------------------------------------------------------------

SMALL = [(1.0, 0.01), (2.0, 1e-3), (0.5, 0.05), (1.0, 1e-6), (3.0, 0.3), (0.2, 0.9)]


def one_loss(scale: float) -> Decimal:
    with localcontext(prec=60):
        return 1 / calibration.decimal(Fraction(scale))


@pytest.mark.parametrize(("epsilon", "delta"), SMALL)
def test_no_more_is_published_than_the_best_selection_does(epsilon: float, delta: float) -> None:
    """And exactly as much, where the limit leaves nothing of delta unused: then counts are free."""
    setting = theory.calibrated(1, epsilon, delta, replace=False)
    loss, users = one_loss(setting.scale), range(2 * setting.limit + 4)
    ours = [setting.chance(one) for one in users]
    best = itertools.islice(theory.best_chances(loss, Decimal(delta)), len(users))
    assert all(one <= other + ROUNDING for one, other in zip(ours, best, strict=True))
    used = calibration.truncated_end(setting.scale, setting.limit)
    reached = itertools.islice(theory.best_chances(loss, used), len(users))
    assert all(abs(one - other) < ROUNDING for one, other in zip(ours, reached, strict=True))


@pytest.mark.parametrize(("epsilon", "delta"), SMALL[:4])
def test_a_lower_threshold_would_be_better_than_the_best(epsilon: float, delta: float) -> None:
    """So that the comparison above can fail."""
    setting = theory.calibrated(1, epsilon, delta, replace=False)
    best = list(itertools.islice(theory.best_chances(one_loss(setting.scale), Decimal(delta)), 3))
    assert calibration.truncated_tail(setting.scale, setting.limit, setting.limit - 1) > best[1]


@given(epsilon=st.floats(0.05, 20), delta=st.floats(1e-9, 0.9))
@example(epsilon=1.0, delta=0.5)  # rounded down, its share is a little below a half
@settings(deadline=None)
def test_even_chances_are_found_without_a_search(epsilon: float, delta: float) -> None:
    setting = theory.calibrated(1, epsilon, delta, replace=False)
    share = theory.each(delta, 1)
    best = theory.best_chances(one_loss(setting.scale), share)
    assert theory.best_even_chance(setting.scale, share) == next(
        users for users, chance in enumerate(best) if 2 * chance >= 1
    )
    assert 2 * setting.chance(setting.even_chance) >= 1 > 2 * setting.chance(setting.even_chance - 1)
    assert setting.chance(setting.always) == 1 > setting.chance(setting.always - 1)
    assert setting.chance(0) == 0 < setting.chance(1)


# -- exact divergences ---------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Release:
    """How counts are published: noise of a scale between -limit and limit, and what is above a threshold."""

    scale: float
    limit: int
    above: int

    @classmethod
    def of(cls, plan: qv.Plan) -> Release:
        draw = plan.draws[0]
        assert draw.scale and draw.limit and draw.above
        return cls(draw.scale, draw.limit, draw.above)

    def outcomes(self, users: int) -> Chances:
        """The exact distribution of what is published of an item of so many users; of nobody's item, nothing."""
        if users == 0:
            return {None: Decimal(1)}
        reach = range(-self.limit, self.limit + 1)
        weights = {x: (-abs(x) / Decimal(self.scale)).exp() for x in reach}
        total = sum(weights.values())
        shown: Chances = {users + x: w / total for x, w in weights.items() if users + x > self.above}
        hidden = sum((w for x, w in weights.items() if users + x <= self.above), Decimal(0)) / total
        return {**shown, None: hidden}


def excess(release: Release, before: Sequence[int], after: Sequence[int], epsilon: float) -> Decimal:
    """max over sets O of P[O] - e^epsilon P'[O], where each item has noise of its own."""
    pairs = [
        (release.outcomes(one), release.outcomes(other)) for one, other in zip(before, after, strict=True)
    ]
    factor, total = Decimal(epsilon).exp(), Decimal(0)
    for output in itertools.product(*(left for left, _ in pairs)):
        here = math.prod((left[v] for (left, _), v in zip(pairs, output, strict=True)), start=Decimal(1))
        there = math.prod(
            (right.get(v, Decimal(0)) for (_, right), v in zip(pairs, output, strict=True)), start=Decimal(1)
        )
        total += max(Decimal(0), here - factor * there)
    return total


def worst(release: Release, moves: Sequence[int], epsilon: float, counts: Sequence[int]) -> Decimal:
    """The largest excess over all counts before the move, where each item moves as told."""
    found = Decimal(0)
    with localcontext(prec=60):
        for before in itertools.product(counts, repeat=len(moves)):
            after = [count + move for count, move in zip(before, moves, strict=True)]
            if min(after) >= 0:
                found = max(found, excess(release, before, after, epsilon))
    return found


@pytest.mark.parametrize(("epsilon", "delta"), SMALL)
def test_one_user_more_or_less_is_hidden_at_every_count(epsilon: float, delta: float) -> None:
    """From no users, which is absence, to more than enough to be always published; both ways."""
    made = plan(epsilon, delta)
    release = Release.of(made)
    counts = range(2 * release.limit + 4)
    assert release.outcomes(0) == {None: 1} and None in release.outcomes(1)
    stated = Decimal(made.calibration["delta"])
    for move in (1, -1):
        found = worst(release, [move], epsilon, counts)
        assert found <= Decimal(delta) + ROUNDING
        # The delta that is stated is exact, but for its rounding and for that of the scale.
        assert abs(found / stated - 1) < Decimal("1e-12")


def twins(release: Release) -> Iterator[Release]:
    yield dataclasses.replace(release, above=release.limit - 1)
    yield dataclasses.replace(release, limit=release.limit - 1)
    yield dataclasses.replace(release, scale=0.7 * release.scale)


@pytest.mark.parametrize(("epsilon", "delta"), SMALL[:4])
def test_a_lower_threshold_or_limit_or_less_noise_is_not_enough(epsilon: float, delta: float) -> None:
    release = Release.of(plan(epsilon, delta))
    for twin in twins(release):
        counts = range(2 * release.limit + 4)
        found = max(worst(twin, [move], epsilon, counts) for move in (1, -1))
        assert found > Decimal(delta), twin


@pytest.mark.parametrize(("epsilon", "delta"), [(2.0, 0.2), (4.0, 0.01)])
def test_a_replaced_history_is_hidden_at_every_pair_of_counts(epsilon: float, delta: float) -> None:
    """One count falls and one rises. Noise for one user added, or a delta for one count alone, is not enough."""
    made = plan(epsilon, delta, neighbours="replace")
    release = Release.of(made)
    counts = range(2 * release.limit + 3)
    found = worst(release, [-1, 1], epsilon, counts)
    assert found <= Decimal(delta) + ROUNDING
    assert abs(found / Decimal(made.calibration["delta"]) - 1) < Decimal("1e-12"), "no smaller one holds"
    added = Release.of(plan(epsilon, delta))
    assert worst(added, [-1, 1], epsilon, range(2 * added.limit + 3)) > Decimal(delta)
    for twin in twins(release):
        assert worst(twin, [-1, 1], epsilon, range(2 * twin.limit + 4)) > Decimal(delta), twin


def test_a_replaced_history_needs_a_share_of_delta_for_both_counts() -> None:
    """The same scale with the limit for a single count: the twin that forgets half of the moved counts."""
    epsilon, delta = 2.0, 0.1
    release = Release.of(plan(epsilon, delta, neighbours="replace"))
    forgetful = calibration.smallest_limit(release.scale, Decimal(delta))
    assert forgetful < release.limit
    twin = Release(release.scale, forgetful, forgetful)
    assert worst(twin, [-1, 1], epsilon, range(2 * forgetful + 3)) > Decimal(delta)


def test_two_items_of_one_user_are_hidden_together() -> None:
    epsilon, delta = 4.0, 0.05
    made = plan(epsilon, delta, max_items=2)
    release = Release.of(made)
    counts = range(2 * release.limit + 3)
    for moves in ([1, 1], [-1, -1]):
        found = worst(release, moves, epsilon, counts)
        assert found <= Decimal(delta) + ROUNDING
        assert abs(found / Decimal(made.calibration["delta"]) - 1) < Decimal("1e-12")
    single = Release.of(plan(epsilon, delta))
    assert worst(single, [1, 1], epsilon, range(2 * single.limit + 3)) > Decimal(delta)


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
    assert all(abs(count - 60) <= limit < count for count in shown.values())
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
    """The row check follows from the draw: a count of k is what noise alone can reach."""
    from tests.mutations import manifest_of, write_again

    qv.publish(log(), qv.TruncatedGeometric(epsilon=3, delta=1e-6, max_items=3), out=tmp_path / "out")
    content = manifest_of(tmp_path / "out")
    content["draws"][0] |= {"limit": 60 + 14, "above": 60 + 14}
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
    ("given", "words", "hint"),
    [
        ({"epsilon": 1e-13}, "more than a trillion users", "raise epsilon"),
        ({"epsilon": 1e-11}, "only items of more than", "raise epsilon"),
        (
            {"epsilon": 1e-4, "max_items": 10**8},
            "only items of more than",
            "raise epsilon or lower max-items",
        ),
    ],
)
def test_noise_beyond_all_people_is_refused(given: dict[str, Any], words: str, hint: str) -> None:
    method = qv.TruncatedGeometric(**{"delta": 1e-300, **given})
    with pytest.raises(qv.UsageError, match=words) as raised:
        method.plan()
    assert raised.value.hint == hint


def test_the_largest_limit_is_planned_and_drawn() -> None:
    setting = theory.calibrated(1, 1e-9, 1e-300, replace=False)
    assert 2**39 < setting.limit <= MAX_LIMIT
    drawn = qv.Noise(SeededBits(1)).truncated_laplace(setting.scale, setting.limit, 1_000)
    assert abs(drawn).max() <= setting.limit


@pytest.mark.parametrize("limit", [0, -1, 2**40 + 1, 1.0, True, None])
def test_a_limit_that_cannot_be_drawn_is_refused(limit: Any) -> None:
    with pytest.raises(qv.UsageError, match="limit of noise must be an integer from 1 to"):
        checked_limit(limit)
    with pytest.raises(qv.UsageError, match="limit of noise"):
        qv.Noise().truncated_laplace(1.0, limit, 1)


class Wide(qv.TruncatedGeometric):
    """A mechanism that forgot to look whether its noise can be drawn."""

    def plan(self, *, users: int | None = None) -> qv.Plan:
        plan = super().plan(users=users)
        return dataclasses.replace(plan, draws=(dataclasses.replace(plan.draws[0], limit=2**41),))


def test_a_limit_is_asked_for_before_the_ledger_is_charged(tmp_path: Path) -> None:
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("log", epsilon=10, delta=0.5)
    with pytest.raises(qv.UsageError, match="limit of noise"):
        qv.publish(log(), Wide(epsilon=1, delta=1e-6), ledger=ledger, source="log", out=tmp_path / "out")
    assert ledger.budget("log").events == ()


def test_the_command_line_knows_it(tmp_path: Path) -> None:
    done = command("plan", "truncated-geometric", "--epsilon", "1", "--delta", "1e-6", "--json")
    assert done.code == 0
    shown = json.loads(done.out)
    assert shown["calibration"]["limit"] == 14 and shown["draws"][0]["limit"] == 14
    assert shown["guarantee"]["kind"] == "approximate-dp"
    assert shown["guarantee"]["neighbours"] == "add-remove-one-user"
    refused = command("plan", "truncated-geometric", "--epsilon", "1", "--delta", "0")
    assert refused.code == 2 and "delta 0" in refused.err


def test_a_log_without_times_is_refused_where_times_decide() -> None:
    method = qv.TruncatedGeometric(epsilon=1, delta=1e-6, keep="first")
    with pytest.raises(qv.InputError, match="time"):
        qv.publish(qv.read(many(3, ["a"]).drop_columns(["time"])), method)
