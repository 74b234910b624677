"""The shapes that are expected of released shares: peaks, monotone curves, and agreement with chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from queryveil.study.declaration import EXPECTED, MEASURED, Check, Findings, Row

DISTINCT, IMPRESSIONS, QUERIES = "released-distinct", "released-impressions", "released-queries"
DEVIATION = "released-queries-deviation"

_FALSE_ALARM = 1e-6


def curves(found: Findings, metric: str, *by: str) -> Iterator[tuple[str, dict[Any, float]]]:
    """The expected curve over d for each combination of the other columns, with a name for it."""
    expected = found.where(how=EXPECTED, metric=metric)
    keys = list(dict.fromkeys(tuple(row[column] for column in by) for row in expected))
    for key in keys:
        chosen = dict(zip(by, key, strict=True))
        yield (
            ", ".join(said(column, value) for column, value in chosen.items()),
            expected.where(**chosen).along("d"),
        )


def said(column: str, value: Any) -> str:
    if column == "days":
        return f"{value} day" + ("" if value == 1 else "s")
    return str(value) if column == "analysis" else f"{column} {value:.3g}"


def _agreement(found: Findings) -> Check:
    """Real releases against expectations, by Bernstein's inequality over all of them together."""
    axes = [name for name in found.rows[0] if name not in ("how", "repeat", "metric", "unit", "value")]
    point = {_point(row, axes): row["value"] for row in found.where(how=EXPECTED, metric=QUERIES)}
    spread = {_point(row, axes): row["value"] for row in found.where(how=EXPECTED, metric=DEVIATION)}
    measured = found.where(how=MEASURED, metric=QUERIES)
    limit = math.log(2 * max(1, len(measured)) / _FALSE_ALARM)
    far = 0
    for row in measured:
        key = _point(row, axes)
        allowed = limit / 3 + math.sqrt((limit / 3) ** 2 + 2 * limit * spread[key] ** 2)
        far += abs(row["value"] - point[key]) > allowed
    return Check(
        "real releases agree with what is expected",
        len(measured) > 0 and far == 0,
        f"{len(measured) - far} of {len(measured)} numbers of published queries are as near as chance allows "
        f"(false alarm {_FALSE_ALARM:g})",
    )


def _point(row: Row, axes: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in axes)


def peak_of(curve: Mapping[Any, float]) -> Any:
    return max(curve, key=lambda d: curve[d])


def _falling(values: Sequence[float]) -> bool:
    """Nowhere up, and down over all: a line that stays where it is does not fall."""
    return values[-1] < values[0] and all(later <= earlier for earlier, later in pairwise(values))


def _growing(values: Sequence[float]) -> bool:
    return _falling(values[::-1])


def against_d(found: Findings) -> list[Check]:
    checks = []
    for name, curve in curves(found, IMPRESSIONS, "analysis"):
        peak, ends = peak_of(curve), (min(curve), max(curve))
        checks.append(
            Check(
                f"impressions peak at an inner d ({name})",
                peak not in ends,
                f"peak of {curve[peak]:.3g} % at d = {peak}; {curve[ends[0]]:.3g} % at {ends[0]}, "
                f"{curve[ends[1]]:.3g} % at {ends[1]}",
            )
        )
    for name, curve in curves(found, DISTINCT, "analysis"):
        after = [value for d, value in curve.items() if d >= peak_of(curve)]
        if len(curve) == 1:
            continue
        checks.append(
            Check(
                f"distinct queries fall with d ({name})",
                _falling(after) and 2 * len(after) > len(curve),
                f"from {after[0]:.3g} % at d = {peak_of(curve)} to {after[-1]:.3g} % at d = {max(curve)}",
            )
        )
    return [*checks, *_tight_is_better(found, "d"), _agreement(found)]


def _tight_is_better(found: Findings, *by: str) -> list[Check]:
    expected = found.where(how=EXPECTED, metric=IMPRESSIONS)
    if set(expected.values("analysis")) != {"tight", "paper"}:
        return []
    ratios = []
    for row in expected.where(analysis="tight"):
        paper = expected.where(analysis="paper", **{name: row[name] for name in (*by, "epsilon", "delta")})
        ratios.append(row["value"] / paper.value)
    return [
        Check(
            "the tight threshold releases at least as much as the paper's",
            min(ratios) >= 1,
            f"{min(ratios):.2f} to {max(ratios):.2f} times the impressions",
        )
    ]


def against_epsilon_delta(found: Findings) -> list[Check]:
    checks = []
    for metric, noun in ((DISTINCT, "distinct queries"), (IMPRESSIONS, "impressions")):
        expected = found.where(how=EXPECTED, metric=metric)
        for axis, other in (("epsilon", "delta"), ("delta", "epsilon")):
            if len(expected.values(axis)) == 1:
                continue
            grows = True
            for analysis in expected.values("analysis"):
                for d in expected.values("d"):
                    for fixed in expected.values(other):
                        line = expected.where(analysis=analysis, d=d, **{other: fixed}).along(axis)
                        grows &= _growing(list(line.values()))
            values = [row["value"] for row in expected]
            checks.append(
                Check(
                    f"{noun} grow with {axis}",
                    grows,
                    f"from {min(values):.3g} to {max(values):.3g} % over the grid",
                )
            )
    return [*checks, *_tight_is_better(found, "d"), _agreement(found)]


def against_span(found: Findings) -> list[Check]:
    peaks: dict[str, list[tuple[int, int]]] = {}
    expected = found.where(how=EXPECTED)
    for analysis in expected.values("analysis"):
        for days in expected.values("days"):
            curve = expected.where(metric=IMPRESSIONS, analysis=analysis, days=days).along("d")
            peaks.setdefault(analysis, []).append((days, peak_of(curve)))
    checks = []
    for analysis, found_peaks in peaks.items():
        places = [peak for _, peak in sorted(found_peaks)]
        if len(places) == 1:
            continue
        checks.append(
            Check(
                f"the peak of impressions moves later for longer logs ({analysis})",
                _growing(places),
                ", ".join(f"{said('days', days)}: d = {peak}" for days, peak in sorted(found_peaks)),
            )
        )
        middle = min(expected.values("d"), key=lambda d: abs(d - 20))
        numbers = expected.where(metric=QUERIES, analysis=analysis, d=middle).along("days")
        checks.append(
            Check(
                f"longer logs release more queries at d = {middle} ({analysis})",
                _growing(list(numbers.values())),
                ", ".join(f"{said('days', days)}: {number:.3g}" for days, number in numbers.items()),
            )
        )
    return [*checks, _agreement(found)]
