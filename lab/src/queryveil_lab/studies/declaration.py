"""What a study is: a declared value that says what varies, what is measured, how often, and what should come out.

A study runs cell by cell, a cell being one point of its grid. What a cell finds does not depend on the other
cells or on their order, so a study that was interrupted goes on where it stopped.

Most studies publish a log with some methods over a grid of parameters, and measure each release. Such a study is one
call of `grid.study` (docs/studies/index.md has a whole one, which a test runs):

    SET_UNION = grid.study(Grid(methods, measures), name=..., axes=..., metrics=..., repeats=5, figures=..., checks=...)

- A method is an `Entry`, which is a registered mechanism, or a `Function`: a baseline that only this study knows. A
  function gets log, cell and run, and gives counted items (`Counted`), which are measured like a release.
- A measure is one of `queryveil evaluate`, or a function that takes rows from a release.
- `repeats` is the number of independent runs of each cell (seeds); the column `repeat` numbers them. A release draws
  its noise from the system.
- `Findings.intervals` gives the mean at each point of an axis with its 95 % interval over the runs. A figure with
  `intervals=True` draws it, and a `Beside` with `noise=spread(metric)` allows for it.

A study that does something else declares its own `prepare` and `measure`, and shares everything else.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from queryveil import SearchLog, UsageError
from queryveil.extension import Check as Check  # noqa: PLC0414 - studies find them here
from queryveil.extension import Original, argument, command, output
from queryveil.extension import too_small as too_small  # noqa: PLC0414
from queryveil_lab.studies.kept_folder import check_place
from queryveil_lab.studies.shapes import Line

Value = int | float | str
Progress = Callable[[int, int], None]
Row = dict[str, Any]

EXPECTED, MEASURED = "expected", "measured"
MOST_REPEATS, MOST_CELLS = 100_000, 100_000
_FOUND = {"study", "mechanism", "how", "repeat", "metric", "unit", "value"}
_MOST = 10**12
"""Whole numbers from here on are no number of anything in a log."""


@dataclass(frozen=True)
class Axis:
    """One thing that varies, and the values it takes."""

    name: str
    values: tuple[Value, ...]
    help: str
    closed: bool = False
    """Whether other values than these mean nothing."""
    single: bool = False
    """Whether it takes one value at a time."""

    def changed(self, study: str, values: Sequence[Any]) -> Axis:
        """The same axis with other values, of the same type."""
        kind = type(self.values[0])
        try:
            made = tuple(kind(value) for value in values)
        except (TypeError, ValueError):
            made = ()
        most = _MOST if kind is int else math.inf
        numbers = all(isinstance(value, str) or 0 < value < most for value in made)
        if not made or not numbers or len(set(made)) < len(made):
            wanted = {
                int: "whole numbers above 0, below a trillion",
                float: "numbers above 0",
                str: "words",
            }[kind]
            raise UsageError(
                f"in study {study}, '{self.name}' varies over different {wanted}",
                f"write it like {argument('vary', {self.name: [f'{self._example}']})}",
            )
        if self.closed and not set(made) <= set(self.values):
            raise UsageError(
                f"study {study} knows no {self.name} '{next(one for one in made if one not in self.values)}'",
                f"use some of {', '.join(map(str, self.values))}",
            )
        if self.single and len(made) > 1:
            raise UsageError(
                f"study {study} takes one value of '{self.name}'",
                f"pass one with {argument('vary', {self.name: '...'})}",
            )
        return dataclasses.replace(self, values=made)

    @property
    def _example(self) -> str:
        return ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in self.values[:3])


@dataclass(frozen=True)
class Metric:
    """One figure that a cell yields."""

    name: str
    unit: str
    help: str


@dataclass(frozen=True)
class Cell:
    """One point of a grid."""

    values: Mapping[str, Value]

    @property
    def name(self) -> str:
        """A file name that says which cell it is, the same in every run."""
        text = json.dumps(dict(sorted(self.values.items())), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def __getitem__(self, axis: str) -> Any:
        return self.values[axis]


@dataclass(frozen=True)
class Given:
    """What a study runs on: a log, the grid as asked for, and how often."""

    log: SearchLog | None
    axes: Mapping[str, tuple[Value, ...]]
    repeats: int
    results: Path | None = None
    """Public result lists, for studies that publish clicks."""

    @property
    def the_log(self) -> SearchLog:
        if self.log is None:
            raise UsageError(
                "this study needs a log",
                "name one: "
                + command("queryveil compare LOG --study ...", "queryveil_lab.compare(log, ...)"),
            )
        return self.log


class Interval(NamedTuple):
    """The mean over some runs, and where the true mean lies: 95 % by Student's t. One run has no interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, runs: Sequence[float]) -> Interval:
        mean = float(np.mean(runs))
        if len(runs) < 2:
            return cls(mean, mean, mean)
        reach = stats.t.ppf(0.975, len(runs) - 1) * np.std(runs, ddof=1) / math.sqrt(len(runs))
        return cls(mean, mean - float(reach), mean + float(reach))


@dataclass(frozen=True)
class Findings:
    """The rows of a study, and the questions that figures and checks ask."""

    rows: tuple[Row, ...] = field(repr=False)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, **wanted: object) -> Findings:
        return self.chosen(lambda row: all(row[key] == value for key, value in wanted.items()))

    def chosen(self, which: Callable[[Row], object]) -> Findings:
        return Findings(tuple(row for row in self.rows if which(row)))

    def changed(self, how: Callable[[Row], Row]) -> Findings:
        """The same rows with other columns, or with other values in them."""
        return Findings(tuple({**row, **how(row)} for row in self.rows))

    def values(self, column: str) -> list[Any]:
        """The different values of a column, in order of appearance."""
        return list(dict.fromkeys(row[column] for row in self.rows))

    def intervals(self, axis: str) -> dict[Any, Interval]:
        """At each point of an axis the mean over the repeats, and its interval."""
        found: dict[Any, list[float]] = {}
        for row in self.rows:
            found.setdefault(row[axis], []).append(row["value"])
        return {point: Interval.of(values) for point, values in sorted(found.items())}

    def along(self, axis: str) -> Line:
        """The value at each point of an axis, the mean where there are repeats."""
        return Line({point: one.mean for point, one in self.intervals(axis).items()})

    def settings(self, *columns: str) -> list[Row]:
        """The different combinations of values of some columns, in order of appearance."""
        found = dict.fromkeys(tuple(row[column] for column in columns) for row in self.rows)
        return [dict(zip(columns, values, strict=True)) for values in found]

    def lines(self, axis: str, *by: str) -> Iterator[tuple[Row, Line]]:
        """The line along an axis for each setting of other columns."""
        for setting in self.settings(*by):
            yield setting, self.where(**setting).along(axis)

    @property
    def axes(self) -> list[str]:
        """The columns that say which cell a row is from, and what in it."""
        return [name for name in (self.rows[0] if self.rows else {}) if name not in _FOUND]

    @property
    def value(self) -> float:
        """The one value that is left, or the mean of its repeats."""
        return float(np.mean([row["value"] for row in self.rows]))


def everything(found: Findings) -> Findings:
    return found


Prepared = Any
Figure = Callable[[Findings], Iterable[tuple[str, Any]]]
"""A declared figure, which draws itself: named charts of what was found."""


def whole_log(given: Given) -> Original:
    """The log, with a memory for what cells share."""
    return Original(given.the_log)


def _as_asked(_: SearchLog | None, axes: Mapping[str, tuple[Value, ...]]) -> Mapping[str, tuple[Value, ...]]:
    return axes


def _always(_: Given, __: Cell) -> bool:
    return True


def _no_reason(_: Given, __: Sequence[Cell]) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class Study:
    """An experiment, declared. To add one, write a module with such a value and a line in the registry."""

    name: str
    question: str
    paper: str
    """What the paper found."""
    mechanism: str
    axes: tuple[Axis, ...]
    metrics: tuple[Metric, ...]
    repeats: int
    """Independent runs of each cell, unless asked for otherwise."""
    prepare: Callable[[Given], Prepared] = whole_log
    """Work that all cells share; done once, and only if a cell is left to do."""
    measure: Callable[[Prepared, Given, Cell], Iterable[Row]]
    """What one cell finds: rows with `how`, `repeat`, `metric`, `value`, the labels, and `mechanism` if it varies."""
    figures: tuple[Figure, ...]
    checks: Callable[[Findings], Sequence[Check]]
    needs_log: bool = True
    takes_log: bool = False
    """It can do without a log, and takes one that is given."""
    quick: bool = False
    """Its cells take no time, so that one process is enough where no log is read."""
    needs: tuple[str, ...] = ("time",)
    """Columns of the log that it cannot do without."""
    labels: tuple[str, ...] = ()
    """Further text columns, for instance the item that a row is about."""
    within: Callable[[SearchLog | None, Mapping[str, tuple[Value, ...]]], Mapping[str, tuple[Value, ...]]] = (
        _as_asked
    )
    """Leaves out points of the grid that a log cannot reach."""
    only: Callable[[Given, Cell], bool] = _always
    """Leaves out cells that would repeat another one."""
    ahead: Callable[[Given, Sequence[Cell]], None] = _no_reason
    """Refuses, before anything is written, what would stop one of the cells."""
    version: str = ""
    """Tells studies of one name apart; finished cells of one are no use to the other."""

    def grid(self, vary: Mapping[str, Sequence[Any]] | None) -> dict[str, tuple[Value, ...]]:
        """The values of each axis, with those that were asked for in their place."""
        wanted = dict(vary or {})
        made = {
            axis.name: axis.changed(self.name, wanted.pop(axis.name)) if axis.name in wanted else axis
            for axis in self.axes
        }
        if wanted:
            raise UsageError(
                f"study {self.name} does not vary '{next(iter(wanted))}'",
                f"it varies {', '.join(axis.name for axis in self.axes)}",
            )
        number = math.prod(len(axis.values) for axis in made.values())
        if number > MOST_CELLS:
            raise UsageError(
                f"the grid of study {self.name} has {number:,} cells, and {MOST_CELLS:,} are the most",
                "give what varies fewer values",
            )
        return {name: axis.values for name, axis in made.items()}

    def cells(self, given: Given) -> list[Cell]:
        points = itertools.product(*given.axes.values())
        cells = (Cell(dict(zip(given.axes, point, strict=True))) for point in points)
        return [cell for cell in cells if self.only(given, cell)]

    def check_out(self, out: Path) -> None:
        """Refuse a place where its results, or its finished cells, cannot go."""
        output.new_folder(out)
        check_place(out)

    def check_log(self, log: SearchLog | None) -> None:
        """Refuse a log that lacks what the study needs."""
        if not self.needs_log and (log is None or not self.takes_log):
            return
        if log is None:
            raise UsageError(
                f"study {self.name} needs a log",
                "name one: "
                + command(
                    f"queryveil compare LOG --study {self.name}",
                    f"queryveil_lab.compare(log, {self.name!r})",
                ),
            )
        for column in self.needs:
            log.need(column, f"study {self.name}")

    @cached_property
    def units(self) -> dict[str, str]:
        return {metric.name: metric.unit for metric in self.metrics}

    def columns(self) -> list[str]:
        """The columns of its tidy table."""
        axes = [axis.name for axis in self.axes]
        return ["study", "mechanism", *axes, *self.labels, "how", "repeat", "metric", "unit", "value"]

    def rows(self, prepared: Prepared, given: Given, cell: Cell) -> list[Row]:
        """What one cell finds, as rows of the tidy table."""
        always = {"study": self.name, "mechanism": self.mechanism, **cell.values}
        made = []
        for found in self.measure(prepared, given, cell):
            row: Row = {**always, **dict.fromkeys(self.labels), "repeat": None, **found}
            row.setdefault("unit", self.units.get(row["metric"]))
            made.append({column: row[column] for column in self.columns()})
        return made

    def drawn(self, found: Findings) -> dict[str, Any]:
        """Its charts by name."""
        return {name: chart for figure in self.figures for name, chart in figure(found)}
