"""How much the continuous update of hash inversion owes to chance, and how much to the size of the logs.

    python lab/benchmarks/heap_chance.py [--rows 300000 --seeds 4] [--rows 3000000 --seeds 2] [--json]

Logs of six hours, seven days apart, as in table 4 of Kumar et al. 2007; 100 pairs are given, and count as found.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import queryveil_lab as lab
from queryveil_lab.studies.gap import WITH_GIVEN

GAP, HOURS, N = 7, 6, 1_000


def found(rows: int, seeds: int, gap: int = GAP) -> list[dict[str, float]]:
    """The share that each update finds, for each pair of logs."""
    vary: dict[str, Any] = {
        "rows": [rows],
        "gap": [gap],
        "interval": [HOURS],
        "n": [N],
        "update": ["heap", "surest"],
    }
    made = lab.compare(None, "gap", vary=vary, repeats=seeds).findings.where(metric=WITH_GIVEN)
    return [
        {update: round(made.where(update=update, repeat=run).value, 4) for update in made.values("update")}
        for run in range(seeds)
    ]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, action="append")
    asked.add_argument("--seeds", type=int, action="append")
    asked.add_argument("--json", action="store_true")
    given = asked.parse_args()
    sizes = dict(zip(given.rows or (300_000, 3_000_000), given.seeds or (4, 2), strict=True))
    runs: dict[str, list[dict[str, float]]] = {}
    for rows, seeds in sizes.items():
        runs[str(rows)] = found(rows, seeds)
        if not given.json:
            print(f"{rows:,}", *runs[str(rows)], flush=True)
    if given.json:
        print(json.dumps({"gap": GAP, "n": N, "runs": runs}, indent=2))


if __name__ == "__main__":
    main()
