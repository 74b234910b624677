"""Every planted defect, and how many runs on each log it takes to catch it: doubled until it is
caught three times in a row.

    python lab/benchmarks/audit_planted.py [--json]

The defects live in tests/auditing/planted.py. Levels are those of a whole audit: a sound method fails with a chance of
at most one in a million. The sound twin is run as often, and must pass.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import queryveil as qv
from lab.tests.audits import planted, test_planted
from lab.tests.audits.test_planted import LEVELS, draw_of, pair_of, refuted
from queryveil_lab.audits import exact, forks, odd_rows, shapes
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.dressing import Dress
from queryveil_lab.audits.planning import terrain
from queryveil_lab.audits.running import done
from queryveil_lab.audits.series import Repeats
from queryveil_lab.audits.steps import HistogramStep
from queryveil_lab.audits.synthetic_logs import SyntheticStep
from queryveil_lab.audits.trials import CellTrial, Trial
from queryveil_lab.audits.whole import WholePath
from queryveil_lab.audits.worlds import Family, World

MOST = 1 << 17
IN_A_ROW = 3
"""So often it must be caught, so that luck alone does not make a row."""
Caught = Callable[[int], bool]
"""Whether so many runs refute it."""


def by_runs() -> Iterator[tuple[str, Caught, Caught]]:
    """Each defect with its sound twin."""
    for name, step, method, shape, number, _ in test_planted.STEPS:
        draw, pair = draw_of(method), pair_of(method, shape, number)
        yield (
            name,
            lambda n, s=step, m=method, d=draw, p=pair: refuted(s(d), m, p, n),
            lambda n, m=method, d=draw, p=pair: refuted(HistogramStep(d), m, p, n),
        )
    for name, cls, method, shape, number, _ in test_planted.WHOLE:
        given = {one.name: getattr(method, one.name) for one in dataclasses.fields(method)}
        both = [WholePath(one, "items", Dress("queries"), 500) for one in (cls(**given), method)]
        pair = pair_of(method, shape, number)
        yield (
            name,
            lambda n, r=both[0], m=method, p=pair: refuted(r, m, p, n),
            lambda n, r=both[1], m=method, p=pair: refuted(r, m, p, n),
        )
    yield _of_threshold(
        "a forgotten factor m in delta",
        qv.Zealous(epsilon=1, delta=0.1, max_items=6, neighbours="add-remove"),
        lambda scale: qv.Zealous(epsilon=1 / scale, delta=0.1, max_items=1, neighbours="add-remove"),
        "new items",
    )
    yield _of_threshold(
        "delta split not counted twice",
        qv.TruncatedGeometric(epsilon=1, delta=0.1, neighbours="replace"),
        lambda scale: qv.TruncatedGeometric(epsilon=1 / scale, delta=0.1),
        "popular items",
    )
    yield _a_hat()
    yield _series()
    yield _synthetic()


def _of_threshold(
    name: str, method: Any, other: Callable[[float], Any], shape: str
) -> tuple[str, Caught, Caught]:
    """A threshold that was computed for another draw; computed probabilities refute it without any run."""
    draw, pair = draw_of(method), pair_of(method, shape)
    wrong = planted.with_threshold_of(draw, draw_of(other(float(draw.scale))))
    proof = exact.finding(wrong, pair, Claim.of_draw(draw))
    told = name + (" (by proof: 0 runs)" if proof is not None and proof.refutes else "")
    return (
        told,
        lambda n: refuted(HistogramStep(wrong), method, pair, n),
        lambda n: refuted(HistogramStep(draw), method, pair, n),
    )


def _a_hat() -> tuple[str, Caught, Caught]:
    runner, number = planted.NotTheFirst(6), 6
    claim = Claim(kind="probabilistic-dp", epsilon=1.0, delta=0.2, neighbours="replace-one-user")
    worlds = [World(base=(0,) * number, target=(one,)) for one in range(number)]
    family = Family(shape="all histories", words="", centre=worlds[0], neighbours=tuple(worlds))
    pair = shapes.Pair(shape="two histories", words="", first=worlds[0], second=worlds[1])
    return (
        "A-hat, by the probabilistic check (twin: the other check)",
        lambda n: done(CellTrial(runner, family, claim, n), LEVELS).refutes,
        lambda n: done(Trial(runner, pair, claim.indistinguishable, n), LEVELS).refutes,
    )


def _series() -> tuple[str, Caught, Caught]:
    method, series = test_planted.ONE, Repeats(3)
    draw, pair = draw_of(method), pair_of(method, "popular items")
    step, one = series.step(HistogramStep(draw), pair), Claim.of_guarantee(method.plan().guarantee)
    return (
        "a series of three that claims the epsilon of one",
        lambda n: done(Trial(step, series.pair(pair), one, n), LEVELS).refutes,
        lambda n: done(Trial(step, series.pair(pair), series.claim(method.plan()), n), LEVELS).refutes,
    )


def _synthetic() -> tuple[str, Caught, Caught]:
    method = qv.ClickGraph(epsilon=1, delta=1e-3, max_queries=1)
    draw, claim = method.plan().draws[0], Claim.of_guarantee(method.plan().guarantee)
    pair = next(one for one in shapes.pairs(terrain(draw, claim)) if one.shape == "new items")
    made = [kind(HistogramStep(draw), Dress("queries")) for kind in (planted.PeekingStep, SyntheticStep)]
    return (
        "a synthesiser that peeks at the log",
        lambda n: done(Trial(made[0], pair, claim, n), LEVELS).refutes,
        lambda n: done(Trial(made[1], pair, claim, n), LEVELS).refutes,
    )


def beside_tables() -> Iterator[dict[str, Any]]:
    """Defects that need no event: fields of folders, files, forks."""
    found = test_planted.compared(planted.UsersTold(epsilon=0.3, delta=1e-3, max_items=1))
    sound = test_planted.compared(qv.Zealous(epsilon=0.3, delta=1e-3, max_items=1, neighbours="add-remove"))
    yield _row("user count leaked in a manifest field", found.releases, found.refutes, not sound.refutes)
    swallowed, read = odd_rows.checked(planted.swallowing), odd_rows.checked()
    yield _row("CSV quoting that swallows rows of others", 2, swallowed.refutes, not read.refutes)
    given = {one.name: getattr(test_planted.ONE, one.name) for one in dataclasses.fields(test_planted.ONE)}
    twice = [
        forks.checked(one, World(base=(40,)), Dress("queries"), None)
        for one in (planted.NoiseOfOneState(**given), test_planted.ONE)
    ]
    if twice[0] is not None and twice[1] is not None:
        caught, passed = twice[0].drawn_twice, not twice[1].drawn_twice
        yield _row("noise drawn twice from one state after a fork", twice[0].releases, caught, passed)


def _row(name: str, runs: int, caught: bool, passes: bool) -> dict[str, Any]:
    return {"defect": name, "runs": runs, "caught": caught, "sound_twin_passes": passes}


def rows() -> Iterator[dict[str, Any]]:
    for name, broken, sound in by_runs():
        runs, caught = 64, False
        while not caught and runs < MOST:
            runs *= 2
            caught = all(broken(runs) for _ in range(IN_A_ROW))
        yield _row(name, runs, caught, not sound(runs))
    yield from beside_tables()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = []
    for row in rows():
        found.append(row)
        if not given.json:
            caught = "caught" if row["caught"] else "NOT caught"
            twin = "its sound twin passes" if row["sound_twin_passes"] else "its sound twin FAILS"
            print(f"{row['defect']}: {caught} with {row['runs']:,} runs on each log; {twin}", flush=True)
    if given.json:
        print(json.dumps(found))
    if not all(row["caught"] and row["sound_twin_passes"] for row in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
