"""Logs of different days: does a reference grow old, and does a longer one last longer?

No log is needed: logs of two periods are made, of a world in which the popularity of every query drifts from hour to
hour. All have the same number of rows. The generator's day is an hour here, so that logs of an hour can be made: the
attack looks at no times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from queryveil import LogSettings, SearchLog, generate, read
from queryveil.files import workspace
from queryveil_lab.charts.figures import Scale
from queryveil_lab.inversion import Inversion, Inverted
from queryveil_lab.inversion.judging import score
from queryveil_lab.inversion.kinds import GREEDY, HEAP, L1, SUREST
from queryveil_lab.studies import hashed_halves as halves
from queryveil_lab.studies import printed, shapes
from queryveil_lab.studies.declaration import Axis, Cell, Findings, Given, Metric, Row, Study
from queryveil_lab.studies.drawing import Curves, Printed
from queryveil_lab.studies.expectations import Along, expected
from queryveil_lab.studies.shapes import Line
from queryveil_lab.studies.share_checks import days

DEFAULT = "default"
_UPDATES: dict[str, dict[str, Any]] = {
    HEAP: {"update": HEAP, "distance": L1},
    SUREST: {"update": SUREST, "distance": L1},
    GREEDY: {"distance": L1},
    DEFAULT: {"distance": L1},
}
"""The paper's for these tables first; score-greedy without any pair given, and the package's default: more company."""
_KNOWING = (HEAP, SUREST)
WITH_GIVEN = "accuracy-with-given"
HOURS = 24
_GIVEN_COUNT = f"{HEAP}, given pairs count"
_USUAL = 6
"""Hours that the paper's logs have in its table of gaps."""
_GIVEN = 100
"""Pairs that the continuous update is given, as in the paper; a tenth if the vocabulary is small. They do not count."""
_ZIPF = 0.6


Kept = dict[tuple[int, int, int], halves.Hashed]
"""The pairs of logs at hand, one for each run: cells come in an order in which those of one gap are enough."""


def _prepare_runs(_: Given) -> Kept:
    return {}


def _generate_log(cell: Cell, folder: Path, *, day: int, seed: int) -> SearchLog:
    settings = LogSettings(
        version=1,  # the figures in the docs are of it
        rows=cell["rows"],
        days=cell["interval"],
        zipf=_ZIPF,
        drift=cell["drift"] / math.sqrt(HOURS),
        drifted=day * HOURS,
        seed=seed,
        # Both logs must be of one pool, whatever their number of rows.
        pool_size=max(5_000, min(300_000, cell["rows"] // 4)),
    )
    file = folder / f"{day}-{seed}.parquet"
    generate(file, settings)
    return read(file)


def _hashed_pair(kept: Kept, cell: Cell, run: int) -> halves.Hashed:
    key = (cell["gap"], cell["interval"], run)
    if key not in kept:
        for other in [one for one in kept if one[:2] != key[:2]]:
            del kept[other]
        seed = cell["seed"] + run
        with workspace.temporary_folder() as folder:
            reference = _generate_log(cell, folder, day=0, seed=2 * seed)
            original = _generate_log(cell, folder, day=cell["gap"], seed=2 * seed + 1)
            kept[key] = halves.Hashed.of(reference, original)
    return kept[key]


def _measure_cell(kept: Kept, given: Given, cell: Cell) -> Iterator[Row]:
    """Every run has logs of other people, in one world."""
    for run in range(given.repeats):
        hashed = _hashed_pair(kept, cell, run)
        halves.sizes(given, hashed)
        yield from halves.in_run(run, _inversion_rows(hashed, cell))


def _inversion_rows(hashed: halves.Hashed, cell: Cell) -> Iterator[Row]:
    n = cell["n"]
    given_pairs = min(_GIVEN, max(1, n // 10)) if cell["update"] in _KNOWING else 0
    attack = Inversion(n=n, bootstrap=given_pairs, **_UPDATES[cell["update"]])
    counted = attack.reach(hashed.target, hashed.reference) if cell["update"] == DEFAULT else n
    stages = tuple(attack.stages(*hashed.at(counted), [n], known=hashed.truth))
    inverted = Inverted(hashed.target.tokens, hashed.reference.tokens, stages)
    yield from halves.judged(inverted, hashed.truth, given_pairs)
    if given_pairs:
        found = score(stages[-1].last, hashed.truth).accuracy
        yield halves.measured(WITH_GIVEN, found or 0.0)
    yield halves.measured(halves.CEILING, hashed.ceiling(n, given=given_pairs).accuracy or 0.0)
    yield halves.measured(halves.QUERIES, hashed.queries)


def _first_update(found: Findings) -> Findings:
    """What is given to one of the updates is not among its matchable set; without drift nothing grows old."""
    own = found.where(metric=halves.MATCHABLE)
    drifts = own and own.values("drift")[0] > 0
    return _by_gap(own.where(update=own.values("update")[0])) if drifts else Findings(())


def _line_text(line: Line) -> str:
    return ", ".join(f"{value:.3f} after {gap} d" for gap, value in line.items())


def _drift_text(found: Findings) -> str:
    aside = "; pairs that are given do not count" if set(_KNOWING) & set(found.values("update")) else ""
    one, runs = found.rows[0], len(found.values("repeat"))
    return (
        f"popularity drifts by {one['drift']:g} a day (standard deviation of its logarithm); {one['rows']:,} rows in "
        f"each log, n = {one['n']:,}; {'1 pair' if runs == 1 else f'means of {runs} pairs'} of logs{aside}"
    )


def _format_hours(hours: int) -> str:
    return days(hours // HOURS) if hours % HOURS == 0 else f"{hours} h"


def _default_hours(given: Given) -> int:
    asked = [int(one) for one in given.axes["interval"]]
    return _USUAL if _USUAL in asked else asked[0]


def _needs_cell(given: Given, cell: Cell) -> bool:
    """The gaps with logs of six hours, and the intervals with the longest gap: the paper's two tables."""
    longest = max(int(one) for one in given.axes["gap"])
    return bool(cell["interval"] == _default_hours(given) or cell["gap"] == longest)


def _by_gap(found: Findings) -> Findings:
    """The lengths of logs that were measured at several gaps."""
    several = [one for one in found.values("interval") if len(found.where(interval=one).values("gap")) > 1]
    return found.chosen(lambda row: row["interval"] in several)


def _with_given(found: Findings) -> Findings:
    """The same, and the continuous update as the paper may have counted: pairs that are given are found."""
    counted = found.where(update=HEAP, metric=WITH_GIVEN)
    named = counted.changed(lambda _: {"update": _GIVEN_COUNT, "metric": halves.ACCURACY})
    return Findings((*found, *named))


def _gaps_with_given(found: Findings) -> Findings:
    return _by_gap(_with_given(found))


def _judged_by_gap(found: Findings) -> Findings:
    """The same, of logs that are long enough to judge by."""
    return _by_gap(halves.long_enough(found))


def _intervals_with_given(found: Findings) -> Findings:
    """The lengths of logs at the longest gap."""
    return _with_given(found.where(gap=max(found.values("gap")))) if found.rows else found


GAP = Study(
    name="gap",
    question="Does a reference log grow old?",
    paper="0.74, 0.95, 0.70 and 0.77 are found after a day, a week, a month and two months (matchable 930, 915, 853, "
    "892); 0.91, 0.95, 0.82, 0.97, 0.96, 0.98 and 0.98 for logs of an hour to a week, two months apart",
    mechanism="token-hash",
    axes=(
        Axis("interval", (1, 3, 6, 9, 24, 168), "hours that each log covers"),
        Axis("gap", (1, 7, 30, 60), "days from the first day of one log to that of the other"),
        Axis(
            "update",
            tuple(_UPDATES),
            "heap or surest from 100 given pairs, score-greedy with L1, or the package's default",
            closed=True,
        ),
        Axis(
            "drift",
            (0.1,),
            "standard deviation of the daily step of the logarithm of a query's popularity",
            single=True,
        ),
        Axis("rows", (1_200_000,), "rows of each log", single=True),
        Axis("n", (1_000,), "most frequent hashes and words", single=True),
        Axis("seed", (1,), "chooses the users of the first run; each run has the next", single=True),
    ),
    metrics=(
        *halves.FOUND,
        Metric(WITH_GIVEN, "share", "the same if words that are given count as found"),
        halves.NEAREST,
        Metric(halves.ITERATIONS, "updates", "updates until a mapping came again, 10 at most"),
        *halves.WORK,
    ),
    repeats=3,
    prepare=_prepare_runs,
    measure=_measure_cell,
    figures=(
        Curves(
            name="gap",
            title="{line.first:.2f} of the words are found after a gap of {line.start} d, {line.last:.2f} after "
            "{line.end} d ({update}, logs of {interval})",
            under=_drift_text,
            metric=halves.ACCURACY,
            among=_gaps_with_given,
            shown={"interval": _format_hours},
            x=Scale("gap", "days between the two logs", log=True),
            y=halves.SHARE,
            by=("update", "interval"),
            by_title="update",
            least=2,
            printed=Printed(
                source="Kumar et al. 2007, table 4",
                lines=(({"update": _GIVEN_COUNT}, printed.GAPS),),
                given={"interval": _USUAL, "n": 1_000},
            ),
        ),
        Curves(
            name="interval",
            title="{line.first:.2f} of the words are found in logs of {line.start} h, {line.last:.2f} in logs of "
            "{line.end} h, {gap} d apart ({update})",
            under=_drift_text,
            metric=halves.ACCURACY,
            among=_intervals_with_given,
            x=Scale("interval", "hours that each log covers", log=True),
            y=halves.SHARE,
            by="update",
            least=2,
            printed=Printed(
                source="Kumar et al. 2007, table 5",
                lines=(({"update": _GIVEN_COUNT}, printed.INTERVALS),),
                given={"gap": 60, "n": 1_000},
            ),
        ),
    ),
    checks=expected(
        Along(
            says="fewer hashes are matchable after a longer gap (interval {interval} h)",
            metric=halves.MATCHABLE,
            along="gap",
            by=("interval",),
            among=_first_update,
            shape=shapes.ends_lower,
            told="{line.first:,.0f} after {line.start} d, {line.last:,.0f} after {line.end} d",
        ),
        Along(
            says=f"a longer gap finds less (interval {{interval}} h, {GREEDY})",
            metric=halves.ACCURACY,
            along="gap",
            by=("interval",),
            where={"update": GREEDY},
            among=_judged_by_gap,
            shape=shapes.ends_lower,
            told=_line_text,
        ),
    ),
    only=_needs_cell,
    needs_log=False,
    needs=(),
    labels=("at",),
)
