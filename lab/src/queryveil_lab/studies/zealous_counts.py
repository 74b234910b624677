"""Whether counts keep their shape and their size: ZEALOUS beside k-query anonymity.

Goetz et al., figures 4 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from queryveil.extension import Original, Released
from queryveil.measure.count_difference import count_differences
from queryveil.measure.count_distribution import count_distribution
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import grid, shapes
from queryveil_lab.studies import histogram_releases as both
from queryveil_lab.studies.declaration import Axis, Cell, Check, Findings, Metric, Row, too_small
from queryveil_lab.studies.drawing import MEANS, Curves
from queryveil_lab.studies.expectations import Along, expected
from queryveil_lab.studies.grid import row

HAVE, LEAST, THRESHOLD = "items-with-count", "smallest-count", "threshold"
MEAN, RMS, VARIATION = "mean-difference", "rms-difference", "total-variation"
_BASE = 2


def _distribution_rows(original: Original, side: Released, cell: Cell, repeat: int) -> Iterator[Row]:
    kind = cell["items"]
    theirs = side.histogram(kind)
    if repeat == 0:
        ours = count_distribution(original.histogram(kind, side.unit), _BASE)
        yield from (row(HAVE, number, start=str(start), how="original") for start, number in ours.items())
    for start, number in count_distribution(theirs, _BASE).items():
        yield row(HAVE, number, start=str(start))
    if len(theirs):
        yield row(LEAST, int(theirs.counts.min()))
    if cell["method"] == both.ZEALOUS:
        yield row(THRESHOLD, side.release.plan.calibration["second_threshold"])
    # Keywords and pairs of a k-query anonymous log may be one user's: only its queries have k users.
    elif kind == "queries":
        yield row(THRESHOLD, cell["k"] - 1)


def _log_and_methods(found: Findings) -> Findings:
    """One line for the log, counted in users, and one for each method; a log scale has no place for empty bins."""
    counted = found.where(metric=HAVE).chosen(
        lambda one: one["value"] > 0 and (one["how"] != "original" or one["method"] == both.ZEALOUS)
    )
    return counted.changed(
        lambda one: {
            "start": int(one["start"]),
            "counts of": "the log" if one["how"] == "original" else both.NAMES[one["method"]],
        }
    )


def _cut_off(found: Findings) -> str:
    least = {
        both.NAMES[one["method"]]: min(row["value"] for row in found.where(metric=LEAST, **one))
        for one in found.where(metric=LEAST).settings("method")
    }
    told = " and ".join(f"{value:,.0f} ({method})" for method, value in least.items())
    return f"Published counts start at {told}" if least else "Nothing is published"


def _above_the_cut(found: Findings) -> Iterator[Check]:
    says = {
        both.K_QUERY: "no query of a k-query anonymous log has fewer than k occurrences",
        both.ZEALOUS: "every count of {} by ZEALOUS is above its threshold",
    }
    for setting in found.settings("items", "method"):
        ends = _smallest_counts(found.where(**setting))
        if not ends:
            continue
        smallest, cut = min(ends, key=lambda one: one[0] - one[1])
        told = {
            both.K_QUERY: f"the smallest count is {smallest:,.0f}, and k is {cut + 1:,.0f}",
            both.ZEALOUS: f"the smallest is {smallest:,.0f}, the threshold {cut:,.0f}",
        }
        cuts, counts = [end for _, end in ends], [least for least, _ in ends]
        yield Check(
            says[setting["method"]].format(setting["items"]),
            shapes.below_everywhere(cuts, counts),
            told[setting["method"]],
        )


def _smallest_counts(found: Findings) -> list[tuple[float, float]]:
    """The smallest count and the threshold of each release that has any."""
    made = []
    for one in found.where(metric=THRESHOLD):
        same = {name: one[name] for name in ("epsilon", "delta", "m", "k", "repeat")}
        least = found.where(metric=LEAST, **same)
        if len(least):
            made.append((least.value, one["value"]))
    return made


def _log_slope(found: Findings, above: float) -> float | None:
    """How steeply the number of items falls with their count; None where too few have a larger one."""
    line = {
        int(one["start"]): one["value"] for one in found if int(one["start"]) > above and one["value"] >= 10
    }
    if len(line) < 3:
        return None
    return float(np.polyfit(np.log(list(line)), np.log(list(line.values())), 1)[0])


def _check_slopes(found: Findings) -> Iterator[Check]:
    """Beyond the cut-off, in log and release."""
    for kind in found.values("items"):
        chosen = found.where(items=kind, method=both.ZEALOUS)
        cut = min((one["value"] for one in chosen.where(metric=LEAST)), default=0)
        bins = chosen.where(metric=HAVE)
        ours = _log_slope(bins.where(how="original"), 2 * cut)
        theirs = _log_slope(bins.where(how="measured", repeat=0), 2 * cut)
        says = f"the power law of {kind} keeps its slope beyond the cut-off"
        if len(bins) and (ours is None or theirs is None):
            yield too_small(says, "too few items have counts that large")
        elif ours is not None and theirs is not None:
            yield Check(
                says,
                abs(ours - theirs) < 0.5,
                f"{ours:.2f} in the log, {theirs:.2f} by ZEALOUS",
            )


def _difference_rows(original: Original, side: Released, cell: Cell, _: int) -> Iterator[Row]:
    kind = cell["items"]
    found = count_differences(original.histogram(kind, side.unit), side.histogram(kind))
    if found is not None:
        for metric, value in ((MEAN, found.mean), (RMS, found.rms), (VARIATION, found.total_variation)):
            yield row(metric, value)


def _in_one(found: Findings) -> Findings:
    return both.in_one(found)


def _first_and_last(metric: str, of: str, found: Findings) -> str:
    """The first kind of item by ZEALOUS, at the ends of what was tried."""
    chosen = found.where(metric=metric, method=both.ZEALOUS)
    kind = chosen.values("items")[0] if len(chosen) else None
    line = chosen.where(items=kind).along("epsilon")
    if not line:
        return f"{of} by k-query anonymity"
    return f"{of} of {kind}: {line.first:.3g} at epsilon {line.start:g}, {line.last:.3g} at {line.end:g} (ZEALOUS)"


_NOTHING = 0.99
"""Of the log's counts, the share that a release misses if it publishes next to nothing."""


def _difference_of(name: str, metric: str, y: Scale, of: str) -> Curves:
    return Curves(
        name=name,
        title=partial(_first_and_last, metric, of),
        under=f"scaled to the log's total; m = {{m}}; {MEANS}",
        metric=metric,
        among=_in_one,
        x=both.PLACE,
        y=y,
        by="method",
        shown={"method": both.NAMES},
        panel="items",
        least=2,
    )


def _some_counts(method: str, found: Findings, setting: Row) -> str | None:
    """Where next to nothing is published, nothing can move."""
    line = [one["value"] for one in found.where(metric=VARIATION, method=method, **setting)]
    nearest = min(line, default=1.0)
    return (
        None if nearest <= _NOTHING else f"a total variation of {nearest:.3f}: next to nothing is published"
    )


def _difference_along(method: str, along: str, verb: str, shape: Callable[..., bool]) -> Along:
    return Along(
        says=f"{{items}}: the difference {verb} with {along}",
        metric=VARIATION,
        along=along,
        by=("items",),
        where={"method": method},
        shape=partial(shape, slack=0.1),
        told="total variation {line.first:.3f} at {line.start:g}, {line.last:.3f} at {line.end:g}",
        enough=partial(_some_counts, method),
    )


_SHAPES, _SIZES = both.compared(_distribution_rows), both.compared(_difference_rows)

COUNT_DISTRIBUTION = grid.study(
    _SHAPES,
    name="count-distribution",
    question="Do published counts keep the shape of the log's?",
    paper="the power law is well preserved; totals are lower, and counts are cut off at k and at the threshold",
    axes=(
        both.ITEMS,
        both.METHOD,
        Axis("epsilon", (5.0,), both.EPSILON.help),
        both.DELTA,
        both.M,
        Axis("k", (10,), both.K.help),
    ),
    metrics=(
        Metric(HAVE, "items", "items with a count from `start` to below twice that"),
        Metric(LEAST, "counts", "the smallest count published"),
        Metric(
            THRESHOLD,
            "counts",
            "only counts above this one are published; k - 1 for the queries of k-query anonymity",
        ),
    ),
    repeats=1,
    figures=(
        Curves(
            name="count-distribution",
            title=_cut_off,
            under="in bins that double; the log and ZEALOUS count users, k-query anonymity occurrences",
            metric=HAVE,
            among=_log_and_methods,
            x=Scale("start", "count, from", log=True, format="~s"),
            y=Scale("value", "items", log=True, format="~s", zero=False),
            by="counts of",
            panel="items",
            ticks=False,
        ),
    ),
    checks=expected(_above_the_cut, _check_slopes),
    needs=(),
    ahead=partial(both.possible, _SHAPES),
    labels=("start",),
    only=partial(both.publishes, _SHAPES),
)

COUNT_DIFFERENCE = grid.study(
    _SIZES,
    name="count-difference",
    question="How far are published counts from the log's, against epsilon and against k?",
    paper="the difference falls with epsilon and grows with k; ZEALOUS is better for keywords above epsilon 2, both "
    "are equal for queries at epsilon 6 and k 60, and k-query anonymity is better for query pairs",
    axes=(both.ITEMS, both.METHOD, both.EPSILON, both.DELTA, both.M, both.K),
    metrics=(
        Metric(MEAN, "counts", "mean absolute difference over the log's items, scaled to its total"),
        Metric(RMS, "counts", "root of the mean squared difference"),
        Metric(VARIATION, "share", "share of the log's counts that would have to move"),
    ),
    repeats=3,
    figures=(
        _difference_of("variation", VARIATION, Scale("value", "total variation", top=1.0), "Total variation"),
        _difference_of(
            "mean",
            MEAN,
            Scale("value", "mean difference (counts)", log=True, zero=False),
            "Mean difference of counts",
        ),
    ),
    checks=expected(
        _difference_along(both.ZEALOUS, "epsilon", "falls", shapes.falls),
        _difference_along(both.K_QUERY, "k", "grows", shapes.grows),
    ),
    needs=(),
    ahead=partial(both.possible, _SIZES),
    only=partial(both.publishes, _SIZES),
)
