"""Changed releases through every command, and damaged Parquet files through `read`: who fails in a way it should not?

    python benchmarks/fuzz.py releases [--count 10000] [--seed 1]
    python benchmarks/fuzz.py parquet [--count 10000] [--seed 1]

All in one process. A changed release must end with a sentence and exit code 0, 1, 2, 3 or 5. A damaged file must be
refused with exit code 3, or read to its last row. The tests make some hundreds of the same changes, with fixed seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests import mutations
from tests.command import command
from tests.reading.formats import test_parquet_limits as parquet_files
from tests.verification import test_changed_releases as changed_releases


def counted(count: int) -> Iterator[int]:
    for number in range(count):
        if number % 1000 == 0:
            print(f"{number:,} of {count:,}", file=sys.stderr, flush=True)
        yield number


def releases(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Commands by exit code, and what must not be."""
    changed_releases.write_log(Path())
    mutations.published(Path("made"))
    codes: Counter[str] = Counter()
    faults = []
    names = sorted(mutations.METHODS)
    for number in counted(count):
        method, rng = names[number % len(names)], random.Random(f"{seed} {number}")  # noqa: S311
        asked = changed_releases.change_and_ask(Path("made") / method, Path("changed"), rng)
        done = command(*asked.split())
        codes[str(done.code)] += 1
        if done.code not in changed_releases.CODES or "Traceback" in done.err:
            faults.append(f"{method} {seed} {number}: {asked}: {done.code} {done.err.strip()[:300]}")
            print(faults[-1], file=sys.stderr, flush=True)
            shutil.copytree("changed", f"fault-{seed}-{number}")
    return codes, faults


def parquet(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Files by what became of them, and what must not be."""
    outcomes: Counter[str] = Counter()
    faults = []
    file = Path("x.parquet")
    whole = [parquet_files.sample(file, **shape) for shape in parquet_files.SHAPES]
    for number in counted(count):
        rng = random.Random(f"{seed} {number}")  # noqa: S311
        data = parquet_files.damaged(rng.choice(whole), rng)
        file.write_bytes(data)
        outcome = parquet_files.outcome(file)
        outcomes[outcome] += 1
        if outcome not in parquet_files.OUTCOMES:
            faults.append(f"{seed} {number}: {outcome}")
            print(faults[-1], file=sys.stderr, flush=True)
            Path(f"fault-{seed}-{number}.parquet").write_bytes(data)
    return outcomes, faults


KINDS: dict[str, Callable[[int, int], tuple[Counter[str], list[str]]]] = {
    "releases": releases,
    "parquet": parquet,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="fuzz-"))
    os.chdir(place)
    start = time.perf_counter()
    found, faults = KINDS[given.kind](given.count, given.seed)
    seconds = round(time.perf_counter() - start)
    print(
        json.dumps({"tried": given.count, "seconds": seconds, "outcomes": found, "faults": faults}, indent=2)
    )
    if faults:
        print(f"what provokes them is kept in {place}", file=sys.stderr)
        return 1
    shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
