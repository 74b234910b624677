"""What ten billion rows would cost on Spark: work and shuffled bytes per row at three sizes, and where they lead.

    python benchmarks/cluster_cost.py [--rows 300000 1000000 3000000] [--write]

Each size is a process with a Spark of its own on this machine; Spark's own figures of its stages are added up. From two
sizes the third is foretold, and compared with what was measured. Then the stages are simulated: tasks of a usual size,
taken up one after the other by the cores of a cluster, each task as long as its rows want, times a chance factor.
`--write` puts figures into docs/evidence/cluster-cost.json and the page into docs/evidence/cluster-cost.md.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from publish import generated

EVIDENCE = Path(__file__).parents[1] / "docs" / "evidence"
TARGET = 10_000_000_000
CORES = (64, 256, 1024)
TASK_BYTES = 128 * 2**20
"""How much of a file Spark gives a task."""
SPREAD = 0.3
"""Of the logarithm of a task's time: machines are not alike, and neither are tasks."""
PRICE = 0.05
"""Of a core for an hour, in dollars: an assumption; put in your own."""
WORK = ("cpu_seconds", "run_seconds", "shuffle_bytes", "shuffle_records")


def measured(log: Path) -> dict[str, float]:
    """One release on Spark inside this machine, and what Spark says of its stages."""
    import queryveil as qv

    read = qv.read(log, engine="spark")
    method = qv.Zealous(epsilon=2, delta=1e-3, max_items=5, guarantee="probabilistic")
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        qv.publish(
            read, method, items="queries", out=f"{folder}/release", allow_empty=True, i_understand=True
        )
    seconds = time.perf_counter() - begun
    context = read.engine.con._session.sparkContext
    jvm, none = context._jvm, context._gateway.new_array(context._jvm.double, 0)
    stages = context._jsc.sc().statusStore()
    lists = jvm.java.util.ArrayList(), jvm.java.util.ArrayList()
    found = stages.stageList(lists[0], False, False, none, lists[1])
    each = [found.apply(at) for at in range(found.length())]
    return {
        "wall_seconds": round(seconds, 1),
        "cpu_seconds": round(sum(one.executorCpuTime() for one in each) / 1e9, 2),
        "run_seconds": round(sum(one.executorRunTime() for one in each) / 1e3, 2),
        "shuffle_bytes": sum(one.shuffleWriteBytes() for one in each),
        "shuffle_records": sum(one.shuffleWriteRecords() for one in each),
        "file_bytes": log.stat().st_size,
    }


def line(sizes: list[dict[str, float]], what: str) -> tuple[float, float]:
    """What is needed at no row, and for each row: the line through all sizes with the least squared relative error."""
    weights = [1 / one[what] ** 2 if one[what] else 1.0 for one in sizes]
    total = sum(weights)
    x = sum(w * one["rows"] for w, one in zip(weights, sizes, strict=True)) / total
    y = sum(w * one[what] for w, one in zip(weights, sizes, strict=True)) / total
    across = sum(w * (one["rows"] - x) ** 2 for w, one in zip(weights, sizes, strict=True))
    up = sum(w * (one["rows"] - x) * (one[what] - y) for w, one in zip(weights, sizes, strict=True))
    return y - up / across * x, up / across


def makespan(tasks: int, seconds: float, cores: int) -> float:
    """How long tasks take that need so long on average, each taken up by the core that is free first."""
    chance = random.Random(1)  # noqa: S311 (no privacy here)
    free = [0.0] * cores
    for _ in range(tasks):
        factor = chance.lognormvariate(-(SPREAD**2) / 2, SPREAD)
        heapq.heapreplace(free, free[0] + seconds * factor)
    return max(free)


def foretold(sizes: list[dict[str, float]]) -> dict[str, Any]:
    """The largest size from the smaller ones, beside what was measured."""
    *small, large = sizes
    made = {}
    for what in WORK:
        fixed, each = line(small, what)
        made[what] = {"foretold": round(fixed + each * large["rows"], 2), "measured": large[what]}
    return made


def costed(sizes: list[dict[str, float]]) -> dict[str, Any]:
    per_row = {what: line(sizes, what)[1] for what in WORK}
    bytes_per_row = sizes[-1]["file_bytes"] / sizes[-1]["rows"]
    seconds = per_row["run_seconds"] * TARGET
    tasks = math.ceil(bytes_per_row * TARGET / TASK_BYTES)
    return {
        "per_million_rows": {what: round(1e6 * value, 3) for what, value in per_row.items()},
        "core_hours": round(seconds / 3600, 1),
        "shuffle_tb": round(per_row["shuffle_bytes"] * TARGET / 1e12, 3),
        "file_tb": round(bytes_per_row * TARGET / 1e12, 3),
        "dollars": round(PRICE * seconds / 3600, 1),
        "tasks": tasks,
        "hours": {cores: round(makespan(tasks, seconds / tasks, cores) / 3600, 2) for cores in CORES},
    }


def page(found: dict[str, Any]) -> str:
    ten, tests = found["ten_billion"], found["foretold"]
    sizes = [
        f"| {one['rows']:,} | {one['cpu_seconds']} | {one['run_seconds']} | {one['shuffle_bytes'] / 1e6:,.1f} | "
        f"{one['shuffle_records']:,} | {one['wall_seconds']} |"
        for one in found["sizes"]
    ]
    checks = [
        f"| {what.replace('_', ' ')} | {v['foretold']:,} | {v['measured']:,} |" for what, v in tests.items()
    ]
    hours = [f"| {cores} | {value} |" for cores, value in ten["hours"].items()]
    return "\n".join(
        [
            "# Ten billion rows on Spark: what they would cost",
            "",
            "`python benchmarks/cluster_cost.py --write` made this page. It is an extrapolation: nobody has run ten",
            "billion rows. Each line is one release (`zealous`, five queries of a user) of a generated log, on Spark",
            "inside one machine, in a process of its own; users grow with rows. Figures are Spark's own: task seconds",
            "have the counting in Python's workers, processor seconds have Java's alone.",
            "",
            "| rows | processor seconds | task seconds | shuffled MB | shuffled records | seconds by the clock |",
            "|---|---|---|---|---|---|",
            *sizes,
            "",
            "**Does a straight line hold?** The largest size, foretold from the smaller ones:",
            "",
            "| | foretold | measured |",
            "|---|---|---|",
            *checks,
            "",
            f"**Ten billion rows** by the line through all sizes: {ten['core_hours']:,} core hours, "
            f"{ten['shuffle_tb']:,} TB shuffled, {ten['file_tb']:,} TB of files, {ten['tasks']:,} tasks of 128 MiB; at "
            f"${PRICE} for a core and hour (put in your own price) about ${ten['dollars']:,}.",
            "",
            "Simulated hours, if cores take up tasks one after the other and a task's time varies by 30 %:",
            "",
            "| cores | hours |",
            "|---|---|",
            *hours,
            "",
            "What this leaves out: the network between machines (here everything is one machine), memory that does not",
            "suffice and is written to disk, other users of the cluster, and a user with very many rows, who is one",
            "task ([run on a cluster](../how-to/run-on-a-cluster.md)).",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[300_000, 1_000_000, 3_000_000])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--once", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        print(json.dumps(measured(given.once)))
        return
    sizes = []
    for rows in sorted(given.rows):
        command = [sys.executable, __file__, "--once", str(generated(rows))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        sizes.append({"rows": rows, **json.loads(done.stdout.strip().splitlines()[-1])})
        print(sizes[-1], file=sys.stderr, flush=True)
    found = {"sizes": sizes, "foretold": foretold(sizes), "ten_billion": costed(sizes)}
    if given.write:
        (EVIDENCE / "cluster-cost.json").write_text(json.dumps(found, indent=2) + "\n")
        (EVIDENCE / "cluster-cost.md").write_text(page(found))
    print(page(found))


if __name__ == "__main__":
    main()
