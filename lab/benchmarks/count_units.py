"""What the comparison of ZEALOUS with k-query anonymity owes to what is counted: users, or occurrences.

    python lab/benchmarks/count_units.py [--rows 10000000 --users 500000] [--json]

Figure 5 of Goetz et al. 2012 compares both releases with "the original histogram". The study `count-difference`
compares each release with what it counts itself: ZEALOUS with the log's users, k-query anonymity with occurrences. Here
both are compared with one histogram, that of users or that of occurrences.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import queryveil as qv
from queryveil.measure.count_difference import count_differences
from queryveil.measure.measure import OCCURRENCES, USERS, Original, Released

KINDS = ("keywords", "queries")
EPSILONS, KS = (3.0, 5.0, 7.0), (10, 60)


def measured(log: qv.SearchLog) -> dict[str, Any]:
    """Mean differences by kind of item, what is counted in the log, and release."""
    original = Original(log)
    found: dict[str, Any] = {}
    for kind in KINDS:
        releases: dict[str, Any] = {
            f"epsilon {epsilon:g}": qv.Zealous(
                epsilon=epsilon, delta=1e-3, max_items=1, items=(kind,), guarantee="probabilistic"
            )
            for epsilon in EPSILONS
        }
        releases |= {f"k = {k}": qv.KQuery(k=k) for k in KS}
        for name, method in releases.items():
            side = Released(qv.publish(log, method, i_understand=True))
            for unit in (USERS, OCCURRENCES):
                one = count_differences(original.histogram(kind, unit), side.histogram(kind))
                by_unit = found.setdefault(kind, {}).setdefault(f"the log's {unit}", {})
                by_unit[name] = None if one is None else round(one.mean, 3)
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, default=10_000_000)
    asked.add_argument("--users", type=int, default=500_000)
    asked.add_argument("--json", action="store_true")
    given = asked.parse_args()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "log.parquet"
        qv.generate(file, qv.LogSettings(version=1, rows=given.rows, users=given.users, seed=1))
        found = {"rows": given.rows, "users": given.users, "differences": measured(qv.read(file))}
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
