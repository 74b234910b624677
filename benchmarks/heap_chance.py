"""How much the continuous update of hash inversion owes to chance, and how much to the size of the logs.

    python benchmarks/heap_chance.py [--rows 300000 --seeds 4] [--rows 3000000 --seeds 2] [--json]

Logs of six hours, seven days apart, as in table 4 of Kumar et al. 2007; 100 pairs are given, and count as found.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq

import queryveil as qv
from queryveil.study.declaration import Findings
from queryveil.study.gap import WITH_GIVEN

GAP, HOURS, N = 7, 6, 1_000


def found(rows: int, seed: int, gap: int = GAP) -> dict[str, float]:
    """The share that each update finds in one pair of logs."""
    vary: dict[str, Any] = {
        "rows": [rows],
        "seed": [seed],
        "gap": [gap],
        "interval": [HOURS],
        "n": [N],
        "update": ["heap", "surest"],
    }
    with TemporaryDirectory() as folder:
        qv.compare(None, "gap", out=Path(folder) / "one", vary=vary)
        table = Findings(tuple(pq.read_table(Path(folder) / "one" / "table.parquet").to_pylist()))
    own = table.where(metric=WITH_GIVEN)
    return {update: round(own.where(update=update).value, 4) for update in own.values("update")}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, action="append")
    asked.add_argument("--seeds", type=int, action="append")
    asked.add_argument("--json", action="store_true")
    given = asked.parse_args()
    sizes = dict(zip(given.rows or (300_000, 3_000_000), given.seeds or (4, 2), strict=True))
    runs: dict[str, list[dict[str, float]]] = {}
    for rows, seeds in sizes.items():
        for seed in range(1, seeds + 1):
            runs.setdefault(str(rows), []).append(found(rows, seed))
            if not given.json:
                print(f"{rows:,}", seed, runs[str(rows)][-1], flush=True)
    if given.json:
        print(json.dumps({"gap": GAP, "n": N, "runs": runs}, indent=2))


if __name__ == "__main__":
    main()
