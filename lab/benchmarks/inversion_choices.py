"""Choices of hash inversion, tried out: which company is read, and in which order a continuous update fixes pairs.

    python lab/benchmarks/inversion_choices.py [--rows 3000000] [--counted FILE]
    python lab/benchmarks/inversion_choices.py --largest 64000 [--rows 3000000] [--counted FILE]

Printed as JSON: shares of the matchable words found at n = 1,000 on two halves by user of a generated log of version 1;
or what all stages from 1,000 hashes to the largest number find, the processor time that they take, and memory.
`--counted` keeps the counted halves in a file, or takes them from it.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import queryveil as qv
import queryveil_lab as lab
from queryveil.compiled import compiled, inner
from queryveil_lab.inversion.judging import score
from queryveil_lab.studies.hashed_halves import Hashed, halves

N, GIVEN = 1_000, 100
COMPANY: dict[str, dict[str, Any]] = {
    "L1, company of 1,000 words": {"company": N},
    "Hellinger, company of 1,000 words": {"company": N, "distance": "hellinger"},
    "L1, company of 2,000 words": {"company": 2_000},
    "L1, company of 4,000 words (default)": {},
    "L1, company of 8,000 words": {"company": 8_000},
    "surest, from nodestart's pairs": {"update": "surest"},
}
MIN, LETTER = 0, 1
"""By what a distance is lowered: min(a, b), or min(a, |a - b|) by the letter of the paper."""
CLOSEST, OF_HASH, OF_BOTH, LEAD = 0, 1, 2, 3
"""Which pair is fixed next: the closest, or that as a share of what is known; or the one that is farthest ahead."""
ORDERS = {
    "closest first (heap)": (MIN, CLOSEST),
    "closest first, by the letter": (LETTER, CLOSEST),
    "closest as a share of what is known of the hash": (MIN, OF_HASH),
    "closest as a share of what is known of both": (MIN, OF_BOTH),
    "farthest ahead first (surest)": (MIN, LEAD),
}


@inner
def nearest(row: Any, free: Any, of_hash: float, of_token: Any, order: int) -> tuple[float, float, int]:
    """What a hash has in common with its nearest free word, and with its second, and which the nearest is."""
    first, second, at = 0.0, 0.0, -1
    for other in range(len(row)):
        value = row[other] if free[other] else 0.0
        if order == OF_HASH and value > 0:
            value /= of_hash
        elif order == OF_BOTH and value > 0:
            value /= (of_hash + of_token[other]) / 2
        if value > first:
            first, second, at = value, first, other
        elif value > second:
            second = value
    return first, second, at


@inner
def lower(common: Any, mapping: Any, free: Any, ours: Any, theirs: Any, lowered: int) -> None:
    """What everybody has in common with each other grows by the pair that was fixed: its shares in their company."""
    for one in range(len(mapping)):
        a = ours[one]
        if a <= 0 or mapping[one] >= 0:
            continue
        for other in range(len(free)):
            b = theirs[other]
            if b > 0 and free[other]:
                common[one, other] += min(a, b) if lowered == MIN else min(a, abs(a - b))


@compiled
def fixed(hashes: Any, tokens: Any, given: Any, lowered: int, order: int) -> Any:
    """Pairs fixed one by one, all distances looked at each time; dense rows, for small vocabularies."""
    n = len(hashes)
    common, of_hash, of_token = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    mapping, free = np.full(n, -1), np.ones(n, np.bool_)
    for step in range(len(given) + n):
        hash, token, best = -1, -1, -1.0
        if step < len(given):
            hash, token = given[step, 0], given[step, 1]
        else:
            for one in range(n):
                if mapping[one] < 0:
                    first, second, at = nearest(common[one], free, of_hash[one], of_token, order)
                    worth = first - second if order == LEAD else first
                    if at >= 0 and worth > best:
                        best, hash, token = worth, one, at
        if hash < 0:
            break
        mapping[hash], free[token] = token, False
        of_hash += hashes[:, hash]
        of_token += tokens[:, token]
        lower(common, mapping, free, hashes[:, hash], tokens[:, token], lowered)
    return mapping


def measured(both: Hashed) -> dict[str, Any]:
    found: dict[str, Any] = {"queries": both.queries, "matchable": None, "company": {}, "continuous": {}}
    for name, how in COMPANY.items():
        inverted = lab.Inversion(n=N, **how).invert(both.target, both.reference)
        one = score(inverted.stages[-1].last, both.truth)
        found["matchable"], found["company"][name] = one.matchable, round(one.accuracy or 0.0, 4)
    found["company"]["all others known, L1"] = round(both.ceiling(N).accuracy or 0.0, 4)
    rows = [one.cooc_n.toarray().astype(np.float64) for one in both.at(N)]
    known = [(at, one) for at, one in enumerate(both.truth[:GIVEN].tolist()) if 0 <= one < N]
    for name, (lowered, order) in ORDERS.items():
        mapping = fixed(*rows, np.array(known), lowered, order).astype(np.int32)
        shares = [score(mapping, both.truth, first).accuracy or 0.0 for first in (GIVEN, 0)]
        found["continuous"][name] = {
            "found": round(shares[0], 4),
            "found, if given pairs count": round(shares[1], 4),
        }
    return found


def expanded(both: Hashed, largest: int) -> dict[str, Any]:
    """Stage by stage, so that what is done is printed in the end whatever comes later."""
    attack = lab.Inversion(n=N, expand_to=largest)
    sides = both.target.at(largest), both.reference.at(largest)
    found: dict[str, Any] = {"queries": both.queries, "stages": {}}
    began = time.process_time()
    for stage in attack.stages(*sides, attack.sizes(both.target, both.reference)):
        one = score(stage.last, both.truth)
        found["stages"][f"{len(stage):,}"] = {
            "found": round(one.accuracy or 0.0, 4),
            "matchable": one.matchable,
            "processor_seconds": round(time.process_time() - began, 1),
            "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--counted", type=Path)
    parser.add_argument("--largest", type=int)
    options = parser.parse_args()
    if options.counted and options.counted.exists():
        both = pickle.loads(options.counted.read_bytes())  # noqa: S301 (ours)
    else:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "log.parquet"
            qv.generate(file, qv.LogSettings(version=1, rows=options.rows, seed=1))
            both = halves(qv.read(file))
        if options.counted:
            options.counted.write_bytes(pickle.dumps(both))
    made = expanded(both, options.largest) if options.largest else measured(both)
    print(json.dumps({"rows": options.rows, **made}, indent=2))


if __name__ == "__main__":
    main()
