"""How close two concepts are: by the ancestors that they share.

    sim(c, o) = 1 - log2(2 - f),   f = |S(c) and S(o)| / |S(c) or S(o)|

S(c) are the ancestors of c inside the domain, on all paths and c included. Everything is kept as integers: equal
similarities are equal fractions, and nothing is rounded here.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from queryveil.errors import UsageError, argument
from queryveil.language.taxonomy.links import IntArray, Links, int_array
from queryveil.language.taxonomy.model import Taxonomy

Codes = npt.NDArray[np.uint32]

_MOST_ANCESTORS = 300
_MOST_CONCEPTS = 1 << 22


class Domain:
    """Concepts to choose from: all of them at or below one root.

    They are numbered from 0 in the order of the taxonomy; these numbers are called places.
    """

    def __init__(self, taxonomy: Taxonomy, concepts: npt.ArrayLike) -> None:
        self.taxonomy = taxonomy
        self.concepts: IntArray = int_array(concepts)
        if not 0 < len(self.concepts) <= _MOST_CONCEPTS:
            raise UsageError(
                f"a domain must have from 1 to {_MOST_CONCEPTS:,} concepts",
                f"choose another {argument('domain')}",
            )

    @classmethod
    def below(cls, taxonomy: Taxonomy, root: int) -> Domain:
        """All concepts at or below a root, on any path."""
        return cls(taxonomy, taxonomy.below(root, graph=True))

    def __len__(self) -> int:
        return len(self.concepts)

    def places(self, concepts: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Concepts of the taxonomy -> places, -1 for those outside (and for -1)."""
        found = np.minimum(np.searchsorted(self.concepts, concepts), len(self) - 1)
        places: npt.NDArray[np.int64] = np.where(self.concepts[found] == concepts, found, -1)
        return places

    @cached_property
    def _ancestors(self) -> Links:
        return self.taxonomy.closure.restrict(self.concepts)

    @cached_property
    def _descendants(self) -> Links:
        return self._ancestors.reverse

    def ancestors(self, place: int) -> IntArray:
        """S(c): the places of a concept and its ancestors inside the domain, ascending."""
        return self._ancestors.targets(place)

    @cached_property
    def parents(self) -> Links:
        """Place -> the places of what it is directly a kind of."""
        return self.taxonomy.hypernyms.restrict(self.concepts)

    @cached_property
    def children(self) -> Links:
        return self.parents.reverse

    # -- similarity ----------------------------------------------------------------------------------------------

    @cached_property
    def fractions(self) -> tuple[Fraction, ...]:
        """Every value that f can have with so many ancestors; a code is an index into these, 1 is the first."""
        most = 2 * self._most_ancestors - 1
        found = {Fraction(i, u) for u in range(1, most + 1) for i in range(1, u + 1)}
        return tuple(sorted(found, reverse=True))

    @cached_property
    def _most_ancestors(self) -> int:
        most = int(self._ancestors.counts.max())
        if most > _MOST_ANCESTORS:
            raise UsageError(
                f"the taxonomy is too deep: a concept has {most:,} ancestors inside the domain, and at most "
                f"{_MOST_ANCESTORS} are possible",
                f"give a flatter one with {argument('taxonomy')}",
            )
        return most

    @cached_property
    def _code_table(self) -> Codes:
        """|S(c) and S(o)|, |S(c)| + |S(o)| -> code."""
        number = {fraction: code for code, fraction in enumerate(self.fractions)}
        table = np.zeros((self._most_ancestors + 1, 2 * self._most_ancestors + 1), dtype=np.uint32)
        for shared in range(1, self._most_ancestors + 1):
            for both in range(2 * shared, 2 * self._most_ancestors + 1):
                table[shared, both] = number[Fraction(shared, both - shared)]
        return table

    def similarity_codes(self, place: int) -> Codes:
        """How similar each concept of the domain is to one of them: higher codes are less similar."""
        above = self._descendants.of_all(self.ancestors(place))
        shared = np.bincount(above, minlength=len(self))
        sizes = self._ancestors.counts
        found: Codes = self._code_table[shared, sizes + sizes[place]]
        return found

    def representatives(self, kinds: npt.NDArray[np.integer]) -> list[int]:
        """Places such that every concept looks like one of them: equally many candidates at every distance.

        Leaves with the same ancestors can be swapped without any other concept noticing, if they are of one kind.
        """
        leaves = self._descendants.counts == 1
        alike: dict[tuple[int, ...], int] = {}
        for place in np.flatnonzero(leaves).tolist():
            above = self.ancestors(place)
            alike.setdefault((int(kinds[place]), *above[above != place].tolist()), place)
        return sorted([*alike.values(), *np.flatnonzero(~leaves).tolist()])

    @cached_property
    def least_code(self) -> int:
        """The code of the two least similar concepts of the domain."""
        sizes = self._ancestors.counts
        least, most = 0, self._most_ancestors
        for place in np.argsort(-sizes, kind="stable").tolist():
            # Whatever comes now has fewer ancestors, and two concepts share at least the root.
            if self.fractions[least] <= Fraction(1, int(sizes[place]) + most - 1):
                break
            least = max(least, int(self.similarity_codes(place).max()))
        return least

    @property
    def least_similarity(self) -> Fraction:
        """f of the two least similar concepts."""
        return self.fractions[self.least_code]
