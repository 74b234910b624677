"""Selection by normal noise: computed bounds are close to the claim, never above it, and hold what runs show."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import binom, norm

import queryveil as qv
from queryveil.mechanisms.selection.gaussian_account import GRID
from queryveil_lab.audits import curves, normals
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.steps import GaussianStep
from queryveil_lab.audits.worlds import World

Method = qv.Steered | qv.WeightedGaussian | qv.ClickGraph
WEIGHTED = qv.WeightedGaussian(epsilon=1, delta=1e-3, max_items=3)
STEERED = qv.Steered(epsilon=1, delta=1e-3, max_items=3)
GRAPH = qv.ClickGraph(epsilon=2, delta=0.01, max_queries=2, selection="steered")


@pytest.mark.parametrize(("users", "method"), [(3, WEIGHTED), (12, WEIGHTED), (6, STEERED), (10, GRAPH)])
def test_runs_of_the_step_fall_into_the_computed_interval(users: int, method: Method) -> None:
    """False-alarm rate below 1e-6; a scale of 0.7 or 1.3 times what is declared falls out of it."""
    draw = method.plan().draws[0]
    runs = 40_000
    seen = int(GaussianStep(method, draw).run(World(base=(users,)), runs).present.sum())

    def fits(scale: float) -> bool:
        own = dataclasses.replace(normals.setting_of(draw), scale=int(float(draw.scale or 1) * scale))
        chance = normals.published(own, users)
        assert chance.low <= chance.high
        return bool(binom.sf(seen - 1, runs, chance.high) > 5e-7 and binom.cdf(seen, runs, chance.low) > 5e-7)

    assert fits(1.0)
    if method is WEIGHTED and users == 3:
        assert not fits(0.7) and not fits(1.3)


def test_one_round_is_the_normal_tail_and_the_interval_is_narrow() -> None:
    setting = normals.setting_of(WEIGHTED.plan().draws[0])
    for users in (1, 5, 12):
        chance = normals.published(setting, users)
        true = norm.sf((setting.tau + 0.5 - users * (GRID - 1)) / setting.scale)
        assert chance.low <= true <= chance.high and chance.high - chance.low < 0.004 * chance.high + 2e-9


def test_dropping_an_item_on_the_way_is_counted() -> None:
    """A walk that nobody drops would be above the upper bound: the gates of the release are in it."""
    setting = normals.setting_of(STEERED.plan().draws[0])
    free = norm.sf((setting.tau - 5 * setting.sum * GRID) / (np.sqrt(float(setting.square)) * setting.scale))
    assert normals.published(setting, 5).high < 0.99 * free


@pytest.mark.parametrize(
    ("method", "epsilon", "mu"),
    [
        (WEIGHTED, 0.75, 0.88),
        (STEERED, 0.72, 0.81),
        (GRAPH, 0.42, 0.5),
        (qv.WeightedGaussian(epsilon=1, delta=1e-3, max_items=3, neighbours="replace"), 0.7, 0.78),
        (qv.WeightedGaussian(epsilon=1, delta=1e-3, max_items=1, counts_share=0.01), 0.84, 0.98),
        (qv.Steered(epsilon=3, delta=1e-6, max_items=20, counts_share=0.01), 0.8, 0.85),
    ],
    ids=["weighted", "steered", "click graph", "replaced", "no counts to speak of", "small delta"],
)
def test_bounds_are_close_to_the_claim_and_never_above(method: Method, epsilon: float, mu: float) -> None:
    plan = method.plan()
    draw, claim = plan.draws[0], Claim.of_guarantee(plan.guarantee)
    found = list(normals.findings(draw, claim))
    assert not [one for one in found if one.refutes]
    assert epsilon * claim.epsilon < max(one.epsilon for one in found) < claim.epsilon
    points = [point for one in found for point in one.points]
    assert claim.mu is not None and mu * claim.mu < max(claim.shift(*one) for one in points) <= claim.mu
    point = curves.best(claim, points)
    assert point is not None and epsilon * point.epsilon < point.bound <= point.epsilon
    # Half the noise, or a threshold for half of p's deviations, does not keep the promise.
    for lie in (
        dataclasses.replace(draw, scale=int(float(draw.scale or 1)) // 2),
        dataclasses.replace(draw, above=int(draw.above or 0) // 3),
    ):
        assert [one for one in normals.findings(lie, Claim.of_draw(draw)) if one.refutes]


def test_a_click_is_published_after_its_query_and_says_more_than_the_query_alone() -> None:
    plan = GRAPH.plan()
    claim = Claim.of_guarantee(plan.guarantee)
    both = normals.nested(plan.draws[0], plan.draws[2], claim)
    alone = next(iter(normals.findings(plan.draws[0], claim)))
    assert not both.refutes and alone.epsilon < both.epsilon < claim.epsilon


def test_items_of_one_user_alone_are_published_as_rarely_as_is_said() -> None:
    plan = WEIGHTED.plan()
    claim = Claim.of_guarantee(plan.guarantee)
    alone = [one for one in normals.findings(plan.draws[0], claim) if one.shape == "new items"]
    assert claim.p is not None and 0.99 * claim.p < alone[0].delta <= claim.p


def test_other_claims_have_no_curve() -> None:
    assert curves.best(Claim(kind="approximate-dp", epsilon=1.0, delta=0.1), [(0.9, 0.1)]) is None
