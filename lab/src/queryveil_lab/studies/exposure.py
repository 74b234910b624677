"""What can be read about people in a log and in its releases: the tables of the hash inversion paper, and ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queryveil import AttackResult, ExposureAttack, SearchLog, TokenHash, publish
from queryveil.attack.exposure.exposure_tables import LABELS
from queryveil.extension import Original
from queryveil.language.spotting.counting import DANGEROUS
from queryveil_lab.inversion import Inversion, TokenCounts
from queryveil_lab.studies import printed, shapes
from queryveil_lab.studies.declaration import (
    MEASURED,
    Axis,
    Cell,
    Check,
    Findings,
    Given,
    Metric,
    Row,
    Study,
    too_small,
)
from queryveil_lab.studies.drawing import Bars, Printed
from queryveil_lab.studies.expectations import expected
from queryveil_lab.studies.grid import Entry
from queryveil_lab.studies.hashed_halves import split

LOG, HASHED = "log", "token-hash"
BELIEVED, CORRECT, RAW = "believed", "correct", "raw"
SESSIONS, QUERIES, OCCURRENCES, ALL = "sessions", "queries", "occurrences", "all"
PRIVATE = ("zealous", "click-graph")
_FIRST_HASHES = 1_000
_NAMED = 500
"""Queries of the log that name people: of fewer, no k people may share one."""
_LONG = 500_000
"""The number of query events from which on most of a hashed log is read rightly; a short one is misread."""

_D = {"epsilon": "epsilon", "delta": "delta"}
_CROWD = {"k": "k"}
_METHODS = {
    one.label: one
    for one in (
        Entry("zealous", "zealous", {"guarantee": "probabilistic"}, {**_D, "d": "max_items"}),
        Entry("click-graph", "click-graph", {}, {**_D, "d": "max_queries"}),
        Entry("k-query", "k-query", {}, _CROWD),
        Entry("k-session", "k-session", {}, _CROWD),
        Entry("k-keyword", "k-keyword", {}, _CROWD),
        Entry("scrub", "ad-hoc", {"steps": ("delete-users", "scrub")}, {}),
        Entry("semantic", "semantic", {}, {"epsilon": "epsilon"}),
    )
}


def _measure_cell(original: Original, given: Given, cell: Cell) -> Iterator[Row]:
    log = original.log
    attack, method = ExposureAttack(), cell["method"]
    if method == LOG:
        yield from _exposure_rows(_attack_subjects(attack.run([log]))[0], MEASURED, None)
    elif method == HASHED:
        yield from _hashed_rows(log, cell["n"])
    else:
        # One attack on all releases: which names are stars' is looked up in the log once.
        releases = list(_METHODS[method].releases(log, cell, given.repeats if method in PRIVATE else 1))
        for repeat, found in enumerate(_attack_subjects(attack.run(releases, log))):
            yield from _exposure_rows(found, MEASURED, repeat)


def _attack_subjects(result: AttackResult) -> list[Mapping[str, Any]]:
    return list(result.figures["subjects"])


def _hashed_rows(log: SearchLog, n: int) -> Iterator[Row]:
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
    found = _attack_subjects(ExposureAttack().run([release], hidden, *maps))[0]
    yield from _exposure_rows(found, BELIEVED, 0)
    yield from _exposure_rows(found, CORRECT, 0, "correct")
    yield from _exposure_rows(_attack_subjects(ExposureAttack().run([hidden]))[0], RAW, None)


def _exposure_rows(
    one: Mapping[str, Any], how: str, repeat: int | None, counts: str = "counts"
) -> Iterator[Row]:
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


def _largest_exposure(
    found: Findings, method: str, category: str, metric: str = QUERIES, how: str = MEASURED
) -> float:
    """The largest number over all releases of a method; 0 if there is none."""
    rows = found.where(method=method, category=category, metric=metric, how=how)
    return max((row["value"] for row in rows), default=0.0)


def _people_in_the_log(found: Findings) -> Iterator[Check]:
    before = _largest_exposure(found, LOG, "non-star")
    if LOG in found.values("method"):
        yield Check(
            "the log names people who are not famous", before > 0, f"in {before:,.0f} different queries"
        )


def _no_dangerous_pair(found: Findings) -> Iterator[Check]:
    pairs = [pair for pair in DANGEROUS if pair.startswith("non-star")]
    for method in (one for one in PRIVATE if one in found.values("method")):
        left = sum(
            _largest_exposure(found, method, pair, metric) for pair in pairs for metric in (QUERIES, SESSIONS)
        )
        yield Check(
            f"{method} publishes no dangerous pair with a non-star",
            left == 0,
            f"{left:,.0f} in the worst release, and {_largest_exposure(found, method, 'non-star'):,.0f} non-star names",
        )


def _check_scrubbed(found: Findings) -> Iterator[Check]:
    if {LOG, "scrub"} <= set(found.values("method")):
        left = _largest_exposure(found, "scrub", "identifier")
        after, before = (_largest_exposure(found, method, "non-star", SESSIONS) for method in ("scrub", LOG))
        yield Check(
            "scrubbing removes identifiers and leaves names",
            left == 0 and shapes.never_below([after], [0.99 * before]),
            f"{left:,.0f} identifiers are left; {after:,.0f} sessions name a non-star, {before:,.0f} did before",
        )


def _check_crowds(found: Findings) -> Iterator[Check]:
    if {LOG, "k-query"} <= set(found.values("method")):
        people, before = (_largest_exposure(found, method, "person") for method in ("k-query", LOG))
        says, told = (
            "k-query still names people",
            f"in {people:,.0f} different queries, {before:,.0f} of the log",
        )
        yield too_small(says, told) if not people and before < _NAMED else Check(says, people > 0, told)


def _needs_cell(given: Given, cell: Cell) -> bool:
    """Nothing but the hashed log depends on how many hashes are turned back."""
    return bool(cell["method"] == HASHED or cell["n"] == given.axes["n"][0])


def _read_in_hashes(found: Findings) -> Iterator[Check]:
    if HASHED not in found.values("method"):
        return
    found = _most_hashes(found)
    read = {
        how: _largest_exposure(found, HASHED, "person", SESSIONS, how) for how in (RAW, BELIEVED, CORRECT)
    }
    said = (
        f"the attacker believes that {read[BELIEVED]:,.0f} sessions name a person, and is right about "
        f"{read[CORRECT]:,.0f}; {read[RAW]:,.0f} do"
    )
    yield Check("hashes that were turned back into words name people", read[BELIEVED] > 0, said)
    if _largest_exposure(found, HASHED, ALL, OCCURRENCES, RAW) >= _LONG:
        yield Check("most of what is read in hashes is right", read[CORRECT] > read[BELIEVED] / 2, said)


def _most_hashes(found: Findings) -> Findings:
    """The hashed log with the most hashes turned back, and everything else."""
    most = max(one["n"] for one in found)
    return found.chosen(lambda one: one["method"] != HASHED or one["n"] == most)


def _correct_findings(found: Findings) -> Findings:
    """Releases as they are read; of hashes what is read correctly."""
    chosen = _most_hashes(found).chosen(
        lambda one: one["how"] == (CORRECT if one["method"] == HASHED else MEASURED)
    )
    ordered = sorted((one for one in chosen if one["category"] in LABELS), key=_sort_place)
    return Findings(tuple(sorted(ordered, key=lambda one: found.values("method").index(one["method"]))))


def _sort_place(one: Row) -> int:
    return list(LABELS).index(one["category"])


def _method_names(found: Findings) -> str:
    left = max((_largest_exposure(found, method, "non-star") for method in PRIVATE), default=0.0)
    return (
        f"{left:,.0f} queries of private histograms name a person who is not famous; "
        f"{_largest_exposure(found, LOG, 'non-star'):,.0f} queries of the log do"
    )


def _few_hashes(found: Findings) -> Findings:
    """What the fewest hashes uncover, and what is there."""
    hashed = found.where(method=HASHED)
    fewest = hashed.where(n=min(hashed.values("n"), default=0))
    words = {
        RAW: "in the hashed half",
        CORRECT: f"{min(hashed.values('n'), default=0):,} hashes, read correctly",
    }
    named = [
        {**one, "read": words[one["how"]]}
        for how in words
        for one in sorted(
            fewest.where(how=how).chosen(lambda one: one["category"] in LABELS), key=_sort_place
        )
    ]
    return Findings(tuple(named))


def _in_sessions(found: Findings) -> str:
    chosen = _few_hashes(found).where(category="non-star", metric=SESSIONS)
    seen = {how: max((one["value"] for one in chosen.where(how=how)), default=0.0) for how in (CORRECT, RAW)}
    return f"A non-star's name is read in {seen[CORRECT]:,.0f} of the {seen[RAW]:,.0f} sessions that have one"


EXPOSURE = Study(
    name="exposure",
    question="What can be read about people in a log, and in its releases?",
    paper="1,000 hashes, turned back into words, uncover a non-star's name in 2,960 sessions, "
    "and one beside a place in 83",
    mechanism="several",
    axes=(
        Axis("method", (LOG, *_METHODS, HASHED), "the log itself, or how it was published", closed=True),
        Axis("epsilon", (2.0,), "privacy loss of private releases"),
        Axis("delta", (1e-5,), "probability that the loss is exceeded"),
        Axis("d", (5,), "queries that one user may add"),
        Axis("k", (5,), "users who must share everything that is published"),
        Axis(
            "n", (1_000, 8_000), "most hashes that are turned back into words, as in the paper's two tables"
        ),
    ),
    metrics=(
        Metric(SESSIONS, "sessions", "sessions (or what else links texts) in which it appears"),
        Metric(QUERIES, "different queries", "different texts in which it appears"),
        Metric(OCCURRENCES, "occurrences", "how often these texts occur, by the release's own counts"),
    ),
    repeats=5,
    measure=_measure_cell,
    only=_needs_cell,
    figures=(
        Bars(
            name="queries",
            title=_method_names,
            under="different queries; the largest number where there are several releases",
            metric=QUERIES,
            among=_correct_findings,
            shown={"category": LABELS, "method": {HASHED: f"{HASHED}, read correctly"}},
            item="category",
            panel="method",
            x_title="different queries",
            printed=Printed(source="Kumar, table 7", lines=(({}, printed.QUERIES),)),
        ),
        Bars(
            name="sessions",
            title=_in_sessions,
            under="sessions that hold it; half of the users' words were hashed, and turned back by the other half's",
            metric=SESSIONS,
            among=_few_hashes,
            shown={"category": LABELS},
            item="category",
            panel="read",
            x_title="sessions",
            printed=Printed(source="Kumar, table 6", lines=(({}, printed.SESSIONS),)),
        ),
    ),
    checks=expected(_people_in_the_log, _no_dangerous_pair, _check_scrubbed, _check_crowds, _read_in_hashes),
    labels=("category",),
)
