"""What steered selection does at random, each test shown to fail for a broken twin.

False-alarm rate of every test: 1e-6 for each event that it looks at (bits are seeded, so a passing test keeps passing).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from decimal import Decimal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from queryveil.mechanisms.selection import gaussian_rounds, steering, user_counts
from queryveil.mechanisms.selection.gaussian_account import GRID, Account
from queryveil.mechanisms.selection.steering import Setting
from queryveil.privacy import gaussian
from tests import copies
from tests.copies import ALPHA, Log

# -- items of one user ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "rounds"), [(1, 1), (1, 8), (4, 2), (8, 8)])
def test_an_item_of_one_user_is_published_with_probability_p_at_most(epsilon: float, rounds: int) -> None:
    """Delta is large so that p can be seen. A threshold lower by half a standard deviation publishes twice as often."""
    runs, setting = 40_000, copies.alone(epsilon, 0.2, 1, rounds)
    histories = copies.copies([[0]], runs)
    assert setting.p == 0.1
    hits = int(copies.published(histories, setting, runs).sum())
    assert copies.at_most(setting.p, hits, runs)
    assert hits > 0.08 * runs, "little is given away for nothing"
    lower = dataclasses.replace(setting, tau=setting.tau - round(copies.deviation(setting) / 2))
    assert not copies.at_most(setting.p, int(copies.published(histories, lower, runs).sum()), runs)


@pytest.mark.parametrize("most", [3, 30])
def test_any_of_several_items_of_one_user_is_published_with_probability_p_at_most(most: int) -> None:
    runs, setting = 60_000 // most, copies.alone(1, 0.2, most)
    histories = copies.copies([range(most)], runs)
    hits = int(copies.published(histories, setting, runs).any(axis=1).sum())
    assert copies.at_most(setting.p, hits, runs)
    lower = dataclasses.replace(setting, tau=setting.tau - round(copies.deviation(setting)))
    found = int(copies.published(histories, lower, runs).any(axis=1).sum())
    assert not copies.at_most(setting.p, found, runs)


def test_without_steering_p_is_exact() -> None:
    """One round, one item: noise alone decides, and the share that passes is p but for what rounding takes."""
    runs, setting = 200_000, copies.alone(2, 0.2, 1, rounds=1)
    hits = int(copies.published(copies.copies([[0]], runs), setting, runs).sum())
    assert stats.binomtest(hits, runs, setting.p).pvalue > ALPHA
    for tau in (setting.tau - setting.scale // 30, setting.tau + setting.scale // 30):
        moved = dataclasses.replace(setting, tau=tau)
        hits = int(copies.published(copies.copies([[0]], runs), moved, runs).sum())
        assert stats.binomtest(hits, runs, setting.p).pvalue < ALPHA


# -- the whole curve ------------------------------------------------------------------------------------------

RUNS = 16_000
EPSILONS = (0.0, 0.25, 0.5, 1.0, 2.0)


def outcomes(
    log: Log, items: int, setting: Setting, counts: int, around: int, seed: int
) -> NDArray[np.int64]:
    """What is released of each copy, as a number: which items are published, and where the count of the first is."""
    histories = copies.copies(log, RUNS, items)
    source = copies.noise(seed)
    chosen = gaussian_rounds.select(histories, setting, source, length_prior=False)
    estimates, _ = user_counts.estimate_users(
        chosen.histories.starts,
        user_counts.selected_positions(chosen.histories, chosen.codes),
        chosen.first_sums,
        counts,
        2,
        source,
    )
    codes = np.zeros(RUNS, np.int64)
    np.add.at(codes, chosen.codes // items, 1 << (chosen.codes % items))
    first = chosen.codes % items == 0
    step = max(1, counts // (2 * GRID))
    places = np.clip((estimates[first] - around) // step, -3, 3) + 4
    np.add.at(codes, chosen.codes[first] // items, places << items)
    return codes


def events(here: NDArray[np.int64], there: NDArray[np.int64]) -> list[set[int]]:
    """For each epsilon the outcomes whose likelihood ratio seems above e^epsilon, by the first half of the runs."""
    half = RUNS // 2
    size = int(max(here.max(), there.max())) + 1
    one, other = (np.bincount(codes[:half], minlength=size) for codes in (here, there))
    return [set(np.flatnonzero(one > math.exp(epsilon) * other).tolist()) for epsilon in EPSILONS]


def kept(made: Account, before: Log, after: Log, items: int, *, spread: float = 1.0) -> bool:
    """Whether all events look as the curve of the account allows, in both directions; `spread` times the noise."""
    setting = steering.calibrate(made.noise("queries"))
    counts = round(spread * made.noise("counts").scale)
    setting = dataclasses.replace(setting, scale=round(spread * setting.scale))
    logs = [
        outcomes(log, items, setting, counts, len(before), seed)
        for seed, log in enumerate((before, after), 1)
    ]
    half, good = RUNS // 2, True
    for here, there in itertools.permutations(logs):
        for epsilon, event in zip(EPSILONS, events(here, there), strict=True):
            delta = float(gaussian.curve(Decimal(made.mu), epsilon)) + made.p
            hits = [int(np.isin(codes[half:], list(event)).sum()) for codes in (here, there)]
            good &= copies.hidden(hits[0], hits[1], half, epsilon, delta)
    return good


def crowd(made: Account, *items: int) -> list[list[int]]:
    """As many users with these items as make the first of them pass about every other time."""
    setting = steering.calibrate(made.noise("queries"))
    users = round(setting.tau / (GRID * setting.sum) * math.sqrt(len(items)))
    return [list(items) for _ in range(users)]


@pytest.mark.parametrize("rounds", [1, 3, 8])
def test_one_user_more_is_hidden_as_the_curve_says(rounds: int) -> None:
    """Noise of half the size is not enough, for the same threshold."""
    made = copies.account(1, 0.1, 3, rounds, p_share=0.3)
    log = crowd(made, 0)
    assert kept(made, log, [*log, [0]], 1)
    assert not kept(made, log, [*log, [0]], 1, spread=0.5)


def test_a_user_with_items_of_her_own_is_hidden_as_the_curve_says() -> None:
    made = copies.account(1, 0.1, 3, 4, p_share=0.3)
    log = crowd(made, 0, 1)
    assert kept(made, log, [*log, [0, 1, 2]], 3)
    assert not kept(made, log, [*log, [0, 1, 2]], 3, spread=0.4)


def test_a_replaced_history_is_hidden_as_the_curve_says() -> None:
    """Both items move at once. With less noise they show it."""
    made = copies.account(1, 0.1, 2, 4, p_share=0.15, replace=True)
    log = [*crowd(made, 0), *crowd(made, 1)]
    assert kept(made, [*log, [0]], [*log, [1]], 2)
    assert not kept(made, [*log, [0]], [*log, [1]], 2, spread=0.4)


# -- counts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [1, 40, 5_000])
def test_counts_carry_the_noise_that_is_stated_beside_them(first: int) -> None:
    """Of items that are all a user has, estimates have no bias: nobody is scaled down. `first`: the first noisy sum."""
    runs, users, scale = 20_000, 50, 7 * GRID
    histories = copies.copies([[0]] * users, runs)
    places = user_counts.selected_positions(histories, np.arange(runs, dtype=np.int64))
    firsts = np.full(runs, first * GRID, np.int64)

    def fits(spread: float) -> bool:
        counts, deviations = user_counts.estimate_users(
            histories.starts, places, firsts, round(spread * scale), 2, copies.noise(5)
        )
        exact = scale * GRID / int(user_counts.user_parts(firsts)[0]) / GRID
        assert spread != 1 or np.all(deviations == math.ceil(exact))
        # The mean of so many estimates, and their variance; rounding to whole users adds a twelfth.
        z = (counts.mean() - users) / (exact / math.sqrt(runs))
        ratio = counts.var() / (exact**2 + 1 / 12) * runs
        return bool(
            2 * stats.norm.sf(abs(z)) > ALPHA
            and min(stats.chi2.sf(ratio, runs - 1), stats.chi2.cdf(ratio, runs - 1)) > ALPHA / 2
        )

    assert fits(1.0)
    assert not fits(0.9)
    assert not fits(1.1)


def test_users_with_many_published_items_make_counts_low_and_never_high() -> None:
    """Six items in full have a norm of root 6, and are scaled down to 2: 50 users count as 40.8 in each."""
    runs, users, scale = 3_000, 50, GRID
    histories = copies.copies([list(range(6))] * users, runs)
    places = user_counts.selected_positions(histories, np.arange(6 * runs, dtype=np.int64))
    counts, _ = user_counts.estimate_users(
        histories.starts, places, np.zeros(6 * runs, np.int64), scale, 2, copies.noise(6)
    )
    expected = users * 2 / math.sqrt(6)
    assert abs(counts.mean() - expected) < 5 * math.sqrt(1 + 1 / 12) / math.sqrt(6 * runs) + 1e-3
    assert counts.mean() < users
