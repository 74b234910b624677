"""Larger vocabularies from smaller ones: expansion against plain updates, with and without pruning by features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queryveil.attack.inversion import Inversion, Inverted
from queryveil.attack.inversion.judging import migration, near_misses, score, shape
from queryveil.charts import figures
from queryveil.charts.figures import Scale, Words
from queryveil.errors import UsageError
from queryveil.study import shapes
from queryveil.study.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, Study
from queryveil.study.expectations import expected
from queryveil.study.hashed_halves import (
    ACCURACY,
    CEILING,
    CONTEXT,
    FOUND,
    ITERATIONS,
    QUERIES,
    WORK,
    Hashed,
    halves,
    judged,
    long_enough,
    measured,
    sizes,
)

EXPANDED, PRUNED, ONE, TWO = "expansion", "expansion-alpha-0.1", "one-update", "two-updates"
WAYS = (EXPANDED, PRUNED, ONE, TWO)
TOP, BOTTOM, BEFORE = "top-half", "bottom-half", "before-update"
_RARE = 8_000
"""From this size on, half of the words are rare in a log of some million queries."""
DEGREE, LEAST, MIGRATION, NEAR = "degree", "least-frequency", "rank-migration", "near-misses"


def _prepare(given: Given) -> Hashed:
    unknown = {str(way) for way in given.axes["way"]} - set(WAYS)
    if unknown:
        raise UsageError(f"study expansion knows no way '{min(unknown)}'", f"use one of {', '.join(WAYS)}")
    if len(given.axes["first"]) > 1:
        raise UsageError("study expansion begins with one size", "pass one with --vary first=")
    hashed = halves(given.the_log)
    sizes(given, hashed)
    hashed.at(max(int(n) for n in given.axes["n"]))
    return hashed


def _measure(hashed: Hashed, given: Given, cell: Cell) -> Iterator[Row]:
    way, n = cell["way"], cell["n"]
    first = min(cell["first"], n)
    plain = {ONE: 1, TWO: 2}
    attack = Inversion(
        n=n if way in plain else first,
        expand_to=None if way in plain else n,
        iterations=plain.get(way, 10),
        alpha=0.1 if way == PRUNED else 1.0,
    )
    hashes, tokens = hashed.at(n)
    stages = tuple(attack.stages(hashes, tokens, attack.sizes(hashed.target, hashed.reference)))
    inverted = Inverted(hashed.target.tokens, hashed.reference.tokens, stages)
    yield from judged(inverted, hashed.truth)
    last = stages[-1]
    for name, low, high in ((TOP, 0, n // 2), (BOTTOM, n // 2, n)):
        yield measured(name, score(last.last, hashed.truth, low, high).accuracy or 0.0)
    yield measured(BEFORE, score(last.mappings[0], hashed.truth).accuracy or 0.0)
    if way != given.axes["way"][0]:
        return
    near, wrong = near_misses(tokens, last.last, hashed.truth)
    yield measured(NEAR, near / max(1, wrong))
    yield measured(CEILING, hashed.ceiling(n).accuracy or 0.0)
    yield measured(QUERIES, hashed.queries)
    for side, one in (("hashes", hashes), ("words", tokens)):
        yield measured(DEGREE, shape(one)["degree"], side)
        yield measured(LEAST, shape(one)["least_frequency"], side)
    if n == max(given.axes["n"]):
        for low, high, ranks in migration(hashed.truth, n):
            yield measured(MIGRATION, ranks, f"{low + 1} to {high}")


def _near_the_ceiling(found: Findings) -> Iterator[Check]:
    found = long_enough(found)
    tops = found.where(metric=CEILING).along("n")
    for n, value in found.where(metric=ACCURACY, way=EXPANDED).along("n").items():
        yield Check(
            f"expansion finds four fifths of what is nearest with all others known, or more (n = {n:,})",
            shapes.never_below([value], [0.8 * tops[n]]),
            f"{value:.3f} are found, {tops[n]:.3f} are nearest",
        )


def _rare_words(found: Findings) -> Iterator[Check]:
    found = long_enough(found).where(way=EXPANDED)
    largest = max(found.where(metric=ACCURACY).values("n"), default=0)
    if largest >= _RARE:
        top, bottom = (found.where(metric=name, n=largest).value for name in (TOP, BOTTOM))
        yield Check(
            f"rare words are found less surely than frequent ones (n = {largest:,})",
            shapes.below([bottom], [top]),
            f"top half {top:.3f}, bottom half {bottom:.3f}",
        )


def _figures(found: Findings) -> dict[str, Any]:
    accuracy = found.where(metric=ACCURACY)
    lines: list[Row] = [
        {"n": n, "accuracy": value, "which": way}
        for way in found.values("way")
        for n, value in accuracy.where(way=way).along("n").items()
    ]
    way = found.values("way")[0]
    for name, said in ((TOP, "top half"), (BOTTOM, "bottom half"), (CEILING, CONTEXT)):
        lines += [
            {"n": n, "accuracy": value, "which": f"{way}, {said}" if name != CEILING else said}
            for n, value in found.where(metric=name, way=way).along("n").items()
        ]
    ticks = tuple(sorted({one["n"] for one in lines}))
    curve = accuracy.where(way=way).along("n")
    made = {
        "stages": figures.curves(
            lines,
            lines,
            x=Scale("n", "most frequent hashes to be found (n)", log=True, ticks=ticks, format=",d"),
            y=Scale("accuracy", "found, share of the matchable set", top=1.0),
            by="which",
            by_title="way",
            words=Words(
                f"{100 * curve[min(curve)]:.0f} % of those that could be are found of {min(curve):,} hashes, "
                f"{100 * curve[max(curve)]:.0f} % of {max(curve):,} ({way})",
                "each size from half of it, and one update; two disjoint halves of one log by user, one of them hashed",
            ),
        )
    }
    moved = [
        {"rank": int(row["at"].split()[-1]), "ranks": row["value"], "log": "hashes"}
        for row in found.where(metric=MIGRATION)
    ]
    if moved:
        made["migration"] = figures.curves(
            moved,
            moved,
            x=Scale("rank", "rank of a hash, up to", format=",d"),
            y=Scale("ranks", "distance to the rank of its word, mean"),
            by="log",
            by_title="of",
            words=Words(
                f"Frequency does not tell words apart: ranks differ by {moved[0]['ranks']:,.0f} among the most "
                f"frequent and by {moved[-1]['ranks']:,.0f} among the rarest",
                "tenths of the hashes, the most frequent first",
            ),
        )
    return made


EXPANSION = Study(
    name="expansion",
    question="Can the rarer words be found from the frequent ones?",
    paper="n = 2,000: 0.96 with alpha 0.1, 0.98 without, 0.94 and 0.98 by one and two plain updates; 0.68 at 16,000, "
    "the rarer half of each size being the harder",
    mechanism="token-hash",
    axes=(
        Axis("way", WAYS, "expansion with and without pruning by features, or plain updates from nodestart"),
        Axis("n", (2_000, 4_000, 8_000, 16_000), "most frequent hashes and words"),
        Axis("first", (1_000,), "size that expansion begins with"),
    ),
    metrics=(
        *FOUND,
        Metric(TOP, "share", "accuracy among the more frequent half"),
        Metric(BOTTOM, "share", "accuracy among the less frequent half"),
        Metric(BEFORE, "share", "accuracy of the last size before its update"),
        Metric(
            CEILING, "share", "hashes nearest to their word if all others are known; one to one can find more"
        ),
        Metric(NEAR, "share", "wrong words among the 10 that keep most nearly the company of the true one"),
        Metric(DEGREE, "words", "words that a word comes together with, on average"),
        Metric(LEAST, "occurrences", "of the least frequent word"),
        Metric(MIGRATION, "ranks", "between a hash and its word, on average, by tenths of the largest size"),
        Metric(ITERATIONS, "updates", "of the first size"),
        *WORK,
    ),
    repeats=1,
    prepare=_prepare,
    measure=_measure,
    figures=_figures,
    checks=expected(_near_the_ceiling, _rare_words),
    needs=("user",),
    labels=("at",),
)
