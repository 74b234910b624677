"""How many items a user should be allowed to add: what ZEALOUS covers and how truly, against m and against j.

Goetz et al., table 3 and figures 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

from queryveil.charts.figures import Scale, Words
from queryveil.measure.coverage import coverage, missing
from queryveil.measure.measure import Original, Released
from queryveil.measure.precision import kl_divergence, l1_distance
from queryveil.study import histogram_releases as shared
from queryveil.study import shapes
from queryveil.study.declaration import Axis, Cell, Check, Findings, Metric, Row, Study
from queryveil.study.expectations import Along, expected
from queryveil.study.histogram_releases import DELTA, ITEMS, drawn, scale_of
from queryveil.study.releases import Releases, row

PUBLISHED, TOTAL = "published", "total"
COVERAGE, MISSING, L1, KL = "coverage", "missing", "precision-l1", "precision-kl"
_TOPS = (10, 100, 1_000, 10_000)
_FINE = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
_METRICS = (
    Metric(PUBLISHED, "items", "different items published"),
    Metric(TOTAL, "counts", "their noisy counts together"),
    Metric(COVERAGE, "share", "of the log's j most frequent items, those that are published"),
    Metric(MISSING, "items", "of the log's j most frequent items, those that are not published"),
    Metric(L1, "share", "mean difference of relative frequencies of the log's j most frequent items"),
    Metric(KL, "nats", "relative entropy of the log's frequencies from the release's, over its top j"),
)


def _taken(tops: tuple[int, ...], original: Original, side: Released, cell: Cell, _: int) -> Iterator[Row]:
    kind = cell["items"]
    ours, theirs = original.histogram(kind, side.unit), side.histogram(kind)
    yield row(PUBLISHED, len(theirs))
    yield row(TOTAL, theirs.total)
    for top in tops:
        if top > len(ours):
            continue
        found = {
            COVERAGE: coverage(ours, theirs, top),
            MISSING: missing(ours, theirs, top),
            L1: l1_distance(ours, theirs, top),
            KL: kl_divergence(ours, theirs, top),
        }
        for metric, value in found.items():
            if value is not None:
                yield row(metric, value, top=str(top))


# -- what comes out ----------------------------------------------------------------------------------------------


def _panels(found: Findings, metric: str, noun: str, title: str) -> Any:
    chosen = found.where(metric=metric)
    x = scale_of(chosen, "m", "items per user (m)", log=True)
    words = Words(title, "by kind of item and j, the log's most frequent items; means over the runs")
    return drawn(chosen, x, Scale("value", noun), "top", "j", words, panel="items")


def _figures_m(found: Findings) -> dict[str, Any]:
    chosen = found.where(metric=PUBLISHED)
    return {
        "published": drawn(
            chosen,
            scale_of(chosen, "m", "items per user (m)", log=True),
            Scale("value", "different items published"),
            "items",
            "items",
            Words("Items published against m", "means over the runs"),
        ),
        "coverage": _panels(found, COVERAGE, "coverage", "Coverage of the most frequent items against m"),
        "kl": _panels(
            found, KL, "relative entropy (nats)", "Truth of their frequencies against m: 0 is exact"
        ),
        "l1": _panels(
            found, L1, "mean difference of shares", "Mean difference of relative frequencies against m"
        ),
    }


def _figures_j(found: Findings) -> dict[str, Any]:
    def panels(metric: str, noun: str, title: str) -> Any:
        rows = _with_numbers(found.where(metric=metric))
        chosen = Findings(tuple({**one, "m": str(one["m"])} for one in rows))
        x = scale_of(chosen, "top", "most frequent items (j)", log=True)
        words = Words(title, "by kind of item and m; means over the runs")
        return drawn(chosen, x, Scale("value", noun), "m", "m", words, panel="items")

    return {
        "coverage": panels(COVERAGE, "coverage", "Coverage of the most frequent items against j"),
        "kl": panels(KL, "relative entropy (nats)", "Truth of their frequencies against j: 0 is exact"),
    }


def _fewer(found: Findings) -> Iterator[Check]:
    shares = {}
    for setting, line in found.where(metric=PUBLISHED).lines("m", "items"):
        kind = setting["items"]
        if line.first == 0:
            yield Check(f"some {kind} are published", False, "none, at the smallest m")
            continue
        shares[kind] = line.last / line.first
        yield Check(
            f"fewer {kind} are published the more a user may add",
            # Of a handful of items one more or less is chance.
            shapes.falls(line.heights, slack=0.05, noise=math.sqrt(line.highest)),
            f"{line.first:,.0f} at m = {line.start} to {line.last:,.0f} at m = {line.end}",
        )
    if {"keywords", "query-pairs"} <= set(shares):
        yield Check(
            "query pairs, of which there are more, suffer more than keywords",
            shapes.below([shares["query-pairs"]], [shares["keywords"]]),
            f"{100 * shares['query-pairs']:.0f} % of pairs and {100 * shares['keywords']:.0f} % of keywords "
            "are left at the largest m",
        )


def _top_few(found: Findings) -> Iterator[Check]:
    least = min((int(top) for top in found.where(metric=KL).values("top")), default=0)
    for kind in found.values("items"):
        if kind not in ("keywords", "queries"):
            continue
        line = found.where(items=kind, metric=KL, top=str(least)).along("m")
        if not line:
            yield Check(f"the top {kind} can be compared", False, "no release has any of them")
        elif len(line) > 1 and 1 in line:  # otherwise there is nothing to compare with
            yield Check(
                f"the top {least} {kind} are truest for some m above 1",
                shapes.dips_beyond_its_start(line.heights),
                f"relative entropy {line.lowest:.2g} at m = {line.dip}, {line.first:.2g} at m = {line.start}",
            )


def _with_numbers(found: Findings) -> Findings:
    """A label is a text, and a line is in the order of its numbers."""
    return Findings(tuple({**one, "top": int(one["top"])} for one in found if one["top"] is not None))


# -- declarations ------------------------------------------------------------------------------------------------

_EPSILON = Axis("epsilon", (2.0,), "privacy loss per user")

ZEALOUS_M = Study(
    name="zealous-m",
    question="How many items should a user be allowed to add to a histogram?",
    paper="distinct items fall with m, by 55 % for keywords and 96 % for query pairs from 1 to 40; the top few are "
    "truer for m above 1, up to about the average number of items per user",
    mechanism="zealous",
    axes=(ITEMS, Axis("m", (1, 2, 4, 8, 20, 40), "items that one user may add"), _EPSILON, DELTA),
    metrics=_METRICS,
    repeats=3,
    prepare=shared.prepare,
    measure=Releases(shared.mechanism, partial(_taken, _TOPS)),
    figures=_figures_m,
    checks=expected(_fewer, _top_few),
    needs=(),
    ahead=shared.possible,
    labels=("top",),
)

ZEALOUS_J = Study(
    name="zealous-j",
    question="How far down the list of most frequent items does a histogram reach?",
    paper="coverage gets worse for larger j; m = 1 covers most, and m = 8 (keywords) or 2 (queries) has the least "
    "relative entropy",
    mechanism="zealous",
    axes=(
        Axis("items", ("keywords", "queries"), ITEMS.help),
        Axis("m", (1, 2, 4, 8, 10, 40), "items that one user may add"),
        _EPSILON,
        DELTA,
    ),
    metrics=_METRICS,
    repeats=3,
    prepare=shared.prepare,
    measure=Releases(shared.mechanism, partial(_taken, _FINE)),
    figures=_figures_j,
    checks=expected(
        Along(
            says="frequent {items} are covered best (m = {m})",
            metric=COVERAGE,
            along="top",
            by=("items", "m"),
            among=_with_numbers,
            shape=shapes.ends_lower,
            told="{line.first:.2f} of the top {line.start:,}, {line.last:.2f} of the top {line.end:,}",
        )
    ),
    needs=(),
    ahead=shared.possible,
    labels=("top",),
)
