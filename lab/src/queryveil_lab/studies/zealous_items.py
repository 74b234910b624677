"""How many items a user should be allowed to add: what ZEALOUS covers and how truly, against m and against j.

Goetz et al., table 3 and figures 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

from queryveil.extension import Original, Released
from queryveil.measure.coverage import covered_share, missing_top_items
from queryveil.measure.precision import kl_divergence, l1_among, l1_distance, l1_of_exact_counts
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import grid, printed, shapes
from queryveil_lab.studies.declaration import Axis, Cell, Check, Findings, Metric, Row, too_small
from queryveil_lab.studies.drawing import MEANS, Curves, Printed
from queryveil_lab.studies.expectations import Along, at_least, expected
from queryveil_lab.studies.grid import row
from queryveil_lab.studies.histogram_releases import DELTA, ITEMS, compared, possible

PUBLISHED, TOTAL, AVERAGE = "published", "total", "items-per-user"
COVERAGE, MISSING, KL = "coverage", "missing", "precision-kl"
L1, L1_EXACT, L1_AMONG = "precision-l1", "precision-l1-of-exact", "precision-l1-among"
_TOPS = (10, 100, 1_000, 10_000)
_FINE = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
_FEW = 20
"""Of fewer published items one more or less is chance, and no shape can be told."""
_METRICS = (
    Metric(PUBLISHED, "items", "different items published"),
    Metric(TOTAL, "counts", "sum of their noisy counts"),
    Metric(AVERAGE, "items", "different items of an average user of the log"),
    Metric(COVERAGE, "share", "share of the log's j most frequent items that is published"),
    Metric(MISSING, "items", "how many of the log's j most frequent items are not published"),
    Metric(L1, "share", "mean difference of relative frequencies (of the whole totals) over the log's top j"),
    Metric(
        L1_EXACT, "share", "the same if all published items had their exact counts: what missing ones cost"
    ),
    Metric(L1_AMONG, "share", "mean difference of frequencies relative to the sum over these j items"),
    Metric(KL, "nats", "relative entropy of the log's frequencies from the release's, over its top j"),
)


def _top_rows(
    tops: tuple[int, ...], original: Original, side: Released, cell: Cell, run: int
) -> Iterator[Row]:
    kind = cell["items"]
    ours, theirs = original.histogram(kind, side.unit), side.histogram(kind)
    if run == 0:
        yield row(AVERAGE, ours.total / original.log.users, how="original", repeat=None)
    yield row(PUBLISHED, len(theirs))
    yield row(TOTAL, theirs.total)
    for top in (top for top in tops if top <= len(ours)):
        found = {
            COVERAGE: covered_share(ours, theirs, top),
            MISSING: missing_top_items(ours, theirs, top),
            L1: l1_distance(ours, theirs, top),
            L1_EXACT: l1_of_exact_counts(ours, theirs, top),
            L1_AMONG: l1_among(ours, theirs, top),
            KL: kl_divergence(ours, theirs, top),
        }
        yield from (row(metric, value, top=str(top)) for metric, value in found.items() if value is not None)


# -- what comes out ----------------------------------------------------------------------------------------------


def _with_numbers(found: Findings) -> Findings:
    """A label is a text, and a line is in the order of its numbers."""
    return found.chosen(lambda one: one["top"] is not None).changed(lambda one: {"top": int(one["top"])})


def _above_zero(found: Findings) -> Findings:
    """A log scale has no place for 0."""
    return _with_numbers(found).chosen(lambda one: one["value"] > 0)


def _some_findings(found: Findings) -> Findings:
    return found.chosen(lambda one: one["value"] > 0)


def _panel_curves(name: str, metric: str, axis: str, y: str, said: str, *, log: bool = False) -> Curves:
    titles = {"m": "items per user (m)", "top": "most frequent items (j)"}
    by, by_title = {"m": ("top", "j"), "top": ("m", "m")}[axis]
    return Curves(
        name=name,
        title=said,
        under=f"j: the log's most frequent items; {MEANS}",
        metric=metric,
        x=Scale(axis, titles[axis], log=True),
        y=Scale("value", y, log=log, zero=not log, top=1 if metric == COVERAGE else None),
        by=by,
        by_title=by_title,
        panel="items",
        among=_above_zero if log else _with_numbers,
    )


_REACH = "{line.first:.2g} for the top {line.start:,}, {line.last:.2g} for the top {line.end:,}"
_ENTROPY, _TRUE = (
    "relative entropy (nats)",
    "{line.first:.2g} at m = {line.start}, {line.last:.2g} at m = {line.end}",
)


def _check_fewer(found: Findings) -> Iterator[Check]:
    shares = {}
    for setting, line in found.where(metric=PUBLISHED).lines("m", "items"):
        kind = setting["items"]
        says = f"fewer {kind} are published the more a user may add"
        if line.highest < _FEW:
            yield too_small(says, f"{line.highest:,.0f} are published, fewer than {_FEW}")
            continue
        shares[kind] = line.last / line.first
        yield Check(
            says,
            # Of a handful of items one more or less is chance.
            shapes.falls(line.heights, slack=0.05, noise=math.sqrt(line.highest)),
            f"{line.first:,.0f} at m = {line.start}, {line.last:,.0f} at m = {line.end}",
        )
    says = "query pairs suffer more than keywords"
    if {"keywords", "query-pairs"} <= set(shares):
        yield Check(
            says,
            shapes.below([shares["query-pairs"]], [shares["keywords"]]),
            f"{100 * shares['query-pairs']:.0f} % of pairs and {100 * shares['keywords']:.0f} % of keywords "
            "are left at the largest m",
        )
    elif {"keywords", "query-pairs"} <= set(found.values("items")):
        yield too_small(says, f"fewer than {_FEW} of one of them are published")


def _check_turning_point(found: Findings) -> Iterator[Check]:
    """Sums are largest where m is about what an average user has: at the nearest m that was tried, or one beside it."""
    for setting, line in found.where(metric=TOTAL).lines("m", "items"):
        kind, tried = setting["items"], list(line)
        says = f"the sum of counts of {kind} is largest near the items of an average user"
        average = found.where(metric=AVERAGE, items=kind).value
        told = f"at m = {line.peak}; an average user has {average:.1f}"
        most = found.where(metric=PUBLISHED, items=kind).along("m").highest
        if most < _FEW:
            yield too_small(says, f"{told}; {most:,.0f} are published, fewer than {_FEW}")
        elif len(tried) > 2:
            nearest = min(tried, key=lambda m: abs(math.log(m / average)))
            yield Check(says, abs(tried.index(line.peak) - tried.index(nearest)) <= 1, told)


def _of_average(found: Findings) -> str:
    own = (
        f"{found.where(metric=AVERAGE, items=kind).value:.0f} {kind}"
        for kind in found.where(metric=AVERAGE).values("items")
    )
    return f"an average user has {', '.join(own)}; {MEANS}"


def _top_few(found: Findings) -> Iterator[Check]:
    least = min((int(top) for top in found.where(metric=KL).values("top")), default=_TOPS[0])
    for kind in found.values("items"):
        if kind not in ("keywords", "queries"):
            continue
        for metric, name in ((KL, "relative entropy"), (L1_AMONG, "mean difference")):
            says = f"the top {least} {kind} are most accurate for some m above 1 ({name})"
            line = found.where(items=kind, metric=metric, top=str(least)).along("m")
            lost = max(
                (one["value"] for one in found.where(items=kind, metric=MISSING, top=str(least))), default=0
            )
            if lost:
                yield too_small(says, f"up to {lost:,.0f} of them are not published")
            elif len(line) > 1 and 1 in line:  # otherwise there is nothing to compare with
                yield Check(
                    says,
                    shapes.dips_beyond_its_start(line.heights),
                    f"{line.lowest:.2g} at m = {line.dip}, {line.first:.2g} at m = {line.start}",
                )


# -- declarations ------------------------------------------------------------------------------------------------

_EPSILON = Axis("epsilon", (2.0,), "privacy loss per user")
_BY_M, _BY_J = (compared(partial(_top_rows, tops), alone=True) for tops in (_TOPS, _FINE))


def _as_printed(table: str, values: Mapping[str, Mapping[int, float]], unit: int = 1) -> Printed:
    return Printed(
        source=f"Goetz et al. 2012, {table}: 500,000 users",
        lines=tuple(
            ({"items": kind}, {m: unit * one for m, one in own.items()}) for kind, own in values.items()
        ),
        given={"epsilon": 2.0, "delta": 1e-3},
    )


ZEALOUS_M = grid.study(
    _BY_M,
    name="zealous-m",
    question="How many items should a user be allowed to add to a histogram?",
    paper=(
        "from m = 1 to 40, distinct keywords fall by 55 % and query pairs by 96 %; the top few items are more "
        "accurate for m above 1, up to about the average number of items per user"
    ),
    axes=(ITEMS, Axis("m", (1, 2, 4, 8, 20, 40), "items that one user may add"), _EPSILON, DELTA),
    metrics=_METRICS,
    repeats=3,
    figures=(
        Curves(
            name="published",
            title="{line.first:,.0f} {items} are published at m = {line.start}, {line.last:,.0f} at m = {line.end}",
            under=MEANS,
            metric=PUBLISHED,
            x=Scale("m", "items per user (m)", log=True),
            y=Scale("value", "different items published", log=True, zero=False),
            by="items",
            among=_some_findings,
            printed=_as_printed("table 3A", printed.ZEALOUS_PUBLISHED),
        ),
        Curves(
            name="total",
            title="The sum of counts of {items}: {line.first:,.0f} at m = {line.start}, most at m = {line.peak} "
            "({line.highest:,.0f})",
            under=_of_average,
            metric=TOTAL,
            x=Scale("m", "items per user (m)", log=True),
            y=Scale("value", "sum of noisy counts", log=True, zero=False),
            by="items",
            among=_some_findings,
            printed=_as_printed("table 3B", printed.ZEALOUS_TOTALS, 1_000),
        ),
        _panel_curves(
            "coverage", COVERAGE, "m", "coverage", f"Coverage of the top {{top}} {{items}}: {_TRUE}"
        ),
        _panel_curves(
            "kl",
            KL,
            "m",
            _ENTROPY,
            f"Relative entropy of the top {{top}} {{items}} (0 is exact): {_TRUE}",
            log=True,
        ),
        _panel_curves(
            "l1",
            L1_AMONG,
            "m",
            "mean difference of shares among the top j",
            f"Mean difference of shares among the top {{top}} {{items}}: {_TRUE}",
            log=True,
        ),
        _panel_curves(
            "l1-whole",
            L1,
            "m",
            "mean difference of shares of everything",
            f"Mean difference of shares of everything, top {{top}} {{items}}: {_TRUE}",
            log=True,
        ),
    ),
    checks=expected(_check_fewer, _check_turning_point, _top_few),
    needs=(),
    ahead=partial(possible, _BY_M),
    labels=("top",),
)

ZEALOUS_J = grid.study(
    _BY_J,
    name="zealous-j",
    question="How far down the list of most frequent items does a histogram reach?",
    paper="coverage gets worse for larger j; m = 1 covers most, and m = 8 (keywords) or 2 (queries) has the least "
    "relative entropy",
    axes=(
        ITEMS,
        Axis("m", (1, 2, 4, 8, 10, 40), "items that one user may add"),
        _EPSILON,
        DELTA,
    ),
    metrics=_METRICS,
    repeats=3,
    figures=(
        _panel_curves(
            "coverage", COVERAGE, "top", "coverage", f"Coverage of {{items}} at m = {{m}}: {_REACH}"
        ),
        _panel_curves(
            "missing",
            MISSING,
            "top",
            "items that are not published",
            "Missing {items} at m = {m}: {line.first:,.0f} of the top {line.start:,}, {line.last:,.0f} of the top "
            "{line.end:,}",
            log=True,
        ),
        _panel_curves(
            "kl",
            KL,
            "top",
            _ENTROPY,
            f"Relative entropy of {{items}} at m = {{m}} (0 is exact): {_REACH}",
            log=True,
        ),
        _panel_curves(
            "l1",
            L1_AMONG,
            "top",
            "mean difference of shares among the top j",
            f"Mean difference of shares of {{items}} among the top j at m = {{m}}: {_REACH}",
            log=True,
        ),
    ),
    checks=expected(
        Along(
            says="frequent {items} are covered best (m = {m})",
            metric=COVERAGE,
            along="top",
            by=("items", "m"),
            among=_with_numbers,
            shape=shapes.ends_lower,
            told="{line.first:.2f} of the top {line.start:,}, {line.last:.2f} of the top {line.end:,}",
            enough=at_least(_FEW, PUBLISHED, "are published"),
        )
    ),
    needs=(),
    ahead=partial(possible, _BY_J),
    labels=("top",),
)
