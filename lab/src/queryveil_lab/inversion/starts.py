"""The mapping that an inversion begins with."""

from __future__ import annotations

import numpy as np

from queryveil_lab.inversion.kinds import FREQUENCY, I32, RANDOM
from queryveil_lab.inversion.matching import Sides


def start(name: str, sides: Sides, seed: int = 0) -> I32:
    """By features, closest pairs first (nodestart); by rank of frequency; or at random."""
    if name == FREQUENCY:
        return np.arange(len(sides), dtype=np.int32)
    if name == RANDOM:
        return np.random.default_rng(seed).permutation(len(sides)).astype(np.int32)
    return sides.greedy(sides.by_features())
