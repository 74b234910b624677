"""Larger vocabularies from smaller ones: expansion against plain updates, with and without pruning by features."""

from __future__ import annotations

from collections.abc import Iterator

from queryveil.attack.inversion import Inversion, Inverted
from queryveil.attack.inversion.judging import migration, near_misses, score, shape
from queryveil.charts.figures import Scale
from queryveil.study import hashed_halves as halves
from queryveil.study import shapes
from queryveil.study.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, Study
from queryveil.study.drawing import Curves
from queryveil.study.expectations import expected

EXPANDED, PRUNED, ONE, TWO = "expansion", "expansion-alpha-0.1", "one-update", "two-updates"
WAYS = (EXPANDED, PRUNED, ONE, TWO)
TOP, BOTTOM, BEFORE = "top-half", "bottom-half", "before-update"
_RARE = 8_000
"""From this size on, half of the words are rare in a log of some million queries."""
DEGREE, LEAST, MIGRATION, NEAR = "degree", "least-frequency", "rank-migration", "near-misses"


def _measure(hashed: halves.Hashed, given: Given, cell: Cell) -> Iterator[Row]:
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
    yield from halves.judged(inverted, hashed.truth)
    last = stages[-1]
    for name, low, high in ((TOP, 0, n // 2), (BOTTOM, n // 2, n)):
        yield halves.measured(name, score(last.last, hashed.truth, low, high).accuracy or 0.0)
    yield halves.measured(BEFORE, score(last.mappings[0], hashed.truth).accuracy or 0.0)
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


def _stages(found: Findings) -> Findings:
    """Every way, the halves of the first one, and the ceiling."""
    way = found.values("way")[0]
    parts = found.where(way=way).chosen(lambda one: one["metric"] in _HALVES)
    named = parts.changed(lambda one: {"metric": halves.ACCURACY, "way": f"{way}, {_HALVES[one['metric']]}"})
    own = halves.with_ceiling(found, "way")
    return Findings(
        (*own.chosen(lambda one: one["way"] != halves.CONTEXT), *named, *own.where(way=halves.CONTEXT))
    )


def _ranks(found: Findings) -> Findings:
    moved = found.where(metric=MIGRATION)
    return moved.changed(lambda one: {"rank": int(one["at"].split()[-1]), "of": "hashes"})


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
            WAYS,
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
    repeats=1,
    prepare=halves.largest_first,
    measure=_measure,
    figures=(
        Curves(
            name="stages",
            title="{line.first:.0%} of the words that can be found are found among {line.start:,} hashes, "
            "{line.last:.0%} among {line.end:,} ({way})",
            under="each size from half of it, and one update; two halves of one log by user, the second one hashed",
            metric=halves.ACCURACY,
            among=_stages,
            x=halves.BY_SIZE,
            y=halves.SHARE,
            by="way",
        ),
        Curves(
            name="migration",
            title="Frequency does not tell words apart: ranks differ by {line.first:,.0f} among the most frequent "
            "and by {line.last:,.0f} among the rarest",
            under="tenths of the hashes, the most frequent first",
            metric=MIGRATION,
            among=_ranks,
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
