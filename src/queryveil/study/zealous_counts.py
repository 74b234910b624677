"""Whether counts keep their shape and their size: ZEALOUS beside k-query anonymity.

Goetz et al., figures 4 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from queryveil.charts.figures import Scale, Words
from queryveil.measure.count_difference import count_differences
from queryveil.measure.count_distribution import count_distribution
from queryveil.measure.measure import Original, Released
from queryveil.study import histogram_releases as shared
from queryveil.study import shapes
from queryveil.study.declaration import Axis, Cell, Check, Findings, Metric, Row, Study
from queryveil.study.expectations import Along, expected
from queryveil.study.histogram_releases import (
    DELTA,
    EPSILON,
    ITEMS,
    K_QUERY,
    METHOD,
    NAMES,
    ZEALOUS,
    K,
    M,
    drawn,
    scale_of,
)
from queryveil.study.releases import Releases, row

HAVE, LEAST, THRESHOLD = "items-with-count", "smallest-count", "threshold"
MEAN, RMS, VARIATION = "mean-difference", "rms-difference", "total-variation"
_BASE = 2


def _distribution(original: Original, side: Released, cell: Cell, repeat: int) -> Iterator[Row]:
    kind = cell["items"]
    theirs = side.histogram(kind)
    if repeat == 0:
        ours = count_distribution(original.histogram(kind, side.unit), _BASE)
        for start, number in ours.items():
            yield row(HAVE, number, start=str(start), how="original")
    for start, number in count_distribution(theirs, _BASE).items():
        yield row(HAVE, number, start=str(start))
    if len(theirs):
        yield row(LEAST, int(theirs.counts.min()))
    if cell["method"] == ZEALOUS:
        yield row(THRESHOLD, side.release.plan.calibration["second_threshold"])
    # Keywords and pairs of a k-query anonymous log may be one user's: only its queries have k users.
    elif kind == "queries":
        yield row(THRESHOLD, cell["k"] - 1)


def _distribution_figures(found: Findings) -> dict[str, Any]:
    """One line for the log, counted in users, and one for each method; empty bins are left out of a log scale."""
    rows = []
    for one in found.where(metric=HAVE):
        original = one["how"] == "original"
        if one["value"] <= 0 or (original and one["method"] != ZEALOUS):
            continue
        name = "the log" if original else NAMES[one["method"]]
        rows.append({**one, "start": int(one["start"]), "series": name})
    chosen = Findings(tuple(rows))
    x = Scale("start", "count, from", log=True, format="~s", zero=False)
    y = Scale("value", "items", log=True, format="~s", zero=False)
    words = Words(
        "How many items have which count",
        "in bins that double; the log and ZEALOUS count users, k-query anonymity occurrences",
    )
    return {"count-distribution": drawn(chosen, x, y, "series", "counts of", words, panel="items")}


def _above_the_cut(found: Findings) -> Iterator[Check]:
    says = {
        K_QUERY: "no query of a k-query anonymous log has fewer than k occurrences",
        ZEALOUS: "every count of {} by ZEALOUS is above its threshold",
    }
    for setting in found.settings("items", "method"):
        ends = _smallest(found.where(**setting))
        if not ends:
            continue
        smallest, cut = min(ends, key=lambda one: one[0] - one[1])
        told = {
            K_QUERY: f"the smallest count is {smallest:,.0f}, k = {cut + 1:,.0f}",
            ZEALOUS: f"the smallest is {smallest:,.0f}, the threshold {cut:,.0f}",
        }
        cuts, counts = [end for _, end in ends], [least for least, _ in ends]
        yield Check(
            says[setting["method"]].format(setting["items"]),
            shapes.below_everywhere(cuts, counts),
            told[setting["method"]],
        )


def _smallest(found: Findings) -> list[tuple[float, float]]:
    """The smallest count and the threshold of each release that has any."""
    made = []
    for one in found.where(metric=THRESHOLD):
        same = {name: one[name] for name in ("epsilon", "delta", "m", "k", "repeat")}
        least = found.where(metric=LEAST, **same)
        if len(least):
            made.append((least.value, one["value"]))
    return made


def _slope(found: Findings, above: float) -> float | None:
    """How steeply the number of items falls with their count; None where too few have a larger one."""
    line = {
        int(one["start"]): one["value"] for one in found if int(one["start"]) > above and one["value"] >= 10
    }
    if len(line) < 3:
        return None
    return float(np.polyfit(np.log(list(line)), np.log(list(line.values())), 1)[0])


def _slopes(found: Findings) -> Iterator[Check]:
    """Beyond the cut-off, in log and release."""
    for kind in found.values("items"):
        chosen = found.where(items=kind, method=ZEALOUS)
        cut = min((one["value"] for one in chosen.where(metric=LEAST)), default=0)
        bins = chosen.where(metric=HAVE)
        ours = _slope(bins.where(how="original"), 2 * cut)
        theirs = _slope(bins.where(how="measured", repeat=0), 2 * cut)
        if ours is not None and theirs is not None:
            yield Check(
                f"the power law of {kind} keeps its slope beyond the cut-off",
                abs(ours - theirs) < 0.5,
                f"{ours:.2f} in the log, {theirs:.2f} by ZEALOUS",
            )


def _difference(original: Original, side: Released, cell: Cell, _: int) -> Iterator[Row]:
    kind = cell["items"]
    found = count_differences(original.histogram(kind, side.unit), side.histogram(kind))
    if found is not None:
        for metric, value in ((MEAN, found.mean), (RMS, found.rms), (VARIATION, found.total_variation)):
            yield row(metric, value)


def _difference_figures(found: Findings) -> dict[str, Any]:
    made = {}
    for method, along, noun in ((ZEALOUS, "epsilon", "epsilon"), (K_QUERY, "k", "k")):
        chosen = found.where(method=method, metric=VARIATION)
        if len(chosen) and len(chosen.values(along)) > 1:
            title = f"Difference of counts against {along}"
            words = Words(title, f"{NAMES[method]}; total variation after scaling to the log's total")
            x, y = scale_of(chosen, along, noun), Scale("value", "total variation")
            made[along] = drawn(chosen, x, y, "items", "items", words)
    return made


def _difference_along(method: str, along: str, verb: str, shape: Callable[..., bool]) -> Along:
    return Along(
        says=f"{{items}}: the difference {verb} with {along}",
        metric=VARIATION,
        along=along,
        by=("items",),
        where={"method": method},
        shape=partial(shape, slack=0.1),
        told="total variation {line.first:.3f} at {line.start:g}, {line.last:.3f} at {line.end:g}",
    )


COUNT_DISTRIBUTION = Study(
    name="count-distribution",
    question="Do published counts keep the shape of the log's?",
    paper="the power law is well preserved; totals are lower, and counts are cut off at k and at the threshold",
    mechanism="zealous, k-query",
    axes=(ITEMS, METHOD, Axis("epsilon", (5.0,), EPSILON.help), DELTA, M, Axis("k", (10,), K.help)),
    metrics=(
        Metric(HAVE, "items", "items with a count from `start` to below twice that"),
        Metric(LEAST, "counts", "the smallest count published"),
        Metric(
            THRESHOLD,
            "counts",
            "counts above this one are published; k - 1 for the queries of k-query anonymity",
        ),
    ),
    repeats=1,
    prepare=shared.prepare,
    measure=Releases(shared.mechanism, _distribution),
    figures=_distribution_figures,
    checks=expected(_above_the_cut, _slopes),
    needs=(),
    ahead=shared.possible,
    labels=("start",),
    only=shared.differs,
)

COUNT_DIFFERENCE = Study(
    name="count-difference",
    question="How far are published counts from the log's, against epsilon and against k?",
    paper="the difference falls with epsilon and grows with k; keywords are better by ZEALOUS for epsilon above 2, "
    "queries are equal at epsilon 6 and k 60, query pairs are better by k-query anonymity",
    mechanism="zealous, k-query",
    axes=(ITEMS, METHOD, EPSILON, DELTA, M, K),
    metrics=(
        Metric(MEAN, "counts", "mean absolute difference over the log's items, scaled to its total"),
        Metric(RMS, "counts", "root of the mean squared difference"),
        Metric(VARIATION, "share", "share of the log's counts that would have to be moved"),
    ),
    repeats=3,
    prepare=shared.prepare,
    measure=Releases(shared.mechanism, _difference),
    figures=_difference_figures,
    checks=expected(
        _difference_along(ZEALOUS, "epsilon", "falls", shapes.falls),
        _difference_along(K_QUERY, "k", "grows", shapes.grows),
    ),
    needs=(),
    ahead=shared.possible,
    only=shared.differs,
)
