"""`publish` of queries against the bare DuckDB count of distinct users by query, on the same Parquet file.

    python benchmarks/publish.py [--rows 2000000 20000000] [--runs 3] [--methods zealous steered]

Every run is a process of its own, between two bare counts: its ratio is to their mean, so that whatever else the
machine does slows down both. Medians, ratios and peak memory are printed as JSON, with processor seconds and the load
of the machine (processes that want a core, on average). All stages of publishing are inside: reading and validating,
normalising, bounding, counting, noise, writing.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
METHODS = ("zealous", "steered")
MAX_ITEMS = 5
"""Of zealous; steered keeps its default of 100."""


def now() -> tuple[float, float]:
    """Seconds of the clock, and of the processor in all threads of this process."""
    return time.perf_counter(), time.process_time()


def since(begun: tuple[float, float]) -> dict[str, float]:
    clock, cpu = now()
    return {"seconds": clock - begun[0], "cpu_seconds": cpu - begun[1]}


def bare(log: Path) -> dict[str, float]:
    import duckdb

    spill = tempfile.mkdtemp()
    con = duckdb.connect()
    con.execute(f"SET memory_limit = '3GB'; SET temp_directory = '{spill}'")
    begun = now()
    con.execute(
        f"COPY (SELECT query, count(DISTINCT user) AS users FROM read_parquet('{log}') GROUP BY query)"
        f" TO '{spill}/counts.parquet'"
    )
    figures = since(begun)
    shutil.rmtree(spill)
    return figures


def load_modules() -> None:
    """Modules are loaded before the clock starts, as DuckDB is for the bare count; the compiler has some for itself."""
    import ibis
    import numba
    import pyarrow.compute
    import pyarrow.dataset
    import pyarrow.parquet

    import queryveil as qv

    numba.njit(lambda one: one)(0)  # loads what the compiler needs for any loop
    _ = (qv.publish, qv.read, qv.Noise, ibis.duckdb, pyarrow)


def published(log: Path, name: str) -> dict[str, float]:
    import queryveil as qv

    load_modules()
    method = {
        "zealous": qv.Zealous(epsilon=2, delta=1e-3, max_items=MAX_ITEMS, guarantee="probabilistic"),
        "steered": qv.Steered(epsilon=1, delta=1e-7),
    }[name]
    out = Path(tempfile.mkdtemp())
    begun = now()
    release = qv.publish(qv.read(log), method, items="queries", out=out / "release", i_understand=True)
    figures = since(begun)
    shutil.rmtree(out)
    return {**figures, "released": release.released["items"], **release.seconds}


def once(what: str, log: Path) -> None:
    figures = bare(log) if what == "bare" else published(log, what)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({**figures, "peak_gb": peak, "load": os.getloadavg()[0]}))


def run(what: str, log: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--once", what, "--log", str(log)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    print(log.stem, what, answer.stdout.strip(), file=sys.stderr)
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def generated(rows: int) -> Path:
    users = rows * 13 // 400
    log = DATA / f"log-{rows}-{users}.parquet"
    if not log.exists():
        import queryveil as qv

        DATA.mkdir(exist_ok=True)
        start = time.perf_counter()
        qv.generate(log, qv.LogSettings(version=1, rows=rows, users=users))
        print(f"generated {log.name} in {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return log


def compared(rows: int, runs: int, methods: list[str]) -> dict[str, Any]:
    """Bare counts and methods by turns: bare, method, bare, method, ..., bare."""
    log = generated(rows)
    bares = [run("bare", log)]
    done: dict[str, list[dict[str, float]]] = {method: [] for method in methods}
    for _ in range(runs):
        for method in methods:
            found = run(method, log)
            bares.append(run("bare", log))
            for what in ("seconds", "cpu_seconds"):
                found[f"{what}_ratio"] = 2 * found[what] / (bares[-2][what] + bares[-1][what])
            done[method].append(found)
    made: dict[str, Any] = {"rows": rows, "users": rows * 13 // 400, "bare": summary(bares)}
    for method, each in done.items():
        made[method] = summary(each) | {"released": round(statistics.median(one["released"] for one in each))}
    every = [one["load"] for one in (*bares, *(one for each in done.values() for one in each))]
    return made | {"load": [round(min(every), 1), round(max(every), 1)]}


def summary(each: list[dict[str, float]]) -> dict[str, float]:
    middle = {
        name: round(statistics.median(one[name] for one in each), 2)
        for name in ("seconds", "seconds_ratio", "cpu_seconds", "cpu_seconds_ratio")
        if name in each[0]
    }
    return middle | {"peak_gb": round(max(one["peak_gb"] for one in each), 2)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000_000, 20_000_000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--once", choices=("bare", *METHODS), help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        once(given.once, given.log)
        return
    sizes = [compared(rows, given.runs, given.methods) for rows in given.rows]
    print(json.dumps({"runs": given.runs, "max_items": MAX_ITEMS, "sizes": sizes}, indent=2))


if __name__ == "__main__":
    main()
