"""Names and types that need no compiled code, so that the command line starts quickly."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from queryveil import UsageError
from queryveil.extension import argument

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NOBODY: Final = -1
"""What a hash is mapped to while it is mapped to nothing."""

NODESTART, FREQUENCY, RANDOM = STARTS = ("nodestart", "frequency", "random")
GREEDY, MINCOST, RANKS, MARRIAGE, HEAP, SUREST = UPDATES = (
    "score-greedy",
    "mincost",
    "rank-greedy",
    "stable-marriage",
    "heap",
    "surest",
)
CONTINUOUS: Final = (HEAP, SUREST)
"""Updates that fix pairs one by one, and never look back."""
L1, L2, COSINE, HELLINGER = DISTANCES = ("l1", "l2", "cosine", "hellinger")
PLAIN, LOG = FEATURES = ("plain", "log")

MOST_PAIRS: Final = {MINCOST: 10_000, RANKS: 10_000, HEAP: 16_384, SUREST: 16_384}
"""The largest vocabulary of rules that look at all pairs at once: at most about a gigabyte."""


def too_many(rule: str) -> UsageError:
    return UsageError(
        f"update {rule} looks at all pairs at once, of {MOST_PAIRS[rule]:,} hashes at most",
        f"lower {argument('n')} or {argument('expand_to')}, or use {argument('update', GREEDY)}",
    )
