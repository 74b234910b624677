"""Repeatable bit sources. They live with the tests, so that no release can be made with them by accident."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil.privacy.noise import Noise


class SeededBits:
    """Words of numpy's counter-based Philox generator."""

    def __init__(self, seed: int) -> None:
        self._philox = np.random.Philox(seed)

    def words(self, n: int) -> NDArray[np.uint64]:
        return self._philox.random_raw(n)


class NoiseOfUsers(Noise):
    """Noise by a seed, and for each user by seed and name: the same wherever and with whomever it is drawn."""

    def __init__(self, seed: int) -> None:
        super().__init__(SeededBits(seed))
        self.seed = seed

    def of_user(self, name: str) -> Noise:
        digest = hashlib.sha256(f"{self.seed} {name}".encode()).digest()
        return Noise(SeededBits(int.from_bytes(digest[:8], "big")))

    def __reduce__(self) -> Any:
        return NoiseOfUsers, (self.seed,)
