"""What Clump and Partition keep of k-anonymous transactions: against k, r, the number of users, and their order.

The transactions are users' merged words as WordNet concepts, as `publish clump` makes them. Smaller sets hold users
at equal distances in the log.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from queryveil import CannotBeMet, SearchLog
from queryveil.extension import argument
from queryveil.mechanisms.transactions.generalised import Coded, Vocabulary, code
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies.declaration import (
    MEASURED,
    Axis,
    Cell,
    Findings,
    Given,
    Metric,
    Row,
    Value,
    everything,
)
from queryveil_lab.studies.drawing import Curves
from queryveil_lab.studies.shapes import Line

if TYPE_CHECKING:
    from queryveil import Bags, Tree
    from queryveil.mechanisms.transactions.algorithms import Grouping

OURS, DISTINCT, PARTITION = "clump", "clump-distinct", "partition"
PAPERS, PAPERS_DISTINCT = "clump-paper", "clump-paper-distinct"
"""By the paper's rules: its Clump1, and its Clump2, which removes duplicates."""
GGD, NCP, LENGTH, LEVEL = "ggd-per-item", "ncp-per-item", "mean-length", "mean-level"
SECONDS, INPUT = "seconds", "input-density"
ENOUGH = 10_000
"""Users from which on clusters of one method can be told from another's: Clump is greedy, and small logs vary."""
LONGEST, RANDOM, SHORTEST = "longest-first", "random", "shortest-first"
_PAPER = {"criterion": "total", "lcg": "paper", "order": "input"}
_RULES: dict[str, dict[str, Any]] = {
    OURS: {},
    DISTINCT: {"distinct": True},
    PAPERS: _PAPER,
    PAPERS_DISTINCT: {**_PAPER, "distinct": True},
}
NAMES = {
    OURS: "Clump",
    DISTINCT: "Clump, duplicates removed",
    PAPERS: "Clump1 (the paper's rules)",
    PAPERS_DISTINCT: "Clump2 (the paper's rules)",
    PARTITION: "Partition",
}
_QUALITY = {GGD: "ggd_per_item", NCP: "ncp_per_item"} | {
    name: name.replace("-", "_") for name in (LENGTH, LEVEL, "density")
}
METRICS = (
    Metric(GGD, "loss", "what published items lose, plus 1 for every suppressed item, per item"),
    Metric(NCP, "loss", "what the lowest published concept above an item loses, per item"),
    Metric(LENGTH, "items", "items in a published transaction, on average"),
    Metric(LEVEL, "level", "level of a published item, on average; the root is level 1"),
    Metric(
        "density", "share", "mean length of what is published, divided by the number of the taxonomy's leaves"
    ),
    Metric(INPUT, "share", "mean length of what users searched for, divided by the taxonomy's leaves"),
    Metric(SECONDS, "s", "processor time of the grouping, without compiling"),
)


def prepare(given: Given) -> Coded:
    from queryveil import Bags, Tree

    coded = code(given.the_log, Vocabulary.of(None), "users")
    for method in NAMES:  # compile
        _group_transactions(
            method, Tree(np.array([-1, 0, 0])), Bags.of([[1, 2], [1, 1], [2], [1]]), 2, 10, {}
        )
    return coded


def _group_transactions(
    method: str, tree: Tree, bags: Bags, k: int, r: int, rules: Mapping[str, Any]
) -> Grouping:
    """As `publish --method clump` groups by default, with `--algorithm paper` and its rules, or as Partition does."""
    from queryveil.mechanisms.transactions.algorithms import clump, crowds_first, partition

    if method == PARTITION:
        return partition(tree, bags, k)
    chosen = clump if method in (PAPERS, PAPERS_DISTINCT) or rules else crowds_first
    return chosen(tree, bags, k, r, **{**_RULES[method], **rules})


def at_equal_distances(coded: Coded, size: int) -> tuple[Tree, Bags]:
    """The transactions of so many of the users who have any, over the concepts that occur in them.

    The taxonomy is that of a release of these users alone.
    """
    from queryveil import Bags, Tree

    filled = np.flatnonzero(coded.bags.lengths)
    some = coded.bags.take(filled[np.linspace(0, len(filled) - 1, size).astype(np.int64)])
    pruned = coded.taxonomy.prune(np.unique(some.items))
    before = np.arange(len(coded.taxonomy)) if coded.taxonomy.origin is None else coded.taxonomy.origin
    return Tree(pruned.parents), Bags(pruned.map_concepts(before[some.items]), some.offsets)


def measure(coded: Coded, given: Given, cell: Cell) -> Iterator[Row]:
    filled = np.flatnonzero(coded.bags.lengths)
    size = min(int(cell["users"]), len(filled))
    if size < cell["k"]:
        raise CannotBeMet(
            f"the log has {size:,} users with concepts, and a group needs {cell['k']:,}",
            f"use a log of more users, or lower k with {argument('vary', {'k': [2, 3]})}",
        )
    tree, bags = at_equal_distances(coded, size)
    order = cell.values.get("order")
    for repeat in range(given.repeats):
        taken_in = bags if order is None else bags.take(_in_order(bags, str(order), repeat))
        start = time.process_time()
        rules = {} if order is None else {"order": "given"}
        found = _group_transactions(cell["method"], tree, taken_in, cell["k"], cell["r"], rules)
        taken = {name: float(getattr(found.quality, name_of)) for name, name_of in _QUALITY.items()}
        taken[SECONDS] = time.process_time() - start
        taken[INPUT] = len(bags.items) / (len(bags) * tree.leaves)
        for metric, value in taken.items():
            yield {"how": MEASURED, "repeat": repeat, "metric": metric, "value": value}


def _in_order(bags: Bags, order: str, repeat: int) -> npt.NDArray[np.int64]:
    """Transactions by length, or in an order that differs from run to run."""
    if order == RANDOM:
        return np.random.default_rng(repeat).permutation(len(bags))
    return np.argsort(bags.lengths if order == SHORTEST else -bags.lengths, kind="stable")


def within(log: SearchLog | None, axes: Mapping[str, tuple[Value, ...]]) -> Mapping[str, tuple[Value, ...]]:
    """Sizes that the log has; a larger one is the log's own number of users, and is called that."""
    if log is None:
        return axes
    return {**axes, "users": tuple(sorted({min(int(size), log.users) for size in axes["users"]}))}


# -- what comes out ----------------------------------------------------------------------------------------------


def largest(found: Findings) -> Findings:
    """Of all the log's users, or of as many as were asked for."""
    return found.where(users=max(found.values("users"), default=0))


def lines(found: Findings, metric: str, along: str) -> Iterator[tuple[str, Line]]:
    for setting, line in largest(found).where(metric=metric).lines(along, "method"):
        yield setting["method"], line


def curves(name: str, metric: str, along: str, y: str, said: str, means: str) -> Curves:
    noun = {
        "k": "users who share a transaction (k)",
        "r": "open clusters (r)",
        "users": "users, each with one transaction",
    }[along]
    sizes = along == "k"
    return Curves(
        name=name,
        title=_title_for(along, said),
        under=means if along == "users" else partial(_users_text, means),
        metric=metric,
        among=everything if sizes or along == "users" else largest,
        x=Scale(along, noun, log=along == "r"),
        y=Scale("value", y),
        by="method",
        panel="users" if sizes else None,
        least=2 if along == "users" else 0,
        shown={"method": NAMES, "users": "{} users"},
    )


def _title_for(along: str, said: str) -> str:
    if along == "users":
        return f"{{method}}: {said} {{line.first:.2f}} for {{line.start:,}} users, {{line.last:.2f}} for {{line.end:,}}"
    whose = " ({users})" if along == "k" else ""
    ends = f"{{line.first:.2f}} at {along} = {{line.start}}, {{line.last:.2f}} at {{line.end}}"
    return f"{{method}}: {said} {ends}{whose}"


def few(found: Findings) -> str | None:
    """What there is too little of to judge by, or nothing."""
    most = max(found.values("users"), default=0)
    return None if most >= ENOUGH else f"{most:,} users, fewer than {ENOUGH:,}"


def enough(found: Findings, _: Row) -> str | None:
    return few(found)


def _users_text(means: str, found: Findings) -> str:
    sizes = found.values("users")
    return means if len(sizes) > 1 else f"{sizes[0]:,} users; {means}"


LOST = "0: nothing lost, 1: everything"
BY_GGD = ("GGD per item", "loss per item (GGD)", LOST)


K = Axis("k", (5, 7, 10, 15), "users who share every published transaction")
R = Axis("r", (10,), "clusters that are open at a time (Clump)")
USERS = Axis(
    "users", (1_000, 10_000, 53_058), "users, each with one transaction; all users if the log has fewer"
)
