"""Runs every study and draws its figures.

    python lab/benchmarks/figures.py [STUDY ...]            reduced sizes, as `make figures` does; into benchmarks/data
    python lab/benchmarks/figures.py --docs [STUDY ...]    the docs' sizes; into lab/docs
    python lab/benchmarks/figures.py --splits STUDY ...     hash-inversion, expansion: more splits than the docs have
    python lab/benchmarks/figures.py --redraw [STUDY ...]   the docs' figures again, without running anything

A run that was interrupted goes on, and a finished one is kept: remove benchmarks/data/studies to run them again.
Without `--docs` it ends with processor seconds for each study, and with exit code 1 if a check fails that is not
named on the page of its study.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import kept_findings
import study_runs

import queryveil_lab as lab
from queryveil_lab.charts.figures import save
from queryveil_lab.studies.declaration import Findings

TIMES = study_runs.RUNS / "reduced" / "times.json"


def draw(name: str) -> None:
    """Every figure of a study, from what is kept of it; those that it no longer has are removed."""
    charts = kept_findings.drawn(name)
    with TemporaryDirectory() as folder:
        for title, chart in charts.items():
            png = save(chart, Path(folder), title)[0].read_bytes()
            marked = kept_findings.stamped(png, kept_findings.digest(chart))
            (kept_findings.FIGURES / f"{title}.png").write_bytes(marked)
    judge(name, kept_findings.read(name))


def judge(name: str, found: Findings) -> list[str]:
    """Print what the checks say; the names of those that fail and that the study's page does not name."""
    file = kept_findings.FIGURES / f"{name}.md"
    page = " ".join(file.read_text(encoding="utf-8").split())
    strange = []
    for check in lab.STUDIES[name].checks(found):
        named = check.name in page
        print(f"  {check.verdict}  {check.name}: {check.detail}{_where(check.fails, named)}")
        if check.fails and not named:
            strange.append(f"{name}: {check.name}")
    return strange


def _where(fails: bool, named: bool) -> str:
    if not fails:
        return ""
    return " (its page says why)" if named else " (NOT on its page)"


def spent() -> float:
    """Processor seconds of this process and of those that it started and that have ended."""
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system


def reduced(names: list[str]) -> int:
    """Run the studies at reduced sizes, and print a table of times."""
    times: dict[str, dict[str, Any]] = json.loads(TIMES.read_text()) if TIMES.is_file() else {}
    strange: list[str] = []
    for name in names:
        print(name, flush=True)
        if not (study_runs.place(name, reduced=True) / "checks.json").is_file():
            before, start = spent(), time.perf_counter()
            study_runs.run(name, reduced=True)
            times[name] = {
                "processor": round(spent() - before, 1),
                "wall": round(time.perf_counter() - start, 1),
            }
            TIMES.write_text(json.dumps(times, indent=1))
        strange += judge(name, study_runs.run(name, reduced=True))
    print(f"\nprocessor seconds, wall seconds, study (figures are in {TIMES.parent})")
    for name in names:
        one = times.get(name, {"processor": 0.0, "wall": 0.0})
        print(f"{one['processor']:9.1f} {one['wall']:9.1f}  {name}")
    sums = [sum(times[name][key] for name in names if name in times) for key in ("processor", "wall")]
    print(f"{sums[0]:9.1f} {sums[1]:9.1f}  all, one after the other")
    for one in strange:
        print(f"FAIL, and its page does not say why: {one}")
    return 1 if strange else 0


def main() -> int:
    options = {name for name in sys.argv[1:] if name.startswith("--")}
    names = [name for name in sys.argv[1:] if name not in options]
    if unknown := (options - {"--docs", "--redraw", "--splits"}) | (set(names) - set(lab.STUDIES)):
        print(
            f"there is no {', '.join(sorted(unknown))}: give --docs, --splits, --redraw or names of studies"
        )
        return 2
    if "--redraw" in options:
        for name in names or kept_findings.names():
            print(name)
            draw(name)
        return 0
    if "--splits" in options:
        for name in names or list(study_runs.REPEATED):
            found = study_runs.further_splits(name)
            print(f"{name}: the first split is within {study_runs.moved(name, found):.2g} of what was kept")
            kept_findings.keep(name, found)
            draw(name)
        return 0
    if "--docs" not in options:
        return reduced(names or list(lab.STUDIES))
    for name in names or list(lab.STUDIES):
        print(name, flush=True)
        kept_findings.keep(name, study_runs.found(name))
        draw(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
