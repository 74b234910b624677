"""The tree that items are generalised in, coded by integers: a parent's number is below its children's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from queryveil.errors import InputError
from queryveil.mechanisms.transactions.algorithms.bags import Bags

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Tree:
    """Node 0 is the root, with parent -1. Any node may be an item of a transaction, not only a leaf."""

    parents: Codes
    names: tuple[str, ...] = ()
    depth: Codes = field(init=False, repr=False)
    """Steps to the root; a node's level is one more."""
    leaves_below: Codes = field(init=False, repr=False)
    """Leaves at or below each node; 1 for a leaf."""
    lm: npt.NDArray[np.float64] = field(init=False, repr=False)
    """Loss of generalising an item to each node: 0 for a leaf, 1 for the root."""

    def __post_init__(self) -> None:
        parents = np.require(self.parents, np.int32, ["C", "W"])
        known = np.arange(len(parents))
        if not len(parents) or parents[0] != -1 or (parents[1:] < 0).any() or (parents >= known).any():
            raise InputError(
                "the taxonomy is not a tree whose parents come before their children",
                "number the nodes from the root, which has number 0 and parent -1",
            )
        if self.names and len(self.names) != len(parents):
            raise InputError(
                "the taxonomy has a different number of names than nodes", "name every node once"
            )
        depth, leaves = _depth_and_leaves(parents.tolist())
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "depth", np.array(depth, dtype=np.int32))
        object.__setattr__(self, "leaves_below", np.array(leaves, dtype=np.int32))
        # A tree with one leaf has nothing to confuse: every LM is 0.
        object.__setattr__(self, "lm", self.weights / self.scale)

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def leaves(self) -> int:
        return int(self.leaves_below[0])

    @property
    def weights(self) -> npt.NDArray[np.int64]:
        """LM times `scale`: whole numbers, so that sums of losses compare exactly."""
        return self.leaves_below.astype(np.int64) - 1

    @property
    def scale(self) -> int:
        return max(self.leaves - 1, 1)

    @classmethod
    def from_parents(cls, parent_of: Mapping[str, str]) -> Tree:
        """From child to parent by name; the one parent that is no child is the root."""
        children: dict[str, list[str]] = {}
        for child, parent in parent_of.items():
            children.setdefault(parent, []).append(child)
        roots = [name for name in children if name not in parent_of]
        if len(roots) != 1:
            raise InputError(
                f"the taxonomy has {len(roots)} roots, not one", "give all but one node a parent"
            )
        names, parents = [roots[0]], [-1]
        for at, name in enumerate(names):  # grows while it is read: parents come before their children
            names += children.get(name, ())
            parents += [at] * len(children.get(name, ()))
        if len(names) <= len(parent_of):
            raise InputError("the taxonomy has a cycle", "let every node lead up to the root")
        return cls(np.array(parents, dtype=np.int32), tuple(names))

    def bags(self, transactions: Iterable[Iterable[str]]) -> Bags:
        """Transactions of names, coded."""
        code = {name: at for at, name in enumerate(self.names)}
        try:
            return Bags.of([[code[name] for name in transaction] for transaction in transactions])
        except KeyError:
            raise InputError("a transaction has an item that the taxonomy lacks", "drop such items") from None

    def named(self, items: Iterable[int]) -> tuple[str, ...]:
        """Names of coded items, in alphabetical order."""
        return tuple(sorted(self.names[item] for item in items))


def _depth_and_leaves(parents: Sequence[int]) -> tuple[list[int], list[int]]:
    depth, leaves = [0] * len(parents), [0] * len(parents)
    for node in range(1, len(parents)):
        depth[node] = depth[parents[node]] + 1
    for node in range(len(parents) - 1, 0, -1):
        leaves[node] = leaves[node] or 1
        leaves[parents[node]] += leaves[node]
    leaves[0] = leaves[0] or 1
    return depth, leaves
