"""Loading WordNet's nouns in a fresh process, and looking words up.

    python benchmarks/taxonomy.py [--runs 5]

Medians are printed as JSON: seconds to load (file and arrays; NumPy is imported before), to look the first word up
(which makes the table of words), for the ancestors of all concepts on all paths; words per second by kind of word.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

WORDS = 100_000


def seconds(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def once() -> dict[str, float]:
    from queryveil.language.taxonomy import Taxonomy

    figures = {"load_s": seconds(Taxonomy.wordnet)}
    nouns = Taxonomy.wordnet()
    figures["first_word_s"] = seconds(lambda: nouns.node("dog"))
    figures["all_ancestors_s"] = seconds(lambda: nouns.closure)
    draw = random.Random(1)  # noqa: S311 (which words are timed is no secret)
    known = draw.choices(list(nouns.lexicon.first), k=WORDS)
    invented = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(WORDS)]
    kinds = {
        "lemmas": known,
        "plurals": [f"{word}s" for word in known if "_" not in word],
        "with_blanks": [word.replace("_", " ") for word in known if "_" in word],
        "unknown": invented,
        "unknown_pairs": [f"{one} {other}" for one, other in zip(invented, reversed(invented), strict=True)],
    }
    for kind, words in kinds.items():
        figures[f"{kind}_per_s"] = len(words) / seconds(lambda words=words: nouns.lookup(words))  # type: ignore[misc]
    figures["prune_25000_s"] = seconds(lambda: nouns.prune(nouns.lookup(known[:25_000])))
    figures["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(once()))
        return
    command = [sys.executable, __file__, "--once"]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for _ in range(options.runs)
    ]
    print(json.dumps({name: round(statistics.median(run[name] for run in runs), 4) for name in runs[0]}))


if __name__ == "__main__":
    main()
