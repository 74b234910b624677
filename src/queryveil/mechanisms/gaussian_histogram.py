"""What mechanisms with Gaussian noise share: one account, histories, declared draws and tables, and counts.

A mechanism says how it selects items; counts of the published ones are a second draw of the same account.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import histories, item_kinds, numbering
from queryveil.count.contribution import Bound
from queryveil.count.histories import Histories
from queryveil.count.public_items import PublicItems
from queryveil.errors import CannotBeMet
from queryveil.mechanisms import gaussian_account, listed_counts, listed_items, noisy_histogram
from queryveil.mechanisms.base import (
    ROW_LOCAL,
    USER_IS_ACCOUNT,
    Mechanism,
    Plan,
    Run,
    ScanCache,
    assumed_of,
    public_parameters,
    warnings_of,
)
from queryveil.mechanisms.gaussian_account import GRID, Account, Noise, Share
from queryveil.mechanisms.listed_sums import ListedSums
from queryveil.mechanisms.steered import selection, theory, words
from queryveil.mechanisms.steered.selection import Selected
from queryveil.privacy.draws import ALL, L2, LOG, PUBLISHED, ROUNDED_NORMAL, Draw
from queryveil.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

_MUCH_EPSILON = 1.5
"""From here on noise is small enough that users with many published items may count more."""


class Selecting(Mechanism, Protocol):
    """A mechanism that selects items with Gaussian noise, and may count their users."""

    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def max_items(self) -> int: ...
    @property
    def items(self) -> tuple[str, ...]: ...
    @property
    def neighbours(self) -> str: ...
    @property
    def keep(self) -> str: ...
    @property
    def counts_share(self) -> float: ...


def counts_of(kind: str) -> str:
    """What the draw of counts is for."""
    return f"counts of {kind.replace('-', ' ')}"


def norm_of_counts(epsilon: float) -> int:
    """To which norm a user's counts are scaled down, in units of the grid: fixed by epsilon, never by the log."""
    return 3 if epsilon >= _MUCH_EPSILON else 2


def account(
    method: Selecting, selecting: Callable[[str, float], Share], p_share: float | None = None
) -> Account:
    """Item kinds have equal shares, each divided between selection and counts."""
    shares = [selecting(kind, 1 - method.counts_share) for kind in method.items]
    norm = norm_of_counts(method.epsilon)
    shares += [Share(of=counts_of(kind), weight=method.counts_share, norm=norm) for kind in method.items]
    return gaussian_account.opened(
        method.epsilon, method.delta, shares, replace=method.neighbours == "replace", p_share=p_share
    )


def undivided(account: Account, kind: str, p_share: float | None = None) -> Noise:
    """The noise that selection would have if nothing were spent on counts or on other item kinds."""
    alone = dataclasses.replace(account.noise(kind).share, weight=1.0)
    return gaussian_account.opened(
        account.epsilon, account.delta, (alone,), replace=account.replace, p_share=p_share
    ).noises[0]


def plan(
    method: Selecting,
    account: Account,
    figures: Mapping[str, Any],
    above: Mapping[str, int],
    *,
    users: int | None,
    how: str,
    expected: tuple[str, ...],
    listed: ListedSums | None = None,
) -> Plan:
    """The plan, from figures of the account as a whole and thresholds of each item kind."""
    assumed = [ROW_LOCAL, USER_IS_ACCOUNT, *assumed_of(method.items)]
    caveats = [words.OF_ABSENCE, words.OF_COUNTS]
    if listed is not None:
        assumed.append(listed_items.assumed(listed.public))
        caveats.append(listed_items.caveat(listed.decoys))
        figures, expected = {**figures, **listed.calibrated()}, (*expected, *listed.expected())
    promise = account.guarantee(tuple(assumed), tuple(caveats)).among(users, told=False)
    return Plan(
        method=method.name,
        parameters=public_parameters(method),
        calibration={"mu": account.mu, "counts_share": method.counts_share, **figures},
        guarantee=promise,
        tables=words.tables(method.items, listed=listed is not None),
        draws=draws(method, account, promise, above, listed),
        what=words.what(method.items),
        how=how,
        warnings=warnings_of(promise, users),
        expected=expected,
        labels=words.LABELS,
    )


def draws(
    method: Selecting,
    account: Account,
    promise: Guarantee,
    above: Mapping[str, int],
    listed: ListedSums | None = None,
) -> tuple[Draw, ...]:
    """In the order of the account; the parts of the guarantee are in the same order."""
    made = []
    for noise, part in zip(account.noises, promise.parts or (promise,), strict=True):
        of = noise.share.of
        kind = of if of in above else next(one for one in above if counts_of(one) == of)
        selects = of in above
        made.append(
            Draw(
                of=of,
                table="items" if len(above) == 1 else kind,
                bounded=kind,
                rule=method.keep if selects else ALL,
                most=method.max_items if selects else None,
                sensitivity=noise.sensitivity,
                norm=L2,
                distribution=ROUNDED_NORMAL,
                scale=noise.scale,
                rows=LOG if selects else PUBLISHED,
                above=above[of] if selects else None,
                public=listed.public if listed is not None and selects else None,
                weights=noise.share.weights,
                rounds=noise.share.rounds,
                **part.cost,
            )
        )
    return tuple(made)


def check(method: Selecting, log: SearchLog) -> None:
    for kind in method.items:
        item_kinds.kind(kind).check(log)
    if method.keep == "first":
        log.need("time", "keeping each user's first items")


def refuse_too_few(
    epsilon: float, users: int, needed: Callable[[float], int], noun: str = "an item that every user has"
) -> None:
    """Refuse an epsilon at which nothing can pass, with the smallest that could.

    `needed`: how many users an item needs for an even chance, by epsilon.
    """
    least = needed(epsilon)
    if least <= users:
        return
    enough = theory.smallest_epsilon(lambda other: needed(other) <= users)
    way = "use a log with more users"
    raise CannotBeMet(
        f"nothing can be published with epsilon {epsilon:g}: even {noun} would need {least:,} users for an even "
        f"chance, and the log has {users:,}",
        way if enough is None else f"use an epsilon of at least {enough:g}, or a log with more users",
    )


def bounded(
    method: Selecting, log: SearchLog, run: Run, name: str, listed: PublicItems | None = None
) -> Histories:
    """The histories of a log, each of at most so many items; a public list's items are numbered with theirs."""
    kind, bound = item_kinds.kind(name), _bound(method, run)
    scanned: Histories | None = run.take_scan(log, name, bound, listed)
    if scanned is not None:
        return scanned
    with run.stage("bound") as say:
        found = histories.histories(log, kind, bound, listed=listed)
        say(f"at most {kind.counted(bound.most)} per user, {noisy_histogram.CHOSEN[bound.keep]}")
    return found


def _bound(method: Selecting, run: Run) -> Bound:
    return Bound(most=method.max_items, keep=method.keep, salt=run.salt, order_key=run.order_key)


def scan_log(method: Selecting, log: SearchLog, run: Run, listed: PublicItems | None) -> bool:
    """Number users and queries before they are paid for, so that rows that cannot be read cost nothing.

    No noise is drawn for it. It returns whether all texts were read that the method needs; if not, none was.
    """
    name, *others = method.items
    bound = _bound(method, run)
    if others or not numbering.in_one_pass(log, item_kinds.kind(name), bound):
        return False
    found = bounded(method, log, run, name, listed)
    run.scan_cache = ScanCache(log=log, items=name, bound=bound, listed=listed, found=found)
    return True


def told_of_list(log: SearchLog, run: Run, chosen: Selected, listed: PublicItems | None) -> str:
    """How many published items are on the list, for the curator; who is warned if the list looks like the log's own."""
    if listed is None or chosen.left.listed is None:
        return ""
    listed_counts.warn_of_overlap(log, run, chosen.left.kind.name, listed)
    return f", {int(chosen.left.listed[chosen.numbers].sum()):,} from the public list"


def table(run: Run, chosen: Selected, noise: Noise) -> pa.Table:
    """The published items with noisy counts, in an order that follows from what is published alone."""
    kind, texts = chosen.left.kind, chosen.left.texts(chosen.numbers)
    with run.stage("count") as say:
        made, true = with_counts(run, chosen.left, texts, chosen.first, noise)
        say(f"noise of about +-{math.ceil(noise.scale / GRID):,} users on small counts")
    # [C8] of docs/proofs/steered.md. Nothing else leaves: no sums, no scores, no number of items that were alive.
    return noisy_histogram.ordered(
        run, f"{kind.name}-true-counts", made, ("count", *kind.columns), users=true
    )


def with_counts(
    run: Run, found: Histories, texts: pa.Table, first: npt.NDArray[np.int64], noise: Noise
) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Published rows with noisy numbers of users and their deviations; and true numbers, for the curator alone.

    [C9] of docs/proofs/steered.md. Whole histories count, including items beyond the bound of the selection: the rows
    are published by now, and the norm bounds what one user adds.
    """
    starts, places = found.among(texts)
    counts, deviations = selection.counted(starts, places, first, noise.scale, noise.share.norm, run.noise)
    made = texts.append_column("count", pa.array(counts, pa.int64()))
    made = made.append_column("deviation", pa.array(deviations, pa.int64()))
    return made, np.bincount(places[places >= 0], minlength=texts.num_rows).astype(np.int64)
