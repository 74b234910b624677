"""Runs the studies on generated logs: what `make figures` and `make evidence` show.

A run is kept in benchmarks/data until its folder is removed: it goes on where it was interrupted.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import kept_findings
import pyarrow.parquet as pq
from study_sizes import CLUMP, OWN, SETTINGS, Size

import queryveil as qv
import queryveil_lab as lab
from queryveil.synthetic.generator import write_results
from queryveil_lab.baselines.baselines import BASELINES
from queryveil_lab.studies.declaration import Findings, Interval
from queryveil_lab.studies.gap import WITH_GIVEN
from queryveil_lab.studies.set_union import CHANGED, METHODS, NO_COUNTS, OTHERS, REPLACED, STEERED, best

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
RUNS = Path(__file__).parent / "data" / "studies"
KEPT = Path(__file__).parent / "data" / "set-union"


def union(setting: str, part: str) -> Path:
    """The folder of a part of study `set-union` on one of its logs."""
    out = KEPT / f"{setting}-{part}"
    if not (out / "checks.json").is_file():
        KEPT.mkdir(parents=True, exist_ok=True)
        given = dict(UNION[setting][part])
        with TemporaryDirectory() as folder:
            qv.generate(Path(folder) / "log.parquet", qv.SETTINGS[f"{setting}@1"])
            log = qv.read(Path(folder) / "log.parquet")
            lab.compare(log, "set-union", out=out, repeats=given.pop("repeats"), vary=given)
    return out


def union_findings(setting: str) -> Findings:
    """All parts together, in the order of the study's methods."""
    tables = [pq.read_table(union(setting, part) / "table.parquet") for part in UNION[setting]]
    rows = [row for table in tables for row in table.to_pylist()]
    order = {one.label: place for place, one in enumerate(METHODS)}
    return Findings(
        tuple(sorted(rows, key=lambda row: (order[row["method"]], row["epsilon"], row["d"], row["repeat"])))
    )


def place(name: str, *, reduced: bool = False) -> Path:
    """Where a run of a study is kept, finished or not."""
    return RUNS / ("reduced" if reduced else "docs") / name


def run(name: str, *, reduced: bool = False) -> Findings:
    """What a study finds on its log. A run that was interrupted goes on, and a finished one is not run again."""
    return _run(name, place(name, reduced=reduced), Size.of(name, reduced=reduced))


def _run(name: str, out: Path, size: Size) -> Findings:
    if not (out / "checks.json").is_file():
        out.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as folder:
            log, results = None, None
            if size.settings is not None:
                qv.generate(Path(folder) / "log.parquet", size.settings)
                log = qv.read(Path(folder) / "log.parquet")
                if name not in OWN:
                    results = Path(folder) / "results.parquet"
                    write_results(results, size.settings)
            lab.compare(log, name, out=out, results=results, **size.options)
    return Findings(tuple(pq.read_table(out / "table.parquet").to_pylist()))


REPEATED = {"hash-inversion": 2_000, "expansion": 4_000}
"""The largest vocabulary that these studies look for in several splits of their log."""


def further_splits(name: str) -> Findings:
    """What is kept of such a study, its smaller vocabularies looked for again in every split.

    The larger ones take most of the time and have one split: they stay as they are kept.
    """
    before = kept_findings.read(name)
    sizes = [n for n in before.values("n") if n <= REPEATED[name]]
    again = _run(name, place(f"{name}-splits"), Size(OWN[name], {"vary": {"n": sizes}}))
    rows = []
    for one in before.settings("way", "n"):
        own = before.where(**one)
        measured = again.where(**one) if one["n"] in sizes else own.changed(lambda _: {"repeat": 0})
        metrics = set(own.values("metric"))
        rows += [row for row in measured if row["metric"] in metrics]
    return Findings(tuple(rows))


def moved(name: str, found: Findings) -> float:
    """How far the first split is from what was kept of it, at most; times apart."""
    before = kept_findings.read(name)
    places = [column for column in ("way", "n", "at", "metric") if column in before.rows[0]]
    known = {tuple(row[column] for column in places): row["value"] for row in before if not row["repeat"]}
    apart = 0.0
    for row in found.where(repeat=0):
        at = tuple(row[column] for column in places)
        if row["metric"] != "seconds" and at in known:
            apart = max(apart, abs(row["value"] - known[at]))
    return apart


def found(name: str) -> Findings:
    """What a study finds at the docs' size; `set-union` runs in parts."""
    return union_findings("medium") if name == "set-union" else run(name)


def kept(name: str, *, reduced: bool = False) -> Findings:
    """What a study found; what is kept for the docs' figures is taken, so that figures and evidence are of one run."""
    if reduced:
        return run(name, reduced=True)
    if name not in kept_findings.names():
        kept_findings.keep(name, found(name))
    return kept_findings.read(name)


def clump_version_2(*, reduced: bool = False) -> dict[str, Any]:
    """Study `clump-size` on a log of the latest version, whose vocabulary grows more with its users."""
    part = 10 if reduced else 1
    settings = qv.LogSettings(rows=CLUMP.total_rows // part, users=CLUMP.total_users // part, seed=1)
    users = [size // part for size in (1_000, 10_000, 53_058)]
    vary = {"method": ["clump-paper", "clump-paper-distinct", "partition"], "users": users}
    out = place("clump-version-2", reduced=reduced)
    found = _run("clump-size", out, Size(settings, {"vary": vary}))
    return clump_points(found) | {"rows": settings.total_rows, "version": settings.version}


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

    def measured(*, reduced: bool = False) -> dict[str, Any]:
        rows = kept(name, reduced=reduced)
        settings = Size.of(name, reduced=reduced).settings or SETTINGS
        axes = varied(name, rows)
        found: dict[str, Any] = {"rows": settings.total_rows, "users": settings.total_users, "axes": axes}
        figures: dict[tuple[Any, ...], dict[str, list[float]]] = {}
        for row in rows:
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
        found["checks"] = checks(name, rows)
        return found

    return measured


def varied(name: str, found: Findings) -> list[str]:
    """The axes that have more than one value."""
    return [axis.name for axis in lab.STUDIES[name].axes if len(found.values(axis.name)) > 1]


def fixed(name: str, found: Findings) -> Mapping[str, Any]:
    """The axes that have one value, and that value."""
    both = ((axis.name, found.values(axis.name)) for axis in lab.STUDIES[name].axes)
    return {axis: values[0] for axis, values in both if len(values) == 1}


def checks(name: str, found: Findings) -> list[dict[str, Any]]:
    return [check.as_dict() for check in lab.STUDIES[name].checks(found)]


def profiles(*, reduced: bool = False) -> dict[str, Any]:
    """Study `profiles`: losses by what epsilon is for, setting, criterion and epsilon; it makes its own users."""
    made = kept("profiles", reduced=reduced)
    losses: dict[str, Any] = {}
    for per, setting, criterion in itertools.product(
        *(made.values(axis) for axis in ("epsilon_per", "setting", "criterion"))
    ):
        chosen = made.where(epsilon_per=per, setting=setting, criterion=criterion)
        curve = chosen.where(metric="profile-divergence").along("epsilon")
        found = losses.setdefault(per, {}).setdefault(setting, {})
        found[criterion] = {f"{epsilon:g}": round(loss, 6) for epsilon, loss in curve.items()}
    return {
        **{axis: made.values(axis)[0] for axis in ("users", "phrases", "seed")},
        "repeats": len({row["repeat"] for row in made if row["repeat"] is not None}),
        "losses": losses,
        "largest_standard_error": max(row["value"] for row in made.where(metric="standard-error")),
        "checks": checks("profiles", made),
    }


_SHARES = ("accuracy", WITH_GIVEN)
"""Of these every run is kept, not only the mean, and half of the 95 % interval of the mean."""


def inversion(name: str) -> Any:
    """Studies of hash inversion: accuracies and what goes with them, by what varies; means where there are runs."""

    def measured(*, reduced: bool = False) -> dict[str, Any]:
        made = kept(name, reduced=reduced)
        axes = varied(name, made)
        several = len(made.values("repeat")) > 1
        points = []
        for place in made.settings(*axes):
            point: dict[str, Any] = dict(place)
            own = made.where(**place)
            for at in own.settings("metric", "at"):
                runs = [row["value"] for row in own.where(**at)]
                mean = round(sum(runs) / len(runs), 6)
                if at["at"] is not None:
                    point.setdefault(at["metric"], {})[at["at"]] = mean
                    continue
                point[at["metric"]] = mean
                if several and at["metric"] in _SHARES:
                    point[f"{at['metric']}-runs"] = [round(one, 6) for one in runs]
                    if len(runs) > 2:  # of two it says nothing
                        point[f"{at['metric']}-within"] = round(Interval.of(runs).high - mean, 6)
            points.append(point)
        return {
            **fixed(name, made),
            "axes": axes,
            "points": points,
            "checks": checks(name, made),
        }

    return measured


def exposure(*, reduced: bool = False) -> dict[str, Any]:
    """Study `exposure`: what can be read, by method; the most of several releases."""
    made = kept("exposure", reduced=reduced)
    settings = Size.of("exposure", reduced=reduced).settings or SETTINGS
    found: dict[str, Any] = {"rows": settings.total_rows, "users": settings.total_users}
    most = max(made.values("n"))
    for row in made:
        method = row["method"] if row["how"] == "measured" else f"{row['method']}, {row['how']}"
        if row["method"] == "token-hash" and row["n"] != most:
            method += f", {row['n']:,} hashes"
        counts = found.setdefault(row["metric"], {}).setdefault(method, {})
        counts[row["category"]] = max(int(row["value"]), counts.get(row["category"], 0))
    return found | {"checks": checks("exposure", made)}


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
        "checks": [check.as_dict() for check in lab.STUDIES["set-union"].checks(rows)],
    }
