"""Selection by noisy counts: add noise to numbers of users, and keep the items above a threshold.

Bound, noise, and thresholds come from the same `Draw` that the manifest states and that the guarantee is computed from.
Lines that satisfy a condition [Cn] of docs/proofs/truncated-geometric.md are marked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import histories, item_kinds, public_items
from queryveil.count.contribution import Bound
from queryveil.count.histories import UserCounts
from queryveil.count.item_kinds import ItemKind
from queryveil.count.public_items import PublicItems
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.selection.item_selection import (
    Counts,
    ItemSelection,
    Selected,
    publish_items,
)
from queryveil.privacy.draws import DISCRETE_LAPLACE, LOG, SELECTION, Draw, PublicList
from queryveil.privacy.selection_noise import noise_of

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog


# -- noise ---------------------------------------------------------------------------------------------------


def noise_scale(draw: Draw) -> float:
    """Return the scale of the noise that a draw adds to counts."""
    known = draw.distribution in (DISCRETE_LAPLACE, SELECTION)
    if (
        not known
        or draw.scale is None
        or (draw.item_delta is None) != (draw.distribution == DISCRETE_LAPLACE)
    ):
        raise TypeError(f"the draw for {draw.of} adds no noise of one scale to counts")
    return draw.scale


def describe_noise(draw: Draw) -> str:
    """Return how large the noise is, for people: about one standard deviation."""
    deviation = noise_scale(draw) * math.sqrt(2)
    noise = noise_of(draw)
    deviation = deviation if noise is None else min(deviation, noise.limit)
    return f"noise of {f'about +-{deviation:.0f}' if deviation >= 1 else 'less than +-1'}"


def bound_of(draw: Draw, run: Run) -> Bound:
    """Return the bound on what one user contributes to a draw."""
    if draw.most is None:
        raise TypeError(f"the draw for {draw.of} does not bound what one user adds")
    return Bound(most=draw.most, keep=draw.rule, salt=run.salt)


def with_noise(counts: Counts, run: Run, draw: Draw) -> Counts:
    """Return counts with the noise of a draw, an independent one for each [C2, C8]."""
    scale = noise_scale(draw)
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
    # [C7] The same noise decides what is published and with which count.
    return noisy, (counts >= draw.at_least) & (noisy > draw.above)


# -- selection -----------------------------------------------------------------------------------------------


class ListedCounts:
    """Noisy counts of every item of a public list. The noise is drawn before the log is counted."""

    def __init__(self, listed: PublicItems, public: PublicList, noise: Counts) -> None:
        if not len(noise) == listed.rows.num_rows == public.items:
            raise TypeError("every item of a public list has noise of its own")
        self.listed, self.public = listed, public
        self.noisy, self.true = noise, np.zeros(len(noise), dtype=np.int64)

    def add(self, places: npt.NDArray[np.int64], counts: Counts) -> None:
        """Add the counts of items that users have, by their places on the list; each comes once."""
        self.noisy[places] += counts
        self.true[places] = counts

    def survivors(self) -> tuple[pa.Table, Counts, Counts]:
        """Return the items above the list's own threshold, with noisy and with true counts."""
        places = np.flatnonzero(self.noisy > self.public.above)
        return self.listed.rows.take(pa.array(places)), self.noisy[places], self.true[places]


@dataclass(frozen=True)
class CountThreshold:
    """Selects items whose noisy number of users is above a threshold, as a draw declares it.

    An item must also reach the draw's first threshold without noise. Items of a public list have neither threshold: all
    of them get noise, and are held against the threshold of the list.
    """

    draw: Draw
    listed: PublicItems | None = None

    def collect(self, log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None) -> UserCounts:
        """Collect what is needed to count the users who keep each item."""
        return histories.collect_user_counts(log, kind, bound, rows)

    def select(self, kept: UserCounts, kind: ItemKind, run: Run) -> Selected:
        """Select items, with their noisy counts as evidence."""
        draw, listed = self.draw, self.listed
        if draw.rows != LOG or draw.above is None or draw.at_least is None:
            raise TypeError(f"the draw for {draw.of} has no thresholds for rows of a log")
        if (draw.public is None) != (listed is None):
            raise TypeError(f"the draw for {draw.of} declares another public list than it is given")
        if listed is None or draw.public is None:
            counted = kept.users_per_item(draw.at_least)
            items, noisy, users = self._select_above(counted, run)
            return Selected(items, noisy, self._summary(kind.counted(counted.num_rows)), users)
        # The list's noise is drawn first, for every item of the list.
        noise = with_noise(np.zeros(listed.items, dtype=np.int64), run, draw)
        on_list = ListedCounts(listed, draw.public, noise)
        counted = kept.users_per_item()
        counts = counted["count"].to_numpy()
        places = public_items.places(kind, listed, counted)
        is_listed = places >= 0
        on_list.add(places[is_listed], counts[is_listed])
        is_counted = is_listed | (counts >= draw.at_least)
        items, noisy, users = self._select_above(counted.filter(pa.array(is_counted & ~is_listed)), run)
        more, more_noisy, more_users = on_list.survivors()
        return Selected(
            items=pa.concat_tables([items, more.cast(items.schema)]),
            evidence=np.concatenate([noisy, more_noisy]),
            summary=self._summary(kind.counted(int(is_counted.sum()))),
            users=np.concatenate([users, more_users]),
            from_list=len(more_users),
        )

    def _select_above(self, counted: pa.Table, run: Run) -> tuple[pa.Table, Counts, Counts]:
        """Return the items that pass both thresholds, with noisy and with true counts."""
        counts = counted["count"].to_numpy()
        noisy, passes = with_thresholds(counts, run, self.draw)
        items = counted.drop_columns(["count"]).filter(pa.array(passes))
        return items, noisy[passes], counts[passes]

    def _summary(self, counted: str) -> str:
        draw = self.draw
        users = draw.at_least or 1
        least = f"with at least {users:,} users" if users > 1 else "in all"
        on_list = "" if draw.public is None else f" ({draw.public.above:,} on the public list)"
        return f"{counted} {least}; {describe_noise(draw)}, threshold {draw.above:,}{on_list}"


# -- counts --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoisyCounts:
    """Publishes noisy counts: those that selected the items, which cost nothing more, or those of a fresh draw."""

    fresh: Draw | None = None
    summary: str = ""

    def count(self, selected: Selected, histories: UserCounts, run: Run) -> tuple[pa.Table, Counts]:
        """Return rows with noisy counts, and the true counts, for the curator alone."""
        if selected.users is None:
            raise TypeError("these items were selected without counting their users")
        noisy = selected.evidence if self.fresh is None else with_noise(selected.users, run, self.fresh)
        return selected.items.append_column("count", pa.array(noisy, pa.int64())), selected.users


def threshold_selection(draw: Draw, run: Run, listed: PublicItems | None = None) -> ItemSelection[UserCounts]:
    """Return the selection of items by one draw, which also makes their counts.

    Args:
        draw: The draw, with the bound on each user's items, the noise, and the thresholds.
        run: The publication in progress.
        listed: The public list that the draw declares, whose items have a threshold of their own.
    """
    return ItemSelection(
        name=draw.bounded,
        kind=item_kinds.kind(draw.bounded),
        bound=bound_of(draw, run),
        selector=CountThreshold(draw, listed),
        counter=NoisyCounts(),
        listed=listed,
    )


def publish_frequent_items(
    log: SearchLog, run: Run, draw: Draw, listed: PublicItems | None = None
) -> pa.Table:
    """Return the items that enough users have, with noisy numbers of users, the largest first."""
    return publish_items(log, run, threshold_selection(draw, run, listed))
