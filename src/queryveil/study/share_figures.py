"""The figures of released shares. Lines are exact expectations, points are real releases."""

from __future__ import annotations

import math
from typing import Any

from queryveil.charts import figures
from queryveil.charts.figures import Scale, Words
from queryveil.study.declaration import EXPECTED, MEASURED, Findings, Row
from queryveil.study.share_checks import DISTINCT, IMPRESSIONS, NOUNS, said


def _drawn(
    found: Findings, metric: str, *, x: Scale, by: str, by_title: str, words: Words, panel: str | None = None
) -> Any:
    """Lines are expected, points measured."""
    keep = [x.column, by, "value", *([panel] if panel else [])]

    def rows(how: str) -> list[Row]:
        return [
            {name: _label(name, row[name]) if name in (by, panel) else row[name] for name in keep}
            for row in found.where(how=how, metric=metric)
        ]

    return figures.curves(
        rows(EXPECTED),
        rows(MEASURED),
        x=x,
        y=Scale("value", f"{NOUNS[metric]} released (%)"),
        by=by,
        by_title=by_title,
        words=words,
        panel=panel,
    )


def _label(name: str, value: Any) -> str:
    if name == "epsilon":
        power = math.exp(value)
        return f"ln {power:.0f}" if abs(power - round(power)) < 1e-6 else f"{value:.3g}"
    if name == "analysis":
        return {"tight": "tight", "paper": "the paper's"}[value]
    return said(name, value)


def _setting(found: Findings, *names: str) -> str:
    """The axes that have one value only, for a subtitle."""
    said = [
        f"{name} = {_label(name, found.values(name)[0]) if name == 'epsilon' else format(found.values(name)[0], 'g')}"
        for name in names
        if len(found.values(name)) == 1
    ]
    return "; ".join([", ".join(said), "lines: expected, points: real releases"])


def _x_d(found: Findings) -> Scale:
    ticks = tuple(sorted(found.values("d")))
    return Scale("d", "queries that one user may add (d)", log=True, ticks=ticks, format="d")


def against_d(found: Findings) -> dict[str, Any]:
    most, first = (found.where(how=EXPECTED, metric=metric) for metric in (IMPRESSIONS, DISTINCT))
    told = " and ".join(dict.fromkeys(f"d = {line.peak}" for _, line in most.lines("d", "analysis")))
    kept: dict[str, Any] = {"x": _x_d(found), "by": "analysis", "by_title": "threshold"}
    under = _setting(found, "epsilon", "delta")
    best = next(line.peak for _, line in first.lines("d", "analysis"))
    return {
        "impressions": _drawn(
            found, IMPRESSIONS, words=Words(f"Most impressions are released at {told}", under), **kept
        ),
        "distinct": _drawn(
            found,
            DISTINCT,
            words=Words(f"Most distinct queries are released at d = {best}, fewer beyond it", under),
            **kept,
        ),
    }


def against_epsilon_delta(found: Findings) -> dict[str, Any]:
    made = {}
    x = Scale("delta", "delta", log=True, ticks=tuple(sorted(found.values("delta"))), format=".0e")
    for metric, name in ((IMPRESSIONS, "impressions"), (DISTINCT, "distinct")):
        expected = found.where(how=EXPECTED, metric=metric)
        values = [row["value"] for row in expected]
        made[name] = _drawn(
            found,
            metric,
            x=x,
            by="epsilon",
            by_title="epsilon",
            panel="analysis",
            words=Words(
                f"Weaker privacy releases up to {max(values) / max(min(values), 1e-12):.1f} times the {NOUNS[metric]}",
                f"threshold: tight and the paper's; {_setting(found, 'd')}",
            ),
        )
    return made


def against_span(found: Findings) -> dict[str, Any]:
    days = sorted(found.values("days"))
    chosen = found.where(analysis=found.values("analysis")[0])
    most = chosen.where(how=EXPECTED, metric=IMPRESSIONS)
    first, last = (most.where(days=span).along("d").peak for span in (days[0], days[-1]))
    kept: dict[str, Any] = {"x": _x_d(found), "by": "days", "by_title": "length of the log"}
    under = _setting(chosen, "epsilon", "delta")
    title = (
        f"The best d moves from {first} for {said('days', days[0])} to {last} for {said('days', days[-1])}"
        if last != first
        else f"The best d is {first} for every length of the log"
    )
    return {
        "impressions": _drawn(chosen, IMPRESSIONS, words=Words(title, under), **kept),
        "distinct": _drawn(
            chosen,
            DISTINCT,
            words=Words(_steadiest(chosen), under),
            **kept,
        ),
    }


def _steadiest(found: Findings) -> str:
    """The bound under which the share depends least on the length of the log."""
    expected = found.where(how=EXPECTED, metric=DISTINCT)
    shares = {d: list(expected.where(d=d).along("days").values()) for d in expected.values("d")}
    best = min(shares, key=lambda d: max(shares[d]) / max(min(shares[d]), 1e-12))
    low, high = min(shares[best]), max(shares[best])
    return f"At d = {best} logs of every length release {low:.2g} to {high:.2g} % of their distinct queries"
