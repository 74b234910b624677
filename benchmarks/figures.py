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

DOCS = Path(__file__).parent.parent / "docs" / "studies"


def main() -> None:
    names = sys.argv[1:] or list(qv.STUDIES)
    with study_runs.generated(names) as (log, results), TemporaryDirectory() as folder:
        for name in names:
            made = study_runs.run(name, log, results, Path(folder) / name)
            for file in made.figures:
                target = DOCS / (f"{name}-{file.name}" if file.stem != name else file.name)
                shutil.copyfile(file, target)
            print(f"{name}: {made.seconds} s")
            for check in made.checks:
                print(f"  {'pass' if check.passed else 'FAIL'}  {check.name}: {check.detail}")


if __name__ == "__main__":
    main()
