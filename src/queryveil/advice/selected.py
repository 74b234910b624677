"""What steered or truncated geometric selection of the whole log would hold, judged by a pilot.

Which of the two is tried follows from a guess that the curator states, how many items a user has, and never from the
log: truncated geometric selection is for few items per user, steered for many.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa

from queryveil.advice.pilot import Pilot
from queryveil.count import histories, item_kinds
from queryveil.count.contribution import Bound
from queryveil.measure.histograms import Histogram
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.selection import count_selection, gaussian_rounds, steering, user_counts
from queryveil.mechanisms.selection.gaussian_account import MOST_EPSILON, counts_of
from queryveil.mechanisms.steered import Steered
from queryveil.mechanisms.truncated_geometric import TruncatedGeometric
from queryveil.privacy.draws import Draw

FEW = 2.0
"""With fewer items per user than about this, one item per user and less noise publish more."""
MANY = 10.0
"""The guess where none is stated: users of a search engine have more than two queries."""

Selects = Steered | TruncatedGeometric


def method_for(items_per_user: float, *, epsilon: float, delta: float, kind: str) -> Selects | None:
    """The method for users with about so many items, by a public guess; None where epsilon is beyond all sense."""
    if epsilon > MOST_EPSILON:
        return None
    if items_per_user < FEW:
        return TruncatedGeometric(epsilon=epsilon, delta=delta, items=(kind,))
    return Steered(epsilon=epsilon, delta=delta, items=(kind,))


def guess_in_words(items_per_user: float) -> str:
    """Why the one was tried and not the other."""
    which, other = (
        ("truncated-geometric", "steered") if items_per_user < FEW else ("steered", "truncated-geometric")
    )
    stated = "the default" if items_per_user == MANY else "as you stated"
    return (
        f"About {items_per_user:g} items per user are assumed, {stated} (--items-per-user), so {which} was tried and "
        f"not {other}. The line between them is at about {FEW:g} items. The log was not looked at for this."
    )


def simulate_releases(pilot: Pilot, method: Selects, draws: int) -> list[Histogram]:
    """What several releases of the whole log would hold, each with noise of its own."""
    kind = method.items[0]
    if isinstance(method, TruncatedGeometric):
        counted = pilot.bounded_counts(kind, method.max_items)
        draw = method.plan().draws[0]
        return [_simulate_truncated(pilot, counted, draw) for _ in range(draws)]
    bound = Bound(most=method.max_items, salt=pilot.noise.key())
    found = histories.collect_histories(pilot.log, item_kinds.kind(kind), bound)
    return [_simulate_steered(pilot, method, found) for _ in range(draws)]


def _simulate_truncated(pilot: Pilot, counted: pa.Table, draw: Draw) -> Histogram:
    run = Run(noise=pilot.noise)
    noisy, published = count_selection.with_thresholds(counted["count"].to_numpy(), run, draw)
    at = counted.column_names.index("count")
    return Histogram.of(
        counted.set_column(at, "count", pa.array(noisy, pa.int64())).filter(pa.array(published))
    )


def _simulate_steered(pilot: Pilot, method: Steered, found: histories.Histories) -> Histogram:
    """Sums of a sample are smaller in proportion, so noise and threshold are made smaller too."""
    account, share = method.account(), pilot.share
    whole = steering.calibrate(account.noise(method.items[0]))
    sample = dataclasses.replace(
        whole, scale=max(1, round(whole.scale * share)), tau=round(whole.tau * share)
    )
    chosen = gaussian_rounds.select(found, sample, pilot.noise, length_prior=method.length_prior)
    noise = account.noise(counts_of(method.items[0]))
    table = found.texts(chosen.codes)
    counts, _ = user_counts.estimate_users(
        *found.among(table),
        chosen.first_sums,
        max(1, round(noise.scale * share)),
        noise.share.norm,
        pilot.noise,
    )
    scaled = np.rint(counts / share).astype(np.int64)
    return Histogram.of(table.append_column("count", pa.array(scaled, pa.int64())))
