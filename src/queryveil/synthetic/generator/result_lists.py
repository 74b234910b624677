"""What each query finds: fixed public lists of up to ten urls.

All urls are below `.example`, which no one can register: no real site is named.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.synthetic.generator import vocabulary
from queryveil.synthetic.generator.families import TOPIC_NAMES
from queryveil.synthetic.generator.pool import Ints, Pool, make_pool, mix_bits
from queryveil.synthetic.generator.settings import LogSettings
from queryveil.synthetic.generator.vocabulary import TOPICS

RESULTS: Final = 10
# A family draws on 16 urls of its topic; each member shows up to ten of them, so members overlap.
_FAMILY_URLS: Final = 16
_KINDS: Final = ("guide", "central", "world", "online", "info", "direct", "source", "net", "zone", "house")
_SECTIONS: Final = ("", "/articles", "/shop", "/forum", "/faq", "/pictures", "/reviews", "/archive", "/links")


@dataclass(frozen=True, eq=False)
class Results:
    """The result list of every query of a pool, computed rather than stored."""

    pool: Pool
    urls: pa.StringArray
    starts: Ints  # per topic: its first url
    counts: Ints  # per topic: its urls, a prime
    home: Ints  # per family: the url of its own site, or -1

    def list_length(self, places: Ints) -> Ints:
        """Ten results for most queries, fewer (at least four) for a quarter of them."""
        short = (mix_bits(places, 3) % np.uint64(24)).astype(np.int64)
        return np.where(short < 6, 4 + short, RESULTS)

    def url(self, places: Ints, rank: Ints) -> Ints:
        """Which url each query has at a rank from 1; different ranks have different urls."""
        family, topic = self.pool.family[places], self.pool.topic[places]
        count = self.counts[topic]
        turn = (mix_bits(places, 5) % np.uint64(7)).astype(np.int64)
        start = (mix_bits(family, 7) >> np.uint64(8)).astype(np.int64)
        stride = 1 + (mix_bits(family, 9) >> np.uint64(8)).astype(np.int64) % (count - 1)
        position = (rank - 1 + turn) % _FAMILY_URLS
        # The count is prime, so a stride visits 16 different urls.
        shared = self.starts[topic] + (start + position * stride) % count
        home = self.home[family]
        return np.where((rank == 1) & (home >= 0), home, shared)


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def _topic_urls(topic: str, count: int) -> list[str]:
    """Sites of a topic: each has a front page and up to eight sections."""
    nouns = TOPICS[topic][1] if topic in TOPICS else (topic, *vocabulary.SITE_WORDS, *vocabulary.FACETS)
    sites = (
        f"http://www.{noun}{kind}.example"
        for kind, noun in product(dict.fromkeys((*_KINDS, *nouns)), dict.fromkeys(nouns))
    )
    return list(islice((site + section for site in sites for section in _SECTIONS), count))


@lru_cache(maxsize=2)
def make_results(pool_size: int, world: int, version: int) -> Results:
    """The result lists of a pool; a pure function of its arguments."""
    pool = make_pool(pool_size, world, version)
    families = np.bincount(pool.topic[pool.heads])
    urls: list[str] = []
    starts, counts = [], []
    for topic, number in zip(pool.topics, families.tolist(), strict=True):
        count = max(101, number // 2)
        while not _is_prime(count):
            count += 1
        made = _topic_urls(TOPIC_NAMES[topic], count)
        starts.append(len(urls))
        counts.append(len(made))
        urls += made
    home = np.full(len(pool.heads), -1, dtype=np.int64)
    for family, name in enumerate(pool.homes):
        if name:
            home[family] = len(urls)
            urls.append(f"http://www.{name}.example")
    return Results(pool, pa.array(urls, pa.string()), np.array(starts), np.array(counts), home)


def results_table(settings: LogSettings) -> pa.Table:
    """The public result lists of the pool: `query`, `url`, `rank`; most popular query first."""
    results = make_results(settings.total_pool, settings.world, settings.version)
    places = np.argsort(results.pool.rank, kind="stable")
    length = results.list_length(places)
    query = np.repeat(places, length)
    rank = np.arange(len(query)) - np.repeat(np.cumsum(length) - length, length) + 1
    return pa.table(
        {
            "query": results.pool.text.take(pa.array(query)),
            "url": results.urls.take(pa.array(results.url(query, rank))),
            "rank": pc.cast(pa.array(rank), pa.int32()),
        }
    )
