"""A trial: a runner, two neighbouring worlds and a claim. What its runs prove is a finding.

The conditions [E1] to [E3] are those of docs/proofs/audit.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from queryveil_lab.audits import events, statistics
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.events import Event
from queryveil_lab.audits.outcomes import Outcomes
from queryveil_lab.audits.statistics import Level, Proven
from queryveil_lab.audits.whole import Runner
from queryveil_lab.audits.worlds import Family, Pair, World

TESTS_EACH = 2 * (events.MOST_FOUND + 1)
"""Events of a pair that are tested at the most: both directions, those found and one that stands before."""
SAMPLED, ENUMERATED = "runs", "proof"
"""How a bound was found: from runs, with a confidence; or from probabilities that were computed, for certain."""


@dataclass(frozen=True)
class Trial:
    """What is run, and against what."""

    runner: Runner
    pair: Pair
    claim: Claim
    runs: int
    of: str = ""
    """The table or draw."""

    @property
    def worlds(self) -> tuple[World, ...]:
        return self.pair.sides

    @property
    def tests(self) -> int:
        return TESTS_EACH


@dataclass(frozen=True)
class CellTrial:
    """A log with several neighbours, for probabilistic privacy."""

    runner: Runner
    family: Family
    claim: Claim
    runs: int
    of: str = ""

    @property
    def worlds(self) -> tuple[World, ...]:
        return (self.family.centre, *self.family.neighbours)

    @property
    def tests(self) -> int:
        return 1


@dataclass(frozen=True, kw_only=True)
class AuditFinding:
    """The strongest that a trial, or a computation, has proven against a claim."""

    shape: str
    words: str
    of: str
    runner: str
    how: str
    runs: int
    claim: Claim
    event: str
    epsilon: float
    """Lower bound of epsilon at the claimed delta, with the confidence asked for."""
    delta: float
    """Lower bound of delta at the claimed epsilon."""
    refutes: bool
    """Whether the claim is refuted at the level of the verdict."""
    points: tuple[tuple[float, float], ...] = ()
    """Bounds on the probabilities of tested events: at least so much under one log, at most so much under the other."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "what": self.words,
            "table": self.of,
            "runner": self.runner,
            "how": self.how,
            "runs": self.runs,
            "claimed_epsilon": self.claim.epsilon,
            "claimed_delta": self.claim.delta,
            "event": self.event,
            "epsilon_lower_bound": self.epsilon,
            "delta_lower_bound": self.delta,
            "refutes": self.refutes,
        }


@dataclass
class Levels:
    """How sure a reported bound is, and the verdict."""

    reported: Level
    verdict: Level = field(default_factory=lambda: Level(chance=statistics.VERDICT, tests=1))

    @staticmethod
    def shared(tests: int, confidence: float) -> Levels:
        return Levels(
            Level(chance=1 - confidence, tests=tests), Level(chance=statistics.VERDICT, tests=tests)
        )


def judged(trial: Trial | CellTrial, found: Sequence[Outcomes], levels: Levels) -> AuditFinding:
    """What the runs of a trial prove."""
    if isinstance(trial, CellTrial):
        return _test_cells(trial, found, levels)
    first, second = found
    best: tuple[Proven, Event] | None = None
    delta, refutes, points, refuting = 0.0, False, [], None
    for here, there, new in ((first, second, trial.pair.new), (second, first, ())):
        for event, times, others, runs in _test_events(trial, here, there, new, levels):
            claim = trial.claim
            seen = statistics.proven(claim, times, others, runs, levels.reported)
            sure = statistics.proven(claim, times, others, runs, levels.verdict)
            points.append((seen.low, seen.high))
            delta = max(delta, seen.delta)
            if best is None or seen.epsilon > best[0].epsilon:
                best = seen, event
            if sure.refutes and not refutes:
                refutes, refuting = True, event
    if best is None:
        raise AssertionError("every trial tests events")
    return AuditFinding(
        shape=trial.pair.shape,
        words=trial.pair.words,
        of=trial.of,
        runner=trial.runner.name,
        how=SAMPLED,
        runs=first.runs,
        claim=trial.claim,
        event=str(refuting or best[1]),
        epsilon=best[0].epsilon,
        delta=delta,
        refutes=refutes,
        points=tuple(points),
    )


def _test_events(
    trial: Trial, here: Outcomes, there: Outcomes, new: tuple[int, ...], levels: Levels
) -> Iterator[tuple[Event, int, int, int]]:
    """[E1] Events are chosen on first halves, and counted on second halves."""
    (search, test), (search_other, test_other) = here.halves(), there.halves()
    chosen = events.found_on(search, search_other, trial.claim, levels.verdict)
    # [E2] Whether any new item is published needs no search.
    for event in [*([events.any_of(new)] if new else []), *chosen][: events.MOST_FOUND + 1]:
        yield event, int(event.holds(test).sum()), int(event.holds(test_other).sum()), test.runs


def _test_cells(trial: CellTrial, found: Sequence[Outcomes], levels: Levels) -> AuditFinding:
    """[E3] Cell j: item j is published, and none before it. Under neighbour j that must be nearly as likely."""
    centre, neighbours = found[0], found[1:]
    bounds = []
    counted = [
        (
            _first_published(centre, item),
            centre.runs,
            _first_published(one, item),
            one.runs,
        )
        for item, one in enumerate(neighbours)
    ]
    for level in (levels.reported, levels.verdict):
        bounds.append(statistics.cells(trial.claim, counted, level))
    return AuditFinding(
        shape=trial.family.shape,
        words=trial.family.words,
        of=trial.of,
        runner=trial.runner.name,
        how=SAMPLED,
        runs=centre.runs,
        claim=trial.claim,
        event="cells: which item is published first",
        epsilon=0.0,
        delta=bounds[0],
        refutes=bounds[1] > trial.claim.delta,
    )


def _first_published(found: Outcomes, item: int) -> int:
    present = found.present
    return int((present[:, item] & ~present[:, :item].any(axis=1)).sum())
