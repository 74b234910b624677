"""The broken relatives of steered selection that docs/proofs/steered.md warns of: each test passes the real code only.

A twin is the real code with one piece replaced. False-alarm rate of every test: 1e-6 (bits are seeded, so a passing
test keeps passing).
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from queryveil.mechanisms.selection import gaussian_kernels as kernels
from queryveil.mechanisms.selection import gaussian_rounds, steering
from queryveil.mechanisms.selection.gaussian_account import GRID
from queryveil.mechanisms.selection.steering import Setting
from queryveil.privacy import gaussian
from tests import copies

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]
Steer = Callable[[Whole, Flags], None]
"""What a twin does to statistics and to what is alive, before the real steering or after it."""

STEER: Callable[..., None] = kernels.steer_scores


def changed(monkeypatch: pytest.MonkeyPatch, before: Steer | None = None, after: Steer | None = None) -> None:
    """Steering with one more step."""

    def steer(totals: Whole, priors: Whole, *tables: object) -> None:
        *public, alive, scores = tables
        if before:
            before(totals, alive)  # type: ignore[arg-type]
        STEER(totals, priors, *public, alive, scores)
        if after:
            after(totals, alive)  # type: ignore[arg-type]

    monkeypatch.setattr(kernels, "steer_scores", steer)


# -- ranks, quantiles or means over items present -------------------------------------------------------------


def test_ranks_over_items_present_let_one_user_push_an_item_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin keeps the best item of each log after a round. One user more, with a hundred rare items, is seen."""
    runs, epsilon, delta, rare = 1_000, 0.25, 0.01, 100
    setting = copies.alone(epsilon, delta, rare)
    users = round(setting.tau / (GRID * setting.sum) + copies.deviation(setting) / (GRID * setting.sum))
    before, items = [[0]] * users, rare + 1
    logs = (before, [*before, range(1, items)])

    def best(totals: Whole, alive: Flags) -> None:
        """Drop all but the best of each copy; later rounds have one item left, and drop none."""
        shown = np.where(alive, totals, np.iinfo(np.int64).min).reshape(runs, items)
        alive &= (shown == shown.max(axis=1, keepdims=True)).ravel()

    def hits() -> list[int]:
        return [
            int(copies.published(copies.copies(log, runs, items), setting, runs)[:, 0].sum()) for log in logs
        ]

    here, there = hits()
    assert here > runs / 2 and copies.hidden(here, there, runs, epsilon, delta)
    changed(monkeypatch, before=best)
    here, there = hits()
    assert not copies.hidden(here, there, runs, epsilon, delta)


# -- weights of rounds that depend on the item's history ------------------------------------------------------


def test_weights_that_depend_on_the_history_have_a_heavier_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin divides by the rounds used so far, and stops at the first round at which that is enough."""
    runs, setting = 20_000, copies.alone(1, 0.2, 1)
    histories = copies.copies([[0]], runs)
    assert copies.at_most(setting.p, int(copies.published(histories, setting, runs).sum()), runs)
    needed, rounds = gaussian.zeta(setting.p, 1), iter(range(1, setting.rounds))
    over = np.zeros(runs, np.bool_)

    def enough(totals: Whole, alive: Flags) -> None:
        used = setting.a[: next(rounds)]
        squares = sum(one * one for one in used)
        limit = (GRID + 1 / 2) * sum(used) + setting.scale * math.sqrt(squares) * needed
        over[alive & (totals > limit)] = True

    changed(monkeypatch, before=enough)
    over |= copies.published(histories, setting, runs).ravel()
    assert not copies.at_most(setting.p, int(over.sum()), runs)


# -- a lower threshold for a public list ----------------------------------------------------------------------


def lists(held: bool, setting: Setting, runs: int, *, always: bool) -> int:
    """How often an item of a list is published that one user has, or nobody; with noise for it always, or if held."""
    if not held and not always:
        return 0
    histories = copies.copies([[0]], runs)
    if not held:  # noise for an item that nobody has: it is a candidate, and no history has it
        histories = dataclasses.replace(histories, starts=np.zeros(1, np.int64))
    return int(copies.published(histories, setting, runs, seed=1 + held).sum())


def test_a_lower_threshold_for_a_list_needs_noise_on_all_of_it() -> None:
    """At 1.5 deviations. With noise on every item of the list no p is needed; with noise where somebody searched, p is
    far exceeded."""
    runs, epsilon, delta = 20_000, 1.0, 0.02
    setting = copies.alone(epsilon, delta, 1)
    lower = dataclasses.replace(setting, tau=round(1.5 * copies.deviation(setting)))
    hers, nobodys = (lists(held, lower, runs, always=True) for held in (True, False))
    assert copies.hidden(hers, nobodys, runs, epsilon, delta)
    assert copies.hidden(nobodys, hers, runs, epsilon, delta) and nobodys > 0
    assert copies.at_most(delta, lists(True, setting, runs, always=False), runs), (
        "its own threshold keeps it back"
    )
    assert not copies.at_most(delta, lists(True, lower, runs, always=False), runs)


# -- the threshold for equal weights --------------------------------------------------------------------------


def test_the_threshold_for_equal_weights_is_too_low_for_steered_ones() -> None:
    """For a user with t items alone, each of weight 1/root t. But weight goes to those that are left."""
    runs, setting = 8_000, copies.alone(2, 0.2, 10)
    deviation = copies.deviation(setting)
    equal = max(
        GRID * setting.sum / math.sqrt(t) + setting.sum / 2 + deviation * gaussian.zeta(setting.p, t)
        for t in range(1, setting.most + 1)
    )
    histories = copies.copies([range(setting.most)], runs)
    sound = copies.published(histories, setting, runs).any(axis=1)
    assert copies.at_most(setting.p, int(sound.sum()), runs)
    twin = dataclasses.replace(setting, tau=math.ceil(equal))
    assert not copies.at_most(setting.p, int(copies.published(histories, twin, runs).any(axis=1).sum()), runs)
    # It is enough where weights stay equal: nothing is dropped, and nothing is steered.
    flat = copies.alone(2, 0.2, 10, rounds=1)
    once = max(
        GRID / math.sqrt(t) + 1 / 2 + flat.scale * gaussian.zeta(flat.p, t) for t in range(1, flat.most + 1)
    )
    found = copies.published(histories, dataclasses.replace(flat, tau=math.ceil(once)), runs).any(axis=1)
    assert copies.at_most(flat.p, int(found.sum()), runs)


# -- noise only where a sum is positive -----------------------------------------------------------------------


class Sparing:
    """Draws as the real noise does, but none for items whose sum is 0; so it must wait for sums, as no noise may."""

    def __init__(self, seed: int) -> None:
        self.noise, self.sums = copies.noise(seed), np.empty(0, np.int64)
        self.ready = threading.Event()

    def rounded_normal(self, scale: int, size: int) -> Whole:
        assert self.ready.wait(60)
        drawn = self.noise.rounded_normal(scale, size)
        return np.where(self.sums[:size] > 0, drawn, 0)


def test_noise_only_where_a_sum_is_positive_tells_who_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A score of 1 beside a full one is a weight of 0, by rounding; alone it is one half. So one user more makes a sum
    of 0 positive, and the twin draws noise for it only then. Both logs have both items, so that p is not needed."""
    runs, epsilon = 8_000, 0.5
    setting = copies.alone(1, 0.02, 2, rounds=1)
    setting = dataclasses.replace(setting, tau=setting.scale // 2)
    delta = float(gaussian.curve(gaussian.root(mu_squared(setting)), epsilon))
    scores = np.tile(np.array([1, steering.FULL], np.int64), runs)
    monkeypatch.setattr(steering, "first_scores", lambda _: scores)
    real = kernels.add_weighted_sums

    def hits(sparing: bool) -> list[int]:
        found = []
        for seed, log in enumerate(([[0, 1]] * 3, [[0, 1]] * 3 + [[0]]), 1):
            source = Sparing(seed)

            def sums(*given: object, source: Sparing = source) -> None:
                real(*given)  # type: ignore[arg-type]
                source.sums = np.asarray(given[-1])
                source.ready.set()

            monkeypatch.setattr(kernels, "add_weighted_sums", sums)
            histories = copies.copies(log, runs)
            used = source if sparing else source.noise
            chosen = gaussian_rounds.select(histories, setting, used, length_prior=False)  # type: ignore[arg-type]
            found.append(int((chosen.codes % 2 == 0).sum()))
        return found

    without, with_her = hits(sparing=False)
    assert copies.hidden(with_her, without, runs, epsilon, delta)
    assert copies.hidden(without, with_her, runs, epsilon, delta)
    without, with_her = hits(sparing=True)
    assert without == 0 and not copies.hidden(with_her, without, runs, epsilon, delta)


def mu_squared(setting: Setting) -> Fraction:
    return Fraction(setting.rounds * GRID**2, setting.scale**2)


# -- candidates before bounding -------------------------------------------------------------------------------


def test_candidates_before_bounding_give_one_user_many_chances() -> None:
    """A user with 200 items keeps 2. In the twin all 200 are candidates, and have noise."""
    runs, had, setting = 1_000, 200, copies.alone(1, 0.02, 2)
    histories = copies.copies([range(setting.most)], runs, had)
    sound = copies.published(histories, setting, runs).any(axis=1)
    assert copies.at_most(setting.p, int(sound.sum()), runs)
    # Beyond the last history there are items that no history has.
    unbounded = np.concatenate([histories.items, np.arange(histories.different, dtype=np.int32)])
    twin = dataclasses.replace(histories, items=unbounded)
    found = copies.published(twin, setting, runs).any(axis=1)
    assert not copies.at_most(setting.p, int(found.sum()), runs)


# -- repeats --------------------------------------------------------------------------------------------------


def test_items_that_count_more_than_once_move_sums_too_far() -> None:
    """A hundred copies of one item in a history: ten times the grid, and no noise was made for that."""
    runs, epsilon, delta = 4_000, 1.0, 0.02
    setting = copies.alone(epsilon, delta, 100, rounds=1)
    crowd = [[0]] * round(setting.tau / GRID - 5)

    def hits(*more: list[int]) -> int:
        histories = copies.copies([*crowd, *more], runs)
        return int(copies.published(histories, setting, runs, seed=1 + len(more)).sum())

    assert copies.hidden(hits([0]), hits(), runs, epsilon, delta)
    assert not copies.hidden(hits([0] * 100), hits(), runs, epsilon, delta)
