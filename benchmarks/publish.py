"""`publish` of queries against the bare DuckDB count of distinct users by query, on the same Parquet file.

    python benchmarks/publish.py [--rows 20000000] [--users 650000] [--runs 3]

Runs alternate, each in a process of its own; medians, their ratio and peak memory are printed as JSON. All
stages of publishing are inside: reading and validating, normalising, bounding, counting, noise, writing.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DATA = Path(__file__).parent / "data"


def bare(log: Path) -> dict[str, float]:
    import duckdb

    spill = tempfile.mkdtemp()
    con = duckdb.connect()
    con.execute(f"SET memory_limit = '3GB'; SET temp_directory = '{spill}'")
    start = time.perf_counter()
    con.execute(
        f"COPY (SELECT query, count(DISTINCT user) AS users FROM read_parquet('{log}') GROUP BY query)"
        f" TO '{spill}/counts.parquet'"
    )
    seconds = time.perf_counter() - start
    shutil.rmtree(spill)
    return {"seconds": seconds}


def publish(log: Path, max_items: int) -> dict[str, float]:
    import queryveil as qv

    # Modules are loaded before the clock starts, as DuckDB is for the bare count.
    _ = (qv.publish, qv.read, qv.Zealous, qv.Noise)
    out = Path(tempfile.mkdtemp())
    start = time.perf_counter()
    method = qv.Zealous(epsilon=2, delta=1e-3, max_items=max_items, guarantee="probabilistic")
    release = qv.publish(qv.read(log), method, items="queries", out=out / "release", i_understand=True)
    seconds = time.perf_counter() - start
    shutil.rmtree(out)
    return {"seconds": seconds, "released": release.released["items"], **release.seconds}


def steered(log: Path) -> dict[str, float]:
    import queryveil as qv

    _ = (qv.publish, qv.read, qv.Steered, qv.Noise)
    out = Path(tempfile.mkdtemp())
    start = time.perf_counter()
    release = qv.publish(qv.read(log), qv.Steered(epsilon=1, delta=1e-7), out=out / "release")
    seconds = time.perf_counter() - start
    shutil.rmtree(out)
    return {"seconds": seconds, "released": release.released["items"], **release.seconds}


def once(what: str, log: Path, max_items: int) -> None:
    figures = bare(log) if what == "bare" else steered(log) if what == "steered" else publish(log, max_items)
    figures["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps(figures))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--users", type=int, default=650_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--max-items", type=int, default=5)
    parser.add_argument("--once", choices=("bare", "publish", "steered"))
    given = parser.parse_args()
    log = DATA / f"log-{given.rows}-{given.users}.parquet"
    if given.once:
        once(given.once, log, given.max_items)
        return
    if not log.exists():
        import queryveil as qv

        DATA.mkdir(exist_ok=True)
        start = time.perf_counter()
        qv.generate(log, qv.LogSettings(rows=given.rows, users=given.users))
        print(f"generated {log.name} in {time.perf_counter() - start:.0f} s", file=sys.stderr)
    runs: dict[str, list[dict[str, float]]] = {"bare": [], "publish": [], "steered": []}
    for _ in range(given.runs):
        for what, done in runs.items():
            command = [sys.executable, __file__, "--once", what]
            command += [
                "--rows",
                str(given.rows),
                "--users",
                str(given.users),
                "--max-items",
                str(given.max_items),
            ]
            answer = subprocess.run(command, capture_output=True, text=True, check=True)
            done.append(json.loads(answer.stdout))
            print(what, answer.stdout.strip(), file=sys.stderr)
    seconds = {what: statistics.median(one["seconds"] for one in done) for what, done in runs.items()}
    print(
        json.dumps(
            {
                "rows": given.rows,
                "users": given.users,
                "max_items": given.max_items,
                "runs": given.runs,
                "bare_seconds": round(seconds["bare"], 2),
                "publish_seconds": round(seconds["publish"], 2),
                "ratio": round(seconds["publish"] / seconds["bare"], 2),
                "steered_seconds": round(seconds["steered"], 2),
                "steered_ratio": round(seconds["steered"] / seconds["bare"], 2),
                "steered_peak_gb": round(max(one["peak_gb"] for one in runs["steered"]), 2),
                "publish_peak_gb": round(max(one["peak_gb"] for one in runs["publish"]), 2),
                "bare_peak_gb": round(max(one["peak_gb"] for one in runs["bare"]), 2),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
