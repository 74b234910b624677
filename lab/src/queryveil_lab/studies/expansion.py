"""Larger vocabularies from smaller ones: expansion against plain updates, with and without pruning by features."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from queryveil_lab.charts.figures import Scale
from queryveil_lab.inversion import Inversion, Inverted, Stage, Statistics
from queryveil_lab.inversion.judging import migration, near_misses, score, shape
from queryveil_lab.inversion.kinds import HELLINGER, I32, L1, LOG, PLAIN
from queryveil_lab.studies import hashed_halves as halves
from queryveil_lab.studies import printed, shapes
from queryveil_lab.studies.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, Study
from queryveil_lab.studies.drawing import Curves, Printed
from queryveil_lab.studies.expectations import expected

EXPANDED, PRUNED, ONE, TWO = "expansion", "expansion-alpha-0.1", "one-update", "two-updates"
LOGARITHMS, HELLINGER_TOO = "expansion-alpha-0.1-log", "expansion-hellinger"
WAYS: dict[str, dict[str, Any]] = {
    EXPANDED: {},
    PRUNED: {"alpha": 0.1},
    LOGARITHMS: {"alpha": 0.1, "features": LOG},
    HELLINGER_TOO: {"distance": HELLINGER},
    ONE: {"iterations": 1},
    TWO: {"iterations": 2},
}
"""One thing is different in each from expansion as in the paper, or from plain updates."""
TOP, BOTTOM, BEFORE, INSIDE = "top-half", "bottom-half", "before-update", "inside"
_RARE = 8_000
"""From this size on, half of the words are rare in a log of some million queries."""
_LARGEST_REPEATED = 4_000
"""Larger vocabularies are looked for in one split of the log."""
DEGREE, LEAST, MIGRATION, NEAR = "degree", "least-frequency", "rank-migration", "near-misses"


def _split_log(given: Given) -> halves.Splits:
    return halves.splits(given, _LARGEST_REPEATED)


def _measure_cell(splits: halves.Splits, given: Given, cell: Cell) -> Iterator[Row]:
    for run, hashed in halves.in_splits(splits, given, cell["n"], _LARGEST_REPEATED):
        yield from halves.in_run(run, _expansion_rows(hashed, given, cell))


def _expansion_rows(hashed: halves.Hashed, given: Given, cell: Cell) -> Iterator[Row]:
    way, n = cell["way"], cell["n"]
    first = min(cell["first"], n)
    hashes, tokens = hashed.at(n)
    stages = tuple(_stages_of(way, hashes, tokens, first, n))
    inverted = Inverted(hashed.target.tokens, hashed.reference.tokens, stages)
    yield from halves.judged(inverted, hashed.truth)
    last = stages[-1]
    for name, low, high in ((TOP, 0, n // 2), (BOTTOM, n // 2, n)):
        yield halves.measured(name, score(last.last, hashed.truth, low, high).accuracy or 0.0)
    yield halves.measured(BEFORE, score(last.mappings[0], hashed.truth).accuracy or 0.0)
    if way in (PRUNED, LOGARITHMS):
        yield halves.measured(INSIDE, _matchable_share(WAYS[way], hashes, tokens, hashed.truth))
    if way != given.axes["way"][0]:
        return
    near, wrong = near_misses(tokens, last.last, hashed.truth)
    yield halves.measured(NEAR, near / max(1, wrong))
    yield halves.measured(halves.CEILING, hashed.ceiling(n).accuracy or 0.0)
    yield halves.measured(halves.QUERIES, hashed.queries)
    for side, one in (("hashes", hashes), ("words", tokens)):
        yield halves.measured(DEGREE, shape(one)["degree"], side)
        yield halves.measured(LEAST, shape(one)["least_frequency"], side)
    if n == max(given.axes["n"]):
        for low, high, ranks in migration(hashed.truth, n):
            yield halves.measured(MIGRATION, ranks, f"{low + 1} to {high}")


def _stages_of(way: str, hashes: Statistics, tokens: Statistics, first: int, n: int) -> Iterator[Stage]:
    """As the paper's four experiments: pruning is for expansion alone, and the first size is found without."""
    from queryveil_lab.inversion.matching import Sides

    how: dict[str, Any] = {"distance": L1, **WAYS[way]}
    if way in (ONE, TWO):
        yield from Inversion(n=n, **how).stages(hashes, tokens, [n])
        return
    sizes = Inversion(n=first, expand_to=n, **how).doubled
    whole = Inversion(n=first, **{**how, "alpha": 1.0})
    (stage,) = whole.stages(hashes.top(first), tokens.top(first), [first])
    yield stage
    mapping = stage.last
    for size in sizes[1:]:
        began = time.perf_counter()
        sides = Sides(
            hashes.top(size),
            tokens.top(size),
            features=how.get("features", PLAIN),
            distance=how["distance"],
            alpha=how.get("alpha", 1.0),
        )
        expanded = sides.greedy(sides.by_known_part(mapping))
        mapping = sides.greedy(sides.by_company(expanded))
        yield Stage((expanded, mapping), time.perf_counter() - began)


def _matchable_share(how: dict[str, Any], hashes: Statistics, tokens: Statistics, truth: I32) -> float:
    """Matchable hashes whose own word is among the nearest by features that pruning leaves."""
    from queryveil_lab.inversion.matching import Sides

    sides = Sides(hashes, tokens, features=how.get("features", PLAIN), alpha=how["alpha"])
    n = len(hashes)
    known = np.flatnonzero((truth[:n] >= 0) & (truth[:n] < n))
    apart = np.abs(sides.hash_features[known] - sides.token_features[truth[known]]).sum(axis=1)
    return float((apart <= sides.reach[known] * (1 + 1e-5)).mean()) if len(known) else 0.0


def _near_the_ceiling(found: Findings) -> Iterator[Check]:
    found = halves.long_enough(found)
    tops = found.where(metric=halves.CEILING).along("n")
    for n, value in found.where(metric=halves.ACCURACY, way=EXPANDED).along("n").items():
        yield Check(
            f"expansion finds at least four fifths of the hashes that are nearest if all others are known (n = {n:,})",
            shapes.never_below([value], [0.8 * tops[n]]),
            f"{value:.3f} are found, {tops[n]:.3f} are nearest to their own word",
        )


def _rare_words(found: Findings) -> Iterator[Check]:
    found = halves.long_enough(found).where(way=EXPANDED)
    largest = max(found.where(metric=halves.ACCURACY).values("n"), default=0)
    if largest >= _RARE:
        top, bottom = (found.where(metric=name, n=largest).value for name in (TOP, BOTTOM))
        yield Check(
            f"rare words are found less often than frequent ones (n = {largest:,})",
            shapes.below([bottom], [top]),
            f"top half {top:.3f}, bottom half {bottom:.3f}",
        )


def _stage_findings(found: Findings) -> Findings:
    """Every way but one that finds as much as the first, the halves of the first, and the ceiling."""
    found = found.chosen(lambda one: one["way"] != HELLINGER_TOO)
    way = found.values("way")[0]
    parts = found.where(way=way).chosen(lambda one: one["metric"] in _HALVES)
    named = parts.changed(lambda one: {"metric": halves.ACCURACY, "way": f"{way}, {_HALVES[one['metric']]}"})
    own = halves.with_ceiling(found, "way")
    return Findings(
        (*own.chosen(lambda one: one["way"] != halves.CONTEXT), *named, *own.where(way=halves.CONTEXT))
    )


def _rank_findings(found: Findings) -> Findings:
    moved = found.where(metric=MIGRATION)
    return moved.changed(lambda one: {"rank": int(one["at"].split()[-1]), "of": "hashes"})


def _halving_text(found: Findings) -> str:
    return (
        "each size from half of it, and one update; two halves of one log by user, the second one hashed; "
        f"{halves.told_splits(found)}"
    )


_HALVES = {TOP: "top half", BOTTOM: "bottom half"}

EXPANSION = Study(
    name="expansion",
    question="Can the rarer words be found from the frequent ones?",
    paper="at n = 2,000 expansion finds 0.96 with alpha 0.1 and 0.98 without, one and two plain updates 0.94 and 0.98; "
    "0.68 at 16,000, and the rarer half is harder at each size",
    mechanism="token-hash",
    axes=(
        Axis(
            "way",
            tuple(WAYS),
            "expansion with and without pruning by features, or plain updates from nodestart",
            closed=True,
        ),
        Axis("n", (2_000, 4_000, 8_000, 16_000), "most frequent hashes and words"),
        Axis("first", (1_000,), "size that expansion begins with", single=True),
    ),
    metrics=(
        *halves.FOUND,
        Metric(TOP, "share", "accuracy among the more frequent half"),
        Metric(BOTTOM, "share", "accuracy among the less frequent half"),
        Metric(BEFORE, "share", "accuracy at the last size, before its update"),
        Metric(
            INSIDE,
            "share",
            "matchable hashes whose own word is among the tenth of the words that alpha 0.1 leaves",
        ),
        halves.NEAREST,
        Metric(
            NEAR, "share", "share of wrong words that are among the 10 with company most like the true word's"
        ),
        Metric(DEGREE, "words", "words that appear together with a word, on average"),
        Metric(LEAST, "occurrences", "how often the least frequent word occurs"),
        Metric(
            MIGRATION,
            "ranks",
            "mean distance between the ranks of a hash and its word, by tenths of the hashes",
        ),
        Metric(halves.ITERATIONS, "updates", "updates at the first size"),
        *halves.WORK,
    ),
    repeats=3,
    prepare=_split_log,
    ahead=halves.few_splits,
    measure=_measure_cell,
    figures=(
        Curves(
            name="stages",
            title="{line.first:.2f} of the words that can be found are found among {line.start:,} hashes, "
            "{line.last:.2f} among {line.end:,} ({way})",
            under=_halving_text,
            metric=halves.ACCURACY,
            among=_stage_findings,
            x=halves.BY_SIZE,
            y=halves.SHARE,
            by="way",
            printed=Printed(
                source="Kumar et al. 2007, table 3",
                lines=(
                    ({"way": "expansion"}, {n: one for n, one in printed.EXPANSION.items() if n > 1_000}),
                ),
            ),
        ),
        Curves(
            name="migration",
            title="Frequency does not tell words apart: ranks differ by {line.first:,.0f} among the most frequent "
            "and by {line.last:,.0f} among the rarest",
            under="tenths of the hashes, the most frequent first",
            metric=MIGRATION,
            among=_rank_findings,
            x=Scale("rank", "rank of a hash, up to"),
            y=Scale("value", "mean distance to the rank of its word"),
            by="of",
            least=1,
            ticks=False,
        ),
    ),
    checks=expected(_near_the_ceiling, _rare_words),
    needs=("user",),
    labels=("at",),
)
