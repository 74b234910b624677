"""Every two published queries, one after the other: all are public by then, so that each gets noise and none needs p.

What users hold is steered in rounds like queries. The others have sums of 0 in every round: they take part with noise
alone, in portions, because there are far too many to keep. Conditions [G3] and [G4] are of docs/proofs/click-graph.md.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count.histories import Histories
from queryveil.mechanisms.selection import gaussian_account, gaussian_rounds, steering
from queryveil.mechanisms.selection import gaussian_kernels as kernels
from queryveil.mechanisms.selection.steering import Setting
from queryveil.privacy.noise import Noise

Whole = npt.NDArray[np.int64]

_PORTION = 1 << 20
_LEAST_DEVIATIONS = 3.0
"""However few pairs there are, none is published that is closer to what noise alone gives."""
_FULL_BITS = steering.FULL.bit_length() - 1


@dataclass(frozen=True)
class SelectedPairs:
    """Published pairs, and what is needed to count their users."""

    texts: pa.Table
    first: Whole
    """The noisy sum that each had in the first round."""


def setting(noise: gaussian_account.Noise, queries: int, decoys: float) -> Setting:
    """The threshold that so many pairs of so many queries exceed by noise alone, on average.

    [G4] It follows from the number of published queries, and never from how many pairs anybody holds.
    """
    made = Setting(noise.share.rounds, noise.scale, 0.0, 1, 0)
    pairs = max(1, queries * (queries - 1))
    least = NormalDist().cdf(-_LEAST_DEVIATIONS)
    deviations = -NormalDist().inv_cdf(min(decoys / pairs, least))
    # Rounding adds at most a half to each draw.
    top = math.ceil(deviations * math.sqrt(made.square) * noise.scale + made.sum / 2)
    return dataclasses.replace(made, tau=top)


def select(held: Histories, queries: pa.Array, setting: Setting, noise: Noise) -> SelectedPairs:
    """The pairs of these queries whose statistic is above the threshold, whether or not somebody holds them."""
    chosen = gaussian_rounds.select(held, setting, noise, length_prior=False)
    known = _codes(held.texts(np.unique(held.items)), queries)
    found = list(_by_noise(setting, len(queries), known, noise))
    codes = np.concatenate([np.empty(0, np.int64), *(one[0] for one in found)])
    first = np.concatenate([np.empty(0, np.int64), *(one[1] for one in found)])
    texts = held.texts(chosen.codes)
    added = [queries.take(pa.array(places)) for places in (codes // len(queries), codes % len(queries))]
    return SelectedPairs(
        texts=pa.concat_tables([texts, pa.table(added, schema=texts.schema)]),
        first=np.concatenate([chosen.first_sums, first]),
    )


def _codes(pairs: pa.Table, queries: pa.Array) -> Whole:
    """Pairs as one whole number each, in order."""
    import pyarrow.compute as pc

    source, goal = (
        pc.index_in(pairs[column], value_set=queries).to_numpy().astype(np.int64)
        for column in ("query", "next_query")
    )
    codes: Whole = np.sort(source * len(queries) + goal)
    return codes


def _by_noise(setting: Setting, queries: int, known: Whole, noise: Noise) -> Iterator[tuple[Whole, Whole]]:
    """Pairs that nobody holds and noise alone publishes: their numbers, and their noise of the first round.

    [G3] Each pair takes part, with fresh noise in every round for as long as it is not dropped.
    """
    tables = steering.tables(setting)
    for start in range(0, queries * queries, _PORTION):
        codes = np.arange(start, min(start + _PORTION, queries * queries))
        codes = codes[(codes // queries != codes % queries) & ~np.isin(codes, known, assume_unique=True)]
        totals, first = np.zeros(codes.size, np.int64), np.zeros(codes.size, np.int64)
        for done, weight in enumerate(setting.a):
            drawn = noise.rounded_normal(setting.scale, codes.size)
            totals += weight * drawn
            first = drawn if done == 0 else first
            if done < len(tables):
                left = _left(totals, tables[done])
                codes, totals, first = codes[left], totals[left], first[left]
        passes = totals > setting.tau
        yield codes[passes], first[passes]


def _left(totals: Whole, table: steering.Round) -> npt.NDArray[np.bool_]:
    """Which are not dropped, by the same rule as pairs that users hold."""
    alive, scores = np.ones(totals.size, np.bool_), np.zeros(totals.size, np.int64)
    priors = np.zeros(totals.size, np.int64)
    kernels.steer(
        *(totals, priors, table.width, table.first, table.gates, table.paces, _FULL_BITS, alive, scores)
    )
    return alive
