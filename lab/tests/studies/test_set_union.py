"""Study `set-union`: no weighting moves sums further than its noise allows, and what is compared is what is shipped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.selection import gaussian_kernels as steered_loops
from queryveil.mechanisms.selection.gaussian_account import GRID
from queryveil.mechanisms.selection.steering import FULL
from queryveil.mechanisms.steered import Steered
from queryveil_lab.baselines import baselines, loops, shipped
from queryveil_lab.baselines.loops import UNIT
from queryveil_lab.baselines.numbered import Numbered, numbered, shortened
from queryveil_lab.studies import exact_release, set_union
from queryveil_lab.studies.declaration import Findings
from queryveil_lab.studies.set_union import DISTINCT, OTHERS, RELEASE_DATA, STEERED, ZEALOUS_REPLACE, best
from tests.frozen.method_cases import ZeroNoise
from tests.seeded import SeededBits

ITEMS = 6
Users = Sequence[Sequence[int]]
Loop = Callable[[Any, Any, Any], Any]


def laid_out(users: Users) -> tuple[Any, Any]:
    starts = np.cumsum([0, *map(len, users)]).astype(np.int64)
    return starts, np.array([item for one in users for item in one], np.int32)


def sums_of(loop: Loop, users: Users) -> list[int]:
    sums = np.zeros(ITEMS, np.int64)
    loop(*laid_out(users), sums)
    return [int(one) for one in sums]


def distances(loop: Loop, users: Users, at: int, new: Sequence[int]) -> list[int]:
    """How far one more user, who comes at some place in the order, moves each sum: in whole numbers."""
    more = [*users[:at], new, *users[at:]]
    return [b - a for a, b in zip(sums_of(loop, users), sums_of(loop, more), strict=True)]


HISTORIES = st.lists(st.integers(0, ITEMS - 1), min_size=1, max_size=ITEMS, unique=True)
# Many users of one history: what is needed to bring items to a cutoff together.
CROWDS = st.lists(st.tuples(HISTORIES, st.integers(1, 6)), max_size=4).map(
    lambda some: [history for history, times in some for _ in range(times)]
)
NEIGHBOURS = st.tuples(CROWDS, st.integers(0, 24), HISTORIES)
# Votes of a few units: what rounding does wrong is seen there first.
VOTES = st.one_of(st.integers(1, 12), st.just(UNIT))
CUTOFFS = st.integers(1, 60)
"""In tenths of a vote."""


def in_order(loop: Callable[..., Any], vote: int, tenths: int, least: int) -> Loop:
    """A policy; its cutoff is at least one vote, because no threshold is below one."""
    cutoff = max(least, vote * tenths // 10)
    return lambda starts, items, sums: loop(starts, items, np.arange(len(starts) - 1), cutoff, vote, sums)


@settings(max_examples=300, deadline=None)
@given(NEIGHBOURS, VOTES, CUTOFFS)
@pytest.mark.parametrize("loop", [loops.greedy, loops.policy_laplace])
def test_policies_in_whole_numbers_move_sums_by_one_vote(
    loop: Callable[..., Any], case: tuple[Users, int, list[int]], vote: int, tenths: int
) -> None:
    users, at, new = case
    moved = distances(in_order(loop, vote, tenths, 1), users, at, new)
    assert sum(map(abs, moved)) <= vote


def test_a_policy_that_looks_at_the_sums_moves_them_further() -> None:
    """The twin that the test above must reject: items are taken in the order of what they have, largest first."""

    def by_sums(starts: Any, items: Any, sums: Any) -> None:
        for user in range(len(starts) - 1):
            own = sorted(items[starts[user] : starts[user + 1]], key=lambda item: (-sums[item], item))
            sums[own[0]] += 10

    users = [[0], *[[0, 1]] * 20]
    moved = distances(by_sums, users, 0, [1])
    assert sum(map(abs, moved)) <= 10
    assert sum(map(abs, distances(by_sums, users[1:], 0, [1]))) > 100


def test_a_water_fill_without_left_overs_moves_sums_further() -> None:
    """Rounding down what each item gets is no contraction: five users are enough."""

    def floored(starts: Any, items: Any, sums: Any) -> None:
        cutoff, vote = 7, 5
        for user in range(len(starts) - 1):
            own = items[starts[user] : starts[user + 1]]
            gaps = np.maximum(0, cutoff - sums[own])
            level = max(level for level in range(cutoff + 1) if np.minimum(gaps, level).sum() <= vote)
            sums[own] += np.minimum(gaps, level)

    rng = np.random.default_rng(1)
    worst = 0
    for _ in range(3000):
        users = [list(rng.permutation(ITEMS)[: rng.integers(1, 4)]) for _ in range(rng.integers(2, 9))]
        new = list(rng.permutation(ITEMS)[: rng.integers(1, 4)])
        worst = max(worst, sum(map(abs, distances(floored, users, 0, new))))
    assert worst > 5


@settings(max_examples=300, deadline=None)
@given(NEIGHBOURS, CUTOFFS)
def test_the_gaussian_policy_moves_sums_by_one_vote(case: tuple[Users, int, list[int]], tenths: int) -> None:
    users, at, new = case
    moved = distances(in_order(loops.policy_gaussian, UNIT, tenths, UNIT // 10), users, at, new)
    assert sum(one * one for one in moved) <= (UNIT + rounding(users)) ** 2


def rounding(users: Users) -> int:
    """What `baselines.inflated` allows for."""
    return math.ceil(2 * (len(users) + 1) * math.sqrt(ITEMS))


def adapted(tenths: int, discount: float, bias: Sequence[float] = (1.0,) * ITEMS) -> Loop:
    low = np.array(bias)
    return lambda starts, items, sums: loops.adaptive(
        starts, items, UNIT * tenths // 10, baselines.MAD_DEGREE, discount, low, 2.0, UNIT, sums
    )


BIASES = st.lists(st.sampled_from([0.5, 0.7, 1.0]), min_size=ITEMS, max_size=ITEMS)


@settings(max_examples=500, deadline=None)
@given(NEIGHBOURS, CUTOFFS, BIASES)
@example(([[1, 2]] * 11, 11, [2, 3]), 5, [1.0] * ITEMS)
@example(([[0, 3], [1, 3], [2, 3]] * 6, 0, [0, 1, 2, 3]), 5, [1.0] * ITEMS)
def test_adaptive_weights_move_sums_by_one_vote(
    case: tuple[Users, int, list[int]], tenths: int, bias: list[float]
) -> None:
    """MAD, and the second round of MAD2R, with the discount that the study uses."""
    users, at, new = case
    moved = distances(adapted(tenths, baselines.MAD_DISCOUNT, bias), users, at, new)
    assert sum(one * one for one in moved) <= (UNIT + rounding(users)) ** 2


def test_adaptive_weights_without_a_discount_move_sums_further() -> None:
    """Eleven users {1, 2}, and one more with {2, 3}: 1.042 votes."""
    moved = distances(adapted(5, 1.0), [[1, 2]] * 11, 11, [2, 3])
    assert math.sqrt(sum(one * one for one in moved)) / UNIT == pytest.approx(1.042, abs=5e-4)


SCORES = st.lists(
    st.one_of(st.integers(0, 3), st.integers(0, FULL), st.just(FULL)), min_size=ITEMS, max_size=ITEMS
)


@settings(max_examples=300, deadline=None)
@given(NEIGHBOURS, SCORES)
@example(([[0]], 0, [0]), [FULL] * ITEMS)
def test_a_round_of_steered_or_equal_weights_moves_sums_by_less_than_the_grid(
    case: tuple[Users, int, list[int]], scores: list[int]
) -> None:
    users, at, new = case
    whole = np.array(scores, np.int64)
    moved = distances(
        lambda starts, items, sums: steered_loops.add_weighted_sums(starts, items, whole, GRID, sums),
        users,
        at,
        new,
    )
    assert sum(one * one for one in moved) <= GRID**2
    alone = sums_of(
        lambda starts, items, sums: steered_loops.add_weighted_sums(starts, items, whole, GRID, sums), [new]
    )
    assert moved == alone, "what others add does not change"


# -- thresholds ------------------------------------------------------------------------------------------------


def test_thresholds_by_hand() -> None:
    assert baselines.laplace_threshold(1, 1e-6, 10) == pytest.approx(15.52, abs=0.01)
    scale = 1 / baselines.shift(1.0, 1e-6)
    assert scale == pytest.approx(4.365, abs=0.001)
    assert baselines.gaussian_threshold(scale, 5e-7, 10) == pytest.approx(23.57, abs=0.01)
    assert baselines.greedy_threshold(1, 1e-6) == pytest.approx(1 + math.log(5e5))


def test_shares_of_rounds_are_the_whole_budget() -> None:
    assert sum(baselines.SIPS_SHARES) == pytest.approx(1)
    assert sum(baselines.MAD_SHARES) == pytest.approx(1)


@pytest.mark.parametrize("name", baselines.BASELINES)
def test_items_that_one_user_alone_has_are_kept_back(name: str, log: Numbered) -> None:
    """At delta 1e-9 a run publishes one with 1e-9 at most for each user: with 4,000 users, 4e-6."""
    chosen = baselines.BASELINES[name](log, 8.0, 1e-9, 5, 0)
    assert len(chosen.numbers) > 20
    assert log.users[chosen.numbers].min() > 1, "fails with 4e-6 by chance"


# -- the log, and the shipped methods --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def log(generated: Path) -> Numbered:
    return numbered(qv.read(generated))


def test_a_log_in_whole_numbers_is_the_log(log: Numbered) -> None:
    seen = qv.inspect(log.log)
    assert log.events.sum() == seen.queries
    assert log.whole.different == seen.items["queries"]["distinct"]
    assert log.users.max() <= log.log.users and log.users.min() >= 1


def test_histories_are_shortened_by_the_number_of_the_run(log: Numbered) -> None:
    once, again, other = (shortened(log.whole, 5, run) for run in (1, 1, 2))
    assert (once.items == again.items).all() and not (once.items == other.items).all()
    lengths = np.diff(once.starts)
    assert (lengths == np.minimum(5, np.diff(log.whole.starts))).all()
    for user in range(50):
        own = set(once.items[once.starts[user] : once.starts[user + 1]])
        assert len(own) == lengths[user]
        assert own <= set(log.whole.items[log.whole.starts[user] : log.whole.starts[user + 1]])


def test_the_study_selects_what_steered_publishes(log: Numbered, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise, and with a bound that leaves users all items: item by item, and count by count."""
    most = int(np.diff(log.whole.starts).max())
    method = Steered(epsilon=2, delta=1e-3, max_items=most)
    table = method.protect(log.log, Run(noise=ZeroNoise(SeededBits(5))))["items"]
    monkeypatch.setattr(shipped, "Noise", lambda: ZeroNoise(SeededBits(5)))
    chosen = shipped.steered(log, 2.0, 1e-3, 0, max_items=most)
    assert chosen.counts is not None
    texts = log.whole.texts(chosen.numbers)["query"].to_pylist()
    found = dict(zip(texts, chosen.counts.tolist(), strict=True))
    assert found == dict(zip(table["query"].to_pylist(), table["count"].to_pylist(), strict=True))
    assert len(found) > 100


def test_release_data_publishes_as_many_as_expected(log: Numbered) -> None:
    """Six standard deviations: false alarms once in 500 million."""
    setting = qv.ClickGraph(epsilon=4, delta=1e-3, max_queries=5).setting()
    counts = exact_release.bounded_counts(log.log, [5]).bounded[None, 5]
    share = counts.share(setting.scale, setting.top)
    found = len(shipped.release_data(log, 4.0, 1e-3, 5, 0).numbers)
    assert abs(found - share.queries) <= 6 * share.deviation
    assert abs(found - 0.7 * share.queries) > 6 * share.deviation, (
        "a share of what is published is told apart"
    )


def test_words_first_publishes_no_query_with_another_word(
    log: Numbered, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    whole = Numbered.with_all_words

    def watched(self: Numbered, published: Any) -> Any:
        allowed = whole(self, published)
        seen.append((published.copy(), allowed))
        return allowed

    monkeypatch.setattr(Numbered, "with_all_words", watched)
    chosen = shipped.word_stage(log, 8.0, 1e-3, 0, share=0.1)
    ((published, allowed),) = seen
    assert allowed[chosen.numbers].all() and len(chosen.numbers) > 50
    words = log.histories("keywords").texts(np.flatnonzero(published))["keyword"].to_pylist()
    texts = log.whole.texts(chosen.numbers)["query"].to_pylist()
    plain = [text for text in texts if text.replace(" ", "").isalpha()]
    assert plain and all(set(text.split(" ")) <= set(words) for text in plain)


# -- what is said of the findings ------------------------------------------------------------------------------


def findings(**queries: float) -> Findings:
    """One value for each method at epsilon 1 and delta 1e-6; names with two underscores say a d."""
    made = []
    for name, value in queries.items():
        method, _, d = name.partition("__")
        label = {"steered": STEERED, "release": RELEASE_DATA, "replaced": ZEALOUS_REPLACE}.get(method, method)
        made.append(
            {
                "method": label,
                "epsilon": 1.0,
                "delta": 1e-6,
                "d": int(d or 1),
                "bound": d or "100",
                "neighbours": "replace" if label == ZEALOUS_REPLACE else "add-remove",
                "how": "measured",
                "repeat": 0,
                "metric": DISTINCT,
                "value": value,
            }
        )
    return Findings(tuple(made))


def test_the_best_number_of_items_is_each_methods_own() -> None:
    found = best(findings(steered=700, MAD__10=200, MAD__100=220, release__1=90, release__50=20))
    assert {row["method"]: row["d"] for row in found} == {STEERED: 100, "MAD": 100, RELEASE_DATA: 1}


@pytest.mark.parametrize(
    ("queries", "passes"),
    [
        ({"steered": 700, "MAD__10": 530, "release__1": 90}, [True, True]),
        ({"steered": 700, "MAD__10": 10, "MAD__100": 560, "release__1": 90}, [False, True]),
        ({"steered": 700, "MAD__10": 530, "release__1": 150}, [True, False]),
        ({"steered": 0, "MAD__10": 0, "release__1": 0}, [False, False]),
        # Another neighbour relation is never compared with this one.
        ({"steered": 700, "MAD__10": 530, "release__1": 90, "replaced__1": 9000}, [True, True]),
    ],
)
def test_promised_factors_pass_and_fail(queries: dict[str, float], passes: list[bool]) -> None:
    checks = set_union.SET_UNION.checks(findings(**queries))
    assert [check.passes for check in checks if "times" in check.name] == passes


def test_no_baseline_of_another_neighbour_relation_is_among_the_others() -> None:
    assert not {one.label for one in OTHERS} & {one.label for one in set_union.REPLACED}
