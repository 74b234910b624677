"""NCP's compiled loop: which published node covers each item."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import compiled

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@compiled
def covered_weight(
    parents: I32,
    weights: I64,
    nothing: int,
    items: I32,
    offsets: I64,
    rows: I64,
    groups: I32,
    published: I32,
    published_offsets: I64,
) -> int:
    """Weight of the lowest published node at or above each item of `rows`, or `nothing`; rows come group by group."""
    shown_in = np.full(len(parents), -1, dtype=np.int32)
    total, group = 0, -1
    for row in rows:
        if groups[row] != group:
            group = groups[row]
            for at in range(published_offsets[group], published_offsets[group + 1]):
                shown_in[published[at]] = group
        for at in range(offsets[row], offsets[row + 1]):
            node = items[at]
            while node >= 0 and shown_in[node] != group:
                node = parents[node]
            total += weights[node] if node >= 0 else nothing
    return total
