"""The probability that a query is released, by how often it was posed: the paper's figure 1.

No log is needed: one is made in which many queries have each frequency, and it is released many times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import stats

from queryveil.charts import figures
from queryveil.charts.figures import Scale, Words
from queryveil.mechanisms.click_graph.click_graph import ClickGraph
from queryveil.reading.log import SearchLog, read
from queryveil.release.publish import publish
from queryveil.study import shapes
from queryveil.study.declaration import (
    EXPECTED,
    MEASURED,
    Axis,
    Cell,
    Check,
    Findings,
    Given,
    Metric,
    Row,
    Study,
)
from queryveil.study.exact_release import release_probability
from queryveil.study.expectations import expected

PROBABILITY, TRIALS = "release-probability", "trials"
_QUERIES = 200
"""Queries of each frequency in the log that is made."""
_FALSE_ALARM = 1e-6


@dataclass(frozen=True)
class Prepared:
    log: SearchLog
    released: dict[tuple[Any, ...], dict[int, int]] = field(default_factory=dict)
    """Per release: how many queries of each frequency it holds."""


def _prepare(given: Given) -> Prepared:
    """A log with so many queries of each frequency. A user poses as many queries as may count, a minute apart."""
    frequencies = np.array(given.axes["frequency"], dtype=np.int64).repeat(_QUERIES)
    names = [f"{frequency} times {number}" for number, frequency in enumerate(frequencies.tolist())]
    row = np.arange(frequencies.sum())
    each = min(int(d) for d in given.axes["d"])
    minutes = np.datetime64("2026-01-01T00:00:00", "s") + (row % each * 60).astype("timedelta64[s]")
    table = pa.table(
        {
            "user": pa.array((row // each).astype(str)),
            "time": pa.array(minutes),
            "query": pa.array(names, pa.string()).take(pa.array(np.arange(len(names)).repeat(frequencies))),
        }
    )
    return Prepared(read(table))


def _method(cell: Cell) -> ClickGraph:
    return ClickGraph(
        epsilon=cell["epsilon"], delta=cell["delta"], max_queries=cell["d"], analysis=cell["analysis"]
    )


def _measure(prepared: Prepared, given: Given, cell: Cell) -> Iterator[Row]:
    setting = _method(cell).selection()
    exact = release_probability(np.array([cell["frequency"]]), setting.scale, setting.top)
    yield {"how": EXPECTED, "metric": PROBABILITY, "value": float(exact[0])}
    hits = 0
    for repeat in range(given.repeats):
        hits += _released(prepared, given, cell, repeat).get(cell["frequency"], 0)
    trials = given.repeats * _QUERIES
    yield {"how": MEASURED, "metric": PROBABILITY, "value": hits / trials}
    yield {"how": MEASURED, "metric": TRIALS, "value": float(trials)}


def _released(prepared: Prepared, given: Given, cell: Cell, repeat: int) -> dict[int, int]:
    """One release serves the cells of every frequency."""
    key = (repeat, *(cell[name] for name in ("analysis", "d", "epsilon", "delta")))
    if key not in prepared.released:
        made = publish(prepared.log, _method(cell), allow_empty=True, i_understand=True)
        table = made.tables["queries"]
        found: dict[int, int] = {}
        for query in table["query"].to_pylist():
            frequency = int(query.split()[0])
            found[frequency] = found.get(frequency, 0) + 1
        prepared.released[key] = found
    return prepared.released[key]


def agrees(hits: list[tuple[int, int, float]], false_alarm: float = _FALSE_ALARM) -> bool:
    """Whether so many hits in so many trials are possible if these are the chances, all of them together."""
    least = min(stats.binomtest(found, trials, chance).pvalue for found, trials, chance in hits)
    return bool(least * len(hits) > false_alarm)


def _as_computed(found: Findings) -> Iterator[Check]:
    for setting in found.settings("analysis", "d"):
        chosen = found.where(**setting)
        exact, seen = (
            chosen.where(metric=PROBABILITY, how=how).along("frequency") for how in (EXPECTED, MEASURED)
        )
        trials = int(chosen.where(metric=TRIALS).value)
        where = f"({setting['analysis']}, d = {setting['d']})"
        yield Check(
            f"measured frequencies agree with the exact curve {where}",
            agrees([(round(seen[n] * trials), trials, exact[n]) for n in exact]),
            f"{len(exact)} points, {trials:,} trials each (false alarm {_FALSE_ALARM:g})",
        )
        if _surely_apart(exact.last - exact.first, trials):
            yield Check(
                f"a query that is posed more often is released more often {where}",
                shapes.ends_higher(seen.heights),
                f"{seen.first:.3f} of those posed {seen.start} times, {seen.last:.3f} of those posed {seen.end}",
            )


def _surely_apart(difference: float, trials: int) -> bool:
    """Whether two shares whose chances differ by so much come out in order but for the false-alarm rate (Hoeffding)."""
    return difference > 0 and math.exp(-trials * difference**2) <= _FALSE_ALARM


def _papers_frequencies(found: Findings) -> Iterator[Check]:
    """Above 170 virtually always, below 110 virtually never: with the paper's parameters, where both were looked at."""
    exact = found.where(analysis="paper", d=20, metric=PROBABILITY, how=EXPECTED).along("frequency")
    same = {(row["epsilon"], row["delta"]) for row in found} == {(math.log(10), 1e-5)}
    if same and {110, 170} <= set(exact):
        yield Check(
            "with the paper's threshold at d = 20, frequency 170 is released almost always, 110 almost never",
            exact[110] < 0.02 and exact[170] > 0.95,
            f"probability {exact[110]:.3f} at 110 and {exact[170]:.3f} at 170",
        )


def _figures(found: Findings) -> dict[str, Any]:
    chosen = found.where(metric=PROBABILITY)
    settings = {
        (analysis, d): ClickGraph(
            epsilon=found.values("epsilon")[0],
            delta=found.values("delta")[0],
            max_queries=d,
            analysis=analysis,
        ).selection()
        for analysis in found.values("analysis")
        for d in found.values("d")
    }

    def rows(how: str) -> list[Row]:
        return [
            {
                "frequency": row["frequency"],
                "value": row["value"],
                "threshold": f"{row['analysis']}, K = {settings[row['analysis'], row['d']].top}"
                + (f", d = {row['d']}" if len(chosen.values("d")) > 1 else ""),
            }
            for row in chosen.where(how=how)
        ]

    tight, paper = settings.get(("tight", 20)), settings.get(("paper", 20))
    title = (
        f"Released from {tight.top + 1} times on, with the paper's threshold from {paper.top + 1}"
        if tight and paper
        else "A query is released more likely the more often it is posed"
    )
    trials = int(found.where(metric=TRIALS).value)
    under = (
        f"even chance or better; d = {', '.join(map(str, chosen.values('d')))}, epsilon = ln "
        f"{math.exp(found.values('epsilon')[0]):.0f}, delta = {found.values('delta')[0]:g}; lines: exact, "
        f"points: measured, {trials:,} trials each"
    )
    return {
        "release-probability": figures.curves(
            rows(EXPECTED),
            rows(MEASURED),
            x=Scale("frequency", "times that a query was posed (within the bound)", zero=False),
            y=Scale("value", "probability of release", top=1.0),
            by="threshold",
            by_title="threshold",
            words=Words(title, under),
        )
    }


RELEASE_PROBABILITY = Study(
    name="release-probability",
    question="How often must a query be posed to be released?",
    paper="for d = 20, K = 140, b = 8.69 a query of frequency above 170 is virtually always released, below 110 "
    "virtually never",
    mechanism="click-graph",
    axes=(
        Axis("analysis", ("tight", "paper"), "whose threshold"),
        Axis("d", (20,), "queries that one user may add"),
        Axis("epsilon", (math.log(10),), "privacy loss of the selection"),
        Axis("delta", (1e-5,), "probability that the loss is exceeded"),
        Axis("frequency", tuple(range(70, 191, 5)), "times that a query was posed"),
    ),
    metrics=(
        Metric(PROBABILITY, "probability", "that a query of this frequency is published"),
        Metric(TRIALS, "queries", "how many queries the measured frequency is taken over"),
    ),
    repeats=5,
    prepare=_prepare,
    measure=_measure,
    figures=_figures,
    checks=expected(_as_computed, _papers_frequencies),
    needs_log=False,
    quick=True,
    needs=(),
)
