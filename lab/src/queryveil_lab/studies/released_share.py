"""How much of a log Release-Data publishes: against d, against epsilon and delta, against the log's length.

Korolova et al., figures 2 to 4 and tables 2 and 3. Lines are exact expectations, points are real releases.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, cast

import numpy as np

from queryveil import ClickGraph, SearchLog
from queryveil.extension import Original, Released
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import exact_release, grid, printed, share_checks
from queryveil_lab.studies.declaration import EXPECTED, Axis, Cell, Findings, Given, Metric, Row, Value
from queryveil_lab.studies.drawing import REAL, Curves, Printed
from queryveil_lab.studies.exact_release import BoundedCounts
from queryveil_lab.studies.grid import Entry, Grid, row
from queryveil_lab.studies.share_checks import (
    COUNTS,
    DEVIATION,
    DISTINCT,
    IMPRESSIONS,
    LEAST_QUERIES,
    NOUNS,
    PAPERS_D,
    PAPERS_GROWTH,
    QUERIES,
    best_bounds,
    days,
    variation,
)

CLICK_GRAPH = Entry(
    "click-graph",
    "click-graph",
    {},
    {"epsilon": "epsilon", "delta": "delta", "d": "max_queries", "analysis": "analysis"},
)
D = Axis("d", (1, 5, 10, 20, 40, 80, 160), "queries that one user may add")
ANALYSIS = Axis("analysis", ("tight", "paper"), "whose threshold")
FIXED = (
    Axis("epsilon", (math.log(10),), "privacy loss of the selection"),
    Axis("delta", (1e-5,), "probability that the loss is exceeded"),
)
_METRICS = (
    Metric(DISTINCT, "%", "published queries, in percent of the log's different queries"),
    Metric(IMPRESSIONS, "%", "sum of the published noisy counts, in percent of the log's query events"),
    Metric(QUERIES, "queries", "queries published"),
    Metric(COUNTS, "impressions", "sum of the published noisy counts"),
    Metric(DEVIATION, "queries", "standard deviation of the number of published queries, over the noise"),
)
_SPAN, _TIMES = "days", "growth"


def click_graph(cell: Cell) -> ClickGraph:
    return cast(ClickGraph, CLICK_GRAPH.made(cell.values))


def ln(epsilon: float) -> str:
    """ln 10 is easier to recognise than 2.303."""
    power = math.exp(epsilon)
    return f"ln {power:.0f}" if abs(power - round(power)) < 1e-4 else f"{epsilon:.3g}"


@dataclasses.dataclass(eq=False)
class CountedLog(Original):
    """The log's events, and its queries counted under every bound in the first days of every span."""

    numbers: BoundedCounts


def _count_log(given: Given) -> CountedLog:
    log = exact_release.only_events(given.the_log)
    spans: list[Any] = list(given.axes.get(_SPAN, (None,)))
    return CountedLog(log, exact_release.bounded_counts(log, [int(d) for d in given.axes["d"]], spans))


def _expected_rows(original: Original, cell: Cell) -> Iterator[Row]:
    counts, span, setting = _bounded_counts(original), _cell_span(cell), click_graph(cell).setting()
    share = counts.bounded[span, cell["d"]].share(setting.scale, setting.top)
    found = (*_share_rows(original, cell, share.queries, share.impressions), row(DEVIATION, share.deviation))
    yield from ({**one, "how": EXPECTED} for one in found)


def _share_rows(original: Original, cell: Cell, queries: float, impressions: float) -> Iterable[Row]:
    whole = _bounded_counts(original).whole[_cell_span(cell)]
    return (
        row(DISTINCT, 100 * queries / max(1, whole.distinct)),
        row(IMPRESSIONS, 100 * impressions / max(1, whole.events)),
        row(QUERIES, queries),
        row(COUNTS, impressions),
    )


def _cell_span(cell: Cell) -> int | None:
    return cell[_SPAN] if _SPAN in cell.values else None


def _bounded_counts(original: Original) -> BoundedCounts:
    return cast(CountedLog, original).numbers


def _released_rows(original: Original, side: Released, cell: Cell, _: int) -> Iterable[Row]:
    table = side.release.tables["queries"]
    return _share_rows(original, cell, table.num_rows, int(np.sum(table["count"].to_numpy())))


def _first_days(original: Original, cell: Cell) -> SearchLog:
    log = original.log
    if _SPAN not in cell.values:
        return log
    end = exact_release.ends(
        original.compute_once("start", lambda: exact_release.span_of(log)[0]), cell[_SPAN]
    )
    return dataclasses.replace(
        log,
        normal=log.table.filter(log.table["time"] < end),
        source=log.source.filter(log.source["time"] < end),
    )


def _limit_spans(
    log: SearchLog | None, axes: Mapping[str, tuple[Value, ...]]
) -> Mapping[str, tuple[Value, ...]]:
    """Spans that are shorter than the log, and the whole log in place of those that are longer."""
    if log is None:
        return axes
    first, last = exact_release.span_of(log)
    length = max(1, math.ceil((last - first) / dt.timedelta(days=1)))
    return {**axes, _SPAN: tuple(sorted({min(int(span), length) for span in axes[_SPAN]}))}


# -- figures -------------------------------------------------------------------------------------------------


def _share_curves(
    metric: str, title: Any, x: Scale, by: str, by_title: str, under: str, **further: Any
) -> Curves:
    return Curves(
        name={IMPRESSIONS: "impressions", DISTINCT: "distinct"}[metric],
        title=title,
        under=f"{under}; {REAL}",
        metric=metric,
        x=x,
        y=Scale("value", f"{NOUNS[metric]} released (%)"),
        by=by,
        by_title=by_title,
        shown={"epsilon": ln, "analysis": {"paper": "the paper's"}, _SPAN: days},
        **further,
    )


def _ratio_text(metric: str, found: Findings) -> str:
    values = [one["value"] for one in found.where(how=EXPECTED, metric=metric)]
    return (
        f"Weaker privacy releases up to {max(values) / max(min(values), 1e-12):.1f} times the {NOUNS[metric]}"
    )


def _shift_text(found: Findings) -> str:
    best = best_bounds(_first_analysis(found))
    if best.first == best.last:
        return f"The best d is {best.first} for the shortest and for the longest log"
    return f"The best d moves from {best.first} for {days(best.start)} to {best.last} for {days(best.end)}"


def _variation_text(found: Findings) -> str:
    """How much the share depends on the length of the log, over all bounds: the steadiest and the least steady."""
    times = variation(_first_analysis(found))
    if not times:
        return "Too little is released to tell whether longer logs release other shares"
    low, high = (how(times, key=times.__getitem__) for how in (min, max))
    said = f"Over all lengths the share of distinct queries changes {times[low]:.2g}-fold at d = {low}"
    return said if low == high else f"{said}, {times[high]:.2g}-fold at d = {high}"


def _growth_findings(found: Findings) -> Findings:
    """Times the queries that the shortest log releases, for every d at which it releases enough; and the paper's."""
    lines: list[Row] = []
    for setting, line in _first_analysis(found).where(how=EXPECTED, metric=QUERIES).lines(_SPAN, "d"):
        if line.first >= LEAST_QUERIES:
            lines += [
                {_SPAN: span, "line": f"d = {setting['d']}", "value": number / line.first}
                for span, number in line.items()
            ]
    spans = found.values(_SPAN)
    if lines and min(spans) == 1:
        paper = PAPERS_GROWTH[QUERIES].items()
        lines += [
            {_SPAN: span, "line": f"the paper, d = {PAPERS_D}", "value": float(times)}
            for span, times in paper
            if span in spans
        ]
    return Findings(tuple({"how": EXPECTED, "metric": _TIMES, **one} for one in lines))


def _growth_text(found: Findings) -> str:
    spans = found.values(_SPAN)
    made = _growth_findings(found).where(**{_SPAN: max(spans)}).chosen(lambda one: "paper" not in one["line"])
    values = [one["value"] for one in made]
    return f"{days(max(spans))} release {min(values):.2g} to {max(values):.2g} times the queries of {days(min(spans))}"


def _first_analysis(found: Findings) -> Findings:
    return found.where(analysis=found.values("analysis")[0])


_X_D = Scale("d", "queries that one user may add (d)", log=True)
_FIXED_AT = "epsilon = {epsilon}, delta = {delta}"
_BY_D = partial(_share_curves, x=_X_D, by="analysis", by_title="threshold", under=_FIXED_AT)
_BY_BOTH = partial(
    _share_curves,
    x=Scale("delta", "delta", log=True, format=".0e"),
    by="epsilon",
    by_title="epsilon",
    under="thresholds: {analysis}; d = {d}",
    panel="analysis",
)
_BY_SPAN = partial(
    _share_curves, x=_X_D, by=_SPAN, by_title="length of the log", under=_FIXED_AT, among=_first_analysis
)


# -- declarations --------------------------------------------------------------------------------------------

_SHARES = Grid(
    (CLICK_GRAPH,),
    (_released_rows,),
    further=(_SPAN,),
    ready=_count_log,
    part=_first_days,
    of_log=_expected_rows,
)


def _by_d(values: Mapping[int, float]) -> Printed:
    return Printed(
        source="Korolova et al. 2009, text to figure 2",
        lines=(({"analysis": "paper"}, values),),
        given={"epsilon": math.log(10), "delta": 1e-5},
    )


def _by_both(table: str, values: Mapping[float, Mapping[float, float]]) -> Printed:
    return Printed(
        source=f"Korolova et al. 2009, {table}",
        lines=tuple(({"analysis": "paper", "epsilon": epsilon}, own) for epsilon, own in values.items()),
        given={"d": 21},
    )


RELEASE_D = grid.study(
    _SHARES,
    name="release-d",
    question="How much of a log is released, and how many queries should a user be allowed to add?",
    paper="for one week, impressions peak at about 34 % near d = 20; distinct queries fall with d, from "
    "0.75 % at d = 1",
    axes=(ANALYSIS, *FIXED, D),
    metrics=_METRICS,
    repeats=1,
    figures=(
        _BY_D(
            IMPRESSIONS,
            "Most impressions are released at d = {line.peak} (threshold: {analysis})",
            printed=_by_d(printed.IMPRESSIONS_BY_D),
        ),
        _BY_D(
            DISTINCT,
            "Most distinct queries are released at d = {line.peak}, fewer beyond (threshold: {analysis})",
            printed=_by_d(printed.DISTINCT_BY_D),
        ),
    ),
    checks=share_checks.AGAINST_D,
)

RELEASE_EPSILON_DELTA = grid.study(
    _SHARES,
    name="release-epsilon-delta",
    question="How much more is released under weaker privacy?",
    paper="for one week and d = 21, impressions grow from 26.79 % (ln 2, 1e-6) to 34.23 % (ln 10, 1e-4), distinct "
    "queries from 0.03 % to 0.12 %",
    axes=(
        ANALYSIS,
        Axis("d", (21,), D.help),
        Axis("epsilon", (math.log(2), math.log(5), math.log(10)), FIXED[0].help),
        Axis("delta", (1e-6, 1e-5, 1e-4), FIXED[1].help),
    ),
    metrics=_METRICS,
    repeats=1,
    figures=(
        _BY_BOTH(
            IMPRESSIONS,
            partial(_ratio_text, IMPRESSIONS),
            printed=_by_both("table 3", printed.IMPRESSIONS_BY_BOTH),
        ),
        _BY_BOTH(
            DISTINCT, partial(_ratio_text, DISTINCT), printed=_by_both("table 2", printed.DISTINCT_BY_BOTH)
        ),
    ),
    checks=share_checks.AGAINST_EPSILON_DELTA,
)

RELEASE_SPAN = grid.study(
    _SHARES,
    name="release-span",
    question="Is a longer log worth more, and should a user then be allowed to add more?",
    paper="the share of distinct queries hardly depends on the length of the log; the d where impressions peak grows "
    "with it; at d = 20 a week, two weeks, a month and a year release 6, 12, 24 and 184 times the queries of a day, "
    "and 7, 15, 33 and 325 times the impressions",
    axes=(
        Axis("analysis", ("tight",), ANALYSIS.help),
        *FIXED,
        Axis(_SPAN, (1, 7, 14, 30, 365), "how many of the log's first days"),
        D,
    ),
    metrics=_METRICS,
    repeats=1,
    figures=(
        _BY_SPAN(IMPRESSIONS, _shift_text),
        _BY_SPAN(DISTINCT, _variation_text),
        Curves(
            name="growth",
            title=_growth_text,
            under=f"expected; bounds at which the shortest log releases {LEAST_QUERIES} queries or more; "
            + _FIXED_AT,
            metric=_TIMES,
            among=_growth_findings,
            shown={"epsilon": ln},
            x=Scale(_SPAN, "length of the log (days)", log=True),
            y=Scale("value", "times the queries of the shortest log", log=True),
            by="line",
            by_title="queries that one user may add",
            least=2,
        ),
    ),
    checks=share_checks.AGAINST_SPAN,
    within=_limit_spans,
)
