"""The studies on generated logs, most on one of 2,000,000 rows: what `make figures` and `make evidence` show."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq

import kept_findings
import queryveil as qv
from queryveil.study.declaration import Findings, Interval
from queryveil.study.set_union import CHANGED, METHODS, NO_COUNTS, OTHERS, REPLACED, STEERED, best
from queryveil.study.union.baselines import BASELINES
from queryveil.synthetic.generator import write_results

SETTINGS = qv.LogSettings(version=1, rows=2_000_000, seed=1)
LARGE = qv.LogSettings(version=1, rows=6_400_000, seed=1, zipf=0.6)
"""A log of 6,050,000 queries, for the studies that need a million or more in each half."""
CLUMP = qv.LogSettings(version=1, rows=1_417_000, users=54_500, seed=1)
"""As many users with concepts as the paper's."""
WEEK = qv.LogSettings(rows=1_000_000, users=170_000, days=7, seed=1)
"""A week of version 2: as many rows for each user as AOL's people had in a week, nearly."""
YEAR = qv.LogSettings(rows=1_200_000, users=6_000, days=365, seed=1)
MONTH = qv.LogSettings(rows=200_000, users=10_000, seed=1)
BUSY_MONTH = qv.LogSettings(rows=800_000, users=40_000, seed=1)
SMALL_WEEK = qv.LogSettings(rows=300_000, users=51_000, days=7, seed=1)
FEARS = qv.LogSettings(version=1, rows=2_000_000, users=340_000, days=7, seed=1)
"""Enough people for fears to pass at d = 21; version 1, in which more people search for fears."""
HEAD = qv.LogSettings(version=1, rows=400_000, seed=1, zipf=1.0)
"""A small log with a head, for the studies of histograms: hundreds of releases in minutes, and shapes can be told.
`papers.py zealous` runs them at the paper's size, with the usual exponent of 0.7."""
OWN = {
    **dict.fromkeys(
        (
            "zealous-m",
            "zealous-j",
            "count-distribution",
            "count-difference",
            "index-caching",
            "query-substitution",
        ),
        HEAD,
    ),
    "release-d": WEEK,
    "release-epsilon-delta": WEEK,
    "query-groups": SMALL_WEEK,
    "release-span": YEAR,
    "common-fears": FEARS,
    "graph-uses": MONTH,
    "popularity": BUSY_MONTH,
    "synthetic-uses": MONTH,
    "hash-inversion": LARGE,
    "expansion": LARGE,
    "clump-quality": CLUMP,
    "clump-r": CLUMP,
    "clump-size": CLUMP,
    "clump-order": CLUMP,
    "set-union": qv.SETTINGS["medium@1"],
}
"""Studies that run on another log."""
FEWER: dict[str, dict[str, Any]] = {
    "query-groups": {"vary": {"d": [1, 5, 20, 80]}},
    "release-span": {"vary": {"d": [1, 5, 20, 80]}},
    "graph-uses": {"vary": {"epsilon": [2.0, 8.0]}, "repeats": 2},
    "popularity": {"vary": {"epsilon": [4.0, 16.0]}, "repeats": 2},
    "synthetic-uses": {"vary": {"epsilon": [2.0, 8.0]}, "repeats": 2},
}
"""Studies that run at fewer points than they do by themselves."""
_MORE = {"repeats": 5, "d": [1, 100, 200, 400]}
_FEWER = {"repeats": 5, "d": [1, 20, 100, 200]}
UNION: dict[str, dict[str, dict[str, Any]]] = {
    "medium": {
        "shipped": {
            "repeats": 5,
            "method": [STEERED, NO_COUNTS, *(one.label for one in OTHERS if one.method != "none")],
        },
        "one-round": {
            **_MORE,
            "method": [name for name in BASELINES if "Laplace" in name or "policy" in name],
        },
        "more-rounds": {**_MORE, "method": ["SIPS", "MAD", "MAD2R"]},
        "variants": {**_MORE, "method": [one.label for one in (*REPLACED, *CHANGED)]},
    },
    "large": {
        "all": {
            **_FEWER,
            "method": [one.label for one in METHODS if one not in CHANGED],
            "epsilon": [1.0],
        },
    },
}
"""Study `set-union` by the generator's settings, in parts: methods that take long have fewer values of d."""
KEPT = Path(__file__).parent / "data" / "set-union"
"""Its runs are long: what is finished is not run again."""


@contextmanager
def generated(names: Collection[str] = ()) -> Iterator[tuple[Any, Path | None]]:
    """The log, and its public result lists; nothing if none of the named studies needs a log."""
    if names and not any(qv.STUDIES[name].needs_log and name not in OWN for name in names):
        yield None, None
        return
    with TemporaryDirectory() as folder:
        results = Path(folder) / "results.parquet"
        qv.generate(Path(folder) / "log.parquet", SETTINGS)
        write_results(results, SETTINGS)
        yield qv.read(Path(folder) / "log.parquet"), results


def union(setting: str, part: str) -> Path:
    """The folder of a part of study `set-union` on one of its logs."""
    out = KEPT / f"{setting}-{part}"
    if not (out / "checks.json").is_file():
        KEPT.mkdir(parents=True, exist_ok=True)
        given = dict(UNION[setting][part])
        with TemporaryDirectory() as folder:
            qv.generate(Path(folder) / "log.parquet", qv.SETTINGS[f"{setting}@1"])
            log = qv.read(Path(folder) / "log.parquet")
            qv.compare(log, "set-union", out=out, repeats=given.pop("repeats"), vary=given)
    return out


def union_findings(setting: str) -> Findings:
    """All parts together, in the order of the study's methods."""
    tables = [pq.read_table(union(setting, part) / "table.parquet") for part in UNION[setting]]
    rows = [row for table in tables for row in table.to_pylist()]
    order = {one.label: place for place, one in enumerate(METHODS)}
    return Findings(
        tuple(sorted(rows, key=lambda row: (order[row["method"]], row["epsilon"], row["d"], row["repeat"])))
    )


def run(name: str, log: qv.SearchLog | None, results: Path | None) -> qv.Comparison:
    """One study on its log; what it finds is kept for the docs' figures."""
    if name in OWN:
        with TemporaryDirectory() as folder:
            qv.generate(Path(folder) / "log.parquet", OWN[name])
            made = qv.compare(qv.read(Path(folder) / "log.parquet"), name, **FEWER.get(name, {}))
    else:
        made = qv.compare(log if qv.STUDIES[name].needs_log else None, name, results=results)
    kept_findings.keep(name, made.findings)
    return made


def clump_version_2() -> dict[str, Any]:
    """Study `clump-size` on a log of the latest version, whose vocabulary grows more with its users."""
    settings = qv.LogSettings(rows=CLUMP.rows, users=CLUMP.users, seed=1)
    vary = {"method": ["clump-paper", "clump-paper-distinct", "partition"], "users": [1_000, 10_000, 53_058]}
    with TemporaryDirectory() as folder:
        qv.generate(Path(folder) / "log.parquet", settings)
        made = qv.compare(qv.read(Path(folder) / "log.parquet"), "clump-size", vary=vary)
    return clump_points(made.findings) | {"rows": settings.total_rows, "version": settings.version}


def clump_points(found: Findings) -> dict[str, Any]:
    """What each method loses and how dense its input is, by number of users."""
    shown = ("ggd-per-item", "input-density", "mean-length", "mean-level")
    return {
        f"{one['method']}, {one['users']:,} users": {
            metric: round(found.where(**one, metric=metric).value, 5) for metric in shown
        }
        for one in found.settings("method", "users")
    }


def evidence(name: str) -> Any:
    """Checks of a study and its figures: expected ones, or means of real releases where there are no others.

    What is kept of an earlier run is taken, so that figures and evidence are of one run.
    """

    def measured() -> dict[str, Any]:
        if name not in kept_findings.names():
            with generated([name]) as (log, results):
                run(name, log, results)
        kept, study, settings = kept_findings.read(name), qv.STUDIES[name], OWN.get(name, SETTINGS)
        axes = [axis.name for axis in study.axes if len(kept.values(axis.name)) > 1]
        found: dict[str, Any] = {"rows": settings.total_rows, "users": settings.total_users, "axes": axes}
        figures: dict[tuple[Any, ...], dict[str, list[float]]] = {}
        for row in kept:
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
        found["checks"] = [check.as_dict() for check in study.checks(kept)]
        return found

    return measured


def profiles() -> dict[str, Any]:
    """Study `profiles`: losses by what epsilon is for, setting, criterion and epsilon; it makes its own users."""
    made = run("profiles", None, None)
    losses: dict[str, Any] = {}
    for per, setting, criterion in itertools.product(
        *(made.given.axes[axis] for axis in ("epsilon_per", "setting", "criterion"))
    ):
        chosen = made.findings.where(epsilon_per=per, setting=setting, criterion=criterion)
        curve = chosen.where(metric="profile-divergence").along("epsilon")
        found = losses.setdefault(per, {}).setdefault(setting, {})
        found[criterion] = {f"{epsilon:g}": round(loss, 6) for epsilon, loss in curve.items()}
    return {
        **{axis: made.given.axes[axis][0] for axis in ("users", "phrases", "seed")},
        "repeats": made.given.repeats,
        "seconds": made.seconds,
        "losses": losses,
        "largest_standard_error": max(row["value"] for row in made.findings.where(metric="standard-error")),
        "checks": [check.as_dict() for check in made.checks],
    }


def inversion(name: str) -> Any:
    """Studies of hash inversion: accuracies and what goes with them, by what varies."""

    def measured() -> dict[str, Any]:
        made = run(name, None, None)
        axes = [axis.name for axis in made.study.axes if len(made.given.axes[axis.name]) > 1]
        points: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in made.findings:
            point = points.setdefault(tuple(row[axis] for axis in axes), {})
            if row["at"] is None:
                point[row["metric"]] = round(row["value"], 6)
            else:
                point.setdefault(row["metric"], {})[row["at"]] = round(row["value"], 6)
        return {
            **{key: value[0] for key, value in made.given.axes.items() if key not in axes},
            "axes": axes,
            "seconds": made.seconds,
            "points": [{**dict(zip(axes, at, strict=True)), **one} for at, one in points.items()],
            "checks": [check.as_dict() for check in made.checks],
        }

    return measured


def exposure() -> dict[str, Any]:
    """Study `exposure`: what can be read, by method; the most of several releases."""
    with generated() as (log, _):
        made = run("exposure", log, None)
        found: dict[str, Any] = {"rows": log.rows, "users": log.users, "seconds": made.seconds}
        most = max(made.given.axes["n"])
    for row in made.findings:
        method = row["method"] if row["how"] == "measured" else f"{row['method']}, {row['how']}"
        if row["method"] == "token-hash" and row["n"] != most:
            method += f", {row['n']:,} hashes"
        counts = found.setdefault(row["metric"], {}).setdefault(method, {})
        counts[row["category"]] = max(int(row["value"]), counts.get(row["category"], 0))
    return found | {"checks": [check.as_dict() for check in made.checks]}


def set_union() -> dict[str, Any]:
    """Study `set-union`: what each method publishes at its best number of items per user, on two logs."""
    return {setting: union_figures(setting) for setting in UNION}


def union_figures(setting: str) -> dict[str, Any]:
    """The figures of one of its logs."""
    rows = union_findings(setting)
    chosen = best(rows)
    points = []
    for place in chosen.settings("method", "neighbours", "epsilon", "d"):
        point: dict[str, Any] = dict(place)
        own = chosen.where(**place)
        point["runs"] = len(own.values("repeat"))
        for metric in own.values("metric"):
            runs = [row["value"] for row in own.where(metric=metric)]
            point[metric] = [round(one, 2) for one in Interval.of(runs)]
        points.append(point)
    settings = qv.SETTINGS[f"{setting}@1"]
    return {
        "users": settings.users,
        "rows": settings.rows,
        "delta": rows.values("delta")[0],
        "points": points,
        "checks": [check.as_dict() for check in qv.STUDIES["set-union"].checks(rows)],
    }
