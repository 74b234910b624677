"""The active attack against every method on one log: the table, and how long each method takes.

    python lab/benchmarks/active_attack.py [--rows 1000000] [--trials 500] [--epsilon 1]
    python lab/benchmarks/active_attack.py --computed

With `--computed`: what the attacker computes beforehand needs no log of that size and no trials. The study runs on a
small log, and every computed figure that is kept of it (docs/evidence/findings) must come out again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import kept_findings

import queryveil as qv
import queryveil_lab as lab
from queryveil_lab.studies.declaration import EXPECTED


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--trials", type=int, default=500)
    options.add_argument("--epsilon", type=float, default=1.0)
    options.add_argument("--computed", action="store_true")
    asked = options.parse_args()
    if asked.computed:
        print(json.dumps(computed(), indent=2))
        return
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


def computed(rows: int = 20_000) -> dict[str, Any]:
    """How many computed figures of the study were run again, and which of them differ from what is kept."""
    # Not by `variant`: a smaller log needs fewer fake accounts, and the chances are the same.
    place = ("method", "epsilon", "metric")
    kept = {
        tuple(row[name] for name in place): row["value"]
        for row in kept_findings.read("active-attack").where(how=EXPECTED)
    }
    with TemporaryDirectory() as folder:
        file = Path(folder) / "log.parquet"
        qv.generate(file, qv.LogSettings(version=1, rows=rows, seed=1))
        made = lab.compare(qv.read(file), "active-attack", vary={"trials": [10]}).findings
    found = {tuple(row[name] for name in place): row["value"] for row in made.where(how=EXPECTED)}
    differ = [list(one) for one, value in found.items() if one not in kept or abs(kept[one] - value) > 1e-5]
    return {"run": len(found), "kept": len(kept), "differ": differ}


if __name__ == "__main__":
    main()
