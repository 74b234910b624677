"""The figures of the docs: `make figures` runs the studies and writes docs/studies/STUDY-FIGURE.png.

python benchmarks/figures.py [STUDY ...]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import queryveil as qv
import study_runs
from queryveil.charts.figures import save

DOCS = Path(__file__).parent.parent / "docs" / "studies"


def copy(name: str, files: list[Path]) -> None:
    for file in files:
        shutil.copyfile(file, DOCS / (f"{name}-{file.name}" if file.stem != name else file.name))


def main() -> None:
    names = sys.argv[1:] or list(qv.STUDIES)
    with study_runs.generated(names) as (log, results), TemporaryDirectory() as folder:
        for name in names:
            if name == "set-union":  # a long study, whose finished runs are kept
                for title, chart in qv.STUDIES[name].drawn(study_runs.union_findings("medium")).items():
                    save(chart, Path(folder), title)
                    copy(name, [Path(folder) / f"{title}.png"])
                continue
            made = study_runs.run(name, log, results, Path(folder) / name)
            copy(name, made.figures)
            print(f"{name}: {made.seconds} s")
            for check in made.checks:
                print(f"  {'pass' if check.passed else 'FAIL'}  {check.name}: {check.detail}")


if __name__ == "__main__":
    main()
