"""The first time: from an empty environment to a release that verifies, on a log that nobody prepared.

    python scripts/first_time.py            # runs it, and prints commands, exit codes and times
    python scripts/first_time.py --write    # and writes docs/evidence/first-time.md

The wheel is built from this repository and installed into a new environment. The log is a CSV as a shop might have it:
semicolons, German headers, Latin-1, times written as 20.03.2026 15:40. What a person would have to find out is found
out the same way here: by running into the error and doing what it says.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import platform
import random
import resource
import shlex
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "evidence" / "first-time.md"
SHARED: tuple[str, ...] = (
    "wetter",
    "fußball ergebnisse",
    "günstige flüge",
    "bahn fahrplan",
    "rezept apfelkuchen",
)
SHARED += ("öffnungszeiten rathaus", "kino heute", "grippe symptome", "gebrauchtwagen", "stellenangebote")
COLUMNS = "user=Benutzerkennung,query=Suchbegriff,time=Zeitpunkt,url=Angeklickte Adresse"
READING = [
    "--delimiter",
    ";",
    "--encoding",
    "latin-1",
    "--time-format",
    "%d.%m.%Y %H:%M",
    "--columns",
    COLUMNS,
]
ABOUT = {
    "title": "Searches of a shop, March 2026",
    "publisher": "Beispiel GmbH",
    "contact": "daten@beispiel.example",
    "licence": "CC-BY-4.0",
    "purpose": "research on search",
    "period": "2026-03-01/2026-03-28",
    "language": "de",
}


@dataclasses.dataclass(frozen=True)
class Step:
    """One command, how it ended and what it took."""

    what: str
    typed: str
    code: int
    expected: int
    said: str
    wall: float
    processor: float


def odd_log(file: Path, users: int = 2_500) -> None:
    """A log as somebody might have it."""
    draw = random.Random(3)  # noqa: S311 (a made-up log)
    lines = ["Benutzerkennung;Suchbegriff;Zeitpunkt;Angeklickte Adresse"]
    for user in range(users):
        for _ in range(draw.randint(1, 8)):
            text = SHARED[min(int(draw.expovariate(0.5)), len(SHARED) - 1)]
            text += f" {draw.randint(1, 9_999)}" if draw.random() < 0.2 else ""
            at = f"{draw.randint(1, 28):02d}.03.2026 {draw.randint(0, 23):02d}:{draw.randint(0, 59):02d}"
            lines.append(f"K-{user:05d};{text};{at};https://www.beispiel.example/{draw.randint(1, 50)}")
    file.write_text("\n".join(lines) + "\n", encoding="latin-1")


def run(
    what: str, words: list[str], place: Path, *, expected: int = 0, shown: list[str] | None = None
) -> Step:
    """Run a command and time it; whatever ends in another way than it should ends the whole."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = "\n".join(done.stderr.strip().splitlines()[-3:]) if done.returncode else ""
    made = Step(
        what, shlex.join(shown or words), done.returncode, expected, said, time.monotonic() - start, used
    )
    sys.stderr.write(f"{made.wall:7.1f} s  exit {made.code}  {made.typed}\n")
    if done.returncode != expected:
        raise SystemExit(f"{made.typed} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return made


def first_time(place: Path) -> list[Step]:
    """Every step, in order."""
    steps = [
        run(
            "build the wheel",
            [
                sys.executable,
                "-m",
                "pip",
                "wheel",
                "--quiet",
                "--no-deps",
                "--wheel-dir",
                str(place),
                str(ROOT),
            ],
            place,
            shown=["pip", "wheel", "--no-deps", "."],
        )
    ]
    wheel = next(place.glob("queryveil-*.whl"))
    venv.create(place / "environment", with_pip=True)
    program = place / "environment" / "bin"
    pinned = ["-c", str(ROOT / "constraints.txt")]
    steps.append(
        run(
            "install it",
            [str(program / "python"), "-m", "pip", "install", "--quiet", *pinned, str(wheel)],
            place,
            shown=["pip", "install", "-c", "constraints.txt", wheel.name],
        )
    )
    odd_log(place / "suchprotokoll.csv")

    def queryveil(what: str, *words: str, expected: int = 0) -> None:
        steps.append(
            run(
                what,
                [str(program / "queryveil"), *words],
                place,
                expected=expected,
                shown=["queryveil", *words],
            )
        )

    named = [one for name, text in ABOUT.items() for one in ("--about", f"{name}={text}")]
    queryveil("try it as it is", "init", "suchprotokoll.csv", expected=3)
    queryveil("say how it is written", "init", "suchprotokoll.csv", *READING, *named)
    recipe = place / "release.yaml"
    text = recipe.read_text(encoding="utf-8")
    recipe.write_text(text.replace("columns_confirmed: false", "columns_confirmed: true"), encoding="utf-8")
    queryveil("publish", "publish", "release.yaml")
    queryveil("check", "release", "verify", "release")
    return steps


def page(steps: list[Step]) -> str:
    """What happened, as a page."""
    wall, used = sum(one.wall for one in steps), sum(one.processor for one in steps)
    own = [one for one in steps if one.typed.startswith("queryveil")]
    rows = [f"| {one.what} | {one.code} | {one.wall / 60:.2f} | {one.processor:.1f} |" for one in steps]
    lines = [
        "# The first time\n",
        f"From nothing to a release that verifies: {len(steps)} commands, {wall / 60:.1f} minutes by the clock, of",
        f"which {sum(one.wall for one in own) / 60:.1f} in queryveil itself.\n",
        "The log is one that nobody prepared: a CSV with semicolons, German headers, Latin-1 and times such as",
        "`20.03.2026 15:40`. The first try fails, and its error says what is missing. Then the recipe is written,",
        "somebody looks at its columns (`columns_confirmed: true`), and the release is published and checked.\n",
        "| step | exit code | minutes | processor seconds |",
        "|---|---|---|---|",
        *rows,
        f"| all | | {wall / 60:.2f} | {used:.1f} |\n",
        f"Minutes are those of one run, with {os.cpu_count()} cores and a load of {os.getloadavg()[0]:.0f} at its end,",
        f"Python {platform.python_version()}. On an idle machine they come near the processor seconds; installing also",
        "waits for the network. `python scripts/first_time.py --write` runs it again.\n",
        "## What was typed\n",
        "```sh",
        *(one.typed for one in steps),
        "```\n",
        "## What the first try said\n",
        "```text",
        next(one.said for one in steps if one.expected),
        "```",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--write", action="store_true", help="write the page")
    write = asked.parse_args().write
    with tempfile.TemporaryDirectory(prefix="queryveil-first-time-") as place:
        made = page(first_time(Path(place)))
        sys.stdout.write(made)
        if write:  # before the folder is removed, which may take long
            PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
