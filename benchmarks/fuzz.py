"""Changed releases through every command, damaged Parquet files through `read` and `publish`: who fails in a wrong way?

    python benchmarks/fuzz.py releases [--count 10000] [--seed 1]
    python benchmarks/fuzz.py parquet [--count 10000] [--seed 1]
    python benchmarks/fuzz.py published [--count 10000] [--seed 1]
    python benchmarks/fuzz.py inputs [--count 1000000] [--seed 1] [--processes 2] [--seconds 2400]

`inputs` changes the inputs of every reader and loader, and the words of commands (tests/fuzz/targets.py). It keeps what
it has counted in docs/evidence/fuzzing.json, goes on there the next time, after it has asked again what was a fault,
and writes docs/evidence/fuzzing.md. `--seconds` ends it after that time. Input N of a target NAME is made again with
`random.Random("SEED NAME N")`.

The others run in one process. A changed release must end with a sentence and exit code 0, 1, 2, 3 or 5. A damaged
file must be refused with exit code 3, or read to its last row; published, it is charged once, and refused, not at all.
The tests make some hundreds of the same changes, with
fixed seeds.
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
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests import mutations
from tests.command import command
from tests.fuzz import many
from tests.fuzz import targets as fuzz_targets
from tests.reading.formats import test_parquet_damage as parquet_pages
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
    """Files by what became of them when they were read, and what must not be."""
    whole = [parquet_files.sample(Path("x.parquet"), **shape) for shape in parquet_files.SHAPES]
    return _damaged(count, seed, whole, parquet_files.outcome, parquet_files.OUTCOMES)


def published(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Files by what became of them when they were published, and what must not be."""
    whole = [parquet_pages.written(Path(), **shape).read_bytes() for shape in parquet_pages.SHAPES.values()]
    return _damaged(count, seed, whole, parquet_pages.outcome, parquet_pages.OUTCOMES)


def _damaged(
    count: int, seed: int, whole: list[bytes], became: Callable[[Path], str], allowed: Collection[str]
) -> tuple[Counter[str], list[str]]:
    outcomes: Counter[str] = Counter()
    faults = []
    file = Path("x.parquet")
    for number in counted(count):
        rng = random.Random(f"{seed} {number}")  # noqa: S311
        data = parquet_files.damaged(rng.choice(whole), rng)
        file.write_bytes(data)
        outcome = became(file)
        outcomes[outcome] += 1
        if outcome not in allowed:
            faults.append(f"{seed} {number}: {outcome}")
            print(faults[-1], file=sys.stderr, flush=True)
            Path(f"fault-{seed}-{number}.parquet").write_bytes(data)
    return outcomes, faults


EVIDENCE = Path(__file__).parent.parent / "docs" / "evidence"
KEPT, PAGE = EVIDENCE / "fuzzing.json", EVIDENCE / "fuzzing.md"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 (a folder of its own is made there)


def inputs(count: int, seed: int, processes: int, seconds: float) -> tuple[Counter[str], list[str]]:
    """Answers of all targets, and what must not be; an earlier run with this seed is gone on with."""
    order = fuzz_targets.order(fuzz_targets.targets(Path("corpus")))
    state = many.State.kept(KEPT, seed, order)
    until = time.monotonic() + seconds
    make = fuzz_targets.targets
    for _ in many.ask_many(state, count, make=make, processes=processes, place=Path.cwd()):
        state.keep(KEPT)
        PAGE.write_text(page(state))
        print(f"{state.done:,} of {count:,}, {len(state.faults)} faults", file=sys.stderr, flush=True)
        if time.monotonic() > until:
            break
    answers = sum((Counter(one) for one in state.answers.values()), Counter[str]())
    return answers, [json.dumps(one) for one in state.faults]


def page(state: many.State) -> str:
    """The counts as a page."""
    tried = sum(sum(one.values()) for one in state.answers.values())
    lines = [
        "# Fuzzing",
        "",
        f"{tried:,} inputs, {len(state.faults)} faults, in {state.seconds / 60:,.0f} minutes of one processor. A fault",
        "is a traceback, an error that is not ours, a process that dies, an answer after more than 20 processor",
        "seconds, or a line of a log that is neither kept nor counted as rejected or passed over. Each input is one of",
        "a small corpus, changed. Each target gets about as much time as every other, so that the quick ones are asked",
        f"more often. Logs share an engine, and one input of {many.CHECKED_EVERY} is asked again by an engine of its",
        f"own, which must answer the same. `benchmarks/fuzz.py inputs --count 1000000 --seed {state.seed}` goes on",
        "from here (the state is in fuzzing.json); the tests try about two thousand.",
        "",
        "A fault that was found on the way is repaired, with a test of its own, and its input is asked again: what",
        "counts here is what is still one. The inputs before it were asked of the readers as they were then.",
        "",
        "| what is read | tried | answers |",
        "|---|---|---|",
    ]
    for name, answers in sorted(state.answers.items()):
        shown = ", ".join(f"{answer} {often:,}" for answer, often in sorted(answers.items()))
        lines.append(f"| {name} | {sum(answers.values()):,} | {shown} |")
    return "\n".join(lines) + "\n"


KINDS: dict[str, Callable[[int, int], tuple[Counter[str], list[str]]]] = {
    "releases": releases,
    "parquet": parquet,
    "published": published,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=[*KINDS, "inputs"])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1, help="of inputs")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of inputs: end after so many")
    given = parser.parse_args()
    # Files of some hundred bytes, each written once and read once: a disk would be most of the work.
    place = Path(tempfile.mkdtemp(prefix="fuzz-", dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None))
    os.chdir(place)
    start = time.perf_counter()
    if given.kind == "inputs":
        found, faults = inputs(given.count, given.seed, given.processes, given.seconds)
    else:
        found, faults = KINDS[given.kind](given.count, given.seed)
    seconds = round(time.perf_counter() - start)
    print(
        json.dumps({"tried": given.count, "seconds": seconds, "outcomes": found, "faults": faults}, indent=2)
    )
    if faults:
        if given.kind != "inputs":
            print(f"what provokes them is kept in {place}", file=sys.stderr)
            return 1
        shutil.rmtree(place)
        return 1
    shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
