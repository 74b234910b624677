"""How much each private method publishes for the same guarantee: private set union, on one log.

Korolova et al. 2009; Gopi et al. 2020; Carvalho et al. 2022; Desfontaines et al. 2022; Swanberg et al. 2023; Chen et
al. 2025. Every other method has the number of items per user that is best on this very log, which favours it; steered
selection has its default. Only methods with the same neighbours are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import numpy as np

from queryveil.extension import Original, Released
from queryveil_lab.baselines import shipped
from queryveil_lab.baselines.baselines import BASELINES
from queryveil_lab.baselines.numbered import Chosen, Numbered, numbered
from queryveil_lab.baselines.shipped import ADD_REMOVE, REPLACE
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import grid, shapes
from queryveil_lab.studies.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, too_small
from queryveil_lab.studies.drawing import MEANS, Curves
from queryveil_lab.studies.expectations import Along, at_least, expected
from queryveil_lab.studies.grid import METHOD, Function, Grid, method_axis, row
from queryveil_lab.studies.released_share import ln

DISTINCT, EVENTS = "distinct", "events"
ERROR, TOP, BIAS, USELESS = "count-error", "count-error-top", "count-bias", "counts-useless"
STEERED, NO_COUNTS, STEERED_REPLACE = "steered", "steered, no counts", "steered, replace-one"
RELEASE_DATA, ZEALOUS_REPLACE = "Release-Data", "zealous, replace-one"
BOUND = "bound"
"""The items per user that a method was run with."""
_MOST = 100
"""Queries with most users, whose counts matter most."""
_AT = (1.0, 1e-6)
"""The epsilon and delta for which figures are promised, and at which parts of the method are changed."""
_TIMES, _TIMES_RELEASE_DATA = 1.3, 5.0
_FEW = 20
"""Of fewer queries, how many times as many says nothing."""


# -- methods ---------------------------------------------------------------------------------------------------


def _with_bound(choose: Callable[..., Chosen], original: Original, cell: Cell, run: int) -> Released:
    return choose(cast(Numbered, original), cell["epsilon"], cell["delta"], cell["d"], run)


def _as_is(choose: Callable[..., Chosen], original: Original, cell: Cell, run: int) -> Released:
    return choose(cast(Numbered, original), cell["epsilon"], cell["delta"], run)


def _bounded_function(label: str, choose: Callable[..., Chosen], method: str = "none") -> Function:
    return Function(label, partial(_with_bound, choose), ("epsilon", "delta", "d"), method=method)


def _steered_function(label: str, choose: Callable[..., Chosen] = shipped.steered, **given: Any) -> Function:
    made = partial(_as_is, partial(choose, **given))
    return Function(label, made, ("epsilon", "delta"), method="steered")


OTHERS = (
    _bounded_function("zealous", shipped.zealous, "zealous"),
    _bounded_function(RELEASE_DATA, shipped.release_data, "click-graph"),
    _bounded_function("truncated geometric", shipped.truncated_geometric, "truncated-geometric"),
    _bounded_function("weighted Gaussian", shipped.weighted, "weighted-gaussian"),
    _bounded_function(
        "weighted Gaussian, no counts", partial(shipped.weighted, counts=False), "weighted-gaussian"
    ),
    *(_bounded_function(label, choose) for label, choose in BASELINES.items()),
)
REPLACED = (
    _bounded_function(ZEALOUS_REPLACE, partial(shipped.zealous, neighbours=REPLACE), "zealous"),
    _steered_function(STEERED_REPLACE, neighbours=REPLACE),
)
CHANGED = (
    _steered_function("steered, length prior", length_prior=True),
    _steered_function("steered, words first (5 %)", shipped.word_stage, share=0.05),
    _steered_function("steered, words first (10 %)", shipped.word_stage, share=0.1),
    *(_steered_function(f"steered, {rounds} rounds", rounds=rounds) for rounds in (4, 6, 12)),
    *(_steered_function(f"steered, d = {d}", max_items=d) for d in (60, 200, 400)),
)
METHODS = (
    _steered_function(STEERED),
    _steered_function(NO_COUNTS, counts=False),
    *OTHERS,
    *REPLACED,
    *CHANGED,
)
_OTHERS, _REPLACED, _CHANGED = ({one.label for one in some} for some in (OTHERS, REPLACED, CHANGED))


def _reference_epsilon(found: Findings | Given) -> float:
    """The epsilon at which parts are changed: 1, or the first where there is no 1."""
    values = found.axes["epsilon"] if isinstance(found, Given) else found.values("epsilon")
    return _AT[0] if _AT[0] in values else cast(float, values[0])


# -- what is measured ------------------------------------------------------------------------------------------


def _union_rows(original: Original, side: Released, cell: Cell, _: int) -> Iterator[Row]:
    log, chosen = cast(Numbered, original), cast(Chosen, side)
    labels = {BOUND: str(chosen.most), "neighbours": REPLACE if cell[METHOD] in _REPLACED else ADD_REMOVE}
    yield row(DISTINCT, len(chosen.numbers), **labels)
    yield row(EVENTS, 100 * log.events[chosen.numbers].sum() / max(1, log.events.sum()), **labels)
    if cell[METHOD] == STEERED and len(chosen.numbers):
        for metric, value in _count_errors(log, chosen).items():
            yield row(metric, value, **labels)


def _count_errors(log: Numbered, chosen: Chosen) -> dict[str, float]:
    """Errors of published counts, against the numbers of users in the whole log, in percent."""
    if chosen.counts is None or chosen.deviations is None:
        raise AssertionError("steered selection publishes counts")
    true = log.users[chosen.numbers]
    errors = 100 * (chosen.counts - true) / true
    top = np.argsort(-true, kind="stable")[:_MOST]
    return {
        ERROR: float(np.median(np.abs(errors))),
        TOP: float(np.median(np.abs(errors[top]))),
        BIAS: float(np.mean(errors)),
        USELESS: float(100 * np.mean(2 * chosen.deviations > chosen.counts)),
    }


# -- what was found --------------------------------------------------------------------------------------------


def _with_own_bound(found: Findings) -> Findings:
    """Steered selection is measured in one cell, whatever d is there: its own d stands in the place of it."""
    return found.changed(lambda one: {"d": int(one[BOUND])})


def best(found: Findings) -> Findings:
    """Of every method the number of items per user with which it publishes most, on average over the runs."""
    found = _with_own_bound(found)
    distinct = found.where(metric=DISTINCT)
    peaks = {tuple(one.values()): line.peak for one, line in distinct.lines("d", METHOD, "epsilon", "delta")}
    return found.chosen(lambda one: one["d"] == peaks.get((one[METHOD], one["epsilon"], one["delta"])))


def _at_the_promise(found: Findings) -> dict[str, float]:
    """Queries of every method where figures are promised."""
    there = best(found).where(metric=DISTINCT, epsilon=_AT[0], delta=_AT[1])
    return {name: there.where(method=name).value for name in there.values(METHOD)}


def _beyond_others(found: Findings) -> Iterator[Check]:
    values = _at_the_promise(found)
    others = {name: value for name, value in values.items() if name in _OTHERS}
    if STEERED in values and others:
        most = max(others, key=others.__getitem__)
        says = f"steered publishes at least {_TIMES} times the queries of every other method (epsilon 1, delta 1e-6)"
        told = f"{values[STEERED]:,.0f} with counts; of the others {most} publishes most, {others[most]:,.0f}"
        more = values[STEERED] >= _TIMES * others[most]
        few = max(values[STEERED], others[most]) < _FEW
        yield too_small(says, told) if few else Check(says, more, told)


def _beyond_release_data(found: Findings) -> Iterator[Check]:
    values = _at_the_promise(found)
    if {STEERED, RELEASE_DATA} <= set(values):
        ours, theirs = values[STEERED], values[RELEASE_DATA]
        says = (
            f"steered publishes at least {_TIMES_RELEASE_DATA:g} times the queries of Release-Data (epsilon 1, "
            "delta 1e-6)"
        )
        told = f"{ours:,.0f} and {theirs:,.0f}"
        few = max(ours, theirs) < _FEW
        yield too_small(says, told) if few else Check(says, ours >= _TIMES_RELEASE_DATA * theirs, told)


def _beyond_when_replaced(found: Findings) -> Iterator[Check]:
    """The other neighbours, by themselves."""
    chosen = best(found).where(metric=DISTINCT, neighbours=REPLACE)
    for one in chosen.settings("epsilon", "delta"):
        values = {name: chosen.where(method=name, **one).value for name in chosen.values(METHOD)}
        if set(values) >= _REPLACED:
            ours, theirs = values[STEERED_REPLACE], values[ZEALOUS_REPLACE]
            says = f"for a replaced history too, steered publishes more than zealous (epsilon {ln(one['epsilon'])})"
            told = f"{ours:,.0f} and {theirs:,.0f} queries"
            yield too_small(says, told) if max(ours, theirs) < _FEW else Check(says, ours > theirs, told)


def _counts_of_the_top(found: Findings) -> Iterator[Check]:
    chosen = found.where(method=STEERED)
    for one in chosen.where(metric=ERROR).settings("epsilon", "delta"):
        every, top = (chosen.where(metric=metric, **one).value for metric in (ERROR, TOP))
        yield Check(
            f"counts of the {_MOST} most frequent queries are no worse than others (epsilon {ln(one['epsilon'])})",
            shapes.never_above([top], [every]),
            f"half of these counts are off by at most {top:.0f} %, and half of all published counts by at most "
            f"{every:.0f} %",
        )


# -- figures ---------------------------------------------------------------------------------------------------

_SHOWN = (
    STEERED,
    "weighted Gaussian, no counts",
    "MAD2R",
    "SIPS",
    "policy Gaussian",
    "greedy Laplace, short first",
    "greedy Laplace",
    RELEASE_DATA,
)


def _best_shown(found: Findings) -> Findings:
    return best(found).chosen(lambda one: one[METHOD] in _SHOWN)


def _against_d(found: Findings) -> Findings:
    """At one epsilon, every d; the variants of steered selection are one line."""
    there = _with_own_bound(found).where(epsilon=_reference_epsilon(found))
    chosen = there.chosen(
        lambda one: one[METHOD] in _SHOWN or str(one[METHOD]).startswith(f"{STEERED}, d = ")
    )
    return chosen.changed(lambda one: {METHOD: str(one[METHOD]).partition(", d = ")[0]})


def _lead_text(noun: str, unit: str, metric: str, found: Findings) -> str:
    chosen = best(found).where(metric=metric, epsilon=_reference_epsilon(found))
    values = {name: chosen.where(method=name).value for name in chosen.values(METHOD)}
    others = {name: value for name, value in values.items() if name in _OTHERS}
    if STEERED not in values or not others:
        return f"{noun} that each method publishes"
    most = max(others, key=others.__getitem__)
    return (
        f"At epsilon {ln(_reference_epsilon(found))} steered publishes {values[STEERED]:,.0f}{unit}, of the others "
        f"{most} most, {others[most]:,.0f}{unit}"
    )


def _union_curves(metric: str, noun: str, unit: str) -> Curves:
    return Curves(
        name=metric,
        title=partial(_lead_text, noun, unit, metric),
        under=f"delta = {{delta}}, one user added or removed, each other method at its best d; {MEANS}",
        metric=metric,
        x=Scale("epsilon", "epsilon (privacy loss per user)", log=True, format=".3~g"),
        y=Scale("value", noun),
        by=METHOD,
        by_title="method",
        among=_best_shown,
        shown={"delta": "{}"},
        intervals=True,
        least=1,
    )


def _at_reference(found: Findings) -> str:
    return (
        f"epsilon = {ln(_reference_epsilon(found))}, delta = {found.values('delta')[0]:g}; steered has d = 60, 100, "
        f"200 and 400; {MEANS}"
    )


def _best_d(found: Findings) -> str:
    """The methods whose best number of items per user is the smallest, and the largest."""
    lines = _against_d(found).where(metric=DISTINCT).lines("d", METHOD)
    peaks = {one[METHOD]: line.peak for one, line in lines if len(line) > 1}
    if not peaks:
        return "Queries that each method publishes"
    low, high = (how(peaks, key=peaks.__getitem__) for how in (min, max))
    return f"The best number of items per user goes from {peaks[low]} ({low}) to {peaks[high]} ({high})"


FIGURES = (
    _union_curves(DISTINCT, "different queries published", " queries"),
    _union_curves(EVENTS, "share of query events (%)", " % of events"),
    Curves(
        name="d",
        title=_best_d,
        under=_at_reference,
        metric=DISTINCT,
        x=Scale(
            "d",
            "items that one user may add (d)",
            log=True,
            ticks=(1, 2, 5, 10, 20, 50, 100, 200, 400),
            format="d",
        ),
        y=Scale("value", "different queries published"),
        by=METHOD,
        by_title="method",
        among=_against_d,
        least=1,
    ),
)


# -- declaration -----------------------------------------------------------------------------------------------


def _numbered(given: Given) -> Numbered:
    return numbered(given.the_log)


_GRID = Grid(METHODS, (_union_rows,), ready=_numbered)


def _needs_cell(given: Given, cell: Cell) -> bool:
    """Parts of the method are changed at one epsilon only."""
    return _GRID.differs(given, cell) and (
        cell[METHOD] not in _CHANGED or cell["epsilon"] == _reference_epsilon(given)
    )


SET_UNION = grid.study(
    _GRID,
    name="set-union",
    question="How much does each private method publish for the same guarantee?",
    paper="weights that follow what items still need publish more than equal weights (Gopi et al. 2020, Chen et al. "
    "2025), and so do several rounds (Swanberg et al. 2023)",
    mechanism="several",
    axes=(
        method_axis(METHODS),
        Axis("epsilon", (0.5, 1.0, 2.0, math.log(10)), "privacy loss per user"),
        Axis("delta", (1e-6,), "probability that the loss is exceeded", single=True),
        Axis("d", (1, 2, 5, 20, 50, 100, 200), "items that one user may add, for all methods but steered"),
    ),
    metrics=(
        Metric(DISTINCT, "queries", "different queries published"),
        Metric(EVENTS, "%", "query events of the log whose query is published"),
        Metric(ERROR, "%", "relative error of a published count of steered, the median"),
        Metric(TOP, "%", f"the same for the {_MOST} published queries with most users"),
        Metric(BIAS, "%", "mean of these errors with their sign"),
        Metric(USELESS, "%", "published counts whose stated deviation is more than half the count"),
    ),
    repeats=5,
    only=_needs_cell,
    figures=FIGURES,
    checks=expected(
        _beyond_others,
        _beyond_release_data,
        _beyond_when_replaced,
        _counts_of_the_top,
        Along(
            says="steered publishes more with epsilon",
            metric=DISTINCT,
            along="epsilon",
            where={METHOD: STEERED},
            shape=shapes.grows,
            told="{line.first:,.0f} queries at {line.start:.3g}, {line.last:,.0f} at {line.end:.3g}",
            enough=at_least(_FEW, DISTINCT, "are published by steered at most", method=STEERED),
        ),
    ),
    labels=(BOUND, "neighbours"),
)
