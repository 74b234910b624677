"""How many hashed words are found again: update rules, starts and vocabulary sizes on two halves of one log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queryveil.attack.inversion import Inversion, Inverted
from queryveil.attack.inversion.judging import score
from queryveil.attack.inversion.kinds import (
    COSINE,
    FREQUENCY,
    GREEDY,
    HEAP,
    L1,
    L2,
    MARRIAGE,
    MINCOST,
    RANDOM,
    RANKS,
)
from queryveil.charts import figures
from queryveil.charts.figures import Scale, Words
from queryveil.errors import UsageError
from queryveil.study import shapes
from queryveil.study.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, Study
from queryveil.study.expectations import expected
from queryveil.study.hashed_halves import (
    ACCURACY,
    BY_ITERATION,
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

EXPANSION, LOGARITHMS, PRUNED = "expansion", "logarithms", "alpha-0.1"
WAYS: dict[str, dict[str, Any]] = {
    GREEDY: {},
    MINCOST: {"update": MINCOST},
    RANKS: {"update": RANKS},
    MARRIAGE: {"update": MARRIAGE},
    HEAP: {"update": HEAP},
    LOGARITHMS: {"features": "log"},
    PRUNED: {"alpha": 0.1},
    FREQUENCY: {"start": FREQUENCY},
    RANDOM: {"start": RANDOM},
    EXPANSION: {},
}
"""One thing is different from nodestart and score-greedy in each."""
RULES = (GREEDY, MINCOST, RANKS, MARRIAGE)
_LARGEST_PLAIN = 8_000
"""Beyond it only expansions are run: the paper's rule too."""
_LARGEST_START = 2_000
"""Starts are compared up to this size."""
_CLOSE = 0.05


def _prepare(given: Given) -> Hashed:
    unknown = {str(way) for way in given.axes["way"]} - WAYS.keys()
    if unknown:
        raise UsageError(
            f"study hash-inversion knows no way '{min(unknown)}'", f"use one of {', '.join(WAYS)}"
        )
    hashed = halves(given.the_log)
    sizes(given, hashed)
    hashed.at(max(int(n) for n in given.axes["n"]))
    return hashed


def _measure(hashed: Hashed, given: Given, cell: Cell) -> Iterator[Row]:
    way, n = cell["way"], cell["n"]
    first = min(int(one) for one in given.axes["n"])
    limit = {EXPANSION: n, FREQUENCY: _LARGEST_START, RANDOM: _LARGEST_START}.get(way, _LARGEST_PLAIN)
    if n > max(limit, first):
        return
    attack = Inversion(
        **WAYS[way], n=first if way == EXPANSION else n, expand_to=n if way == EXPANSION else None
    )
    inverted = Inverted(
        hashed.target.tokens,
        hashed.reference.tokens,
        tuple(attack.stages(*hashed.at(n), attack.sizes(hashed.target, hashed.reference))),
    )
    yield from judged(inverted, hashed.truth)
    if way != EXPANSION:
        for number, mapping in enumerate(inverted.stages[0].mappings):
            found = score(mapping, hashed.truth)
            yield measured(BY_ITERATION, found.accuracy or 0.0, str(number))
    if way == GREEDY or (way == EXPANSION and n > _LARGEST_PLAIN):
        for distance in (L1, L2, COSINE):
            yield measured(CEILING, hashed.ceiling(n, distance).accuracy or 0.0, distance)
        yield measured(QUERIES, hashed.queries)


# -- expectations --------------------------------------------------------------------------------------------


def by_iteration(found: Findings, way: str, n: int) -> list[float]:
    """Accuracy at the start and after each update."""
    rows = found.where(way=way, n=n, metric=BY_ITERATION)
    return [row["value"] for row in sorted(rows, key=lambda row: int(row["at"]))]


def _updates_help(found: Findings) -> Iterator[Check]:
    n = min(found.values("n"))
    for way in (GREEDY, FREQUENCY):
        if curve := by_iteration(found, way, n):
            yield Check(
                f"updates find more than the start did ({way}, n = {n:,})",
                shapes.ends_higher(curve),
                f"from {curve[0]:.3f} to {curve[-1]:.3f} in {len(curve) - 1} updates",
            )


def _nearly_all(found: Findings) -> Iterator[Check]:
    n = min(found.values("n"))
    greedy = long_enough(found).where(metric=ACCURACY, way=GREEDY, n=n)
    if n <= 1000 and greedy:
        top = found.where(metric=CEILING, way=GREEDY, n=n, at=L1).value
        yield Check(
            f"nodestart and score-greedy find 0.95 of the matchable set (n = {n:,})",
            greedy.value >= 0.95,
            f"{greedy.value:.3f}; with all others known {top:.3f} are nearest to their word",
        )


def _frequency_alone(found: Findings) -> Iterator[Check]:
    n = min(found.values("n"))
    if curve := by_iteration(long_enough(found), FREQUENCY, n):
        yield Check(
            f"frequency before any update stays below 0.2 (n = {n:,})", curve[0] < 0.2, f"{curve[0]:.3f}"
        )


def _any_rule(found: Findings) -> Iterator[Check]:
    accuracy = long_enough(found).where(metric=ACCURACY)
    for size in accuracy.values("n"):
        rules = {way: one.value for way in RULES if len(one := accuracy.where(way=way, n=size))}
        if len(rules) > 1:
            yield Check(
                f"the update rules are within {_CLOSE:g} of each other (n = {size:,})",
                shapes.stays(list(rules.values()), noise=_CLOSE),
                ", ".join(f"{way} {value:.3f}" for way, value in rules.items()),
            )


# -- figures -------------------------------------------------------------------------------------------------


def _figures(found: Findings) -> dict[str, Any]:
    made = {"rules": _by_size(found)}
    if any(len(by_iteration(found, way, min(found.values("n")))) > 1 for way in (FREQUENCY, RANDOM, GREEDY)):
        made["starts"] = _by_update(found)
    if found.where(way=PRUNED, metric=ACCURACY):
        made["pruning"] = _pruned(found)
    return made


def _pruned(found: Findings) -> Any:
    chosen = found.where(metric=ACCURACY)
    said = {GREEDY: "all words", PRUNED: "the nearest tenth by features"}
    lines: list[Row] = [
        {"n": n, "accuracy": value, "candidates": said[way]}
        for way in said
        for n, value in chosen.where(way=way).along("n").items()
    ]
    pruned, whole = (chosen.where(way=way).along("n") for way in (PRUNED, GREEDY))
    most = max(pruned)
    beside = f" instead of {whole[most]:.2f}" if most in whole else ""
    return figures.curves(
        lines,
        lines,
        x=_sizes(lines),
        y=Scale("accuracy", "found, share of the matchable set", top=1.0),
        by="candidates",
        by_title="candidates of a hash",
        words=Words(
            f"With a tenth of the words as candidates {pruned[most]:.2f}{beside} of {most:,} are found",
            "alpha 0.1 and 1; nodestart, score-greedy",
        ),
    )


def _sizes(lines: list[dict[str, Any]]) -> Scale:
    ticks = tuple(sorted({one["n"] for one in lines}))
    return Scale("n", "most frequent hashes to be found (n)", log=True, ticks=ticks, format=",d")


def _by_size(found: Findings) -> Any:
    chosen = found.where(metric=ACCURACY)
    shown = [way for way in (*RULES, HEAP, EXPANSION) if len(chosen.where(way=way))]
    lines: list[Row] = [
        {"n": n, "accuracy": value, "way": way}
        for way in shown
        for n, value in chosen.where(way=way).along("n").items()
    ]
    tops = found.where(metric=CEILING, at=L1).along("n")
    lines += [{"n": n, "accuracy": value, "way": CONTEXT} for n, value in tops.items()]
    best = max((one for one in lines if one["way"] != CONTEXT), key=lambda one: (one["n"], one["accuracy"]))
    return figures.curves(
        lines,
        lines,
        x=_sizes(lines),
        y=Scale("accuracy", "found, share of the matchable set", top=1.0),
        by="way",
        by_title="way",
        words=Words(
            f"Of {best['n']:,} hashes {100 * best['accuracy']:.0f} % of those are found that could be "
            f"({best['way']})",
            f"two disjoint halves of one log by user, one of them hashed; {CONTEXT}: first choices that are right "
            "then, which one-to-one matching can exceed",
        ),
    )


def _by_update(found: Findings) -> Any:
    n = min(found.values("n"))
    named = {GREEDY: "nodestart", LOGARITHMS: "nodestart, logarithms", FREQUENCY: FREQUENCY, RANDOM: RANDOM}
    lines: list[Row] = [
        {"update": number, "accuracy": value, "start": said}
        for way, said in named.items()
        for number, value in enumerate(by_iteration(found, way, n))
    ]
    first = {one["start"]: one["accuracy"] for one in lines if one["update"] == 0}
    last = {one["start"]: one["accuracy"] for one in lines}
    least, most = min(last.values()), max(last.values())
    begins = ", ".join(f"{said} {first[said]:.2f}" for said in first)
    return figures.curves(
        lines,
        lines,
        x=Scale("update", "updates", ticks=tuple(sorted({one["update"] for one in lines})), format="d"),
        y=Scale("accuracy", "found, share of the matchable set", top=1.0),
        by="start",
        by_title="start",
        words=Words(
            f"Whatever the start, {least:.2f} to {most:.2f} are found in the end",
            f"score-greedy, n = {n:,}; before any update: {begins}",
        ),
    )


HASH_INVERSION = Study(
    name="hash-inversion",
    question="How many hashed words does someone find again who has another log?",
    paper="0.99, 0.96, 0.92, 0.83 and 0.68 of the matchable set at n = 1,000 to 16,000; the four update rules are "
    "within 0.02; frequency alone is hopeless, and a good start without updates too",
    mechanism="token-hash",
    axes=(
        Axis("way", tuple(WAYS), "what is different from nodestart and score-greedy"),
        Axis("n", (1_000, 2_000, 4_000, 8_000, 16_000), "most frequent hashes and words"),
    ),
    metrics=(
        *FOUND,
        Metric(BY_ITERATION, "share", "accuracy at the start (at 0) and after each update"),
        Metric(
            CEILING,
            "share",
            "hashes nearest to their word if all others are known, by distance; one to one can find more",
        ),
        Metric(ITERATIONS, "updates", "until a mapping came again, 10 at most"),
        *WORK,
    ),
    repeats=1,
    prepare=_prepare,
    measure=_measure,
    figures=_figures,
    checks=expected(_updates_help, _nearly_all, _frequency_alone, _any_rule),
    needs=("user",),
    labels=("at",),
)
