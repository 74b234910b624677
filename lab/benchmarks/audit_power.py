"""How much an audit sees: the bound that it finds against the true epsilon, for noise scaled by 0.5 to 1.5.

    python lab/benchmarks/audit_power.py [--out FOLDER] [--runs N]

One item per user and one user added or removed: noise of a scale b has an epsilon of 1/b, whatever was claimed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import queryveil as qv
from queryveil_lab.audits import shapes
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.planning import terrain
from queryveil_lab.audits.running import done
from queryveil_lab.audits.steps import HistogramStep
from queryveil_lab.audits.trials import TESTS_EACH, Levels, Trial
from queryveil_lab.charts import figures
from queryveil_lab.charts.figures import Scale, Words

FACTORS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5)
CLAIMED = 1.0


def measured(runs: int) -> list[dict[str, Any]]:
    """For each factor the true epsilon, the largest bound over all shapes, and the verdict."""
    method = qv.Zealous(epsilon=CLAIMED, delta=1e-6, max_items=1, neighbours="add-remove")
    (draw,) = method.plan().draws
    claim = Claim.of_guarantee(method.plan().guarantee)
    pairs = shapes.pairs(terrain(draw, claim))
    levels = Levels.shared(TESTS_EACH * len(pairs), 0.95)
    rows = []
    for factor in FACTORS:
        scaled = dataclasses.replace(draw, scale=float(draw.scale or 1) * factor)
        found = [done(Trial(HistogramStep(scaled), pair, claim, runs), levels) for pair in pairs]
        rows.append(
            {
                "factor": factor,
                "true": CLAIMED / factor,
                "bound": max(one.epsilon for one in found),
                "passes": not any(one.refutes for one in found),
                "runs": runs,
            }
        )
    return rows


def draw(rows: list[dict[str, Any]], out: Path) -> None:
    """True epsilon as a line, bounds as points for each number of runs."""
    lines = [{"factor": row["factor"], "epsilon": row["true"], "what": "true epsilon"} for row in rows]
    points = [
        {"factor": row["factor"], "epsilon": row["bound"], "what": f"bound from {row['runs']:,} runs"}
        for row in rows
    ]
    lowest = min(
        row["bound"] / row["true"] for row in rows if row["runs"] == max(one["runs"] for one in rows)
    )
    chart = figures.curves(
        [*lines, *({**one, "epsilon": CLAIMED, "what": "claimed epsilon"} for one in lines)],
        points,
        x=Scale("factor", "noise, as a share of what was declared", zero=False, ticks=FACTORS[::2]),
        y=Scale("epsilon", "epsilon", zero=True),
        by="what",
        by_title="",
        words=Words(
            f"With enough runs, the audit finds {lowest:.0%} or more of the true epsilon",
            "ZEALOUS with one item per user, noise scaled after it was declared; 95 % confidence",
        ),
    )
    out.mkdir(parents=True, exist_ok=True)
    figures.save(chart, out, "audit-power")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--runs", type=int, nargs="+", default=[10_000, 200_000])
    given = parser.parse_args()
    rows = [row for runs in given.runs for row in measured(runs)]
    for row in rows:
        print(
            f"noise x {row['factor']:<4}  true epsilon {row['true']:.3f}  bound {row['bound']:.3f}  "
            f"{row['runs']:>9,} runs  {'passes' if row['passes'] else 'FAILS'}"
        )
    if given.out is not None:
        draw(rows, given.out)
        (given.out / "audit-power.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
