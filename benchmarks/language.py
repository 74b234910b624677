"""Mapping distinct queries to concepts of WordNet, on one core, in a fresh process.

    python benchmarks/language.py [--queries 100000] [--runs 3]

Medians are printed as JSON: seconds until the first query is mapped (textblob and its word list, WordNet, tables),
then distinct queries per second. Three logs: queries of a generated search log; these words in new
combinations, so that words are known and phrases are not; invented words only, so that nothing is.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path


def generated(count: int) -> list[str]:
    """Distinct queries of a generated log."""
    import queryveil as qv

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.tsv"
        qv.generate(path, qv.LogSettings(version=1, rows=6 * count, seed=1))
        queries = {line.split("\t")[1] for line in path.read_text(encoding="utf-8").splitlines()[1:]}
    return sorted(queries)[:: max(1, len(queries) // count)][:count]


def shuffled(queries: Sequence[str], draw: random.Random) -> list[str]:
    words = [word for query in queries for word in query.split()]
    return list({" ".join(draw.choices(words, k=len(query.split()))) for query in queries})


def invented(count: int, draw: random.Random) -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [" ".join("".join(draw.choices(letters, k=7)) for _ in range(3)) for _ in range(count)]


def once(count: int) -> dict[str, float]:
    queries = generated(count)
    draw = random.Random(1)  # noqa: S311 (which queries are timed is no secret)
    logs = {"generated": queries, "shuffled": shuffled(queries, draw), "invented": invented(count, draw)}
    import queryveil as qv
    from queryveil.language.concepts import map_to_concepts

    figures: dict[str, float] = {}
    start = time.perf_counter()
    nouns = qv.Taxonomy.wordnet()
    map_to_concepts(["a query"], nouns)
    figures["first_query_s"] = time.perf_counter() - start
    for name, texts in logs.items():
        start = time.process_time()
        mapped = map_to_concepts(texts, nouns)
        figures[f"{name}_per_s"] = len(texts) / (time.process_time() - start)
        figures[f"{name}_queries"] = len(texts)
        figures[f"{name}_mapped_phrases"] = 1 - mapped.unmapped.sum() / max(1, mapped.phrases.sum())
    figures["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(once(options.queries)))
        return
    command = [sys.executable, __file__, "--once", "--queries", str(options.queries)]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for _ in range(options.runs)
    ]
    print(json.dumps({name: round(statistics.median(run[name] for run in runs), 3) for name in runs[0]}))


if __name__ == "__main__":
    main()
