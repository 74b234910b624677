"""Whether the hit probability of Goetz et al. 2012, figure 6(b), is one by the release's own shares.

    python lab/benchmarks/hit_shares.py [--rows 2000000 --users 100000] [--lists 85] [--json]

Room for 85 lists of equal length, which are those of a release's most frequent keywords. Their share of all keywords
is taken of the log, which is what the study `index-caching` does, and of the release itself: the paper says that a
larger m "gives more accurate estimates of the hit-probability". The log's own most frequent ones are beside them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import queryveil as qv
from queryveil.measure.measure import OCCURRENCES, Original, Released

EPSILONS, MS = (2.0, 5.0), (1, 2, 6, 20, 40)


def measured(log: qv.SearchLog, lists: int) -> dict[str, Any]:
    """Shares of the chosen keywords, by epsilon and m."""
    truth = Original(log).histogram("keywords", OCCURRENCES)
    found: dict[str, Any] = {"the log": round(float(np.sort(truth.counts)[-lists:].sum() / truth.total), 4)}
    for epsilon in EPSILONS:
        for m in MS:
            method = qv.Zealous(
                epsilon=epsilon, delta=1e-3, max_items=m, items=("keywords",), guarantee="probabilistic"
            )
            own = Released(qv.publish(log, method, i_understand=True)).histogram("keywords")
            in_release = truth.counts_in(own)
            chosen = np.argsort(-in_release, kind="stable")[:lists]
            found.setdefault(f"epsilon {epsilon:g}", {})[f"m = {m}"] = {
                "of the log": round(float(truth.counts[chosen].sum() / truth.total), 4),
                "of the release": round(float(in_release[chosen].sum() / own.total), 4)
                if own.total
                else None,
            }
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, default=2_000_000)
    asked.add_argument("--users", type=int, default=100_000)
    asked.add_argument("--lists", type=int, default=85)
    asked.add_argument("--json", action="store_true")
    given = asked.parse_args()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "log.parquet"
        qv.generate(file, qv.LogSettings(version=1, rows=given.rows, users=given.users, seed=1))
        found = measured(qv.read(file), given.lists)
    print(
        json.dumps({"rows": given.rows, "users": given.users, "lists": given.lists, "hits": found}, indent=2)
    )


if __name__ == "__main__":
    main()
