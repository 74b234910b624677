"""What private histograms are good for: which posting lists to keep in memory, and substitutes for queries.

Goetz et al., figures 6 to 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from queryveil.charts.figures import Scale, Words
from queryveil.measure.document_frequencies import DocumentFrequencies
from queryveil.measure.index_caching import Index
from queryveil.measure.measure import Original, Released
from queryveil.measure.query_substitution import QuerySubstitution
from queryveil.privacy.declarations import OCCURRENCES
from queryveil.study import histogram_releases as shared
from queryveil.study import shapes
from queryveil.study.declaration import Axis, Cell, Check, Findings, Metric, Row, Study
from queryveil.study.expectations import Along, Beside, expected
from queryveil.study.histogram_releases import (
    DELTA,
    EPSILON,
    K_QUERY,
    METHOD,
    NAMES,
    ZEALOUS,
    K,
    drawn,
    scale_of,
)
from queryveil.study.releases import Releases, row

HIT, HIT_BY_LOG, LISTS = "hit-probability", "hit-probability-of-log", "lists"
_PARTS = ("coverage", "precision", "recall", "ap", "ndcg")
_PAPERS_M = 6
"""Keywords per user that the paper finds best."""
_NEARLY = 0.8
"""Of the hits by the log itself."""
_COMPARABLE = 2
"""Up to this factor apart, means over all parameters and both numbers of substitutes."""


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


def _cache_figures(found: Findings) -> dict[str, Any]:
    made = {}
    hits = found.where(metric=HIT)
    for method, along, by in ((ZEALOUS, "epsilon", "m"), (K_QUERY, "k", "method"), (ZEALOUS, "m", "epsilon")):
        chosen = hits.where(method=method)
        if len(chosen.values(along)) < 2:
            continue
        shown = Findings(
            tuple({**one, by: f"{by} = {one[by]:g}" if by != "method" else one[by]} for one in chosen)
        )
        words = Words(
            f"Hits against {along}",
            f"{NAMES[method]}; by the log itself {found.where(metric=HIT_BY_LOG).value:.3f}",
        )
        x = scale_of(chosen, along, along, log=along == "m")
        made[along] = drawn(shown, x, Scale("value", "hit probability"), by, by, words)
    return made


def _memory_binds(found: Findings) -> Iterator[Check]:
    log = found.where(metric=HIT_BY_LOG).value
    yield Check(
        "memory binds: the log itself does not hit always", log < 0.999, f"{log:.3f} by the log itself"
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
        "the best release hits nearly as often as the log itself, and not more often",
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


def _substitution_figures(found: Findings) -> dict[str, Any]:
    made = {}
    for part in ("coverage", "precision"):
        for method, along in ((ZEALOUS, "epsilon"), (K_QUERY, "k")):
            chosen = found.where(metric=part, method=method)
            if len(chosen.values(along)) < 2:
                continue
            shown = Findings(
                tuple(
                    {
                        **one,
                        "series": f"j = {one['top']}" + (f", m = {one['m']}" if method == ZEALOUS else ""),
                    }
                    for one in chosen
                )
            )
            words = Words(f"{part.capitalize()} of substitutes against {along}", NAMES[method])
            x = scale_of(chosen, along, along)
            made[f"{part}-{along}"] = drawn(shown, x, Scale("value", part), "series", "", words)
    return made


INDEX_CACHING = Study(
    name="index-caching",
    question="Can a release decide which posting lists to keep in memory?",
    paper="ZEALOUS hits more often than k-query anonymity over a range of parameters, hardly depending on epsilon or "
    "k; m = 6 hits above 0.36, m = 1 below 0.33",
    mechanism="zealous, k-query",
    axes=(
        METHOD,
        EPSILON,
        DELTA,
        Axis("m", (1, 2, 4, 6, 10, 20), "keywords that one user may add (ZEALOUS)"),
        K,
    ),
    metrics=(
        Metric(HIT, "probability", "that a keyword's posting list is in memory, chosen by the release"),
        Metric(HIT_BY_LOG, "probability", "the same if lists are chosen by the log itself"),
        Metric(LISTS, "lists", "posting lists that the release keeps in memory"),
    ),
    repeats=2,
    prepare=shared.prepare,
    measure=Releases(partial(shared.mechanism_of, "keywords"), _cached),
    figures=_cache_figures,
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
    only=shared.differs,
)

QUERY_SUBSTITUTION = Study(
    name="query-substitution",
    question="Does a release still say which query may stand for another?",
    paper="epsilon and k hardly matter; precision is comparable, coverage by ZEALOUS is not good, and larger m covers "
    "less",
    mechanism="zealous, k-query",
    axes=(
        METHOD,
        Axis("epsilon", (1.0, 2.0, 5.0, 10.0), EPSILON.help),
        DELTA,
        Axis("m", (1, 6), "query pairs that one user may add (ZEALOUS)"),
        Axis("k", (10, 20, 50, 100), K.help),
    ),
    metrics=tuple(Metric(part, "0 to 1", QuerySubstitution.parts[part].help) for part in _PARTS),
    repeats=1,
    prepare=shared.prepare,
    measure=Releases(partial(shared.mechanism_of, "query-pairs"), _substituted),
    figures=_substitution_figures,
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
            says="precision by ZEALOUS is comparable to that by k-query anonymity: within a factor of two",
            metric="precision",
            column="method",
            ours=ZEALOUS,
            theirs=K_QUERY,
            shape=partial(shapes.within_a_factor, factor=_COMPARABLE),
            told="{pair.ours[0]:.3f} against {pair.theirs[0]:.3f}, over the queries that a release has "
            "substitutes for",
        ),
    ),
    labels=("top",),
    only=shared.differs,
)
