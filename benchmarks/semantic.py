"""Semantic perturbation: draws a second once tables are warm, what an epsilon buys, and a whole log.

    python benchmarks/semantic.py [--queries 1000000] [--draws 2000000] [--lengths 1,4]

Printed as JSON: seconds to build one concept's groups in the domain `abstraction`; draws a second with one epsilon for
all and with an epsilon per user; seconds, queries a second and peak memory of publishing a generated log with that many
queries, on one core, reading and writing included; and for `measles` the probability of the own concept, and of any
disease, by criterion and epsilon per phrase. With `--lengths`, also the peak memory of logs that many times as long,
each in a process of its own with 200 MB for the engine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import queryveil as qv
from queryveil.mechanisms.concept_profiles.domain import Choice
from queryveil.mechanisms.concept_profiles.draws import Exponential
from queryveil.privacy.noise import Noise

TOPICS = ("disease", "scientific discipline", "sport", "social event")


def drawing(draws: int) -> dict[str, float]:
    sampler = Choice.of(None, None, None, "sqc1").samplers[0]
    cold = Exponential(sampler.domain, "sqc1")
    random = np.random.default_rng(1)
    concepts = random.permutation(len(sampler.domain))[:2_000]
    places = concepts[np.minimum(random.zipf(1.3, draws) - 1, len(concepts) - 1)].astype(np.int64)
    start = time.perf_counter()
    for place in concepts[:200].tolist():
        cold.groups(place)
    figures = {"groups_of_a_concept_s": (time.perf_counter() - start) / 200}
    noise, epsilons = Noise(), [Fraction(5) / m for m in range(1, 201)]
    for name, used, which in (
        ("one_epsilon", epsilons[:1], np.zeros(draws, dtype=np.int64)),
        ("epsilon_per_user", epsilons, random.integers(0, 200, draws)),
    ):
        sampler.draw(places, used, which, noise)  # weights and the groups of frequent concepts are warm
        start = time.perf_counter()
        sampler.draw(places, used, which, noise)
        figures[f"draws_per_s_{name}"] = draws / (time.perf_counter() - start)
    return figures


def publishing(queries: int) -> dict[str, float]:
    folder = Path(tempfile.mkdtemp())
    # About 0.95 query events for each generated row.
    qv.generate(
        folder / "log.parquet",
        qv.LogSettings(version=1, rows=round(queries / 0.94), users=queries // 30, seed=3),
    )
    start = time.perf_counter()
    release = qv.publish(qv.read(folder / "log.parquet"), qv.Semantic(epsilon=5), out=folder / "release")
    seconds = time.perf_counter() - start
    told = {row["what"]: row["number"] for row in release.private["phrases"].to_pylist()}
    shutil.rmtree(folder)
    return {
        "publish_s": seconds,
        "queries": told["queries"],
        "phrases_replaced": told["phrases replaced"],
        "queries_per_s": told["queries"] / seconds,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def peaks(queries: int, lengths: list[int]) -> dict[str, float]:
    """Peak memory in gigabytes by the number of queries."""
    found = {}
    for length in lengths:
        command = [sys.executable, __file__, "--only-publish", "--queries", str(length * queries)]
        limited = {**os.environ, "QUERYVEIL_MEMORY": "200MB"}
        done = subprocess.run(command, check=True, capture_output=True, env=limited)
        found[f"{length * queries:,} queries"] = json.loads(done.stdout)["peak_gb"]
    return found


def bought() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for criterion in ("sqc1", "sqc2", "nsqc"):
        choice = Choice.of(None, None, TOPICS if criterion == "sqc2" else None, criterion)
        sampler, nouns = choice.samplers[0], choice.taxonomy
        place = int(sampler.domain.places(nouns.lookup(["measles"]))[0])
        diseases = sampler.domain.places(nouns.below(nouns.find_concept("disease"), graph=True))
        for epsilon in ("0.1", "1", "10", "20"):
            weights = sampler.weights(Fraction(epsilon))[sampler.codes(place)]
            shares = weights / weights.sum()
            found[f"{criterion} at {epsilon}"] = {
                "own": float(f"{shares[place]:.3g}"),
                "disease": float(f"{shares[diseases].sum():.3g}"),
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--draws", type=int, default=2_000_000)
    parser.add_argument("--lengths", help="how many times as long, between commas")
    parser.add_argument("--only-publish", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core
    if options.only_publish:
        print(json.dumps(publishing(options.queries)))
        return
    figures = drawing(options.draws) | publishing(options.queries)
    shown: dict[str, Any] = {name: float(f"{value:.4g}") for name, value in figures.items()}
    if options.lengths:
        shown["peak_gb_by_length"] = peaks(options.queries, [int(one) for one in options.lengths.split(",")])
    print(json.dumps(shown | {"measles": bought()}))


if __name__ == "__main__":
    main()
