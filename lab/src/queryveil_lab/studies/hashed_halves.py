"""What the studies of hash inversion share: two logs, the second one hashed, and which hash is which word."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from queryveil import CannotBeMet, SearchLog, TokenHash, UsageError, publish
from queryveil.extension import argument
from queryveil_lab.charts.figures import Scale
from queryveil_lab.inversion import Inverted, Statistics, TokenCounts
from queryveil_lab.inversion.judging import Score, ceiling, score, truth_of
from queryveil_lab.inversion.kinds import I32, L1
from queryveil_lab.studies.declaration import MEASURED, Cell, Findings, Given, Metric, Row

ACCURACY, MATCHABLE, CEILING = "accuracy", "matchable", "ceiling"
CONTEXT = "all others known"
"""What the ceiling is called where people read it: matching one to one can find more."""
ITERATIONS, SECONDS, QUERIES = "iterations", "seconds", "queries"
BY_ITERATION = "accuracy-by-iteration"
FOUND = (
    Metric(ACCURACY, "share", "share of the matchable hashes whose word is found"),
    Metric(
        MATCHABLE,
        "hashes",
        "hashes whose word is among the n most frequent of the reference and is not given",
    ),
)
WORK = (
    Metric(SECONDS, "s", "time that the whole inversion takes"),
    Metric(QUERIES, "queries", "queries in the smaller log"),
)
ENOUGH = 1_000_000
"""The number of queries in each log from which on what is expected holds."""
BY_SIZE = Scale("n", "most frequent hashes to be found (n)", log=True)
SHARE = Scale("value", "found, share of the matchable set", top=1.0)
NEAREST = Metric(
    CEILING,
    "share",
    "hashes nearest to their own word if all others are known; one-to-one matching can find more",
)


@dataclass(frozen=True, eq=False)
class Hashed:
    """A raw log and a hashed one as an attacker counts them, and the truth for whoever judges."""

    reference: TokenCounts
    target: TokenCounts
    truth: I32

    @classmethod
    def of(cls, reference: SearchLog, original: SearchLog) -> Hashed:
        """Hash the second log as `publish token-hash` does, and forget which is which but for the truth."""
        release = publish(original, TokenHash(sessions="drop"), i_understand=True)
        words = dict(
            zip(*(release.private["token-map"][name].to_pylist() for name in ("hash", "token")), strict=True)
        )
        raw, hashed = TokenCounts.of(reference), TokenCounts.of(release)
        return cls(raw, hashed, truth_of(hashed, raw, words))

    @property
    def least(self) -> int:
        return min(len(self.reference), len(self.target))

    @property
    def queries(self) -> int:
        """The number of queries in the shorter log."""
        return min(self.reference.queries, self.target.queries)

    @cached_property
    def _statistics_by_size(self) -> dict[int, tuple[Statistics, Statistics]]:
        return {}

    def at(self, n: int) -> tuple[Statistics, Statistics]:
        """Hashes and tokens; counted once, for the largest size, as long as sizes do not grow."""
        largest = max(self._statistics_by_size, default=0)
        if n > largest:
            self._statistics_by_size.clear()
            self._statistics_by_size[n] = self.target.at(n), self.reference.at(n)
            largest = n
        hashes, tokens = self._statistics_by_size[largest]
        return hashes.top(n), tokens.top(n)

    def ceiling(self, n: int, distance: str = L1, given: int = 0) -> Score:
        from queryveil_lab.inversion.matching import Sides

        return ceiling(Sides(*self.at(n), distance=distance), self.truth, given)


MOST_SPLITS = 64
"""Digits of the hash of a user: each splits a log in its own way."""


def split(log: SearchLog, run: int = 0) -> tuple[SearchLog, SearchLog]:
    """Two disjoint halves of a log by user, others for each run."""
    first = log.engine.sha256(log.table["user"]).substr(run, 1).isin(list("01234567"))
    in_source = log.engine.sha256(log.source["user"]).substr(run, 1).isin(list("01234567"))
    parts = [
        dataclasses.replace(log, normal=log.table.filter(one), source=log.source.filter(other))
        for one, other in ((first, in_source), (~first, ~in_source))
    ]
    if not all(part.users for part in parts):
        people = "1 user" if log.users == 1 else f"{log.users:,} users"
        raise CannotBeMet(
            f"the log has {people}, and two halves by user need at least two, one in each",
            "use a log of more users",
        )
    return parts[0], parts[1]


Splits = Sequence[Hashed]
"""A log in halves, once for each run."""


def splits(given: Given, largest: int) -> Splits:
    """The halves of a log, counted for the largest vocabulary; in further runs for the largest that is repeated."""
    asked = sorted(int(n) for n in given.axes["n"])
    repeated = [n for n in asked if n <= max(largest, asked[0])]
    made = []
    for run in range(given.repeats):
        hashed = halves(given.the_log, run)
        wanted = asked if run == 0 else repeated
        sizes(given, hashed, largest=wanted[-1])
        hashed.at(wanted[-1])
        made.append(hashed)
    return made


def in_splits(made: Splits, given: Given, n: int, largest: int) -> Iterator[tuple[int, Hashed]]:
    """The splits in which a vocabulary of this size is looked for: one if it is too large to be repeated."""
    first = min(int(one) for one in given.axes["n"])
    yield from enumerate(made if n <= max(largest, first) else made[:1])


def few_splits(given: Given, _: Sequence[Cell]) -> None:
    """Refuse more runs than there are ways to split a log."""
    if given.repeats > MOST_SPLITS:
        raise UsageError(
            f"each run splits the log in another way, and there are {MOST_SPLITS} ways",
            f"pass {argument('repeats', MOST_SPLITS)} or fewer",
        )


def told_splits(found: Findings) -> str:
    """How often a log was split, for below a figure."""
    runs, sizes = len(found.values("repeat")), found.values("n")
    most = max((n for n in sizes if len(found.where(n=n).values("repeat")) > 1), default=0)
    if runs == 1 or not most:
        return "one split"
    return f"means of {runs} splits" + (f" up to n = {most:,}, one beyond" if most < max(sizes) else "")


def with_ceiling(found: Findings, way: str) -> Findings:
    """Accuracies, and beside them the ceiling as a line of its own."""
    tops = found.where(metric=CEILING).chosen(lambda one: one["at"] in (None, L1))
    return Findings(
        (*found.where(metric=ACCURACY), *tops.changed(lambda _: {"metric": ACCURACY, way: CONTEXT}))
    )


def halves(log: SearchLog, run: int = 0) -> Hashed:
    """Two disjoint halves of a log by user, the second one hashed."""
    return Hashed.of(*split(log, run))


def sizes(given: Given, hashed: Hashed, name: str = "n", largest: int | None = None) -> None:
    """Refuse vocabularies that a log does not have, before any work."""
    largest = max(int(n) for n in given.axes[name]) if largest is None else largest
    if largest > hashed.least:
        raise UsageError(
            f"'{name}' goes up to {largest:,}, and half of the log has {hashed.least:,} different words",
            f"pass smaller sizes with {argument('vary', {str(name): ['...']})}, or a longer log",
        )


def measured(metric: str, value: float, label: str | None = None) -> Row:
    return {"how": MEASURED, "metric": metric, "value": float(value), "at": label}


def in_run(run: int, rows: Iterable[Row]) -> Iterator[Row]:
    """The same rows with the number of their run."""
    return ({**row, "repeat": run} for row in rows)


def judged(inverted: Inverted, truth: I32, given: int = 0) -> Iterator[Row]:
    """Accuracy and matchable set of the last stage, without hashes whose words were given, and what it took."""
    found = score(inverted.stages[-1].last, truth, given)
    yield measured(ACCURACY, found.accuracy or 0.0)
    yield measured(MATCHABLE, found.matchable)
    yield measured(ITERATIONS, inverted.iterations)
    yield measured(SECONDS, inverted.seconds)


def long_enough(found: Findings) -> Findings:
    """The findings, if the logs had as many queries as the expectations are about; otherwise nothing."""
    counts = [row["value"] for row in found.where(metric=QUERIES)]
    return found if counts and min(counts) >= ENOUGH else Findings(())
