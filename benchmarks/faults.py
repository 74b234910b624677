"""Hundreds of faults, one a run, and the page that shows what became of each kind: docs/evidence/faults.md.

    python benchmarks/faults.py [--points 400] [--again]

What became of each run is kept in benchmarks/data, and a call that was stopped is gone on with by the next one;
`--again` begins anew.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "evidence" / "faults.md"
SIGNALS = {"SIGINT": "INT (Ctrl-C)", "SIGTERM": "TERM", "SIGHUP": "HUP", "SIGKILL": "kill -9"}
STAGES = ("read", "charge", "count and protect", "write")


def page(outcomes: list[dict[str, Any]]) -> str:
    struck = [one for one in outcomes if one["fault"] in SIGNALS]
    others = [one for one in outcomes if one["fault"] not in SIGNALS]
    wrong = [one for one in outcomes if one["wrong"]]
    lines = [
        "# Faults",
        "",
        "`benchmarks/faults.py` publishes a small log with a ledger again and again, each time with one fault, and",
        "looks at what is left. The tests do the same with fewer faults. A run is sound if all of this holds:",
        "",
        "- the release is complete (it verifies), or there is none;",
        "- the ledger has at most one charge, a release has exactly one, and a charge without a release is said;",
        "- nothing of the log is left behind (after kill -9: once the next command was run there);",
        "- it ends with one sentence that quotes no query, and with an exit code of the reference.",
        "",
        f"{len(outcomes):,} runs, {len(wrong)} of them not sound.",
        "",
        "## Signals",
        "",
        "At lines that are spread over all that a run goes through, by the room that the line stands in. A cell says:",
        "runs, how many left a complete release, and how many were charged.",
        "",
        "| stage | " + " | ".join(SIGNALS.values()) + " |",
        "|---|" + "---|" * len(SIGNALS),
    ]
    for stage in STAGES:
        cells = [_cell([o for o in struck if (o["stage"], o["fault"]) == (stage, name)]) for name in SIGNALS]
        lines.append(f"| {stage} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "## Other faults",
        "",
        "| stage | fault | runs | exit codes | releases | charged | what is said |",
        "|---|---|---|---|---|---|---|",
    ]
    for stage, fault in dict.fromkeys((one["stage"], one["fault"]) for one in others):
        mine = [one for one in others if (one["stage"], one["fault"]) == (stage, fault)]
        codes = ", ".join(
            f"{code} ({often})" for code, often in sorted(Counter(o["code"] for o in mine).items())
        )
        said = Counter(_said(one["said"]) for one in mine if one["said"])
        lines.append(
            f"| {stage} | {fault} | {len(mine)} | {codes} | {sum(o['release'] for o in mine)} "
            f"| {sum(o['charges'] for o in mine)} | {'; or '.join(said) or 'nothing: all is well'} |"
        )
    lines += [
        "",
        "Some limits (descriptors, memory, bytes of a file) are so wide that all is well.",
    ]
    if wrong:
        lines += [
            "",
            "## Not sound",
            "",
            *(f"- {one['stage']}, {one['fault']}: {one['wrong']}" for one in wrong),
        ]
    return "\n".join(lines) + "\n"


def _cell(outcomes: list[dict[str, Any]]) -> str:
    whole, charged = sum(one["release"] for one in outcomes), sum(one["charges"] for one in outcomes)
    return f"{len(outcomes)} runs, {whole} whole, {charged} charged" if outcomes else "-"


def _said(text: str) -> str:
    first = next((line for line in text.splitlines() if line.startswith("Error")), "").removeprefix("Error: ")
    words = [word if "/" not in word or "'" not in word else "'...'" for word in first.split()]
    return " ".join(words).replace("|", "/")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=400)
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    kept = ROOT / "benchmarks" / "data" / f"faults-{given.points}.jsonl"
    kept.parent.mkdir(exist_ok=True)
    if given.again:
        kept.unlink(missing_ok=True)
    kept.touch()
    shared = Path("/dev/shm")  # noqa: S108 (a folder of its own is made there)
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        words = ["-m", "tests.faults.driver", folder, "--points", str(given.points), "--all"]
        with kept.open("a") as lines:
            ended = subprocess.run(
                [sys.executable, *words, "--kept", str(kept)], cwd=ROOT, stdout=lines, check=False
            )
    outcomes = [json.loads(line) for line in kept.read_text().splitlines()]
    wrong = [one for one in outcomes if one["wrong"]]
    if ended.returncode == (1 if wrong else 0):
        PAGE.write_text(page(outcomes))
    print(json.dumps({"runs": len(outcomes), "not_sound": wrong, "code": ended.returncode}, indent=2))
    return 1 if wrong or ended.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
