"""Seconds to generate keywords from a click graph of a million edges.

    python benchmarks/keyword_generation.py [--edges N] [--json]

The graph is made so that it stays in one piece: queries and urls are drawn by Zipf's law, each with a topic, and one
click in five leaves its topic. Every edge has at least ten clicks, so that none is pruned. The seeds are the sites of
one topic. Times are of one run: building the matrix from texts, and the walk with the paper's leak and floor.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import numpy as np
import pyarrow as pa

import queryveil as qv

TOPICS = 50


def graph(edges: int, seed: int = 0) -> qv.Graph:
    rng = np.random.default_rng(seed)
    drawn = int(edges * 1.35)  # repeats fall together
    queries, urls = edges // 3, edges // 5
    query = (queries * rng.random(drawn) ** 1.7).astype(np.int64)
    url = (urls * rng.random(drawn) ** 1.7).astype(np.int64)
    topic = np.where(rng.random(drawn) < 0.2, rng.integers(0, TOPICS, drawn), query % TOPICS)
    url += (topic - url) % TOPICS
    pairs = rng.permutation(np.unique(query * (urls + TOPICS) + url))[:edges]
    query, url = np.divmod(pairs, urls + TOPICS)
    clicks = 9 + np.minimum(rng.zipf(1.8, len(pairs)), 10_000)
    names = [f"http://www.site{one}.topic{one % TOPICS}.example/" for one in url.tolist()]
    table = pa.table({"query": [f"query {one}" for one in query.tolist()], "url": names, "count": clicks})
    return qv.Graph(clicks=table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    made = graph(options.edges)
    start, cpu = time.perf_counter(), time.process_time()
    found = qv.generate_keywords(made, ["topic7.example"], threshold=0)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    probability = found["probability"].to_numpy()
    result = {
        "edges": made.table("clicks").num_rows,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "peak_gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "keywords": {str(above): int((probability > above).sum()) for above in (0, 0.5, 0.7, 0.9, 0.95)},
    }
    if options.json:
        print(json.dumps(result))
    else:
        print(
            f"{result['edges']:,} edges: {seconds:.1f} s, keywords above a probability: {result['keywords']}"
        )


if __name__ == "__main__":
    main()
