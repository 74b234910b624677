"""Whether another reading of the continuous update of Kumar et al. 2007 explains its table 4.

    python lab/benchmarks/heap_readings.py [--rows 300000] [--json]

Logs of six hours, seven days apart, 100 pairs given, which count as found. Section 3.4.3 prints the step as
d - min(a, |a - b|), a and b being the shares of the pair just fixed in the company of a hash and of a token. The
package takes d - min(a, b), so that the sum is half of L1. Other readings: as printed; a replaced by min(a, |a - b|);
given pairs drawn at random, not the most frequent; and a popularity with a larger head.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

import queryveil as qv
from queryveil_lab.inversion.matching import Sides
from queryveil_lab.studies.hashed_halves import Hashed

GAP, HOURS, N, GIVEN, DRIFT = 7, 6, 1_000, 100, 0.1
Shares = npt.NDArray[np.float32]
Step = Callable[[Shares, Shares], Shares]
STEPS: dict[str, Step] = {
    "min(a, b), as in the package": np.minimum,
    "min(a, |a - b|), as printed": lambda a, b: np.minimum(a, np.abs(a - b)),
    "a - min(a, |a - b|)": lambda a, b: a - np.minimum(a, np.abs(a - b)),
}


def hashed(rows: int, zipf: float, seed: int = 1) -> Hashed:
    """Two logs as the study `gap` makes them, the second one hashed."""
    logs = []
    with TemporaryDirectory() as folder:
        for day, own in ((0, 2 * seed), (GAP, 2 * seed + 1)):
            settings = qv.LogSettings(
                version=1,
                rows=rows,
                days=HOURS,
                zipf=zipf,
                drift=DRIFT / math.sqrt(24),
                drifted=24 * day,
                seed=own,
                pool_size=max(5_000, min(300_000, rows // 4)),
            )
            file = Path(folder) / f"{day}.parquet"
            qv.generate(file, settings)
            logs.append(qv.read(file))
        return Hashed.of(*logs)


def grown(
    hashes: Shares, tokens: Shares, known: Iterable[tuple[int, int]], step: Step
) -> npt.NDArray[np.int64]:
    """The closest pair is fixed again and again: plainly, every distance at once."""
    distance = np.ones((len(hashes), len(tokens)), np.float32)
    mapping = np.full(len(hashes), -1)
    open_hash, open_token = np.ones(len(hashes), np.bool_), np.ones(len(tokens), np.bool_)

    def fix(one: int, other: int) -> None:
        mapping[one], open_hash[one], open_token[other] = other, False, False
        near = np.flatnonzero((hashes[:, one] > 0) & open_hash)
        there = np.flatnonzero((tokens[:, other] > 0) & open_token)
        distance[np.ix_(near, there)] -= step(hashes[near, one][:, None], tokens[there, other][None, :])

    for one, other in known:
        fix(one, other)
    while True:
        left = np.where(open_hash[:, None] & open_token[None, :], distance, np.float32(2))
        one, other = divmod(int(left.argmin()), len(tokens))
        if left[one, other] >= 1:
            return mapping
        fix(one, other)


def found(pair: Hashed, step: Step, *, at_random: bool = False) -> float:
    """The share of the matchable that is found; given pairs count."""
    sides = Sides(*pair.at(N), distance="l1")
    truth = pair.truth[:N]
    matchable = np.flatnonzero((truth >= 0) & (truth < N))
    given = (
        np.random.default_rng(1).choice(matchable, GIVEN, replace=False) if at_random else matchable[:GIVEN]
    )
    known = [(int(one), int(truth[one])) for one in given]
    mapping = grown(sides.hash_rows.toarray(), sides.token_columns.toarray(), known, step)
    return round(float((mapping[matchable] == truth[matchable]).mean()), 4)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, default=300_000)
    asked.add_argument("--json", action="store_true")
    given = asked.parse_args()
    usual = next(iter(STEPS.values()))
    pair = hashed(given.rows, 0.6)
    made: dict[str, Any] = {name: found(pair, step) for name, step in STEPS.items()}
    made["given pairs at random"] = found(pair, usual, at_random=True)
    headed = hashed(given.rows, 1.0)
    made["popularity exponent 1"] = found(headed, usual)
    made["popularity exponent 1, given pairs at random"] = found(headed, usual, at_random=True)
    print(json.dumps({"rows": given.rows, "gap": GAP, "n": N, "found": made}, indent=2))


if __name__ == "__main__":
    main()
