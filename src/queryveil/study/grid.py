"""Studies that publish with several methods over a grid of parameters, and evaluate each release.

Most experiments are of this kind: which methods, what varies, which measures. Such a study is one call of `study`;
a file of one's own (`own.py`) says the same in YAML.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from queryveil.charts import figures
from queryveil.charts.figures import MOST_SERIES, Scale, Words
from queryveil.errors import CannotBeMet, InputError
from queryveil.measure.measure import Measure, Original, Released
from queryveil.mechanisms import MECHANISMS, Mechanism
from queryveil.parameters import parameters
from queryveil.study import shapes
from queryveil.study.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, Study
from queryveil.study.releases import Releases
from queryveil.study.shapes import Line

METHOD = "method"


@dataclass(frozen=True)
class Entry:
    """A method of a study: what it is called there, and its parameters that do not vary."""

    label: str
    method: str
    fixed: Mapping[str, Any] = field(hash=False)

    def takes(self, name: str) -> bool:
        """Whether a value of the grid makes a difference to it."""
        return name not in self.fixed and any(one.name == name for one in parameters(MECHANISMS[self.method]))

    def made(self, cell: Mapping[str, Any]) -> Mechanism:
        varied = {name: value for name, value in cell.items() if name != METHOD and self.takes(name)}
        return MECHANISMS[self.method](**{**self.fixed, **varied})


@dataclass(frozen=True)
class Expected:
    """A shape: what a measure does along an axis."""

    measure: str
    along: str
    shape: str
    """A name of `shapes.NAMED`."""


@dataclass(frozen=True)
class Grid:
    """What such a study does, as a value that goes to other processes."""

    entries: tuple[Entry, ...]
    measures: tuple[Measure, ...]
    expected: tuple[Expected, ...] = ()

    def entry(self, label: str) -> Entry:
        return next(one for one in self.entries if one.label == label)


def study(
    grid: Grid,
    *,
    name: str,
    question: str,
    paper: str,
    vary: Sequence[Axis],
    repeats: int,
    needs: tuple[str, ...] = (),
    version: str = "",
) -> Study:
    """The study of a grid."""
    methods = Axis(METHOD, tuple(entry.label for entry in grid.entries), "how the log is published")
    return Study(
        name=name,
        question=question,
        paper=paper,
        mechanism=", ".join(dict.fromkeys(entry.method for entry in grid.entries)),
        axes=(methods, *vary),
        metrics=tuple(Metric(str(one), one.unit, one.help) for one in grid.measures),
        repeats=repeats,
        prepare=_prepare,
        measure=Releases(functools.partial(_made, grid), functools.partial(_taken, grid)),
        figures=functools.partial(drawn, grid),
        checks=functools.partial(checked, grid),
        needs=needs,
        only=functools.partial(_differs, grid),
        ahead=functools.partial(_plan, grid),
        version=version,
    )


def _prepare(given: Given) -> Original:
    return Original(given.the_log)


def _differs(grid: Grid, given: Given, cell: Cell) -> bool:
    """A method without some parameter is measured at its first value alone."""
    entry = grid.entry(cell[METHOD])
    return all(
        name == METHOD or entry.takes(name) or value == given.axes[name][0]
        for name, value in cell.values.items()
    )


def _plan(grid: Grid, given: Given, cells: Sequence[Cell]) -> None:
    """Every method with every setting, as far as it can be told without reading a row."""
    log = given.the_log
    if log.users == 0:
        raise CannotBeMet("the log has no accepted row", "check the file and --columns")
    for cell in cells:
        method = _made(grid, cell)
        method.plan(users=log.users if method.needs_users else None)
        method.check(log)


def _made(grid: Grid, cell: Cell) -> Mechanism:
    return grid.entry(cell[METHOD]).made(cell.values)


def _taken(grid: Grid, original: Original, side: Released, cell: Cell, _: int) -> Iterator[Row]:
    entry = grid.entry(cell[METHOD])
    for measure in grid.measures:
        lacking = measure.lacks(side)
        if lacking is not None:
            raise InputError(
                f"measure {measure.name} needs a table of {lacking}, and {entry.method} publishes none",
                "take the measure or the method out of the study",
            )
        for metric, value in measure.figures(original, side).items():
            if value is not None:
                yield {
                    "mechanism": entry.method,
                    "metric": metric,
                    "unit": measure.stated(metric).unit,
                    "value": value,
                }


# -- figures and checks ------------------------------------------------------------------------------------------


def lines(found: Findings, axis: str) -> list[tuple[Row, Line]]:
    """For each setting of everything else, the mean at each point of an axis, if there are at least two."""
    made = found.lines(axis, *(name for name in found.axes if name != axis))
    return [(setting, line) for setting, line in made if len(line) > 1]


def checked(grid: Grid, found: Findings) -> list[Check]:
    """Whether the expected shapes came out."""
    made = []
    for one in grid.expected:
        name = f"{one.measure} is {one.shape} along {one.along}"
        measured = lines(found.where(metric=one.measure), one.along)
        if not measured:
            made.append(Check(name, False, "it was not measured at two values or more"))
        for setting, line in measured:
            made.append(
                Check(
                    f"{name} ({', '.join(map(_shown, setting.values()))})",
                    shapes.NAMED[one.shape](line.heights),
                    f"{line.first:.4g} at {_shown(line.start)} to {line.last:.4g} at {_shown(line.end)}",
                )
            )
    return made


def drawn(grid: Grid, found: Findings) -> dict[str, Any]:
    """Each measure against the first axis of numbers, one line per setting of the others."""
    axis = next((name for name in found.axes if _numbers(found, name)), None)
    if axis is None:
        return {}
    made = {}
    for metric in found.values("metric"):
        rows = found.where(metric=metric)
        series = [(", ".join(map(_shown, setting.values())), line) for setting, line in lines(rows, axis)][
            :MOST_SERIES
        ]
        if not series:
            continue
        points = [
            {axis: at, "series": label, "value": value}
            for label, line in series
            for at, value in line.items()
        ]
        ticks = tuple(sorted({point[axis] for point in points}))
        wide = ticks[0] > 0 and ticks[-1] / ticks[0] >= 20
        made[_file_name(metric)] = figures.curves(
            points,
            points,
            x=Scale(axis, axis.replace("_", " "), log=wide, ticks=ticks, zero=False),
            y=Scale("value", f"{metric} ({rows.rows[0]['unit']})"),
            by="series",
            by_title="setting",
            words=Words(f"{metric} against {axis.replace('_', ' ')}", "means over the runs"),
        )
    return made


def _numbers(found: Findings, axis: str) -> bool:
    values = found.values(axis)
    return len(values) > 1 and all(isinstance(value, (int, float)) for value in values)


def _file_name(metric: str) -> str:
    return "".join(one if one.isalnum() or one in "-." else "-" for one in metric)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
