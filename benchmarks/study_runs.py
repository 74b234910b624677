"""The studies on one generated log of 2,000,000 rows: what `make figures` and `make evidence` show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import queryveil as qv
from queryveil.generator import write_results

SETTINGS = qv.LogSettings(rows=2_000_000, seed=1)


@contextmanager
def generated() -> Iterator[tuple[qv.SearchLog, Path]]:
    """The log, and its public result lists."""
    with TemporaryDirectory() as folder:
        results = Path(folder) / "results.parquet"
        qv.generate(Path(folder) / "log.parquet", SETTINGS)
        write_results(results, SETTINGS)
        yield qv.read(Path(folder) / "log.parquet"), results


def run(name: str, log: qv.SearchLog, results: Path, out: Path | None = None) -> qv.Comparison:
    return qv.compare(log if qv.STUDIES[name].needs_log else None, name, out=out, results=results)


def evidence(name: str) -> Any:
    """Checks of a study and its figures: expected ones, or means of real releases where there are no others."""

    def measured() -> dict[str, Any]:
        with generated() as (log, results):
            made = run(name, log, results)
            axes = [axis.name for axis in made.study.axes if len(made.given.axes[axis.name]) > 1]
            found: dict[str, Any] = {"rows": log.rows, "users": log.users, "axes": axes}
        figures: dict[tuple[Any, ...], dict[str, list[float]]] = {}
        for row in made.findings:
            # Real releases are compared with expectations by a check; the table shows the expectations.
            if row["how"] != "measured":
                point = figures.setdefault(tuple(row[axis] for axis in axes), {})
                point.setdefault(f"{row['how']} {row['metric']}", []).append(row["value"])
        found["points"] = [
            {
                **dict(zip(axes, point, strict=True)),
                **{key: round(sum(values) / len(values), 6) for key, values in one.items()},
            }
            for point, one in figures.items()
        ]
        found["checks"] = [check.as_dict() for check in made.checks]
        return found

    return measured
