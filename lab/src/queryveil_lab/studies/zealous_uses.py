"""What private histograms are good for: which posting lists to keep in memory, and substitutes for queries.

Goetz et al., figures 6 to 8.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from queryveil import DocumentFrequencies
from queryveil.extension import OCCURRENCES, Original, Released
from queryveil.measure.index_caching import POSTING_BYTES, Index
from queryveil.measure.query_substitution import QuerySubstitution
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import grid, shapes
from queryveil_lab.studies.declaration import Axis, Cell, Check, Findings, Metric, Row, too_small
from queryveil_lab.studies.drawing import MEANS, Curves, Printed, written
from queryveil_lab.studies.expectations import Along, Beside, at_least, expected, spread
from queryveil_lab.studies.grid import row
from queryveil_lab.studies.histogram_releases import (
    DELTA,
    EPSILON,
    K_QUERY,
    METHOD,
    NAMES,
    PLACE,
    ZEALOUS,
    K,
    compared,
    in_one,
    labelled,
)

HIT, HIT_BY_LOG, LISTS, LISTS_BY_LOG = "hit-probability", "hit-probability-of-log", "lists", "lists-of-log"
CLICKS, EVEN = "clicks", "even"
_MIDDLE = 0.01
"""Memory as a share of all postings: what `queryveil evaluate` takes if nothing else is said."""
PAIRS = "pairs"
_PARTS = ("coverage", "precision", "recall", "ap", "ndcg")
_DRAWN = {
    "ndcg": "(a) NDCG",
    "ap": "(b) average precision",
    "precision": "(c) precision",
    "recall": "(d) recall",
}
_PAPERS_M = 6
"""The number of keywords per user that the paper finds best."""
_NEARLY = 0.8
"""Of the hits by the log itself."""
_COMPARABLE = 2
"""Up to this factor apart, means over all parameters and both numbers of substitutes."""


def _build_index(original: Original, documents: str) -> Index:
    """The log's keywords, and how long their posting lists are."""
    keywords = original.histogram("keywords", OCCURRENCES)
    known = (
        DocumentFrequencies.of_log(original.log)
        if documents == CLICKS
        else DocumentFrequencies(
            keywords.select(np.zeros(len(keywords), dtype=bool)), "none: all are equally long"
        )
    )
    return Index.from_log(keywords, known)


def _cache_rows(original: Original, side: Released, cell: Cell, _: int) -> Iterator[Row]:
    documents, share = cell["documents"], cell["memory"]
    index: Index = original.compute_once(
        ("index of clicks", documents), lambda: _build_index(original, documents)
    )
    memory = max(POSTING_BYTES, int(share * index.postings * POSTING_BYTES))
    ours = original.compute_once(
        ("cache of the log", documents, share), lambda: index.simulate_cache(index.original, memory)
    )
    theirs = index.simulate_cache(side.histogram("keywords"), memory)
    yield row(HIT, theirs.hit_probability or 0.0)
    yield row(HIT_BY_LOG, ours.hit_probability or 0.0)
    yield row(LISTS, theirs.lists)
    yield row(LISTS_BY_LOG, ours.lists)


_HANDFUL = 10  # lists: fewer say nothing about hits
_DOCUMENTS = {CLICKS: "lists as long as clicked documents say", EVEN: "lists of equal length"}


def _both_methods(found: Findings) -> Findings:
    """As in the paper: ZEALOUS at two values of m, and k-query anonymity."""
    tried = [m for m in (1, _PAPERS_M) if m in found.values("m")] or found.values("m")[:1]
    chosen = found.chosen(
        lambda one: one["memory"] == _MIDDLE and (one["method"] == K_QUERY or one["m"] in tried)
    )
    return in_one(chosen).changed(lambda one: {"who": labelled(one)})


def _ranges_text(found: Findings) -> str:
    """What each method reaches, at the memory that is drawn, in the first panel."""
    chosen = _both_methods(found).where(metric=HIT)
    chosen = chosen.where(documents=(documents := chosen.values("documents")[0]))
    told = (
        f"{one['who']} {min(line.heights):.3f} to {max(line.heights):.3f}"
        for one, line in chosen.lines("place", "who")
    )
    return f"Hit probability, {written(documents, _DOCUMENTS)}: {'; '.join(told)}"


def _of_log(found: Findings) -> str:
    own = found.where(metric=HIT_BY_LOG, memory=_MIDDLE)
    told = (f"{own.where(documents=one).value:.3f} ({one})" for one in own.values("documents"))
    return f"memory for {100 * _MIDDLE:g} % of all postings; the log itself hits {', '.join(told)}; {MEANS}"


def _best_of_each(found: Findings) -> Findings:
    """Against memory: the log itself, and each method with its parameters that hit most often on average."""
    log = found.where(metric=HIT_BY_LOG).changed(lambda one: {"metric": HIT, "who": "the log itself"})
    hits = found.where(metric=HIT)
    best = []
    for method in hits.values("method"):
        own = hits.where(method=method)
        names = ("epsilon", "m") if method == ZEALOUS else ("k",)
        place = max(own.settings(*names), key=lambda one: own.where(**one).value)
        said = ", ".join(f"{name} = {value:g}" for name, value in place.items())
        best += [{**one, "who": f"{NAMES[method]}, {said}"} for one in own.where(**place)]
    return Findings((*log, *best))


def _against_memory(found: Findings) -> str:
    lists = found.where(metric=LISTS_BY_LOG)
    told = (
        f"{lists.where(documents=one).along('memory').first:,.0f} to "
        f"{lists.where(documents=one).along('memory').last:,.0f} lists ({one})"
        for one in lists.values("documents")
    )
    return f"by the parameters that hit most often; the log itself keeps {', '.join(told)}; {MEANS}"


def _memory_binds(found: Findings) -> Iterator[Check]:
    log = max((one["value"] for one in found.where(metric=HIT_BY_LOG)), default=0.0)
    yield Check(
        "memory is scarce: even the log itself does not always hit",
        log < 0.999,
        f"it hits {log:.3f} of the time",
    )


def _over_a_range(found: Findings) -> Iterator[Check]:
    """Beside the best k, at the paper's m."""
    for place in found.settings("documents", "memory"):
        hits = found.where(metric=HIT, **place)
        by_k, zealous = hits.where(method=K_QUERY).along("k"), hits.where(method=ZEALOUS)
        tried = zealous.values("m")
        if not by_k or not tried:
            continue
        by_epsilon = zealous.where(m=_PAPERS_M if _PAPERS_M in tried else min(tried)).along("epsilon")
        better = sum(one > by_k.highest for one in by_epsilon.values())
        says = (
            f"ZEALOUS hits more often than k-query anonymity over a range of epsilon ({_place_text(place)})"
        )
        told = (
            f"at {better} of {len(by_epsilon)} values: {by_epsilon.lowest:.4f} to {by_epsilon.highest:.4f} against "
            f"{by_k.lowest:.4f} to {by_k.highest:.4f}"
        )
        chance = spread(HIT)(found, place)
        if lacking := _few_lists(found.where(method=ZEALOUS), place):
            yield too_small(says, f"{told}; {lacking}")
        elif abs(by_epsilon.highest - by_k.highest) <= chance:
            yield too_small(says, f"{told}; chance is {chance:.2g}")
        else:
            yield Check(says, better > 0, told)


def _place_text(place: Row) -> str:
    return f"{place['documents']}, memory {100 * place['memory']:g} %"


def _nearly_the_log(found: Findings) -> Iterator[Check]:
    for place in found.chosen(lambda one: one["memory"] <= _MIDDLE).settings("documents", "memory"):
        most = max(one["value"] for one in found.where(metric=HIT, **place))
        log = found.where(metric=HIT_BY_LOG, **place).value
        says = f"the best release hits nearly as often as the log itself, but not more often ({_place_text(place)})"
        told = f"{most:.4f} against {log:.4f}"
        near = shapes.never_below([most], [_NEARLY * log]) and shapes.never_above([most], [1.02 * log])
        lacking = _few_lists(found, place)
        yield too_small(says, f"{told}; {lacking}") if lacking else Check(says, near, told)


def _few_lists(found: Findings, place: Row) -> str | None:
    """What there is too little of, if even the best release, or the log, chooses a handful of lists."""
    chosen = [
        max((one["value"] for one in found.where(metric=metric, **place)), default=math.inf)
        for metric in (LISTS, LISTS_BY_LOG)
    ]
    return None if min(chosen) >= _HANDFUL else f"{min(chosen):.0f} lists are chosen, fewer than {_HANDFUL}"


def _substitution_rows(original: Original, side: Released, cell: Cell, _: int) -> Iterator[Row]:
    for measure in (QuerySubstitution(at=top) for top in (2, 5)):
        found = measure.figures(original, side)
        for part in _PARTS:
            value = found.get(f"{measure}/{part}")
            if value is not None:
                yield row(part, value, top=str(measure.list_length))
    yield row(PAIRS, len(side.histogram("query-pairs")))


def _quality_findings(found: Findings) -> Findings:
    """Figure 7: the measures of the order, at m = 1, as panels of one figure."""
    least = min(found.values("m"))
    chosen = found.chosen(
        lambda one: one["metric"] in _DRAWN and (one["method"] == K_QUERY or one["m"] == least)
    )
    made = in_one(chosen).changed(
        lambda one: {"metric": "quality", "measure": _DRAWN[one["metric"]], "who": _with_top(one)}
    )
    return Findings(tuple(sorted(made, key=lambda one: str(one["measure"]))))


def _with_top(one: Row) -> str:
    return f"{NAMES[one['method']]}, first {one['top']}"


def _coverage_findings(found: Findings) -> Findings:
    """Figure 8, with k-query anonymity beside it; a log scale has no place for 0."""
    covered = found.where(metric="coverage").chosen(lambda one: one["value"] > 0)
    return in_one(covered).changed(lambda one: {"who": f"{labelled(one)}, first {one['top']}"})


def _ends_text(found: Findings, metric: str, method: str, along: str) -> str | None:
    """Of ZEALOUS at the smallest m, which is drawn."""
    chosen = found.where(metric=metric, method=method, top="2")
    least = min(chosen.values("m"), default=None)
    line = chosen.where(m=least).along(along)
    said = labelled({"method": method, "m": least})
    return f"{line.first:.2f} to {line.last:.2f} ({said})" if line else None


def _summary_text(name: str, metric: str, found: Findings) -> str:
    parts = (
        _ends_text(found, metric, method, along) for method, along in ((ZEALOUS, "epsilon"), (K_QUERY, "k"))
    )
    return f"{name} of the first two substitutes goes from {' and from '.join(one for one in parts if one)}"


_ndcg, _covered = partial(_summary_text, "NDCG", "ndcg"), partial(_summary_text, "Coverage", "coverage")
_ENOUGH = at_least(20, PAIRS, "query pairs are published by ZEALOUS at most", method=ZEALOUS)


_CACHING = compared(_cache_rows, items="keywords", further=("items", "documents", "memory"))

INDEX_CACHING = grid.study(
    _CACHING,
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
        Axis(
            "documents",
            (CLICKS, EVEN),
            "how long posting lists are: as many documents as were clicked, or all equally long",
            closed=True,
        ),
        Axis("memory", (0.001, _MIDDLE, 0.1), "share of all postings that fits into memory"),
    ),
    metrics=(
        Metric(
            HIT, "probability", "that a keyword's posting list is in memory, if the release chooses the lists"
        ),
        Metric(HIT_BY_LOG, "probability", "the same if the log itself chooses them"),
        Metric(LISTS, "lists", "posting lists in memory, if the release chooses them"),
        Metric(LISTS_BY_LOG, "lists", "the same if the log itself chooses them"),
    ),
    repeats=3,
    figures=(
        Curves(
            name="both",
            title=_ranges_text,
            under=_of_log,
            metric=HIT,
            among=_both_methods,
            x=PLACE,
            y=Scale("value", "hit probability"),
            by="who",
            by_title="method",
            shown={"documents": _DOCUMENTS},
            panel="documents",
            least=2,
        ),
        Curves(
            name="m",
            title="Hit probability, {documents} ({epsilon}): {line.first:.3f} at m = {line.start:g}, "
            "{line.last:.3f} at {line.end:g}",
            under=f"ZEALOUS; {MEANS}",
            metric=HIT,
            where={"method": ZEALOUS, "memory": _MIDDLE},
            x=Scale("m", "keywords per user (m)", log=True),
            y=Scale("value", "hit probability"),
            by="epsilon",
            shown={"documents": _DOCUMENTS, "epsilon": "epsilon = {}"},
            panel="documents",
            least=2,
            printed=Printed(
                source="Goetz et al. 2012, text to figure 6(b): below 0.33 and above 0.36",
                lines=(({"series": "the paper", "documents": EVEN}, {1: 0.33, 6: 0.36}),),
            ),
        ),
        Curves(
            name="memory",
            title="The log itself hits {line.first:.3f} with {line.start:g} of all postings in memory, {line.last:.3f} "
            "with {line.end:g}",
            under=_against_memory,
            metric=HIT,
            among=_best_of_each,
            x=Scale("memory", "share of all postings in memory", log=True),
            y=Scale("value", "hit probability"),
            by="who",
            by_title="lists are chosen by",
            shown={"documents": _DOCUMENTS},
            panel="documents",
            least=2,
        ),
    ),
    checks=expected(
        _memory_binds,
        Beside(
            says=f"m = {_PAPERS_M} hits more often than m = 1 ({{documents}}, memory {{memory:.1%}})",
            metric=HIT,
            column="m",
            ours=_PAPERS_M,
            theirs=1,
            by=("documents", "memory"),
            where={"method": ZEALOUS},
            shape=shapes.above,
            told="{pair.ours[0]:.4f} against {pair.theirs[0]:.4f}, means over epsilon",
            apart=spread(HIT),
        ),
        _over_a_range,
        _nearly_the_log,
    ),
    needs=("url",),
)

QUERY_SUBSTITUTION = grid.study(
    compared(_substitution_rows, items="query-pairs"),
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
    metrics=(
        *(Metric(part, "0 to 1", QuerySubstitution.parts[part].help) for part in _PARTS),
        Metric(PAIRS, "query pairs", "different query pairs in the release"),
    ),
    repeats=3,
    figures=(
        Curves(
            name="quality",
            title=_ndcg,
            under=f"averages over the queries that a release has substitutes for; m = 1; {MEANS}",
            metric="quality",
            among=_quality_findings,
            x=PLACE,
            y=Scale("value", "0 to 1", top=1.0),
            by="who",
            by_title="substitutes",
            panel="measure",
            least=2,
        ),
        Curves(
            name="coverage",
            title=_covered,
            under=f"over the queries that the log has substitutes for; {MEANS}",
            metric="coverage",
            among=_coverage_findings,
            x=PLACE,
            y=Scale("value", "coverage", log=True, zero=False),
            by="who",
            by_title="substitutes",
            least=2,
        ),
    ),
    checks=expected(
        Along(
            says="a larger m covers less",
            metric="coverage",
            along="m",
            where={"method": ZEALOUS},
            shape=partial(shapes.falls, slack=0.1),
            told="{line.first:.4f} at m = {line.start}, {line.last:.4f} at m = {line.end}",
            enough=_ENOUGH,
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
            enough=_ENOUGH,
        ),
    ),
    labels=("top",),
)
