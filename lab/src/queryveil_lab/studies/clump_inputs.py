"""What Clump makes of its input: more users, who have sparser transactions, and other orders than the longest first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import printed, shapes
from queryveil_lab.studies.clump import CLUMP_QUALITY
from queryveil_lab.studies.clump_runs import (
    GGD,
    INPUT,
    LONGEST,
    LOST,
    METRICS,
    NAMES,
    OURS,
    PAPERS,
    RANDOM,
    SECONDS,
    SHORTEST,
    USERS,
    K,
    R,
    curves,
    few,
    largest,
    measure,
    prepare,
    within,
)
from queryveil_lab.studies.declaration import Axis, Check, Findings, Study, too_small
from queryveil_lab.studies.drawing import Curves, Printed
from queryveil_lab.studies.expectations import expected
from queryveil_lab.studies.shapes import Line

_TABLE = (1_000, 10_000, 20_000, 30_000, 40_000, 53_058)
"""The sizes of the paper's table of densities."""


def _check_denser(found: Findings) -> Iterator[Check]:
    line = found.where(metric=INPUT, method=found.values("method")[0]).along("users")
    if len(line) > 1:
        yield Check(
            "more users make sparser transactions",
            shapes.falls(line.heights),
            ", ".join(f"{100 * value:.2f} % of {users:,} users" for users, value in line.items()),
        )


def _in_proportion(found: Findings) -> Iterator[Check]:
    """Time by the number of users: from the first size of a tenth and more, where little else takes time."""
    for method, line in (
        (one["method"], line) for one, line in found.where(metric=SECONDS).lines("users", "method")
    ):
        large = Line({users: value for users, value in line.items() if 10 * users >= line.end})
        if len(large) > 1 and large.first > 0:
            power = float(np.log(large.last / large.first) / np.log(large.end / large.start))
            yield Check(
                f"time grows in proportion to the number of users ({NAMES[method]})",
                power <= 1.3,
                f"with power {power:.2f} of it, from {large.first:.2f} s at {large.start:,} to {large.last:.2f} s "
                f"at {large.end:,}",
            )


_HERE = "of this log"


def _of_input(found: Findings) -> Findings:
    """All methods have the same input: one line, in percent."""
    first = found.where(method=found.values("method")[0], metric=INPUT)
    return first.changed(lambda one: {"method": _HERE, "value": 100 * one["value"]})


CLUMP_SIZE = Study(
    name="clump-size",
    question="What do more transactions change: density, loss and time?",
    paper="a density of 0.28 % among 1,000 transactions and of 0.11 % among 53,058; Clump gains less on sparser ones; "
    "it takes longer than Partition, in proportion to the number of transactions",
    mechanism="clump, partition",
    axes=(
        Axis("method", CLUMP_QUALITY.axes[0].values, "how users are grouped", closed=True),
        Axis("users", _TABLE, USERS.help),
        Axis("k", (5,), K.help, single=True),
        R,
    ),
    metrics=METRICS,
    repeats=1,
    prepare=prepare,
    measure=measure,
    figures=(
        curves(
            "seconds", SECONDS, "users", "seconds", "seconds", "k = 5, r = 10; processor time on one core"
        ),
        curves("ggd", GGD, "users", "GGD per item", "loss per item (GGD)", f"k = 5, r = 10; {LOST}"),
        Curves(
            name="density",
            title="{line.first:.2g} % of all pairs of a transaction and a concept are there among {line.start:,} "
            "users, {line.last:.2g} % among {line.end:,}",
            under="different concepts of a transaction, over the concepts that these users have",
            metric=INPUT,
            among=_of_input,
            x=Scale("users", "users, each with one transaction"),
            y=Scale("value", "density of the input (%)"),
            by="method",
            by_title="transactions",
            least=2,
            printed=Printed(
                source="Fard and Wang 2010, table 3",
                lines=(({"method": _HERE}, printed.DENSITY),),
            ),
        ),
    ),
    checks=expected(_check_denser, _in_proportion),
    needs=(),
    within=within,
)


def _best_order(found: Findings) -> Iterator[Check]:
    """Longest first against the other two, at every k."""
    loss, lacking = found.where(metric=GGD), few(found)
    for method in loss.values("method"):
        own = {order: loss.where(method=method, order=order) for order in (LONGEST, RANDOM, SHORTEST)}
        for other in (RANDOM, SHORTEST):
            if len(own[LONGEST]) and len(own[other]):
                ours, theirs = own[LONGEST].along("k"), own[other].along("k")
                says = f"the longest first loses less than {other} ({ORDERED[method]})"
                told = ", ".join(f"{ours[k]:.3f} against {theirs[k]:.3f} (k = {k})" for k in ours)
                less = shapes.below_everywhere(ours.heights, theirs.heights)
                yield too_small(says, f"{told}; {lacking}") if lacking else Check(says, less, told)


ORDERED = {**NAMES, OURS: "our rules", PAPERS: "paper's rules"}

CLUMP_ORDER = Study(
    name="clump-order",
    question="In which order should Clump take transactions?",
    paper="the longest first is better than a random order, and than the shortest first",
    mechanism="clump",
    axes=(
        Axis("method", (PAPERS, OURS), "by which rules users are clustered", closed=True),
        Axis("order", (LONGEST, RANDOM, SHORTEST), "which transaction comes first", closed=True),
        Axis("users", (10_000,), USERS.help, single=True),
        K,
        R,
    ),
    metrics=METRICS,
    repeats=5,
    prepare=prepare,
    measure=measure,
    figures=(
        Curves(
            name="ggd",
            title="{method}, {order}: loss per item (GGD) {line.first:.2f} at k = {line.start}, {line.last:.2f} at "
            "{line.end}",
            under="one clustering, without crowds of equal transactions",
            metric=GGD,
            among=largest,
            x=Scale("k", "users who share a transaction (k)"),
            y=Scale("value", "GGD per item"),
            by=("method", "order"),
            intervals=True,
            shown={"method": ORDERED},
        ),
    ),
    checks=expected(_best_order),
    needs=(),
    within=within,
)
