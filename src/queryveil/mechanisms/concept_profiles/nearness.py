"""How likely a drawn concept is the true one, or near it: computed from taxonomy and weights, before any data.

A step goes from a concept to one that it is a kind of, or back, inside of the domain. The true concept is taken to be
any of the domain with equal probability: how often people search for each is in the log, and this must not look there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from queryveil.catalog import Sentence
from queryveil.language.taxonomy.similarity import Domain
from queryveil.mechanisms.concept_profiles.draws import Exponential

MOST_STEPS = 2
MOST_LOOKED_AT = 500
"""Concepts of a larger domain that are looked at: all pairs of WordNet's would take minutes."""
NOISE = 0.1
"""Where fewer draws than this are within two steps of the truth, curators are warned."""


@dataclass(frozen=True)
class Shares:
    """The shares of draws that are at most so many steps from the true concept."""

    steps: tuple[float, ...]
    """For 0, 1 and 2 steps."""

    @property
    def noise(self) -> bool:
        return self.steps[-1] < NOISE

    def as_dict(self) -> dict[str, float]:
        return dict(
            zip(("drawn_true", "drawn_within_1_step", "drawn_within_2_steps"), self.steps, strict=True)
        )

    @staticmethod
    def mean(parts: Iterable[tuple[int, Shares]]) -> Shares:
        """Of several domains, each with its number of concepts."""
        known = list(parts)
        total = sum(concepts for concepts, _ in known)
        return Shares(
            tuple(
                math.fsum(concepts * shares.steps[steps] for concepts, shares in known) / total
                for steps in range(MOST_STEPS + 1)
            )
        )


@dataclass(frozen=True, eq=False)
class Nearness:
    """What the draws of one domain are near to."""

    sampler: Exponential

    @cached_property
    def places(self) -> npt.NDArray[np.int64]:
        """The true concepts that are looked at: all, or evenly spaced ones in the order of the taxonomy."""
        many = len(self.sampler.domain)
        if many <= MOST_LOOKED_AT:
            return np.arange(many)
        return (2 * np.arange(MOST_LOOKED_AT) + 1) * many // (2 * MOST_LOOKED_AT)

    def shares(self, epsilon: Fraction) -> Shares:
        """With so much epsilon per draw. Sums are of integers, so that every machine has the same figures."""
        codes, counted = self._candidate_counts
        sums = (counted @ self.sampler.weights(epsilon)[codes]).tolist()
        return Shares(
            tuple(
                math.fsum(near[steps] / near[-1] for near in sums) / len(sums)
                for steps in range(MOST_STEPS + 1)
            )
        )

    @cached_property
    def _candidate_counts(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Codes that occur, and for each place how many candidates of each are within 0, 1, 2 and any steps."""
        many = len(self.sampler.distances)
        tables = []
        for place in self.places.tolist():
            codes = self.sampler.codes(place)
            near = [codes[found] for found in within(self.sampler.domain, place)]
            tables.append(np.stack([np.bincount(one, minlength=many) for one in (*near, codes)]))
        table = np.stack(tables)
        used = np.flatnonzero(table.any(axis=(0, 1)))
        return used, table[:, :, used].astype(np.int64)


def within(domain: Domain, place: int) -> list[npt.NDArray[np.int64]]:
    """The places that are at most 0, 1 and 2 steps away."""
    found = [np.array([place], dtype=np.int64)]
    for _ in range(MOST_STEPS):
        last = found[-1]
        beside = [links.of_all(last) for links in (domain.parents, domain.children)]
        found.append(np.unique(np.concatenate([last, *beside])))
    return found


def in_draws(shares: Shares) -> Sentence:
    """How often draws are the truth, or one or two steps away, in words."""
    base = 100
    while base < 10**6 and shares.steps[0] * base < 1:
        base *= 10
    same, one, two = (_percent_of(share, base) for share in shares.steps)
    return Sentence("plan.nearness.draws", same=same, one=one, two=two, base=base)


def _percent_of(share: float, base: int) -> Sentence:
    if share * base < 1:
        return Sentence("plan.nearness.fewer")
    rounded = round(share * base)
    if rounded == base and share < 1:
        return Sentence("plan.nearness.more-than", draws=base - 1)
    return Sentence("plan.nearness.number", draws=rounded)
