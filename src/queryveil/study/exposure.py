"""What can be read about people in a log and in its releases: the tables of the hash inversion paper, and ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from queryveil.attack.exposure.exposure import ExposureAttack
from queryveil.attack.exposure.words import LABELS
from queryveil.attack.inversion import Inversion, TokenCounts
from queryveil.attack.protocol import AttackResult
from queryveil.charts import figures
from queryveil.charts.figures import Words
from queryveil.errors import UsageError
from queryveil.language.spotting.counting import DANGEROUS
from queryveil.mechanisms import Mechanism
from queryveil.mechanisms.ad_hoc.ad_hoc import AdHoc
from queryveil.mechanisms.click_graph.click_graph import ClickGraph
from queryveil.mechanisms.k_keyword import KKeyword
from queryveil.mechanisms.k_query import KQuery
from queryveil.mechanisms.k_session.k_session import KSession
from queryveil.mechanisms.semantic.semantic import Semantic
from queryveil.mechanisms.token_hash import TokenHash
from queryveil.mechanisms.zealous.zealous import Zealous
from queryveil.reading.log import SearchLog
from queryveil.release.publish import publish
from queryveil.study import shapes
from queryveil.study.declaration import MEASURED, Axis, Cell, Check, Findings, Given, Metric, Row, Study
from queryveil.study.expectations import expected
from queryveil.study.hashed_halves import split

LOG, HASHED = "log", "token-hash"
BELIEVED, CORRECT, RAW = "believed", "correct", "raw"
SESSIONS, QUERIES, OCCURRENCES, ALL = "sessions", "queries", "occurrences", "all"
PRIVATE = ("zealous", "click-graph")
_FIRST_HASHES = 1_000
_LONG = 500_000
"""Query events of a hashed log from which on most is read rightly; in a short one what is not there is read."""

_METHODS: Mapping[str, Callable[[Cell], Mechanism]] = {
    "zealous": lambda cell: Zealous(
        epsilon=cell["epsilon"], delta=cell["delta"], max_items=cell["d"], guarantee="probabilistic"
    ),
    "click-graph": lambda cell: ClickGraph(
        epsilon=cell["epsilon"], delta=cell["delta"], max_queries=cell["d"]
    ),
    "k-query": lambda cell: KQuery(k=cell["k"]),
    "k-session": lambda cell: KSession(k=cell["k"]),
    "k-keyword": lambda cell: KKeyword(k=cell["k"]),
    "scrub": lambda _: AdHoc(steps=("delete-users", "scrub")),
    "semantic": lambda cell: Semantic(epsilon=cell["epsilon"]),
}


def _prepare(given: Given) -> SearchLog:
    unknown = {str(name) for name in given.axes["method"]} - {LOG, HASHED, *_METHODS}
    if unknown:
        raise UsageError(
            f"study exposure knows no method '{min(unknown)}'",
            f"use some of {', '.join((LOG, *_METHODS, HASHED))}",
        )
    return given.the_log


def _measure(log: SearchLog, given: Given, cell: Cell) -> Iterator[Row]:
    attack, method = ExposureAttack(), cell["method"]
    if method == LOG:
        yield from _rows(_subjects(attack.run([log]))[0], MEASURED, None)
    elif method == HASHED:
        yield from _hashed(log, cell["n"])
    else:
        releases = [
            publish(log, _METHODS[method](cell), allow_empty=True, i_understand=True)
            for _ in range(given.repeats if method in PRIVATE else 1)
        ]
        for repeat, found in enumerate(_subjects(attack.run(releases, log))):
            yield from _rows(found, MEASURED, repeat)


def _subjects(result: AttackResult) -> list[Mapping[str, Any]]:
    return list(result.figures["subjects"])


def _hashed(log: SearchLog, n: int) -> Iterator[Row]:
    """Half of the users, hashed, and as much of it as a log of the other half makes readable."""
    known, hidden = split(log)
    release = publish(hidden, TokenHash(), i_understand=True)
    truth = release.private["token-map"]
    counts = TokenCounts.of(release), TokenCounts.of(known)
    least = min(n, *(len(one) for one in counts))
    first = min(_FIRST_HASHES, least)
    inverted = Inversion(n=first, expand_to=least).invert(*counts)
    maps = [
        dict(zip(*(table[name].to_pylist() for name in ("hash", "token")), strict=True))
        for table in (inverted.mapping, truth)
    ]
    found = _subjects(ExposureAttack().run([release], hidden, *maps))[0]
    yield from _rows(found, BELIEVED, 0)
    yield from _rows(found, CORRECT, 0, "correct")
    yield from _rows(_subjects(ExposureAttack().run([hidden]))[0], RAW, None)


def _rows(one: Mapping[str, Any], how: str, repeat: int | None, counts: str = "counts") -> Iterator[Row]:
    totals = {SESSIONS: one["units"], QUERIES: one["texts"], OCCURRENCES: one["occurrences"]}
    for metric, total in totals.items():
        for category, number in {ALL: total, **(one[counts][metric] or {})}.items():
            if number is not None:
                yield {
                    "how": how,
                    "repeat": repeat,
                    "category": category,
                    "metric": metric,
                    "value": float(number),
                }


def _most(found: Findings, method: str, category: str, metric: str = QUERIES, how: str = MEASURED) -> float:
    """The largest number over all releases of a method; 0 if there is none."""
    rows = found.where(method=method, category=category, metric=metric, how=how)
    return max((row["value"] for row in rows), default=0.0)


def _people_in_the_log(found: Findings) -> Iterator[Check]:
    before = _most(found, LOG, "non-star")
    if LOG in found.values("method"):
        yield Check(
            "the log names people who are no stars", before > 0, f"in {before:,.0f} different queries"
        )


def _no_dangerous_pair(found: Findings) -> Iterator[Check]:
    pairs = [pair for pair in DANGEROUS if pair.startswith("non-star")]
    for method in (one for one in PRIVATE if one in found.values("method")):
        left = sum(_most(found, method, pair, metric) for pair in pairs for metric in (QUERIES, SESSIONS))
        yield Check(
            f"{method} publishes no dangerous pair with a non-star",
            left == 0,
            f"{left:,.0f} in the worst release, and {_most(found, method, 'non-star'):,.0f} non-star names",
        )


def _scrubbed(found: Findings) -> Iterator[Check]:
    if {LOG, "scrub"} <= set(found.values("method")):
        left = _most(found, "scrub", "identifier")
        after, before = (_most(found, method, "non-star", SESSIONS) for method in ("scrub", LOG))
        yield Check(
            "scrubbing takes identifiers and leaves names",
            left == 0 and shapes.never_below([after], [0.99 * before]),
            f"{left:,.0f} identifiers left; {after:,.0f} sessions name a non-star, {before:,.0f} did",
        )


def _crowds(found: Findings) -> Iterator[Check]:
    if {LOG, "k-query"} <= set(found.values("method")):
        people = _most(found, "k-query", "person")
        yield Check("k-query still names people", people > 0, f"in {people:,.0f} different queries")


def _read_in_hashes(found: Findings) -> Iterator[Check]:
    if HASHED not in found.values("method"):
        return
    read = {how: _most(found, HASHED, "person", SESSIONS, how) for how in (RAW, BELIEVED, CORRECT)}
    said = (
        f"{read[BELIEVED]:,.0f} sessions are believed to name a person, {read[CORRECT]:,.0f} of them rightly, "
        f"and {read[RAW]:,.0f} do"
    )
    yield Check("hashes that were turned back are read as people", read[BELIEVED] > 0, said)
    if _most(found, HASHED, ALL, OCCURRENCES, RAW) >= _LONG:
        yield Check("most of what is read in hashes is right", read[CORRECT] > read[BELIEVED] / 2, said)


def _figures(found: Findings) -> dict[str, Any]:
    rows = []
    for method in found.values("method"):
        how = CORRECT if method == HASHED else MEASURED
        name = f"{HASHED}, read correctly" if method == HASHED else method
        for category, label in LABELS.items():
            rows.append(
                {"what": label, "queries": _most(found, method, category, QUERIES, how), "method": name}
            )
    before = _most(found, LOG, "non-star")
    left = max((_most(found, method, "non-star") for method in PRIVATE), default=0.0)
    return {
        "queries": figures.bars(
            rows,
            item="what",
            value="queries",
            panel="method",
            x_title="different queries",
            words=Words(
                f"{left:,.0f} queries of private histograms name someone who is no star; {before:,.0f} of the log do",
                "different queries that hold it; the largest number where there are several releases",
            ),
        )
    }


EXPOSURE = Study(
    name="exposure",
    question="What can be read about people in a log, and in its releases?",
    paper="1,000 hashes turned back into words uncover non-star names in 2,960 sessions, and beside a place in 83",
    mechanism="several",
    axes=(
        Axis("method", (LOG, *_METHODS, HASHED), "the log itself, or how it was published"),
        Axis("epsilon", (2.0,), "privacy loss of private releases"),
        Axis("delta", (1e-5,), "probability that the loss is exceeded"),
        Axis("d", (5,), "queries that one user may add"),
        Axis("k", (5,), "users that everything published must have"),
        Axis("n", (8_000,), "hashes that are turned back into words, at most"),
    ),
    metrics=(
        Metric(SESSIONS, "sessions", "sessions, or whatever links texts, that hold it"),
        Metric(QUERIES, "different queries", "different texts that hold it"),
        Metric(OCCURRENCES, "occurrences", "how often these occur, by the release's own counts"),
    ),
    repeats=5,
    prepare=_prepare,
    measure=_measure,
    figures=_figures,
    checks=expected(_people_in_the_log, _no_dangerous_pair, _scrubbed, _crowds, _read_in_hashes),
    labels=("category",),
)
