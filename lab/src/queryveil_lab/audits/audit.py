"""audit(): try to refute what a mechanism promises, and say what was proven against it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from queryveil import Guarantee, Mechanism, Plan, UsageError
from queryveil.extension import K_ANONYMITY, Card, argument, cards, output
from queryveil.extension import number as as_read
from queryveil_lab.audits import curves, folders, forks, odd_rows, page, planning, running, statistics, words
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.curves import CurvePoint
from queryveil_lab.audits.dressing import log_of
from queryveil_lab.audits.folders import Compared
from queryveil_lab.audits.forks import Forked
from queryveil_lab.audits.odd_rows import OddRows
from queryveil_lab.audits.phrases import neighbouring_logs
from queryveil_lab.audits.planning import Asked, Planned, public_users
from queryveil_lab.audits.series import ONCE, Repeats, SeriesPath
from queryveil_lab.audits.statistics import Level
from queryveil_lab.audits.trials import ENUMERATED, AuditFinding, Levels, Trial
from queryveil_lab.audits.worlds import World

RUNS = 100_000
_SHARE_OF_WHOLE, _LOAD_OF_WHOLE = 20, 100
"""The whole path is so many times slower that it is run so many times less often; even less with a larger load."""
_TESTS_OF_FOLDERS = 64
_MOST_LOAD = 150_000_000
"""Users that are gone over in all runs of a trial: what takes longer is run less often, or left out."""
_MOST_RUNS = 10**9
_ENDLESS = 1e300


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit:
    """What an audit tried, and the strongest that it has proven."""

    plan: Plan
    claim: Claim
    findings: tuple[AuditFinding, ...]
    folders: Compared | None
    odd_rows: OddRows | None
    confidence: float
    runs: int
    tests: int
    seconds: float
    seed: int
    forked: Forked | None = None
    series: Repeats = ONCE
    """Periods of a series of releases, and what it protects; one period is a release by itself."""
    synthetic: bool = False
    """Whether rows of logs were looked at that are drawn from the release, instead of its tables."""
    left_out: int = 0
    """Pairs of logs that are so large that runs on them would take too long."""

    @property
    def passes(self) -> bool:
        """Whether nothing refutes a claim; a sound mechanism fails with a chance of at most one in a million."""
        parts = [one for one in (self.folders, self.odd_rows, self.forked) if one is not None]
        return not any([one.refutes for one in self.findings] + [one.refutes for one in parts])

    @property
    def strongest(self) -> AuditFinding | None:
        """The finding with the largest epsilon, of those about the whole promise."""
        whole = [one for one in self.findings if one.claim.same_numbers(self.claim)]
        return max(whole, key=lambda one: one.epsilon, default=None)

    @property
    def epsilon_lower_bound(self) -> float:
        return self.strongest.epsilon if self.strongest else 0.0

    @property
    def delta_lower_bound(self) -> float:
        """At the claimed epsilon."""
        return max((one.delta for one in self.findings if one.claim.same_numbers(self.claim)), default=0.0)

    @property
    def mu_lower_bound(self) -> float | None:
        """Of a Gaussian guarantee: no smaller mu holds at the claimed p. None for any other."""
        if self.claim.mu is None:
            return None
        same = [one for one in self.findings if one.claim.same_numbers(self.claim)]
        return max((self.claim.shift(*point) for one in same for point in one.points), default=0.0)

    @property
    def curve_point(self) -> CurvePoint | None:
        """Of a Gaussian guarantee: the delta of its curve at which bounds come closest. None for any other."""
        same = [one for one in self.findings if one.claim.same_numbers(self.claim)]
        return curves.best(self.claim, (point for one in same for point in one.points))

    @property
    def verdict(self) -> str:
        """What was found, in a sentence or two."""
        return words.sentence(self)

    @property
    def beside(self) -> tuple[str, ...]:
        """What was looked at beside the tables, a sentence each."""
        return tuple(words.beside(self))

    def _card(self) -> Card:
        facts = [
            ("passes", "yes" if self.passes else "NO"),
            ("claimed epsilon", self.claim.epsilon),
            ("largest epsilon that was proven", self.epsilon_lower_bound),
            ("runs", self.runs),
            ("confidence", self.confidence),
        ]
        line = (
            f"{self.plan.method}; {'passes' if self.passes else 'FAILS'}; epsilon at least "
            f"{as_read(self.epsilon_lower_bound)} of {as_read(self.claim.epsilon)} claimed"
        )
        return Card(f"Audit of {self.plan.method}", line, facts, (self.verdict, *self.beside))

    def as_dict(self) -> dict[str, Any]:
        best = self.strongest
        return {
            "method": self.plan.method,
            "parameters": dict(self.plan.parameters),
            "periods": self.series.periods,
            "unit": self.series.unit,
            "synthetic": self.synthetic,
            "kind": self.claim.kind,
            "neighbours": self.claim.neighbours,
            "epsilon_lower_bound": min(self.epsilon_lower_bound, _ENDLESS),
            "claimed_epsilon": self.claim.epsilon,
            "delta": self.claim.delta,
            "delta_lower_bound": self.delta_lower_bound,
            "mu_lower_bound": self.mu_lower_bound,
            "claimed_mu": self.claim.mu,
            "curve_point": self.curve_point.as_dict() if self.curve_point else None,
            "confidence": self.confidence,
            "is_proof": best is not None and best.how == ENUMERATED,
            "passes": self.passes,
            "verdict_level": statistics.VERDICT,
            "runs": self.runs,
            "tests": self.tests,
            "seed": self.seed,
            "left_out": self.left_out,
            "version": metadata.version("queryveil"),
            "seconds": round(self.seconds, 1),
            "refuted_by": [one.as_dict() for one in self.findings if one.refutes],
            "folders": self.folders.as_dict() if self.folders else None,
            "odd_rows": self.odd_rows.as_dict() if self.odd_rows else None,
            "forks": self.forked.as_dict() if self.forked else None,
            "findings": [
                one.as_dict() | {"epsilon_lower_bound": min(one.epsilon, _ENDLESS)} for one in self.findings
            ],
        }

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


def audit(
    mechanism: Mechanism,
    *,
    users: int | None = None,
    runs: int | None = None,
    confidence: float = 0.95,
    workers: int | None = None,
    seed: int = 0,
    whole_path: bool = True,
    periods: int = 1,
    unit: str = "user",
    synthetic: bool = False,
    out: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Try to refute what a mechanism promises, on neighbouring logs that are built to hurt it.

    `users`: the public number of users, where the guarantee depends on it.
    `runs`: how often the step that adds noise is run on each log, 100,000 if left out; the whole path is run at most a
    20th of that.
    `confidence`: of the bounds that are reported. The verdict has its own: a sound mechanism fails with a chance of at
    most one in a million.
    `workers`: processes; as many as there are cores if left out.
    `seed`: decides logs and events alone. Noise is the system's, and has no seed.
    `whole_path`: whether whole publications are run too, folders compared, and odd rows read.
    `periods`: audit a series of so many releases, held against what the series promises for `unit`: `user`, or
    `user-period`. `synthetic`: audit a log that is drawn from the released click graph, by its rows.
    `out`: a folder for the page. Finished trials are kept beside it until the audit is over.
    """
    start = time.monotonic()
    runs = RUNS if runs is None else runs
    _check_arguments(runs, confidence, workers, seed)
    series = Repeats(periods, unit)
    place = Path(out) if out is not None else None
    if place is not None:
        output.new_folder(place, "--out")
    number = public_users(mechanism, users)
    plan = mechanism.plan(users=number)
    refuse_without_guarantee(plan.method, plan.guarantee)
    if synthetic and series.periods > 1:
        raise UsageError("a series and a synthetic log are audited one at a time", "leave out one of them")
    asked = Asked(
        mechanism=mechanism,
        plan=plan,
        users=number,
        runs=runs,
        seed=seed,
        series=series,
        synthetic=synthetic,
    )
    claim = asked.whole
    made, levels, left_out = _plan_trials(asked, confidence, whole_path)
    about = {
        "mechanism": repr(mechanism),
        "users": number,
        "runs": runs,
        "confidence": confidence,
        "seed": seed,
        "series": repr(series),
        "synthetic": synthetic,
    }
    kept = running.Kept(place, about | {"version": metadata.version("queryveil")}) if place else None
    findings = _run_trials(made, levels, workers, kept, progress)
    compared = odd = forked = None
    if whole_path and not synthetic:
        compared = _compare_folders(asked, made, levels)
    if whole_path and not synthetic and series.periods == 1:
        odd = odd_rows.checked()
        forked = _check_forks(mechanism, made, number)
    result = Audit(
        plan=plan,
        claim=claim,
        findings=(*made.proofs, *findings),
        folders=compared,
        odd_rows=odd,
        confidence=confidence,
        runs=runs,
        tests=levels.verdict.tests,
        seconds=time.monotonic() - start,
        seed=seed,
        forked=forked,
        series=series,
        synthetic=synthetic,
        left_out=left_out,
    )
    if place is not None and kept is not None:
        page.write(result, place)
        kept.remove()
    return result


def refuse_without_guarantee(method: str, promise: Guarantee) -> None:
    """Refuse a method that promises no differential privacy, and say what it cannot promise."""
    if promise.private:
        return
    if promise.kind == K_ANONYMITY:
        cause = (
            f"{method} promises k-anonymity, which says that k users share what is published, and nothing about what "
            "one user changes: someone who knows or controls the others learns the rest. There is no epsilon to audit"
        )
    else:
        cause = f"{method} promises nothing here, so there is no epsilon to audit"
    raise UsageError(
        cause, "try what can be learnt from it with queryveil attack, such as attack active or linkage"
    )


def _check_arguments(runs: int, confidence: float, workers: int | None, seed: int) -> None:
    whole = {"runs": (runs, 2, _MOST_RUNS), "workers": (1 if workers is None else workers, 1, 10_000)}
    whole["seed"] = (seed, 0, 2**63 - 1)
    for name, (value, least, most) in whole.items():
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise UsageError(
                f"parameter '{name}' must be an int >= {least} and <= {most:,}; got {value!r}",
                f"pass --{name} N",
            )
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0.5 <= confidence < 1:
        raise UsageError(
            f"parameter 'confidence' must be a number >= 0.5 and < 1; got {confidence!r}",
            f"pass {argument('confidence', 0.95)}",
        )


def _plan_trials(asked: Asked, confidence: float, whole_path: bool) -> tuple[Planned, Levels, int]:
    """The trials, and the levels that their number asks for; refused if no outcome could refute the claim."""
    made, claim, runs = planning.planned(asked), asked.whole, asked.runs
    if not whole_path:
        made.trials = [one for one in made.trials if one.runner.name != "whole path"]
    if not made.trials:
        raise UsageError(
            f"there is no audit for {asked.plan.method} with these parameters",
            f"audit it with one domain for all phrases, without {argument('keep_words')} "
            f"and {argument('whole_queries', True)}",
        )
    tests = sum(one.tests for one in made.trials) + _TESTS_OF_FOLDERS
    levels = Levels.shared(tests, confidence)
    least = max(statistics.needed(one.claim, tests) for one in made.trials)
    if least > runs:
        raise UsageError(
            f"{runs:,} runs on each log are too few to conclude anything about epsilon {claim.epsilon:g} and delta "
            f"{claim.delta:g}: even an output that gives everything away would not refute them",
            f"pass {argument('runs', least)} or more"
            if least <= _MOST_RUNS
            else "audit a smaller epsilon: such a large one cannot be refuted by any number of runs that ends",
        )
    made.trials, left_out = _select_affordable(made.trials, least)
    return made, levels, left_out


def _select_affordable(trials: list[planning.Test], least: int) -> tuple[list[planning.Test], int]:
    """Trials with as many runs as they are worth, and how many are left out because even the fewest take too long."""
    kept: list[planning.Test] = []
    for one in trials:
        whole = one.runner.name == "whole path"
        load = max(one.runner.load(world) for world in one.worlds)
        slower = max(_SHARE_OF_WHOLE, load // _LOAD_OF_WHOLE) if whole else 1
        runs = min(one.runs // slower, _MOST_LOAD // load)
        if least * load <= _MOST_LOAD:
            kept.append(dataclasses.replace(one, runs=max(least, runs)))
    return kept, len(trials) - len(kept)


def _run_trials(
    made: Planned,
    levels: Levels,
    workers: int | None,
    kept: running.Kept | None,
    progress: Callable[[int, int], None] | None,
) -> list[AuditFinding]:
    findings: dict[int, AuditFinding] = {}
    for number, test in enumerate(made.trials):
        before = kept.read(test, number) if kept else None
        if before is not None:
            findings[number] = before
    # The longest first: no core waits for one of them at the end.
    left = sorted(set(range(len(made.trials))) - set(findings), key=lambda at: -_run_cost(made.trials[at]))
    if progress:
        progress(len(findings), len(made.trials))
    tests = [made.trials[at] for at in left]
    for place, found in running.finished(tests, levels, workers or running.cores()):
        number = left[place]
        findings[number] = found
        if kept:
            kept.write(made.trials[number], number, found)
        if progress:
            progress(len(findings), len(made.trials))
    return [findings[number] for number in range(len(made.trials))]


def _run_cost(test: planning.Test) -> int:
    return test.runs * sum(test.runner.load(world) for world in test.worlds)


def _compare_folders(asked: Asked, made: Planned, levels: Levels) -> Compared:
    mechanism = asked.mechanism
    if made.pair is not None:
        worlds = made.pair.sides
        if asked.series.periods > 1:
            path = SeriesPath(mechanism, "", made.dress, asked.series, worlds[0], bystanders=40)
            logs = [path.log(side, 1) for side in worlds]
        else:
            logs = [log_of(side, made.dress, 1, bystanders=40) for side in worlds]
    else:
        logs = neighbouring_logs(mechanism, next(one.pair for one in made.trials if isinstance(one, Trial)))
    level = Level(chance=statistics.VERDICT, tests=levels.verdict.tests)
    subject = planning.with_public_lists(mechanism)
    return folders.compared(
        subject, logs[0], logs[1], asked.whole, level, users=asked.users, series=asked.series
    )


def _check_forks(mechanism: Mechanism, made: Planned, users: int | None) -> Forked | None:
    world = next(one.pair.first for one in made.trials if isinstance(one, Trial))
    if made.pair is not None:
        # One item, and everyone has it.
        world = World(base=(max(made.pair.first.base),))
    return forks.checked(planning.with_public_lists(mechanism), world, made.dress, users)
