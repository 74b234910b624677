"""Logs of different days: does a reference grow old, and does a longer one last longer?

No log is needed: logs of two periods are made, of a world in which the popularity of every query drifts from day to
day. Each has as many rows, whatever its length.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from queryveil.attack.inversion import Inversion
from queryveil.attack.inversion.kinds import GREEDY, HEAP
from queryveil.charts import figures
from queryveil.charts.figures import Scale, Words
from queryveil.errors import UsageError
from queryveil.reading.log import SearchLog, read
from queryveil.study import shapes
from queryveil.study.declaration import Axis, Cell, Findings, Given, Metric, Row, Study
from queryveil.study.expectations import Along, expected
from queryveil.study.hashed_halves import (
    ACCURACY,
    CEILING,
    FOUND,
    ITERATIONS,
    MATCHABLE,
    QUERIES,
    WORK,
    Hashed,
    judged,
    long_enough,
    measured,
    sizes,
)
from queryveil.study.shapes import Line
from queryveil.synthetic.generator import LogSettings, generate

_UPDATES = (GREEDY, HEAP)
_GIVEN = 100
"""Pairs that the continuous update is given, as in the paper; a tenth, of a small vocabulary. They do not count."""
_ZIPF = 0.6
_ONE = ("rows", "drift", "n", "seed")


@dataclass(frozen=True)
class Prepared:
    """The pair of logs at hand: cells come in such an order that one is enough."""

    kept: dict[tuple[int, int], Hashed] = field(default_factory=dict)


def _prepare(given: Given) -> Prepared:
    for name in _ONE:
        if len(given.axes[name]) > 1:
            raise UsageError(f"study gap takes one value of '{name}'", f"pass one with --vary {name}=")
    unknown = {str(one) for one in given.axes["update"]} - set(_UPDATES)
    if unknown:
        raise UsageError(f"study gap knows no update '{min(unknown)}'", f"use one of {', '.join(_UPDATES)}")
    return Prepared()


def _log(cell: Cell, folder: Path, *, day: int, seed: int) -> SearchLog:
    settings = LogSettings(
        rows=cell["rows"],
        days=cell["interval"],
        zipf=_ZIPF,
        drift=cell["drift"],
        drifted=day,
        seed=seed,
        # Both logs must be of one pool, whatever their number of rows.
        pool_size=max(5_000, min(300_000, cell["rows"] // 4)),
    )
    file = folder / f"{day}-{seed}.parquet"
    generate(file, settings)
    return read(file)


def _pair(prepared: Prepared, cell: Cell) -> Hashed:
    key = (cell["gap"], cell["interval"])
    if key not in prepared.kept:
        prepared.kept.clear()
        with tempfile.TemporaryDirectory() as name:
            reference = _log(cell, Path(name), day=0, seed=2 * cell["seed"])
            original = _log(cell, Path(name), day=cell["gap"], seed=2 * cell["seed"] + 1)
            prepared.kept[key] = Hashed.of(reference, original)
    return prepared.kept[key]


def _measure(prepared: Prepared, given: Given, cell: Cell) -> Iterator[Row]:
    hashed, n = _pair(prepared, cell), cell["n"]
    sizes(given, hashed)
    given_pairs = min(_GIVEN, max(1, n // 10)) if cell["update"] == HEAP else 0
    attack = Inversion(n=n, update=cell["update"], bootstrap=given_pairs)
    inverted = attack.invert(hashed.target, hashed.reference, known=hashed.truth)
    yield from judged(inverted, hashed.truth, given_pairs)
    yield measured(CEILING, hashed.ceiling(n, given=given_pairs).accuracy or 0.0)
    yield measured(QUERIES, hashed.queries)


def _first_update(found: Findings) -> Findings:
    """What is given to one of the updates is not among its matchable set; without drift nothing grows old."""
    own = found.where(metric=MATCHABLE)
    drifts = own and own.values("drift")[0] > 0
    return own.where(update=own.values("update")[0]) if drifts else Findings(())


def _told(line: Line) -> str:
    return ", ".join(f"{value:.3f} after {gap} d" for gap, value in line.items())


def _figures(found: Findings) -> dict[str, Any]:
    chosen = found.where(metric=ACCURACY)

    def said(update: str, interval: int) -> str:
        return f"{update}, {interval} d" if len(chosen.values("update")) > 1 else f"{interval} d"

    lines: list[Row] = [
        {"gap": gap, "accuracy": value, "which": said(update, interval)}
        for update in chosen.values("update")
        for interval in chosen.values("interval")
        for gap, value in chosen.where(update=update, interval=interval).along("gap").items()
    ]
    update, interval = chosen.values("update")[0], chosen.values("interval")[0]
    curve = chosen.where(update=update, interval=interval).along("gap")
    ticks = tuple(sorted(curve))
    aside = "; pairs that heap is given do not count" if HEAP in chosen.values("update") else ""
    return {
        "gap": figures.curves(
            lines,
            lines,
            x=Scale("gap", "days between the two logs", log=len(ticks) > 1, ticks=ticks, format=",d"),
            y=Scale("accuracy", "found, share of the matchable set", top=1.0),
            by="which",
            by_title="update, and length of each log",
            words=Words(
                f"{curve[min(curve)]:.2f} of the words are found after {min(curve)} d, {curve[max(curve)]:.2f} after "
                f"{max(curve)} d ({said(update, interval)})",
                f"popularity drifts by {found.values('drift')[0]:g} a day (standard deviation of its logarithm); "
                f"{found.values('rows')[0]:,} rows in each log, n = {found.values('n')[0]:,}{aside}",
            ),
        )
    }


GAP = Study(
    name="gap",
    question="Does a reference log grow old?",
    paper="0.74, 0.95, 0.70 and 0.77 after a day, a week, a month and two months (matchable 930, 915, 853, 892); "
    "0.82 to 0.98 by the length of the logs, from an hour to a week",
    mechanism="token-hash",
    axes=(
        Axis("interval", (1, 7), "days that each log covers"),
        Axis("gap", (1, 7, 30, 60), "days from the first day of one log to that of the other"),
        Axis("update", _UPDATES, "score-greedy from nodestart, or heap from 100 given pairs as in the paper"),
        Axis("drift", (0.1,), "daily step of the logarithm of a query's popularity, standard deviation"),
        Axis("rows", (1_200_000,), "rows of each log"),
        Axis("n", (1_000,), "most frequent hashes and words"),
        Axis("seed", (1,), "of the users"),
    ),
    metrics=(
        *FOUND,
        Metric(
            CEILING, "share", "hashes nearest to their word if all others are known; one to one can find more"
        ),
        Metric(ITERATIONS, "updates", "until a mapping came again, 10 at most"),
        *WORK,
    ),
    repeats=1,
    prepare=_prepare,
    measure=_measure,
    figures=_figures,
    checks=expected(
        Along(
            says="fewer hashes are matchable after a longer gap (interval {interval} d)",
            metric=MATCHABLE,
            along="gap",
            by=("interval",),
            among=_first_update,
            shape=shapes.ends_lower,
            told="{line.first:,.0f} after {line.start} d, {line.last:,.0f} after {line.end} d",
        ),
        Along(
            says=f"a longer gap finds less (interval {{interval}} d, {GREEDY})",
            metric=ACCURACY,
            along="gap",
            by=("interval",),
            where={"update": GREEDY},
            among=long_enough,
            shape=shapes.ends_lower,
            told=_told,
        ),
    ),
    needs_log=False,
    needs=(),
    labels=("at",),
)
