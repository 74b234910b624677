"""Places in proportion to noisy counts, without noise being drawn for every count.

A user's histogram has tens of thousands of counts, nearly all of them 0, and a few places are drawn from it. Which
ones depends on few of the noise values. The others are put off, and most are never needed: the outcome has the same
law as if each had been drawn. Letters in brackets name the steps of the proof in docs/proofs/profile-histogram.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from queryveil.privacy.noise import Noise

_LARGEST_COUNT = 1 << 39
"""Sums over any domain stay below 2^62. A count beyond it has no chance at scales up to 2^30."""
_RARITIES = range(2, 17)
_ROUNDS = 16
"""Rounds of proposals before the rest of the noise is drawn, which nearly no user needs."""
_AT_ONCE = 1 << 18
"""Proposals that are in memory at once."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class NoisyHistograms:
    """Counts over `size` places with discrete Laplace noise on each of them; those below 0 become 0."""

    noise: Noise
    scale: float
    size: int
    picks: int
    """Places drawn for each user in proportion to her counts, or uniformly if all are 0."""
    rarity: int
    """Noise is put off where it has no mark of this rarity; 0 if none is."""

    @staticmethod
    def of(noise: Noise, scale: float, size: int, picks: int) -> NoisyHistograms:
        """With the rarity that costs least. Whichever it is, the law is the same."""
        values = [NoisyHistograms(noise, scale, size, picks, rarity) for rarity in _RARITIES]
        best = min(values, key=NoisyHistograms.cost)
        # A proposal takes about twelve times as long as a value in a row.
        return best if 12 * best.cost() < size else NoisyHistograms(noise, scale, size, picks, 0)

    def cost(self) -> float:
        """About how many noise values a user needs; from public numbers alone."""
        return self.proposals(self.picks) + 2 * self.size * 2.0**-self.rarity

    def proposals(self, picks: int) -> int:
        """About how many proposals give so many picks, if nothing is counted, and some to spare."""
        q = math.exp(-1 / self.scale)
        mean = q / (1 - q * q)
        each = max(1.0, self.limit / mean) if mean else 1.0
        return math.ceil(1.25 * picks * each) + 8

    @property
    def limit(self) -> int:
        """What noise without a mark never exceeds."""
        return min(self.noise.laplace_limit(self.scale, self.rarity), _LARGEST_COUNT)

    def drawn(self, users: int, owners: Numbers, places: Numbers) -> Numbers:
        """The drawn places, user by user. What is counted has an owner, ascending and below `users`, and a place."""
        step = max(1, _AT_ONCE // self.proposals(self.picks)) if self.rarity else 1
        found = []
        for first in range(0, users, step):
            some = min(step, users - first)
            own = slice(*np.searchsorted(owners, [first, first + some]).tolist())
            if self.rarity:
                found.append(_Users(self, some, owners[own] - first, places[own]).picked())
            else:
                found.append(self._in_full(places[own]))
        return np.concatenate([np.zeros(0, dtype=np.int64), *found])

    def _in_full(self, places: Numbers) -> Numbers:
        """For one user, by noise on every count."""
        counts = np.bincount(places, minlength=self.size)
        return self.weighted(counts + self.noise.discrete_laplace(self.scale, self.size), self.picks)

    def weighted(self, noisy: Numbers, picks: int) -> Numbers:
        """So many places in proportion to all noisy counts of one user."""
        weights = noisy.clip(0, _LARGEST_COUNT)
        if not weights.any():
            weights[:] = 1
        return self.noise.weighted(np.cumsum(weights)[np.newaxis], np.zeros(picks, dtype=np.int64))

    def marked(self, users: int) -> Numbers:
        """Which values have a mark, as ascending keys: a key is the user times `size` plus the place."""
        wanted = self.noise.marks(self.size, self.rarity, users)
        keys, lacking = np.zeros(0, dtype=np.int64), wanted
        while lacking.any():
            owners = np.repeat(np.arange(users), lacking)
            again = owners * self.size + self.noise.below(np.full(owners.size, self.size))
            keys = np.union1d(keys, again)
            lacking = wanted - np.bincount(keys // self.size, minlength=users)
        return keys

    def counts(self, counted: Numbers, marks: npt.NDArray[np.bool_]) -> Numbers:
        """Noisy counts of places of which so much was counted, given their marks."""
        noisy: Numbers = counted + self.noise.marked_laplace(self.scale, self.rarity, marks)
        return noisy.clip(0, _LARGEST_COUNT)


class _Drawn:
    """Noisy counts that were drawn, by ascending key. What is here is never drawn again."""

    def __init__(self, keys: Numbers, counts: Numbers) -> None:
        self.keys, self.counts = keys, counts

    def have(self, keys: Numbers) -> npt.NDArray[np.bool_]:
        places = np.searchsorted(self.keys, keys)
        there = places < len(self.keys)
        there[there] = self.keys[places[there]] == keys[there]
        return there

    def at(self, keys: Numbers) -> Numbers:
        return self.counts[np.searchsorted(self.keys, keys)]

    def add(self, keys: Numbers, counts: Numbers) -> None:
        order = np.argsort(keys := np.concatenate([self.keys, keys]), kind="stable")
        self.keys, self.counts = keys[order], np.concatenate([self.counts, counts])[order]


class _Users:
    """Some users, with the noise that was drawn for them so far."""

    def __init__(self, of: NoisyHistograms, users: int, owners: Numbers, places: Numbers) -> None:
        self._of, self._users = of, users
        # [a] At first all noise with a mark, and all noise on what was counted.
        marked = of.marked(users)
        own, counted = np.unique(owners * of.size + places, return_counts=True)
        keys = np.union1d(marked, own)
        counts = np.zeros(len(keys), dtype=np.int64)
        counts[np.searchsorted(keys, own)] = counted
        counts = of.counts(counts, np.isin(keys, marked, assume_unique=True))
        self._known = _Drawn(keys, counts)
        self._later = _Drawn(keys[:0], counts[:0])
        self._running = np.concatenate([[0], np.cumsum(counts)])
        self._starts = self._running[np.searchsorted(keys, np.arange(users + 1) * of.size)]
        # [b] As if every place had the limit beside what is known.
        self._open = of.size * of.limit
        self._totals = self._open + np.diff(self._starts)

    def picked(self) -> Numbers:
        picks = self._of.picks
        chosen = np.zeros((self._users, picks), dtype=np.int64)
        have = np.zeros(self._users, dtype=np.int64)
        short = np.flatnonzero(self._totals)
        for _ in range(_ROUNDS):
            times = self._of.proposals(picks - int(have[short].min(initial=picks)))
            proposed = self._propose_places(np.repeat(short, times)).reshape(-1, times)
            ranks = have[short, np.newaxis] + np.cumsum(proposed >= 0, axis=1)
            kept = (proposed >= 0) & (ranks <= picks)
            rows = np.broadcast_to(short[:, np.newaxis], kept.shape)
            chosen[rows[kept], ranks[kept] - 1] = proposed[kept]
            have[short] = np.minimum(ranks[:, -1], picks)
            short = short[have[short] < picks]
            if not short.size:
                break
        for user in np.flatnonzero(have < picks).tolist():
            chosen[user, have[user] :] = self._pick_from_all(user, picks - int(have[user]))
        return chosen.ravel()

    def _propose_places(self, owners: Numbers) -> Numbers:
        """A place for each owner, in proportion to her noisy counts; -1 where the proposal is not kept."""
        size, limit = self._of.size, self._of.limit
        levels = self._of.noise.below(self._totals[owners])
        proposed = np.full(len(owners), -1, dtype=np.int64)
        # [c] A level above what is open falls to a known place.
        known = np.flatnonzero(levels >= self._open)
        levels_known = self._starts[owners[known]] + levels[known] - self._open
        found = np.searchsorted(self._running, levels_known, side="right") - 1
        proposed[known] = self._known.keys[found] % size
        # [d] Otherwise it falls to a place below its limit, and counts if it is below the noise too.
        opened = np.flatnonzero(levels < self._open)
        keys = owners[opened] * size + levels[opened] // limit
        new = ~self._known.have(keys)
        opened, keys = opened[new], keys[new]
        self._draw_deferred(np.unique(keys[~self._later.have(keys)]))
        kept = levels[opened] % limit < self._later.at(keys)
        proposed[opened[kept]] = keys[kept] % size
        return proposed

    def _draw_deferred(self, keys: Numbers) -> None:
        """Noise that was put off: none of it has a mark, and nothing was counted there."""
        nothing = np.zeros(len(keys), dtype=np.int64)
        self._later.add(keys, self._of.counts(nothing, nothing.astype(bool)))

    def _pick_from_all(self, user: int, picks: int) -> Numbers:
        """[e] Picks by all noise of a user, the rest of which is drawn for it."""
        size = self._of.size
        nothing = np.zeros(size, dtype=np.int64)
        noisy = self._of.counts(nothing, nothing.astype(bool))
        for drawn in (self._known, self._later):
            own = slice(*np.searchsorted(drawn.keys, [user * size, (user + 1) * size]).tolist())
            noisy[drawn.keys[own] % size] = drawn.counts[own]
        return self._of.weighted(noisy, picks)
