"""Keywords of a concept, from the original and from the released click graph: the paper's table 5."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from queryveil import CannotBeMet, Graph, UsageError, generate_keywords
from queryveil.count import public_lists
from queryveil.extension import Original, Released, argument
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import grid, printed, shapes
from queryveil_lab.studies.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, too_small
from queryveil_lab.studies.drawing import Curves, Printed
from queryveil_lab.studies.expectations import expected
from queryveil_lab.studies.grid import Function, Grid, row
from queryveil_lab.studies.released_share import ANALYSIS, CLICK_GRAPH, FIXED, D

ORIGINAL, RELEASED = "original", "released"
COUNT, SHARED, OVERLAP, SHARE = "keywords", "keywords-in-both", "overlap", "share"
GRAPH_QUERIES, GRAPH_EDGES = "graph-queries", "graph-edges"
_LEAST_OVERLAP = 78.0
_FEW = 20
"""With fewer keywords from the original graph nothing is told."""
_SETS = {**(CLICK_GRAPH.sets or {}), "max_clicks": "max_clicks", "epsilon_clicks": "epsilon_clicks"}
_METHOD = dataclasses.replace(CLICK_GRAPH, sets=_SETS)

# Concepts of the generated logs: two popular kinds of site, and a narrow one after the paper's most sensitive.
_MIND = "anxiety depression schizophrenia bipolar autism paranoia panic phobia stress trauma"
_SEEDS = (
    "travel:travelguide.example",
    "bank:bankguide.example",
    "mind:" + "+".join(f"{word}guide.example" for word in _MIND.split()),
)


@dataclass(eq=False)
class LogWithLists(Original):
    lists: dict[str, list[str]] | None
    """Public result lists, read once for all releases."""


def seed_set(text: str) -> tuple[str, list[str]]:
    """`shoes:shoes.com+boots.com` as a name and domains."""
    name, _, domains = text.partition(":")
    if not name or not domains:
        raise UsageError(
            "a seed set is a name and domains",
            f"write it like {argument('vary', {'seeds': ['shoes:shoes.com+boots.com', '...']})}",
        )
    return name, domains.split("+")


def _with_lists(given: Given) -> LogWithLists:
    for text in given.axes["seeds"]:
        seed_set(str(text))
    if given.results is None:
        return LogWithLists(given.the_log, None)
    lists: dict[str, list[str]] = {}
    read = public_lists.read(given.results)
    for query, url in zip(read["query"].to_pylist(), read["url"].to_pylist(), strict=True):
        lists.setdefault(query, []).append(url)
    return LogWithLists(given.the_log, lists)


def _publish_graph(original: Original, cell: Cell, _: int) -> Released:
    # Urls are public where result lists are; elsewhere they need a threshold of their own.
    known = cast(LogWithLists, original).lists
    urls: dict[str, Any] = {"urls": "private", "delta_clicks": cell["delta"]}
    if known is not None:
        urls = {"results": lambda query: known.get(query, [])}
    entry = dataclasses.replace(_METHOD, fixed=urls)
    return next(entry.sides(original, original.log, cell, 1))


def _keywords_above(side: Original | Released, graph: Graph, cell: Cell) -> set[str]:
    """The keywords of a graph above the threshold; a released graph without the seeds has none."""
    name, domains = seed_set(cell["seeds"])

    def chances() -> dict[str, float]:
        try:
            found = generate_keywords(graph, domains, threshold=0, min_clicks=cell["min_clicks"])
        except CannotBeMet:
            if isinstance(side, Released):
                return {}
            raise CannotBeMet(
                f"no url of the log is in the domains of seed set '{name}'",
                f"choose seeds of this log with {argument('vary', {'seeds': ['NAME:DOMAIN+DOMAIN', '...']})}",
            ) from None
        return dict(zip(found["query"].to_pylist(), found["probability"].to_pylist(), strict=True))

    known = side.compute_once(("keywords", cell["seeds"], cell["min_clicks"]), chances)
    return {query for query, chance in known.items() if chance > cell["threshold"]}


def _in_log(original: Original, cell: Cell) -> Iterator[Row]:
    yield row(COUNT, len(_keywords_above(original, original.graph("clicks"), cell)), how=ORIGINAL)


def _in_release(original: Original, side: Released, cell: Cell, _: int) -> Iterator[Row]:
    log = original.graph("clicks")
    released = Graph(queries=side.release.tables["queries"], clicks=side.release.tables["clicks"])
    ours, theirs = _keywords_above(original, log, cell), _keywords_above(side, released, cell)
    edges, kept = (one.positive_counts("clicks", cell["min_clicks"]) for one in (log, released))
    found = {
        COUNT: len(theirs),
        SHARED: len(ours & theirs),
        GRAPH_QUERIES: 100 * _distinct_edges(kept) / max(1, _distinct_edges(edges)),
        GRAPH_EDGES: 100 * kept.num_rows / max(1, edges.num_rows),
    }
    if theirs:
        found[OVERLAP] = 100 * len(ours & theirs) / len(theirs)
    yield from (row(metric, value, how=RELEASED) for metric, value in found.items())


def _distinct_edges(edges: pa.Table) -> int:
    return int(pc.count_distinct(edges["query"]).as_py())


def _fewer_but_right(found: Findings) -> Iterator[Check]:
    for text in found.values("seeds"):
        name = seed_set(text)[0]
        chosen = found.where(seeds=text)
        counted = chosen.where(metric=COUNT)
        ours, theirs = (counted.where(how=how).along("threshold") for how in (ORIGINAL, RELEASED))
        some = sum(theirs.values())
        told = ", ".join(f"{theirs[p]:.3g} of {ours[p]:.3g} above {p:g}" for p in ours)
        fewer = f"the released graph gives fewer keywords, but some ({name})"
        same = f"most released keywords are also keywords of the original ({name})"
        if ours.highest < _FEW:
            yield from (too_small(says, told) for says in (fewer, same))
            continue
        yield Check(fewer, some > 0 and shapes.below([theirs[p] for p in ours], ours.heights), told)
        shared = sum(chosen.where(metric=SHARED).along("threshold").values())
        overlap = 100 * shared / max(1.0, some)
        yield Check(
            same,
            overlap >= _LEAST_OVERLAP,
            f"{overlap:.0f} % over all thresholds; the paper had {_LEAST_OVERLAP:g} % or more",
        )


def _shares_text(found: Findings) -> str:
    counted = found.where(metric=COUNT)
    ours, theirs = (_total_keywords(counted.where(how=how)) for how in (ORIGINAL, RELEASED))
    both = _total_keywords(found.where(metric=SHARED))
    share, right = 100 * theirs / max(1.0, ours), 100 * both / max(1.0, theirs)
    return f"The released graph gives {share:.0f} % as many keywords, and {right:.0f} % of these are right"


def _of_the_original(found: Findings) -> Findings:
    """Keywords from each released graph, in percent of those that the original gives there."""
    counted, made = found.where(metric=COUNT), []
    for one in counted.where(how=RELEASED):
        place = {name: one[name] for name in ("seeds", "threshold")}
        if whole := counted.where(how=ORIGINAL, **place).value:
            made.append({**one, "metric": SHARE, "value": 100 * one["value"] / whole})
    return Findings(tuple(made))


def _percent_text(found: Findings) -> str:
    lines = [line for _, line in _of_the_original(found).lines("threshold", "seeds")]
    values = [value for line in lines for value in line.values()]
    return (
        f"The released graph gives {min(values):.0f} to {max(values):.0f} % as many keywords as the original"
    )


def _total_keywords(found: Findings) -> float:
    """Over all seed sets and thresholds; means of the runs."""
    return sum(sum(line.values()) for _, line in found.lines("threshold", "seeds"))


def _file_name(text: str) -> str:
    return seed_set(text)[0]


KEYWORD_GENERATION = grid.study(
    Grid(
        (Function("click-graph", _publish_graph, tuple(_SETS), method="click-graph"),),
        (_in_release,),
        further=("min_clicks", "seeds", "threshold"),
        shared=True,
        ready=_with_lists,
        of_log=_in_log,
    ),
    name="keyword-generation",
    question="Does the released graph still suggest keywords for a concept?",
    paper="the released graph gives 4 to 25 % as many keywords, and 78 % or more also come from the original graph "
    "(shoes 93 %, suicide 99 %); it has 9.85 % of the queries and 20.43 % of the edges",
    axes=(
        Axis("analysis", ("tight",), ANALYSIS.help),
        *FIXED,
        Axis("d", (5,), D.help),
        Axis("epsilon_clicks", FIXED[0].values, "privacy loss of the click counts"),
        Axis("max_clicks", (5,), "clicks that one user may add"),
        Axis("min_clicks", (10,), "edges with fewer clicks are pruned, in both graphs"),
        Axis("seeds", _SEEDS, "concepts: a name, and the domains whose urls are known to be about it"),
        Axis("threshold", (0.5, 0.7, 0.9, 0.95), "a keyword's least probability of the concept"),
    ),
    metrics=(
        Metric(COUNT, "keywords", "queries with a probability above the threshold"),
        Metric(SHARED, "keywords", "keywords from the released graph that the original gives too"),
        Metric(OVERLAP, "%", "the same, in percent of the keywords from the released graph"),
        Metric(
            GRAPH_QUERIES, "%", "queries of the released graph, in percent of the original's, after pruning"
        ),
        Metric(GRAPH_EDGES, "%", "edges of the released graph, in percent of the original's, after pruning"),
    ),
    repeats=3,
    figures=(
        Curves(
            name="keywords",
            title=_shares_text,
            under="right: the original graph gives them too; all thresholds together; edges below {min_clicks} clicks "
            "are pruned",
            metric=COUNT,
            shown={"how": "{} graph", "seeds": _file_name},
            x=Scale("threshold", "probability above", steps=True),
            y=Scale("value", "keywords generated"),
            by="how",
            by_title="keywords from",
            panel="seeds",
        ),
        Curves(
            name="share",
            title=_percent_text,
            under="keywords from the released graph in percent of those from the original; means over the runs",
            metric=SHARE,
            among=_of_the_original,
            shown={"seeds": _file_name},
            x=Scale("threshold", "probability above", steps=True),
            y=Scale("value", "percent of the original's keywords"),
            by="seeds",
            by_title="concept",
            least=1,
            printed=Printed(
                source="Korolova et al. 2009, table 5",
                lines=tuple(
                    (
                        {"series": f"{name} (the paper)"},
                        {at: 100 * ours / whole for at, (ours, whole) in values.items()},
                    )
                    for name, values in printed.KEYWORDS.items()
                ),
            ),
        ),
    ),
    checks=expected(_fewer_but_right),
    needs=("time", "url"),
)
