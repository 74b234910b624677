"""What Clump and Partition keep of k-anonymous transactions: against k and the number of users, and against r.

The transactions are users' merged words as WordNet concepts, as `publish clump` makes them. Smaller sets hold users
at equal distances in the log.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from queryveil.charts.figures import Scale
from queryveil.errors import CannotBeMet
from queryveil.mechanisms.transactions.generalised import Coded, Vocabulary, code
from queryveil.reading.log import SearchLog
from queryveil.study import shapes
from queryveil.study.declaration import (
    MEASURED,
    Axis,
    Cell,
    Check,
    Findings,
    Given,
    Metric,
    Row,
    Study,
    Value,
)
from queryveil.study.drawing import Curves
from queryveil.study.expectations import Along, Beside, expected
from queryveil.study.shapes import Line

if TYPE_CHECKING:
    from queryveil.mechanisms.transactions.algorithms import Bags, Grouping, Tree

OURS, DISTINCT, PAPERS, PARTITION = "clump", "clump-distinct", "clump-paper", "partition"
GGD, NCP, LENGTH, LEVEL = "ggd-per-item", "ncp-per-item", "mean-length", "mean-level"
SECONDS = "seconds"
_RULES: dict[str, dict[str, Any]] = {
    OURS: {},
    DISTINCT: {"distinct": True},
    PAPERS: {"criterion": "total", "lcg": "paper", "order": "input"},
}
_NAMES = {
    OURS: "Clump",
    DISTINCT: "Clump, duplicates removed",
    PAPERS: "Clump by the paper's rules",
    PARTITION: "Partition",
}
_QUALITY = {GGD: "ggd_per_item", NCP: "ncp_per_item"} | {
    name: name.replace("-", "_") for name in (LENGTH, LEVEL, "density")
}
_METRICS = (
    Metric(GGD, "loss", "what published items lose, plus 1 for every suppressed item, per item"),
    Metric(NCP, "loss", "what the lowest published concept above an item loses, per item"),
    Metric(LENGTH, "items", "items in a published transaction, on average"),
    Metric(LEVEL, "level", "level of a published item, on average; the root is level 1"),
    Metric("density", "share", "mean length, divided by the number of the taxonomy's leaves"),
    Metric(SECONDS, "s", "processor time of the grouping, without compiling"),
)


def _prepare(given: Given) -> Coded:
    from queryveil.mechanisms.transactions.algorithms import Bags, Tree

    coded = code(given.the_log, Vocabulary.of(None), "users")
    for method in _NAMES:  # compile
        _grouped(method, Tree(np.array([-1, 0, 0])), Bags.of([[1, 2], [1, 1], [2], [1]]), 2, 10)
    return coded


def _grouped(method: str, tree: Tree, bags: Bags, k: int, r: int) -> Grouping:
    """As `publish --method clump` groups by default, with `--algorithm paper` and its rules, or as Partition does."""
    from queryveil.mechanisms.transactions.algorithms import clump, crowds_first, partition

    if method == PARTITION:
        return partition(tree, bags, k)
    chosen = clump if method == PAPERS else crowds_first
    return chosen(tree, bags, k, r, **_RULES[method])


def _measure(coded: Coded, given: Given, cell: Cell) -> Iterator[Row]:
    from queryveil.mechanisms.transactions.algorithms import Bags, Tree

    filled = np.flatnonzero(coded.bags.lengths)
    size = min(int(cell["users"]), len(filled))
    if size < cell["k"]:
        raise CannotBeMet(
            f"the log has {size:,} users with concepts, and a group needs {cell['k']:,}",
            "use a log of more users, or lower k with --vary k=2,3",
        )
    some = coded.bags.take(filled[np.linspace(0, len(filled) - 1, size).astype(np.int64)])
    # Over the concepts that occur in them, as a release of these users alone would be.
    pruned = coded.taxonomy.pruned(np.unique(some.items))
    before = np.arange(len(coded.taxonomy)) if coded.taxonomy.origin is None else coded.taxonomy.origin
    tree = Tree(pruned.parents)
    bags = Bags(pruned.renumbered(before[some.items]), some.offsets)
    for repeat in range(given.repeats):
        start = time.process_time()
        found = _grouped(cell["method"], tree, bags, cell["k"], cell["r"])
        taken = {name: float(getattr(found.quality, name_of)) for name, name_of in _QUALITY.items()}
        taken[SECONDS] = time.process_time() - start
        for metric, value in taken.items():
            yield {"how": MEASURED, "repeat": repeat, "metric": metric, "value": value}


def _within(log: SearchLog | None, axes: Mapping[str, tuple[Value, ...]]) -> Mapping[str, tuple[Value, ...]]:
    """Sizes that the log has; a larger one is the log's own number of users, and is called that."""
    if log is None:
        return axes
    return {**axes, "users": tuple(sorted({min(int(size), log.users) for size in axes["users"]}))}


# -- what comes out ----------------------------------------------------------------------------------------------


def _largest(found: Findings) -> Findings:
    """Of all the log's users, or of as many as were asked for."""
    return found.where(users=max(found.values("users"), default=0))


def _lines(found: Findings, metric: str, along: str) -> Iterator[tuple[str, Line]]:
    for setting, line in _largest(found).where(metric=metric).lines(along, "method"):
        yield setting["method"], line


def _curves(name: str, metric: str, along: str, y: str, said: str, means: str) -> Curves:
    noun = {"k": "users who share a transaction (k)", "r": "open clusters (r)"}[along]
    return Curves(
        name=name,
        title=f"{{method}}: {said} {{line.first:.2f}} at {along} = {{line.start}}, {{line.last:.2f}} at {{line.end}}",
        under=partial(_users, means),
        metric=metric,
        among=_largest,
        x=Scale(along, noun, log=along == "r"),
        y=Scale("value", y),
        by="method",
        shown={"method": _NAMES},
    )


def _users(means: str, found: Findings) -> str:
    return f"{max(found.values('users')):,} users; {means}"


_LOST = "0: nothing lost, 1: everything"
_GGD = ("GGD per item", "loss per item (GGD)", _LOST)


def _saved(found: Findings) -> Iterator[Check]:
    """Of what Partition loses, the share that Clump does not, at the smallest and at the largest k."""
    loss = found.where(metric=GGD)
    ends = min(loss.values("k")), max(loss.values("k"))
    if not {OURS, PARTITION} <= set(loss.values("method")) or ends[0] == ends[1]:
        return

    def saved(users: int, k: int) -> float:
        ours, theirs = (loss.where(method=name, users=users, k=k).value for name in (OURS, PARTITION))
        return 1 - ours / theirs if theirs else 0.0  # where nothing is lost there is nothing to save

    lines = {users: Line({k: saved(users, k) for k in ends}) for users in loss.values("users")}
    yield Check(
        "what Clump saves of Partition's loss shrinks with k",
        all(shapes.ends_lower(line.heights) for line in lines.values()),
        ", ".join(
            f"{100 * line.first:.0f} % at k = {line.start} to {100 * line.last:.0f} % at k = {line.end} "
            f"({users:,} users)"
            for users, line in lines.items()
        ),
    )


def _duplicates(found: Findings) -> Iterator[Check]:
    """Lengths and levels as the paper has them: by what is done with duplicates."""
    lengths, levels = (
        {method: line.last for method, line in _lines(found, metric, "k")} for metric in (LENGTH, LEVEL)
    )
    if {OURS, DISTINCT} <= set(lengths):
        yield Check(
            "duplicates make transactions longer and their concepts more general",
            lengths[DISTINCT] < lengths[OURS] and levels[OURS] < levels[DISTINCT],
            f"at the largest k, {lengths[OURS]:.1f} items at level {levels[OURS]:.2f} with duplicates, "
            f"{lengths[DISTINCT]:.1f} at {levels[DISTINCT]:.2f} without",
        )
    if {OURS, PARTITION} <= set(lengths):
        yield Check(
            "Clump's transactions are longer than Partition's",
            lengths[OURS] > lengths[PARTITION],
            f"{lengths[OURS]:.1f} items against {lengths[PARTITION]:.1f} at the largest k",
        )


def _usual_r(found: Findings) -> Iterator[Check]:
    for method, line in _lines(found, GGD, "r"):
        if len(line) == 1:
            continue  # the least by itself
        usual = min(line, key=lambda r: (abs(r - 10), r))
        yield Check(
            f"r = {usual} loses at most a tenth more than the best r ({_NAMES[method]})",
            line[usual] <= 1.1 * line.lowest,
            f"{line[usual]:.3f}, the best {line.lowest:.3f} at r = {line.dip}, and {line.last:.3f} at r = {line.end}",
        )


# -- declarations ------------------------------------------------------------------------------------------------

_K = Axis("k", (5, 7, 10, 15), "users who share every published transaction")
_R = Axis("r", (10,), "clusters that are open at a time (Clump)")
_USERS = Axis(
    "users", (1_000, 10_000, 53_058), "users, each with one transaction; all users if the log has fewer"
)

CLUMP_QUALITY = Study(
    name="clump-quality",
    question="How much is left of k-anonymous transactions, and which method keeps most?",
    paper="Clump loses up to 30 % less than Partition; it gains less for a larger k and for more, sparser "
    "transactions; removing duplicates costs little; Clump's transactions are longer, and its concepts more general",
    mechanism="clump, partition",
    axes=(
        Axis("method", (OURS, DISTINCT, PAPERS, PARTITION), "how users are grouped", closed=True),
        _USERS,
        _K,
        _R,
    ),
    metrics=_METRICS,
    repeats=1,
    prepare=_prepare,
    measure=_measure,
    figures=(
        _curves("ggd", GGD, "k", *_GGD),
        _curves("ncp", NCP, "k", "NCP per item", "loss per item (NCP)", _LOST),
        _curves("length", LENGTH, "k", "items", "items per transaction", "items of a published transaction"),
        _curves("level", LEVEL, "k", "level", "mean level of concepts", "the root is level 1"),
    ),
    checks=expected(
        Beside(
            says="Clump's GGD is below Partition's",
            metric=GGD,
            column="method",
            ours=OURS,
            theirs=PARTITION,
            at=("users", "k"),
            shape=shapes.below_everywhere,
            told="in {pair.lower} of {of} settings",
        ),
        Beside(
            says="our rules lose no more than the paper's",
            metric=GGD,
            column="method",
            ours=OURS,
            theirs=PAPERS,
            at=("users", "k"),
            shape=shapes.never_above,
            told="in {pair.no_higher} of {of} settings",
        ),
        _duplicates,
        _saved,
        Along(
            says="a larger crowd costs more (Clump)",
            metric=GGD,
            along="k",
            where={"method": OURS},
            among=_largest,
            shape=shapes.grows,
            told="{line.first:.3f} at k = {line.start} to {line.last:.3f} at k = {line.end}",
        ),
    ),
    needs=(),
    within=_within,
)

CLUMP_R = Study(
    name="clump-r",
    question="How many clusters should Clump keep open at a time?",
    paper="a larger r takes longer and is not always better, because Clump is greedy; r = 10 is good",
    mechanism="clump",
    axes=(
        Axis("method", (OURS, PAPERS), "by which rules users are grouped"),
        Axis("users", (53_058,), _USERS.help),
        Axis("k", (5,), _K.help),
        Axis("r", (5, 10, 30, 50, 100), _R.help),
    ),
    metrics=_METRICS,
    repeats=1,
    prepare=_prepare,
    measure=_measure,
    figures=(
        _curves("ggd", GGD, "r", *_GGD),
        _curves("seconds", SECONDS, "r", "seconds", "seconds", "processor time on one core"),
    ),
    checks=expected(_usual_r),
    needs=(),
    within=_within,
)
