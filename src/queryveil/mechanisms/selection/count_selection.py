"""Selection by noisy counts: bound, count users once, add noise, and keep the items above a threshold.

Bound, noise, and thresholds come from the same `Draw` that the manifest states and that the guarantee is computed from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import bottom_k, histories, item_kinds, public_items
from queryveil.count.contribution import Bound
from queryveil.count.histories import UserCounts
from queryveil.count.item_kinds import ItemKind
from queryveil.count.public_items import PublicItems
from queryveil.mechanisms.base import Run, ScanCache
from queryveil.mechanisms.selection import listed_items, user_counts
from queryveil.privacy.draws import DISCRETE_LAPLACE, LOG, SELECTION, Draw, PublicList
from queryveil.privacy.selection_noise import noise_of

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

CHOSEN = {"random": "chosen at random", "first": "the first", "frequent": "the most repeated"}

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Survivors:
    """Items above the threshold with their noisy counts, their true counts, and how many items there were."""

    table: pa.Table
    true: Counts
    counted: int
    """Items of the log; of those off a public list, the ones that reach the first threshold."""
    listed: int = 0
    """How many of the survivors are on a public list."""


class ListedCounts:
    """Noisy counts of every item of a public list. The noise is drawn before the log is counted."""

    def __init__(self, listed: PublicItems, public: PublicList, noise: npt.NDArray[np.int64]) -> None:
        if not len(noise) == listed.rows.num_rows == public.items:
            raise TypeError("every item of a public list has noise of its own")
        self.listed, self.public = listed, public
        self.noisy, self.true = noise, np.zeros(len(noise), dtype=np.int64)

    def add(self, places: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> None:
        """Items that users have, by their places on the list; each comes once."""
        self.noisy[places] += counts
        self.true[places] = counts

    def survivors(self) -> tuple[pa.Table, npt.NDArray[np.int64]]:
        """What is above the list's own threshold, with noisy counts; and its true counts."""
        places = np.flatnonzero(self.noisy > self.public.above)
        table = self.listed.rows.take(pa.array(places))
        table = table.append_column("count", pa.array(self.noisy[places], pa.int64()))
        return table, self.true[places]


def warm_up() -> Iterator[None]:
    """Load the loops that count here, step by step, before there are any rows."""
    from queryveil.reading import raw_rows  # with readers, of which a plan needs none

    yield from raw_rows.warm_up()
    yield from bottom_k.warm_up()


def spread(draw: Draw) -> float:
    """Standard deviation of the noise, nearly."""
    free = scale_of(draw) * math.sqrt(2)
    noise = noise_of(draw)
    return free if noise is None else min(free, noise.limit)


def about(draw: Draw) -> str:
    """How large the noise is, for people."""
    return f"about +-{spread(draw):.0f}" if spread(draw) >= 1 else "less than +-1"


def scale_of(draw: Draw) -> float:
    known = draw.distribution in (DISCRETE_LAPLACE, SELECTION)
    if (
        not known
        or draw.scale is None
        or (draw.item_delta is None) != (draw.distribution == DISCRETE_LAPLACE)
    ):
        raise TypeError(f"the draw for {draw.of} adds no noise of one scale to counts")
    return draw.scale


def bound_of(draw: Draw, run: Run) -> Bound:
    if draw.most is None:
        raise TypeError(f"the draw for {draw.of} does not bound what one user adds")
    return Bound(most=draw.most, keep=draw.rule, salt=run.salt)


def frequent(log: SearchLog, run: Run, draw: Draw, listed: PublicItems | None = None) -> pa.Table:
    """The items that enough users have, with noisy numbers of users, the largest first.

    With a public list, which the draw declares, its items are there too, each by noise and a threshold of its own.
    """
    kind = item_kinds.kind(draw.bounded)
    kept: UserCounts = run.take_scan(log, draw.bounded, bound_of(draw, run)) or _collect(log, run, draw)
    with run.stage("count") as say:
        found = survivors(run, kind, kept, draw, listed)
        users = draw.at_least or 1
        least = f"with at least {users:,} users" if users > 1 else "in all"
        say(f"{kind.counted(found.counted)} {least}")
    with run.stage("protect") as say:
        say(
            f"noise of {about(draw)}, published above {draw.above:,}: "
            f"{kind.counted(found.table.num_rows)}{of_list(draw, found)}"
        )
        if listed is not None:
            listed_items.warn_of_overlap(log, run, draw.bounded, listed)
        order = ("count", *kind.columns)
        return user_counts.build_table(run, f"{kind.name}-true-counts", found.table, found.true, order)


def scan_log(log: SearchLog, run: Run, draws: Sequence[Draw]) -> bool:
    """Bound the contributions to a draw of queries before it is charged, so that unreadable rows cost nothing.

    No noise is drawn. It returns whether all texts were read that these draws need; if not, none was.
    """
    if len(draws) != 1 or draws[0].rows != LOG:
        return False
    (draw,) = draws
    bound = bound_of(draw, run)
    if not histories.reads_only_queries(log, item_kinds.kind(draw.bounded), bound):
        return False
    found = _collect(log, run, draw)
    run.scan_cache = ScanCache(log=log, items=draw.bounded, bound=bound, found=found)
    return True


def _collect(log: SearchLog, run: Run, draw: Draw) -> UserCounts:
    """Collect what each user keeps."""
    kind, bound = item_kinds.kind(draw.bounded), bound_of(draw, run)
    with run.stage("bound") as say:
        # [C1] of docs/proofs/truncated-geometric.md: items are chosen by that user's own rows and the salt.
        kept = histories.collect_user_counts(log, kind, bound)
        say(f"at most {kind.counted(bound.most)} per user, {CHOSEN[draw.rule]}")
    return kept


def of_list(draw: Draw, found: Survivors) -> str:
    """How many survivors are on the public list, for the curator."""
    if draw.public is None:
        return ""
    return f", {found.listed:,} from the public list, above {draw.public.above:,}"


def survivors(
    run: Run, kind: ItemKind, kept: UserCounts, draw: Draw, listed: PublicItems | None = None
) -> Survivors:
    """Items whose count is at least the first threshold, and whose noisy count is above the second.

    Items of a public list have neither of the two: all of them get noise, and are held against the list's threshold.
    """
    if draw.rows != LOG or draw.above is None or draw.at_least is None:
        raise TypeError(f"the draw for {draw.of} has no thresholds for rows of a log")
    if (draw.public is None) != (listed is None):
        raise TypeError(f"the draw for {draw.of} declares another public list than it is given")
    counted = kept.users_per_item(draw.at_least if listed is None else 1)
    counts = counted["count"].to_numpy()
    if listed is None or draw.public is None:
        noisy, survives = with_thresholds(counts, run, draw)
        return Survivors(_with_counts(counted, noisy, survives), counts[survives], len(counts))
    # The list's noise is drawn first, for every item of the list.
    on_list = ListedCounts(listed, draw.public, with_noise(np.zeros(listed.items, dtype=np.int64), run, draw))
    places = public_items.places(kind, listed, counted)
    is_listed = places >= 0
    on_list.add(places[is_listed], counts[is_listed])
    is_counted = is_listed | (counts >= draw.at_least)
    off_list = counted.filter(pa.array(is_counted & ~is_listed))
    counts = off_list["count"].to_numpy()
    noisy, survives = with_thresholds(counts, run, draw)
    rows, users = on_list.survivors()
    published = _with_counts(off_list, noisy, survives)
    return Survivors(
        pa.concat_tables([published, rows.cast(published.schema)]),
        np.concatenate([counts[survives], users]),
        int(is_counted.sum()),
        len(users),
    )


def _with_counts(counted: pa.Table, noisy: Counts, survives: npt.NDArray[np.bool_]) -> pa.Table:
    """Rows of items that survive, with noisy counts."""
    at = counted.schema.get_field_index("count")
    return counted.filter(pa.array(survives)).set_column(at, "count", pa.array(noisy[survives], pa.int64()))


def with_noise(counts: Counts, run: Run, draw: Draw) -> Counts:
    """Return counts with the noise of a draw, an independent one for each [C2, C8]."""
    scale = scale_of(draw)
    drawn = (
        run.noise.discrete_laplace(scale, len(counts))
        if draw.item_delta is None
        else run.noise.selection_noise(scale, draw.item_delta, len(counts))
    )
    noisy: Counts = counts + drawn
    return noisy


def with_thresholds(counts: Counts, run: Run, draw: Draw) -> tuple[Counts, npt.NDArray[np.bool_]]:
    """Return noisy counts, and which of them are published: those that pass both thresholds."""
    if draw.above is None or draw.at_least is None:
        raise TypeError(f"the draw for {draw.of} has no thresholds for rows of a log")
    noisy = with_noise(counts, run, draw)
    # [C7] of docs/proofs/truncated-geometric.md: the same noise decides what is published and with which count.
    return noisy, (counts >= draw.at_least) & (noisy > draw.above)
