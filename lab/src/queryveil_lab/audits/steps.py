"""The step of a mechanism that adds noise, driven directly: the shipped code and sampler, many times at once.

Bounding and counting are done here for a small world, and copies of its histogram go through the step together. What is
left out is read, bound and count, which the whole path runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from queryveil import ClickGraph, Noise, Steered, WeightedGaussian
from queryveil.count.histories import Histories
from queryveil.extension import LOG, Draw, Run
from queryveil.mechanisms.click_graph.steered_graph import SteeredGraph
from queryveil.mechanisms.selection import count_selection, gaussian_rounds, steering, user_counts
from queryveil.mechanisms.selection.gaussian_account import Account, counts_of
from queryveil.mechanisms.selection.item_selection import Counts
from queryveil_lab.audits.outcomes import ABSENT, Outcomes
from queryveil_lab.audits.worlds import World, bounded

_AT_ONCE = 1 << 20
"""Counts, or rows of histories, that go through a step together."""


@dataclass(frozen=True)
class HistogramStep:
    """A histogram with discrete Laplace noise, as a draw declares it."""

    draw: Draw
    listed: bool = False
    """Whether the items are those of the draw's public list."""

    name = "step"

    def run(self, world: World, runs: int) -> Outcomes:
        counts = world.counts(self.draw.most, repeated=self.draw.copies > 1)
        each = max(1, _AT_ONCE // len(counts))
        found = []
        for start in range(0, runs, each):
            number = min(each, runs - start)
            noisy, published = self.step(np.tile(counts, number))
            values = np.where(published, noisy, ABSENT)
            found.append(Outcomes(values.reshape(number, len(counts))))
        return Outcomes.joined(found)

    def load(self, world: World) -> int:
        return world.items

    def step(self, users: Counts) -> tuple[Counts, Any]:
        """Noisy counts, and which of them are published."""
        run = Run(noise=Noise())
        if self.draw.rows != LOG:
            return count_selection.with_noise(users, run, self.draw), np.ones(len(users), np.bool_)
        if self.listed and self.draw.public is not None:
            noisy = count_selection.with_noise(users, run, self.draw)
            return noisy, noisy > self.draw.public.above
        return count_selection.with_thresholds(users, run, self.draw)


@dataclass(frozen=True)
class GaussianStep:
    """Selection by normal noise, and counts of what was selected."""

    mechanism: Steered | WeightedGaussian | ClickGraph
    draw: Draw
    """Of the selection; a click graph's of queries, or of the clicks on queries that are published."""

    name = "step"

    def run(self, world: World, runs: int) -> Outcomes:
        each = max(1, _AT_ONCE // max(1, world.users))
        found = []
        for start in range(0, runs, each):
            found.append(self._once(world, min(each, runs - start)))
        return Outcomes.joined(found)

    def load(self, world: World) -> int:
        return ((self.draw.rounds or 1) + 2) * (world.users + world.items)

    def _once(self, world: World, copies: int) -> Outcomes:
        method, items = self.mechanism, world.items
        made = histories(world, copies, self.draw.most)
        whole = histories(world, copies, None)
        budget, run = opened(method), Run(noise=Noise())
        chosen = gaussian_rounds.select(made, steering.calibrate(budget.noise(self.draw.of)), run.noise)
        noise = budget.noise(counts_of(self.draw.of))
        places = user_counts.selected_positions(whole, chosen.codes)
        users, deviations = user_counts.estimate_users(
            whole.starts, places, chosen.first_sums, noise.scale, noise.share.norm, run.noise
        )
        values = np.full(copies * items, ABSENT, np.int64)
        values[chosen.codes] = users
        beside = np.full(copies * items, ABSENT, np.int64)
        beside[chosen.codes] = deviations
        return Outcomes(values.reshape(copies, items), beside=beside.reshape(copies, items))


def opened(method: Steered | WeightedGaussian | ClickGraph) -> Account:
    """What each draw takes of mu^2 and p."""
    return SteeredGraph(method).account if isinstance(method, ClickGraph) else method.account()


def histories(world: World, copies: int, most: int | None) -> Histories:
    """The histories of copies of a world, which share no item; nothing but numbers is in them."""
    own = [bounded(one, most, repeated=False) for one in world.histories()]
    lengths = np.array([len(one) for one in own], dtype=np.int64)
    flat = np.array([item for one in own for item in one], dtype=np.int64)
    shifts = np.repeat(np.arange(copies, dtype=np.int64) * world.items, len(flat))
    items = (np.tile(flat, copies) + shifts).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.tile(lengths, copies))]).astype(np.int64)
    nothing: Any = None  # texts are looked up by nobody here
    return Histories(starts, items, nothing, nothing, copies * world.items)
