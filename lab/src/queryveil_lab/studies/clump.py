"""What Clump and Partition keep of k-anonymous transactions: against k and the number of users, and against r."""

from __future__ import annotations

from collections.abc import Iterator

from queryveil_lab.studies import shapes
from queryveil_lab.studies.clump_runs import (
    BY_GGD,
    DISTINCT,
    GGD,
    LENGTH,
    LEVEL,
    LOST,
    METRICS,
    NAMES,
    NCP,
    OURS,
    PAPERS,
    PAPERS_DISTINCT,
    PARTITION,
    SECONDS,
    USERS,
    K,
    R,
    curves,
    enough,
    few,
    largest,
    lines,
    measure,
    prepare,
    within,
)
from queryveil_lab.studies.declaration import Axis, Check, Findings, Study, too_small
from queryveil_lab.studies.expectations import Along, Beside, expected
from queryveil_lab.studies.shapes import Line


def _check_saved(found: Findings) -> Iterator[Check]:
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


def _check_duplicates(found: Findings) -> Iterator[Check]:
    """Lengths and levels as the paper has them: by what is done with duplicates."""
    lengths, levels = (
        {method: line.last for method, line in lines(found, metric, "k")} for metric in (LENGTH, LEVEL)
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


def _check_removed(found: Findings) -> Iterator[Check]:
    """What removing duplicates costs, by the paper's rules."""
    loss = found.where(metric=GGD)
    pair = Beside(
        says="", metric=GGD, column="method", ours=PAPERS_DISTINCT, theirs=PAPERS, at=("users", "k"), told="",
        shape=shapes.never_below,
    ).pair(loss)  # fmt: skip
    if len(pair):
        (least, most), says = (
            pair.times,
            "removing duplicates costs little: a quarter at most (the paper's rules)",
        )
        told = f"GGD is {100 * (least - 1):.0f} to {100 * (most - 1):.0f} % higher without duplicates"
        lacking = few(found)
        yield too_small(says, f"{told}; {lacking}") if lacking else Check(says, most <= 1.25, told)


def _usual_r(found: Findings) -> Iterator[Check]:
    for method, line in lines(found, GGD, "r"):
        if len(line) == 1:
            continue  # the least by itself
        usual = min(line, key=lambda r: (abs(r - 10), r))
        yield Check(
            f"r = {usual} loses at most a tenth more than the best r ({NAMES[method]})",
            line[usual] <= 1.1 * line.lowest,
            f"{line[usual]:.3f}, the best {line.lowest:.3f} at r = {line.dip}, and {line.last:.3f} at r = {line.end}",
        )


# -- declarations ------------------------------------------------------------------------------------------------


CLUMP_QUALITY = Study(
    name="clump-quality",
    question="How much is left of k-anonymous transactions, and which method keeps most?",
    paper="Clump loses up to 30 % less than Partition; it gains less for a larger k and for more, sparser "
    "transactions; removing duplicates costs little; Clump's transactions are longer, and its concepts more general "
    "unless duplicates are removed",
    mechanism="clump, partition",
    axes=(
        Axis(
            "method",
            (OURS, DISTINCT, PAPERS, PAPERS_DISTINCT, PARTITION),
            "how users are grouped",
            closed=True,
        ),
        USERS,
        K,
        R,
    ),
    metrics=METRICS,
    repeats=1,
    prepare=prepare,
    measure=measure,
    figures=(
        curves("ggd", GGD, "k", *BY_GGD),
        curves("ncp", NCP, "k", "NCP per item", "loss per item (NCP)", LOST),
        curves("length", LENGTH, "k", "items", "items per transaction", "items of a published transaction"),
        curves("level", LEVEL, "k", "level", "mean level of concepts", "the root is level 1"),
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
        Beside(
            says="Clump's GGD is below Partition's by the paper's rules",
            metric=GGD,
            column="method",
            ours=PAPERS,
            theirs=PARTITION,
            at=("users", "k"),
            shape=shapes.below_everywhere,
            told="in {pair.lower} of {of} settings, {pair.times.least:.2f} to {pair.times.most:.2f} times as large",
            enough=enough,
        ),
        _check_removed,
        _check_duplicates,
        _check_saved,
        Along(
            says="a larger crowd costs more (Clump)",
            metric=GGD,
            along="k",
            where={"method": OURS},
            among=largest,
            shape=shapes.grows,
            told="{line.first:.3f} at k = {line.start} to {line.last:.3f} at k = {line.end}",
        ),
    ),
    needs=(),
    within=within,
)

CLUMP_R = Study(
    name="clump-r",
    question="How many clusters should Clump keep open at a time?",
    paper="a larger r takes longer and is not always better, because Clump is greedy; r = 10 is good",
    mechanism="clump",
    axes=(
        Axis("method", (OURS, PAPERS), "by which rules users are grouped"),
        Axis("users", (53_058,), USERS.help),
        Axis("k", (5,), K.help),
        Axis("r", (5, 10, 30, 50, 100), R.help),
    ),
    metrics=METRICS,
    repeats=1,
    prepare=prepare,
    measure=measure,
    figures=(
        curves("ggd", GGD, "r", *BY_GGD),
        curves("seconds", SECONDS, "r", "seconds", "seconds", "processor time on one core"),
    ),
    checks=expected(_usual_r),
    needs=(),
    within=within,
)
