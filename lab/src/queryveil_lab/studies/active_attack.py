"""What fake accounts find out about one person, method by method: everything under k-anonymity, otherwise a bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

from queryveil import ActiveAttack
from queryveil.attack.active.active import FALSE_ALARM, USUAL
from queryveil.extension import Original, difference
from queryveil_lab.charts import figures
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import shapes
from queryveil_lab.studies.declaration import (
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
from queryveil_lab.studies.drawing import Curves
from queryveil_lab.studies.expectations import expected
from queryveil_lab.studies.grid import row

SUCCESS, CONTROL, ADVANTAGE, LOW, HIGH = "success", "control", "advantage", "interval-low", "interval-high"
BOUND, ACCOUNTS = "bound", "fake-accounts"
_ANONYMITY = ("k-query", "k-session", "k-keyword")
_SURE = 0.95


def _measure_cell(original: Original, given: Given, cell: Cell) -> Iterator[Row]:
    for repeat in range(given.repeats):
        for one in _attack_cell(original, cell, repeat):
            label = {"variant": f"{one['rule']}, {one['accounts']:,} accounts"}
            seen = {metric: one[metric] for metric in (SUCCESS, CONTROL, ADVANTAGE)}
            seen |= dict(zip((LOW, HIGH), one["interval"], strict=True)) | {ACCOUNTS: one["accounts"]}
            known = ({BOUND: one["bound"]} if one["bound"] is not None else {}) | (one["exact"] or {})
            if one["exact"]:
                known[ADVANTAGE] = known[SUCCESS] - known[CONTROL]
            for how, found in ((MEASURED, seen), (EXPECTED, known)):
                yield from (
                    row(metric, value, how=how, repeat=repeat, **label) for metric, value in found.items()
                )


def _attack_cell(original: Original, cell: Cell, repeat: int) -> list[dict[str, Any]]:
    """Attacks on methods that do not know epsilon are made once."""
    numbers = {name: cell[name] for name in ("k", "trials")}
    if cell["method"] not in _ANONYMITY:
        numbers |= {name: cell[name] for name in ("epsilon", "delta")}
        numbers |= {"max_items": cell["most"], "max_queries": cell["most"]}
    attack = ActiveAttack(methods=(cell["method"],), **numbers)
    made: list[dict[str, Any]] = original.compute_once(
        (cell["method"], repeat, *numbers.values()), lambda: attack.run(original.log).figures["methods"]
    )
    return made


Point = tuple[dict[str, Any], dict[str, float], dict[str, float]]
"""Where it is, what was seen there, and what was computed."""


def _variant_points(found: Findings) -> list[Point]:
    """Every variant of every cell by itself."""
    places = found.settings("method", "k", "epsilon", "delta", "most", "trials", "variant", "repeat")
    made: list[Point] = [(place, {}, {}) for place in places]
    for at, seen, known in made:
        for one in found.where(**at):
            (known if one["how"] == EXPECTED else seen)[one["metric"]] = one["value"]
    return made


def _check_certain(found: Findings) -> Iterator[Check]:
    for method in (name for name in found.values("method") if name in _ANONYMITY):
        own = [seen for _, seen, _ in _variant_points(found.where(method=method))]
        least = min(seen[ACCOUNTS] for seen in own)
        fewest = [seen for seen in own if seen[ACCOUNTS] == least]
        yield Check(
            f"{least:.0f} accounts tell who made a query that {method} publishes",
            all(seen[SUCCESS] >= _SURE and seen[CONTROL] <= 1 - _SURE for seen in fewest),
            f"success {min(seen[SUCCESS] for seen in fewest):.3f}, control "
            f"{max(seen[CONTROL] for seen in fewest):.3f}",
        )


def _check_majority(found: Findings) -> Iterator[Check]:
    """k - 1 accounts are a majority of any group of k, with the target and without her."""
    points = _variant_points(found.where(method="k-session"))
    seen = [values for at, values, _ in points if at["k"] > 2 and values[ACCOUNTS] == at["k"] - 1]
    if seen:
        yield Check(
            "k - 1 accounts learn nothing from what k-session publishes",
            all(one[LOW] <= 0 <= one[HIGH] for one in seen),
            f"advantage {max(abs(one[ADVANTAGE]) for one in seen):.3f}",
        )


def _within_bounds(found: Findings) -> Iterator[Check]:
    for method in (name for name in found.values("method") if name not in _ANONYMITY):
        own = _variant_points(found.where(method=method))
        bounds = [known[BOUND] for _, _, known in own]
        surely = [_at_least(seen, at["trials"]) for at, seen, _ in own]
        inside = sum(seen[HIGH] <= known[BOUND] for _, seen, known in own)
        yield Check(
            f"the attacker's gain against {method} is within its bound",
            shapes.never_above(surely, bounds),
            f"the largest is {max(seen[ADVANTAGE] for _, seen, _ in own):.3f}; the whole 95 % interval is within the "
            f"bound in {inside} of {len(own)} cells (false alarm {FALSE_ALARM:g} each)",
        )


def _at_least(seen: dict[str, float], trials: int) -> float:
    """The least advantage, but for the false-alarm rate: a bound that is reached must not fail by chance."""
    success, control = ((round(seen[metric] * trials), trials) for metric in (SUCCESS, CONTROL))
    return difference(success, control, 1 - FALSE_ALARM)[0]


def _as_computed(found: Findings) -> Iterator[Check]:
    chances = [
        stats.binomtest(round(seen[metric] * at["trials"]), at["trials"], known[metric]).pvalue
        for at, seen, known in _variant_points(found)
        for metric in (SUCCESS, CONTROL)
        if metric in known
    ]
    if chances:
        yield Check(
            "measured shares agree with the chances that the attacker computes",
            bool(min(chances) * len(chances) > FALSE_ALARM),
            f"{len(chances)} shares (false alarm {FALSE_ALARM:g})",
        )


def _best_and_bound(found: Findings) -> Findings:
    """The best variant of each method, and the bound for any attacker."""
    best: dict[tuple[str, float], Row] = {}
    for one in found.where(metric=ADVANTAGE, how=MEASURED):
        key = (one["method"], one["epsilon"])
        best[key] = max(best.get(key, one), one, key=lambda row: row["value"])
    ends = {
        _cell_key(one, one["metric"]): one["value"]
        for one in found.where(how=MEASURED)
        if one["metric"] in (LOW, HIGH)
    }
    measured = [
        {
            **one,
            _LINE: one.get(_LINE, one["method"]),
            figures.LOW: ends[_cell_key(one, LOW)],
            figures.HIGH: ends[_cell_key(one, HIGH)],
        }
        for one in _merge_lines(list(best.values()))
    ]
    delta = found.values("delta")[0]
    bound = [
        {
            "method": _ANY,
            _LINE: _ANY,
            "how": EXPECTED,
            "metric": ADVANTAGE,
            "epsilon": float(epsilon),
            "value": (math.exp(epsilon) - 1 + 2 * delta) / (math.exp(epsilon) + 1),
        }
        for epsilon in np.linspace(0.01, max(found.values("epsilon")) * 1.1, 60)
    ]
    return Findings((*bound, *measured))


def _merge_lines(best: list[Row]) -> list[Row]:
    """One line for methods with k-anonymity, if theirs lie on each other."""
    alike = [one for one in best if one["method"] in _ANONYMITY]
    if len({one["value"] for one in alike}) != 1:
        return best
    name = ", ".join(dict.fromkeys(str(one["method"]) for one in alike))
    first = [{**one, _LINE: name} for one in alike if one["method"] == alike[0]["method"]]
    return [*first, *(one for one in best if one["method"] not in _ANONYMITY)]


def _cell_key(one: Row, metric: str) -> tuple[Any, ...]:
    return (metric, *(one[name] for name in ("method", "epsilon", "delta", "variant", "repeat")))


def _gain_text(found: Findings) -> str:
    least = min(found.values("epsilon"))
    best = _best_and_bound(found).where(how=MEASURED)
    anonymous = [one["value"] for one in best if one["method"] in _ANONYMITY]
    private = [one["value"] for one in best.where(epsilon=least) if one["method"] not in _ANONYMITY]
    told = [f"{100 * min(anonymous):.0f} points of 100 under k-anonymity"] if anonymous else []
    told += [f"{100 * max(private):.0f} by the best attack tried under epsilon {least:g}"] if private else []
    return f"Fake accounts gain {', '.join(told)}"


_ANY, _LINE = "bound for any attacker", "line"

ACTIVE_ATTACK = Study(
    name="active-attack",
    question="What do fake accounts find out about one person?",
    paper="under k-anonymity k - 1 accounts make an attacker certain; under differential privacy no attacker gains "
    "more than (e^epsilon - 1 + 2 delta)/(e^epsilon + 1)",
    mechanism="several",
    axes=(
        Axis("method", USUAL, "method under attack"),
        Axis("k", (5,), "users who must share everything that is published"),
        Axis("epsilon", (0.5, 1.0, 2.0, 4.0), "privacy loss per user"),
        Axis("delta", (1e-6,), "probability that the loss is exceeded"),
        Axis("most", (1,), "items or queries that one user may add"),
        Axis("trials", (1000,), "targets who made the query, and the same number who did not"),
    ),
    metrics=(
        Metric(SUCCESS, "share", "share of the targets who made the query and are found out"),
        Metric(CONTROL, "share", "share of the targets who did not make it and are accused"),
        Metric(ADVANTAGE, "share", "success minus control"),
        Metric(LOW, "share", "lower end of the advantage's 95 % interval"),
        Metric(HIGH, "share", "upper end of the advantage's 95 % interval"),
        Metric(BOUND, "share", "the largest advantage that any attacker can have"),
        Metric(ACCOUNTS, "accounts", "fake accounts for each target"),
    ),
    repeats=1,
    measure=_measure_cell,
    figures=(
        Curves(
            name="advantage",
            title=_gain_text,
            under=(
                "success: share of the people who made the query that the attacker accuses; control: share of the "
                "others that the attacker accuses; k = {k}, delta = {delta}, items per user: {most}, trials: {trials}"
            ),
            metric=ADVANTAGE,
            among=_best_and_bound,
            x=Scale("epsilon", "epsilon (privacy loss per user)"),
            y=Scale("value", "advantage: success minus control", top=1.0),
            by=_LINE,
            by_title="method",
            ticks=False,
        ),
    ),
    checks=expected(_check_certain, _check_majority, _within_bounds, _as_computed),
    labels=("variant",),
)
