"""The figures of the docs: `make figures` runs the studies and writes docs/studies/STUDY-FIGURE.png.

    python benchmarks/figures.py [STUDY ...]
    python benchmarks/figures.py --redraw [STUDY ...]

What a study finds is kept in docs/evidence/findings, and figures are drawn from that. `--redraw` runs nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import kept_findings
import queryveil as qv
import study_runs
from queryveil.charts.figures import save


def draw(name: str) -> None:
    """Every figure of a study, from what is kept of it; those that it no longer has are removed."""
    charts = kept_findings.drawn(name)
    with TemporaryDirectory() as folder:
        for title, chart in charts.items():
            png = save(chart, Path(folder), title)[0].read_bytes()
            marked = kept_findings.stamped(png, kept_findings.digest(chart))
            (kept_findings.FIGURES / f"{title}.png").write_bytes(marked)
    for check in qv.STUDIES[name].checks(kept_findings.read(name)):
        print(f"  {check.verdict}  {check.name}: {check.detail}")


def main() -> None:
    redraw = "--redraw" in sys.argv[1:]
    asked = [name for name in sys.argv[1:] if name != "--redraw"]
    if redraw:
        for name in asked or kept_findings.names():
            print(name)
            draw(name)
        return
    names = asked or list(qv.STUDIES)
    with study_runs.generated(names) as (log, results):
        for name in names:
            if name == "set-union":  # a long study, whose finished runs are kept elsewhere too
                kept_findings.keep(name, study_runs.union_findings("medium"))
            else:
                made = study_runs.run(name, log, results)
                print(f"{name}: {made.seconds} s")
            draw(name)


if __name__ == "__main__":
    main()
