"""How many of the names, places and sensitive queries that are published does `release review` list?

A generated log is taken, and planted texts are added to it, each searched for by so many users that it is published.
What the generator's own queries are is known: their words are invented or everyday ones. Recall is over planted texts;
precision counts every other text on the list as wrong, though some of them do name a place or a matter of health.

    python benchmarks/review.py [--users 3000] [--seed 5]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import queryveil as qv

PLANTED = {
    "person": (
        "karen walsh, david miller obituary, susan baker attorney, robert clark, linda carter nurse, james wilson, "
        "patricia moore, michael thompson arrest, jennifer lopez-hernandez, wei zhang, fatima al-sayed"
    ),
    "place": "houston tx, chicago illinois hotels, hotels in seattle washington, apartments boston, map of lyon",
    "health": "breast cancer treatment, hiv test, abortion clinic, std symptoms, how to quit drinking, lump in armpit",
    "religion": "mosque near me, catholic church schedule, jewish cemetery, leaving the mormons",
    "money and law": "bankruptcy lawyer, child support calculator, dui lawyer cost, cannot pay rent",
}
"""Some of them are hard on purpose: no word of "lump in armpit" is on a list."""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--users", type=int, default=3_000)
    asked.add_argument("--seed", type=int, default=5)
    given = asked.parse_args()
    texts = {one.strip(): kind for kind, listed in PLANTED.items() for one in listed.split(",")}
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "log.parquet"
        qv.generate(log, qv.LogSettings(users=given.users, rows=10 * given.users, seed=given.seed))
        rows = pq.read_table(log, columns=["user", "time", "query"])
        users = rows["user"].unique()[:400]
        more = [
            pa.table({"user": users, "time": rows["time"].slice(0, len(users)), "query": [text] * len(users)})
            for text in texts
        ]
        both = pa.concat_tables([rows, *(one.cast(rows.schema) for one in more)])
        method = qv.Steered(epsilon=4, delta=1e-6, items=("queries",))
        release = qv.publish(qv.read(both), method)
    published = set(release.tables["items"]["query"].to_pylist())
    listed = {one.text for one in qv.review(release)}
    there = {qv.normalise(text): kind for text, kind in texts.items() if qv.normalise(text) in published}
    found = {kind: sum(text in listed for text in there if there[text] == kind) for kind in PLANTED}
    print(
        json.dumps(
            {
                "published": len(published),
                "planted": len(texts),
                "planted and published": len(there),
                "listed": len(listed),
                "recall": round(sum(found.values()) / max(1, len(there)), 3),
                "precision": round(len(listed & set(there)) / max(1, len(listed)), 3),
                "found by kind": {
                    kind: f"{found[kind]} of {sum(one == kind for one in there.values())}" for kind in PLANTED
                },
                "missed": sorted(set(there) - listed),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
