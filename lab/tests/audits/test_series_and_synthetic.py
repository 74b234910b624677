"""Series and synthetic logs audited: sound ones pass, one that claims too little and one that peeks do not.

Verdicts have a false-alarm rate of 1e-6; runs are chosen so that a defect is missed as rarely.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import queryveil as qv
import queryveil_lab as lab
from lab.tests.audits import planted
from queryveil.release.series import promise
from queryveil_lab.audits import shapes
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.dressing import Dress
from queryveil_lab.audits.planning import terrain
from queryveil_lab.audits.running import done
from queryveil_lab.audits.series import Repeats, SeriesPath
from queryveil_lab.audits.steps import HistogramStep
from queryveil_lab.audits.synthetic_logs import SyntheticPath, SyntheticStep
from queryveil_lab.audits.trials import Levels, Trial
from queryveil_lab.audits.worlds import Pair, World
from tests.command import command

LEVELS = Levels.shared(300, 0.95)
WEEKLY = qv.Zealous(epsilon=1, delta=1e-3, max_items=1, neighbours="add-remove")
GRAPH = qv.ClickGraph(epsilon=1, delta=1e-3, max_queries=1)
BY_USER, BY_PERIOD = Repeats(3), Repeats(3, "user-period")


def popular(method: qv.Mechanism) -> Pair:
    (draw, *_), claim = method.plan().draws, Claim.of_guarantee(method.plan().guarantee)
    return next(one for one in shapes.pairs(terrain(draw, claim)) if one.shape == "popular items")


@pytest.mark.parametrize(("asked", "claimed"), [(BY_USER, 3.0), (BY_PERIOD, 1.0)], ids=["user", "period"])
def test_a_series_is_held_against_what_it_promises(asked: Repeats, claimed: float) -> None:
    found = lab.audit(
        WEEKLY, runs=20_000, workers=1, whole_path=False, periods=asked.periods, unit=asked.unit
    )
    assert found.passes and found.claim.epsilon == claimed
    # The proof is of all periods together, and close to the sum.
    assert 0.98 * claimed < found.epsilon_lower_bound <= claimed
    sampled = [one for one in found.findings if one.how == "runs"]
    assert max(one.epsilon for one in sampled) > 0.5 * claimed


def test_a_series_that_claims_one_period_is_caught_by_proof_and_by_4000_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def single(one: Any, draws: Any, times: int) -> Any:
        return one

    monkeypatch.setattr(promise, "repeated", single)
    found = lab.audit(WEEKLY, runs=4_000, workers=1, whole_path=False, periods=3)
    assert not found.passes and found.claim.epsilon == 1.0
    assert {one.how for one in found.findings if one.refutes} == {"proof", "runs"}
    assert lab.audit(WEEKLY, runs=4_000, workers=1, whole_path=False, periods=3, unit="user-period").passes, (
        "for one period it is true"
    )


def test_whole_series_are_published_and_read_back() -> None:
    pair, one = popular(WEEKLY), Claim.of_guarantee(WEEKLY.plan().guarantee)
    path = SeriesPath(WEEKLY, "items", Dress("queries"), BY_USER, pair.first, copies=1_200)
    caught = done(Trial(path, BY_USER.pair(pair), one, 1_200), LEVELS)
    assert caught.refutes, "three periods cost more than one"
    passed = done(Trial(path, BY_USER.pair(pair), BY_USER.claim(WEEKLY.plan()), 1_200), LEVELS)
    assert not passed.refutes
    quiet = dataclasses.replace(path, asked=BY_PERIOD)
    assert not done(Trial(quiet, BY_PERIOD.pair(pair), one, 1_200), LEVELS).refutes


def test_users_keep_their_names_in_neighbouring_series() -> None:
    pair = popular(WEEKLY)
    path = SeriesPath(WEEKLY, "items", Dress("queries"), BY_PERIOD, pair.first)
    with_her, without = (path.log(side, 1).to_pylist() for side in pair.sides)
    gone = [row for row in with_her if row not in without]
    assert len({row["user"] for row in gone}) == 1 and len(with_her) == len(without) + 1
    assert len({row["time"].isocalendar().week for row in with_her}) == 3


SynStep = Callable[[HistogramStep, Dress], SyntheticStep]


@pytest.mark.parametrize(
    ("made", "runs", "caught"),
    [(planted.PeekingStep, 400, True), (SyntheticStep, 2_000, False)],
    ids=["peeks", "sound"],
)
def test_a_synthesiser_that_peeks_is_caught_by_400_runs(made: SynStep, runs: int, caught: bool) -> None:
    (draw, *_) = GRAPH.plan().draws
    claim = Claim.of_guarantee(GRAPH.plan().guarantee)
    new = next(one for one in shapes.pairs(terrain(draw, claim)) if one.shape == "new items")
    found = done(Trial(made(HistogramStep(draw), Dress("queries")), new, claim, runs), LEVELS)
    assert found.refutes == caught


@pytest.mark.parametrize(("made", "caught"), [(planted.PeekingPath, True), (SyntheticPath, False)])
def test_a_synthesiser_that_peeks_is_caught_in_written_logs(made: type[SyntheticPath], caught: bool) -> None:
    (draw, *_) = GRAPH.plan().draws
    claim = Claim.of_guarantee(GRAPH.plan().guarantee)
    new = next(one for one in shapes.pairs(terrain(draw, claim)) if one.shape == "new items")
    path = made(GRAPH, Dress("queries"), copies=200, bystanders=30)
    assert done(Trial(path, new, claim, 200), LEVELS).refutes == caught


def test_rows_of_a_synthetic_log_show_what_is_published() -> None:
    """Clicks and pairs of queries are found in it, and nothing of a copy is in the log of another."""
    graph = qv.ClickGraph(
        epsilon=8,
        delta=1e-2,
        max_queries=2,
        epsilon_clicks=8,
        urls="private",
        delta_clicks=1e-2,
        epsilon_reformulations=8,
        delta_reformulations=1e-2,
    )
    for kind in ("queries", "clicks", "query-pairs"):
        path = SyntheticPath(graph, Dress(kind, 0 if kind == "queries" else 40), copies=20)
        found = path.run(World(base=(60, 0)), 20)
        assert found.present[:, 0].mean() > 0.9 and not found.present[:, 1].any(), kind


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("zealous --epsilon 1 --delta 0.01 --max-items 2 --synthetic", "publishes none"),
        ("zealous --epsilon 1 --delta 0.01 --max-items 2 --periods 0", "'periods' must be"),
        ("zealous --epsilon 1 --delta 0.01 --max-items 2 --periods 2 --unit day", "no unit 'day'"),
        ("click-graph --epsilon 1 --delta 0.01 --periods 2 --synthetic", "one at a time"),
        ("profile-histogram --epsilon 1 --domain citrus --max-queries 2 --periods 2", "rows for every user"),
    ],
)
def test_what_cannot_be_audited_together_is_refused(arguments: str, told: str) -> None:
    found = command("audit", *arguments.split(), "--steps-only")
    assert found.code == 2 and told in " ".join(found.err.split())


def test_the_command_says_what_was_audited() -> None:
    found = command(
        *("audit", "zealous", "--epsilon", "0.5", "--delta", "0.01", "--max-items", "1", "--steps-only"),
        *("--workers", "1", "--periods", "2", "--runs", "2000"),
    )
    assert found.code == 0, found.err
    assert "2 releases of a series" in found.out and "every week" not in found.err
