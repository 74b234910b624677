"""Selection among all ordered pairs of published queries: all are public by then, so each gets noise and none needs p.

What users hold is steered in rounds like queries. The others have sums of 0 in every round: they take part with noise
alone, in portions, because there are far too many to keep. Conditions [G3] and [G4] are of docs/proofs/click-graph.md.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import histories
from queryveil.count.contribution import Bound
from queryveil.count.histories import Histories
from queryveil.count.item_kinds import ItemKind
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.selection import gaussian_account, gaussian_rounds, steering
from queryveil.mechanisms.selection import gaussian_kernels as kernels
from queryveil.mechanisms.selection.item_selection import Selected
from queryveil.mechanisms.selection.steering import Setting
from queryveil.privacy.noise import Noise

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

Whole = npt.NDArray[np.int64]

_PORTION = 1 << 20
_LEAST_DEVIATIONS = 3.0
"""However few pairs there are, none is published that is closer to what noise alone gives."""
_FULL_BITS = steering.FULL.bit_length() - 1


def calibrate_pairs(noise: gaussian_account.Noise, queries: int, decoys: float) -> Setting:
    """Return the threshold that so many pairs of so many queries exceed by noise alone, on average.

    [G4] It follows from the number of published queries, and never from how many pairs users hold.
    """
    made = Setting(noise.share.rounds, noise.scale, 0.0, 1, 0)
    pairs = max(1, queries * (queries - 1))
    least = NormalDist().cdf(-_LEAST_DEVIATIONS)
    deviations = -NormalDist().inv_cdf(min(decoys / pairs, least))
    # Rounding adds at most a half to each draw.
    top = math.ceil(deviations * math.sqrt(made.square) * noise.scale + made.sum / 2)
    return dataclasses.replace(made, tau=top)


@dataclass(frozen=True)
class PairRounds:
    """Selects ordered pairs of published queries by noisy sums of votes, whether or not any user holds them."""

    setting: Setting
    queries: pa.Array

    def collect(self, log: SearchLog, kind: ItemKind, bound: Bound, rows: ir.Table | None) -> Histories:
        """Collect bounded histories of pairs."""
        return histories.collect_histories(log, kind, bound, rows)

    def select(self, held: Histories, kind: ItemKind, run: Run) -> Selected:
        """Select pairs whose statistic is above the threshold, with noisy sums of the first round as evidence."""
        chosen = gaussian_rounds.select(held, self.setting, run.noise)
        known = self._pair_codes(held.texts(np.unique(held.items)))
        found = list(_select_by_noise(self.setting, len(self.queries), known, run.noise))
        codes = np.concatenate([np.empty(0, np.int64), *(one[0] for one in found)])
        first = np.concatenate([np.empty(0, np.int64), *(one[1] for one in found)])
        texts = held.texts(chosen.codes)
        ends = (codes // len(self.queries), codes % len(self.queries))
        added = [self.queries.take(pa.array(places)) for places in ends]
        return Selected(
            items=pa.concat_tables([texts, pa.table(added, schema=texts.schema)]),
            evidence=np.concatenate([chosen.first_sums, first]),
            summary=gaussian_rounds.describe_noise(self.setting),
        )

    def _pair_codes(self, pairs: pa.Table) -> Whole:
        """Return pairs as one whole number each, in order."""
        import pyarrow.compute as pc

        source, goal = (
            pc.index_in(pairs[column], value_set=self.queries).to_numpy().astype(np.int64)
            for column in ("query", "next_query")
        )
        codes: Whole = np.sort(source * len(self.queries) + goal)
        return codes


def _select_by_noise(
    setting: Setting, queries: int, known: Whole, noise: Noise
) -> Iterator[tuple[Whole, Whole]]:
    """Yield the pairs that no user holds and noise alone publishes: their codes, and their noise of the first round.

    [G3] Each pair takes part, with fresh noise in every round for as long as it is not dropped.
    """
    tables = steering.score_tables(setting)
    for start in range(0, queries * queries, _PORTION):
        codes = np.arange(start, min(start + _PORTION, queries * queries))
        codes = codes[(codes // queries != codes % queries) & ~np.isin(codes, known, assume_unique=True)]
        totals, first = np.zeros(codes.size, np.int64), np.zeros(codes.size, np.int64)
        for done, weight in enumerate(setting.a):
            drawn = noise.rounded_normal(setting.scale, codes.size)
            totals += weight * drawn
            first = drawn if done == 0 else first
            if done < len(tables):
                left = _is_left(totals, tables[done])
                codes, totals, first = codes[left], totals[left], first[left]
        passes = totals > setting.tau
        yield codes[passes], first[passes]


def _is_left(totals: Whole, table: steering.Round) -> npt.NDArray[np.bool_]:
    """Return which pairs are not dropped, by the same rule as pairs that users hold."""
    alive, scores = np.ones(totals.size, np.bool_), np.zeros(totals.size, np.int64)
    priors = np.zeros(totals.size, np.int64)
    kernels.steer_scores(
        *(totals, priors, table.width, table.first, table.gates, table.paces, _FULL_BITS, alive, scores)
    )
    return alive
