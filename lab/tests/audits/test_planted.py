"""Planted defects: each is caught, with the number of runs that the test states, and its sound twin is not.

Runs are those of each log; half of them find events, and half are tested at the level of the verdict: a sound twin
fails with a chance below 1e-6. Runs are chosen so that a defect is missed with a chance below that, too.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import queryveil as qv
from lab.tests.audits import planted
from queryveil_lab.audits import exact, folders, forks, odd_rows, shapes
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.dressing import Dress, log_of
from queryveil_lab.audits.planning import terrain
from queryveil_lab.audits.running import done
from queryveil_lab.audits.statistics import VERDICT, Level
from queryveil_lab.audits.steps import HistogramStep
from queryveil_lab.audits.trials import CellTrial, Levels, Trial
from queryveil_lab.audits.whole import Runner, WholePath
from queryveil_lab.audits.worlds import Family, Pair, World

TESTS = 300
LEVELS = Levels.shared(TESTS, 0.95)
"""As strict as in a whole audit."""


def draw_of(method: qv.Mechanism) -> Any:
    return method.plan().draws[0]


def pair_of(method: qv.Mechanism, shape: str, number: int = 0) -> Pair:
    draw = draw_of(method)
    claim = Claim.of_guarantee(method.plan().guarantee)
    return [one for one in shapes.pairs(terrain(draw, claim)) if one.shape == shape][number]


def refuted(runner: Runner, method: qv.Mechanism, pair: Pair, runs: int) -> bool:
    claim = Claim.of_guarantee(method.plan().guarantee)
    return done(Trial(runner, pair, claim, runs), LEVELS).refutes


ONE = qv.Zealous(epsilon=1, delta=1e-3, max_items=1, neighbours="add-remove")
TWO = qv.Zealous(epsilon=1, delta=1e-3, max_items=2, neighbours="add-remove")
COARSE = qv.Zealous(epsilon=1, delta=0.1, max_items=1, neighbours="add-remove")
SELECTED = qv.TruncatedGeometric(epsilon=1, delta=1e-6)

STEPS = [
    ("half the noise", planted.ScaledNoise, ONE, "popular items", 0, 1_200),
    ("threshold off by one", planted.OffByOne, COARSE, "new items", 0, 12_000),
    ("noise reused across items", planted.NoiseReused, TWO, "tie", 0, 200),
    ("selected and counted by two draws", planted.SeparateDraws, SELECTED, "at the threshold", 0, 40_000),
]


@pytest.mark.parametrize(
    ("name", "step", "method", "shape", "number", "runs"), STEPS, ids=lambda one: str(one)[:25]
)
def test_a_defect_of_the_step_is_caught(
    name: str, step: type[HistogramStep], method: qv.Mechanism, shape: str, number: int, runs: int
) -> None:
    draw, pair = draw_of(method), pair_of(method, shape, number)
    assert refuted(step(draw), method, pair, runs), name
    assert not refuted(HistogramStep(draw), method, pair, 5 * runs), "the sound twin passes"


WHOLE = [
    ("no contribution bound", planted.Unbounded, ONE, "heavy user", 1, 1_500),
    ("second threshold missing", planted.NoSecondThreshold, ONE, "new items", 0, 150),
    ("choice by global popularity", planted.ByPopularity, ONE, "swing", 0, 150),
    ("weights ordered by the histogram", planted.ByCurrentHistogram, ONE, "swing", 0, 150),
    ("true counts order the rows", planted.TrueOrder, ONE, "tie", 0, 200),
]


@pytest.mark.parametrize(
    ("name", "cls", "method", "shape", "number", "runs"), WHOLE, ids=lambda one: str(one)[:25]
)
def test_a_defect_of_the_whole_path_is_caught(
    name: str, cls: type[qv.Zealous], method: qv.Zealous, shape: str, number: int, runs: int
) -> None:
    pair = pair_of(method, shape, number)
    broken = cls(**{one.name: getattr(method, one.name) for one in dataclasses.fields(method)})
    copies = min(runs, 500)
    assert refuted(WholePath(broken, "items", Dress("queries"), copies), method, pair, runs), name
    assert not refuted(WholePath(method, "items", Dress("queries"), copies), method, pair, runs), (
        "the sound twin"
    )


def test_a_forgotten_factor_m_in_delta_is_caught_by_proof_and_by_4000_runs() -> None:
    method = qv.Zealous(epsilon=1, delta=0.1, max_items=6, neighbours="add-remove")
    draw, pair = draw_of(method), pair_of(method, "new items")
    # The threshold of one item with the noise of six: delta for each item, not for all together.
    scale = float(draw.scale)
    alone = draw_of(qv.Zealous(epsilon=1 / scale, delta=0.1, max_items=1, neighbours="add-remove"))
    assert float(alone.scale) == pytest.approx(scale)
    forgotten = planted.with_threshold_of(draw, alone)
    claim = Claim.of_draw(draw)
    for runner, caught in ((HistogramStep(forgotten), True), (HistogramStep(draw), False)):
        assert refuted(runner, method, pair, 4_000) == caught
        found = exact.finding(runner.draw, pair, claim)
        assert found is not None and found.refutes == caught
    single = pair_of(method, "one new item")
    assert not refuted(HistogramStep(forgotten), method, single, 4_000), "one item alone does not show it"


def test_a_delta_that_is_not_counted_twice_is_caught_by_proof_and_by_40000_runs() -> None:
    method = qv.TruncatedGeometric(epsilon=1, delta=0.1, neighbours="replace")
    draw, pair = draw_of(method), pair_of(method, "popular items")
    # Noise for two moved counts, but with all of delta for each of them.
    scale = float(draw.scale)
    alone = draw_of(qv.TruncatedGeometric(epsilon=1 / scale, delta=0.1))
    assert float(alone.scale) == pytest.approx(scale) and alone.item_delta > draw.item_delta
    once = planted.with_threshold_of(draw, alone)
    claim = Claim.of_draw(draw)
    for tried, caught in ((once, True), (draw, False)):
        assert refuted(HistogramStep(tried), method, pair, 40_000) == caught
        found = exact.finding(tried, pair, claim)
        assert found is not None and found.refutes == caught


def test_a_hat_fails_the_probabilistic_check_and_passes_the_other_in_2000_runs() -> None:
    histories = 6
    runner = planted.NotTheFirst(histories)
    # Every output is impossible under some neighbour, and has probability 1/5 here: delta is 1, not 1/5.
    claimed = Claim(
        kind="probabilistic-dp", epsilon=1.0, delta=1 / (histories - 1), neighbours="replace-one-user"
    )
    world = [World(base=(0,) * histories, target=(one,)) for one in range(histories)]
    family = Family(
        shape="all histories", words="the first user's history", centre=world[0], neighbours=tuple(world)
    )
    found = done(CellTrial(runner, family, claimed, 2_000), LEVELS)
    assert found.refutes and found.delta > 0.7
    pair = Pair(shape="two histories", words="", first=world[0], second=world[1])
    assert not done(Trial(runner, pair, claimed.indistinguishable, 20_000), LEVELS).refutes


def test_the_cell_test_passes_zealous() -> None:
    method = qv.Zealous(epsilon=1, delta=0.05, max_items=1, guarantee="probabilistic")
    (draw,) = method.plan(users=20).draws
    claim = Claim.of_draw(draw)
    family = shapes.family(terrain(draw, claim), 20)
    assert len(family.neighbours) > 1
    assert not done(CellTrial(HistogramStep(draw), family, claim, 20_000), LEVELS).refutes
    lower = dataclasses.replace(draw, above=draw.above - 3)
    assert done(CellTrial(HistogramStep(lower), family, claim, 20_000), LEVELS).refutes, (
        "and fails a lower threshold"
    )
    for one, caught in ((draw, False), (lower, True)):
        proof = exact.of_family(one, family, claim)
        assert proof is not None and proof.refutes == caught


def compared(method: qv.Mechanism) -> folders.Compared:
    claim = Claim.of_guarantee(method.plan().guarantee)
    pair = pair_of(method, "tie")
    logs = [log_of(side, Dress("queries"), 1, bystanders=20) for side in pair.sides]
    return folders.compared(method, logs[0], logs[1], claim, Level(chance=VERDICT, tests=TESTS))


def test_a_number_of_users_in_the_manifest_is_named() -> None:
    leaking = planted.UsersTold(epsilon=0.3, delta=1e-3, max_items=1)
    found = compared(leaking)
    assert found.refutes and "manifest.json: parameters.users" in found.leaking


def test_sound_folders_have_no_field_that_depends_on_the_log_alone() -> None:
    found = compared(qv.Zealous(epsilon=3, delta=1e-3, max_items=1, neighbours="add-remove"))
    assert not found.refutes and not found.leaking and found.fields > 100


def test_a_row_that_swallows_others_is_named_after_two_readings() -> None:
    assert "csv: an open quote" in odd_rows.checked(planted.swallowing).swallowing
    assert not odd_rows.checked().refutes


def test_noise_that_a_fork_copies_is_caught_after_12_releases() -> None:
    broken = planted.NoiseOfOneState(**{one.name: getattr(ONE, one.name) for one in dataclasses.fields(ONE)})
    world = World(base=(40,))
    found = forks.checked(broken, world, Dress("queries"), None)
    assert found is not None and found.drawn_twice
