"""Hash inversion: seconds of its updates, compiled and warm, and the memory of a process that only inverts.

    python lab/benchmarks/hash_inversion.py [--rows 6400000] [--runs 3]

Printed as JSON: on two halves by user of a generated log, seconds (and processor seconds) of counting a half, of ten
updates at n = 1,000, of one score-greedy update at n = 8,000 and 16,000, and of all stages from 1,000 to 16,000; the
least of some runs each, with the accuracy that comes out. The aims are 5, 5 and 90 seconds, and 3 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import queryveil as qv
import queryveil_lab as lab
from queryveil_lab.inversion.judging import score
from queryveil_lab.inversion.matching import Sides
from queryveil_lab.studies.hashed_halves import Hashed, halves


def timed(work: Callable[[], Any], runs: int) -> tuple[Any, dict[str, float]]:
    """What it returns, and the quickest of some runs."""
    best: dict[str, float] = {}
    for _ in range(runs):
        wall, processor = time.perf_counter(), time.process_time()
        found = work()
        seconds = {
            "seconds": round(time.perf_counter() - wall, 2),
            "processor_seconds": round(time.process_time() - processor, 2),
        }
        best = min(best or seconds, seconds, key=lambda one: one["seconds"])
    return found, best


def inverting(both: Hashed, runs: int) -> dict[str, Any]:
    """All figures; the first call compiles, and is not counted."""
    lab.Inversion(n=200, expand_to=400).invert(both.target, both.reference)
    found: dict[str, Any] = {}

    def ten() -> Any:
        """Counting pairs, start and ten updates, whether or not a mapping comes again before."""
        sides = Sides(both.target.at(1000), both.reference.at(1000))
        mapping = sides.greedy(sides.by_features())
        for _ in range(10):
            mapping = sides.greedy(sides.by_company(mapping))
        return mapping

    mapping, seconds = timed(ten, runs)
    found["ten updates, n = 1,000"] = {**seconds, "accuracy": score(mapping, both.truth).accuracy}
    for n in (8_000, 16_000):
        sides = Sides(both.target.at(n), both.reference.at(n))
        mapping = sides.greedy(sides.by_features())
        _, seconds = timed(lambda sides=sides, mapping=mapping: sides.greedy(sides.by_company(mapping)), runs)  # type: ignore[misc]
        found[f"one score-greedy update, n = {n:,}"] = seconds
    inverted, seconds = timed(
        lambda: lab.Inversion(n=1000, expand_to=16_000).invert(both.target, both.reference), 1
    )
    found["all stages from 1,000 to 16,000"] = {
        **seconds,
        "accuracy": {f"{len(one):,}": score(one.last, both.truth).accuracy for one in inverted.stages},
    }
    found["peak_gb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=6_400_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--counted", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.counted:
        print(json.dumps(inverting(pickle.loads(options.counted.read_bytes()), options.runs)))  # noqa: S301 (ours)
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / "log.parquet"
        made = qv.generate(file, qv.LogSettings(version=1, rows=options.rows, seed=1, zipf=0.6))
        log = qv.read(file)
        _, counting = timed(lambda: lab.TokenCounts.of(log), 1)
        counted = Path(folder) / "counted"
        counted.write_bytes(pickle.dumps(halves(log)))
        # A process of its own, so that its memory is that of inverting alone.
        command = [sys.executable, __file__, "--counted", str(counted), "--runs", str(options.runs)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    load = round(float(np.mean(os.getloadavg())), 1)
    figures = {"queries": made.queries, "counting the whole log": counting, **json.loads(done.stdout)}
    print(json.dumps({**figures, "cores": len(os.sched_getaffinity(0)), "load": load}, indent=2))


if __name__ == "__main__":
    main()
