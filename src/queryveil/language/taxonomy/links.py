"""Links between numbered nodes: for every node a run of one long array."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]


def int_array(values: npt.ArrayLike) -> IntArray:
    """A read-only copy: taxonomies are shared, and nobody may change one in place."""
    result = np.array(values, dtype=np.int32)
    result.flags.writeable = False
    return result


@dataclass(frozen=True, eq=False)
class Links:
    """`ends[start[v]:start[v + 1]]` are the nodes that v is linked to."""

    start: IntArray
    ends: IntArray

    @classmethod
    def from_counts(cls, counts: npt.NDArray[np.integer], ends: npt.ArrayLike) -> Links:
        """From the number of links of each node, and all links node by node."""
        return cls(int_array(np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))), int_array(ends))

    @classmethod
    def to_parents(cls, parents: IntArray) -> Links:
        """From the parent of each node of a tree; the root is node 0 and has none."""
        return cls.from_counts(np.minimum(parents + 1, 1), parents[1:])

    @cached_property
    def counts(self) -> IntArray:
        return int_array(np.diff(self.start))

    def __len__(self) -> int:
        return len(self.start) - 1

    def targets(self, node: int) -> IntArray:
        return self.ends[self.start[node] : self.start[node + 1]]

    def of_all(self, nodes: npt.NDArray[np.integer]) -> IntArray:
        """The links of several nodes, one run after the other."""
        counts = self.counts[nodes]
        before = np.cumsum(counts) - counts
        places = np.repeat(self.start[nodes] - before, counts) + np.arange(counts.sum())
        return np.take(self.ends, places)

    @cached_property
    def reverse(self) -> Links:
        """The same links seen from their ends; runs are in ascending order."""
        origin = np.repeat(np.arange(len(self)), self.counts)
        order = np.argsort(self.ends, kind="stable")
        return Links.from_counts(np.bincount(self.ends, minlength=len(self)), origin[order])

    def restrict(self, kept: IntArray) -> Links:
        """The links between the given (ascending) nodes, which are renumbered from 0."""
        new = np.full(len(self), -1, dtype=np.int32)
        new[kept] = np.arange(len(kept))
        ends = new[self.of_all(kept)]
        origin = np.repeat(np.arange(len(kept)), self.counts[kept])
        return Links.from_counts(np.bincount(origin[ends >= 0], minlength=len(kept)), ends[ends >= 0])

    def reachable(self, nodes: npt.NDArray[np.integer]) -> IntArray:
        """The given nodes and all that links lead to from them, ascending."""
        seen = np.zeros(len(self), dtype=bool)
        frontier = np.unique(nodes)
        while frontier.size:
            seen[frontier] = True
            following = np.unique(self.of_all(frontier))
            frontier = following[~seen[following]]
        return int_array(np.flatnonzero(seen))

    def closure(self) -> Links:
        """Links to all that can be reached, each node itself included; runs are in ascending order."""
        start, ends = self.start.tolist(), self.ends.tolist()
        nexts = [ends[one:other] for one, other in pairwise(start)]
        reached: dict[int, tuple[int, ...]] = {}
        for node in range(len(self)):
            waiting = [node]
            while waiting:
                last = waiting[-1]
                if missing := [end for end in nexts[last] if end not in reached]:
                    waiting += missing
                    continue
                waiting.pop()
                # One link is by far the most frequent case, and needs no set.
                runs = [reached[end] for end in nexts[last]]
                reached[last] = (last, *(runs[0] if len(runs) == 1 else set().union(*runs)))
        counts = np.array([len(reached[node]) for node in range(len(self))])
        flat = chain.from_iterable(reached[node] for node in range(len(self)))
        pairs = np.repeat(np.arange(len(self)), counts) * len(self) + np.fromiter(flat, dtype=np.int64)
        return Links.from_counts(counts, np.sort(pairs) % len(self))
