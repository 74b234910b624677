"""The active attack against every method on one log: the table, and how long each method takes.

python benchmarks/active_attack.py [--rows 1000000] [--trials 500] [--epsilon 1]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import queryveil as qv


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--trials", type=int, default=500)
    options.add_argument("--epsilon", type=float, default=1.0)
    asked = options.parse_args()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "log.parquet"
        qv.generate(file, qv.LogSettings(version=1, rows=asked.rows, seed=1))
        print(json.dumps(measured(qv.read(file), asked.trials, asked.epsilon), indent=2))


def measured(log: qv.SearchLog, trials: int, epsilon: float) -> dict[str, Any]:
    """One method after the other, so that each has its own time; then linkage on the same log."""
    found: dict[str, Any] = {"rows": log.rows, "users": log.users, "trials": trials, "methods": []}
    for method in (*qv.ActiveAttack().methods, "clump", "partition"):
        start = time.perf_counter()
        made = qv.ActiveAttack(methods=(method,), trials=trials, epsilon=epsilon).run(log)
        seconds = round(time.perf_counter() - start, 1)
        found["methods"] += [one | {"seconds": seconds} for one in made.figures["methods"]]
    start = time.perf_counter()
    linkage = qv.LinkageAttack().run(log).figures["results"]
    found["linkage"] = {"seconds": round(time.perf_counter() - start, 1), "results": linkage}
    return found


if __name__ == "__main__":
    main()
