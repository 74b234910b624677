"""How what is released grows with a log, if people keep their ids, and if ids are replaced after some days.

    python lab/benchmarks/short_ids.py [--rows 1200000] [--users 6000] [--json]

The same generated year, the same searches: only the user ids differ. Someone with two ids counts as two users, so the
bound d keeps more of what that person does, and the guarantee protects an id and not the person.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import queryveil as qv
from queryveil_lab.studies import exact_release

SPANS = (1, 7, 14, 30, 365)
D = 20


def with_ids(log: qv.SearchLog, lifetime: int) -> qv.SearchLog:
    """The log in which every user gets a new id after so many days."""
    rows = log.table
    period = (rows["time"].epoch_seconds() // (86_400 * lifetime)).cast("string")
    changed = rows.mutate(user=rows["user"] + "/" + period)
    return dataclasses.replace(log, table=changed, source=changed.drop("words"), staged=None)


def growth(log: qv.SearchLog) -> dict[str, dict[str, float]]:
    """Expected queries and impressions at d = 20, epsilon ln 10 and delta 1e-5, for the first days of a log."""
    setting = qv.ClickGraph(epsilon=math.log(10), delta=1e-5, max_queries=D).setting()
    counts = exact_release.bounded_counts(exact_release.only_events(log), [D], SPANS)
    shares = {span: counts.bounded[span, D].share(setting.scale, setting.top) for span in SPANS}
    return {
        str(span): {"queries": round(one.queries, 2), "impressions": round(one.impressions, 1)}
        for span, one in shares.items()
    }


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, default=1_200_000)
    asked.add_argument("--users", type=int, default=6_000)
    asked.add_argument("--lifetimes", default="3650,30,7", help="days that an id lasts, with commas")
    asked.add_argument("--json", action="store_true")
    given = asked.parse_args()
    found: dict[str, Any] = {"rows": given.rows, "users": given.users, "d": D, "lifetimes": {}}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.parquet"
        qv.generate(file, qv.LogSettings(rows=given.rows, users=given.users, days=max(SPANS), seed=1))
        log = qv.read(file)
        for lifetime in map(int, given.lifetimes.split(",")):
            made = growth(with_ids(log, lifetime) if lifetime < max(SPANS) else log)
            found["lifetimes"][str(lifetime)] = made
            if not given.json:
                print(f"ids last {lifetime} days")
                for span, one in made.items():
                    times = {name: value / made["30"][name] for name, value in one.items()}
                    print(f"  {span} days: {one}, times a month: {times}")
    if given.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
