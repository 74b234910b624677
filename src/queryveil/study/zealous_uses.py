"""What private histograms are good for: which posting lists to keep in memory, and substitutes for queries.

Goetz et al., figures 6 to 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from queryveil.charts.figures import Scale
from queryveil.measure.document_frequencies import DocumentFrequencies
from queryveil.measure.index_caching import Index
from queryveil.measure.measure import Original, Released
from queryveil.measure.query_substitution import QuerySubstitution
from queryveil.privacy.declarations import OCCURRENCES
from queryveil.study import grid, shapes
from queryveil.study.declaration import Axis, Cell, Check, Findings, Metric, Row
from queryveil.study.drawing import MEANS, Curves
from queryveil.study.expectations import Along, Beside, expected
from queryveil.study.grid import row
from queryveil.study.histogram_releases import DELTA, EPSILON, K_QUERY, METHOD, NAMES, ZEALOUS, K, compared

HIT, HIT_BY_LOG, LISTS = "hit-probability", "hit-probability-of-log", "lists"
_PARTS = ("coverage", "precision", "recall", "ap", "ndcg")
_PAPERS_M = 6
"""The number of keywords per user that the paper finds best."""
_NEARLY = 0.8
"""Of the hits by the log itself."""
_COMPARABLE = 2
"""Up to this factor apart, means over all parameters and both numbers of substitutes."""
_ENDS = "{{line.first:.3f}} at {along} {{line.start:g}}, {{line.last:.3f}} at {{line.end:g}}"


def _cached(original: Original, side: Released, cell: Cell, _: int) -> Iterator[Row]:
    index: Index = original.once(
        "index of clicks",
        lambda: Index.of(
            original.histogram("keywords", OCCURRENCES), DocumentFrequencies.of_log(original.log)
        ),
    )
    ours = original.once("cache of the log", lambda: index.cached(index.original))
    theirs = index.cached(side.histogram("keywords"))
    yield row(HIT, theirs.hit_probability or 0.0)
    yield row(HIT_BY_LOG, ours.hit_probability or 0.0)
    yield row(LISTS, theirs.lists)


def _hits(method: str, along: str, by: str) -> Curves:
    return Curves(
        name=along,
        title=f"Hit probability ({{{by}}}): {_ENDS.format(along=along)}",
        under=partial(_of_log, method),
        metric=HIT,
        where={"method": method},
        x=Scale(along, along, log=along == "m"),
        y=Scale("value", "hit probability"),
        by=by,
        shown={"method": NAMES, "m": "m = {}", "epsilon": "epsilon = {}"},
        least=2,
    )


def _of_log(method: str, found: Findings) -> str:
    return f"{NAMES[method]}; by the log itself {found.where(metric=HIT_BY_LOG).value:.3f}; {MEANS}"


def _memory_binds(found: Findings) -> Iterator[Check]:
    log = found.where(metric=HIT_BY_LOG).value
    yield Check(
        "memory is scarce: even the log itself does not always hit",
        log < 0.999,
        f"it hits {log:.3f} of the time",
    )


def _over_a_range(found: Findings) -> Iterator[Check]:
    """Beside the best k, at the paper's m."""
    hits = found.where(metric=HIT)
    by_k, zealous = hits.where(method=K_QUERY).along("k"), hits.where(method=ZEALOUS)
    tried = zealous.values("m")
    if not by_k or not tried:
        return
    by_epsilon = zealous.where(m=_PAPERS_M if _PAPERS_M in tried else min(tried)).along("epsilon")
    better = sum(one > by_k.highest for one in by_epsilon.values())
    yield Check(
        "ZEALOUS hits more often than k-query anonymity over a range of epsilon",
        better > 0,
        f"at {better} of {len(by_epsilon)} values: {by_epsilon.lowest:.4f} to {by_epsilon.highest:.4f} against "
        f"{by_k.lowest:.4f} to {by_k.highest:.4f}",
    )


def _nearly_the_log(found: Findings) -> Iterator[Check]:
    most = max(one["value"] for one in found.where(metric=HIT))
    log = found.where(metric=HIT_BY_LOG).value
    yield Check(
        "the best release hits nearly as often as the log itself, but not more often",
        shapes.never_below([most], [_NEARLY * log]) and shapes.never_above([most], [1.02 * log]),
        f"{most:.4f} against {log:.4f}",
    )


def _substituted(original: Original, side: Released, cell: Cell, _: int) -> Iterator[Row]:
    for measure in (QuerySubstitution(at=top) for top in (2, 5)):
        found = measure.figures(original, side)
        for part in _PARTS:
            value = found.get(f"{measure}/{part}")
            if value is not None:
                yield row(part, value, top=str(measure.most))


def _substitutes(part: str, method: str, along: str) -> Curves:
    return Curves(
        name=f"{part}-{along}",
        title=f"{part.capitalize()} of the first {{top}} substitutes: {_ENDS.format(along=along)}",
        under=f"{NAMES[method]}; by the number of substitutes that are compared",
        metric=part,
        where={"method": method},
        x=Scale(along, along),
        y=Scale("value", part),
        by=("top", "m"),
        by_title="substitutes",
        shown={"m": "m = {}"},
        least=2,
    )


INDEX_CACHING = grid.study(
    compared(_cached, items="keywords"),
    name="index-caching",
    question="Can a release decide which posting lists to keep in memory?",
    paper="ZEALOUS hits more often than k-query anonymity over a range of parameters, and epsilon and k hardly matter; "
    "m = 6 hits above 0.36, m = 1 below 0.33",
    axes=(
        METHOD,
        EPSILON,
        DELTA,
        Axis("m", (1, 2, 4, 6, 10, 20), "keywords that one user may add (ZEALOUS)"),
        K,
    ),
    metrics=(
        Metric(
            HIT, "probability", "that a keyword's posting list is in memory, if the release chooses the lists"
        ),
        Metric(HIT_BY_LOG, "probability", "the same if the log itself chooses them"),
        Metric(LISTS, "lists", "posting lists in memory, if the release chooses them"),
    ),
    repeats=2,
    figures=(_hits(ZEALOUS, "epsilon", "m"), _hits(K_QUERY, "k", "method"), _hits(ZEALOUS, "m", "epsilon")),
    checks=expected(
        _memory_binds,
        Beside(
            says=f"m = {_PAPERS_M} hits more often than m = 1",
            metric=HIT,
            column="m",
            ours=_PAPERS_M,
            theirs=1,
            where={"method": ZEALOUS},
            shape=shapes.above,
            told="{pair.ours[0]:.4f} against {pair.theirs[0]:.4f}",
        ),
        _over_a_range,
        _nearly_the_log,
    ),
    needs=("url",),
)

QUERY_SUBSTITUTION = grid.study(
    compared(_substituted, items="query-pairs"),
    name="query-substitution",
    question="Does a release still say which query can replace another?",
    paper="epsilon and k hardly matter; precision is comparable; ZEALOUS covers little, and a larger m covers less",
    axes=(
        METHOD,
        Axis("epsilon", (1.0, 2.0, 5.0, 10.0), EPSILON.help),
        DELTA,
        Axis("m", (1, 6), "query pairs that one user may add (ZEALOUS)"),
        Axis("k", (10, 20, 50, 100), K.help),
    ),
    metrics=tuple(Metric(part, "0 to 1", QuerySubstitution.parts[part].help) for part in _PARTS),
    repeats=1,
    figures=tuple(
        _substitutes(part, method, along)
        for part in ("coverage", "precision")
        for method, along in ((ZEALOUS, "epsilon"), (K_QUERY, "k"))
    ),
    checks=expected(
        Along(
            says="a larger m covers less",
            metric="coverage",
            along="m",
            where={"method": ZEALOUS},
            shape=partial(shapes.falls, slack=0.1),
            told="{line.first:.4f} at m = {line.start}, {line.last:.4f} at m = {line.end}",
        ),
        Beside(
            says="k-query anonymity covers more than ZEALOUS",
            metric="coverage",
            column="method",
            ours=K_QUERY,
            theirs=ZEALOUS,
            shape=shapes.above,
            told="{pair.ours[0]:.4f} against {pair.theirs[0]:.4f}",
        ),
        Beside(
            says="the precision of ZEALOUS is within a factor of two of k-query anonymity's",
            metric="precision",
            column="method",
            ours=ZEALOUS,
            theirs=K_QUERY,
            shape=partial(shapes.within_a_factor, factor=_COMPARABLE),
            told="{pair.ours[0]:.3f} against {pair.theirs[0]:.3f}, over queries that have substitutes in a release",
        ),
    ),
    labels=("top",),
)
