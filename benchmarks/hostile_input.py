"""Opens files that are made to hurt, each in a process of its own, and writes docs/evidence/hostile-input.md.

    python benchmarks/hostile_input.py

A process may take 4 GB of memory and 300 seconds.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.fuzz.traps import TRAPS, Trap, harm  # noqa: E402

PAGE = ROOT / "docs" / "evidence" / "hostile-input.md"
SECONDS = 300


def tried(trap: Trap) -> tuple[str, bool]:
    """A row of the table, and whether it did harm."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "a" / "b" / "c"
        place.mkdir(parents=True)
        words = trap.make(place, 1)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        try:
            done = subprocess.run(
                [sys.executable, "-c", MEASURED, *words.split(" ")],
                cwd=place,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS * 4,  # of a clock that others share
                check=False,
            )
            code, printed = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            code, printed = -999, "took too long"
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        printed, _, peak = printed.rpartition("PEAK ")
        wrong = harm(trap, place, code, printed)
        # What the command says itself: its error, or how many rows it read and rejected.
        telling = (line for line in printed.splitlines() if line.startswith(("Error: ", "  read ")))
        said = next(telling, "done" if code == 0 else "a failed check")
        answer = said.removeprefix("Error: ").removeprefix("  read ").strip().replace("|", "/")
        shown = words.encode("unicode_escape").decode().replace("|", "/")
        return (
            f"| {trap.name} | `{shown}` | {code} | {answer}{' HARM: ' + wrong if wrong else ''} | {seconds:.1f} "
            f"| {int(peak or 0) / 1e6:.2f} |",
            bool(wrong),
        )


MEASURED = """
import atexit, resource, sys
from queryveil.show import cli
def peak():
    sys.stderr.write(f"PEAK {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}")
    sys.stderr.flush()
atexit.register(peak)
cli.run()
"""


def main() -> int:
    rows = []
    for trap in TRAPS:
        print(trap.name, file=sys.stderr, flush=True)
        rows.append(tried(trap))
    lines = [
        "# Hostile input",
        "",
        "Files that are made to hurt whoever opens them, the command that opened them, and what it answered. Made by",
        "`python benchmarks/hostile_input.py`; the tests open the same files in small sizes.",
        "",
        "| what | command | exit code | answer | processor seconds | peak memory, GB |",
        "|---|---|---|---|---|---|",
        *(row for row, _ in rows),
        "",
        "Nothing was written outside, no terminal got an escape sequence, and no formula stands in a sheet.",
        "Random changes of files are counted in [fuzzing](fuzzing.md).",
    ]
    PAGE.write_text("\n".join(lines) + "\n")
    return 1 if any(wrong for _, wrong in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
