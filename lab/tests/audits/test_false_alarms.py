"""Sound mechanisms pass: a thousand quick audits, none of which fails at the level of one in a million."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

import queryveil as qv
from lab.tests.audits.planted import ScaledNoise
from queryveil_lab.audits import exact, shapes
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.planning import terrain
from queryveil_lab.audits.running import done
from queryveil_lab.audits.steps import GaussianStep, HistogramStep
from queryveil_lab.audits.trials import TESTS_EACH, Levels, Trial

AUDITS = 1_000
METHOD = qv.Zealous(epsilon=1, delta=0.05, max_items=1, neighbours="add-remove")


def test_none_of_1000_audits_of_a_sound_mechanism_fails() -> None:
    """The chance that one of them fails is below 1e-3: 1,000 times 1e-6."""
    (draw,) = METHOD.plan().draws
    claim = Claim.of_guarantee(METHOD.plan().guarantee)
    pairs = [
        one for one in shapes.pairs(terrain(draw, claim)) if one.shape in ("new items", "at the threshold")
    ]
    levels = Levels.shared(TESTS_EACH * len(pairs), 0.95)
    above = 0
    for _, pair in itertools.product(range(AUDITS // len(pairs)), pairs):
        found = done(Trial(HistogramStep(draw), pair, claim, 600), levels)
        assert not found.refutes
        above += found.epsilon > claim.epsilon or found.delta > claim.delta
    # Reported bounds are above the truth in at most 5 of 100 audits: 80 of 1,000 would be more than chance gives.
    assert above <= 80
    assert AUDITS % len(pairs) == 0
    assert done(Trial(ScaledNoise(draw, factor=0.25), pairs[1], claim, 600), levels).refutes, (
        "and it can fail"
    )


@pytest.mark.parametrize(
    "method",
    [
        qv.WeightedGaussian(epsilon=1, delta=0.05, max_items=2),
        qv.Steered(epsilon=1, delta=0.05, max_items=2, neighbours="replace"),
    ],
    ids=lambda one: f"{one.name} {one.neighbours}",
)
def test_gaussian_selection_passes_on_every_shape(method: qv.Steered | qv.WeightedGaussian) -> None:
    plan = method.plan()
    claim = Claim.of_guarantee(plan.guarantee)
    pairs = shapes.pairs(terrain(plan.draws[0], claim))
    levels = Levels.shared(TESTS_EACH * len(pairs), 0.95)
    found = [done(Trial(GaussianStep(method, plan.draws[0]), pair, claim, 2_000), levels) for pair in pairs]
    assert not [one for one in found if one.refutes]
    assert claim.mu is not None and claim.p is not None
    liar = dataclasses.replace(claim, mu=claim.mu / 10, p=claim.p / 10, epsilon=0.1, delta=0.005)
    pair = next(one for one in pairs if one.shape == "at the threshold")
    assert done(Trial(GaussianStep(method, plan.draws[0]), pair, liar, 16_000), levels).refutes, (
        "a tenth is refuted"
    )


@pytest.mark.parametrize(
    "method",
    [
        METHOD,
        qv.Zealous(epsilon=0.7, delta=1e-6, max_items=4),
        qv.TruncatedGeometric(epsilon=1, delta=1e-5, max_items=2),
        qv.TruncatedGeometric(epsilon=2, delta=1e-3, neighbours="replace"),
        qv.ClickGraph(epsilon=1, delta=1e-5, max_queries=4),
        qv.ClickGraph(epsilon=1, delta=1e-5, max_queries=4, count_by="users"),
    ],
    ids=lambda one: f"{one.name}-{one.epsilon}-{one.delta}",
)
def test_exact_losses_are_close_to_the_claim_and_never_above(method: qv.Mechanism) -> None:
    draw = method.plan().draws[0]
    claim = Claim.of_draw(draw)
    proofs = [exact.finding(draw, pair, claim) for pair in shapes.pairs(terrain(draw, claim))]
    assert not [one for one in proofs if one is None or one.refutes]
    known = [one for one in proofs if one is not None]
    assert 0.9 * claim.epsilon < max(one.epsilon for one in known) <= claim.epsilon * (1 + 1e-9)
    assert 0.4 * claim.delta < max(one.delta for one in known) <= claim.delta * (1 + 1e-9)
