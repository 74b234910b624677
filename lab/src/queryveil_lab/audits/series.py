"""Series of releases: the same method on several weeks of a log, held against what the series promises.

Protecting a user, neighbouring logs differ in every week; protecting a user in one period, they differ in the first
week alone, and the target searches in the others in both. An outcome has the items of all weeks side by side.
"""

from __future__ import annotations

import dataclasses
import datetime
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil import Mechanism, Plan, SearchLog, Series, UsageError, load, publish_series
from queryveil.extension import Draw, argument, instead
from queryveil.files import workspace
from queryveil.release.series import promise as promises
from queryveil.release.understanding import refuse_rows_of_users
from queryveil_lab.audits import exact, normals
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.dressing import Dress, keys_of, log_of
from queryveil_lab.audits.outcomes import Outcomes
from queryveil_lab.audits.trials import AuditFinding
from queryveil_lab.audits.whole import ROW, SEPARATOR, Runner, opened, seen
from queryveil_lab.audits.worlds import Pair, World

PERIOD = "week"
"""Histories of the auditor's logs are of some days, and fit into a week."""
_FIRST = datetime.date(2024, 2, 26)
_MOST = 12


@dataclass(frozen=True)
class Repeats:
    """How many periods, and what is to be protected."""

    periods: int
    unit: str = promises.USER

    def __post_init__(self) -> None:
        if (
            isinstance(self.periods, bool)
            or not isinstance(self.periods, int)
            or not 1 <= self.periods <= _MOST
        ):
            raise UsageError(
                f"parameter 'periods' must be an int >= 1 and <= {_MOST}; got {self.periods!r}",
                f"pass {argument('periods', '3:')} more of them add nothing that an audit could see better",
            )
        if self.unit not in promises.UNITS:
            raise UsageError(f"there is no unit '{self.unit}'", instead(self.unit, promises.UNITS))

    @property
    def changed(self) -> int:
        """Periods in which neighbouring logs differ."""
        return self.periods if self.unit == promises.USER else 1

    def claim(self, plan: Plan) -> Claim:
        """What a series of such releases promises, as its own index would say it."""
        if self.periods == 1:
            return Claim.of_guarantee(plan.guarantee)
        refuse_rows_of_users(plan)
        found = promises.promise(
            plan.guarantee, plan.draws, unit=self.unit, period=PERIOD, periods=self.periods
        )
        return Claim.of_guarantee(found.stated)

    def pair(self, pair: Pair) -> Pair:
        """The pair as outcomes show it: new items are new in every period in which logs differ."""
        if self.periods == 1:
            return pair
        new = tuple(period * pair.items + item for period in range(self.changed) for item in pair.new)
        where = "every week" if self.changed > 1 else f"one of {self.periods} weeks"
        return dataclasses.replace(pair, new=new, words=f"{pair.words}, in {where}")

    def worlds(self, world: World, quiet: World) -> list[World]:
        """The log of each period."""
        return [world if period < self.changed else quiet for period in range(self.periods)]

    def published(self, log: SearchLog, mechanism: Mechanism, out: Path, users: int | None) -> Series:
        """The series of a log of the auditor."""
        return publish_series(
            log,
            mechanism,
            name="audit",
            period=PERIOD,
            start=_FIRST,
            end=_FIRST + datetime.timedelta(days=7 * self.periods - 1),
            out=out,
            unit=self.unit,
            users=users,
            allow_empty=True,
            allow_incomplete_period=True,
            i_understand=True,
        )

    def step(self, runner: Runner, pair: Pair) -> Runner:
        return runner if self.periods == 1 else RepeatedStep(runner, self, pair.first)

    def proof(self, draw: Draw, pair: Pair, claim: Claim) -> AuditFinding | None:
        found = exact.finding(draw, pair, claim, times=self.changed)
        return found and dataclasses.replace(found, words=self.pair(pair).words)

    def proofs_of_normals(self, draw: Draw, claim: Claim) -> list[AuditFinding]:
        return list(normals.findings(draw, claim, times=self.changed))


ONCE = Repeats(1)
"""A release by itself."""


@dataclass(frozen=True)
class RepeatedStep:
    """A step that is run once for each period, with noise of its own."""

    step: Runner
    asked: Repeats
    quiet: World

    name = "step"

    def run(self, world: World, runs: int) -> Outcomes:
        return side_by_side([self.step.run(one, runs) for one in self.asked.worlds(world, self.quiet)])

    def load(self, world: World) -> int:
        return sum(self.step.load(one) for one in self.asked.worlds(world, self.quiet))


@dataclass(frozen=True)
class SeriesPath:
    """`publish_series` on a log with many copies of a world in each period, read back from its folders."""

    mechanism: Mechanism
    table: str
    dress: Dress
    asked: Repeats
    quiet: World
    copies: int = 200
    users: int | None = None
    bystanders: int = 1

    name = "whole path"

    def run(self, world: World, runs: int) -> Outcomes:
        copies = min(self.copies, runs)
        log = opened(self.log(world, copies))
        keys = keys_of(self.dress, world.items, copies, SEPARATOR)
        found: list[Outcomes] = []
        with workspace.temporary_folder() as folder:
            while sum(one.runs for one in found) < runs:
                made = self.asked.published(log, self.mechanism, folder / str(len(found)), self.users)
                tables = [load(one).tables[self.table] for one in made.releases.values()]
                found.append(side_by_side([seen(one, keys, world.items, copies) for one in tables]))
        return Outcomes.joined(found).some(slice(0, runs))

    def log(self, world: World, copies: int) -> pa.Table:
        """All periods, one after another; users keep their names."""
        weeks = []
        for week, one in enumerate(self.asked.worlds(world, self.quiet)):
            made = log_of(one, self.dress, copies, self.bystanders)
            later = pa.scalar(datetime.timedelta(days=7 * week), pa.duration("us"))
            times = pc.add(made["time"], later)
            weeks.append(made.set_column(made.column_names.index("time"), made.field("time"), times))
        return pa.concat_tables(weeks).combine_chunks()

    def load(self, world: World) -> int:
        extra = sum(1 for _ in self.dress.supporters(world.items))
        return ROW * sum(one.users + extra for one in self.asked.worlds(world, self.quiet))


def side_by_side(parts: list[Outcomes]) -> Outcomes:
    """The items of all periods as columns; rows of different releases have no order between them."""
    beside = [one.beside for one in parts if one.beside is not None]
    return Outcomes(
        np.concatenate([one.values for one in parts], axis=1),
        beside=np.concatenate(beside, axis=1) if len(beside) == len(parts) else None,
    )
