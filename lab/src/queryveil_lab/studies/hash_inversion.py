"""How many hashed words are found again: update rules, starts and vocabulary sizes on two halves of one log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queryveil_lab.charts.figures import Scale
from queryveil_lab.inversion import Inversion, Inverted
from queryveil_lab.inversion.inverting import COMPANY
from queryveil_lab.inversion.judging import score
from queryveil_lab.inversion.kinds import (
    COSINE,
    FREQUENCY,
    GREEDY,
    HEAP,
    HELLINGER,
    L1,
    L2,
    MARRIAGE,
    MINCOST,
    RANDOM,
    RANKS,
    SUREST,
)
from queryveil_lab.studies import hashed_halves as halves
from queryveil_lab.studies import printed, shapes
from queryveil_lab.studies.declaration import Axis, Cell, Check, Findings, Given, Metric, Row, Study
from queryveil_lab.studies.drawing import Curves, Printed
from queryveil_lab.studies.expectations import expected

EXPANSION, LOGARITHMS, PRUNED, DEFAULT = "expansion", "logarithms", "alpha-0.1", "default"
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
    SUREST: {"update": SUREST},
    HELLINGER: {"distance": HELLINGER},
    DEFAULT: {},
}
"""One thing is different from the paper's nodestart, score-greedy and L1 in each.

The default of the package reads the company of 4,000 words, the others that of the n words that are matched.
"""
_DRAWN = (GREEDY, MINCOST, RANKS, HEAP, SUREST, EXPANSION, DEFAULT)
"""Stable marriage is the same as score-greedy."""
RULES = (GREEDY, MINCOST, RANKS, MARRIAGE)
_LARGEST_PLAIN = 8_000
"""Beyond it only expansions are run: the paper's rule too."""
_LARGEST_START = 2_000
"""Starts are compared up to this size."""
_LARGEST_REPEATED = 2_000
"""Larger vocabularies are looked for in one split of the log: a single one takes half an hour."""
_CLOSE = 0.05
_SAME = 0.01


def _split_log(given: Given) -> halves.Splits:
    return halves.splits(given, _LARGEST_REPEATED)


def _measure_cell(splits: halves.Splits, given: Given, cell: Cell) -> Iterator[Row]:
    for run, hashed in halves.in_splits(splits, given, cell["n"], _LARGEST_REPEATED):
        yield from halves.in_run(run, _inversion_rows(hashed, given, cell))


def _inversion_rows(hashed: halves.Hashed, given: Given, cell: Cell) -> Iterator[Row]:
    way, n = cell["way"], cell["n"]
    first = min(int(one) for one in given.axes["n"])
    limit = {
        EXPANSION: n,
        DEFAULT: COMPANY,
        SUREST: first,
        FREQUENCY: _LARGEST_START,
        RANDOM: _LARGEST_START,
    }.get(way, _LARGEST_PLAIN)
    if n > max(limit, first):
        return
    attack = Inversion(
        **{"distance": L1, **WAYS[way]},
        n=first if way == EXPANSION else n,
        expand_to=n if way == EXPANSION else None,
    )
    counted = max(n, min(COMPANY, hashed.least)) if way == DEFAULT else n
    inverted = Inverted(
        hashed.target.tokens,
        hashed.reference.tokens,
        tuple(attack.stages(*hashed.at(counted), attack.sizes(hashed.target, hashed.reference))),
    )
    yield from halves.judged(inverted, hashed.truth)
    if way not in (EXPANSION, DEFAULT):
        for number, mapping in enumerate(inverted.stages[0].mappings):
            found = score(mapping, hashed.truth)
            yield halves.measured(halves.BY_ITERATION, found.accuracy or 0.0, str(number))
    if way == GREEDY or (way == EXPANSION and n > _LARGEST_PLAIN):
        for distance in (L1, L2, COSINE, HELLINGER):
            yield halves.measured(halves.CEILING, hashed.ceiling(n, distance).accuracy or 0.0, distance)
        yield halves.measured(halves.QUERIES, hashed.queries)


# -- expectations --------------------------------------------------------------------------------------------


def by_iteration(found: Findings, way: str, n: int) -> list[float]:
    """Accuracy at the start and after each update."""
    return _update_findings(found.where(way=way, n=n, metric=halves.BY_ITERATION)).along("update").heights


def _updates_help(found: Findings) -> Iterator[Check]:
    n = min(found.values("n"))
    for way in (GREEDY, FREQUENCY):
        if curve := by_iteration(found, way, n):
            yield Check(
                f"updates find more than the start ({way}, n = {n:,})",
                shapes.ends_higher(curve),
                f"from {curve[0]:.3f} to {curve[-1]:.3f} in {len(curve) - 1} updates",
            )


def _nearly_all(found: Findings) -> Iterator[Check]:
    n = min(found.values("n"))
    greedy = halves.long_enough(found).where(metric=halves.ACCURACY, way=GREEDY, n=n)
    if n <= 1000 and greedy:
        top = found.where(metric=halves.CEILING, way=GREEDY, n=n, at=L1).value
        yield Check(
            f"nodestart and score-greedy find 0.95 of the matchable set (n = {n:,})",
            greedy.value >= 0.95,
            f"{greedy.value:.3f}; {top:.3f} are nearest to their own word if all others are known",
        )


def _more_by_default(found: Findings) -> Iterator[Check]:
    accuracy = halves.long_enough(found).where(metric=halves.ACCURACY)
    lines = [accuracy.where(way=way).along("n") for way in (DEFAULT, GREEDY)]
    both = [n for n in lines[0] if n in lines[1]]
    if both:
        yield Check(
            f"further company finds no less, within {_SAME:g}",
            shapes.never_below([lines[0][n] for n in both], [lines[1][n] for n in both], noise=_SAME),
            ", ".join(f"{lines[0][n]:.3f} against {lines[1][n]:.3f} (n = {n:,})" for n in both),
        )


def _frequency_alone(found: Findings) -> Iterator[Check]:
    n = min(found.values("n"))
    if curve := by_iteration(halves.long_enough(found), FREQUENCY, n):
        yield Check(
            f"frequency before any update stays below 0.2 (n = {n:,})", curve[0] < 0.2, f"{curve[0]:.3f}"
        )


def _any_rule(found: Findings) -> Iterator[Check]:
    accuracy = halves.long_enough(found).where(metric=halves.ACCURACY)
    for size in accuracy.values("n"):
        rules = {way: one.value for way in RULES if len(one := accuracy.where(way=way, n=size))}
        if len(rules) > 1:
            yield Check(
                f"the update rules are within {_CLOSE:g} of each other (n = {size:,})",
                shapes.stays(list(rules.values()), noise=_CLOSE),
                ", ".join(f"{way} {value:.3f}" for way, value in rules.items()),
            )


# -- figures -------------------------------------------------------------------------------------------------


def _drawn_findings(found: Findings) -> Findings:
    chosen = found.chosen(lambda one: one["metric"] == halves.CEILING or one["way"] in _DRAWN)
    return halves.with_ceiling(chosen, "way")


def _best_text(found: Findings) -> str:
    rows = _drawn_findings(found).chosen(lambda one: one["way"] != halves.CONTEXT)
    best = max(rows, key=lambda one: (one["n"], one["value"]))
    share = f"{100 * best['value']:.0f} % of those that can be found are found"
    return f"Among {best['n']:,} hashes, {share} ({best['way']})"


def _update_findings(found: Findings) -> Findings:
    """Rows with the number of updates. A run that was done earlier than others of its way stays where it was."""
    rows = found.changed(lambda one: {"update": int(one["at"])})
    made: list[Row] = []
    for way in rows.values("way"):
        last = max(rows.where(way=way).values("update"))
        for run in rows.where(way=way).values("repeat"):
            own = sorted(rows.where(way=way, repeat=run), key=lambda one: int(one["update"]))
            further = range(own[-1]["update"] + 1, last + 1)
            made += [*own, *({**own[-1], "update": at} for at in further)]
    return Findings(tuple(made))


def _accuracy_by_update(found: Findings) -> Findings:
    """Accuracy at the start and after each update, for the smallest size."""
    chosen = found.where(metric=halves.BY_ITERATION, n=min(found.values("n")))
    return _update_findings(chosen.chosen(lambda one: one["way"] in _STARTS))


def _end_text(found: Findings) -> str:
    last = [line.last for _, line in _accuracy_by_update(found).lines("update", "way")]
    return f"From every start, {min(last):.2f} to {max(last):.2f} are found in the end"


def _start_text(found: Findings) -> str:
    first = ", ".join(
        f"{_STARTS[one['way']]} {line.first:.2f}"
        for one, line in _accuracy_by_update(found).lines("update", "way")
    )
    least = min(found.values("n"))
    return (
        f"score-greedy, n = {least:,}, {halves.told_splits(found.where(n=least))}; before any update: {first}"
    )


def _pruning_findings(found: Findings) -> Findings:
    """With and without pruning, if both were run."""
    chosen = found.chosen(lambda one: one["way"] in _CANDIDATES)
    return chosen if PRUNED in chosen.values("way") else Findings(())


def _pruning_text(found: Findings) -> str:
    pruned, whole = (found.where(metric=halves.ACCURACY, way=way).along("n") for way in (PRUNED, GREEDY))
    beside = f", {whole[pruned.end]:.2f} with all words" if pruned.end in whole else ""
    return f"With a tenth of the words as candidates, {pruned.last:.2f} of {pruned.end:,} are found{beside}"


def _halving_text(found: Findings) -> str:
    return (
        f"two halves of one log by user, the second one hashed, {halves.told_splits(found)}; 'default' reads the "
        f"company of 4,000 words; {halves.CONTEXT}: share of first choices that are right then, which one-to-one "
        "matching can exceed"
    )


def _alpha_text(found: Findings) -> str:
    return f"alpha 0.1 and 1; nodestart, score-greedy; {halves.told_splits(found)}"


_STARTS = {GREEDY: "nodestart", LOGARITHMS: "nodestart, logarithms", FREQUENCY: FREQUENCY, RANDOM: RANDOM}
_CANDIDATES = {GREEDY: "all words", PRUNED: "the nearest tenth by features"}

HASH_INVERSION = Study(
    name="hash-inversion",
    question="How many hashed words can somebody with another log find again?",
    paper="0.99, 0.96, 0.92, 0.83 and 0.68 of the matchable set are found at n = 1,000 to 16,000; the four update "
    "rules are within 0.02; frequency alone is hopeless, and so is a good start without updates",
    mechanism="token-hash",
    axes=(
        Axis("way", tuple(WAYS), "what is different from nodestart and score-greedy", closed=True),
        Axis("n", (1_000, 2_000, 4_000, 8_000, 16_000), "most frequent hashes and words"),
    ),
    metrics=(
        *halves.FOUND,
        Metric(halves.BY_ITERATION, "share", "accuracy at the start (at 0) and after each update"),
        halves.NEAREST,
        Metric(halves.ITERATIONS, "updates", "updates until a mapping came again, 10 at most"),
        *halves.WORK,
    ),
    repeats=3,
    prepare=_split_log,
    ahead=halves.few_splits,
    measure=_measure_cell,
    figures=(
        Curves(
            name="rules",
            title=_best_text,
            under=_halving_text,
            metric=halves.ACCURACY,
            among=_drawn_findings,
            x=halves.BY_SIZE,
            y=halves.SHARE,
            by="way",
            printed=Printed(
                source="Kumar et al. 2007, tables 1 and 3",
                lines=(
                    *(({"way": way}, values) for way, values in printed.RULES.items()),
                    ({"way": EXPANSION}, printed.EXPANSION),
                ),
            ),
        ),
        Curves(
            name="starts",
            title=_end_text,
            under=_start_text,
            metric=halves.BY_ITERATION,
            among=_accuracy_by_update,
            shown={"way": _STARTS},
            x=Scale("update", "updates"),
            y=halves.SHARE,
            by="way",
            by_title="start",
            least=2,
        ),
        Curves(
            name="pruning",
            title=_pruning_text,
            under=_alpha_text,
            metric=halves.ACCURACY,
            among=_pruning_findings,
            shown={"way": _CANDIDATES},
            x=halves.BY_SIZE,
            y=halves.SHARE,
            by="way",
            by_title="candidates of a hash",
            least=1,
        ),
    ),
    checks=expected(_updates_help, _nearly_all, _more_by_default, _frequency_alone, _any_rule),
    needs=("user",),
    labels=("at",),
)
