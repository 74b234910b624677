"""What fake accounts find out about one person, method by method: certain under k-anonymity, bounded otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from queryveil.attack.active.active import FALSE_ALARM, USUAL, ActiveAttack
from queryveil.attack.protocol import difference
from queryveil.charts import figures
from queryveil.charts.figures import Scale, Words
from queryveil.reading.log import SearchLog
from queryveil.study import shapes
from queryveil.study.declaration import (
    EXPECTED,
    MEASURED,
    Axis,
    Cell,
    Check,
    Findings,
    Given,
    Metric,
    Row,
    Study,
)
from queryveil.study.expectations import expected

SUCCESS, CONTROL, ADVANTAGE, LOW, HIGH = "success", "control", "advantage", "interval-low", "interval-high"
BOUND, ACCOUNTS = "bound", "fake-accounts"
_ANONYMITY = ("k-query", "k-session", "k-keyword")
_SURE = 0.95


@dataclass(frozen=True)
class Prepared:
    log: SearchLog
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = field(default_factory=dict)
    """Attacks on methods that do not know epsilon are made once."""


def _prepare(given: Given) -> Prepared:
    return Prepared(given.the_log)


def _measure(prepared: Prepared, given: Given, cell: Cell) -> Iterator[Row]:
    for repeat in range(given.repeats):
        for one in _attacked(prepared, cell, repeat):
            label = {"variant": f"{one['rule']}, {one['accounts']:,} accounts"}
            known = {
                SUCCESS: one["success"],
                CONTROL: one["control"],
                ADVANTAGE: one["advantage"],
                LOW: one["interval"][0],
                HIGH: one["interval"][1],
                ACCOUNTS: one["accounts"],
            }
            for metric, value in known.items():
                yield {"how": MEASURED, "repeat": repeat, "metric": metric, "value": float(value), **label}
            if one["bound"] is not None:
                yield {"how": EXPECTED, "repeat": repeat, "metric": BOUND, "value": one["bound"], **label}
            for metric, value in (one["exact"] or {}).items():
                yield {"how": EXPECTED, "repeat": repeat, "metric": metric, "value": value, **label}


def _attacked(prepared: Prepared, cell: Cell, repeat: int) -> list[dict[str, Any]]:
    numbers = {name: cell[name] for name in ("k", "trials")}
    if cell["method"] not in _ANONYMITY:
        numbers |= {name: cell[name] for name in ("epsilon", "delta")}
        numbers |= {"max_items": cell["most"], "max_queries": cell["most"]}
    key = (cell["method"], repeat, *numbers.values())
    if key not in prepared.found:
        made = ActiveAttack(methods=(cell["method"],), **numbers).run(prepared.log)
        prepared.found[key] = made.figures["methods"]
    return prepared.found[key]


def _points(found: Findings) -> Iterator[tuple[dict[str, Any], Findings]]:
    """Every variant of every cell by itself."""
    for at in found.settings("method", "k", "epsilon", "delta", "most", "trials", "variant", "repeat"):
        yield at, found.where(**at)


def _values(rows: Findings, how: str = MEASURED) -> dict[str, float]:
    return {row["metric"]: row["value"] for row in rows.where(how=how)}


Point = tuple[dict[str, Any], dict[str, float], dict[str, float]]
"""Where it is, what was seen there, and what was computed."""


def _of(found: Findings) -> list[Point]:
    return [(at, _values(rows), _values(rows, EXPECTED)) for at, rows in _points(found)]


def _certain(found: Findings) -> Iterator[Check]:
    for method in (name for name in found.values("method") if name in _ANONYMITY):
        own = [seen for _, seen, _ in _of(found.where(method=method))]
        least = min(seen[ACCOUNTS] for seen in own)
        fewest = [seen for seen in own if seen[ACCOUNTS] == least]
        yield Check(
            f"{least:.0f} accounts tell who posed a query that {method} publishes",
            all(seen[SUCCESS] >= _SURE and seen[CONTROL] <= 1 - _SURE for seen in fewest),
            f"success {min(seen[SUCCESS] for seen in fewest):.3f}, control "
            f"{max(seen[CONTROL] for seen in fewest):.3f}",
        )


def _outvoted(found: Findings) -> Iterator[Check]:
    """k - 1 accounts are a majority of any group of k, with the target and without her."""
    points = _of(found.where(method="k-session"))
    seen = [values for at, values, _ in points if at["k"] > 2 and values[ACCOUNTS] == at["k"] - 1]
    if seen:
        yield Check(
            "k - 1 accounts learn nothing from what k-session publishes",
            all(one[LOW] <= 0 <= one[HIGH] for one in seen),
            f"advantage {max(abs(one[ADVANTAGE]) for one in seen):.3f}",
        )


def _within_bounds(found: Findings) -> Iterator[Check]:
    for method in (name for name in found.values("method") if name not in _ANONYMITY):
        own = _of(found.where(method=method))
        bounds = [known[BOUND] for _, _, known in own]
        surely = [_at_least(seen, at["trials"]) for at, seen, _ in own]
        inside = sum(seen[HIGH] <= known[BOUND] for _, seen, known in own)
        yield Check(
            f"what is gained against {method} is within its bound",
            shapes.never_above(surely, bounds),
            f"measured {max(seen[ADVANTAGE] for _, seen, _ in own):.3f} at most; the whole 95 % interval is "
            f"within in {inside} of {len(own)} cells (false alarm {FALSE_ALARM:g} each)",
        )


def _at_least(seen: dict[str, float], trials: int) -> float:
    """What the advantage is at least, but for the false-alarm rate: a bound that is reached must not fail by chance."""
    success, control = ((round(seen[metric] * trials), trials) for metric in (SUCCESS, CONTROL))
    return difference(success, control, 1 - FALSE_ALARM)[0]


def _as_computed(found: Findings) -> Iterator[Check]:
    chances = [
        stats.binomtest(round(seen[metric] * at["trials"]), at["trials"], known[metric]).pvalue
        for at, seen, known in _of(found)
        for metric in (SUCCESS, CONTROL)
        if metric in known
    ]
    if chances:
        yield Check(
            "measured shares agree with the chances that the attacker computes",
            bool(min(chances) * len(chances) > FALSE_ALARM),
            f"{len(chances)} shares (false alarm {FALSE_ALARM:g})",
        )


def _figures(found: Findings) -> dict[str, Any]:
    best: dict[tuple[str, float], float] = {}
    for at, rows in _points(found):
        key = (at["method"], at["epsilon"])
        best[key] = max(best.get(key, -1.0), _values(rows)[ADVANTAGE])
    points: list[dict[str, Any]] = [
        {"method": name, "epsilon": epsilon, "advantage": value} for (name, epsilon), value in best.items()
    ]
    delta = found.values("delta")[0]
    curve = [
        {
            "method": "bound for any attacker",
            "epsilon": float(epsilon),
            "advantage": (math.exp(epsilon) - 1 + 2 * delta) / (math.exp(epsilon) + 1),
        }
        for epsilon in np.linspace(0.01, max(found.values("epsilon")) * 1.1, 60)
    ]
    least = min(found.values("epsilon"))
    private = [
        row["advantage"] for row in points if row["method"] not in _ANONYMITY and row["epsilon"] == least
    ]
    anonymous = [row["advantage"] for row in points if row["method"] in _ANONYMITY]
    told = (
        f"Fake accounts gain {100 * min(anonymous):.0f} points of 100 under k-anonymity" if anonymous else ""
    )
    bounded = f"{100 * max(private):.0f} at most under epsilon {least:g}" if private else ""
    one = found.rows[0]
    return {
        "advantage": figures.curves(
            [*curve, *points],
            points,
            x=Scale("epsilon", "epsilon (privacy loss per user)"),
            y=Scale("advantage", "advantage: success minus control", top=1.0),
            by="method",
            by_title="method",
            words=Words(
                ", ".join(part for part in (told, bounded) if part),
                f"share of targets who posed a query and are found out, less those who did not and are accused; "
                f"k = {one['k']}, delta = {one['delta']:g}, {one['most']} item per user, {one['trials']:,} trials each",
            ),
        )
    }


ACTIVE_ATTACK = Study(
    name="active-attack",
    question="What do fake accounts find out about one person?",
    paper="k - 1 accounts are certain of a query under k-anonymity; no attacker gains more than "
    "(e^epsilon - 1 + 2 delta)/(e^epsilon + 1) under differential privacy",
    mechanism="several",
    axes=(
        Axis("method", USUAL, "method under attack"),
        Axis("k", (5,), "users that everything published must have"),
        Axis("epsilon", (0.5, 1.0, 2.0, 4.0), "privacy loss per user"),
        Axis("delta", (1e-6,), "probability that the loss is exceeded"),
        Axis("most", (1,), "items or queries that one user may add"),
        Axis("trials", (1000,), "targets who posed the query, and as many who did not"),
    ),
    metrics=(
        Metric(SUCCESS, "share", "targets who posed the query and are found out"),
        Metric(CONTROL, "share", "targets who did not, and are accused"),
        Metric(ADVANTAGE, "share", "success minus control"),
        Metric(LOW, "share", "lower end of the advantage's 95 % interval"),
        Metric(HIGH, "share", "upper end of the advantage's 95 % interval"),
        Metric(BOUND, "share", "the largest advantage that any attacker can have"),
        Metric(ACCOUNTS, "accounts", "fake accounts for each target"),
    ),
    repeats=1,
    prepare=_prepare,
    measure=_measure,
    figures=_figures,
    checks=expected(_certain, _outvoted, _within_bounds, _as_computed),
    labels=("variant",),
)
