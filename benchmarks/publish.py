"""`publish` of queries against the bare DuckDB count of distinct users by query, on the same Parquet file.

    python benchmarks/publish.py [--rows 2000000 20000000] [--runs 3] [--methods zealous steered] [--limit-gb 4]

Every run is a process of its own, between two bare counts: its ratio is to their mean, so that whatever else the
machine does slows down both. Medians, ratios and peak memory are printed as JSON, with processor seconds and the load
of the machine (processes that want a core, on average). All stages of publishing are inside: reading and validating,
normalising, bounding, counting, noise, writing. `--limit-gb` gives a process that publishes no more address space than
that (the bare count has 3 GB for its tables, as ever). Of several sizes, the power is told with which time grows.
"""

from __future__ import annotations

import argparse
import json
import math
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
    import jinja2
    import numba
    import pyarrow.compute
    import pyarrow.dataset
    import pyarrow.parquet

    import queryveil as qv

    numba.njit(lambda one: one)(0)  # loads what the compiler needs for any loop
    _ = (qv.publish, qv.read, qv.Noise, ibis.duckdb, pyarrow, jinja2)


def published(log: Path, name: str) -> dict[str, float]:
    import queryveil as qv
    from queryveil.files import memory

    memory.limit_reservations()  # as the command line does: libraries reserve less where there is a limit
    load_modules()
    method = {
        "zealous": qv.Zealous(epsilon=2, delta=1e-3, max_items=MAX_ITEMS, guarantee="probabilistic"),
        "steered": qv.Steered(epsilon=1, delta=1e-7),
    }[name]
    out = Path(tempfile.mkdtemp())
    begun = now()
    release = qv.publish(log, method, items="queries", out=out / "release", i_understand=True)
    figures = since(begun)
    shutil.rmtree(out)
    return {**figures, "released": release.released["items"], **release.seconds}


def once(what: str, log: Path) -> None:
    figures = bare(log) if what == "bare" else published(log, what)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({**figures, "peak_gb": peak, "load": os.getloadavg()[0]}))


def run(what: str, log: Path, limit: float | None = None) -> dict[str, float]:
    command = [sys.executable, __file__, "--once", what, "--log", str(log)]
    if limit is not None and what != "bare":
        command = ["prlimit", f"--as={int(limit * 1e9)}", *command]
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


def compared(rows: int, runs: int, methods: list[str], limit: float | None = None) -> dict[str, Any]:
    """Bare counts and methods by turns: bare, method, bare, method, ..., bare."""
    log = generated(rows)
    bares = [run("bare", log)]
    done: dict[str, list[dict[str, float]]] = {method: [] for method in methods}
    for _ in range(runs):
        for method in methods:
            found = run(method, log, limit)
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


def growth(sizes: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """From the smallest to the largest size, the power of the number of rows with which time grows."""
    least, most = min(sizes, key=lambda one: one["rows"]), max(sizes, key=lambda one: one["rows"])
    if least["rows"] == most["rows"]:
        return {}
    times = math.log(most["rows"] / least["rows"])
    return {
        what: {
            name: round(math.log(most[what][name] / least[what][name]) / times, 2)
            for name in ("seconds", "cpu_seconds")
        }
        for what in least
        if isinstance(least[what], dict)
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000_000, 20_000_000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--limit-gb", type=float, help="address space of a process that publishes")
    parser.add_argument("--once", choices=("bare", *METHODS), help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        once(given.once, given.log)
        return
    sizes = [compared(rows, given.runs, given.methods, given.limit_gb) for rows in given.rows]
    made = {"runs": given.runs, "max_items": MAX_ITEMS, "sizes": sizes, "growth": growth(sizes)}
    print(json.dumps(made | ({"limit_gb": given.limit_gb} if given.limit_gb else {}), indent=2))


if __name__ == "__main__":
    main()
