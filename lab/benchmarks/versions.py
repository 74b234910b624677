"""One study on logs of both versions of the generator, side by side.

    python lab/benchmarks/versions.py release-d --rows 1000000 --vary d=20
    python lab/benchmarks/versions.py release-d --rows 1000000 --vary d=20 --versions 1 --set zipf=1

Prints the mean of every figure of the study, by what varies. A study with one value of each axis takes seconds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import queryveil as qv
import queryveil_lab as lab
from queryveil.synthetic.generator import write_results


def measured(study: str, settings: qv.LogSettings, vary: dict[str, list[Any]]) -> dict[str, float]:
    """Means over repeats: by figure and by the axes that have more than one value."""
    with tempfile.TemporaryDirectory() as folder:
        log, results = Path(folder) / "log.parquet", Path(folder) / "results.parquet"
        qv.generate(log, settings)
        write_results(results, settings)
        made = lab.compare(qv.read(log), study, results=results, vary=vary)
    axes = [axis.name for axis in made.study.axes if len(made.given.axes[axis.name]) > 1]
    found: dict[str, list[float]] = defaultdict(list)
    for row in made.findings:
        at = ", ".join(f"{axis} {row[axis]}" for axis in axes)
        found[f"{row['how']} {row['metric']}" + (f" at {at}" if at else "")].append(row["value"])
    return {name: sum(values) / len(values) for name, values in found.items()}


def value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("study")
    asked.add_argument("--rows", default="1000000", help="rows of the logs, with commas")
    asked.add_argument("--rows-per-user", type=float, help="one user for so many rows")
    asked.add_argument("--versions", default="1,2")
    asked.add_argument("--vary", action="append", default=[], metavar="AXIS=VALUE,...")
    asked.add_argument("--json", action="store_true")
    asked.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="of LogSettings")
    given = asked.parse_args()
    changes = {name: value(text) for name, text in (one.split("=", 1) for one in given.set)}
    pairs = (one.split("=", 1) for one in given.vary)
    vary = {axis: [value(text) for text in values.split(",")] for axis, values in pairs}
    everything: dict[str, dict[str, float]] = {}
    for rows in map(int, given.rows.split(",")):
        for version in map(int, given.versions.split(",")):
            if given.rows_per_user:
                changes["users"] = round(rows / given.rows_per_user)
            found = measured(given.study, qv.LogSettings(version=version, rows=rows, seed=1, **changes), vary)
            everything[f"version {version}, {rows:,} rows"] = found
            if not given.json:
                print(f"version {version}, {rows:,} rows")
                for name, mean in found.items():
                    print(f"  {name}: {mean:.6g}")
    if given.json:
        print(json.dumps(everything, indent=2))


if __name__ == "__main__":
    main()
