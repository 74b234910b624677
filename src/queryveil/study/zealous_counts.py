"""Whether counts keep their shape and their size: ZEALOUS beside k-query anonymity.

Goetz et al., figures 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from queryveil.charts.figures import Scale, Words
from queryveil.measure.count_difference import count_differences
from queryveil.measure.count_distribution import count_distribution
from queryveil.measure.measure import Original
from queryveil.study import histogram_releases as shared
from queryveil.study.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, Study
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
    falls,
    scale_of,
)

HAVE, LEAST, THRESHOLD = "items-with-count", "smallest-count", "threshold"
MEAN, RMS, VARIATION = "mean-difference", "rms-difference", "total-variation"
_BASE = 2


def _distribution(original: Original, given: Given, cell: Cell) -> Iterator[Row]:
    kind = cell["items"]
    for repeat in shared.repeats(given, cell):
        side = shared.released(original, cell, kind)
        theirs = side.histogram(kind)
        if repeat == 0:
            ours = count_distribution(original.histogram(kind, side.unit), _BASE)
            for start, number in ours.items():
                yield {**shared.row(repeat, HAVE, number, start=str(start)), "how": "original"}
        for start, number in count_distribution(theirs, _BASE).items():
            yield shared.row(repeat, HAVE, number, start=str(start))
        if len(theirs):
            yield shared.row(repeat, LEAST, int(theirs.counts.min()))
        if cell["method"] == ZEALOUS:
            yield shared.row(repeat, THRESHOLD, side.release.plan.calibration["second_threshold"])
        # Keywords and pairs of a k-query anonymous log may be one user's: only its queries have k users.
        elif kind == "queries":
            yield shared.row(repeat, THRESHOLD, cell["k"] - 1)


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


def _distribution_checks(found: Findings) -> list[Check]:
    made = []
    for kind in found.values("items"):
        for method in found.where(items=kind).values("method"):
            ends = _smallest(found.where(items=kind, method=method))
            if not ends:
                continue
            kept = all(smallest > cut for smallest, cut in ends)
            smallest, cut = min(ends, key=lambda one: one[0] - one[1])
            if method == K_QUERY:
                made.append(
                    Check(
                        "no query of a k-query anonymous log has fewer than k occurrences",
                        kept,
                        f"the smallest count is {smallest:,.0f}, k = {cut + 1:,.0f}",
                    )
                )
            if method == ZEALOUS:
                made.append(
                    Check(
                        f"every count of {kind} by ZEALOUS is above its threshold",
                        kept,
                        f"the smallest is {smallest:,.0f}, the threshold {cut:,.0f}",
                    )
                )
        made += _slopes(found, kind)
    return made


def _smallest(found: Findings) -> list[tuple[float, float]]:
    """The smallest count and the threshold of each release that has any."""
    made = []
    for one in found.where(metric=THRESHOLD):
        same = {name: one[name] for name in ("epsilon", "delta", "m", "k", "repeat")}
        least = found.where(metric=LEAST, **same)
        if len(least):
            made.append((least.value, one["value"]))
    return made


def _slopes(found: Findings, kind: str) -> list[Check]:
    """How steeply the number of items falls with their count, beyond the cut-off, in log and release."""

    def slope(rows: Findings, above: float) -> float | None:
        line = {
            int(one["start"]): one["value"]
            for one in rows
            if int(one["start"]) > above and one["value"] >= 10
        }
        if len(line) < 3:
            return None
        return float(np.polyfit(np.log(list(line)), np.log(list(line.values())), 1)[0])

    chosen = found.where(items=kind, method=ZEALOUS)
    cut = min((one["value"] for one in chosen.where(metric=LEAST)), default=0)
    bins = chosen.where(metric=HAVE)
    ours, theirs = (
        slope(bins.where(how="original"), 2 * cut),
        slope(bins.where(how="measured", repeat=0), 2 * cut),
    )
    if ours is None or theirs is None:
        return []
    return [
        Check(
            f"the power law of {kind} keeps its slope beyond the cut-off",
            abs(ours - theirs) < 0.5,
            f"{ours:.2f} in the log, {theirs:.2f} by ZEALOUS",
        )
    ]


def _difference(original: Original, given: Given, cell: Cell) -> Iterator[Row]:
    kind = cell["items"]
    for repeat in shared.repeats(given, cell):
        side = shared.released(original, cell, kind)
        found = count_differences(original.histogram(kind, side.unit), side.histogram(kind))
        if found is not None:
            for metric, value in ((MEAN, found.mean), (RMS, found.rms), (VARIATION, found.total_variation)):
                yield shared.row(repeat, metric, value)


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


def _difference_checks(found: Findings) -> list[Check]:
    made = []
    for kind in found.values("items"):
        for method, along, down in ((ZEALOUS, "epsilon", True), (K_QUERY, "k", False)):
            line = found.where(items=kind, method=method, metric=VARIATION)
            if not len(line) or len(line.values(along)) < 2:
                continue
            curve = line.along(along)
            values = list(curve.values()) if down else list(curve.values())[::-1]
            made.append(
                Check(
                    f"{kind}: the difference {'falls' if down else 'grows'} with {along}",
                    falls(values, 0.1),
                    f"total variation {curve[min(curve)]:.3f} at {min(curve):g}, {curve[max(curve)]:.3f} at "
                    f"{max(curve):g}",
                )
            )
    return made


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
    measure=_distribution,
    figures=_distribution_figures,
    checks=_distribution_checks,
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
    measure=_difference,
    figures=_difference_figures,
    checks=_difference_checks,
    needs=(),
    ahead=shared.possible,
    only=shared.differs,
)
