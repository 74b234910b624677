"""A repeatable bit source. It lives with the tests, so that no release can be made with it by accident."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class SeededBits:
    """Words of numpy's counter-based Philox generator."""

    def __init__(self, seed: int) -> None:
        self._philox = np.random.Philox(seed)

    def words(self, n: int) -> NDArray[np.uint64]:
        return self._philox.random_raw(n)
