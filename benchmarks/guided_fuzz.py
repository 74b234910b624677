"""Inputs that a fuzzer steers by what the code does with them: atheris, on loaders and readers that are plain Python.

    python benchmarks/guided_fuzz.py [--seconds 60] [--only TARGET ...] [--write]

It needs `pip install atheris`. Each target of tests/fuzz/targets.py has a process of its own for so many seconds, and
begins with its corpus. What is a fault is said in docs/evidence/fuzzing.md; the process ends there and names it.
Compiled loops, and what libraries in C read, have no branches that can be followed: `fuzz.py` asks these. `--write`
puts counts into docs/evidence/guided-fuzzing.json, and a page beside it.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
EVIDENCE = ROOT / "docs" / "evidence"
SLOWEST_SECONDS = 20
LONGEST = 20_000
TARGETS = (
    *("release", "study YAML", "taxonomy", "results file", "public list", "document frequencies"),
    *("command line", "matomo", "google-analytics", "algolia", "zip"),
)


def with_loops() -> list[str]:
    """Modules that the compiler reads: what is put into their code, it would not know."""
    found = []
    for file in (ROOT / "src").rglob("*.py"):
        if "from queryveil.compiled import" in file.read_text(encoding="utf-8"):
            parts = file.relative_to(ROOT / "src").with_suffix("").parts
            found.append(".".join(parts).removesuffix(".__init__"))
    return found


def guided(name: str, folder: Path, options: list[str]) -> None:
    """One target, until time is over or a fault is found; in a process of its own."""
    import atheris

    sys.path.insert(0, str(ROOT))
    with atheris.instrument_imports(include=["queryveil"], exclude=with_loops()):
        from tests.fuzz import targets as fuzz
        from tests.fuzz.engine import one_engine
    corpus, ask = fuzz.targets(folder / "made")[name]
    seeds = folder / "corpus"
    seeds.mkdir()
    for number, one in enumerate(corpus):
        (seeds / str(number)).write_bytes(one[:LONGEST])
    place = folder / "place"

    def asked(data: bytes) -> None:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        ask(place, data)

    with one_engine():
        atheris.Setup([sys.argv[0], str(seeds), *options], asked)
        atheris.Fuzz()


def run(name: str, seconds: int) -> dict[str, Any]:
    """What came of one target: inputs, branches that were seen, and the end of what a fault said."""
    with tempfile.TemporaryDirectory() as folder:
        limits = [f"-max_total_time={seconds}", f"-timeout={SLOWEST_SECONDS}", f"-max_len={LONGEST}"]
        done = subprocess.run(
            [sys.executable, __file__, "--guided", name, "--folder", folder]
            + [f"--option={one}" for one in (*limits, "-rss_limit_mb=8000", f"-artifact_prefix={folder}/")],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    told = done.stdout + done.stderr
    seen = [int(one) for one in re.findall(r"\bcov: (\d+)", told)]
    tried = re.findall(r"^#(\d+)", told, re.MULTILINE)
    fault = "" if done.returncode == 0 else told[-1500:]
    return {
        "target": name,
        "tried": int(tried[-1]) if tried else 0,
        "branches_of_the_corpus": seen[0] if seen else 0,
        "branches": max(seen, default=0),
        "fault": fault,
    }


def page(found: dict[str, Any]) -> str:
    cases = found["targets"]
    tried, faults = sum(one["tried"] for one in cases), sum(bool(one["fault"]) for one in cases)
    return "\n".join(
        [
            "# Guided fuzzing",
            "",
            f"{tried:,} inputs, {faults} faults, {found['seconds']} seconds for each target.",
            "atheris changes inputs and keeps those that reach a branch of queryveil which none reached before.",
            "`python benchmarks/guided_fuzz.py --write` made this page. What a fault is, and a million inputs that",
            "are changed by chance, are in [fuzzing](fuzzing.md).",
            "",
            "| what is read | tried | branches that the corpus reaches | branches reached |",
            "|---|---|---|---|",
            *(
                f"| {one['target']} | {one['tried']:,} | {one['branches_of_the_corpus']:,} | {one['branches']:,} |"
                for one in cases
            ),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", nargs="+", choices=TARGETS, default=TARGETS)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--guided", choices=TARGETS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--option", action="append", default=[], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.guided:
        guided(given.guided, given.folder, given.option)
        return
    cases = []
    for name in given.only:
        cases.append(run(name, given.seconds))
        print(json.dumps(cases[-1]), file=sys.stderr, flush=True)
    found = {"seconds": given.seconds, "targets": cases}
    if given.write:
        (EVIDENCE / "guided-fuzzing.json").write_text(json.dumps(found, indent=2) + "\n")
        (EVIDENCE / "guided-fuzzing.md").write_text(page(found))
    print(page(found))
    if any(one["fault"] for one in cases):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
