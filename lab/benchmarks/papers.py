"""One command per paper: its tables and figures on a generated log, with the expected shapes checked.

    python lab/benchmarks/papers.py zealous [--rows 10000000] [--users 500000] [--out DIR] [--json]
    python lab/benchmarks/papers.py clump --out DIR --keep
    python lab/benchmarks/papers.py --list

Long runs go on where they stopped if the same --out is given again. `--keep` keeps what was found for the docs' figures
(docs/evidence/findings), for papers whose studies run on the same log there.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import kept_findings
import pyarrow.parquet as pq

import queryveil as qv
import queryveil_lab as lab
from queryveil.synthetic.generator import write_results
from queryveil_lab.studies.declaration import Findings

PAPERS: dict[str, tuple[str, ...]] = {
    "zealous": (
        "zealous-m",
        "zealous-j",
        "count-distribution",
        "count-difference",
        "index-caching",
        "query-substitution",
    ),
    "click-graph": (
        "release-probability",
        "release-d",
        "release-span",
        "release-epsilon-delta",
        "query-groups",
        "keyword-generation",
        "common-fears",
        "graph-uses",
        "popularity",
        "synthetic-uses",
    ),
    "clump": ("clump-quality", "clump-r", "clump-size", "clump-order"),
    "semantic": ("profiles",),
    "set-union": ("set-union",),
    "hash-inversion": ("hash-inversion", "expansion", "gap", "exposure", "active-attack"),
}
SIZES = {
    "zealous": (10_000_000, 500_000),
    "clump": (1_417_000, 54_500),
    "hash-inversion": (6_000_000, 200_000),
}
USUAL = (2_000_000, 64_516)


def run(paper: str, rows: int, users: int, out: Path, *, keep: bool = False) -> dict[str, Any]:
    """All studies of a paper on one log; what is finished in `out` is not run again."""
    found: dict[str, Any] = {"paper": paper, "rows": rows, "users": users, "studies": {}}
    out.mkdir(parents=True, exist_ok=True)
    log_file, results = out / "log.parquet", out / "results.parquet"
    settings = qv.LogSettings(version=1, rows=rows, users=users, seed=1)
    needed = any(lab.STUDIES[name].needs_log for name in PAPERS[paper])
    if needed and not log_file.exists():
        qv.generate(log_file, settings)
        write_results(results, settings)
    for name in PAPERS[paper]:
        folder = out / name
        if not (folder / "checks.json").is_file():
            log = qv.read(log_file) if lab.STUDIES[name].needs_log else None
            given = {"results": results} if name == "keyword-generation" else {}
            made = lab.compare(log, name, out=folder, workers=None, **given)
            print(f"{name}: {made.seconds} s", file=sys.stderr)
        table = Findings(tuple(pq.read_table(folder / "table.parquet").to_pylist()))
        if keep:
            kept_findings.keep(name, table)
        # Judged anew: a run that was kept may be older than what is expected of it.
        checks = [check.as_dict() for check in lab.STUDIES[name].checks(table)]
        found["studies"][name] = {"points": points(folder / "table.parquet"), "checks": checks}
        for check in checks:
            print(
                f"  {_verdict(check)}  {check['name']}: {check['detail']}",
                file=sys.stderr,
            )
    return found


def _verdict(check: dict[str, Any]) -> str:
    return "too small to tell" if check.get("undecided") else "pass" if check["passes"] else "FAIL"


def points(table: Path) -> list[dict[str, Any]]:
    """Means over the runs, one entry for each place in the study; what does not vary is left out."""
    rows = pq.read_table(table).to_pylist()
    apart = {"mechanism", "repeat", "metric", "unit", "value"}
    names = [name for name in rows[0] if name not in apart and len({row[name] for row in rows}) > 1]
    runs: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for row in rows:
        here = runs.setdefault(tuple(row[name] for name in names), {})
        here.setdefault(row["metric"], []).append(row["value"])
    return [
        {
            **{name: value for name, value in zip(names, place, strict=True) if value is not None},
            **{metric: round(sum(values) / len(values), 6) for metric, values in one.items()},
        }
        for place, one in runs.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paper", nargs="?", choices=PAPERS)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--users", type=int)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    if given.list or given.paper is None:
        for paper, studies in PAPERS.items():
            print(f"{paper}: {', '.join(studies)}")
        return
    rows, users = SIZES.get(given.paper, USUAL)
    rows, users = given.rows or rows, given.users or users
    with TemporaryDirectory() as folder:
        found = run(given.paper, rows, users, given.out or Path(folder), keep=given.keep)
    if given.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
