"""The pool: the queries that exist, how popular they are, and which follow which."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.synthetic.generator.families import Names, draw_families
from queryveil.synthetic.generator.habits import LATEST

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_GOLDEN: Final = 0x9E3779B97F4A7C15
# Chance of each fixed follow-up: three members of the family, then the head of a related family.
_FOLLOW: Final = np.cumsum([0.45, 0.25, 0.15, 0.15])[:-1]


def mix_bits(numbers: Ints, salt: int) -> NDArray[np.uint64]:
    """A fixed scrambling of integers (the finaliser of splitmix64): the same on every machine."""
    z = numbers.astype(np.uint64) + np.uint64(salt * _GOLDEN % (1 << 64))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class Pool:
    """Queries in order of topic, then family, then member; everything else is indexed by that place."""

    world: int
    names: Names
    text: pa.StringArray
    rank: Ints  # 1 = most popular
    topic: Ints  # a number into topics
    topics: list[int]  # numbers into families.TOPIC_NAMES
    family: Ints
    first: Ints  # place of the family's first member
    members: Ints  # members of the family
    homes: list[str]  # per family: the name of its own site, or ""
    topic_starts: Ints  # places; one more than there are topics
    heads: Ints  # per family: place of its first member
    navigational: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rank)

    def weights(self, zipf: float, head: float = 0.0) -> Floats:
        return np.asarray((self.rank + float(head)) ** -float(zipf), dtype=np.float64)

    def reformulate(self, places: Ints, chance: Floats) -> Ints:
        """A reformulation: one of the few fixed neighbours of each query."""
        slot = np.searchsorted(_FOLLOW, chance, side="right")
        size = self.members[places]
        offset = places - self.first[places] + 1 + slot % np.maximum(size - 1, 1)
        inside = self.first[places] + offset % size
        return np.where((slot == 3) | (size == 1), self._related_queries(places), inside)

    def _related_queries(self, places: Ints) -> Ints:
        """The head of one of seven families that come next in the topic."""
        topic = self.topic[places]
        low = self.family[self.topic_starts[topic]]
        high = self.family[self.topic_starts[topic + 1] - 1] + 1
        step = 1 + (mix_bits(places, 11) % np.uint64(7)).astype(np.int64)
        return self.heads[low + (self.family[places] - low + step) % (high - low)]


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Every query that could be in the pool."""

    text: pa.StringArray
    topic: Ints
    family: Ints
    member: Ints
    boost: Floats
    spread: Floats
    homes: list[str]  # per family

    @classmethod
    def from_world(cls, world: int, pool_size: int, names: Names, version: int) -> _Candidates:
        texts: dict[str, None] = {}
        places: list[tuple[int, int, int, float, float]] = []
        homes: list[str] = []
        for number, made in enumerate(draw_families(world, pool_size, names, version)):
            homes.append(made.home)
            for member, query in enumerate(made.members):
                if query not in texts:
                    texts[query] = None
                    places.append((made.topic, number, member, made.boost, made.spread))
        topic, family, member_of, boost, spread = map(np.array, zip(*places, strict=True))
        text = pa.array(texts.keys(), pa.string(), size=len(texts))
        return cls(text, topic, family, member_of, boost, spread, homes)

    def fame(self, world: int) -> Floats:
        """Log-popularity before ranking: families differ most, plain queries come before special ones."""
        rng = np.random.default_rng([world, 50])
        of_family = rng.standard_exponential(len(self.homes))
        own = rng.standard_exponential(len(self.family))
        by_chance = of_family[self.family] + 0.4 * own
        fame: Floats = self.boost - 0.35 * self.member + self.spread * by_chance
        return fame


@lru_cache(maxsize=2)
def make_pool(pool_size: int, world: int, version: int = LATEST) -> Pool:
    """The pool of a world; a pure function of its arguments."""
    names = Names.for_world(world, pool_size)
    candidates = _Candidates.from_world(world, pool_size, names, version)
    best = np.argsort(-candidates.fame(world), kind="stable")[:pool_size]
    rank = np.zeros(len(candidates.family), dtype=np.int64)
    rank[best] = np.arange(1, len(best) + 1)
    kept = np.flatnonzero(rank)
    order = np.lexsort((candidates.member[kept], candidates.family[kept], candidates.topic[kept]))
    return _assemble_pool(world, names, candidates, rank, kept[order])


def _assemble_pool(world: int, names: Names, candidates: _Candidates, rank: Ints, kept: Ints) -> Pool:
    old_family = candidates.family[kept]
    new = np.concatenate(([True], old_family[1:] != old_family[:-1]))
    number = np.cumsum(new) - 1
    heads = np.flatnonzero(new)
    sizes = np.diff(np.append(heads, len(kept)))
    # Topics are numbered anew: one that a small pool lost must not stay as an empty block.
    present, topic = np.unique(candidates.topic[kept], return_inverse=True)
    homes = [candidates.homes[family] for family in old_family[heads].tolist()]
    first_three = np.arange(len(kept)) - heads[number] < 3
    return Pool(
        world=world,
        names=names,
        text=candidates.text.take(pa.array(kept)),
        rank=rank[kept],
        topic=topic,
        topics=present.tolist(),
        family=number,
        first=heads[number],
        members=sizes[number],
        homes=homes,
        topic_starts=np.searchsorted(topic, np.arange(len(present) + 1)),
        heads=heads,
        navigational=np.array([bool(home) for home in homes])[number] & first_three,
    )
