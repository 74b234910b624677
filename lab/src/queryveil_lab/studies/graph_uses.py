"""Which uses of a click graph survive: suggestions, similar queries, classes of queries, corrected spelling.

Generated logs have no misspelling that people correct, so some are planted: before some searches for a frequent query
the same user searches for it with a letter missing, clicks nothing, and tries again 20 seconds later.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial

import ibis
import pyarrow as pa

from queryveil import SearchLog
from queryveil.extension import OCCURRENCES, Original, Released
from queryveil.measure.query_classification import QueryClassification
from queryveil.measure.query_similarity import SimilarQueries
from queryveil.measure.query_suggestions import Suggestions
from queryveil.measure.spelling import SpellingCorrection
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import grid
from queryveil_lab.studies.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, too_small
from queryveil_lab.studies.drawing import MEANS, Curves
from queryveil_lab.studies.expectations import expected
from queryveil_lab.studies.grid import Entry, Grid, row

PLANTED_SHARE = "planted"
RIGHT, ANSWERED, PUBLISHED = "right", "answered", "published-queries"
USES = {
    "suggestions": Suggestions(),
    "similar queries": SimilarQueries(),
    "classes": QueryClassification(),
    "spelling": SpellingCorrection(),
}
_MISSPELT = 2_000
"""So many of the most frequent queries are misspelt now and then."""
_LEAST = 20
STEERED = Entry(
    "click-graph",
    "click-graph",
    {"selection": "steered"},
    {"epsilon": "epsilon", "delta": "delta", "d": "max_queries"},
)


def misspelt(query: str) -> str:
    """The query without the second letter of its longest word."""
    longest = max(query.split(" "), key=len)
    return query.replace(longest, longest[:1] + longest[2:], 1)


def with_mistakes(original: Original, share: float) -> SearchLog:
    """The log with rows of misspelt queries before some searches: which ones depends on user and time alone."""
    log = original.log
    top = original.top("queries", OCCURRENCES, _MISSPELT)["query"].to_pylist()
    wrong = {query: misspelt(query) for query in top if len(query) > 4}
    listed = pa.table({"query": list(wrong), "wrong": pa.array(wrong.values(), pa.string())})
    rows = log.table
    hashed = log.engine.sha256(rows["user"] + rows["time"].cast("string")).substr(0, 4).lower()
    chosen = rows.filter(hashed < f"{min(int(share * 16**4), 16**4 - 1):04x}")
    chosen = chosen.inner_join(log.engine.register(listed), "query")
    absent = {name: ibis.null(rows[name].type()) for name in ("url", "rank") if name in rows.columns}
    made = chosen.mutate(
        query=chosen["wrong"],
        words=chosen["wrong"],
        time=chosen["time"] - ibis.interval(seconds=20),
        **absent,
    )
    both = log.engine.keep(rows.union(made.select(*rows.columns).cast(rows.schema())))
    return dataclasses.replace(log, normal=both, source=both.drop("words"), staged=None)


def _plant_misspellings(given: Given) -> Original:
    share = float(given.axes[PLANTED_SHARE][0])
    return Original(with_mistakes(Original(given.the_log), share))


def _measure_uses(original: Original, side: Released, _: Cell, __: int) -> Iterator[Row]:
    yield row(PUBLISHED, len(side.histogram("queries")), use="all")
    for use, measure in USES.items():
        figures = measure.figures(original, side)
        # Lists of the log are mostly of queries that hardly anybody made; here they are of published ones.
        right = figures.get(f"{measure}/among-released", figures[str(measure)])
        for metric, value in ((RIGHT, right), (ANSWERED, figures[f"{measure}/answered"])):
            if value is not None:
                yield row(metric, value, use=use)


def _mostly_right(found: Findings) -> Iterator[Check]:
    number = found.where(metric=PUBLISHED)
    for use in USES:
        own = found.where(metric=RIGHT, use=use)
        name = f"{use}: what the release says is mostly right at the largest epsilon"
        line = own.along("epsilon")
        if not line or number.along("epsilon").last < _LEAST:
            yield too_small(name, "hardly anything is published")
            continue
        answered = found.where(metric=ANSWERED, use=use).along("epsilon")
        yield Check(
            name,
            line.last > 0.5,
            f"{100 * line.last:.0f} % right, {100 * answered.last:.0f} % answered at epsilon {line.end:.3g}; "
            f"{100 * line.first:.0f} % and {100 * answered.first:.0f} % at {line.start:.3g}",
        )


def _extremes_text(metric: str, word: str, found: Findings) -> str:
    """What the use with the least and the one with the most have at the largest epsilon."""
    own = found.where(metric=metric)
    largest = max(own.values("epsilon"))
    shares = {use: 100 * own.where(use=use, epsilon=largest).value for use in own.values("use")}
    low, high = (how(shares, key=shares.__getitem__) for how in (min, max))
    return f"Of {word}: {shares[low]:.0f} % ({low}) to {shares[high]:.0f} % ({high}) at epsilon {largest:g}"


def _use_curves(metric: str, word: str) -> Curves:
    return Curves(
        name=metric,
        title=partial(_extremes_text, metric, word),
        under="steered click graph, d = {d}; misspellings are planted; " + MEANS,
        metric=metric,
        x=Scale("epsilon", "epsilon (privacy loss of the whole release)", log=True),
        y=Scale("value", "share", top=1.0),
        by="use",
        by_title="use",
        intervals=True,
    )


GRAPH_USES = grid.study(
    Grid((STEERED,), (_measure_uses,), further=(PLANTED_SHARE,), ready=_plant_misspellings),
    name="graph-uses",
    question="Which uses of a click graph survive its release?",
    paper="query suggestions, spelling correction, similar queries and query classification are named as uses "
    "(section 1.1), without an experiment",
    axes=(
        Axis("epsilon", (1.0, 2.0, 4.0, 8.0), "privacy loss of the whole release"),
        Axis("delta", (1e-5,), "probability that the loss is exceeded"),
        Axis("d", (100,), "queries that one user may add"),
        Axis(
            PLANTED_SHARE,
            (0.2,),
            "share of searches for frequent queries that begin with a mistake",
            single=True,
        ),
    ),
    metrics=(
        Metric(
            RIGHT, "share", "of what the release says, the share that the log says too, of published queries"
        ),
        Metric(
            ANSWERED,
            "share",
            "of what the log says, the share of queries for which the release says something",
        ),
        Metric(PUBLISHED, "queries", "queries in the release"),
    ),
    repeats=3,
    figures=(
        _use_curves(RIGHT, "what a released graph says, the log says too"),
        _use_curves(ANSWERED, "what the log could say, a released graph says something"),
    ),
    checks=expected(_mostly_right),
    needs=("time", "url"),
    labels=("use",),
)
