"""What private histograms are good for: which posting lists to keep in memory, and substitutes for queries.

Goetz et al., figures 6 to 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queryveil.charts.figures import Scale, Words
from queryveil.measure.document_frequencies import DocumentFrequencies
from queryveil.measure.index_caching import Index
from queryveil.measure.measure import Original
from queryveil.measure.query_substitution import QuerySubstitution
from queryveil.privacy.declarations import OCCURRENCES
from queryveil.study import histogram_releases as shared
from queryveil.study.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, Study
from queryveil.study.histogram_releases import (
    DELTA,
    EPSILON,
    K_QUERY,
    METHOD,
    NAMES,
    ZEALOUS,
    K,
    drawn,
    falls,
    scale_of,
)

HIT, HIT_BY_LOG, LISTS = "hit-probability", "hit-probability-of-log", "lists"
_PARTS = ("coverage", "precision", "recall", "ap", "ndcg")
_NEARLY = 0.8
"""Of the hits by the log itself."""
_COMPARABLE = 2
"""Up to this factor apart, means over all parameters and both numbers of substitutes."""


def _cached(original: Original, given: Given, cell: Cell) -> Iterator[Row]:
    index: Index = original.once(
        "index of clicks",
        lambda: Index.of(
            original.histogram("keywords", OCCURRENCES), DocumentFrequencies.of_log(original.log)
        ),
    )
    ours = original.once("cache of the log", lambda: index.cached(index.original))
    for repeat in shared.repeats(given, cell):
        theirs = index.cached(shared.released(original, cell, "keywords").histogram("keywords"))
        yield shared.row(repeat, HIT, theirs.hit_probability or 0.0)
        yield shared.row(repeat, HIT_BY_LOG, ours.hit_probability or 0.0)
        yield shared.row(repeat, LISTS, theirs.lists)


def _along(found: Findings, metric: str, method: str, along: str, **fixed: object) -> dict[Any, float]:
    return found.where(metric=metric, method=method, **fixed).along(along)


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


def _cache_checks(found: Findings) -> list[Check]:
    hits, log = found.where(metric=HIT), found.where(metric=HIT_BY_LOG).value
    most = max(one["value"] for one in hits)
    made = [
        Check("memory binds: the log itself does not hit always", log < 0.999, f"{log:.3f} by the log itself")
    ]
    by_m = _along(found, HIT, ZEALOUS, "m")
    if {1, 6} <= set(by_m):
        made.append(
            Check(
                "m = 6 hits more often than m = 1", by_m[6] > by_m[1], f"{by_m[6]:.4f} against {by_m[1]:.4f}"
            )
        )
    by_k = _along(found, HIT, K_QUERY, "k")
    by_epsilon = _along(found, HIT, ZEALOUS, "epsilon", m=6 if 6 in by_m else min(by_m))
    if by_k and by_epsilon:
        better = sum(one > max(by_k.values()) for one in by_epsilon.values())
        made.append(
            Check(
                "ZEALOUS hits more often than k-query anonymity over a range of epsilon",
                better > 0,
                f"at {better} of {len(by_epsilon)} values: {min(by_epsilon.values()):.4f} to "
                f"{max(by_epsilon.values()):.4f} against {min(by_k.values()):.4f} to {max(by_k.values()):.4f}",
            )
        )
    made.append(
        Check(
            "the best release hits nearly as often as the log itself, and not more often",
            _NEARLY * log <= most <= log * 1.02,
            f"{most:.4f} against {log:.4f}",
        )
    )
    return made


def _substituted(original: Original, given: Given, cell: Cell) -> Iterator[Row]:
    measures = [QuerySubstitution(at=top) for top in (2, 5)]
    for repeat in shared.repeats(given, cell):
        side = shared.released(original, cell, "query-pairs")
        for measure in measures:
            found = measure.figures(original, side)
            for part in _PARTS:
                value = found.get(f"{measure}/{part}")
                if value is not None:
                    yield shared.row(repeat, part, value, top=str(measure.most))


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


def _substitution_checks(found: Findings) -> list[Check]:
    made = []
    coverage = found.where(metric="coverage")
    by_m = coverage.where(method=ZEALOUS).along("m") if len(coverage) else {}
    if len(by_m) > 1:
        made.append(
            Check(
                "a larger m covers less",
                falls(list(by_m.values()), 0.1),
                f"{by_m[min(by_m)]:.4f} at m = {min(by_m)}, {by_m[max(by_m)]:.4f} at m = {max(by_m)}",
            )
        )
    zealous, k_query = (coverage.where(method=method) for method in (ZEALOUS, K_QUERY))
    if len(zealous) and len(k_query):
        made.append(
            Check(
                "k-query anonymity covers more than ZEALOUS",
                k_query.value > zealous.value,
                f"{k_query.value:.4f} against {zealous.value:.4f}",
            )
        )
    ours, theirs = (found.where(metric="precision", method=method) for method in (ZEALOUS, K_QUERY))
    if len(ours) and len(theirs):
        made.append(
            Check(
                "precision by ZEALOUS is comparable to that by k-query anonymity: within a factor of two",
                theirs.value / _COMPARABLE <= ours.value <= theirs.value * _COMPARABLE and ours.value > 0,
                f"{ours.value:.3f} against {theirs.value:.3f}, over the queries that a release has substitutes for",
            )
        )
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
    measure=_cached,
    figures=_cache_figures,
    checks=_cache_checks,
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
    measure=_substituted,
    figures=_substitution_figures,
    checks=_substitution_checks,
    labels=("top",),
    only=shared.differs,
)
