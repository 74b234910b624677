"""Seconds and memory to evaluate releases by every measure that compares items with a log.

    python benchmarks/measures.py [--rows N] [--json]

A log of a million generated rows; a private histogram of keywords, queries and query pairs (epsilon 6, one item of
each kind per user), and k-query and k-session anonymous releases of the same log. Each measure is timed on its own, in
the order of its registration, for the private histogram first: that is where the log is counted and prepared. Query
substitution is over the 100,000 most frequent queries.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import queryveil as qv
from queryveil.measure.measure import Original, Released

LEFT_OUT = frozenset({"keyword-generation", "pattern-ranking"})
"""They need a concept or a pattern."""


def releases(log: qv.SearchLog) -> dict[str, qv.Release]:
    private = qv.Zealous(
        epsilon=6,
        delta=1e-3,
        max_items=1,
        items=("keywords", "queries", "query-pairs"),
        guarantee="probabilistic",
    )
    methods = {"zealous": private, "k-query": qv.KQuery(k=10), "k-session": qv.KSession(k=5)}
    return {name: qv.publish(log, method, i_understand=True) for name, method in methods.items()}


def timed(original: Original, release: qv.Release) -> dict[str, float]:
    side, seconds = Released.from_release(release), {}
    for measure in qv.measures([name for name in qv.MEASURES if name not in LEFT_OUT], frequent=100):
        if measure.missing_table(side) is None and measure.unmet_requirement(original, side) is None:
            start = time.perf_counter()
            measure.figures(original, side)
            seconds[str(measure)] = round(time.perf_counter() - start, 2)
    return seconds


def run(rows: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.parquet"
        qv.generate(file, qv.LogSettings(version=1, rows=rows, seed=1))
        log = qv.read(file)
        made = releases(log)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        original, cpu = Original(log), time.process_time()
        seconds = {name: timed(original, release) for name, release in made.items()}
        cpu = time.process_time() - cpu
        asked = original.totals("queries", "occurrences")[0]
    return {
        "rows": rows,
        "queries_replaced": min(asked, 100_000),
        "seconds": seconds,
        "total_seconds": {name: round(sum(each.values()), 1) for name, each in seconds.items()},
        "cpu_seconds": round(cpu, 1),
        "peak_gigabytes_before": round(before / 2**20, 2),
        "peak_gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = run(options.rows)
    if options.json:
        print(json.dumps(found))
        return
    names = list(found["seconds"])
    print(f"{found['rows']:,} rows, {found['queries_replaced']:,} queries to replace; seconds")
    print(f"{'':<26}" + "".join(f"{name:>12}" for name in names))
    for measure in dict.fromkeys(one for each in found["seconds"].values() for one in each):
        cells = (found["seconds"][name].get(measure) for name in names)
        print(f"{measure:<26}" + "".join(f"{'' if cell is None else f'{cell:.2f}':>12}" for cell in cells))
    print(f"{'all':<26}" + "".join(f"{found['total_seconds'][name]:>12.1f}" for name in names))
    print(f"{found['cpu_seconds']} seconds of processor time for all releases together")
    print(f"peak memory {found['peak_gigabytes']} GB, {found['peak_gigabytes_before']} GB of it before")


if __name__ == "__main__":
    main()
