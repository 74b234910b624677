"""How many items a user should be allowed to add: what ZEALOUS covers and how truly, against m and against j.

Goetz et al., table 3 and figures 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from queryveil.charts.figures import Scale, Words
from queryveil.measure.coverage import coverage, missing
from queryveil.measure.measure import Original
from queryveil.measure.precision import kl_divergence, l1_distance
from queryveil.study import histogram_releases as shared
from queryveil.study.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, Study
from queryveil.study.histogram_releases import DELTA, ITEMS, drawn, falls, scale_of

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


def _measure(tops: tuple[int, ...], original: Original, given: Given, cell: Cell) -> Iterator[Row]:
    kind = cell["items"]
    for repeat in shared.repeats(given, cell):
        side = shared.released(original, cell, kind)
        ours, theirs = original.histogram(kind, side.unit), side.histogram(kind)
        yield shared.row(repeat, PUBLISHED, len(theirs))
        yield shared.row(repeat, TOTAL, theirs.total)
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
                    yield shared.row(repeat, metric, value, top=str(top))


def _against_m(original: Original, given: Given, cell: Cell) -> Iterator[Row]:
    return _measure(_TOPS, original, given, cell)


def _against_j(original: Original, given: Given, cell: Cell) -> Iterator[Row]:
    return _measure(_FINE, original, given, cell)


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
        rows = [{**one, "top": int(one["top"]), "m": str(one["m"])} for one in found.where(metric=metric)]
        chosen = Findings(tuple(rows))
        x = scale_of(chosen, "top", "most frequent items (j)", log=True)
        words = Words(title, "by kind of item and m; means over the runs")
        return drawn(chosen, x, Scale("value", noun), "m", "m", words, panel="items")

    return {
        "coverage": panels(COVERAGE, "coverage", "Coverage of the most frequent items against j"),
        "kl": panels(KL, "relative entropy (nats)", "Truth of their frequencies against j: 0 is exact"),
    }


def _checks_m(found: Findings) -> list[Check]:
    made, shares = [], {}
    for kind in found.values("items"):
        line = found.where(items=kind, metric=PUBLISHED).along("m")
        values = list(line.values())
        if values[0] == 0:
            made.append(Check(f"some {kind} are published", False, "none, at the smallest m"))
            continue
        shares[kind] = values[-1] / values[0]
        made.append(
            Check(
                f"fewer {kind} are published the more a user may add",
                # Of a handful of items one more or less is chance.
                falls(values, 0.05, noise=math.sqrt(max(values))),
                f"{values[0]:,.0f} at m = {min(line)} to {values[-1]:,.0f} at m = {max(line)}",
            )
        )
    if {"keywords", "query-pairs"} <= set(shares):
        made.append(
            Check(
                "query pairs, of which there are more, suffer more than keywords",
                shares["query-pairs"] < shares["keywords"],
                f"{100 * shares['query-pairs']:.0f} % of pairs and {100 * shares['keywords']:.0f} % of keywords "
                "are left at the largest m",
            )
        )
    made += _top_few(found)
    return made


def _top_few(found: Findings) -> list[Check]:
    least = min((int(top) for top in found.where(metric=KL).values("top")), default=0)
    made = []
    for kind in found.values("items"):
        if kind not in ("keywords", "queries"):
            continue
        line = found.where(items=kind, metric=KL, top=str(least)).along("m")
        if not line:
            made.append(Check(f"the top {kind} can be compared", False, "no release has any of them"))
            continue
        if len(line) == 1 or 1 not in line:
            continue  # nothing to compare with
        best = min(line, key=lambda m: line[m])
        made.append(
            Check(
                f"the top {least} {kind} are truest for some m above 1",
                best > 1,
                f"relative entropy {line[best]:.2g} at m = {best}, {line[min(line)]:.2g} at m = {min(line)}",
            )
        )
    return made


def _checks_j(found: Findings) -> list[Check]:
    made = []
    for kind in found.values("items"):
        for m in found.values("m"):
            rows = [{**one, "top": int(one["top"])} for one in found.where(items=kind, m=m, metric=COVERAGE)]
            line = Findings(tuple(rows)).along("top")
            values = list(line.values())
            if len(values) > 1:
                made.append(
                    Check(
                        f"frequent {kind} are covered best (m = {m})",
                        values[-1] < values[0],
                        f"{values[0]:.2f} of the top {min(line):,}, {values[-1]:.2f} of the top {max(line):,}",
                    )
                )
    return made


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
    measure=_against_m,
    figures=_figures_m,
    checks=_checks_m,
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
    measure=_against_j,
    figures=_figures_j,
    checks=_checks_j,
    needs=(),
    ahead=shared.possible,
    labels=("top",),
)
