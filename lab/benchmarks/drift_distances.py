"""How well distances tell words apart if the two logs are of different times: L1, L2 and cosine.

    python lab/benchmarks/drift_distances.py [--rows 300000] [--n 1000] [--json]

Shares of first choices that are right if all other words are known, as in section 3.3 of Kumar et al. 2007. Popularity
of every query drifts between the two logs by a factor whose logarithm has the given standard deviation.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import queryveil as qv
from queryveil_lab.studies.hashed_halves import Hashed

DAYS = 60
DRIFTS = (0.0, 0.8, 1.6, 2.4)
"""Standard deviations of the logarithm of popularity between the two logs."""


def pair(folder: Path, rows: int, drift: float) -> Hashed:
    """Two logs of one pool of queries, of different users, so many days apart."""
    logs = []
    for day, seed in ((0, 2), (DAYS, 3)):
        settings = qv.LogSettings(
            version=1,
            rows=rows,
            days=1,
            zipf=0.6,
            drift=drift / math.sqrt(DAYS),
            drifted=day,
            seed=seed,
            pool_size=max(5_000, rows // 4),
        )
        file = folder / f"{day}.parquet"
        qv.generate(file, settings)
        logs.append(qv.read(file))
    return Hashed.of(*logs)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, default=300_000)
    asked.add_argument("--n", type=int, default=1_000)
    asked.add_argument("--json", action="store_true")
    given = asked.parse_args()
    found: dict[str, Any] = {"rows": given.rows, "n": given.n, "drift": {}}
    for drift in DRIFTS:
        with tempfile.TemporaryDirectory() as folder:
            hashed = pair(Path(folder), given.rows, drift)
            one = {
                distance: round(hashed.ceiling(given.n, distance).accuracy or 0.0, 4)
                for distance in ("l1", "l2", "cosine")
            }
        found["drift"][str(drift)] = one
        if not given.json:
            print(drift, one, flush=True)
    if given.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
