"""Steered selection: the figures it rests on, what one user can move, and what it refuses.

`tests/statistical/test_steered.py` has what it does at random, and `test_steered_twins.py` what would break it.
"""

from __future__ import annotations

import dataclasses
import json
import math
from decimal import Context, Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.compiled import compiled
from queryveil.mechanisms.selection import gaussian_account, gaussian_rounds, steering, user_counts
from queryveil.mechanisms.selection import gaussian_kernels as kernels
from queryveil.mechanisms.selection.gaussian_account import GRID, MOST_ITEMS, Share
from queryveil.mechanisms.steered import Steered
from tests import copies
from tests.command import command
from tests.conftest import at, many
from tests.seeded import SeededBits
from tests.threads import threads

FIGURES = [
    # epsilon, delta, mu, 1/mu, p/delta, zeta, theta, S, tau
    (0.5, 1e-6, "0.121231", "8.2487", "0.3647", "5.7840", "5.9025", 24464291, 4389359442),
    (1.0, 1e-5, "0.260919", "3.8326", "0.3676", "5.3823", "5.6373", 11366840, 1947798163),
    (1.0, 1e-6, "0.231297", "4.3235", "0.3847", "5.7750", "6.0010", 12822587, 2339036954),
    (2.0, 1e-6, "0.438270", "2.2817", "0.4080", "5.7651", "6.1933", 6767112, 1273976699),
    (math.log(10), 1e-5, "0.554031", "1.8050", "0.4015", "5.3664", "5.9077", 5353164, 961318793),
]
"""Computed by another program, whose p may differ in the seventh digit; so may tau then, by 2e-8 of it."""


def whole(epsilon: float, delta: float, most: int = 100, **given: Any) -> tuple[Any, steering.Setting]:
    """The account and the threshold of a selection that shares its budget with nothing."""
    share = Share(of="queries", weight=1.0, rounds=8, times=most)
    account = gaussian_account.open_account(epsilon, delta, (share,), **({"replace": False} | given))
    return account, steering.calibrate(account.noise("queries"))


# -- figures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", FIGURES)
def test_the_table_of_figures(row: tuple[Any, ...]) -> None:
    epsilon, delta, mu, inverse, share, zeta, theta, scale, tau = row
    account, setting = whole(epsilon, delta)
    shown = setting.as_dict()
    assert (f"{account.mu:.6f}", f"{1 / account.mu:.4f}") == (mu, inverse)
    assert f"{account.p / delta:.4f}" == share
    assert (f"{shown['zeta']:.4f}", f"{shown['theta']:.4f}") == (zeta, theta)
    assert setting.scale == scale
    assert abs(setting.tau - tau) <= 2e-8 * tau


def test_half_of_delta_for_p_gives_figures_to_the_last_digit() -> None:
    account, setting = whole(1, 1e-6, p_share=0.5)
    shown = setting.as_dict()
    assert (f"{account.mu:.6f}", f"{shown['zeta']:.4f}", f"{shown['theta']:.4f}") == (
        "0.229087",
        "5.7307",
        "5.9545",
    )
    assert (setting.scale, setting.tau) == (12946268, 2343308334)


@pytest.mark.parametrize(("most", "inverse", "theta"), [(1, "4.3514", "5.1306"), (10, "4.3357", "5.5833")])
def test_fewer_items_per_user(most: int, inverse: str, theta: str) -> None:
    account, setting = whole(1, 1e-6, most)
    assert (f"{1 / account.mu:.4f}", f"{setting.as_dict()['theta']:.4f}") == (inverse, theta)


def test_replaced_histories() -> None:
    """mu of the page is that of one user added: between neighbours it is root 2 times as large."""
    account, setting = whole(1, 1e-6, replace=True)
    assert f"{account.mu / math.sqrt(2):.6f}" == "0.163671"
    assert f"{setting.p / 1e-6:.4f}" == "0.1875" and account.p == 2 * setting.p
    assert f"{setting.as_dict()['theta']:.4f}" == "6.0548"


def test_the_weights_of_rounds() -> None:
    assert steering.round_weights(8) == (7, 8, 9, 10, 11, 12, 13, 14) and steering.round_weights(1) == (1,)
    setting = whole(1, 1e-6)[1]
    assert (setting.sum, setting.square) == (84, 924)


def test_the_plan_shows_the_figures_of_the_whole_budget() -> None:
    shown = Steered(epsilon=1, delta=1e-6).plan().calibration
    assert shown["noise_scale"] == 12822587 and f"{shown['theta']:.4f}" == "6.0010"
    assert shown["counts_share"] == 0.2 and shown["length_prior"] is False
    assert shown["mu"] <= 0.231297


def test_kinds_of_items_have_equal_shares() -> None:
    plan = Steered(epsilon=1, delta=1e-6, items=("keywords", "queries", "clicks")).plan()
    selecting, counting = plan.draws[:3], plan.draws[3:]
    assert len({(draw.scale, draw.above, draw.p) for draw in selecting}) == 1
    assert len({draw.scale for draw in counting}) == 1 and {draw.p for draw in counting} == {0.0}
    squares = [float(draw.mu or 0) ** 2 for draw in plan.draws]
    assert sum(squares[:3]) / sum(squares) == pytest.approx(0.8, rel=1e-6)
    assert [draw.table for draw in plan.draws] == ["keywords", "queries", "clicks"] * 2


@pytest.mark.parametrize("rounds", range(1, 33))
def test_any_number_of_rounds_has_a_threshold_and_tables(rounds: int) -> None:
    account = Steered(epsilon=1, delta=1e-6, rounds=rounds, max_items=10).account()
    setting = steering.calibrate(account.noise("queries"))
    # From one round to the next the threshold needs at most a few users more than with one round.
    assert 20 < setting.users_for_half < 40
    if rounds in (1, 2, 8):
        tables = steering.score_tables(setting)
        assert len(tables) == rounds - 1
        assert all((np.diff(one.gates) >= 0).all() and (np.diff(one.paces) <= 0).all() for one in tables)


@pytest.mark.parametrize(("epsilon", "delta", "rounds"), [(0.1, 1e-9, 8), (1, 1e-6, 3), (8, 1e-4, 20)])
def test_paces_are_the_power_that_is_promised(epsilon: float, delta: float, rounds: int) -> None:
    """Here by logarithms of 40 digits, there in whole numbers."""
    setting = steering.calibrate(
        Steered(epsilon=epsilon, delta=delta, rounds=rounds).account().noise("queries")
    )
    found = steering.score_tables(setting)[-1].paces
    with localcontext(Context(prec=40)):
        t = Decimal(sum(one * one for one in setting.a[:-1])) / setting.square
        theta = setting.tau / (Decimal(setting.square).sqrt() * setting.scale)
        for step, pace in enumerate(found.tolist()):
            x = (step + Decimal("0.5")) / 80 * t.sqrt()
            ratio = Decimal("0.4") * (theta + 1 - x) * t / ((1 - t) * x)
            assert pace == int(steering.FULL * min(ratio, Decimal(1)) ** Decimal("1.8"))


# -- what one user can move ----------------------------------------------------------------------------------

ITEMS = 12
_ROOT = kernels._integer_root
SCORES = st.lists(st.integers(0, steering.FULL), min_size=ITEMS, max_size=ITEMS)
HISTORY = st.sets(st.integers(0, ITEMS - 1), min_size=1).map(sorted)
LOG = st.lists(HISTORY, min_size=1, max_size=6)


def sums(log: copies.Log, scores: list[int]) -> list[int]:
    histories, found = copies.copies(log, 1, ITEMS), np.zeros(ITEMS, np.int64)
    kernels.add_weighted_sums(histories.starts, histories.items, np.array(scores, np.int64), GRID, found)
    return [int(one) for one in found]


def clipped(log: copies.Log, parts: list[int], most: int, rows: int = ITEMS) -> list[int]:
    histories, found = copies.copies(log, 1, ITEMS), np.zeros(ITEMS, np.int64)
    kernels.add_clipped_sums(
        histories.starts, histories.items, np.array(parts, np.int64), most * GRID, rows, found
    )
    return [int(one) for one in found]


def moved(before: list[int], after: list[int]) -> list[int]:
    return [other - one for one, other in zip(before, after, strict=True)]


def square(vector: list[int]) -> int:
    return sum(one * one for one in vector)


def by_definition(user: list[int], scores: list[int]) -> list[int]:
    norm = math.isqrt(sum(scores[one] ** 2 for one in user)) + 1
    return [scores[one] * GRID // norm if one in user else 0 for one in range(ITEMS)]


@given(log=LOG, user=HISTORY, scores=SCORES)
def test_one_user_moves_sums_by_her_own_weights_whose_norm_is_below_the_grid(
    log: list[list[int]], user: list[int], scores: list[int]
) -> None:
    vector = moved(sums(log, scores), sums([*log, user], scores))
    assert vector == by_definition(user, scores)
    assert min(vector) >= 0 and max(vector) < GRID and square(vector) < GRID**2


@given(log=LOG, user=HISTORY, other=HISTORY, scores=SCORES)
def test_a_replaced_history_moves_sums_by_less_than_root_2_of_the_grid(
    log: list[list[int]], user: list[int], other: list[int], scores: list[int]
) -> None:
    assert square(moved(sums([*log, user], scores), sums([*log, other], scores))) < 2 * GRID**2


@given(
    log=LOG,
    user=HISTORY,
    other=HISTORY,
    parts=st.lists(st.integers(1, GRID), min_size=ITEMS, max_size=ITEMS),
    most=st.integers(1, 3),
)
def test_counts_move_by_at_most_their_norm(
    log: list[list[int]], user: list[int], other: list[int], parts: list[int], most: int
) -> None:
    vector = moved(clipped(log, parts, most), clipped([*log, user], parts, most))
    assert min(vector) >= 0 and square(vector) <= (most * GRID) ** 2
    replaced = moved(clipped([*log, user], parts, most), clipped([*log, other], parts, most))
    assert square(replaced) <= 2 * (most * GRID) ** 2
    if square([parts[one] for one in user]) <= (most * GRID) ** 2:
        assert vector == [parts[one] if one in user else 0 for one in range(ITEMS)], "who fits counts in full"


@given(log=LOG, scores=SCORES, number=st.sampled_from([2, 3]))
@settings(max_examples=40, deadline=None)
def test_sums_are_the_same_in_any_number_of_threads(log: copies.Log, scores: list[int], number: int) -> None:
    with threads(1):
        alone = sums(log, scores), clipped(log, scores, 1), clipped(log, scores, 1, rows=2)
    with threads(number):
        assert (sums(log, scores), clipped(log, scores, 1), clipped(log, scores, 1, rows=2)) == alone


def test_of_more_rows_than_fit_into_64_bits_only_the_first_count() -> None:
    log = [list(range(ITEMS)), [3]]
    assert clipped(log, [5] * ITEMS, 1, rows=2) == [5, 5, 0, 5] + [0] * (ITEMS - 4)
    assert clipped([[-1, 7, -1, 8, 9]], [5] * ITEMS, 1, rows=2)[7:] == [5, 5, 0, 0, 0], (
        "unpublished ones are no rows"
    )
    assert user_counts._MOST_ROWS * GRID**2 < 2**63


def test_squares_of_the_longest_history_fit_into_64_bits() -> None:
    """[C7] A user with as many items as may be asked for still has a norm below the grid; eight times more wrap."""
    most = MOST_ITEMS
    starts, items = np.array([0, most]), np.arange(most, dtype=np.int32)
    found = np.zeros(most, np.int64)
    kernels.add_weighted_sums(starts, items, np.full(most, steering.FULL, np.int64), GRID, found)
    assert found.min() > 0 and square(found.tolist()) < GRID**2
    with pytest.raises(TypeError, match="64 bits"):
        gaussian_rounds.select(
            dataclasses.replace(copies.copies([[0]], 1, ITEMS), starts=np.array([0, most + 1])),
            steering.Setting(8, 10**7, 1e-7, 100, 10**9),
            qv.Noise(SeededBits(1)),
            length_prior=False,
        )


def test_items_that_stand_twice_would_move_sums_too_far() -> None:
    """So that the tests above can fail: histories must have each item once."""
    assert square(sums([[0] * 100], [steering.FULL] * ITEMS)) > 90 * GRID**2


@given(roots=st.lists(st.integers(0, 2**30), min_size=1, max_size=20), offset=st.integers(-1, 1))
def test_roots_are_exact_where_floats_are_not(roots: list[int], offset: int) -> None:
    """Up to a million full scores, by the compiled loop; beside squares a float rounds to the wrong side."""
    for root in [*roots, 2**30]:
        value = max(0, root * root + offset)
        assert _whole_root(np.int64(value)) == math.isqrt(value)


@compiled
def _whole_root(square: np.int64) -> int:
    return _ROOT(square)


@given(first=st.lists(st.integers(-(2**55), 2**55), min_size=1, max_size=30))
def test_parts_are_between_one_and_the_grid(first: list[int]) -> None:
    made = user_counts.user_parts(np.array(first, np.int64))
    for one, part in zip(first, made.tolist(), strict=True):
        assert part == (GRID if one <= 6 * GRID else max(1, math.isqrt(6 * GRID**3 // one)))


@given(log=LOG, dropped=st.sets(st.integers(0, ITEMS - 1)))
def test_dropped_items_leave_all_histories(log: list[list[int]], dropped: set[int]) -> None:
    histories = copies.copies(log, 1, ITEMS)
    alive = np.array([one not in dropped for one in range(ITEMS)])
    starts, items = histories.starts.copy(), histories.items.copy()
    left = kernels.prune_histories(starts, items, alive)
    found = [items[starts[at] : starts[at + 1]].tolist() for at in range(len(log))]
    assert found == [[one for one in user if one not in dropped] for user in log] and starts[-1] == left


@given(totals=st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30), prior=st.integers(0, 240))
@settings(max_examples=50)
def test_a_score_follows_from_the_items_own_statistic(totals: list[int], prior: int) -> None:
    """Alone or beside others, an item gets the same score, from 0 to full; far below it is dropped for good."""
    table = steering.score_tables(copies.alone(1, 1e-6, 100))[3]

    def steered(given: list[int]) -> list[tuple[int, bool]]:
        alive, scores = np.ones(len(given), np.bool_), np.zeros(len(given), np.int64)
        priors = np.full(len(given), prior, np.int64)
        kernels.steer_scores(
            *(np.array(given, np.int64), priors, table.width, table.first, table.gates, table.paces),
            *(20, alive, scores),
        )
        return list(zip(scores.tolist(), alive.tolist(), strict=True))

    together = steered(totals)
    assert together == [steered([one])[0] for one in totals]
    assert all(0 <= score <= steering.FULL and (alive or score == 0) for score, alive in together)
    assert steered([-(2**50)]) == [(0, False)] and steered([2**50]) == [(0, True)]


# -- releases ------------------------------------------------------------------------------------------------

TEXTS = ["tennis", "boxing near me", "ünïcode 🐈", "zebra"]


def log(engine: Any = None) -> qv.SearchLog:
    rows = [(f"u{user}", at(place), text) for user in range(150) for place, text in enumerate(TEXTS)]
    rows += [(f"u{user}", at(20 + place), f"rare {user} {place}") for user in range(60) for place in range(7)]
    user, time, query = zip(*rows, strict=True)
    table = pa.table({"user": user, "time": time, "query": query})
    return qv.read(table, engine=engine) if engine else qv.read(table)


@pytest.mark.parametrize("keep", ["random", "first", "frequent"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_release_is_ordered_and_verifies(keep: str, neighbours: str, tmp_path: Path) -> None:
    """150 users are far above the threshold at epsilon 6: an item is missed with a chance below 1e-9."""
    method = Steered(epsilon=6, delta=1e-6, keep=keep, neighbours=neighbours)
    release = qv.publish(
        log(), method, out=tmp_path / "out", noise=qv.Noise(SeededBits(8)), i_understand=True
    )
    rows = release.tables["items"].to_pylist()
    assert {row["query"] for row in rows} == set(TEXTS)
    assert rows == sorted(rows, key=lambda row: (-row["count"], row["query"].encode()))
    assert all(abs(row["count"] - 150) < 8 * row["deviation"] + 75 for row in rows)
    assert qv.verify(tmp_path / "out").passes
    assert release.tables["items"].column_names == ["query", "count", "deviation"]


def test_what_leaves_is_declared(tmp_path: Path) -> None:
    """No count of users, items, or of what was alive: the manifest is the plan, and digests of what is published."""
    qv.publish(log(), Steered(epsilon=6, delta=1e-6), out=tmp_path / "out")
    content = json.loads((tmp_path / "out" / "manifest.json").read_text())
    plan = json.loads(json.dumps(Steered(epsilon=6, delta=1e-6).plan().as_dict()))
    assert content["calibration"] == plan["calibration"] and content["draws"] == plan["draws"]
    assert "150" not in json.dumps({**content, "files": {}, "created": ""})


def test_spark_publishes_the_same_given_the_same_noise(spark: Any) -> None:
    """Items are numbered in the order of their bytes, and noise goes by number. Some users have too many items."""
    method = Steered(epsilon=6, delta=1e-6, items=("keywords", "queries"), max_items=5, length_prior=True)
    told: dict[str, Any] = {"i_understand": True}
    here = qv.publish(log(), method, noise=qv.Noise(SeededBits(3)), **told).tables
    there = qv.publish(log(spark), method, noise=qv.Noise(SeededBits(3)), **told).tables
    assert {name: table.to_pylist() for name, table in here.items()} == {
        name: table.to_pylist() for name, table in there.items()
    }
    assert all(table.num_rows for table in here.values())


def test_the_same_noise_publishes_the_same_in_any_number_of_threads(generated: Path) -> None:
    made = []
    for number in (1, 3):
        with threads(number):
            noise = qv.Noise(SeededBits(5))
            made.append(
                qv.publish(qv.read(generated), Steered(epsilon=4, delta=1e-4), noise=noise, i_understand=True)
            )
    assert made[0].tables == made[1].tables and made[0].tables["items"].num_rows


def test_nothing_to_count_is_published_as_nothing() -> None:
    """No user has two queries, so that there are no pairs."""
    method = Steered(epsilon=6, delta=1e-6, items=("query-pairs",))
    release = qv.publish(qv.read(many(150, ["a"])), method, allow_empty=True, i_understand=True)
    assert release.tables["items"].num_rows == 0


def test_no_number_of_users_is_told() -> None:
    method = Steered(epsilon=1, delta=1e-6)
    assert method.plan(users=500_000).as_dict() == method.plan().as_dict()


# -- wrong input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_items": 10**6 + 1}, "parameter 'max_items' must be"),
        ({"max_items": 0}, "parameter 'max_items' must be"),
        ({"rounds": 33}, "parameter 'rounds' must be"),
        ({"rounds": 0}, "parameter 'rounds' must be"),
        ({"delta": 0}, "parameter 'delta' must be"),
        ({"delta": 1}, "parameter 'delta' must be"),
        ({"epsilon": 0}, "parameter 'epsilon' must be"),
        ({"epsilon": 21}, "parameter 'epsilon' must be"),
        ({"epsilon": math.nan}, "parameter 'epsilon' must be"),
        ({"counts_share": 0}, "parameter 'counts_share' must be"),
        ({"items": "queries,queries"}, "named twice"),
        ({"neighbours": "both"}, "parameter 'neighbours' must be"),
    ],
)
def test_wrong_values_are_refused_by_name(given: dict[str, Any], words: str) -> None:
    with pytest.raises(qv.UsageError, match=words) as raised:
        Steered(**{"epsilon": 1.0, "delta": 1e-6, **given})
    assert raised.value.hint


def test_a_delta_that_leaves_no_p_is_refused() -> None:
    with pytest.raises(qv.UsageError, match="leaves nothing for the chance") as raised:
        Steered(epsilon=1, delta=1e-300).plan()
    assert "at least 1e-200" in str(raised.value.hint)
    assert Steered(epsilon=1, delta=1e-200).plan().guarantee.delta == 1e-200


def test_an_epsilon_without_any_effect_is_refused_before_data() -> None:
    with pytest.raises(qv.CannotBeMet, match="nothing can be published with epsilon 1e-09") as raised:
        Steered(epsilon=1e-9, delta=1e-6).plan()
    assert "at least 0.0001" in str(raised.value.hint)
    assert Steered(epsilon=1e-4, delta=1e-6).plan().guarantee.epsilon == 1e-4


def test_an_epsilon_at_which_nothing_can_pass_is_refused_with_the_smallest_that_could(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    source = many(300, ["a"])
    pq.write_table(source, tmp_path / "log.parquet")
    done = command(
        *("publish", "steered", str(tmp_path / "log.parquet"), "--epsilon", "0.01", "--delta", "1e-6"),
        *("--out", str(tmp_path / "out")),
    )
    assert done.code == 5 and "nothing can be published with epsilon 0.01" in done.err
    assert not (tmp_path / "out").exists()
    told = float(" ".join(done.err.split()).split("epsilon of at least ")[1].split(",")[0])
    read = qv.read(source)
    Steered(epsilon=told, delta=1e-6).check(read)
    with pytest.raises(qv.CannotBeMet):
        Steered(epsilon=0.99 * told, delta=1e-6).check(read)


def test_a_log_too_small_for_any_epsilon_is_told_so() -> None:
    with pytest.raises(qv.CannotBeMet) as raised:
        Steered(epsilon=1, delta=1e-6).check(qv.read(many(1, ["a"])))
    assert raised.value.hint == "use a log with more users"


def test_sums_that_do_not_fit_into_64_bits_are_refused() -> None:
    setting = copies.alone(1, 1e-6, 100)
    limit = (2**63 - 256 * setting.sum * setting.scale) // (GRID * setting.sum)
    gaussian_rounds.refuse_overflow(setting, limit - 1)
    with pytest.raises(qv.CannotBeMet, match="64 bits"):
        gaussian_rounds.refuse_overflow(setting, limit + 1)
    largest = dataclasses.replace(copies.alone(1, 1e-6, 100, rounds=32), scale=2**40)
    gaussian_rounds.refuse_overflow(largest, 10**9)


def test_the_command_line_knows_it() -> None:
    done = command("plan", "steered", "--epsilon", "1", "--delta", "1e-6", "--json")
    assert done.code == 0
    shown = json.loads(done.out)
    assert shown["calibration"]["noise_scale"] == 12822587
    assert shown["guarantee"]["kind"] == "gaussian-dp"
    refused = command("plan", "steered", "--epsilon", "1", "--delta", "1e-300")
    assert refused.code == 2 and "leaves nothing" in refused.err


@pytest.mark.parametrize("method", [qv.Steered, qv.WeightedGaussian])
def test_counts_that_are_far_too_low_are_called_lower_bounds(method: Any, tmp_path: Path) -> None:
    """Users with many published items count for less than one in each, and no deviation includes that."""
    random = np.random.default_rng(1)
    popularity = 1 / np.arange(10, 1510)
    sizes = np.minimum(random.lognormal(np.log(70), 0.9, 1000).astype(int) + 20, 700)
    films = [random.choice(1500, size, replace=False, p=popularity / popularity.sum()) for size in sizes]
    users = [f"u{user}" for user, size in enumerate(sizes) for _ in range(size)]
    rows = pa.table({"user": users, "query": [f"film {film}" for film in np.concatenate(films)]})
    true = {
        f"film {film}": users for film, users in enumerate(np.bincount(np.concatenate(films), minlength=1500))
    }
    release = qv.publish(rows, method(epsilon=4, delta=1e-6), items="queries", out=tmp_path / "release")
    items = release.tables["items"]
    assert sum(items["count"].to_pylist()) < 0.8 * sum(true[query] for query in items["query"].to_pylist())
    for document in ("DATASHEET.md", "report.html"):
        text = (tmp_path / "release" / document).read_text()
        assert "lower bound" in text and "little low" not in text
