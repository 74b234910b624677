"""The probability that a query is released, by how often it was posed: the paper's figure 1.

No log is needed: one is made in which many queries have each frequency, and it is released many times.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import stats

from queryveil import read
from queryveil.extension import Original, Released
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import grid, printed, shapes
from queryveil_lab.studies.declaration import (
    EXPECTED,
    MEASURED,
    Axis,
    Cell,
    Check,
    Findings,
    Given,
    Metric,
    Row,
)
from queryveil_lab.studies.drawing import Curves, Printed
from queryveil_lab.studies.exact_release import release_probability
from queryveil_lab.studies.expectations import expected
from queryveil_lab.studies.grid import Grid, row
from queryveil_lab.studies.released_share import ANALYSIS, CLICK_GRAPH, FIXED, D, click_graph, ln

PROBABILITY, TRIALS = "release-probability", "trials"
_QUERIES = 200
"""Queries of each frequency in the log that is made."""
_FALSE_ALARM = 1e-6


def _make_log(given: Given) -> Original:
    """A log with many queries of each frequency. A user poses as many queries as may count, a minute apart."""
    frequencies = np.array(given.axes["frequency"], dtype=np.int64).repeat(_QUERIES)
    names = [f"{frequency} times {number}" for number, frequency in enumerate(frequencies.tolist())]
    event = np.arange(frequencies.sum())
    each = min(int(d) for d in given.axes["d"])
    minutes = np.datetime64("2026-01-01T00:00:00", "s") + (event % each * 60).astype("timedelta64[s]")
    table = pa.table(
        {
            "user": pa.array((event // each).astype(str)),
            "time": pa.array(minutes),
            "query": pa.array(names, pa.string()).take(pa.array(np.arange(len(names)).repeat(frequencies))),
        }
    )
    return Original(read(table))


def _exact_rows(_: Original, cell: Cell) -> Iterator[Row]:
    setting = click_graph(cell).setting()
    chance = release_probability(np.array([cell["frequency"]]), setting.scale, setting.top)
    yield row(PROBABILITY, chance[0], how=EXPECTED)


def _released_rows(_: Original, side: Released, cell: Cell, __: int) -> Iterator[Row]:
    """The share of the queries of a frequency that one release holds."""
    queries = side.release.tables["queries"]["query"]
    found = side.compute_once(
        "frequencies", lambda: Counter(int(query.split()[0]) for query in queries.to_pylist())
    )
    yield row(PROBABILITY, found[cell["frequency"]] / _QUERIES)
    yield row(TRIALS, _QUERIES)


def agrees(hits: list[tuple[int, int, float]], false_alarm: float = _FALSE_ALARM) -> bool:
    """Whether these hits in these trials are possible if these are the chances: one judgement for all together."""
    least = min(stats.binomtest(found, trials, chance).pvalue for found, trials, chance in hits)
    return bool(least * len(hits) > false_alarm)


def trials_of(found: Findings) -> int:
    """How many queries of each frequency were tried, over all runs."""
    tried = found.where(metric=TRIALS)
    return int(sum(one["value"] for one in tried.where(frequency=tried.values("frequency")[0])))


def _as_computed(found: Findings) -> Iterator[Check]:
    for setting in found.settings("analysis", "d"):
        chosen = found.where(**setting)
        exact, seen = (
            chosen.where(metric=PROBABILITY, how=how).along("frequency") for how in (EXPECTED, MEASURED)
        )
        trials = trials_of(chosen)
        where = f"({setting['analysis']}, d = {setting['d']})"
        yield Check(
            f"measured frequencies agree with the exact curve {where}",
            agrees([(round(seen[n] * trials), trials, exact[n]) for n in exact]),
            f"{len(exact)} points, {trials:,} trials each (false alarm {_FALSE_ALARM:g})",
        )
        if _surely_apart(exact.last - exact.first, trials):
            yield Check(
                f"a query that is made more often is released more often {where}",
                shapes.ends_higher(seen.heights),
                f"{seen.first:.3f} are released if made {seen.start} times, {seen.last:.3f} if made {seen.end} times",
            )


def _surely_apart(difference: float, trials: int) -> bool:
    """Whether two shares with chances this far apart come out in order, but for the false-alarm rate (Hoeffding)."""
    return difference > 0 and math.exp(-trials * difference**2) <= _FALSE_ALARM


def _papers_frequencies(found: Findings) -> Iterator[Check]:
    """Above 170 virtually always, below 110 virtually never: with the paper's parameters, where both were looked at."""
    exact = found.where(analysis="paper", d=20, metric=PROBABILITY, how=EXPECTED).along("frequency")
    same = {(one["epsilon"], one["delta"]) for one in found} == {(math.log(10), 1e-5)}
    if same and {110, 170} <= set(exact):
        yield Check(
            "with the paper's threshold at d = 20, frequency 170 is released almost always, 110 almost never",
            exact[110] < 0.02 and exact[170] > 0.95,
            f"probability {exact[110]:.3f} at 110 and {exact[170]:.3f} at 170",
        )


_SETTING = ("analysis", "d", "epsilon", "delta")


def _find_thresholds(found: Findings) -> dict[tuple[Any, ...], int]:
    cells = [Cell(one) for one in found.settings(*_SETTING)]
    return {tuple(cell.values.values()): click_graph(cell).setting().top for cell in cells}


def _with_thresholds(found: Findings) -> Findings:
    tops = _find_thresholds(found)
    return found.changed(
        lambda one: {"threshold": f"{one['analysis']}, K = {tops[tuple(one[axis] for axis in _SETTING)]}"}
    )


def _chart_title(found: Findings) -> str:
    tops = {analysis: top for (analysis, d, *_), top in _find_thresholds(found).items() if d == 20}
    if not {"tight", "paper"} <= set(tops):
        return "The more often a query is made, the more likely it is released"
    return (
        f"A query is more likely released than not from {tops['tight'] + 1} times on, and with the paper's threshold "
        f"from {tops['paper'] + 1}"
    )


RELEASE_PROBABILITY = grid.study(
    Grid(
        (CLICK_GRAPH,),
        (_released_rows,),
        further=("frequency",),
        shared=True,
        ready=_make_log,
        of_log=_exact_rows,
    ),
    name="release-probability",
    question="How often must a query be made to be released?",
    paper="for d = 20, K = 140, b = 8.69 a query of frequency above 170 is virtually always released, below 110 "
    "virtually never",
    axes=(
        ANALYSIS,
        Axis("d", (20,), D.help),
        *FIXED,
        Axis("frequency", tuple(range(70, 191, 5)), "times that a query was made"),
    ),
    metrics=(
        Metric(PROBABILITY, "probability", "that a query of this frequency is published"),
        Metric(TRIALS, "queries", "queries of this frequency in the log that is made"),
    ),
    repeats=5,
    figures=(
        Curves(
            name="release-probability",
            title=_chart_title,
            under="{d}, epsilon = {epsilon}, delta = {delta}; lines: exact, points: shares in single releases",
            metric=PROBABILITY,
            among=_with_thresholds,
            shown={"epsilon": ln, "d": "d = {}"},
            x=Scale("frequency", "times that a query was made (within the bound)"),
            y=Scale("value", "probability of release", top=1.0),
            by=("threshold", "d"),
            by_title="threshold",
            ticks=False,
            printed=Printed(
                source="Korolova et al. 2009, figure 1: virtually never, virtually always",
                lines=(({"analysis": "paper", "d": 20}, printed.RELEASE_PROBABILITIES),),
                given={"epsilon": math.log(10), "delta": 1e-5},
            ),
        ),
    ),
    checks=expected(_as_computed, _papers_frequencies),
    needs_log=False,
    quick=True,
    needs=(),
)
