"""Studies that publish a log with several methods over a grid of parameters, and measure each release.

Most experiments are like this: which methods, what varies, which measures. A release is made once for each setting and
run, and then measured in every way. A file of one's own (`own.py`) says the same in YAML.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from queryveil import MECHANISMS, CannotBeMet, InputError, Measure, Mechanism, Release, SearchLog, publish
from queryveil.extension import K_ANONYMITY, Original, Parameter, Released, argument, parameters
from queryveil.extension import Counted as Counted  # noqa: PLC0414 - functions of studies give it
from queryveil_lab.studies.declaration import MEASURED, Axis, Cell, Given, Row, Study, whole_log

METHOD = "method"
Take = Callable[[Original, Released, Cell, int], Iterable[Row]]
"""Rows of one release: from the log, the release, the cell, and the number of the run."""


def row(metric: str, value: float, **labels: Any) -> Row:
    return {"metric": metric, "value": float(value), **labels}


@functools.cache
def _declared_parameters(mechanism: type) -> Mapping[str, Parameter]:
    return {one.name: one for one in parameters(mechanism)}


@dataclass(frozen=True)
class Entry:
    """A registered method: what a study calls it, its parameters that do not vary, and which axes set the others."""

    label: str
    method: str
    fixed: Mapping[str, Any] = field(default_factory=dict, hash=False)
    sets: Mapping[str, str] | None = field(default=None, hash=False)
    """The parameter that each axis sets; by default the one of its name."""

    def _parameter(self, axis: str) -> Parameter | None:
        name = axis if self.sets is None else self.sets.get(axis)
        return (
            None
            if name is None or name in self.fixed
            else _declared_parameters(MECHANISMS[self.method]).get(name)
        )

    def takes(self, axis: str) -> bool:
        """Whether a value of the grid makes a difference to it."""
        return axis != METHOD and self._parameter(axis) is not None

    def made(self, cell: Mapping[str, Any]) -> Mechanism:
        varied = {
            one.name: (one, cell[axis]) for axis in cell if axis != METHOD and (one := self._parameter(axis))
        }
        values = {name: (value,) if one.declaration.many else value for name, (one, value) in varied.items()}
        return MECHANISMS[self.method](**{**self.fixed, **values})

    def releases(self, log: SearchLog, cell: Cell, repeats: int) -> Iterator[Release]:
        """As many releases as asked for, or one where nothing in it is random."""
        for _ in range(repeats):
            # A release in which nothing survives is an answer too. A paper's delta may be no promise for a log of this
            # size: that is for a study, and for nobody else.
            made = publish(log, self.made(cell.values), allow_empty=True, i_understand=True)
            yield made
            if made.guarantee.kind == K_ANONYMITY:
                return

    def sides(self, original: Original, log: SearchLog, cell: Cell, repeats: int) -> Iterator[Released]:
        return map(Released.from_release, self.releases(log, cell, repeats))


@dataclass(frozen=True)
class Function:
    """A method that only one study knows: a function that gives what `measures` look at."""

    label: str
    made: Callable[[Original, Cell, int], Released]
    """From the log, the cell and the number of the run; `Counted` makes counted items into what is measured."""
    axes: tuple[str, ...] = ()
    """What makes a difference to it."""
    random: bool = True
    method: str = "none"
    """What the column `mechanism` says."""

    def takes(self, axis: str) -> bool:
        return axis in self.axes

    def sides(self, original: Original, log: SearchLog, cell: Cell, repeats: int) -> Iterator[Released]:
        return (self.made(original, cell, run) for run in range(repeats if self.random else 1))


def _whole_log(original: Original, _: Cell) -> SearchLog:
    return original.log


def _no_rows(_: Original, __: Cell) -> Iterable[Row]:
    return ()


@dataclass(frozen=True)
class Grid:
    """What such a study does, as a value that goes to other processes."""

    methods: tuple[Entry | Function, ...]
    measures: tuple[Measure | Take, ...]
    further: tuple[str, ...] = ()
    """Axes that are no parameter of a method: what is measured, and what of the log is published."""
    shared: bool = False
    """Whether cells that differ in further axes alone look at the same releases."""
    ready: Callable[[Given], Original] = whole_log
    """The log that is published, and what all cells share."""
    part: Callable[[Original, Cell], SearchLog] = _whole_log
    """What of it a cell publishes."""
    of_log: Callable[[Original, Cell], Iterable[Row]] = _no_rows
    """Rows that need no release: what is in the log, or what is expected."""

    def method(self, cell: Cell) -> Entry | Function:
        label = cell.values.get(METHOD, self.methods[0].label)
        return next(one for one in self.methods if one.label == label)

    def rows(self, original: Original, given: Given, cell: Cell) -> Iterator[Row]:
        method = self.method(cell)
        for found in self.of_log(original, cell):
            yield {"mechanism": method.method, **found}
        for run, side in enumerate(self._sides(original, given, cell)):
            for found in self._rows_taken(original, side, cell, run):
                yield {"mechanism": method.method, "how": MEASURED, "repeat": run, **found}

    def _sides(self, original: Original, given: Given, cell: Cell) -> Iterable[Released]:
        method = self.method(cell)
        sides = method.sides(original, self.part(original, cell), cell, given.repeats)
        if not self.shared:
            return sides
        # Those of one setting are kept: cells that share them follow each other.
        kept: dict[tuple[Any, ...], list[Released]] = original.compute_once("releases", dict)
        setting = (method.label, *(value for axis, value in cell.values.items() if method.takes(axis)))
        if setting not in kept:
            kept.clear()
            kept[setting] = list(sides)
        return kept[setting]

    def _rows_taken(self, original: Original, side: Released, cell: Cell, run: int) -> Iterator[Row]:
        for measure in self.measures:
            if isinstance(measure, Measure):
                yield from self._measure_side(measure, original, side, cell)
            else:
                yield from measure(original, side, cell, run)

    def _measure_side(
        self, measure: Measure, original: Original, side: Released, cell: Cell
    ) -> Iterator[Row]:
        lacking = measure.missing_table(side)
        if lacking is not None:
            raise InputError(
                f"measure {measure.name} needs a table of {lacking}, and {self.method(cell).label} publishes none",
                "take the measure or the method out of the study",
            )
        for metric, value in measure.figures(original, side).items():
            if value is not None:
                yield row(metric, value, unit=measure.describe_figure(metric).unit)

    def differs(self, given: Given, cell: Cell) -> bool:
        """A method without some parameter is measured at its first value alone."""
        method = self.method(cell)
        return all(
            axis == METHOD or axis in self.further or method.takes(axis) or value == given.axes[axis][0]
            for axis, value in cell.values.items()
        )

    def plan(self, given: Given, cells: Sequence[Cell]) -> None:
        """Every method with every setting, as far as it can be told without reading a row."""
        if given.log is None:
            return
        if given.log.users == 0:
            raise CannotBeMet("the log has no accepted row", f"check the file and {argument('columns')}")
        for cell in cells:
            entry = self.method(cell)
            if isinstance(entry, Entry):
                method = entry.made(cell.values)
                method.plan(users=given.log.users if method.needs_users else None)
                method.check(given.log)


def method_axis(methods: Iterable[Entry | Function]) -> Axis:
    return Axis(METHOD, tuple(one.label for one in methods), "how the log is published", closed=True)


def study(grid: Grid, **declared: Any) -> Study:
    """The study of a grid; what else is declared are the fields of `Study`."""
    usual = {
        "mechanism": ", ".join(dict.fromkeys(one.method for one in grid.methods)),
        "prepare": grid.ready,
        "measure": grid.rows,
        "only": grid.differs,
        "ahead": grid.plan,
    }
    return Study(**{**usual, **declared})
