"""Keywords of a concept, from the original and from the released click graph: the paper's table 5."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.charts import figures
from queryveil.charts.figures import Scale, Words
from queryveil.count import item_kinds, public_lists
from queryveil.errors import CannotBeMet, UsageError
from queryveil.measure.graph import Graph, occurrence_counts
from queryveil.measure.keyword_generation import generate_keywords
from queryveil.mechanisms.click_graph.click_graph import ClickGraph
from queryveil.release.publish import publish
from queryveil.study import shapes
from queryveil.study.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, Study
from queryveil.study.expectations import expected

ORIGINAL, RELEASED = "original", "released"
COUNT, SHARED, OVERLAP = "keywords", "keywords-in-both", "overlap"
GRAPH_QUERIES, GRAPH_EDGES = "graph-queries", "graph-edges"
_LEAST_OVERLAP = 78.0
_RELEASE_AXES = ("analysis", "d", "epsilon", "delta", "max_clicks", "epsilon_clicks")

# Concepts of the generated logs: two popular kinds of site, and a narrow one after the paper's most sensitive.
_MIND = "anxiety depression schizophrenia bipolar autism paranoia panic phobia stress trauma"
_SEEDS = (
    "travel:travelguide.example",
    "bank:bankguide.example",
    "mind:" + "+".join(f"{word}guide.example" for word in _MIND.split()),
)


@dataclass
class Prepared:
    original: Graph
    lists: dict[str, list[str]] | None
    """Public result lists, read once for all releases."""
    releases: dict[tuple[Any, ...], Graph] = field(default_factory=dict)
    keywords: dict[tuple[Any, ...], dict[str, float]] = field(default_factory=dict)


def seed_set(text: str) -> tuple[str, list[str]]:
    """`shoes:shoes.com+boots.com` as a name and domains."""
    name, _, domains = text.partition(":")
    if not name or not domains:
        raise UsageError(
            "a seed set is a name and domains", "write it like --vary seeds=shoes:shoes.com+boots.com,..."
        )
    return name, domains.split("+")


def _prepare(given: Given) -> Prepared:
    for text in given.axes["seeds"]:
        seed_set(str(text))
    log = given.the_log
    lists: dict[str, list[str]] | None = None
    if given.results is not None:
        lists = {}
        read = public_lists.read(given.results)
        for query, url in zip(read["query"].to_pylist(), read["url"].to_pylist(), strict=True):
            lists.setdefault(query, []).append(url)
    return Prepared(Graph(clicks=log.engine.arrow(occurrence_counts(log, item_kinds.kind("clicks")))), lists)


def _release(prepared: Prepared, given: Given, cell: Cell, repeat: int) -> Graph:
    """One release serves every seed set and threshold."""
    key = (repeat, *(cell[name] for name in _RELEASE_AXES))
    if key not in prepared.releases:
        # Urls are public where result lists are; elsewhere they need a threshold of their own.
        known = prepared.lists
        urls: dict[str, Any] = {"urls": "private", "delta_clicks": cell["delta"]}
        if known is not None:
            urls = {"results": lambda query: known.get(query, [])}
        method = ClickGraph(
            epsilon=cell["epsilon"],
            delta=cell["delta"],
            max_queries=cell["d"],
            analysis=cell["analysis"],
            max_clicks=cell["max_clicks"],
            epsilon_clicks=cell["epsilon_clicks"],
            **urls,
        )
        made = publish(given.the_log, method, allow_empty=True, i_understand=True)
        prepared.releases[key] = Graph(queries=made.tables["queries"], clicks=made.tables["clicks"])
    return prepared.releases[key]


def _keywords(prepared: Prepared, graph: Graph, cell: Cell, *key: Any) -> set[str]:
    """The keywords of a graph above the threshold; a graph without the seeds has none."""
    name, domains = seed_set(cell["seeds"])
    known = (*key, cell["seeds"], cell["min_clicks"])
    if known not in prepared.keywords:
        try:
            found = generate_keywords(graph, domains, threshold=0, min_clicks=cell["min_clicks"])
        except CannotBeMet:
            if key[0] == ORIGINAL:
                raise CannotBeMet(
                    f"no url of the log is in the domains of seed set '{name}'",
                    "choose seeds of this log with --vary seeds=NAME:DOMAIN+DOMAIN,...",
                ) from None
            found = pa.table({"query": pa.array([], pa.string()), "probability": pa.array([], pa.float64())})
        pairs = zip(found["query"].to_pylist(), found["probability"].to_pylist(), strict=True)
        prepared.keywords[known] = dict(pairs)
    return {query for query, chance in prepared.keywords[known].items() if chance > cell["threshold"]}


def _measure(prepared: Prepared, given: Given, cell: Cell) -> Iterator[Row]:
    ours = _keywords(prepared, prepared.original, cell, ORIGINAL)
    edges = prepared.original.positive("clicks", cell["min_clicks"])
    yield {"how": ORIGINAL, "metric": COUNT, "value": float(len(ours))}
    for repeat in range(given.repeats):
        graph = _release(prepared, given, cell, repeat)
        key = (RELEASED, repeat, *(cell[name] for name in _RELEASE_AXES))
        theirs = _keywords(prepared, graph, cell, *key)
        kept = graph.positive("clicks", cell["min_clicks"])
        figures_of = {
            COUNT: len(theirs),
            SHARED: len(ours & theirs),
            GRAPH_QUERIES: 100 * _distinct(kept) / max(1, _distinct(edges)),
            GRAPH_EDGES: 100 * kept.num_rows / max(1, edges.num_rows),
        }
        if theirs:
            figures_of[OVERLAP] = 100 * len(ours & theirs) / len(theirs)
        for metric, value in figures_of.items():
            yield {"how": RELEASED, "repeat": repeat, "metric": metric, "value": float(value)}


def _distinct(edges: pa.Table) -> int:
    return int(pc.count_distinct(edges["query"]).as_py())


def _fewer_but_right(found: Findings) -> Iterator[Check]:
    for text in found.values("seeds"):
        name = seed_set(text)[0]
        chosen = found.where(seeds=text)
        counted = chosen.where(metric=COUNT)
        ours, theirs = (counted.where(how=how).along("threshold") for how in (ORIGINAL, RELEASED))
        some = sum(theirs.values())
        yield Check(
            f"the released graph gives fewer keywords, but some ({name})",
            some > 0 and shapes.below([theirs[p] for p in ours], ours.heights),
            ", ".join(f"{theirs[p]:.3g} of {ours[p]:.3g} above {p:g}" for p in ours),
        )
        shared = sum(chosen.where(metric=SHARED).along("threshold").values())
        overlap = 100 * shared / max(1.0, some)
        yield Check(
            f"most released keywords are keywords of the original too ({name})",
            overlap >= _LEAST_OVERLAP,
            f"{overlap:.0f} % over all thresholds; the paper had {_LEAST_OVERLAP:g} % or more",
        )


def _figures(found: Findings) -> dict[str, Any]:
    counted = found.where(metric=COUNT)

    def rows(how: str) -> list[Row]:
        made = []
        for text in counted.values("seeds"):
            along = counted.where(how=how, seeds=text).along("threshold")
            made += [
                {"threshold": p, "keywords": value, "graph": f"{how} graph", "seeds": seed_set(text)[0]}
                for p, value in along.items()
            ]
        return made

    drawn = [*rows(ORIGINAL), *rows(RELEASED)]
    sums = {how: sum(row["keywords"] for row in rows(how)) for how in (ORIGINAL, RELEASED)}
    both = sum(
        found.where(metric=SHARED, seeds=text).along("threshold")[p]
        for text in counted.values("seeds")
        for p in counted.values("threshold")
    )
    share = 100 * sums[RELEASED] / max(1.0, sums[ORIGINAL])
    overlap = 100 * both / max(1.0, sums[RELEASED])
    return {
        "keywords": figures.curves(
            drawn,
            drawn,
            x=Scale("threshold", "probability above", steps=True),
            y=Scale("keywords", "keywords generated"),
            by="graph",
            by_title="keywords from",
            panel="seeds",
            words=Words(
                f"The released graph gives {share:.0f} % as many keywords, {overlap:.0f} % right",
                "right: found in the original graph too; all thresholds together; one panel for each seed set; "
                f"edges below {counted.values('min_clicks')[0]} clicks are pruned",
            ),
        )
    }


KEYWORD_GENERATION = Study(
    name="keyword-generation",
    question="Does the released graph still suggest keywords for a concept?",
    paper="4 to 25 % as many keywords as from the original graph, 78 % or more of them also from the original "
    "(shoes 93 %, suicide 99 %); the released graph has 9.85 % of the queries and 20.43 % of the edges",
    mechanism="click-graph",
    axes=(
        Axis("analysis", ("tight",), "whose threshold"),
        Axis("epsilon", (math.log(10),), "privacy loss of the selection"),
        Axis("delta", (1e-5,), "probability that the loss is exceeded"),
        Axis("d", (5,), "queries that one user may add"),
        Axis("epsilon_clicks", (math.log(10),), "privacy loss of the click counts"),
        Axis("max_clicks", (5,), "clicks that one user may add"),
        Axis("min_clicks", (10,), "edges with fewer clicks are pruned, in both graphs"),
        Axis("seeds", _SEEDS, "concepts: a name, and the domains whose urls are known to be about it"),
        Axis("threshold", (0.5, 0.7, 0.9, 0.95), "a keyword's least probability of the concept"),
    ),
    metrics=(
        Metric(COUNT, "keywords", "queries with a probability above the threshold"),
        Metric(SHARED, "keywords", "of those from the released graph, found in the original too"),
        Metric(OVERLAP, "%", "the same, of all from the released graph"),
        Metric(GRAPH_QUERIES, "%", "queries of the released graph, of the original's, after pruning"),
        Metric(GRAPH_EDGES, "%", "edges of the released graph, of the original's, after pruning"),
    ),
    repeats=3,
    prepare=_prepare,
    measure=_measure,
    figures=_figures,
    checks=expected(_fewer_but_right),
    needs=("time", "url"),
)
