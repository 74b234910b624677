"""The curves of an advice, and its table, in a folder that only the curator may open."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

from queryveil.display import figures
from queryveil.display.figures import Scale, Words
from queryveil.files import appearing, output

if TYPE_CHECKING:
    from queryveil.advice.purpose import Advice


def save(advice: Advice, out: Path) -> None:
    """The folder appears complete, or not at all."""
    figures.altair()  # missing libraries are told before anything is written
    output.new_folder(out)
    with output.disk_errors(out), appearing.claimed(out) as claims:
        (claim,) = claims
        claim.content.mkdir(mode=0o700)
        _fill(advice, claim.content)
        for file in claim.content.iterdir():
            file.chmod(0o600)
        claims.appear(f"'{out}' is complete")


def _fill(advice: Advice, folder: Path) -> None:
    document = json.dumps(advice.as_dict(), indent=2, allow_nan=False)
    (folder / "advice.json").write_text(document + "\n", encoding="utf-8")
    with (folder / "table.csv").open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(["method", "parameter", "value", "weaker", *advice.purpose.figures])
        for option in advice.options:
            found = [option.figures.get(name) for name in advice.purpose.figures]
            table.writerow([option.method, option.varied, option.at, option.weaker, *found])
    varied = advice.options[0].varied
    for name, meaning in advice.purpose.figures.items():
        points = [
            {"at": option.at, "method": option.method, "value": value}
            for option in advice.options
            if (value := option.figures.get(name)) is not None and option.varied == varied
        ]
        if len(points) < 2:
            continue
        noun = varied.replace("_", " ")
        ticks = tuple(sorted({point["at"] for point in points}))
        chart = figures.curves(
            points,
            points,
            x=Scale("at", f"{noun} per user", log=True, ticks=ticks, format="d"),
            y=Scale("value", name),
            by="method",
            by_title="method",
            words=Words(
                f"{name} against {noun}",
                f"{meaning}; a pilot on {advice.users:,} users, epsilon {advice.wanted.epsilon:g}, delta "
                f"{advice.wanted.delta:g}",
            ),
        )
        figures.save(chart, folder, name)
