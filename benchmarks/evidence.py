"""Full-size evidence: `make evidence` runs what is missing and writes docs/evidence, one JSON file a part.

    python benchmarks/evidence.py [PART ...]

A part that has a file is not run again; remove the file to repeat it.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import queryveil as qv
from queryveil.contribution import Bound, bounded, counts

HERE = Path(__file__).parent
EVIDENCE = HERE.parent / "docs" / "evidence"


def engines() -> dict[str, Any]:
    """1,000,000 rows, every item kind, DuckDB and Spark: equal counts before noise, and a release of each."""
    found: dict[str, Any] = {"rows": 1_000_000, "kinds": {}}
    with tempfile.TemporaryDirectory() as folder:
        log_file = Path(folder) / "log.parquet"
        qv.generate(log_file, qv.LogSettings(rows=1_000_000, seed=1))
        logs = {name: qv.read(log_file, engine=name) for name in ("duckdb", "spark")}
        for kind in qv.KINDS.values():
            histograms: dict[str, Any] = {}
            row: dict[str, Any] = {}
            for name, log in logs.items():
                start = time.perf_counter()
                bound = Bound(most=5, salt=b"evidence", order_key="portable")
                table = log.engine.arrow(counts(bounded(log, kind, bound), kind.columns))
                row[f"{name}_seconds"] = round(time.perf_counter() - start, 1)
                items = zip(*(table[column].to_pylist() for column in kind.columns), strict=True)
                histograms[name] = dict(zip(items, table["count"].to_pylist(), strict=True))
                method = qv.Zealous(epsilon=4, delta=1e-3, max_items=5, items=(kind.name,))
                out = Path(folder) / f"{name}-{kind.name}"
                released = qv.publish(log, method, out=out, order_key="portable", allow_empty=True)
                row[f"{name}_released"] = released.released["items"]
                row[f"{name}_verified"] = qv.verify(out).passed
            row["distinct_items"] = len(histograms["duckdb"])
            row["equal_counts"] = histograms["duckdb"] == histograms["spark"]
            found["kinds"][kind.name] = row
    return found


def generator() -> dict[str, Any]:
    """The three fixed settings: time, size, distinct items, uniqueness."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, settings in qv.SETTINGS.items():
            file = Path(folder) / f"{name}.parquet"
            start = time.perf_counter()
            made = qv.generate(file, settings)
            seconds = round(time.perf_counter() - start, 1)
            seen = qv.inspect(qv.read(file))
            found[name] = {"users": made.users, "rows": made.rows, "seconds": seconds, "items": seen.items}
            found[name] |= {"uniqueness": seen.uniqueness, "secrets": sum(made.secrets.values())}
    return found


def zealous() -> dict[str, Any]:
    """Published items against m on the three settings (delta 0.001, epsilon 2): the paper's table 3 in shape."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, settings in qv.SETTINGS.items():
            file = Path(folder) / f"{name}.parquet"
            qv.generate(file, settings)
            log = qv.read(file)
            for kind in qv.KINDS:
                for m in (1, 4, 8, 20, 40):
                    method = qv.Zealous(epsilon=2, delta=1e-3, max_items=m, items=(kind,))
                    released = qv.publish(log, method, allow_empty=True)
                    found.setdefault(name, {}).setdefault(kind, {})[str(m)] = released.released["items"]
    return found


def script(name: str, *options: str) -> Callable[[], Any]:
    def run() -> Any:
        done = subprocess.run(
            [sys.executable, HERE / name, *options], capture_output=True, text=True, check=True
        )
        text = done.stdout[done.stdout.index("{") :] if "{" in done.stdout else ""
        return json.loads(text) if text else done.stdout.splitlines()

    return run


PARTS: dict[str, Callable[[], Any]] = {
    "generator": generator,
    "engines": engines,
    "zealous": zealous,
    "noise": script("noise.py", "--json"),
    "publish": script("publish.py"),
}


def main() -> None:
    EVIDENCE.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or PARTS:
        file = EVIDENCE / f"{name}.json"
        if file.exists():
            print(f"{name}: kept {file.name}")
            continue
        start = time.perf_counter()
        figures = PARTS[name]()
        about = {
            "part": name,
            "seconds": round(time.perf_counter() - start, 1),
            "python": platform.python_version(),
        }
        about |= {"duckdb": duckdb.__version__, "figures": figures}
        file.write_text(json.dumps(about, indent=2) + "\n")
        print(f"{name}: wrote {file.name} in {about['seconds']} s")


if __name__ == "__main__":
    main()
