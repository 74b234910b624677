"""Changed releases through every command, and damaged Parquet files through `read`: who fails in a way it should not?

    python benchmarks/fuzz.py releases [--count 10000] [--seed 1]
    python benchmarks/fuzz.py parquet [--count 10000] [--seed 1]
    python benchmarks/fuzz.py inputs [--count 1000000] [--seed 1]

`inputs` changes the inputs of every reader and loader, and the words of commands (tests/fuzz/targets.py). It keeps what
it has counted in benchmarks/data, goes on there the next time, and writes docs/evidence/fuzzing.md.

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
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests import mutations
from tests.command import command
from tests.fuzz import targets as fuzz_targets
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


KEPT = Path(__file__).parent / "data" / "fuzz-inputs.json"
PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "fuzzing.md"


def inputs(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Answers of all targets, and what must not be; an earlier run with this seed is gone on with."""
    known = fuzz_targets.targets(Path("corpus"))
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if kept.get("seed") != seed:
        kept = {"seed": seed, "done": 0, "answers": {}, "faults": []}
    names = list(known)
    for number in range(kept["done"], count):
        name = names[number % len(names)]
        rng = random.Random(f"{seed} {name} {number}")  # noqa: S311
        answer, data = fuzz_targets.ask_one(known[name], Path("place"), rng)
        if answer.startswith("FAULT"):
            kept["faults"].append(f"{name} {number}: {answer}")
            print(kept["faults"][-1], file=sys.stderr, flush=True)
            Path(f"fault-{seed}-{number}").write_bytes(data)
        mine = kept["answers"].setdefault(name, {})
        mine[answer.split(":")[0]] = mine.get(answer.split(":")[0], 0) + 1
        kept["done"] = number + 1
        if number % 500 == 499 or number == count - 1:
            KEPT.parent.mkdir(exist_ok=True)
            KEPT.write_text(json.dumps(kept))
            PAGE.write_text(page(kept))
    answers = sum((Counter(one) for one in kept["answers"].values()), Counter[str]())
    return answers, kept["faults"]


def page(kept: dict[str, Any]) -> str:
    """The counts as a page."""
    lines = [
        "# Fuzzing",
        "",
        f"{kept['done']:,} inputs, {len(kept['faults'])} faults. A fault is a traceback, an error that is not ours, an",
        "answer after more than 20 processor seconds, or a line of a log that is neither kept nor counted as rejected",
        "or passed over. Each input is one of a small corpus, changed. `benchmarks/fuzz.py inputs --count 1000000`",
        "goes on from here; the tests try about two thousand.",
        "",
        "| what is read | tried | answers |",
        "|---|---|---|",
    ]
    for name, answers in sorted(kept["answers"].items()):
        shown = ", ".join(f"{answer} {often:,}" for answer, often in sorted(answers.items()))
        lines.append(f"| {name} | {sum(answers.values()):,} | {shown} |")
    return "\n".join(lines) + "\n"


KINDS: dict[str, Callable[[int, int], tuple[Counter[str], list[str]]]] = {
    "releases": releases,
    "parquet": parquet,
    "inputs": inputs,
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
