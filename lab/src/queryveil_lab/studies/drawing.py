"""Figures, declared: which metric, against what, one line for each what, and a title that says what was found.

A title or subtitle is a text in which `{epsilon}` stands for the values of that column, or a function of the findings.
In the title of curves, `{line.first}` and the like are of the first line, and so are columns. Everything is drawn here.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from queryveil import CannotBeMet
from queryveil_lab.charts import figures
from queryveil_lab.charts.figures import HIGH, LOW, Scale, Words
from queryveil_lab.charts.marks import MOST_SERIES
from queryveil_lab.studies.declaration import EXPECTED, Findings, Row, everything

Said = str | Callable[[Findings], str]
Written = str | Mapping[Any, str] | Callable[[Any], str]
"""How a value is written: a format, a name for each value, or a function."""
MEANS = "lines: means over the runs, points: single runs"
_RUNS = 3
"""An interval of two runs is thirteen times as long as they are apart: it says nothing."""
REAL = "lines: expected, points: real releases"
_OWN = "series"


def _line_values(found: Findings) -> Findings:
    """What a line is drawn from: expected values where there are any, otherwise the runs."""
    return found.where(how=EXPECTED) or found


def written(value: Any, how: Written = "{}") -> str:
    if callable(how):
        return how(value)
    if isinstance(how, Mapping):
        return how.get(value, str(value))
    form = {float: ".4g", int: ","}.get(type(value), "")
    return how.format(format(value, form))


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What all figures declare."""

    name: str
    title: Said
    metric: str
    under: Said = ""
    """The subtitle: what was measured, and how."""
    where: Mapping[str, object] = field(default_factory=dict)
    among: Callable[[Findings], Findings] = everything
    """What of the findings is drawn, and columns that are made for the figure."""
    shown: Mapping[str, Written] = field(default_factory=dict)
    """How the values of some columns are written."""

    def chosen(self, found: Findings) -> Findings:
        return self.among(found).where(metric=self.metric, **self.where)

    def written(self, column: str, value: Any) -> str:
        return written(value, self.shown.get(column, "{}"))

    def told(self, said: Said, found: Findings, **further: Any) -> str:
        if callable(said):
            return said(found)
        asked = [name for name in (found.rows[0] if found.rows else {}) if f"{{{name}}}" in said]
        values = {name: ", ".join(self.written(name, one) for one in found.values(name)) for name in asked}
        return said.format(**values, **further)


@dataclass(frozen=True, kw_only=True)
class Printed:
    """What a paper prints of a figure's metric: drawn beside what was found, where that has the same parameters."""

    source: str
    """Authors, year, and where it stands."""
    lines: tuple[tuple[Mapping[str, object], Mapping[Any, float]], ...]
    """Columns that say which line it belongs to, and its values along the axis. `series` names a line of its own."""
    given: Mapping[str, object] = field(default_factory=dict)
    """Parameters for which it was printed: nothing is drawn beside others."""

    @property
    def legend(self) -> str:
        """What the legend says."""
        return f"filled: as printed ({self.source})"


@dataclass(frozen=True, kw_only=True)
class Curves(Drawn):
    """A metric against an axis, one line for each value of `by`, one panel for each value of `panel`.

    A line is what is expected, where that was computed, and the mean over the runs elsewhere. Points are single runs.
    """

    x: Scale
    y: Scale
    by: str | tuple[str, ...]
    """One column, or several: those that have one value only are not named."""
    by_title: str | None = None
    panel: str | None = None
    least: int = 0
    """With fewer points along the axis nothing is drawn; with 0 a log without any is refused."""
    ticks: bool = True
    """Whether the axis has a tick at every value."""
    intervals: bool = True
    """Whether the 95 % interval of each mean is drawn, where there are three runs or more."""
    printed: Printed | None = None
    """What a paper has."""

    def __call__(self, found: Findings) -> Iterator[tuple[str, Any]]:
        chosen = self.chosen(found)
        if len(chosen.values(self.x.column)) < max(self.least, 1):
            if self.least:
                return
            raise CannotBeMet(f"the log has too little for a figure of {self.y.title}", "use a longer log")
        shown, left_out = self._series(chosen)
        lines, points, spans = self._rows(shown)
        printed = self._as_printed(chosen)
        by = (self.by,) if isinstance(self.by, str) else self.by
        under = self.told(self.under, found)
        if spans:
            known = any(LOW in row for row in shown)
            under += "; bars: 95\u00a0% intervals" + ("" if known else " of the means")
        if left_out:
            under += f"; {left_out} further lines are left out"
        if hidden := _on_each_other(lines, log=self.y.log):
            under += f"; {hidden}"
        yield (
            self.name,
            figures.curves(
                lines,
                points,
                x=self._scale(shown),
                y=dataclasses.replace(self.y, column="value"),
                by="series",
                by_title=self.by_title if self.by_title is not None else ", ".join(by),
                words=Words(self._title(found, chosen), under),
                panel=self.panel,
                spans=spans,
                printed=printed,
                printed_in=self.printed.legend if self.printed else "",
            ),
        )

    def _title(self, found: Findings, chosen: Findings) -> str:
        if callable(self.title):
            return self.title(found)
        apart = (*([self.by] if isinstance(self.by, str) else self.by), *([self.panel] if self.panel else []))
        lines = [chosen.where(**one) for one in chosen.settings(*apart)]
        first = next((one for one in lines if len(one.values(self.x.column)) > 1), lines[0])
        return self.told(self.title, first, line=_line_values(first).along(self.x.column))

    def _series(self, found: Findings) -> tuple[Findings, int]:
        """Every row with the name of its line; and how many lines a figure cannot tell apart."""
        made = found.changed(self._row_labeler(found))
        names = made.values("series")
        return made.chosen(lambda row: row["series"] in names[:MOST_SERIES]), max(0, len(names) - MOST_SERIES)

    def _row_labeler(self, found: Findings) -> Callable[[Row], Row]:
        """Names the line of a row, and its panel."""
        by = (self.by,) if isinstance(self.by, str) else self.by
        named = [name for name in by if len(found.values(name)) > 1] or by[:1]

        def label_row(row: Row) -> Row:
            panel = {self.panel: self.written(self.panel, row[self.panel])} if self.panel else {}
            return {"series": ", ".join(self.written(name, row[name]) for name in named), **panel}

        return label_row

    def _as_printed(self, chosen: Findings) -> list[Row]:
        """What the paper has for the lines that are drawn."""
        if self.printed is None:
            return []
        labelled, made = self._row_labeler(chosen), []
        for columns, values in self.printed.lines:
            wanted = {**self.printed.given, **{k: v for k, v in columns.items() if k != _OWN}}
            own = chosen.chosen(partial(_is_at, wanted))
            for place in own.settings(*own.axes)[:1]:
                named = {**labelled(place), **{k: v for k, v in columns.items() if k == _OWN}}
                made += [{**named, self.x.column: at, "value": value} for at, value in values.items()]
        return made

    def _rows(self, found: Findings) -> tuple[list[Row], list[Row], list[Row]]:
        """Lines, points and intervals."""
        lines, points, spans = [], [], []
        # A bar ends where the axis does: what cannot be negative is not drawn below 0, nor on a log scale at 0.
        least = min(row["value"] for row in found)
        bottom = least if self.y.log else 0.0 if least >= 0 else -math.inf
        if self.y.top is not None:  # the axis starts at 0
            bottom = max(bottom, 0.0)
        top = math.inf if self.y.top is None else self.y.top
        for place in found.settings("series", *([self.panel] if self.panel else [])):
            own = found.where(**place)
            runs = own.chosen(lambda row: row["how"] != EXPECTED)
            for at, one in _line_values(own).intervals(self.x.column).items():
                lines.append({**place, self.x.column: at, "value": one.mean})
            if self.intervals:
                for at, one in runs.intervals(self.x.column).items():
                    if one.high > one.low and len(runs.where(**{self.x.column: at})) >= _RUNS:
                        ends = {LOW: max(one.low, bottom), HIGH: min(one.high, top)}
                        spans.append({**place, self.x.column: at, "value": one.mean, **ends})
                for row in runs:
                    if LOW in row and HIGH in row:  # a study that knows the interval of each run
                        ends = {LOW: max(row[LOW], bottom), HIGH: min(row[HIGH], top)}
                        at = row[self.x.column]
                        spans.append({**place, self.x.column: at, "value": row["value"], **ends})
            points += [{**place, self.x.column: row[self.x.column], "value": row["value"]} for row in runs]
        return lines, points, spans

    def _scale(self, found: Findings) -> Scale:
        values = tuple(sorted(found.values(self.x.column)))
        if self.x.steps:
            return self.x
        ticks = self.x.ticks or (values if self.ticks else ())
        whole = all(isinstance(one, int) for one in values)
        log = self.x.log and len(values) > 1
        form = "~s" if whole and log and values[-1] >= 1_000 else ",d" if whole else ",.6~g"
        return dataclasses.replace(self.x, ticks=ticks, log=log, format=self.x.format or form, zero=False)


def _is_at(wanted: Mapping[str, Any], row: Row) -> bool:
    """Whether a row is of these parameters; what is kept of a study has six digits."""
    return all(
        math.isclose(row[name], value, rel_tol=1e-5) if isinstance(value, float) else row[name] == value
        for name, value in wanted.items()
    )


_NEAR = 0.004
"""Lines that are nowhere further apart, of the height of the figure, cannot be told apart by eye."""


def _on_each_other(lines: list[Row], *, log: bool) -> str:
    """Names lines that hide each other in every panel, so that nobody looks for them."""
    drawn: dict[str, dict[tuple[Any, ...], float]] = {}
    for row in lines:
        height = math.log(row["value"]) if log and row["value"] > 0 else row["value"]
        place = tuple(value for name, value in row.items() if name not in ("series", "value"))
        drawn.setdefault(row["series"], {})[place] = height
    heights = [one for line in drawn.values() for one in line.values()]
    near = _NEAR * (max(heights) - min(0.0 if not log else math.inf, *heights))
    groups: list[list[str]] = []
    for name, line in drawn.items():
        for group in groups:
            first = drawn[group[0]]
            if line.keys() == first.keys() and all(abs(line[at] - first[at]) <= near for at in line):
                group.append(name)
                break
        else:
            groups.append([name])
    told = [f"{', '.join(group[:-1])} and {group[-1]}" for group in groups if len(group) > 1]
    return f"{'; '.join(told)} lie on each other" if told else ""


@dataclass(frozen=True, kw_only=True)
class Ranks(Drawn):
    """Two rankings side by side, one figure for each value of a column."""

    each: str
    item: str
    side: str
    y_title: str

    def __call__(self, found: Findings) -> Iterator[tuple[str, Any]]:
        for number, value in enumerate(found.values(self.each), 1):
            here = found.where(**{self.each: value})
            rows = [
                {
                    self.item: row[self.item],
                    "source": self.written(self.side, row[self.side]),
                    "rank": row["value"],
                }
                for row in self.chosen(here)
            ]
            yield (
                self.name if number == 1 else f"{self.name}-{number}",
                figures.ranks(
                    rows,
                    item=self.item,
                    side="source",
                    rank="rank",
                    y_title=self.y_title,
                    words=Words(self.told(self.title, here), self.told(self.under, here)),
                ),
            )


@dataclass(frozen=True, kw_only=True)
class Bars(Drawn):
    """One bar for each item, the largest value of all runs, and one panel for each value of a column."""

    item: str
    panel: str
    x_title: str
    printed: Printed | None = None
    """What a paper has, by item: one panel more, with a bar for what it prints."""

    def __call__(self, found: Findings) -> Iterator[tuple[str, Any]]:
        chosen = self.chosen(found)
        rows = [
            {
                "what": self.written(self.item, item),
                "value": max(
                    (row["value"] for row in chosen.where(**{self.panel: panel, self.item: item})), default=0
                ),
                self.panel: self.written(self.panel, panel),
            }
            for panel in chosen.values(self.panel)
            for item in chosen.values(self.item)
        ]
        for _, values in self.printed.lines if self.printed else ():
            rows += [
                {"what": self.written(self.item, item), "value": value, self.panel: self.printed_as}
                for item, value in values.items()
                if item in chosen.values(self.item)
            ]
        words = Words(self.told(self.title, found), self.told(self.under, found))
        yield (
            self.name,
            figures.bars(
                rows, item="what", value="value", panel=self.panel, words=words, x_title=self.x_title
            ),
        )

    @property
    def printed_as(self) -> str:
        """What stands above the panel of the paper."""
        return f"as printed: {self.printed.source}" if self.printed else ""
